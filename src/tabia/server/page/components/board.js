/**
 * <tabia-board>: the one board of the page, for every game made of cells.
 *
 * Draws a position as SVG and turns clicks, taps, drags and keys into moves. Emits `move` with {action, move, path} and
 * `refused` with {reason}. A grid for screen readers with one tab stop; arrows move, Enter and Space play.
 */
import { isTaken } from "../keys.js";
import { Element, nothing, repeat, svg, html } from "../lit.js";
import { store } from "../store.js";
import { coordinates, frame, ground, piece, UNIT, viewBox } from "./board-art.js";
import { marks } from "./board-marks.js";
import { isPass, movesAt, neighbor, onlyOrigin, origins, placeName, reason } from "./board-moves.js";
import { Motion } from "./board-motion.js";
import { capitalized } from "../words.js";
import "./board-drawing.js";

export class Board extends Element {
  static properties = {
    board: { attribute: false }, position: { attribute: false }, colors: { attribute: false }, overlay: { attribute: false },
    highlight: { attribute: false }, pending: { attribute: false }, label: {}, interactive: { type: Boolean }, waiting: {},
    chosen: { state: true }, hover: { state: true }, drag: { state: true }, choices: { state: true },
  };

  constructor() {
    super();
    this.colors = /** @type {string[]} */ ([]);
    this.overlay = /** @type {any[]} */ ([]);
    this.highlight = /** @type {number[]} */ ([]);
    this.pending = /** @type {any} */ (null);
    this.interactive = false;
    this.waiting = "";
    this.label = "Board";
    this.board = /** @type {any} */ (null);
    this.position = /** @type {any} */ (null);
    this.previous = /** @type {any} */ (null);
    this.reset();
    this.focused = 0;
    this.motion = new Motion();
    this.onDigit = (/** @type {KeyboardEvent} */ event) => this.digit(event);
  }

  reset() {
    this.chosen = /** @type {number|null} */ (null);
    this.hover = /** @type {number|null} */ (null);
    this.drag = /** @type {any} */ (null);
    this.choices = /** @type {any[]} */ ([]);
  }

  connectedCallback() {
    super.connectedCallback();
    document.addEventListener("keydown", this.onDigit);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    document.removeEventListener("keydown", this.onDigit);
  }

  /** @param {Map<string, any>} changed */
  willUpdate(changed) {
    if (changed.has("board")) {
      this.reset();
      this.focused = Math.min(this.focused, (this.board?.cells?.length ?? 1) - 1);
    }
    if (changed.has("position")) {
      const hover = this.hover;
      this.previous = changed.has("board") ? null : changed.get("position");
      this.reset();
      this.hover = hover;
      if (this.position && this.interactive) this.chosen = onlyOrigin(this.position.legal);
    }
  }

  /** @param {Map<string, any>} changed */
  updated(changed) {
    if (!this.board?.cells || !this.position) return;
    const root = /** @type {any} */ (this.querySelector("svg"));
    if (changed.has("pending") && this.pending && this.shown !== this.position) {
      this.motion.play(root, this.board, this.position, { ...this.shown, ply: this.position.ply + 1, flipped: [] });
    }
    if (!changed.has("position")) return;
    const wasDrawn = this.pendingShown && this.position?.ply === this.pendingShown.ply + 1 && !this.position.flipped?.length;
    if (!wasDrawn) this.motion.play(root, this.board, this.previous, this.position);
    this.pendingShown = null;
  }

  /** The position with the reader's own move drawn before the server has confirmed it. */
  get shown() {
    const { position, pending } = this;
    if (!pending || pending.ply !== position.ply || !pending.path.length) return position;
    const pieces = [...position.pieces];
    if (pending.path.length > 1) pieces[pending.path[0]] = -1;
    pieces[pending.path[pending.path.length - 1]] = position.mover;
    return { ...position, pieces, last: pending.path, legal: [], line: null };
  }

  get legal() {
    return this.interactive && !this.pending ? this.position.legal : [];
  }

  /** @param {any} move */
  play(move) {
    this.reset();
    this.emit("move", move);
  }

  /** @param {string} text */
  refuse(text) {
    this.emit("refused", { reason: text });
  }

  /** Act on a cell: play, choose a piece, or say why not. @param {number} cell */
  act(cell) {
    if (!this.interactive) return this.refuse(this.waiting || "There is nothing to play here.");
    if (this.pending) return undefined;
    const found = movesAt(this.legal, cell, this.chosen);
    if (found.length === 1) return this.play(found[0]);
    if (found.length > 1) {
      this.choices = found;
      return undefined;
    }
    if (origins(this.legal).has(cell)) {
      this.chosen = this.chosen === cell && onlyOrigin(this.legal) === null ? null : cell;
      return undefined;
    }
    const text = reason(this.board, this.position, cell, this.chosen, this.colors);
    if (onlyOrigin(this.legal) === null) this.chosen = null;
    return this.refuse(text);
  }

  /** @param {KeyboardEvent} event */
  keydown(event) {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.act(this.focused);
    } else if (event.key === "Escape" && (this.chosen !== null || this.choices.length)) {
      event.preventDefault();
      this.reset();
    } else if (/^(Arrow|Home|End)/.test(event.key)) {
      event.preventDefault();
      event.stopPropagation();
      this.focused = neighbor(this.board, this.focused, event.key);
      this.hover = this.focused;
      this.updateComplete.then(() => this.cellElement(this.focused)?.focus());
    }
  }

  /** Digits play columns, wherever the focus is. @param {KeyboardEvent} event */
  digit(event) {
    if (!this.interactive || !store.prefs.keys || !/^[1-9]$/.test(event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (isTaken(event.target, event.key) || document.querySelector("dialog[open]") || this.board?.style !== "drop") return;
    const column = this.board.columns.indexOf(event.key);
    const cell = this.board.cells.findIndex((/** @type {any} */ place) => place.column === column);
    if (cell >= 0) this.act(cell);
  }

  /** @param {number} cell @returns {SVGElement|null} */
  cellElement(cell) {
    return this.querySelector(`[data-cell="${cell}"]`);
  }

  /** @param {PointerEvent} event */
  cellUnder(event) {
    const found = document.elementFromPoint(event.clientX, event.clientY)?.closest("[data-cell]");
    return found && this.contains(found) ? Number(/** @type {SVGElement} */ (found).dataset.cell) : null;
  }

  /** @param {PointerEvent} event */
  pointerdown(event) {
    const cell = this.cellUnder(event);
    if (cell === null || event.button) return;
    event.preventDefault(); // Keep the focus where it is: arrow keys still step through a game after a click.
    this.press = { cell, x: event.clientX, y: event.clientY };
    if (origins(this.legal).has(cell)) /** @type {Element} */ (event.currentTarget).setPointerCapture(event.pointerId);
  }

  /** @param {PointerEvent} event */
  pointermove(event) {
    const { press } = this;
    if (press && !this.drag && origins(this.legal).has(press.cell) && Math.hypot(event.clientX - press.x, event.clientY - press.y) > 5) {
      this.chosen = press.cell;
      this.drag = { cell: press.cell };
    }
    if (this.drag) {
      const matrix = /** @type {any} */ (this.querySelector("svg")).getScreenCTM().inverse();
      const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix);
      this.drag = { ...this.drag, x: at.x, y: at.y };
    }
    const cell = this.cellUnder(event);
    if (cell !== this.hover) this.hover = cell;
  }

  /** @param {PointerEvent} event */
  pointerup(event) {
    const { press, drag } = this;
    const cell = this.cellUnder(event);
    this.press = undefined;
    this.drag = null;
    if (!press || cell === null) return;
    if (drag) {
      if (cell !== drag.cell) this.act(cell);
    } else if (cell === press.cell || (this.board.style === "drop" && this.interactive)) {
      this.focused = cell;
      this.act(cell);
      if (event.pointerType !== "mouse") this.hover = null;
    }
  }

  pointercancel() {
    this.press = undefined;
    this.drag = null;
    this.hover = null;
  }

  render() {
    if (!this.board || !this.position) return html`<div class="board-empty"></div>`;
    if (this.board.kind === "drawing") {
      return html`<tabia-drawing .position=${this.position} .interactive=${this.interactive && !this.pending} .label=${this.label} .highlight=${this.highlight}
        @pick=${(/** @type {CustomEvent} */ event) => this.play(event.detail)}></tabia-drawing>`;
    }
    if (this.pending) this.pendingShown = this.pending;
    const { board } = this;
    const shown = this.shown;
    return html`<svg class="board style-${board.style}" role="grid" aria-label=${this.label} viewBox=${viewBox(board)} ?data-interactive=${this.interactive}
        @pointerdown=${this.pointerdown} @pointermove=${this.pointermove} @pointerup=${this.pointerup} @pointercancel=${this.pointercancel}
        @pointerleave=${() => { if (!this.drag) this.hover = null; }} @keydown=${this.keydown}>
      <g aria-hidden="true">${ground(board, this.colors)}</g>
      <g aria-hidden="true" class="pieces">${this.pieces(shown)}</g>
      <g aria-hidden="true" class="front">${frame(board)}${coordinates(board)}${marks({ board, shown, legal: this.legal, chosen: this.chosen, hover: this.hover, overlay: this.overlay, highlight: this.highlight, colors: this.colors })}</g>
      ${this.rows(shown)}
      ${this.drag?.x !== undefined ? svg`<g class="dragged" aria-hidden="true" transform="translate(${this.drag.x} ${this.drag.y})">${this.disc(shown, this.drag.cell)}</g>` : nothing}
    </svg>${this.below()}`;
  }

  /** @param {any} shown @param {number} cell */
  disc(shown, cell, seat = shown.pieces[cell]) {
    const { board, colors } = this;
    return piece(seat, board.radius ?? 0.41, { style: board.style, colors, king: shown.kings?.includes(cell) });
  }

  /** @param {any} shown */
  pieces(shown) {
    const { board, previous } = this;
    const gone = (shown.flipped ?? []).filter((/** @type {number} */ cell) => previous?.pieces?.[cell] >= 0 && previous.pieces[cell] !== shown.pieces[cell]);
    const cells = shown.pieces.flatMap((/** @type {number} */ seat, /** @type {number} */ cell) => (seat >= 0 ? [cell] : []));
    const place = (/** @type {number} */ cell) => `translate(${board.cells[cell].x * UNIT} ${board.cells[cell].y * UNIT})`;
    return svg`
      ${gone.map((/** @type {number} */ cell) => svg`<g transform=${place(cell)}><g data-gone=${cell} opacity="0">${this.disc(shown, cell, previous.pieces[cell])}</g></g>`)}
      ${repeat(cells, (cell) => cell, (cell) => svg`<g transform=${place(/** @type {number} */ (cell))}><g data-piece=${cell} class=${this.drag?.cell === cell ? "lifted" : ""}>${this.disc(shown, /** @type {number} */ (cell))}</g></g>`)}`;
  }

  /** The grid of cells: hit areas, names and focus. @param {any} shown */
  rows(shown) {
    const { board } = this;
    const sources = origins(this.legal);
    /** @type {Map<number, number[]>} */
    const rows = new Map();
    board.cells.forEach((/** @type {any} */ place, /** @type {number} */ cell) => rows.set(place.row, [...(rows.get(place.row) ?? []), cell]));
    const half = board.style === "star" ? 46 : 50;
    return [...rows.keys()].sort((a, b) => a - b).map((row) => svg`<g role="row">${(rows.get(row) ?? []).map((cell) => {
      const { x, y } = board.cells[cell];
      const playable = this.chosen === cell || sources.has(cell) || movesAt(this.legal, cell, this.chosen).length > 0;
      return svg`<g role="gridcell" data-cell=${cell} tabindex=${cell === this.focused ? 0 : -1} aria-label=${this.cellLabel(shown, cell)}
          aria-selected=${this.chosen === cell ? "true" : nothing} class="cell ${playable ? "playable" : ""} ${sources.has(cell) ? "source" : ""}"
          @focus=${() => { this.focused = cell; this.hover = cell; }} @blur=${() => { this.hover = null; }}>
        <rect x=${x * UNIT - half} y=${y * UNIT - half} width=${2 * half} height=${2 * half} rx="12"/></g>`;
    })}</g>`);
  }

  /** @param {any} shown @param {number} cell */
  cellLabel(shown, cell) {
    const owner = shown.pieces[cell];
    const what = owner < 0 ? "empty" : (this.colors[owner] ?? `seat ${owner + 1}`).toLowerCase() + (shown.kings?.includes(cell) ? " king" : "");
    const last = shown.last?.[shown.last.length - 1] === cell ? ", last move" : "";
    const [move] = movesAt(this.legal, cell, this.chosen);
    const ways = this.chosen === cell ? ", chosen" : origins(this.legal).has(cell) ? ", can move" : move ? `, plays ${move.move}` : "";
    const won = shown.line?.includes(cell) ? ", winning line" : "";
    return `${placeName(this.board, cell)}, ${what}${last}${won}${ways}`;
  }

  /** Moves without a cell, such as a pass, and moves that need a choice between several ways. */
  below() {
    const passes = this.legal.filter(isPass);
    const ask = this.choices.length ? this.choices : passes;
    if (!ask.length) return nothing;
    return html`<div class="board-choices">${this.choices.length ? html`<span>Which way?</span>` : nothing}
      ${ask.map((move) => html`<button class=${isPass(move) ? "primary" : ""} @click=${() => this.play(move)}>${isPass(move) ? capitalized(move.move) : move.move}</button>`)}</div>`;
  }
}

customElements.define("tabia-board", Board);
