/**
 * What an analysis says about the moves of a position, as one overlay at a time: policy, visits, values or exact.
 *
 * A move is labeled if it is the best, the one played, or has at least a tenth of the visits; the rest stays faint and
 * without a number, because numbers from few visits are noise.
 */
import { svg } from "../lit.js";
import { percent, score } from "../words.js";
import { UNIT } from "./board-art.js";

export const FLOOR = 0.1;

/** @typedef {{move: string, action: number, path: number[], size: number, label: string, best: boolean, sure: boolean, outcome?: string}} Entry */

/** The share each move has in the visits, or in the policy where nothing was searched. @param {any} analysis */
function weights(analysis) {
  const counts = analysis.visits ?? analysis.policy ?? {};
  const total = Object.values(counts).reduce((sum, number) => sum + Number(number), 0) || 1;
  return Object.fromEntries(Object.entries(counts).map(([move, number]) => [move, Number(number) / total]));
}

/**
 * @param {any} analysis @param {any[]} legal @param {"policy"|"visits"|"values"|"exact"} kind @param {string|null} [played]
 * @returns {Entry[]} The moves to draw, the best first.
 */
export function entries(analysis, legal, kind, played = null) {
  if (!analysis || !legal) return [];
  const share = kind === "policy" ? analysis.policy ?? {} : weights(analysis);
  const numbers = kind === "exact" ? analysis.exact?.scores ?? analysis.scores : kind === "values" ? analysis.values : share;
  if (!numbers) return [];
  const outcomes = analysis.exact?.outcome ?? analysis.outcome ?? {};
  const known = legal.filter((move) => numbers[move.move] !== undefined);
  const top = Math.max(...known.map((move) => numbers[move.move]));
  const best = kind === "values" ? analysis.recommended ?? analysis.move : null;
  return known
    .map((move) => {
      const number = numbers[move.move];
      const isBest = best ? move.move === best : number === top;
      const sure = kind === "exact" || kind === "policy" || isBest || move.move === played || (share[move.move] ?? 0) >= FLOOR;
      const outcome = kind === "exact" ? outcomes[move.move] ?? sign(number) : undefined;
      const size = kind === "exact" ? 0.8 : kind === "values" ? 0.35 + 0.5 * score(number) : Math.sqrt(number);
      return { ...move, size, best: isBest, sure, outcome, label: label(kind, number, outcome) };
    })
    .filter((entry) => kind !== "policy" || entry.best || entry.size > 0.1)
    .sort((a, b) => numbers[b.move] - numbers[a.move]);
}

/** @param {number} number */
const sign = (number) => (number > 0 ? "win" : number < 0 ? "loss" : "draw");

/** @param {string} kind @param {number} number @param {string} [outcome] */
function label(kind, number, outcome) {
  if (kind === "exact") return outcome ?? "";
  if (kind === "values") return percent(score(number));
  return number >= 0.005 ? percent(number) : "";
}

/** Draw them: discs in landing cells, arrows for moves of pieces. @param {any} board @param {Entry[]} list */
export function drawn(board, list) {
  const radius = (board.radius ?? 0.41) * UNIT;
  const arrows = list.some((entry) => entry.path.length > 1);
  const shown = arrows ? list.filter((entry) => entry.sure).slice(0, 5) : list;
  return shown.filter((entry) => entry.path.length).map((entry) => {
    const at = board.cells[entry.path[entry.path.length - 1]];
    const [x, y] = [at.x * UNIT, at.y * UNIT];
    const kind = `hint-disc ${entry.best ? "best" : ""} ${entry.outcome ?? ""} ${entry.sure ? "" : "faint"}`;
    const line = entry.path.map((cell) => `${board.cells[cell].x * UNIT},${board.cells[cell].y * UNIT}`).join(" ");
    const way = arrows ? svg`<polyline class="hint-way ${entry.best ? "best" : ""}" points=${line} stroke-width=${4 + 14 * entry.size}/>` : "";
    return svg`<g class=${kind}>${way}<circle cx=${x} cy=${y} r=${Math.max(0.16, arrows ? 0.62 : entry.size) * radius}/>
      ${entry.sure ? svg`<text x=${x} y=${y + 10}>${entry.label}</text>` : ""}</g>`;
  });
}
