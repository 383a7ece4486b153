/** Who plays: names, ratings, clocks and who is there, as a card or, on phones, as a strip above and below the board. */
import { html, nothing } from "../lit.js";
import { clockText, direction, mine, personRating, seatRating, signed } from "../words.js";
import { pieceIcon } from "./board-art.js";
import "./clock.js";

/** @typedef {{style?: string, colors?: string[], arrived?: number, connected?: boolean}} Look */

/** Whether people play each other or for a rating, so that nobody may get help. @param {any} state */
export const isFair = (state) => Boolean(state.rated) || hasOthers(state);

/** Whether somebody else plays, or may come by link. @param {any} state */
export const hasOthers = (state) => state.seats.some((/** @type {any} */ seat, /** @type {number} */ index) => seat.kind === "open" || (seat.kind === "human" && !mine(state).includes(index)));

/** Whether a seat waits for anybody: an open seat with a name of its own is kept for that person. @param {any} state @param {string[]} colors */
export const vacant = (state, colors) => state.seats.some((/** @type {any} */ seat, /** @type {number} */ index) => seat.kind === "open" && seat.name === colors[index]);

/** The seats from top to bottom: the reader's own last, where others play. @param {any} state @returns {number[]} */
function order(state) {
  const all = [...state.seats.keys()];
  if (!isFair(state)) return all;
  return [...all.filter((seat) => !mine(state).includes(seat)), ...mine(state)];
}

/** @param {any} state GameState @param {Look} look */
export function players(state, look) {
  return html`<div class="players">${order(state).map((index) => row(state, index, look))}</div>`;
}

/** One seat beside the board, for phones; only where clocks or ratings matter. @param {any} state @param {"top"|"bottom"} place @param {Look} look */
export function strip(state, place, look) {
  if (!state || !isFair(state) || state.status === "waiting") return nothing;
  const seats = order(state);
  const shown = place === "bottom" ? seats.slice(-1) : seats.slice(0, -1);
  return html`<div class="strip">${shown.map((index) => row(state, index, look))}</div>`;
}

/** @param {any} state @param {number} index @param {Look} look */
function row(state, index, look) {
  const seat = state.seats[index];
  const isOn = state.status !== "over" && state.status !== "waiting";
  const turn = isOn && state.position.mover === index;
  const isAway = isOn && state.presence?.[index] === false;
  const words = note(state, index, turn, isAway, look);
  const rated = rank(state, index);
  const second = state.clocks ? html`${rated}${rated !== nothing && words.length ? " · " : ""}${words}` : words.length ? words : seat.about || (look.colors?.[index] ?? "");
  return html`<div class="player ${turn ? "turn" : ""} ${seat.kind === "open" ? "vacant" : ""}" data-seat=${index}>${pieceIcon(index, look)}
    <span class="who-plays"><b>${presence(state, index)}${seat.kind === "open" && seat.name === look.colors?.[index] ? "Open seat" : seat.name}</b><small class=${isAway ? "away" : ""}>${second}</small></span>
    ${state.clocks ? clock(state, index, look) : rated}</div>`;
}

/** Whether a person is there, for the eye; absence is also said in words. @param {any} state @param {number} index */
function presence(state, index) {
  const known = state.presence?.[index];
  return typeof known === "boolean" && hasOthers(state) && state.status !== "over" ? html`<i class="presence ${known ? "here" : ""}" aria-hidden="true"></i>` : nothing;
}

/** The rating; after a rated game the one that it led to, with the change. @param {any} state @param {number} index */
function rank(state, index) {
  const change = state.rating_change?.[index];
  const text = change ? personRating({ rating: change.after, deviation: change.deviation }) : seatRating(state.seats[index]);
  if (!text) return nothing;
  return html`<span class="rank">${text}${change ? html` <b class="change ${direction(change.change)}"><span class="unseen">Change: </span>${signed(change.change)}</b>` : nothing}</span>`;
}

/** What there is to say about a seat; beside a clock, which shows whose turn it is, only what is needed. @param {any} state @param {number} index @param {boolean} turn @param {boolean} isAway @param {Look} look */
function note(state, index, turn, isAway, look) {
  const seat = state.seats[index];
  const isOver = state.status === "over";
  const words = [];
  if (seat.kind === "open" && seat.name !== look.colors?.[index]) words.push("invited");
  if (isFair(state) && mine(state).includes(index) && !(isOver && state.clocks)) words.push("you");
  if (isOver && state.result?.winner === index) words.push("won");
  else if (isAway) words.push(away(state.away_ms?.[index], look));
  else if (turn && !state.clocks) words.push(seat.kind === "human" ? "to move" : "thinking");
  return words.flatMap((word, at) => (at ? [" · ", word] : [word]));
}

/** @param {number|null|undefined} left @param {Look} look */
const away = (left, look) => (typeof left === "number" ? html`away, loses in <tabia-countdown .ms=${left} .since=${look.arrived ?? 0} .running=${true}></tabia-countdown>` : "away");

/** @param {any} state @param {number} index @param {Look} look */
function clock(state, index, look) {
  const ms = state.clocks?.[index];
  if (typeof ms !== "number") return nothing;
  if (state.status === "over") return html`<span class="clock" role="timer" aria-label="Time left of ${state.seats[index].name}">${clockText(ms)}</span>`;
  const running = state.running === index && look.connected !== false;
  return html`<tabia-clock .ms=${ms} .since=${look.arrived ?? 0} .running=${running} .own=${mine(state).includes(index)} .label=${`Time left of ${state.seats[index].name}`}></tabia-clock>`;
}
