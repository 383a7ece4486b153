/**
 * <tabia-sign-in>: one dialog for signing in and for creating an account, and `openSignIn` to show it from anywhere.
 *
 * A refusal is shown at the input it is about. Where the server asks to wait, the button says for how long.
 */
import { signIn, signUp } from "../account.js";
import { icon } from "../icons.js";
import { Element, html, nothing } from "../lit.js";
import { announce, store } from "../store.js";
import { patience } from "../words.js";

/** @type {SignIn|null} */
let dialog = null;

/** Show the dialog. @param {"in"|"up"} mode @param {string} [reason] Why it is shown. */
export function openSignIn(mode, reason = "") {
  dialog?.open(mode, reason);
}

class SignIn extends Element {
  static properties = { mode: { state: true }, reason: { state: true }, problem: { state: true }, busy: { state: true }, wait: { state: true }, shown: { state: true } };

  constructor() {
    super();
    this.mode = /** @type {"in"|"up"} */ ("in");
    this.reason = "";
    this.problem = /** @type {{field: string, text: string}|null} */ (null);
    this.busy = false;
    this.shown = false;
    this.wait = 0;
    this.timer = 0;
  }

  connectedCallback() {
    super.connectedCallback();
    dialog = this;
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    clearInterval(this.timer);
    if (dialog === this) dialog = null;
  }

  get element() {
    return /** @type {HTMLDialogElement} */ (this.querySelector("dialog"));
  }

  /** @param {"in"|"up"} mode @param {string} reason */
  async open(mode, reason) {
    this.change(mode);
    this.reason = reason;
    await this.updateComplete;
    if (!this.element.open) this.element.showModal();
    /** @type {HTMLElement} */ (this.querySelector("input[name=name]")).focus();
  }

  /** @param {"in"|"up"} mode */
  change(mode) {
    this.mode = mode;
    this.problem = null;
    this.shown = false;
  }

  /** Clear the passwords: nobody who comes to this screen later finds them. */
  closed() {
    /** @type {HTMLFormElement} */ (this.querySelector("form")).reset();
    this.change("in");
    this.reason = "";
  }

  /** @param {Event} event */
  async submit(event) {
    event.preventDefault();
    if (this.busy || this.wait) return;
    const form = /** @type {HTMLFormElement} */ (event.target);
    const read = (/** @type {string} */ name) => /** @type {HTMLInputElement|null} */ (form.querySelector(`input[name=${name}]`))?.value ?? "";
    const body = { name: read("name").trim(), password: read("password") };
    const invite = read("invite").trim();
    const missing = !body.name ? "name" : !body.password ? "password" : "";
    if (missing) return this.refuse(missing, missing === "name" ? "Enter your name." : "Enter a password.");
    this.busy = true;
    this.problem = null;
    try {
      await (this.mode === "up" ? signUp(invite ? { ...body, invite } : body) : signIn(body));
      announce(`Signed in as ${body.name}.`);
      this.element.close();
      /** @type {HTMLElement|null} */ (document.querySelector("tabia-reader button"))?.focus(); // The button that opened this is gone.
    } catch (error) {
      const { message, field, retryAfter } = /** @type {import("../api.js").ApiError} */ (error);
      this.refuse(field, retryAfter && this.mode === "up" ? `${message} With an invitation you need not wait.` : message);
      if (retryAfter) this.pause(retryAfter);
    }
    this.busy = false;
    return undefined;
  }

  /** @param {string} field @param {string} text */
  async refuse(field, text) {
    this.problem = { field, text };
    await this.updateComplete;
    /** @type {HTMLElement|null} */ (this.querySelector(`input[name=${field || "password"}]`))?.focus();
  }

  /** Count down until the server listens again. @param {number} seconds */
  pause(seconds) {
    clearInterval(this.timer);
    const until = performance.now() + 1000 * seconds;
    this.wait = seconds;
    this.timer = window.setInterval(() => {
      this.wait = Math.max(0, Math.ceil((until - performance.now()) / 1000));
      if (!this.wait) {
        this.resume();
        announce("You can try again now.");
      }
    }, 250);
  }

  /** Stop waiting, if there is something to wait for. */
  resume() {
    if (!this.timer) return;
    clearInterval(this.timer);
    this.timer = this.wait = 0;
    this.problem = null;
  }

  render() {
    const isNew = this.mode === "up";
    const guest = isNew && store.account?.role === "guest";
    const action = this.busy ? "One moment …" : isNew ? "Create account" : "Sign in";
    return html`<dialog class="sign-in" aria-labelledby="sign-in-title" @close=${this.closed}>
      <header><h1 id="sign-in-title">${isNew ? "Create an account" : "Sign in"}</h1><button class="square quiet" aria-label="Close" @click=${() => this.element.close()}>${icon("close")}</button></header>
      ${this.reason ? html`<p class="soft">${this.reason}</p>` : nothing}
      <form class="stack" novalidate @submit=${this.submit}>
        ${this.input("name", "Name", { autocomplete: "username", note: isNew ? "2 to 24 letters, digits, _ or -. Everybody sees it." : "" })}
        ${this.input("password", "Password", { autocomplete: isNew ? "new-password" : "current-password", secret: true, note: isNew ? "At least 8 characters; a short sentence is better." : "" })}
        ${isNew ? this.invitation() : nothing}
        ${this.problem && !this.problem.field ? html`<p class="note bad" role="alert">${icon("warn")}<span>${this.problem.text}</span></p>` : nothing}
        ${guest ? html`<p class="soft small">The games that you have played as a guest come along.</p>` : nothing}
        <button class="primary" type="submit" ?disabled=${this.busy || this.wait > 0}>${this.wait ? `Try again in ${patience(this.wait)}` : action}</button>
      </form>
      <p class="soft small switch">${isNew ? "Already have an account?" : "New here?"} <button type="button" class="plain" @click=${() => this.change(isNew ? "in" : "up")}>${isNew ? "Sign in" : "Create an account"}</button></p>
      <p class="soft small">${isNew ? "No e-mail address is needed. If you forget the password, the operator of this server can reset it." : "Forgot your password? The operator of this server can reset it."}</p>
    </dialog>`;
  }

  /** The invitation: required on some servers; on others it spares the wait where many sign up from one address. */
  invitation() {
    const input = this.input("invite", "Invitation code", { autocomplete: "off", note: "The operator of this server gives you one." });
    if (store.catalog?.sign_up === "invite") return input;
    return html`<details @input=${() => this.resume()}><summary>I have an invitation</summary>${input}</details>`;
  }

  /** @param {string} name @param {string} label @param {{autocomplete: string, note?: string, secret?: boolean}} options */
  input(name, label, { autocomplete, note = "", secret = false }) {
    const problem = this.problem?.field === name ? this.problem.text : "";
    const about = `${name}-about`;
    return html`<div class="field"><label for="sign-${name}">${label}</label>
      <span class="with-button"><input id="sign-${name}" name=${name} type=${secret && !this.shown ? "password" : "text"} autocomplete=${/** @type {any} */ (autocomplete)} autocapitalize="off" spellcheck="false" maxlength="1024"
        aria-invalid=${problem ? "true" : nothing} aria-describedby=${problem || note ? about : nothing}>
        ${secret ? html`<button type="button" class="quiet" aria-pressed=${this.shown ? "true" : "false"} @click=${() => { this.shown = !this.shown; }}>${this.shown ? "Hide" : "Show"}<span class="unseen"> the password</span></button>` : nothing}</span>
      <small id=${about} class=${problem ? "wrong" : "soft"} role=${problem ? "alert" : nothing}>${problem || note}</small></div>`;
  }
}

customElements.define("tabia-sign-in", SignIn);
