/**
 * <tabia-calls>: games that want the reader while they look at something else: one that runs on a clock or for a rating,
 * or one that somebody offers. Only on shared servers.
 */
import { events } from "../api.js";
import { icon } from "../icons.js";
import { Element, html, nothing } from "../lit.js";
import { href } from "../router.js";
import { agentName, announce, game as catalogGame, store, Subscription } from "../store.js";
import { timeControl } from "../words.js";

/** A game that the reader opens anyway is not announced: its own screen needs this long. */
const GRACE_MS = 1500;

class Calls extends Element {
  static properties = { open: { attribute: false }, calls: { state: true } };

  constructor() {
    super();
    /** The id of the game on the screen. */ this.open = "";
    /** @type {Map<string, any>} */ this.calls = new Map();
    this.heard = "";
    this.stop = () => {};
    new Subscription(this);
    this.turned = () => this.listen(true);
  }

  connectedCallback() {
    super.connectedCallback();
    document.addEventListener("visibilitychange", this.turned);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    document.removeEventListener("visibilitychange", this.turned);
    this.stop();
    this.heard = "";
  }

  willUpdate() {
    this.listen(false);
  }

  /** Hear for the one who is here, while the page is seen: browsers and servers allow few connections. @param {boolean} anew */
  listen(anew) {
    const { name, role } = store.account ?? { name: "", role: "stranger" };
    const who = document.hidden || role === "stranger" ? "" : name;
    if (who === this.heard && !anew) return;
    this.stop();
    this.heard = who;
    this.calls = new Map();
    this.stop = who ? events({ gameStart: (data) => this.put(data), challenge: (data) => this.put(data), gameFinish: ({ id }) => this.drop(id) }) : () => {};
  }

  /** @param {any} data */
  put(data) {
    if (!data.code && !data.rated && !data.clock) return; // A game without haste is found under the reader's games.
    this.calls = new Map(this.calls).set(data.id, { ...data, isDue: false });
    setTimeout(() => this.due(data), GRACE_MS);
  }

  /** @param {any} data */
  due(data) {
    if (!this.calls.has(data.id)) return;
    this.calls = new Map(this.calls).set(data.id, { ...data, isDue: true });
    if (data.id !== this.open) announce(this.text(data));
  }

  /** @param {string} id */
  drop(id) {
    this.calls = new Map([...this.calls].filter(([key]) => key !== id));
  }

  /** @param {any} data */
  text({ game, opponents, clock, rated, code }) {
    const name = catalogGame(game)?.name ?? game;
    const others = opponents.map((/** @type {string} */ who) => agentName(game, who)).join(" and ");
    return code ? `${others} asks you to play ${name}: ${timeControl(clock)}, ${rated ? "rated" : "not rated"}.` : `Your game of ${name} against ${others} is running.`;
  }

  render() {
    const shown = [...this.calls.values()].filter(({ id, isDue }) => isDue && id !== this.open);
    return shown.length ? html`<div class="calls">${shown.slice(-3).map((data) => html`<p class="note">${icon("friends")}<span>${this.text(data)}</span>
      <a class="button small-button" href=${data.code ? href("play", "", { join: data.code }) : href("play", data.id)}>${data.code ? "Look at it" : "Go there"}</a></p>`)}</div>` : nothing;
  }
}

customElements.define("tabia-calls", Calls);
