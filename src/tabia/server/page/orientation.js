/** Turning a board by half, so that the reader's own pieces start at the bottom. */
import { api } from "./api.js";

/** @type {WeakMap<any, any>} */
const turned = new WeakMap();

/** The board as it is, or turned by half. @param {any} board @param {boolean} flip */
export function oriented(board, flip) {
  if (!flip || !board?.cells) return board;
  if (!turned.has(board)) {
    const cells = board.cells.map((/** @type {any} */ cell) => ({ ...cell, x: board.width - cell.x, y: board.height - cell.y }));
    turned.set(board, { ...board, cells, isTurned: true });
  }
  return turned.get(board);
}

/** @type {Map<string, Promise<any>>} */
const starts = new Map();

/** Whether a seat's pieces start above the others', so that the board is better turned. @param {any} game @param {number} seat */
export async function startsOnTop(game, seat) {
  const { board } = game;
  if (!board.cells || ["drop", "plain", "hex"].includes(board.style)) return false;
  if (!starts.has(game.id)) starts.set(game.id, api.position(game.id, ""));
  const { position } = await /** @type {Promise<any>} */ (starts.get(game.id));
  const height = (/** @type {(owner: number) => boolean} */ wanted) => {
    const own = position.pieces.flatMap((/** @type {number} */ owner, /** @type {number} */ cell) => (owner >= 0 && wanted(owner) ? [board.cells[cell].y] : []));
    return own.reduce((/** @type {number} */ sum, /** @type {number} */ y) => sum + y, 0) / (own.length || 1);
  };
  return height((owner) => owner === seat) < height((owner) => owner !== seat) - 0.5;
}
