/**
 * <tabia-drawing>: a game without clickable cells: its drawing, a list of legal moves as buttons, and a box for moves as
 * text. Emits `pick` with the move. The drawing is shown as an image, where nothing in it can run; text follows the theme.
 */
import { Element, html, nothing, svg } from "../lit.js";
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

  /** A board that is only text, scaled to its place like a picture. @param {string} text */
  lines(text) {
    const lines = text.split("\n");
    const longest = 10 * Math.max(...lines.map((line) => line.length));
    const [width, height] = [Math.max(longest + 24, 200), Math.max(20 * lines.length + 16, 100)];
    const [left, top] = [(width - longest) / 2, (height - 20 * lines.length) / 2 + 15];
    return html`<svg class="board drawing text" role="img" aria-label="${this.label}: ${text}" viewBox="0 0 ${width} ${height}">
      ${lines.map((line, at) => svg`<text x=${left} y=${top + 20 * at}>${line}</text>`)}</svg>`;
  }

  picture() {
    const { position } = this;
    if (position.text) return this.lines(position.text);
    return position.svg ? html`<img class="board drawing" src="data:image/svg+xml;charset=utf-8,${encodeURIComponent(position.svg)}" alt=${this.label}>` : nothing;
  }

  render() {
    const { legal } = this.position;
    return html`${this.picture()}
      ${this.interactive && legal.length ? html`<div class="drawing-moves">
        <form @submit=${this.submit}><label>Move <input autocomplete="off" spellcheck="false" .value=${this.filter} @input=${(/** @type {any} */ event) => { this.filter = event.target.value; }}></label>
          <button type="submit">Play</button><span class="soft">${plural(this.fitting.length, "move")}</span></form>
        <div class="chips" role="group" aria-label="Legal moves">${this.fitting.slice(0, 120).map((/** @type {any} */ move) => html`<button class="chip" data-action=${move.action} @click=${() => this.emit("pick", move)}>${move.move}</button>`)}</div>
      </div>` : nothing}`;
  }
}

customElements.define("tabia-drawing", Drawing);
