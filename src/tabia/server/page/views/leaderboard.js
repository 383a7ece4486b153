/** <tabia-leaderboard>: the people of a game by rating, each with its uncertainty, among the agents of the ladder. */
import { isMember, isRated } from "../account.js";
import { api } from "../api.js";
import { icon } from "../icons.js";
import { Element, html, nothing, svg } from "../lit.js";
import { href } from "../router.js";
import { Subscription } from "../store.js";
import { count, personRating, points } from "../words.js";
import { chips } from "../components/parts.js";
import { openSignIn } from "../components/sign-in.js";

const WIDTH = 220;

class Leaderboard extends Element {
  static properties = { game: { attribute: false }, table: { state: true }, problem: { state: true }, agents: { state: true } };

  constructor() {
    super();
    this.table = /** @type {any} */ (null);
    this.problem = "";
    this.agents = true;
    new Subscription(this);
  }

  /** @param {Map<string, any>} changed */
  willUpdate(changed) {
    if (changed.has("game") && changed.get("game")?.id !== this.game.id) this.load();
  }

  async load() {
    const { game } = this;
    this.table = null;
    this.problem = "";
    if (!isRated(game)) return;
    try {
      const table = await api.ratings(game.id);
      if (this.game.id === game.id) this.table = table;
    } catch (error) {
      this.problem = /** @type {Error} */ (error).message;
    }
  }

  /** Those with a place, among the agents, the strongest first; then those whose rating is still provisional. */
  get parts() {
    const people = this.table.people.map((/** @type {any} */ row) => ({ ...row, kind: "person" }));
    const agents = this.agents ? this.table.agents.map((/** @type {any} */ row) => ({ ...row, kind: "agent" })) : [];
    const settled = [...people.filter((/** @type {any} */ row) => !row.provisional), ...agents].sort((a, b) => b.rating - a.rating);
    return { settled, provisional: people.filter((/** @type {any} */ row) => row.provisional) };
  }

  render() {
    return html`<div class="narrow stack"><div class="status"><h1>Leaderboard: ${this.game.name}</h1>
        ${this.table ? html`<span class="soft-chips">${chips("Show", [["all", "With agents"], ["people", "People only"]], this.agents ? "all" : "people", (value) => { this.agents = value === "all"; })}</span>` : nothing}</div>
      ${this.problem ? html`<p class="note bad" role="alert">${icon("warn")}<span>${this.problem}</span></p>` : nothing}
      ${!isRated(this.game) ? html`<div class="card empty"><p>${this.game.name} has no measured ladder of agents, so its games are not rated. Choose another game at the top right.</p></div>` : this.problem ? nothing : this.table ? this.list() : html`<p class="empty" aria-busy="true">Loading …</p>`}</div>`;
  }

  list() {
    const { settled, provisional } = this.parts;
    const rows = [...settled, ...provisional];
    const scale = { low: Math.min(...rows.map((row) => row.rating - row.error)), high: Math.max(...rows.map((row) => row.rating + row.error)) };
    const none = html`<div class="card empty"><p>Nobody has a rating in ${this.game.name} yet. Three to five games place you.</p>
      <div class="actions"><a class="button primary" href=${href("play")}>${icon("play")} Play a rated game</a></div></div>`;
    return html`${this.table.people.length ? nothing : none}
      ${rows.length ? html`<section class="card scroll"><table class="leaderboard"><thead><tr><th scope="col">#</th><th scope="col">Player</th><th scope="col" class="figures">Rating</th><th scope="col" class="interval"><span class="unseen">Interval</span></th><th scope="col" class="figures">Games</th></tr></thead>
        <tbody>${settled.map((row) => this.row(row, scale))}</tbody>
        ${provisional.length ? html`<tbody><tr><th colspan="5" scope="rowgroup">Provisional</th></tr>${provisional.map((row) => this.row(row, scale))}</tbody>` : nothing}</table></section>` : nothing}
      <p class="soft small">Ratings use the scale of the agents, on which random play has 0. <span class="interval-note">The bar is the 95% interval: where two of them overlap, the order is uncertain. </span>A question mark means that more games are needed for a place.
        ${isMember() ? nothing : html`<button class="plain" @click=${() => openSignIn("up")}>Create an account</button> to appear here.`}</p>`;
  }

  /** @param {any} row @param {{low: number, high: number}} scale */
  row(row, scale) {
    const at = (/** @type {number} */ value) => 5 + ((WIDTH - 10) * (value - scale.low)) / (scale.high - scale.low || 1);
    const person = row.kind === "person";
    return html`<tr class="${row.kind} ${row.you ? "you" : ""}"><td>${person ? row.rank ?? "" : ""}</td>
      <td class="name">${person ? html`<a href=${href("people", row.name)}>${row.name}</a>${row.you ? html` <span class="state">you</span>` : nothing}` : html`${row.name} <small>agent</small>`}</td>
      <td class="figures">${person ? personRating(row) : `${points(row.rating)}${row.error ? ` ± ${points(row.error)}` : ""}`}</td>
      <td class="interval"><svg viewBox="0 0 ${WIDTH} 12" width=${WIDTH} height="12" aria-hidden="true">${svg`<rect x=${at(row.rating - row.error)} y="4.5" width=${Math.max(1, at(row.rating + row.error) - at(row.rating - row.error))} height="3" rx="1.5"/><circle cx=${at(row.rating)} cy="6" r="4"/>`}</svg></td>
      <td class="figures">${person ? count(row.games) : ""}</td></tr>`;
  }
}

customElements.define("tabia-leaderboard", Leaderboard);
