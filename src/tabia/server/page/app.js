/**
 * The shell: header with the places, the chosen game, the reader, preferences and help; shows the view of the present route.
 */
import { arrive, isShared } from "./account.js";
import { icon } from "./icons.js";
import { Shortcuts, shortcuts } from "./keys.js";
import { Element, html, nothing } from "./lit.js";
import { go, href, nowhere, route } from "./router.js";
import { game, prefer, store, Subscription, update } from "./store.js";
import { applyTheme } from "./theme.js";
import { chips } from "./components/parts.js";
import "./components/calls.js";
import "./components/reader.js";
import "./components/sign-in.js";
import "./views/join.js";
import "./views/play.js";

/** Views other than Play are loaded when first opened. @type {Record<string, () => Promise<any>>} */
const VIEWS = {
  play: async () => {},
  review: () => import("./views/review.js"),
  learn: () => import("./views/learn.js"),
  explain: () => import("./views/explain.js"),
  leaderboard: () => import("./views/leaderboard.js"),
  account: () => import("./views/account.js"),
  people: () => import("./views/person.js"),
};
/** @type {[string, string, "board"|"graph"|"tree"|"search"|"podium"][]} */
const PLACES = [["play", "Play", "board"], ["review", "Review", "search"], ["learn", "Learn", "graph"], ["explain", "Explain", "tree"]];
/** @type {typeof PLACES} */
const SHARED_PLACES = [...PLACES, ["leaderboard", "Leaderboard", "podium"]];
/** @type {Record<string, string>} */
const TITLES = { account: "Account", people: "Player" };
const places = () => (isShared() ? SHARED_PLACES : PLACES);

class App extends Element {
  static properties = { place: { state: true }, menu: { state: true }, loaded: { state: true }, problem: { state: true } };

  constructor() {
    super();
    this.place = route();
    this.menu = false;
    this.arrived = false;
    this.loaded = new Set(["play"]);
    this.problem = "";
    new Subscription(this);
    new Shortcuts(this, () => [
      { keys: ["?"], label: "Show the keys", run: () => this.help() },
      { keys: ["t"], label: "Switch between light and dark", run: () => this.theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark") },
    ]);
    addEventListener("hashchange", () => this.moved());
    addEventListener("click", (event) => {
      if (this.menu && !(/** @type {any} */ (event.target).closest?.(".menu"))) this.menu = false;
    });
    addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.menu = false;
    });
  }

  willUpdate() {
    if (!store.catalog || this.arrived) return;
    this.arrived = true;
    this.chooseNamed(this.place); // Before a view opens what was played last in another game.
  }

  createRenderRoot() {
    this.textContent = ""; // The sentence for readers without JavaScript.
    return this;
  }

  async firstUpdated() {
    await this.load();
    this.moved();
  }

  async load() {
    try {
      await arrive();
      this.problem = "";
    } catch (error) {
      const { message, retryAfter } = /** @type {import("./api.js").ApiError} */ (error);
      this.problem = message;
      setTimeout(() => this.load(), 1000 * Math.max(2, retryAfter));
    }
  }

  async moved() {
    const place = this.allowed(route());
    if (place.view === "play" && this.place.view === "learn") this.load(); // Runs may have brought new opponents.
    const turned = place.view !== this.place.view;
    this.chooseNamed(place);
    await VIEWS[place.view]();
    this.loaded = new Set([...this.loaded, place.view]);
    const isSame = href(place.view, place.id, place.query) === href(this.place.view, this.place.id, this.place.query);
    if (!isSame || place.unknown !== this.place.unknown) this.place = place;
    update({ notice: "" });
    document.title = `${places().find(([view]) => view === place.view)?.[1] ?? TITLES[place.view]} · Tabia`;
    if (turned) scrollTo(0, 0);
  }

  /** Choose the game that an address names. @param {import("./router.js").Route} place */
  chooseNamed(place) {
    const wanted = place.query.g;
    if (wanted && store.catalog && game(wanted) && wanted !== store.prefs.game) prefer({ game: wanted });
  }

  /** The route, or Play where it needs people that this server does not know. @param {import("./router.js").Route} place */
  allowed(place) {
    const isKnown = isShared() || PLACES.some(([view]) => view === place.view);
    return isKnown ? place : nowhere(place.view);
  }

  /** @param {string} theme */
  theme(theme) {
    prefer({ theme: /** @type {any} */ (theme) });
    applyTheme();
  }

  help() {
    /** @type {HTMLDialogElement} */ (this.querySelector("dialog.keys")).showModal();
    this.requestUpdate();
  }

  /** @param {Event} event */
  choose(event) {
    prefer({ game: /** @type {HTMLSelectElement} */ (event.target).value });
    if (["leaderboard", "account", "people"].includes(this.place.view)) return;
    if (location.hash === href(this.place.view)) this.requestUpdate();
    else go(this.place.view);
  }

  render() {
    const { view } = this.place;
    const chosen = game();
    return html`<a class="skip" href="#main" @click=${(/** @type {Event} */ event) => { event.preventDefault(); /** @type {any} */ (this.querySelector("main")).focus(); }}>Skip to the board</a>
      <header class="header">
        <a class="wordmark" href=${href("play")} aria-label="Tabia, play"><img src="/assets/icons/icon.svg" width="28" height="28" alt=""><span>Tabia</span></a>
        <nav class="places" aria-label="Places">${places().map(([name, text, sign]) => html`<a href=${href(name)} aria-current=${name === view ? "page" : nothing}>${icon(sign)}${text}</a>`)}</nav>
        <div class="end">
          ${store.catalog ? html`<label><span class="unseen">Game</span><select id="game" @change=${this.choose}>${store.catalog.games.map((/** @type {any} */ entry) => html`<option value=${entry.id} ?selected=${entry.id === chosen?.id} .selected=${entry.id === chosen?.id}>${entry.name}</option>`)}</select></label>` : nothing}
          ${isShared() ? html`<tabia-reader></tabia-reader>` : nothing}
          <div class="menu"><button class="square" aria-label="Settings" aria-expanded=${this.menu ? "true" : "false"} @click=${() => { this.menu = !this.menu; }}>${icon("settings")}</button>
            ${this.menu ? this.panel() : nothing}</div>
        </div>
      </header>
      <main id="main" tabindex="-1">
        ${this.problem ? html`<p class="note bad" role="alert">${icon("warn")}<span>${this.problem}</span></p>` : nothing}
        ${store.notice ? html`<p class="note" role="status">${icon("warn")}<span>${store.notice}</span></p>` : nothing}
        ${isShared() ? html`<tabia-calls .open=${view === "play" ? this.place.id : ""}></tabia-calls>` : nothing}
        ${store.catalog ? this.view(view) : this.problem ? nothing : html`<p class="empty">Opening the board …</p>`}
      </main>
      ${this.dialog()}${isShared() ? html`<tabia-sign-in></tabia-sign-in>` : nothing}`;
  }

  /** @param {string} view */
  view(view) {
    switch (view) {
      case "review": return html`<tabia-review .place=${this.place} .game=${game()}></tabia-review>`;
      case "learn": return html`<tabia-learn .place=${this.place}></tabia-learn>`;
      case "explain": return html`<tabia-explain .place=${this.place} .game=${game()}></tabia-explain>`;
      case "leaderboard": return html`<tabia-leaderboard .game=${game()}></tabia-leaderboard>`;
      case "account": return html`<tabia-account></tabia-account>`;
      case "people": return html`<tabia-person .name=${this.place.id}></tabia-person>`;
      default: if (isShared() && this.place.query.join) return html`<tabia-join .code=${this.place.query.join}></tabia-join>`;
        return html`<tabia-play .place=${this.place} .game=${game()}></tabia-play>`;
    }
  }

  panel() {
    const { prefs } = store;
    const check = (/** @type {"keys"|"sound"} */ name, /** @type {string} */ text) => html`<label class="check"><input type="checkbox" .checked=${prefs[name]} @change=${(/** @type {any} */ event) => prefer({ [name]: event.target.checked })}>${text}</label>`;
    return html`<div class="panel card">
      <div class="field"><span>Theme</span>${chips("Theme", [["system", "System"], ["light", "Light"], ["dark", "Dark"]], prefs.theme, (value) => this.theme(value))}</div>
      <div class="field"><span>Pieces</span>${chips("Colors of the pieces", [["default", "Red, yellow"], ["sky", "Vermilion, blue"], ["orange", "Blue, orange"]], prefs.palette, (palette) => { prefer({ palette }); applyTheme(); })}</div>
      <div>${check("sound", "Sound")}${check("keys", "Single-letter keys")}</div>
      <button @click=${() => { this.menu = false; this.help(); }}>${icon("help")} Show the keys <kbd>?</kbd></button>
    </div>`;
  }

  dialog() {
    const names = /** @type {Record<string, string>} */ ({ ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", " ": "Space", Escape: "Esc" });
    return html`<dialog class="keys" aria-labelledby="help-title">
      <header><h1 id="help-title">Keys</h1><button class="square quiet" aria-label="Close" @click=${(/** @type {any} */ event) => event.target.closest("dialog").close()}>${icon("close")}</button></header>
      <dl>${shortcuts().map(({ keys, label }) => html`<dt>${keys.map((key) => html`<kbd>${names[key] ?? key.toUpperCase()}</kbd>`)}</dt><dd>${label}</dd>`)}
        <dt><kbd>1</kbd>…<kbd>9</kbd></dt><dd>Play a column (games with columns)</dd>
        <dt><kbd>Tab</kbd></dt><dd>Go to the board; then arrows move, Enter plays</dd></dl>
      <label class="check"><input type="checkbox" .checked=${store.prefs.keys} @change=${(/** @type {any} */ event) => prefer({ keys: event.target.checked })}>Single-letter keys are on</label>
    </dialog>`;
  }
}

applyTheme();
customElements.define("tabia-app", App);
if ("serviceWorker" in navigator) navigator.serviceWorker.register("/sw.js", { scope: "/" }).catch(() => {});
