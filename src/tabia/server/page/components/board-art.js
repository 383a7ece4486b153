/**
 * How boards and pieces look: grounds by style, pieces by color and mark. One board unit is 100 user units.
 *
 * Colors come from app.css by class; a piece differs from others by its mark as well as by its color.
 */
import { html, nothing, svg } from "../lit.js";

export const UNIT = 100;
const NAMED = ["red", "yellow", "green", "blue", "violet", "black", "white"];
const BY_SEAT = ["red", "yellow", "green", "blue", "violet", "black"];

/** The class that colors a seat's pieces. @param {number} seat @param {string[]} [colors] */
export function tone(seat, colors = []) {
  const name = (colors[seat] ?? "").toLowerCase().replace("amber", "yellow");
  return `tone-${NAMED.includes(name) ? name : BY_SEAT[seat % BY_SEAT.length]}`;
}

/** A seat's mark inside a disc of radius 1. @param {number} seat */
function mark(seat) {
  switch (seat % 6) {
    case 0: return svg`<circle class="mark" r="0.56"/>`;
    case 1: return svg`<circle class="mark solid" r="0.2"/>`;
    case 2: return svg`<path class="mark" d="M-.36-.36.36.36M.36-.36-.36.36"/>`;
    case 3: return svg`<rect class="mark" x="-.36" y="-.36" width=".72" height=".72"/>`;
    case 4: return svg`<path class="mark" d="M0-.46.42.3H-.42Z"/>`;
    default: return svg`<path class="mark" d="M-.45 0H.45"/>`;
  }
}

const CROWN = svg`<path class="crown" d="M-.46.3-.54-.26-.22.02 0-.42.22.02.54-.26.46.3Z"/>`;

/** A piece around the origin. @param {number} seat @param {number} radius @param {{style?: string, colors?: string[], king?: boolean}} [look] */
export function piece(seat, radius, { style, colors, king } = {}) {
  const size = radius * UNIT;
  if (style === "plain") {
    const glyph = seat === 0 ? svg`<path class="stroke" d="M-.66-.66.66.66M.66-.66-.66.66"/>` : seat === 1 ? svg`<circle class="stroke" r=".7"/>` : mark(seat);
    return svg`<g class="glyph ${tone(seat, colors)}" transform="scale(${size})">${glyph}</g>`;
  }
  return svg`<g class="disc ${tone(seat, colors)}" transform="scale(${size})">
    <circle class="body" r="0.97"/>${king ? CROWN : mark(seat)}</g>`;
}

/** A piece as a small picture beside text; where a game has no pieces to show, the seat's number. @param {number} seat @param {{style?: string, colors?: string[]}} look */
export function pieceIcon(seat, look) {
  if (!look.style) return html`<svg class="piece-icon seat-number ${tone(seat, look.colors)}" viewBox="-50 -50 100 100" aria-hidden="true"><circle r="42"/><text y="16">${seat + 1}</text></svg>`;
  return html`<svg class="piece-icon" viewBox="-50 -50 100 100" aria-hidden="true">${piece(seat, 0.46, look)}</svg>`;
}

/** @param {any} board Margins for frame and coordinates, in board units. */
export function margins(board) {
  const frame = board.style === "drop" ? 0.2 : board.style === "star" || board.style === "hex" ? 0.1 : 0.06;
  const rows = board.rows?.length && !["drop", "star", "hex"].includes(board.style);
  return { frame, left: frame + (rows ? 0.42 : 0), bottom: frame + (board.columns?.length && !["star", "hex"].includes(board.style) ? 0.46 : 0) };
}

/** The viewBox of a board. @param {any} board */
export function viewBox(board) {
  const { frame, left, bottom } = margins(board);
  const sides = [-left, -frame, board.width + left + frame, board.height + frame + bottom];
  return sides.map((side) => Math.round(side * UNIT)).join(" ");
}

/** What lies under the pieces. @param {any} board @param {string[]} [colors] */
export function ground(board, colors = []) {
  const width = board.width * UNIT;
  const height = board.height * UNIT;
  const pad = margins(board).frame * UNIT;
  const slab = (/** @type {string} */ name, /** @type {number} */ round) =>
    svg`<rect class=${name} x=${-pad} y=${-pad} width=${width + 2 * pad} height=${height + 2 * pad} rx=${round}/>`;
  switch (board.style) {
    case "drop": return slab("hole", 28);
    case "plain": return svg`<g class="lines heavy">${lines(board, 1)}</g>`;
    case "go": return svg`${slab("wood", 10)}<g class="lines" transform="translate(50 50)">${lines({ ...board, width: board.width - 1, height: board.height - 1 }, 0)}</g>`;
    case "star": return star(board, colors);
    case "hex": return hexagons(board, colors);
    case "checkered": return svg`${slab("rim", 10)}${squares(board, true)}${numbers(board)}`;
    default: return svg`${slab("rim", 10)}${squares(board, false)}`;
  }
}

/** The frame with its holes in front of the pieces (drop style). @param {any} board */
export function frame(board) {
  if (board.style !== "drop") return nothing;
  const pad = margins(board).frame * UNIT;
  const [left, right, bottom] = [-pad, board.width * UNIT + pad, board.height * UNIT + pad];
  const corner = 28;
  const rim = `M${left + corner} ${left}H${right - corner}Q${right} ${left} ${right} ${left + corner}V${bottom - corner}Q${right} ${bottom} ${right - corner} ${bottom}H${left + corner}Q${left} ${bottom} ${left} ${bottom - corner}V${left + corner}Q${left} ${left} ${left + corner} ${left}Z`;
  const r = (board.radius ?? 0.41) * UNIT;
  const holes = board.cells.map(({ x, y }) => `M${x * UNIT - r} ${y * UNIT}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`).join("");
  return svg`<path class="frame" fill-rule="evenodd" d=${rim + holes}/>`;
}

/** Grid lines; `inset` 1 leaves out the border. @param {any} board @param {number} inset */
function lines({ width, height }, inset) {
  const parts = [];
  for (let x = inset; x <= width - inset; x++) parts.push(`M${x * UNIT} ${inset ? 8 : 0}V${height * UNIT - (inset ? 8 : 0)}`);
  for (let y = inset; y <= height - inset; y++) parts.push(`M${inset ? 8 : 0} ${y * UNIT}H${width * UNIT - (inset ? 8 : 0)}`);
  return svg`<path d=${parts.join("")}/>`;
}

/** @param {any} board @param {boolean} checkered All squares of the rectangle, playable or not. */
function squares(board, checkered) {
  const parts = [];
  for (let y = 0; y < board.height; y++) {
    for (let x = 0; x < board.width; x++) {
      parts.push(svg`<rect class=${checkered && (x + y) % 2 === 0 ? "square light" : "square"} x=${x * UNIT} y=${y * UNIT} width=${UNIT} height=${UNIT}/>`);
    }
  }
  return parts;
}

/** The names of the squares, in their corners. @param {any} board */
function numbers(board) {
  if (board.columns?.length) return nothing;
  return svg`<g class="corner">${board.cells.map((/** @type {any} */ { x, y, label }) => svg`<text x=${(x - 0.46) * UNIT} y=${(y - 0.3) * UNIT}>${label}</text>`)}</g>`;
}

/** Holes joined by lines. @param {any} board @param {string[]} colors */
function star(board, colors) {
  const at = (/** @type {number} */ cell) => `${board.cells[cell].x * UNIT} ${board.cells[cell].y * UNIT}`;
  const links = (board.links ?? []).map((/** @type {number[]} */ [a, b]) => `M${at(a)}L${at(b)}`).join("");
  const r = (board.radius ?? 0.4) * UNIT;
  return svg`<path class="link" d=${links}/>
    ${board.cells.map((/** @type {any} */ { x, y, label, home }) => svg`<circle class="socket ${home === undefined || home === null ? "" : `home ${tone(home, colors)}`}" cx=${x * UNIT} cy=${y * UNIT} r=${r}/><text class="inner" x=${x * UNIT} y=${y * UNIT + 9}>${label}</text>`)}`;
}

/** Hexagons side by side, each seat's edges in its color. @param {any} board @param {string[]} colors */
function hexagons(board, colors) {
  const corners = [[0, -0.577], [0.5, -0.289], [0.5, 0.289], [0, 0.577], [-0.5, 0.289], [-0.5, -0.289]];
  const rows = Math.max(...board.cells.map((/** @type {any} */ cell) => cell.row));
  const columns = Math.max(...board.cells.map((/** @type {any} */ cell) => cell.column));
  const edge = (/** @type {number} */ seat, /** @type {(cell: any) => boolean} */ wanted, /** @type {number[]} */ points) =>
    board.cells.filter(wanted).map((/** @type {any} */ { x, y }) => svg`<polyline class="shore ${tone(seat, colors)}" points=${points.map((at) => `${(x + 1.06 * corners[at][0]) * UNIT},${(y + 1.06 * corners[at][1]) * UNIT}`).join(" ")}/>`);
  const shores = [edge(0, (cell) => cell.row === 0, [5, 0, 1]), edge(0, (cell) => cell.row === rows, [4, 3, 2]), edge(1, (cell) => cell.column === 0, [5, 4, 3]), edge(1, (cell) => cell.column === columns, [0, 1, 2])];
  return board.cells.map((/** @type {any} */ { x, y, label }) => svg`<polygon class="hexagon" points=${corners.map(([dx, dy]) => `${(x + dx) * UNIT},${(y + dy) * UNIT}`).join(" ")}/><text class="inner" x=${x * UNIT} y=${y * UNIT + 9}>${label}</text>`).concat(shores);
}

/** Row and column names. @param {any} board */
export function coordinates(board) {
  if (["star", "hex"].includes(board.style)) return nothing; // Their cells carry their names.
  const { frame: pad, left } = margins(board);
  const turn = (/** @type {string[]} */ names) => (board.isTurned ? [...names].reverse() : names);
  const rows = left > pad ? turn(board.rows) : [];
  return svg`<g class="coordinates">
    ${turn(board.columns ?? []).map((/** @type {string} */ name, /** @type {number} */ at) => svg`<text x=${(at + 0.5) * UNIT} y=${(board.height + pad + 0.33) * UNIT}>${name}</text>`)}
    ${rows.map((/** @type {string} */ name, /** @type {number} */ at) => svg`<text x=${-(pad + 0.22) * UNIT} y=${(at + 0.5) * UNIT + 11}>${name}</text>`)}
  </g>`;
}
