/** What is drawn over the pieces: last move, legal targets, ghost, path, hint, overlay and winning line. */
import { nothing, svg } from "../lit.js";
import { tone, UNIT } from "./board-art.js";
import { isPlacement, movesAt, origins, reachable } from "./board-moves.js";
import { drawn } from "./overlay.js";

/**
 * @param {{board: any, shown: any, legal: any[], chosen: number|null, hover: number|null, overlay: any[], highlight: number[], colors: string[]}} view
 */
export function marks({ board, shown, legal, chosen, hover, overlay, highlight, colors }) {
  const radius = (board.radius ?? 0.41) * UNIT;
  const at = (/** @type {number} */ cell) => ({ x: board.cells[cell].x * UNIT, y: board.cells[cell].y * UNIT });
  const ring = (/** @type {number} */ cell, /** @type {string} */ name, scale = 1) => svg`<circle class=${name} cx=${at(cell).x} cy=${at(cell).y} r=${radius * scale}/>`;
  const way = (/** @type {number[]} */ path, /** @type {string} */ name) => svg`<polyline class=${name} points=${path.map((cell) => `${at(cell).x},${at(cell).y}`).join(" ")}/>`;
  const last = shown.last ?? [];
  const places = legal.filter(isPlacement);
  const free = shown.pieces.filter((/** @type {number} */ owner) => owner < 0).length;
  const isObvious = board.style === "drop" || (places.length > 0 && places.length === free); // Every empty cell is legal.
  const targets = !isObvious && (chosen !== null || places.length) ? [...reachable(legal, chosen)] : [];
  const movable = chosen === null && !places.length ? [...origins(legal)] : [];
  const [hovered] = hover === null ? [] : movesAt(legal, hover, chosen);
  return svg`
    ${last.length > 1 ? svg`${way(last, "last-way")}${ring(last[0], "last-from", 0.3)}` : nothing}
    ${last.length ? lastMove(last[last.length - 1]) : nothing}
    ${movable.map((cell) => ring(cell, "movable", 1.06))}
    ${chosen !== null ? ring(chosen, "chosen", 1.08) : nothing}
    ${drawn(board, overlay)}
    ${targets.map((cell) => ring(cell, "target", 0.24))}
    ${hovered ? ghost(hovered) : nothing}
    ${highlight.length > 1 ? way(highlight, "hint-path") : nothing}${highlight.map((cell) => ring(cell, "hint", 0.94))}
    ${shown.line?.length ? svg`${way(shown.line, "win-edge")}${way(shown.line, "win")}${shown.line.map((/** @type {number} */ cell) => ring(cell, "win-ring", 0.98))}` : nothing}`;

  /** The cell of the last move; around glyphs a ring would look like one of them. @param {number} cell */
  function lastMove(cell) {
    if (board.style !== "plain") return ring(cell, "last", 1.06);
    const half = 0.43 * UNIT;
    return svg`<rect class="last-cell" x=${at(cell).x - half} y=${at(cell).y - half} width=${2 * half} height=${2 * half} rx="12"/>`;
  }

  /** Where a move lands, and the way there. @param {any} move */
  function ghost(move) {
    const steps = move.path.length > 1 ? svg`${way(move.path, "way")}${move.path.slice(1).map((/** @type {number} */ cell) => ring(cell, "landing", 0.3))}` : nothing;
    return svg`${steps}<g class="ghost ${tone(shown.mover, colors)}">${ring(move.path[move.path.length - 1], "ring", 0.86)}</g>`;
  }
}
