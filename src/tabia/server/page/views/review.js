/**
 * <tabia-review>: a finished game, a link or an imported record, replayed and analyzed.
 *
 * Answers: where did it turn, what was better, why. Every number comes from the server's analyses; the graph, the text
 * and the overlays show the same ones, from one fixed point of view.
 */
import { api, stream } from "../api.js";
import { icon } from "../icons.js";
import { Shortcuts } from "../keys.js";
import { LineTree } from "../line-tree.js";
import { Element, html, nothing } from "../lit.js";
import { oriented, startsOnTop } from "../orientation.js";
import { go, href, moveText, shareLink } from "../router.js";
import { announce, game as catalogGame, prefer, store, Subscription } from "../store.js";
import { copied, headline, plural, mine, score, viewpoint } from "../words.js";
import { entries } from "../components/overlay.js";
import { chips, moveList } from "../components/parts.js";
import { scoreGraph } from "../components/score-graph.js";
import { candidates, mattered, variation } from "./review-parts.js";
import "../components/board.js";
import "./review-list.js";

/** @type {[string, string][]} */
const OVERLAYS = [["none", "None"], ["policy", "Network"], ["visits", "Search"], ["values", "Values"]];

class Review extends Element {
  static properties = { place: { attribute: false }, game: { attribute: false }, overlay: { state: true }, message: { state: true }, loading: { state: true }, flip: { state: true } };

  constructor() {
    super();
    this.overlay = "none";
    this.message = "";
    this.loading = false;
    this.flip = false;
    this.forget();
    new Subscription(this);
    new Shortcuts(this, () => (this.tree ? this.keys() : []));
  }

  /** @returns {import("../keys.js").Shortcut[]} */
  keys() {
    const show = (/** @type {string} */ kind) => () => { this.overlay = this.overlay === kind ? "none" : kind; };
    return [
      { keys: ["ArrowLeft"], label: "One move back", run: () => this.step(-1) },
      { keys: ["ArrowRight"], label: "One move on", run: () => this.step(1) },
      { keys: ["Home"], label: "To the start", run: () => this.seek(0) },
      { keys: ["End"], label: "To the end", run: () => this.seek(Infinity) },
      { keys: ["ArrowUp"], label: "Previous variation", run: () => this.branch(-1) },
      { keys: ["ArrowDown"], label: "Next variation", run: () => this.branch(1) },
      { keys: ["b"], label: "Next mistake", run: () => this.nextFlaw() },
      { keys: ["p"], label: "What the network thinks", run: show("policy") },
      { keys: ["v"], label: "What the search visited", run: show("visits") },
      { keys: ["s"], label: "Exact results, where known", run: show("exact") },
      { keys: ["f"], label: "Turn the board", run: () => { this.flip = !this.flip; } },
      { keys: [" "], label: "Play the best move", run: () => this.playBest() },
      { keys: ["a"], label: "Play the game by itself, or stop", run: () => this.autoplay() },
      { keys: ["Escape"], label: "Back to the game", run: () => this.back() },
    ];
  }

  forget() {
    this.stop?.();
    this.tree = /** @type {LineTree|null} */ (null);
    this.record = /** @type {any} */ (null);
    this.positions = /** @type {Map<string, any>} */ (new Map());
    this.analyses = /** @type {Map<string, any>} */ (new Map());
    this.scores = /** @type {(number[]|null)[]} */ ([]);
    this.moments = /** @type {any[]|null} */ (null);
    this.position = /** @type {any} */ (null);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.stop?.();
    clearInterval(this.timer);
  }

  /** @param {Map<string, any>} changed */
  willUpdate(changed) {
    if (changed.has("place")) this.arrive();
  }

  async arrive() {
    const { id, query } = this.place;
    const key = id || (query.m !== undefined ? `${query.g} ${query.m}` : "");
    if (key === this.key) return;
    this.key = key;
    this.forget();
    this.message = "";
    if (!key) return;
    this.loading = true;
    try {
      if (id) await this.openGame(id);
      else await this.openLine(query.g ?? this.game.id, query.m, query.ply);
    } catch (error) {
      this.message = /** @type {Error} */ (error).message;
    }
    this.loading = false;
  }

  /** @param {string} id */
  async openGame(id) {
    const state = await api.game(id);
    if (state.game !== store.prefs.game) prefer({ game: state.game });
    this.record = { id, game: state.game, seats: state.seats, you: state.you, result: state.result, plies: state.moves.length };
    this.open(state.moves);
  }

  /** @param {string} game @param {string} text @param {string} [ply] */
  async openLine(game, text, ply) {
    const entry = catalogGame(game);
    if (!entry) throw new Error("This link is about a game this server does not have.");
    const { moves, position } = await api.position(game, text);
    const seats = entry.seat_names.map((/** @type {string} */ name) => ({ kind: "agent", name }));
    this.record = { id: "", game, seats, result: position.result, plies: moves.length };
    const list = moves.map((/** @type {any} */ move, /** @type {number} */ index) => (typeof move === "string" ? { move, seat: index % entry.seats } : move));
    this.open(list, ply === undefined ? undefined : Number(ply));
  }

  /** @param {any[]} moves @param {number} [ply] */
  open(moves, ply) {
    this.tree = new LineTree(moves);
    if (ply !== undefined) this.tree.to(ply);
    this.own = viewpoint(this.record);
    this.scores = Array(moves.length + 1).fill(null);
    startsOnTop(this.entry, this.own).then((flip) => { this.flip = flip; }, () => {});
    this.show();
    const text = moves.map((move) => move.move).join(" ");
    this.stop = stream("review", { game: this.record.game, moves: text, agent: this.entry.analyst }, {
      position: (data) => this.learned(data),
      summary: (data) => { this.moments = data.mattered; this.requestUpdate(); },
      end: () => {},
      error: (data) => { if (data?.error) this.message = data.error; },
      lost: () => { if (!this.moments) this.message = "The analysis stopped: the server does not answer. Reload the page to try again."; },
    });
  }

  get entry() {
    return catalogGame(this.record?.game) ?? this.game;
  }

  /** @param {any} data */
  learned({ ply, expected, analysis }) {
    if (!this.tree) return;
    this.scores[ply] = expected ? expected.map(score) : null;
    const nodes = this.tree.path(this.tree.end);
    const key = nodes.slice(0, ply).map((node) => node.move.move).join(" ");
    this.analyses.set(key, { ...analysis, ...(this.analyses.get(key)?.exact ? { exact: this.analyses.get(key).exact } : {}) });
    this.requestUpdate();
  }

  get lineKey() {
    return this.tree?.moves().join(" ") ?? "";
  }

  /** Bring the present position and, off the game's line or for exact results, its analysis. */
  async show() {
    const key = this.lineKey;
    const game = this.record.game;
    this.requestUpdate();
    try {
      if (!this.positions.has(key)) this.positions.set(key, (await api.position(game, key)).position);
      if (key === this.lineKey) this.position = this.positions.get(key);
      this.requestUpdate();
      const known = this.analyses.get(key);
      const wantsExact = store.prefs.exact && this.entry.exact && !known?.exact;
      if (!this.position.over && (wantsExact || (this.tree?.isVariation && !known))) {
        const analysis = await api.analyze({ game, moves: key, agent: this.entry.analyst, exact: store.prefs.exact && this.entry.exact ? 1 : 0 });
        this.analyses.set(key, { ...known, ...analysis });
        this.requestUpdate();
      }
    } catch (error) {
      this.message = /** @type {Error} */ (error).message;
    }
  }

  /** @param {number} ply */
  seek(ply) {
    this.tree?.to(ply);
    this.speak();
  }

  /** @param {number} step */
  step(step) {
    if (step < 0 && this.tree?.current.parent) this.tree.current = this.tree.current.parent;
    else if (step > 0) this.tree?.to(this.tree.current.ply + 1);
    this.speak();
  }

  /** Show the game move by move, or stop doing so. */
  autoplay() {
    clearInterval(this.timer);
    this.running = !this.running;
    if (this.running && this.tree?.current.ply === this.tree?.line().length) this.seek(0);
    if (this.running) this.timer = window.setInterval(() => {
      if (this.tree && this.tree.current.ply < this.tree.line().length) this.step(1);
      else this.autoplay();
    }, 900);
    this.requestUpdate();
  }

  /** @param {number} step */
  branch(step) {
    this.tree?.switchBranch(step);
    this.speak();
  }

  back() {
    this.tree?.backToGame();
    this.speak();
  }

  speak() {
    const node = this.tree?.current;
    if (node) announce(node.move ? `Move ${node.ply}: ${node.move.move}` : "Start");
    this.show();
  }

  nextFlaw() {
    const plies = (this.moments ?? []).map((moment) => moment.ply).sort((a, b) => a - b);
    const here = this.tree?.current.ply ?? 0;
    if (plies.length) this.seek(plies.find((ply) => ply > here) ?? plies[0]);
  }

  playBest() {
    const analysis = this.analyses.get(this.lineKey);
    const best = analysis?.recommended ?? analysis?.move;
    const move = this.position?.legal.find((/** @type {any} */ legal) => legal.move === best);
    if (move) this.play(move);
  }

  /** @param {any} move */
  play(move) {
    this.tree?.play({ ...move, seat: this.position.mover });
    this.speak();
  }

  /** Show a better line as a variation, from the position in which it was possible. @param {any} moment @param {number} length */
  showLine(moment, length) {
    const tree = /** @type {LineTree} */ (this.tree);
    tree.backToGame();
    tree.current = moment.ply === 0 ? tree.root : tree.path(tree.end)[moment.ply - 1];
    for (const move of moment.line.slice(0, length)) tree.play({ move });
    this.speak();
  }

  /** Play a line from here, as a variation. @param {string[]} line */
  playLine(line) {
    for (const move of line) this.tree?.play({ move });
    this.speak();
  }

  async playOn() {
    const { game, seats } = this.record;
    const own = mine(this.record);
    const level = this.entry.levels.find((/** @type {any} */ entry) => entry.default) ?? this.entry.levels[0];
    const moves = this.lineKey;
    const position = this.positions.get(moves) ?? (await api.position(game, moves)).position; // The one shown may be a step behind.
    const wanted = seats.map((/** @type {any} */ seat, /** @type {number} */ index) => {
      if (own.length ? own.includes(index) : index === position.mover) return { kind: "human" };
      return { kind: "agent", agent: seat.agent ?? level.id };
    });
    try {
      const state = await api.create({ game, seats: wanted, moves });
      go("play", state.id);
    } catch (error) {
      this.message = /** @type {Error} */ (error).message;
    }
  }

  async share() {
    const link = shareLink(this.record.game, this.tree?.moves(this.tree.line().at(-1)) ?? [], { ply: this.tree?.current.ply });
    this.message = (await copied(link)) ? "The link is copied." : link;
  }

  async download() {
    const text = this.record.id ? await api.record(this.record.id) : `${moveText(this.tree?.moves() ?? [])}\n`;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([typeof text === "string" ? text : JSON.stringify(text, null, 1)], { type: "text/plain" }));
    link.download = `${this.record.game.replace(/[^a-z0-9-]+/gi, "-")}-${this.record.id || "line"}.txt`;
    link.click();
    URL.revokeObjectURL(link.href);
  }

  render() {
    if (!this.key) return html`<tabia-review-list .game=${this.game}></tabia-review-list>`;
    if (!this.tree || !this.position) return this.message ? html`<p class="note bad" role="alert">${icon("warn")}<span>${this.message}</span><a href=${href("review")}>All games</a></p>` : html`<p class="empty" aria-busy="true">Opening the game …</p>`;
    const { tree, entry, position } = this;
    const analysis = this.analyses.get(this.lineKey);
    const line = tree.line();
    const played = line[tree.current.ply]?.move.move ?? null;
    const kind = this.overlay === "exact" && !(store.prefs.exact && entry.exact) ? "none" : this.overlay;
    const isCurrent = this.positions.get(this.lineKey) === position; // Otherwise the position is still being fetched.
    const marks = kind === "none" || position.over || !isCurrent ? [] : entries(analysis, position.legal, /** @type {any} */ (kind), played);
    const title = this.record.id || this.record.result ? headline(this.record) : `${entry.name}, ${plural(tree.end.ply, "move")}`;
    return html`<div class="review">
      <section class="center">
        <div class="status"><h1>${title}</h1><span class="soft">Move ${tree.current.ply} of ${line.length}</span></div>
        <p class="line" aria-live="polite">${this.message || (tree.isVariation ? html`Variation. <button class="plain" @click=${this.back}>Back to the game</button>` : " ")}</p>
        <tabia-board .board=${oriented(entry.board, this.flip)} .position=${position} .colors=${entry.seat_names} .label=${`${entry.name} board`} .interactive=${!position.over && isCurrent} .overlay=${marks}
          @move=${(/** @type {CustomEvent} */ event) => this.play(event.detail)} @refused=${(/** @type {CustomEvent} */ event) => { this.message = event.detail.reason; }}></tabia-board>
        <div class="stepper"><button class="square" aria-label="To the start" @click=${() => this.seek(0)}>${icon("first")}</button><button class="square" aria-label="One move back" @click=${() => this.step(-1)}>${icon("back")}</button>
          <input type="range" data-keys="page" aria-label="Move" min="0" max=${line.length} .value=${String(tree.current.ply)} @input=${(/** @type {any} */ event) => this.seek(Number(event.target.value))}>
          <button class="square" aria-label=${this.running ? "Stop" : "Play the game by itself"} @click=${() => this.autoplay()}>${icon(this.running ? "pause" : "play")}</button><button class="square" aria-label="One move on" @click=${() => this.step(1)}>${icon("next")}</button><button class="square" aria-label="To the end" @click=${() => this.seek(Infinity)}>${icon("last")}</button></div>
      </section>
      <div class="stack">
        <section class="card"><div class="heading"><h2>Expected score</h2><label class="soft small">of <select class="small-select" @change=${(/** @type {any} */ event) => { this.own = Number(event.target.value); this.requestUpdate(); }}>${this.record.seats.map((/** @type {any} */ seat, /** @type {number} */ index) => html`<option value=${index} .selected=${index === this.own}>${seat.name}</option>`)}</select></label></div>
          ${scoreGraph({ scores: this.scores.map((values) => values?.[this.own ?? 0] ?? null), plies: tree.end.ply, current: Math.min(tree.current.ply, tree.end.ply), flaws: this.flaws(), pick: (ply) => { tree.backToGame(); this.seek(ply); }, label: "Expected score over the game" })}</section>
        <section class="card"><h2>Moves that mattered</h2>${mattered(this.moments, (moment, length) => this.showLine(moment, length), (ply) => { tree.backToGame(); this.seek(ply); })}</section>
        ${this.agentCard(analysis, marks, kind)}
        <section class="card"><h2>Moves</h2>${moveList({ moves: line.map((node) => node.move), seats: entry.seats, current: tree.current.ply, pick: (ply) => this.seek(ply), marked: new Set(this.flaws().map((flaw) => flaw.ply)) })}
          ${variation(tree)}
          <div class="actions gap-top"><button class="primary" @click=${this.playOn} ?disabled=${position.over}>${icon("play")} Play on from here</button><button @click=${this.share}>${icon("share")} Share</button><button @click=${this.download}>${icon("download")} Save</button>
          <a class="button" href=${href("explain", "", { g: entry.id, m: moveText(tree.moves()) })}>${icon("tree")} Explain</a><a class="button quiet" href=${href("review")}>All games</a></div></section>
      </div></div>`;
  }

  flaws() {
    return (this.moments ?? []).map((moment) => ({ ply: moment.ply + 1, text: moment.text }));
  }

  /** @param {any} analysis @param {any[]} marks @param {string} kind */
  agentCard(analysis, marks, kind) {
    const { entry } = this;
    const reveal = (/** @type {any} */ event) => {
      prefer({ exact: event.target.checked });
      this.overlay = event.target.checked ? "exact" : "none";
      this.show();
    };
    const options = store.prefs.exact && entry.exact ? [...OVERLAYS, /** @type {[string, string]} */ (["exact", "Exact"])] : OVERLAYS;
    return html`<section class="card stack tight"><h2>What the agent sees</h2>
      ${chips("Shown on the board", options, kind, (value) => { this.overlay = value; })}
      ${candidates(analysis, this.position, marks, kind, { own: this.own ?? 0, name: this.record.seats[this.own ?? 0].name, showLine: (length) => this.playLine(analysis.line.slice(0, length)) })}
      ${entry.exact ? html`<label class="check"><input type="checkbox" .checked=${store.prefs.exact} @change=${reveal}>Reveal exact results (a spoiler)</label>` : nothing}</section>`;
  }
}

customElements.define("tabia-review", Review);
