/** Who plays: names, ratings, clocks and who is there, as a card or, on phones, as a strip above and below the board. */
import { html, nothing } from "../lit.js";
import { clockText, mine, patience, seatRating, signed } from "../words.js";
import { pieceIcon } from "./board-art.js";
import "./clock.js";

/** @typedef {{style?: string, colors?: string[], arrived?: number, connected?: boolean}} Look */

/** Whether people play each other or for a rating, so that nobody may get help. @param {any} state */
export const isFair = (state) => Boolean(state.rated) || hasOthers(state);

/** Whether somebody else plays, or may come by link. @param {any} state */
export const hasOthers = (state) => state.seats.some((/** @type {any} */ seat, /** @type {number} */ index) => seat.kind === "open" || (seat.kind === "human" && !mine(state).includes(index)));

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
  if (!state || !isFair(state)) return nothing;
  const seats = order(state);
  const shown = place === "bottom" ? seats.slice(-1) : seats.slice(0, -1);
  return html`<div class="strip">${shown.map((index) => row(state, index, look))}</div>`;
}

/** @param {any} state @param {number} index @param {Look} look */
function row(state, index, look) {
  const seat = state.seats[index];
  const turn = state.status !== "over" && state.status !== "waiting" && state.position.mover === index;
  const change = state.rating_change?.[index];
  const isAway = state.presence?.[index] === false && state.status !== "over" && state.status !== "waiting";
  return html`<div class="player ${turn ? "turn" : ""} ${seat.kind === "open" ? "vacant" : ""}" data-seat=${index}>${pieceIcon(index, look)}
    <span class="who-plays"><b>${seat.kind === "open" ? "Open seat" : seat.name}</b><small class=${isAway ? "away" : ""}>${note(state, index, turn, isAway) || seat.about || (look.colors?.[index] ?? "")}</small></span>
    <span class="rank">${seatRating(seat)}${change ? html` <b class="change ${change.change > 0 ? "up" : change.change < 0 ? "down" : ""}"><span class="unseen">Change: </span>${signed(change.change)}</b>` : nothing}</span>
    ${clock(state, index, look)}</div>`;
}

/** @param {any} state @param {number} index @param {boolean} turn @param {boolean} isAway */
function note(state, index, turn, isAway) {
  const seat = state.seats[index];
  const won = state.result && state.result.winner === index;
  const left = state.away_ms?.[index];
  const words = [];
  if (isFair(state) && mine(state).includes(index)) words.push("you");
  if (won) words.push("won");
  else if (isAway) words.push(typeof left === "number" ? `away, loses in ${patience(left / 1000)}` : "away");
  else if (turn) words.push(seat.kind === "human" ? "to move" : "thinking");
  return words.join(" · ");
}

/** @param {any} state @param {number} index @param {Look} look */
function clock(state, index, look) {
  const ms = state.clocks?.[index];
  if (typeof ms !== "number") return nothing;
  if (state.status === "over") return html`<span class="clock" role="timer" aria-label="Time left of ${state.seats[index].name}">${clockText(ms)}</span>`;
  const running = state.running === index && look.connected !== false;
  return html`<tabia-clock .ms=${ms} .since=${look.arrived ?? 0} .running=${running} .own=${mine(state).includes(index)} .label=${`Time left of ${state.seats[index].name}`}></tabia-clock>`;
}
