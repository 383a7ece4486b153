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

/** "Pass", at the start of a sentence or on a button. @param {string} text */
export const capitalized = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** "3 moves", "1 move". @param {number} number @param {string} noun */
export const plural = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;

/** A rating in points, without separators, as players write it. @param {number} number */
export const points = (number) => String(Math.round(number));

/** An agent's rating with its uncertainty. @param {{elo: number|null, error: number|null}} rated */
export function rating({ elo, error }) {
  if (elo === null || elo === undefined) return "";
  return error ? `${points(elo)} ± ${points(error)}` : points(elo);
}

/** A deviation above this makes a rating provisional, as on other servers that use Glicko-2. */
const PROVISIONAL = 110;

/** A person's rating: "1520 ± 90", or "1520?" while it is provisional. @param {{rating: number|null, deviation: number}|null|undefined} rated */
export function personRating(rated) {
  if (rated?.rating === null || rated?.rating === undefined) return "";
  return rated.deviation > PROVISIONAL ? `${points(rated.rating)}?` : `${points(rated.rating)} ± ${points(rated.deviation)}`;
}

/** The rating at a seat. @param {any} seat */
export const seatRating = (seat) => (seat.kind === "human" ? personRating({ rating: seat.elo, deviation: seat.error }) : rating(seat));

/** A change with its sign: "+12", "−7", "±0". @param {number} number */
export function signed(number) {
  const whole = Math.round(number);
  return whole > 0 ? `+${whole}` : whole < 0 ? `−${-whole}` : "±0";
}

/** Whether a change, as it is shown, is up or down. @param {number} number */
export const direction = (number) => (Math.round(number) > 0 ? "up" : Math.round(number) < 0 ? "down" : "");

/** A wait in words: "8 seconds", "2 minutes". @param {number} seconds */
export function patience(seconds) {
  if (seconds < 60) return plural(Math.max(1, Math.ceil(seconds)), "second");
  return seconds < 5400 ? plural(Math.ceil(seconds / 60), "minute") : plural(Math.ceil(seconds / 3600), "hour");
}

/** A clock's remaining time: "4:07", tenths below ten seconds. @param {number} ms */
export function clockText(ms) {
  const left = Math.max(0, ms);
  if (left < 10_000) return `0:0${(Math.floor(left / 100) / 10).toFixed(1)}`;
  const seconds = Math.floor(left / 1000);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const two = (/** @type {number} */ number) => String(number).padStart(2, "0");
  return hours ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

/** A time control: "5 min + 3 s per move". @param {{initial_s: number, increment_s: number}|null} clock */
export function timeControl(clock) {
  if (!clock) return "no clock";
  const start = clock.initial_s % 60 ? `${clock.initial_s} s` : `${clock.initial_s / 60} min`;
  return clock.increment_s ? `${start} + ${clock.increment_s} s per move` : `${start} each`;
}

/** A duration for people. @param {number} seconds */
export function duration(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

/** A date and time in the reader's own format. @param {string} iso @param {Intl.DateTimeFormatOptions} [format] */
export function date(iso, format = { dateStyle: "medium", timeStyle: "short" }) {
  const day = new Date(iso);
  return Number.isNaN(day.getTime()) ? "" : day.toLocaleString(undefined, format);
}

/** The seats that people play. @param {any[]} seats */
export const people = (seats) => seats.flatMap((seat, index) => (seat.kind === "human" ? [index] : []));

/** The reader's own seats; people share the screen where the server does not know who they are. @param {{seats: any[], you?: number[]}} game */
export const mine = ({ seats, you }) => you ?? people(seats);

/** The seat from whose point of view numbers are shown: the reader's only one, otherwise the first. @param {{seats: any[], you?: number[]}} game */
export function viewpoint(game) {
  const own = mine(game);
  return own.length === 1 ? own[0] : 0;
}

/** A player for people: "MCTS(200)", "Minimax(4)", "Greedy"; others by their spec. @param {string} spec */
export function playerName(spec) {
  const simple = /** @type {Record<string, string>} */ ({ random: "Random", greedy: "Greedy", initialize: "Initialize", perfect: "Perfect play" });
  const sized = /^(?:mcts:simulations|minimax:depth)=(\d+)$/.exec(spec);
  return sized ? `${spec.startsWith("mcts") ? "MCTS" : "Minimax"}(${sized[1]})` : simple[spec] ?? spec;
}

/** Whom the reader plays: "Club", "Ben and Club". @param {any} game */
export function opponents(game) {
  const own = viewpoint(game);
  return game.seats.flatMap((/** @type {any} */ seat, /** @type {number} */ index) => (index === own ? [] : [seat.name])).join(" and ");
}

/** How a game ended, from the reader's side: "You won with four in a row", "You won: Ben resigned". @param {any} state */
export function ending(state) {
  const { text, reason, winner } = state.result ?? { text: "The game is over", reason: "" };
  const own = mine(state);
  const name = own.length === 1 ? state.seats[own[0]].name : "";
  const full = reason && state.ended_by === "rules" && !text.includes(reason) ? `${text}: ${reason}` : text;
  if (!name || name === "You") return full;
  if (text.startsWith(`${name} `)) return `You${full.slice(name.length)}`;
  return winner === own[0] ? `You won: ${full}` : full;
}

/** "You lost to Club in 36 moves". @param {any} summary */
export function headline(summary) {
  const { seats, result, plies } = summary;
  const length = plural(plies, "move");
  const own = viewpoint(summary);
  const others = opponents(summary);
  const isPlayed = mine(summary).length === 1;
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
