/** <tabia-reader>: the header's corner for the reader: sign in, or the name with a menu. Only on shared servers. */
import { isMember, ownRating, signOut } from "../account.js";
import { icon } from "../icons.js";
import { Element, html, nothing } from "../lit.js";
import { go, href } from "../router.js";
import { game, store, Subscription, update } from "../store.js";
import { personRating } from "../words.js";
import { openSignIn } from "./sign-in.js";

class Reader extends Element {
  static properties = { menu: { state: true } };

  constructor() {
    super();
    this.menu = false;
    new Subscription(this);
    this.outside = (/** @type {Event} */ event) => { if (!this.contains(/** @type {Node} */ (event.target))) this.menu = false; };
    this.escape = (/** @type {KeyboardEvent} */ event) => {
      if (event.key !== "Escape" || !this.menu) return;
      this.menu = false;
      this.querySelector("button")?.focus();
    };
  }

  connectedCallback() {
    super.connectedCallback();
    addEventListener("click", this.outside);
    addEventListener("keydown", this.escape);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    removeEventListener("click", this.outside);
    removeEventListener("keydown", this.escape);
  }

  async leave() {
    this.menu = false;
    try {
      await signOut();
      go("play");
    } catch (error) {
      update({ notice: /** @type {Error} */ (error).message });
    }
  }

  /** What a guest can become. */
  guest() {
    const open = (/** @type {"in"|"up"} */ mode) => () => {
      this.menu = false;
      openSignIn(mode);
    };
    return html`<button class="primary" @click=${open("up")}>Create an account</button><button @click=${open("in")}>Sign in</button>`;
  }

  render() {
    const { account } = store;
    if (!account) return nothing;
    if (account.role === "stranger") return html`<button class="sign-in-button" @click=${() => openSignIn("in")}>${icon("person")}<span>Sign in</span></button>`;
    const chosen = game();
    const rated = chosen && ownRating(chosen.id);
    return html`<div class="menu"><button class="reader" aria-expanded=${this.menu ? "true" : "false"} @click=${() => { this.menu = !this.menu; }}>${icon("person")}<span>${account.name}</span></button>
      ${this.menu ? html`<div class="panel card reader-panel" @click=${(/** @type {any} */ event) => { if (event.target.closest("a")) this.menu = false; }}>
        <p><b>${account.name}</b>${account.role === "operator" ? html` <span class="state">operator</span>` : nothing}<br><span class="soft small">${rated?.games ? `${chosen.name}: ${personRating(rated)}` : chosen ? `Not rated in ${chosen.name} yet` : ""}</span></p>
        <nav aria-label="Your pages">${isMember() ? html`<a href=${href("people", account.name)}>${icon("graph")} Profile</a>` : nothing}<a href=${href("account")}>${icon("settings")} Account</a></nav>
        ${isMember() ? html`<button @click=${this.leave}>${icon("exit")} Sign out</button>` : this.guest()}</div>` : nothing}</div>`;
  }
}

customElements.define("tabia-reader", Reader);
