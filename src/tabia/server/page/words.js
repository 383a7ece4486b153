/** Numbers and results in words, the same everywhere on the page. */

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 4 });

export const count = (/** @type {number} */ number) => whole.format(number);
export const figure = (/** @type {number} */ number) => (Math.abs(number) >= 1000 ? whole.format(number) : short.format(number));

/** A share in percent; halves are rounded to even, as the server does in its sentences. @param {number} share */
export function percent(share) {
  const number = 100 * share;
  const rounded = Math.round(number);
  return `${rounded - number === 0.5 && rounded % 2 !== 0 ? rounded - 1 : rounded}%`;
}

/** A value from -1 to 1 as an expected score from 0 to 1. @param {number} value */
export const score = (value) => Math.min(1, Math.max(0, (value + 1) / 2));

/** "3 moves", "1 move". @param {number} number @param {string} noun */
export const plural = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;

/** A rating with its uncertainty. @param {{elo: number|null, error: number|null}} rated */
export function rating({ elo, error }) {
  if (elo === null || elo === undefined) return "";
  return error ? `${count(elo)} ± ${count(error)}` : count(elo);
}

/** A duration for people. @param {number} seconds */
export function duration(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

/** A date and time in the reader's own format. @param {string} iso */
export function date(iso) {
  const day = new Date(iso);
  return Number.isNaN(day.getTime()) ? "" : day.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}

/** The seat from whose point of view numbers are shown: the only human's, otherwise the first. @param {any[]} seats */
export function viewpoint(seats) {
  const humans = seats.flatMap((seat, index) => (seat.kind === "human" ? [index] : []));
  return humans.length === 1 ? humans[0] : 0;
}

/** "You lost to Club in 36 moves". @param {any} summary */
export function headline({ seats, result, plies }) {
  const length = plural(plies, "move");
  const own = viewpoint(seats);
  const others = seats.filter((/** @type {any} */ _, /** @type {number} */ index) => index !== own).map((/** @type {any} */ seat) => seat.name).join(" and ");
  const isPlayed = seats[own]?.kind === "human" && seats.filter((/** @type {any} */ seat) => seat.kind === "human").length === 1;
  if (!result) return `Unfinished, ${length}`;
  if (!isPlayed) return `${result.text}, ${length}`;
  if (result.winner === own) return `You beat ${others} in ${length}`;
  if (result.winner === null || result.winner === undefined) return `You drew with ${others} in ${length}`;
  return seats.length === 2 ? `You lost to ${others} in ${length}` : `${seats[result.winner].name} won in ${length}`;
}

/** Copy text, and say whether that worked. @param {string} text */
export async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
