/** <tabia-review-list>: the finished games of this machine, and the box to import a record. */
import { api } from "../api.js";
import { icon } from "../icons.js";
import { Element, html, nothing } from "../lit.js";
import { go, href } from "../router.js";
import { game as catalogGame } from "../store.js";
import { date, headline } from "../words.js";
import { pieceIcon } from "../components/board-art.js";

class ReviewList extends Element {
  static properties = { game: { attribute: false }, games: { state: true }, message: { state: true }, all: { state: true }, example: { state: true } };

  constructor() {
    super();
    this.games = /** @type {any[]|null} */ (null);
    this.message = "";
    this.all = false;
    this.example = "";
  }

  /** @param {Map<string, any>} changed */
  willUpdate(changed) {
    if (changed.has("game") || changed.has("all")) this.load();
    if (changed.has("game") && changed.get("game")?.id !== this.game.id) this.findExample();
  }

  /** Two moves of the game, as an example of how they are written. */
  async findExample() {
    const { id } = this.game;
    const moves = /** @type {string[]} */ ([]);
    this.example = "";
    try {
      while (moves.length < 2) {
        const { legal } = (await api.position(id, moves.join(" "))).position;
        moves.push(legal[Math.floor(legal.length / 2)].move);
      }
    } catch {
      return; // The box does without an example.
    }
    if (this.game.id === id) this.example = moves.join(" ");
  }

  async load() {
    try {
      this.games = (await api.games({ finished: true, game: this.all ? "" : this.game.id, limit: 50 })).games;
    } catch (error) {
      this.message = /** @type {Error} */ (error).message;
    }
  }

  /** @param {Event} event */
  async import(event) {
    event.preventDefault();
    const text = /** @type {HTMLTextAreaElement} */ (this.querySelector("textarea")).value.trim();
    if (!text) {
      this.message = `Paste the moves of a game first${this.example ? `, such as ${this.example}` : ""}, or a saved record.`;
      return;
    }
    try {
      const { game, moves } = await api.importText(text, this.game.id);
      go("review", "", { g: game, m: moves });
    } catch (error) {
      this.message = /** @type {Error} */ (error).message;
    }
  }

  /** @param {any} event */
  async file(event) {
    const [file] = event.target.files;
    if (file) /** @type {HTMLTextAreaElement} */ (this.querySelector("textarea")).value = await file.text();
  }

  render() {
    return html`<div class="review-list"><section class="stack">
        <div class="status"><h1>Review a game</h1><label class="check soft"><input type="checkbox" .checked=${this.all} @change=${(/** @type {any} */ event) => { this.all = event.target.checked; }}>All games</label></div>
        ${this.games === null ? html`<p class="empty" aria-busy="true">Loading …</p>` : this.games.length ? html`<ul class="game-list">${this.games.map((entry) => this.row(entry))}</ul>` : html`<div class="empty card"><p>No finished game of ${this.game.name} yet. Games you finish appear here.</p><a class="button primary" href=${href("play")}>${icon("play")} Play one</a></div>`}
      </section>
      <form class="card stack tight" @submit=${this.import}><h2>Bring a game</h2>
        <label class="field"><span>Moves or a saved record</span><textarea spellcheck="false" placeholder=${this.example}></textarea></label>
        <div class="actions"><button class="primary" type="submit">Open</button><label class="button">${icon("download")} From a file<input class="unseen" type="file" accept=".txt,.json,.sgf,.pgn,text/*" @change=${this.file}></label></div>
        ${this.message ? html`<p class="line" role="alert">${this.message}</p>` : nothing}</form></div>`;
  }

  /** @param {any} entry */
  row(entry) {
    const game = catalogGame(entry.game);
    if (!game) return nothing;
    const winner = entry.result?.winner;
    return html`<li><a href=${href("review", entry.id)}>${winner === null || winner === undefined ? html`<span class="piece-icon"></span>` : pieceIcon(winner, { style: game.board.style, colors: game.seat_names })}
      <span><b>${headline(entry)}</b><small>${game.name} · ${date(entry.created)}</small></span>${icon("next")}</a></li>`;
  }
}

customElements.define("tabia-review-list", ReviewList);
