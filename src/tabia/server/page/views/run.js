/** <tabia-run>: one run watched live: figures, curves, games against itself, its versions to play, and the proof at the end. */
import { arrive, isShared, mayTrain } from "../account.js";
import { api, runLive } from "../api.js";
import { icon } from "../icons.js";
import { Element, html, nothing } from "../lit.js";
import { go, href } from "../router.js";
import { chartNote, curves, derived, end, evaluated, extended, grouped, seriesName, settingText, tiles } from "../run-series.js";
import { choose, game as catalogGame, prefer, store, Subscription } from "../store.js";
import { duration, percent, playerName } from "../words.js";
import { chips } from "../components/parts.js";
import "../components/chart.js";
import "../components/selfplay.js";

export const ENDED = ["stopped", "finished", "damaged"];
/** Games small enough to try every line of play. */
const PROVABLE = ["tictactoe", "connect3"];

class Run extends Element {
  static properties = { name: {}, run: { state: true }, message: { state: true }, version: { state: true }, proof: { state: true }, busy: { state: true } };

  constructor() {
    super();
    this.reset();
    new Subscription(this);
  }

  reset() {
    this.stop?.();
    this.run = /** @type {any} */ (null);
    this.newest = /** @type {Record<string, any>} */ ({});
    this.version = /** @type {number|null} */ (null);
    this.proof = /** @type {any} */ (null);
    this.message = "";
    this.busy = false;
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.stop?.();
    clearInterval(this.timer);
  }

  connectedCallback() {
    super.connectedCallback();
    this.timer = window.setInterval(() => { if (!document.hidden && this.run && !ENDED.includes(this.run.state)) this.load(); }, 4000);
  }

  /** @param {Map<string, any>} changed */
  willUpdate(changed) {
    if (changed.has("name")) {
      this.reset();
      this.load().then(() => this.watch());
    }
  }

  async load() {
    try {
      const run = await api.run(this.name);
      if (run.name === this.name) this.show(run);
      if (run.state === "finished" && PROVABLE.includes(run.game) && !this.proof) this.prove();
      this.message = "";
    } catch (error) {
      if (!(await this.starting())) this.message = /** @type {Error} */ (error).message;
    }
  }

  /** Show a run; when it opens, its game becomes the chosen one. @param {any} run */
  show(run) {
    if (!this.run && catalogGame(run.game)) prefer({ game: run.game });
    this.run = run;
  }

  /** A run that has just been started has no files yet, but is listed. */
  async starting() {
    const { runs } = await api.runs().catch(() => ({ runs: [] }));
    const found = runs.find((/** @type {any} */ run) => run.name === this.name && run.state === "starting");
    if (found) this.show({ ...found, series: {}, checkpoints: [], settings: {} });
    return Boolean(found);
  }

  watch() {
    this.stop?.();
    if (!this.run || ENDED.includes(this.run.state)) return;
    this.stop = runLive(this.name, this.run.iteration, {
      metrics: (line) => {
        this.newest = { ...this.newest, ...line };
        this.run = { ...this.run, iteration: line.iteration, progress: line.progress ?? this.run.progress, series: extended(this.run.series, line) };
      },
      state: (state) => {
        const next = typeof state === "string" ? { state } : state;
        const ended = ENDED.includes(next.state);
        this.run = { ...this.run, ...next, checkpoints: this.run.checkpoints };
        if (ended) this.stop?.();
        this.load();
      },
    });
  }

  /** @param {string} action @param {any} [body] */
  async act(action, body) {
    this.busy = true;
    try {
      const found = await api.runAction(this.name, action, body);
      this.run = { ...this.run, ...found, checkpoints: this.run.checkpoints };
      await this.load();
      this.watch();
    } catch (error) {
      await this.load(); // It was refused because the run is no longer as it is shown.
      this.message = /** @type {Error} */ (error).message;
    }
    this.busy = false;
  }

  async prove() {
    this.proof = { text: "Trying all lines of play …" };
    try {
      this.proof = await api.proof(this.name);
    } catch (error) {
      this.proof = { text: /** @type {Error} */ (error).message };
    }
  }

  /** Play a version, also in the games after: the reader moves first. @param {any} checkpoint */
  async play(checkpoint) {
    const game = catalogGame(this.run.game);
    const seats = Array.from({ length: game?.seats ?? 2 }, (_, seat) => (seat === 0 ? { kind: "human" } : { kind: "agent", agent: checkpoint.agent }));
    try {
      const state = await api.create({ game: this.run.game, seats });
      await arrive(); // The list of opponents has this version from now on.
      choose(state.game, { mode: "agent", level: checkpoint.agent });
      go("play", state.id);
    } catch (error) {
      this.message = /** @type {Error} */ (error).message;
    }
  }

  /** Choose the version nearest to a place on a curve. @param {number} x */
  pick(x) {
    const time = store.prefs.xaxis === "time";
    const distance = (/** @type {any} */ checkpoint) => Math.abs((time ? checkpoint.seconds : checkpoint.iteration) - x);
    const nearest = [...this.run.checkpoints].sort((a, b) => distance(a) - distance(b))[0];
    if (nearest) this.version = nearest.iteration;
  }

  get checkpoint() {
    const list = this.run.checkpoints ?? [];
    return list.find((/** @type {any} */ entry) => entry.iteration === this.version) ?? list.at(-1);
  }

  render() {
    const { run } = this;
    if (!run) return html`<p class=${this.message ? "note bad" : "empty"} role="status">${this.message ? html`${icon("warn")}<span>${this.message}</span><a href=${href("learn")}>All runs</a>` : "Loading …"}</p>`;
    const game = catalogGame(run.game);
    const isLive = !ENDED.includes(run.state);
    const time = store.prefs.xaxis === "time";
    const series = derived(run.series ?? {});
    const { groups, rest } = grouped(series);
    const span = end(series, time);
    const note = (/** @type {string} */ title) => {
      const text = chartNote(title, run.settings ?? {});
      return text ? html`<p class="soft small">${text}</p>` : nothing;
    };
    const chart = (/** @type {string} */ title, /** @type {string} */ unit, /** @type {string[]} */ names, height = 180) => html`<section class="card chart-card"><h2>${title}</h2>${note(title)}
      <tabia-chart .curves=${curves(series, names, time)} .label=${title} .unit=${unit} .time=${time} .span=${span} .height=${height} @pick=${(/** @type {CustomEvent} */ event) => this.pick(event.detail)}></tabia-chart></section>`;
    return html`<div class="run"><section class="stack">
        <div class="status"><h1>${game?.name ?? run.game}: ${run.name}</h1><span class="soft"><span class="state ${run.state}">${run.state}</span> ${this.progressText(run)}</span></div>
        ${run.problem ? html`<p class="note bad">${icon("warn")}<span>${run.problem}</span></p>` : nothing}
        ${this.message ? html`<p class="note" role="alert">${icon("warn")}<span>${this.message}</span></p>` : nothing}
        ${isLive && typeof run.progress === "number" ? html`<progress class="wide-progress" max="1" value=${run.progress} aria-label="Progress">${percent(run.progress)}</progress>` : nothing}
        <dl class="stats">${tiles(series, this.newest).map(({ label, text }) => html`<div><dd>${text}</dd><dt>${label}</dt></div>`)}</dl>
        <div class="axis-row">${groups.length ? chips("Horizontal axis", [["iterations", "Iterations"], ["time", "Time"]], store.prefs.xaxis, (value) => prefer({ xaxis: /** @type {any} */ (value) })) : nothing}</div>
        ${groups.length ? html`<div class="charts">${groups.map((group) => chart(group.title, group.unit, group.names))}</div>` : html`<div class="card empty"><p>Curves appear with the first iteration. A new run compiles its programs first; that takes some seconds.</p></div>`}
        ${rest.length ? html`<details class="card"><summary>More metrics (${rest.length})</summary><div class="charts gap-top">${rest.map((name) => chart(seriesName(name), "", [name], 130))}</div></details>` : nothing}
      </section><div class="stack">${this.versions(run)}
        ${game ? html`<section class="card"><h2>Games against itself</h2><tabia-selfplay class="small-board" .run=${run.name} .game=${game} .checkpoint=${this.checkpoint?.iteration ?? ""}></tabia-selfplay></section>` : nothing}
        ${this.runCard(run, isLive)}${this.strength(run)}</div></div>`;
  }

  /** @param {any} run */
  progressText(run) {
    const seconds = this.newest.seconds ?? 60 * (run.minutes ?? 0);
    return [run.iteration ? `iteration ${run.iteration}` : "", seconds ? duration(seconds) : ""].filter(Boolean).join(" · ");
  }

  /** @param {any} run */
  versions(run) {
    const all = run.checkpoints ?? [];
    const { checkpoint } = this;
    const step = Math.max(1, Math.ceil(all.length / 7));
    const shown = all.filter((/** @type {any} */ entry, /** @type {number} */ index) => index % step === 0 || index === all.length - 1 || entry === checkpoint);
    return html`<section class="card stack tight"><h2>Play it as it learns</h2>
      ${all.length ? html`${chips("Version", shown.map((/** @type {any} */ entry) => [String(entry.iteration), entry === all.at(-1) ? "newest" : `at ${duration(entry.seconds)}`]), String(checkpoint.iteration), (value) => { this.version = Number(value); })}
        <div class="actions"><button class="primary" @click=${() => this.play(checkpoint)}>${icon("play")} Play this version</button></div>
        <p class="soft small">Iteration ${checkpoint.iteration}, after ${duration(checkpoint.seconds)}. A click on a curve chooses the version from that moment.</p>` : html`<p class="soft">The first version appears with the first checkpoint.</p>`}</section>`;
  }

  /** @param {any} run @param {boolean} isLive */
  runCard(run, isLive) {
    const settings = Object.entries(run.settings ?? {});
    const mayAct = mayTrain();
    return html`<section class="card stack tight"><h2>Run</h2>
      <p class="soft">Recipe ${run.recipe}${run.settings?.seed !== undefined ? `, seed ${run.settings.seed}` : ""}.${mayAct ? " Stopping saves everything." : ""}</p>
      <div class="actions">${!mayAct ? nothing : isLive ? html`<button ?disabled=${this.busy} @click=${() => this.act("stop")}>${icon("stop")} Stop and save</button>` : run.state === "stopped" ? html`<button ?disabled=${this.busy} @click=${() => this.act("resume")}>${icon("play")} Resume</button>` : run.state === "finished" ? html`<button ?disabled=${this.busy} @click=${() => this.act("resume", { minutes: 5 })}>${icon("play")} Train 5 more minutes</button>` : nothing}
        <a class="button" href=${href("learn")}>All runs</a></div>
      ${PROVABLE.includes(run.game) ? html`<div class="proof"><b>${this.proof ? (this.proof.proved === true ? "Proven unbeatable" : this.proof.proved === false ? "Not yet unbeatable" : "Proof") : "At the end"}</b>
        <p class="soft">${this.proof?.text ?? "Every line of play from the start is tried against the network alone, without search. If none wins, it is proven unbeatable."}</p>
        ${!isLive && !this.proof && (mayAct || !isShared()) ? html`<button @click=${this.prove}>${icon("check")} Prove it</button>` : nothing}</div>` : nothing}
      ${settings.length ? html`<details><summary>Settings</summary><div class="scroll"><table>${settings.map(([key, value]) => html`<tr><th scope="row">${key}</th><td>${settingText(value)}</td></tr>`)}</table></div></details>` : nothing}</section>`;
  }

  /** @param {any} run */
  strength(run) {
    if (!Array.isArray(run.strength) || !run.strength.length) return nothing;
    const iteration = Math.max(...run.strength.map((/** @type {any} */ row) => row.iteration));
    return html`<section class="card strength"><h2>Measured strength</h2>
      <p class="soft small">${evaluated(run.settings ?? {})}, at iteration ${iteration}. Every game starts after a few random moves and is played from every seat. Some of these positions may be lost already, so even perfect play can score less than 100%.</p><div class="scroll"><table><tr><th>Opponent</th><th>Score</th><th>Games</th></tr>
      ${run.strength.map((/** @type {any} */ row) => html`<tr><td>${playerName(row.opponent)}</td><td>${percent(row.score)} <span class="soft small">${row.low !== undefined ? `${percent(row.low)} to ${percent(row.high)}` : ""}</span></td><td>${row.games ?? ""}</td></tr>`)}</table></div></section>`;
  }
}

customElements.define("tabia-run", Run);
