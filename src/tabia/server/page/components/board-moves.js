/**
 * From cells to moves: what a click, a drag or a key on a cell means, and why it means nothing. Pure functions.
 *
 * A placement has a path of one cell and is played by its targets; a move of a piece has a path from its origin over its
 * landings; a pass has an empty path.
 */

/** @typedef {{action: number, move: string, path: number[], targets?: number[]}} Move */

/** @param {Move} move */
export const isPlacement = (move) => move.path.length === 1;
/** @param {Move} move */
export const isPass = (move) => move.path.length === 0;
/** @param {Move} move */
const targets = (move) => move.targets ?? move.path.slice(-1);

/** The cells from which a piece can move. @param {Move[]} legal */
export function origins(legal) {
  return new Set(legal.filter((move) => move.path.length > 1).map((move) => move.path[0]));
}

/** The one origin all moves share (a capture that continues), or null. @param {Move[]} legal */
export function onlyOrigin(legal) {
  const found = origins(legal);
  return found.size === 1 && legal.every((move) => move.path.length > 1) ? [...found][0] : null;
}

/** The moves a cell stands for, given the chosen piece. @param {Move[]} legal @param {number} cell @param {number|null} chosen */
export function movesAt(legal, cell, chosen) {
  if (chosen === null) return legal.filter((move) => isPlacement(move) && targets(move).includes(cell));
  return legal.filter((move) => move.path.length > 1 && move.path[0] === chosen && targets(move).includes(cell));
}

/** The cells a chosen piece can reach, or where a stone may be placed. @param {Move[]} legal @param {number|null} chosen */
export function reachable(legal, chosen) {
  const moves = chosen === null ? legal.filter(isPlacement) : legal.filter((move) => move.path.length > 1 && move.path[0] === chosen);
  return new Set(moves.map((move) => move.path[move.path.length - 1]));
}

/**
 * Why a cell stands for no move, as a sentence.
 * @param {any} board @param {any} position @param {number} cell @param {number|null} chosen @param {string[]} colors
 */
export function reason(board, position, cell, chosen, colors) {
  const owner = position.pieces[cell];
  const legal = position.legal;
  const own = colors[position.mover] ?? "your color";
  if (legal.length && legal.every(isPass)) return "There is no move here: you have to pass.";
  if (board.style === "drop") return `Column ${board.columns[board.cells[cell].column]} is full. Choose another one.`;
  if (legal.some(isPlacement)) {
    if (owner >= 0) return "This place is taken. Choose an empty one.";
    return "This place is not allowed. The dots mark the places you can play.";
  }
  if (owner === position.mover) return "This piece cannot move now. Pieces that can move are marked.";
  if (owner >= 0) return `This piece is ${colors[owner] ?? "not yours"}. You move ${own}.`;
  return chosen === null ? `First choose one of your pieces: ${own}.` : "Your piece cannot go there. The dots mark where it can.";
}

/** A cell in words. @param {any} board @param {number} cell */
export function placeName(board, cell) {
  const { row, column, label } = board.cells[cell];
  if (!board.columns?.length) return label;
  return `column ${board.columns[column]}, row ${board.rows?.[row] ?? row + 1}`;
}

/**
 * The cell an arrow key leads to: along the row, or to the nearest column of the next row that has cells.
 * @param {any} board @param {number} cell @param {string} key
 */
export function neighbor(board, cell, key) {
  const here = board.cells[cell];
  const across = { ArrowLeft: -1, ArrowRight: 1 }[key];
  const down = ({ ArrowUp: -1, ArrowDown: 1 }[key] ?? 0) * (board.isTurned ? -1 : 1);
  const cells = board.cells.map((/** @type {any} */ place, /** @type {number} */ index) => ({ ...place, index }));
  const row = cells.filter((/** @type {any} */ place) => place.row === here.row).sort((/** @type {any} */ a, /** @type {any} */ b) => a.x - b.x);
  if (key === "Home") return row[0].index;
  if (key === "End") return row[row.length - 1].index;
  if (across) {
    const at = row.findIndex((/** @type {any} */ place) => place.index === cell) + across;
    return row[at]?.index ?? cell;
  }
  if (down) {
    const next = cells.filter((/** @type {any} */ place) => place.row === here.row + down);
    const nearest = next.sort((/** @type {any} */ a, /** @type {any} */ b) => Math.abs(a.x - here.x) - Math.abs(b.x - here.x))[0];
    return nearest?.index ?? cell;
  }
  return cell;
}
