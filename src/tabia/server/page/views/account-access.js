/** Who may act as the reader: <tabia-password>, <tabia-sessions> and <tabia-tokens> of the account view. */
import { api } from "../api.js";
import { icon } from "../icons.js";
import { Element, html, nothing } from "../lit.js";
import { announce } from "../store.js";
import { copied, date, patience } from "../words.js";

/** @param {unknown} error */
const words = (error) => {
  const { message, retryAfter } = /** @type {import("../api.js").ApiError} */ (error);
  return retryAfter ? `${message} Try again in ${patience(retryAfter)}.` : message;
};

class Password extends Element {
  static properties = { message: { state: true }, wrong: { state: true } };

  constructor() {
    super();
    this.message = "";
    this.wrong = false;
  }

  /** @param {Event} event */
  async submit(event) {
    event.preventDefault();
    const form = /** @type {HTMLFormElement} */ (event.target);
    const [current, fresh] = /** @type {HTMLInputElement[]} */ ([...form.querySelectorAll("input")]).map((input) => input.value);
    try {
      await api.password({ current, new: fresh });
      form.reset();
      this.wrong = false;
      this.message = "The password is changed. Other browsers are signed out.";
    } catch (error) {
      this.wrong = true;
      this.message = words(error);
    }
  }

  render() {
    return html`<details class="card"><summary><h2>Password</h2></summary><form class="stack tight gap-top" @submit=${this.submit}>
      <div class="field"><label for="password-current">Current password</label><input id="password-current" type="password" autocomplete="current-password" required></div>
      <div class="field"><label for="password-new">New password</label><input id="password-new" type="password" autocomplete="new-password" required></div>
      <p class=${this.wrong ? "wrong small" : "soft small"} role="status">${this.message || "At least 8 characters; a short sentence is better."}</p>
      <div class="actions"><button type="submit">Change the password</button></div></form></details>`;
  }
}

/** What the lists of the account have in common: they load, and an entry can be removed. */
class Owned extends Element {
  static properties = { lists: { state: true }, problem: { state: true }, secret: { state: true } };
  /** @type {string[]} */ static kinds = [];

  constructor() {
    super();
    this.lists = /** @type {Record<string, any[]>} */ ({});
    this.problem = "";
    this.secret = /** @type {{label: string, token: string}|null} */ (null);
  }

  connectedCallback() {
    super.connectedCallback();
    this.load();
  }

  async load() {
    await this.attempt(async () => {
      for (const kind of /** @type {typeof Owned} */ (this.constructor).kinds) this.lists = { ...this.lists, [kind]: (await api.owned(kind))[kind] };
    });
  }

  /** @param {() => Promise<void>} task */
  async attempt(task) {
    this.problem = "";
    try {
      await task();
    } catch (error) {
      this.problem = words(error);
    }
  }

  /** @param {string} kind @param {string} id @param {string} done */
  end(kind, id, done) {
    return this.attempt(async () => {
      await api.end(kind, id);
      announce(done);
      await this.load();
    });
  }

  refusal() {
    return this.problem ? html`<p class="wrong small" role="alert">${this.problem}</p>` : nothing;
  }
}

class Sessions extends Owned {
  static kinds = ["sessions"];

  render() {
    const { sessions = [] } = this.lists;
    return html`<section class="card"><h2>Signed in</h2>${this.refusal()}
      <ul class="rows">${sessions.map((session) => html`<li><span>${session.current ? html`<b>This browser</b>` : "Another browser"}<small class="soft">${session.current ? `since ${date(session.created, { dateStyle: "medium" })}` : `last seen ${date(session.seen)}`}</small></span>
        ${session.current ? nothing : html`<button class="small-button" aria-label="Sign out the browser last seen ${date(session.seen)}" @click=${() => this.end("sessions", session.id, "That browser is signed out.")}>Sign out</button>`}</li>`)}</ul></section>`;
  }
}

const SCOPES = [["play", "play games"], ["analyze", "ask for analyses"], ["read", "read games and ratings"]];

class Tokens extends Owned {
  static kinds = ["tokens", "bots"];

  /** @param {Event} event @param {string} kind @param {(form: HTMLFormElement) => any} body */
  make(event, kind, body) {
    event.preventDefault();
    const form = /** @type {HTMLFormElement} */ (event.target);
    return this.attempt(async () => {
      const wanted = body(form);
      const made = await api.add(kind, wanted);
      this.secret = { label: wanted.label ?? wanted.name, token: made.token };
      form.reset();
      await this.load();
    });
  }

  render() {
    const { tokens = [], bots = [] } = this.lists;
    const text = (/** @type {HTMLFormElement} */ form) => /** @type {HTMLInputElement} */ (form.querySelector("input:not([type=checkbox])")).value.trim();
    const scopes = (/** @type {HTMLFormElement} */ form) => /** @type {HTMLInputElement[]} */ ([...form.querySelectorAll("input[type=checkbox]:checked")]).map((input) => input.value);
    return html`<section class="card stack tight"><h2>Programs and bots</h2>
      <p class="soft small">A token lets a program act for you through the API. A bot is an account of its own that only a program plays.</p>
      ${this.secret ? this.reveal(this.secret) : nothing}${this.refusal()}
      ${tokens.length || bots.length ? html`<ul class="rows">${tokens.map((token) => html`<li><span>${token.label}<small class="soft">${token.scopes.join(", ")} · ${token.used ? `last used ${date(token.used)}` : "never used"}</small></span>
          <button class="small-button" aria-label="Delete the token ${token.label}" @click=${() => this.end("tokens", token.id, "The token is deleted.")}>Delete</button></li>`)}
        ${bots.map((bot) => html`<li><span>${bot.name} <span class="state">bot</span><small class="soft">since ${date(bot.created, { dateStyle: "medium" })}</small></span>
          <button class="small-button" aria-label="Delete the bot ${bot.name}" @click=${() => this.end("bots", bot.name, "The bot is deleted.")}>Delete</button></li>`)}</ul>` : nothing}
      <details><summary>New token</summary><form class="stack tight gap-top" @submit=${(/** @type {Event} */ event) => this.make(event, "tokens", (form) => ({ label: text(form), scopes: scopes(form) }))}>
        <div class="field"><label for="token-label">What it is for</label><input id="token-label" required maxlength="60" autocomplete="off"></div>
        <fieldset class="plain-fieldset"><legend class="small soft">It may</legend>${SCOPES.map(([scope, about]) => html`<label class="check"><input type="checkbox" value=${scope} checked>${about}</label>`)}</fieldset>
        <div class="actions"><button type="submit">Make a token</button></div></form></details>
      <details><summary>New bot</summary><form class="stack tight gap-top" @submit=${(/** @type {Event} */ event) => this.make(event, "bots", (form) => ({ name: text(form) }))}>
        <div class="field"><label for="bot-name">Name of the bot</label><input id="bot-name" required maxlength="24" autocomplete="off" spellcheck="false"></div>
        <div class="actions"><button type="submit">Make a bot</button></div></form></details></section>`;
  }

  /** A secret that is shown once. @param {{label: string, token: string}} secret */
  reveal(secret) {
    return html`<div class="secret" role="status"><p class="small"><b>The token of ${secret.label}</b>. Copy it now; it is not shown again.</p>
      <div class="with-button"><input readonly aria-label="Token" .value=${secret.token} @focus=${(/** @type {any} */ event) => event.target.select()}>
        <button @click=${async () => announce((await copied(secret.token)) ? "Copied." : "Copy it from the box.")}>${icon("copy")} Copy</button></div></div>`;
  }
}

customElements.define("tabia-password", Password);
customElements.define("tabia-sessions", Sessions);
customElements.define("tabia-tokens", Tokens);
