/** <tabia-selfplay>: games a run played against itself, moving on a board; can be paused, and stands still where motion is unwanted. */
import { api } from "../api.js";
import { icon } from "../icons.js";
import { Element, html, nothing } from "../lit.js";
import { href, moveText } from "../router.js";
import { still } from "../theme.js";
import "./board.js";

const PACE = 750;

class SelfPlay extends Element {
  static properties = { run: {}, game: { attribute: false }, checkpoint: {}, running: { state: true }, position: { state: true }, message: { state: true } };

  constructor() {
    super();
    this.running = !still.matches;
    this.position = /** @type {any} */ (null);
    this.message = "";
    this.games = /** @type {string[][]} */ ([]);
    this.at = 0;
    this.ply = 0;
  }

  connectedCallback() {
    super.connectedCallback();
    this.timer = window.setInterval(() => this.tick(), PACE);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    clearInterval(this.timer);
  }

  /** @param {Map<string, any>} changed */
  willUpdate(changed) {
    if (changed.has("run") || changed.has("checkpoint")) this.load();
  }

  async load() {
    this.asked = Date.now();
    try {
      const { games } = await api.runGames(this.run, this.checkpoint);
      this.games = games.map((/** @type {any} */ game) => (Array.isArray(game.moves) ? game.moves : game.moves.split(" ").filter(Boolean)));
      this.at = this.ply = 0;
      this.message = this.games.length ? "" : "No games yet. They appear with the first checkpoint.";
      await this.show();
    } catch (error) {
      this.games = [];
      this.message = /** @type {Error} */ (error).message;
    }
  }

  async tick() {
    if (!this.games.length && Date.now() > (this.asked ?? 0) + 4000) await this.load(); // They are written after the checkpoint.
    if (!this.running || document.hidden || !this.games.length || this.busy) return;
    const moves = this.games[this.at];
    if (this.ply > moves.length + 2) {
      this.at = (this.at + 1) % this.games.length;
      this.ply = 0;
    } else this.ply += 1;
    if (this.ply <= moves.length) await this.show();
  }

  async show() {
    const moves = this.games[this.at];
    if (!moves) return;
    this.busy = true;
    try {
      this.position = (await api.position(this.game.id, moves.slice(0, this.ply).join(" "))).position;
    } catch {
      this.running = false;
    }
    this.busy = false;
  }

  render() {
    const moves = this.games[this.at];
    if (!moves || !this.position) return html`<p class="soft">${this.message || "Loading games …"}</p>`;
    return html`<tabia-board .board=${this.game.board} .position=${this.position} .colors=${this.game.seat_names} .label=${"Self-play game"} .waiting=${"This game plays itself."}></tabia-board>
      <div class="actions gap-top"><button class="square" aria-label=${this.running ? "Pause" : "Play"} @click=${() => { this.running = !this.running; }}>${icon(this.running ? "pause" : "play")}</button>
        <span class="soft small grow">Game ${this.at + 1} of ${this.games.length} · move ${Math.min(this.ply, moves.length)}${this.position.result ? html`<br>${this.position.result.text}` : nothing}</span>
        <a class="button" href=${href("review", "", { g: this.game.id, m: moveText(moves) })}>${icon("search")} Review</a></div>`;
  }
}

customElements.define("tabia-selfplay", SelfPlay);
