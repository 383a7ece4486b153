/** <tabia-account>: the reader's own data: ratings, games, access, export and deletion. */
import { arrive, isMember } from "../account.js";
import { api } from "../api.js";
import { icon } from "../icons.js";
import { Element, html, nothing } from "../lit.js";
import { href } from "../router.js";
import { agentName, announce, game as catalogGame, store, Subscription } from "../store.js";
import { date, headline, opponents } from "../words.js";
import { openSignIn } from "../components/sign-in.js";
import { ratingTiles } from "./person.js";
import "./account-access.js";

const EXPORT = "/api/v1/account/export";
const DELETED = "Your account is deleted. Finished games stay, without your name.";

class Account extends Element {
  static properties = { games: { state: true }, deleting: { state: true }, deleted: { state: true }, problem: { state: true }, busy: { state: true } };

  constructor() {
    super();
    this.games = /** @type {any[]|null} */ (null);
    this.deleting = false;
    this.deleted = false;
    this.problem = "";
    this.busy = false;
    this.shown = "";
    new Subscription(this);
  }

  willUpdate() {
    const { name } = store.account;
    if (this.shown === name) return;
    this.shown = name;
    this.games = null;
    if (store.account.role !== "stranger") this.load();
  }

  async load() {
    try {
      this.games = (await api.games({ limit: 12 })).games;
    } catch (error) {
      this.problem = /** @type {Error} */ (error).message;
    }
  }

  /** @param {Event} event */
  async delete(event) {
    event.preventDefault();
    const password = /** @type {HTMLInputElement|null} */ (this.querySelector("#delete-password"))?.value;
    this.busy = true;
    this.problem = "";
    try {
      await api.deleteAccount(password === undefined ? {} : { password });
      await arrive();
      this.deleting = false;
      this.deleted = true;
      announce(DELETED);
    } catch (error) {
      this.problem = /** @type {Error} */ (error).message;
    }
    this.busy = false;
  }

  render() {
    const { account } = store;
    if (account.role === "stranger") return welcome(this.deleted ? DELETED : "");
    return html`<div class="account"><section class="stack">
        <div class="status"><h1>${account.name}</h1>${account.role === "member" ? nothing : html`<span class="state">${account.role}</span>`}
          <span class="soft">${account.created ? `since ${date(account.created, { dateStyle: "medium" })}` : ""}</span></div>
        ${isMember() ? nothing : guestNote()}
        ${ratingTiles(store.ratings)}
        <section class="card"><h2>Your games</h2>${this.gameList()}</section>
      </section>
      <div class="stack">${isMember() ? html`<tabia-password></tabia-password><tabia-sessions></tabia-sessions><tabia-tokens></tabia-tokens>` : nothing}${this.data()}</div></div>`;
  }

  gameList() {
    if (this.games === null) return html`<p class="soft" aria-busy="true">Loading …</p>`;
    if (!this.games.length) return html`<p class="soft">No games yet. <a href=${href("play")}>Play one</a>.</p>`;
    return html`<ul class="rows">${this.games.map((entry) => html`<li><a href=${entry.result ? href("review", entry.id) : href("play", entry.id)}>${entry.result ? headline(entry) : inProgress(entry)}</a>
      <small class="soft">${catalogGame(entry.game)?.name ?? entry.game} · ${date(entry.created)}${entry.rated ? " · rated" : ""}</small></li>`)}</ul>
      <p class="gap-top"><a href=${href("review")}>All finished games</a></p>`;
  }

  /** Everything that the server knows about the reader, to take along or to delete. */
  data() {
    return html`<section class="card stack tight"><h2>Your data</h2>
      <div class="actions"><a class="button" href=${EXPORT} download>${icon("download")} Export</a>
        ${this.deleting ? nothing : html`<button class="danger" @click=${() => { this.deleting = true; }}>Delete the account</button>`}</div>
      <p class="soft small">The export holds everything that this server stores about you, as JSON.</p>
      ${this.deleting ? html`<form class="stack tight delete" @submit=${this.delete}>
        <p>Deleting removes your name, ratings, sessions and tokens. It cannot be undone. Finished games stay for those you played with, without your name.</p>
        ${isMember() ? html`<div class="field"><label for="delete-password">Your password</label><input id="delete-password" type="password" autocomplete="current-password" required></div>` : nothing}
        ${this.problem ? html`<p class="wrong small" role="alert">${this.problem}</p>` : nothing}
        <div class="actions"><button class="danger" type="submit" ?disabled=${this.busy}>Delete for good</button><button type="button" @click=${() => { this.deleting = false; this.problem = ""; }}>Keep it</button></div></form>` : nothing}</section>`;
  }
}

/** @param {any} entry */
function inProgress(entry) {
  const others = opponents({ ...entry, seats: entry.seats.map((/** @type {any} */ seat) => ({ ...seat, name: agentName(entry.game, seat.name) })) });
  return others ? `In progress, against ${others}` : "In progress";
}

/** A guest's games live in one browser until an account claims them. */
function guestNote() {
  return html`<p class="note">${icon("person")}<span>You play as a guest: only this browser knows you. An account keeps your games and ratings.</span><button class="primary" @click=${() => openSignIn("up")}>Create account</button></p>`;
}

/** @param {string} news */
function welcome(news) {
  return html`<section class="card join stack">${news ? html`<p class="note">${icon("check")}<span>${news}</span></p>` : nothing}<div><h1>Account</h1><p class="soft">With a name and a password you keep your games and ratings, and appear in the leaderboard. There is no e-mail address.</p></div>
    <div class="actions"><button class="primary" @click=${() => openSignIn("up")}>Create an account</button><button @click=${() => openSignIn("in")}>Sign in</button></div></section>`;
}

customElements.define("tabia-account", Account);
