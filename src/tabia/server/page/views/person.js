/** <tabia-person>: what everybody may see of a player: ratings, and finished rated games. */
import { api } from "../api.js";
import { icon } from "../icons.js";
import { Element, html, nothing } from "../lit.js";
import { href } from "../router.js";
import { game as catalogGame, store, Subscription } from "../store.js";
import { date, direction, personRating, plural, points, signed } from "../words.js";

class Person extends Element {
  static properties = { name: { attribute: false }, person: { state: true }, problem: { state: true } };

  constructor() {
    super();
    this.name = "";
    this.person = /** @type {any} */ (null);
    this.problem = "";
    new Subscription(this);
  }

  /** @param {Map<string, any>} changed */
  willUpdate(changed) {
    if (changed.has("name")) this.load();
  }

  async load() {
    this.person = null;
    this.problem = "";
    try {
      this.person = await api.person(this.name);
    } catch (error) {
      this.problem = /** @type {Error} */ (error).message;
    }
  }

  render() {
    const { person } = this;
    if (this.problem) return html`<div class="narrow"><h1 class="unseen">Player</h1><p class="note bad" role="alert">${icon("warn")}<span>${this.problem}</span><a href=${href("leaderboard")}>Leaderboard</a></p></div>`;
    if (!person) return html`<p class="empty" aria-busy="true">Loading …</p>`;
    return html`<div class="narrow stack"><div class="status"><h1>${person.name}</h1>${person.role === "bot" ? html`<span class="state">bot</span>` : nothing}
        <span class="soft">${person.created ? `here since ${date(person.created, { dateStyle: "medium" })}` : ""}${person.name === store.account?.name ? html` · <a href=${href("account")}>your account</a>` : nothing}</span></div>
      ${ratingTiles(person.ratings)}
      <section class="card"><h2>Rated games</h2>${gameRows(person.games, "No finished rated games yet.")}</section></div>`;
  }
}

/** One tile per game. @param {any[]} ratings */
export function ratingTiles(ratings) {
  const played = ratings.filter((row) => row.games > 0);
  if (!played.length) return html`<div class="card empty"><p>No ratings yet. Three to five rated games find a first rating.</p></div>`;
  return html`<dl class="stats">${played.map((row) => html`<div><dd>${personRating(row)}</dd><dt>${catalogGame(row.game)?.name ?? row.game}, ${plural(row.games, "game")}</dt></div>`)}</dl>`;
}

/** Finished rated games, newest first. @param {any[]} games @param {string} none What to say without any. */
export function gameRows(games, none) {
  if (!games.length) return html`<p class="soft">${none}</p>`;
  return html`<div class="scroll"><table class="games"><thead><tr><th scope="col">Game</th><th scope="col">Against</th><th scope="col">Result</th><th scope="col" class="figures">Change</th><th scope="col">Finished</th></tr></thead><tbody>${games.map((game) => html`<tr>
    <td>${catalogGame(game.game)?.name ?? game.game}</td>
    <td>${game.opponents.map((/** @type {any} */ other, /** @type {number} */ index) => html`${index ? ", " : ""}${other.name}${typeof other.rating === "number" ? html` <span class="soft">${points(other.rating)}</span>` : nothing}`)}</td>
    <td><a href=${href("review", game.id)}>${outcome(game.score)}</a></td>
    <td class="figures change ${direction(game.change)}">${signed(game.change)}</td>
    <td class="soft">${date(game.finished_at)}</td></tr>`)}</tbody></table></div>`;
}

/** @param {number} score From 0 to 1. */
const outcome = (score) => (score === 1 ? "Won" : score === 0 ? "Lost" : score === 0.5 ? "Drawn" : `${Math.round(100 * score)}%`);

customElements.define("tabia-person", Person);
