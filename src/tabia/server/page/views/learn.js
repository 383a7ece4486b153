/** <tabia-learn>: the runs on this machine, a new run, one run watched, or two compared. */
import { isShared, mayTrain } from "../account.js";
import { api } from "../api.js";
import { icon } from "../icons.js";
import { Element, html, nothing } from "../lit.js";
import { go, href } from "../router.js";
import { game as catalogGame, store, Subscription } from "../store.js";
import { count, duration, percent } from "../words.js";
import "./compare.js";

import { ENDED } from "./run.js";

/** As many minutes as the server takes. */
const MOST_MINUTES = 10_000;

class Learn extends Element {
  static properties = { place: { attribute: false }, runs: { state: true }, message: { state: true }, recipes: { state: true }, wish: { state: true }, minutes: { state: true }, wrong: { state: true }, estimate: { state: true }, picked: { state: true }, starting: { state: true } };

  constructor() {
    super();
    this.runs = /** @type {any[]|null} */ (null);
    this.recipes = /** @type {any[]} */ ([]);
    this.wish = { game: "", recipe: "" };
    this.minutes = ""; // As typed.
    this.wrong = "";
    this.estimate = /** @type {any} */ (null);
    this.picked = /** @type {string[]} */ ([]);
    this.message = "";
    this.starting = false;
    new Subscription(this);
  }

  connectedCallback() {
    super.connectedCallback();
    this.timer = window.setInterval(() => { if (!document.hidden && !this.place.id) this.load(); }, 3000);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    clearInterval(this.timer);
  }

  /** @param {Map<string, any>} changed */
  willUpdate(changed) {
    if (changed.has("place") && !this.place.id) this.load();
    const game = store.prefs.game ?? store.catalog.default;
    if (!mayTrain()) return;
    if (this.wish.game !== game) this.choose(catalogGame(game) ? game : store.catalog.default);
  }

  async load() {
    try {
      this.runs = (await api.runs()).runs;
    } catch (error) {
      this.message = /** @type {Error} */ (error).message;
    }
  }

  /** @param {string} game */
  async choose(game) {
    this.wish = { game, recipe: "" };
    this.chooseRecipe("");
    try {
      const found = await api.recipes(game);
      if (this.wish.game !== game) return;
      this.recipes = Array.isArray(found) ? found : found.recipes;
      const fitting = this.recipes.find((entry) => entry.name === game) ?? this.recipes.find((entry) => entry.device === "cpu") ?? this.recipes[0];
      this.chooseRecipe(fitting?.name ?? "");
    } catch (error) {
      this.recipes = [];
      this.message = /** @type {Error} */ (error).message;
    }
  }

  /** @param {string} recipe */
  chooseRecipe(recipe) {
    this.wish = { ...this.wish, recipe };
    this.estimate = null;
    this.type(String(this.recipe?.minutes ?? ""));
  }

  get recipe() {
    return this.recipes.find((entry) => entry.name === this.wish.recipe);
  }

  /** @param {string} minutes */
  type(minutes) {
    this.minutes = minutes.trim();
    this.wrong = "";
  }

  /** Measure how long the recipe takes on this machine; this needs some seconds. */
  async measure() {
    const { game, recipe } = this.wish;
    this.estimate = { text: "Measuring on this machine …" };
    try {
      const estimate = await api.estimate(game, recipe);
      if (this.wish.game === game && this.wish.recipe === recipe) this.estimate = estimate;
    } catch (error) {
      this.estimate = { text: /** @type {Error} */ (error).message };
    }
  }

  /** @param {Event} event */
  async start(event) {
    event.preventDefault();
    const minutes = Number(this.minutes);
    if (this.minutes && !(minutes > 0 && minutes <= MOST_MINUTES)) {
      this.wrong = `Enter a number of minutes, at most ${count(MOST_MINUTES)}.`;
      /** @type {HTMLElement|null} */ (this.querySelector("input[name=minutes]"))?.focus();
      return;
    }
    this.starting = true;
    try {
      const run = await api.startRun(this.minutes ? { ...this.wish, minutes } : this.wish);
      go("learn", run.name);
    } catch (error) {
      this.message = /** @type {Error} */ (error).message;
    }
    this.starting = false;
  }

  render() {
    const { id, query } = this.place;
    if (id === "compare") return html`<tabia-compare .first=${query.a} .second=${query.b}></tabia-compare>`;
    if (id) return html`<tabia-run .name=${id}></tabia-run>`;
    return html`<div class="learn-list"><section class="stack">
        <div class="status"><h1>Runs</h1>${this.picked.length ? html`<span class="soft">${this.picked.length === 2 ? html`<a class="button" href=${href("learn", "compare", { a: this.picked[0], b: this.picked[1] })}>${icon("swap")} Compare these two</a>` : "Choose one more to compare"}</span>` : nothing}</div>
        ${this.message ? html`<p class="note" role="alert">${icon("warn")}<span>${this.message}</span></p>` : nothing}
        ${this.runs === null ? html`<p class="empty" aria-busy="true">Loading …</p>` : this.runs.length ? html`<ul class="run-list">${this.runs.map((run) => this.row(run))}</ul>` : html`<div class="empty card"><p>${mayTrain() ? "No runs yet. Start one and watch the network learn." : "No runs yet."}</p></div>`}
      </section>${this.startCard()}</div>`;
  }

  startCard() {
    if (!mayTrain()) return html`<section class="card"><h2>Start a run</h2><p class="soft">${isShared() ? "Operators of this server start and stop runs. You can watch them learn and play every version." : "Runs cannot be started from this page. Use the terminal: tabia train."}</p></section>`;
    const game = catalogGame(this.wish.game);
    const { recipe } = this;
    return html`<form class="card stack tight" @submit=${this.start}><h2>Start a run</h2>
      <p class="soft">The network starts knowing nothing but the rules of ${game?.name ?? "the game"} and learns by playing itself. The game is the one chosen at the top right.</p>
      ${this.recipes.length ? html`<label class="field"><span>Recipe</span><select @change=${(/** @type {any} */ event) => this.chooseRecipe(event.target.value)}>${this.recipes.map((entry) => html`<option value=${entry.name} .selected=${entry.name === this.wish.recipe}>${entry.name}${entry.device ? ` (${entry.device})` : ""}</option>`)}</select></label>
        ${recipe ? html`<p class="small soft">${recipe.about}</p>${this.minutesField(recipe)}` : nothing}
        ${this.minutes ? nothing : html`<p class="small" aria-live="polite">${this.estimate ? html`<b>${this.estimate.text}</b>` : html`<button type="button" class="plain" @click=${this.measure}>Estimate the time on this machine</button>`}</p>`}
        <div class="actions"><button class="primary" type="submit" ?disabled=${!this.wish.recipe || this.starting}>${icon("play")} ${this.starting ? "Starting …" : "Start learning"}</button></div>
        <p class="soft small">Stopping saves everything; a stopped run can be resumed at any time.</p>` : html`<p class="soft">There is no recipe for this game yet. Choose another game at the top right.</p>`}
    </form>`;
  }

  /** @param {any} recipe */
  minutesField(recipe) {
    const note = recipe.minutes ? `The recipe is made for ${duration(60 * recipe.minutes)}.` : "Leave it empty to train as long as the recipe does.";
    return html`<div class="field"><label for="run-minutes">Minutes</label>
      <input id="run-minutes" name="minutes" inputmode="decimal" autocomplete="off" maxlength="8" .value=${this.minutes} @input=${(/** @type {any} */ event) => this.type(event.target.value)}
        aria-invalid=${this.wrong ? "true" : nothing} aria-describedby="run-minutes-about">
      <small id="run-minutes-about" class=${this.wrong ? "wrong" : "soft"} role=${this.wrong ? "alert" : nothing}>${this.wrong || note}</small></div>`;
  }

  /** @param {any} run */
  row(run) {
    const isPicked = this.picked.includes(run.name);
    const pick = () => { this.picked = isPicked ? this.picked.filter((name) => name !== run.name) : [...this.picked, run.name].slice(-2); };
    const facts = [run.recipe, run.iteration ? `iteration ${run.iteration}` : "", run.minutes ? duration(60 * run.minutes) : "", typeof run.agreement === "number" ? `with search ${(100 * run.agreement).toFixed(1)}% agreement with perfect play` : ""].filter(Boolean);
    return html`<li class="card run-row"><input type="checkbox" aria-label="Compare ${run.name}" .checked=${isPicked} @change=${pick}>
      <a href=${href("learn", run.name)}><b>${run.name}</b><small>${catalogGame(run.game)?.name ?? run.game} · ${facts.join(" · ")}</small>${run.problem ? html`<small class="problem">${run.problem}</small>` : nothing}</a>
      ${typeof run.progress === "number" && !ENDED.includes(run.state) ? html`<progress max="1" value=${run.progress} aria-label="Progress">${percent(run.progress)}</progress>` : nothing}
      <span class="state ${run.state}">${run.state}</span></li>`;
  }
}

customElements.define("tabia-learn", Learn);
