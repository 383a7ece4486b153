/**
 * <tabia-explain>: one position three ways: what the network thinks, what the search finds with more and more simulations,
 * and what is true where a solver knows it. Below: the tree, and what the network is given.
 */
import { api } from "../api.js";
import { icon } from "../icons.js";
import { Shortcuts } from "../keys.js";
import { Element, html, nothing } from "../lit.js";
import { href, moveText, rename } from "../router.js";
import { announce, notHere, prefer, store, Subscription } from "../store.js";
import { count, percent, plural, score } from "../words.js";
import { entries } from "../components/overlay.js";
import { planePictures, searchTree } from "../components/tree.js";
import "../components/board.js";

const STEPS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 800];

class Explain extends Element {
  static properties = { place: { attribute: false }, game: { attribute: false }, position: { state: true }, found: { state: true }, step: { state: true }, message: { state: true }, busy: { state: true } };

  constructor() {
    super();
    this.step = 6;
    this.position = /** @type {any} */ (null);
    this.found = /** @type {any} */ (null);
    this.moves = /** @type {string[]} */ ([]);
    this.message = "";
    this.busy = false;
    new Subscription(this);
    new Shortcuts(this, () => [
      { keys: ["u"], label: "Take back a move", run: () => this.go(this.moves.slice(0, -1)) },
      { keys: ["+", "="], label: "More simulations", run: () => this.simulate(this.step + 1) },
      { keys: ["-"], label: "Fewer simulations", run: () => this.simulate(this.step - 1) },
    ]);
  }

  /** @param {Map<string, any>} changed */
  willUpdate(changed) {
    if (changed.has("place") || changed.has("game")) {
      const { g, m } = this.place.query;
      const text = g && g !== this.game.id ? "" : m ?? "";
      const key = `${this.game.id} ${text}`;
      if (changed.has("game") && changed.get("game")?.id !== this.game.id) this.position = this.found = null;
      if (key !== this.key) this.load(text, key);
    }
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.abort?.abort();
  }

  /** @param {string} text @param {string} key */
  async load(text, key) {
    this.key = key;
    try {
      const { position, moves } = await api.position(this.game.id, text);
      if (this.key !== key) return;
      this.position = position;
      this.moves = moves.map((/** @type {any} */ move) => move.move ?? move);
      this.message = "";
      this.found = null;
      await this.ask();
    } catch (error) {
      this.message = /** @type {Error} */ (error).message;
    }
  }

  async ask() {
    this.abort?.abort();
    if (this.position.over) return;
    const abort = new AbortController();
    this.abort = abort;
    this.busy = true;
    try {
      const found = await api.explain({ game: this.game.id, moves: this.moves.join(" "), agent: this.game.analyst, simulations: STEPS[this.step] }, abort.signal);
      if (this.abort === abort) this.found = found;
      this.message = "";
    } catch (error) {
      if (abort.signal.aborted) return;
      this.message = /** @type {Error} */ (error).message;
    }
    if (this.abort === abort) this.busy = false;
  }

  /** @param {string[]} moves */
  go(moves) {
    rename("explain", "", { g: this.game.id, m: moveText(moves) });
    announce(moves.length ? `After ${moves[moves.length - 1]}` : "Start");
  }

  /** @param {number} step */
  simulate(step) {
    this.step = Math.min(STEPS.length - 1, Math.max(0, step));
    clearTimeout(this.later);
    this.later = window.setTimeout(() => this.ask(), 150);
  }

  /** @param {Event} event */
  type(event) {
    event.preventDefault();
    const text = /** @type {HTMLInputElement} */ (this.querySelector("#line")).value.trim();
    this.load(text, `${this.game.id} ${text}`).then(() => { if (!this.message) this.go(this.moves); });
  }

  render() {
    const { game, position, found } = this;
    if (!position) return html`<p class=${this.message ? "note bad" : "empty"} role="status">${this.message || "Loading …"}</p>`;
    const mover = game.seat_names[position.mover];
    const hidden = !store.prefs.exact && Boolean(game.exact);
    return html`<div class="explain">
      <div class="status"><h1>${position.over ? position.result?.text ?? "The game is over" : `${mover} to move`}, three ways to see it</h1><span class="soft">${plural(this.moves.length, "move")} played</span></div>
      <form class="toolbar" @submit=${this.type}><label class="grow"><span class="unseen">Moves that lead here</span><input id="line" autocomplete="off" spellcheck="false" placeholder="Moves, such as ${game.board.style === "drop" ? "4453" : "the first moves of a game"}" .value=${moveText(this.moves)}></label>
        <button type="submit">Set up</button><button type="button" ?disabled=${!this.moves.length} @click=${() => this.go(this.moves.slice(0, -1))}>${icon("undo")} Back <kbd>U</kbd></button>
        <button type="button" ?disabled=${!this.moves.length} @click=${() => this.go([])}>${icon("first")} Start</button><a class="button" href=${href("review", "", { g: game.id, m: moveText(this.moves) || " " })}>${icon("search")} Review</a></form>
      <p class="line" aria-live="polite">${this.message || notHere(this.place) || (this.busy ? "Looking …" : "Play on any of the boards to go on from here.")}</p>
      <div class="ways">
        ${this.way("The network", found && !found.network ? "The agent of this game has no network." : "One look, no search: how likely it finds each move.", found?.network, "policy")}
        ${this.way("The search", html`After <b>${count(STEPS[this.step])}</b> ${STEPS[this.step] === 1 ? "simulation" : "simulations"}: the share of each move.`, found?.search, "visits", this.slider())}
        ${game.exact ? this.way("The truth", hidden ? html`<button class="plain" @click=${() => prefer({ exact: true })}>Reveal the exact results</button>` : "Perfect play, from a solver.", hidden ? null : found?.exact, "exact") : this.way("The truth", "No solver knows this game.", null, "exact")}
      </div>
      ${found && !position.over ? html`<div class="below-ways"><section class="card"><h2>The search tree</h2>${searchTree(found.tree)}<p class="soft small gap-top">Value: the expected score of the seat that plays the move. Moves with few visits show none.</p></section>
        <section class="card"><h2>What the network is given</h2>${planePictures(found.planes)}</section></div>` : nothing}
    </div>`;
  }

  slider() {
    return html`<input type="range" aria-label="Simulations" aria-valuetext=${plural(STEPS[this.step], "simulation")} min="0" max=${STEPS.length - 1} .value=${String(this.step)} @input=${(/** @type {any} */ event) => this.simulate(Number(event.target.value))}>`;
  }

  /** @param {string} title @param {any} about @param {any} analysis @param {"policy"|"visits"|"exact"} kind @param {any} [control] */
  way(title, about, analysis, kind, control = nothing) {
    const { game, position } = this;
    const marks = analysis && !position.over ? entries(analysis, position.legal, kind) : [];
    const value = analysis?.expected?.[position.mover];
    const best = analysis?.recommended ?? analysis?.move;
    return html`<section class="card way-card"><h2>${title}</h2><p class="small soft about">${about}</p>
      <tabia-board .board=${game.board} .position=${position} .colors=${game.seat_names} .label=${`${title}: board`} .interactive=${!position.over} .overlay=${marks}
        @move=${(/** @type {CustomEvent} */ event) => this.go([...this.moves, event.detail.move])} @refused=${(/** @type {CustomEvent} */ event) => { this.message = event.detail.reason; }}></tabia-board>
      ${control}
      <p class="small verdict">${best && !position.over ? html`Plays <b>${best}</b>${typeof value === "number" ? html`, expects ${percent(score(value))}` : nothing}${kind === "visits" && analysis.line?.length > 1 ? html`<span class="soft"> · ${analysis.line.slice(0, 6).join(" ")}</span>` : nothing}` : " "}</p>
      <p class="unseen">${marks.filter((mark) => mark.sure).map((mark) => `${mark.move} ${mark.label}`).join(", ")}</p></section>`;
  }
}

customElements.define("tabia-explain", Explain);
