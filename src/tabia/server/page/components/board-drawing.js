/**
 * <tabia-drawing>: a game without clickable cells: its drawing, a list of legal moves as buttons, and a box for moves as
 * text. Emits `pick` with the move. The drawing is shown as an image, where nothing in it can run.
 */
import { Element, html, nothing } from "../lit.js";
import { plural } from "../words.js";

export class Drawing extends Element {
  static properties = { position: { attribute: false }, label: {}, interactive: { type: Boolean }, highlight: { attribute: false }, filter: { state: true } };

  constructor() {
    super();
    this.position = /** @type {any} */ (null);
    this.label = "Board";
    this.interactive = false;
    this.filter = "";
  }

  /** @param {Map<string, any>} changed */
  willUpdate(changed) {
    if (changed.has("position")) this.filter = "";
  }

  /** @param {Event} event */
  submit(event) {
    event.preventDefault();
    const exact = this.position.legal.find((/** @type {any} */ move) => move.move.toLowerCase() === this.filter.trim().toLowerCase());
    const found = exact ?? (this.fitting.length === 1 ? this.fitting[0] : null);
    if (found) this.emit("pick", found);
    else this.emit("refused", { reason: this.fitting.length ? "Several moves begin like this. Type more of it." : "No legal move begins like this. Choose one from the list." });
  }

  get fitting() {
    const typed = this.filter.trim().toLowerCase();
    return this.position.legal.filter((/** @type {any} */ move) => move.move.toLowerCase().startsWith(typed));
  }

  render() {
    const { svg, legal } = this.position;
    const picture = svg ? `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}` : "";
    return html`${picture ? html`<img class="board drawing" src=${picture} alt=${this.label}>` : nothing}
      ${this.interactive && legal.length ? html`<div class="drawing-moves">
        <form @submit=${this.submit}><label>Move <input autocomplete="off" spellcheck="false" .value=${this.filter} @input=${(/** @type {any} */ event) => { this.filter = event.target.value; }}></label>
          <button type="submit">Play</button><span class="soft">${plural(this.fitting.length, "move")}</span></form>
        <div class="chips" role="group" aria-label="Legal moves">${this.fitting.slice(0, 120).map((/** @type {any} */ move) => html`<button class="chip" data-action=${move.action} @click=${() => this.emit("pick", move)}>${move.move}</button>`)}</div>
      </div>` : nothing}`;
  }
}

customElements.define("tabia-drawing", Drawing);
