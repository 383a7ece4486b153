/** Small parts shared by the views: the list of moves, the expected score, chips. */
import { html, nothing } from "../lit.js";
import { percent, score } from "../words.js";
import { tone } from "./board-art.js";

/**
 * The moves, one row per round; with `pick` they are buttons.
 * @param {{moves: any[], seats: number, current?: number, pick?: (ply: number) => void, marked?: Set<number>, from?: number}} list
 */
export function moveList({ moves, seats, current, pick, marked = new Set(), from = 0 }) {
  if (!moves.length) return html`<p class="soft">No moves yet.</p>`;
  const rounds = [];
  for (let start = 0; start < moves.length; start += seats) rounds.push(start);
  return html`<ol class="moves seats-${Math.min(seats, 6)}">${rounds.map((start) => html`<li><span class="n">${start / seats + 1}</span>
    ${moves.slice(start, start + seats).map((move, offset) => {
      const ply = start + offset + 1;
      const text = html`${move.move}${marked.has(ply) ? html`<span class="flaw" title="A better move was possible">?</span>` : nothing}`;
      return pick
        ? html`<button class="move" data-ply=${from + ply} aria-current=${current === ply ? "true" : nothing} @click=${() => pick(ply)}>${text}</button>`
        : html`<span class="move" aria-current=${current === ply ? "true" : nothing}>${text}</span>`;
    })}</li>`)}</ol>`;
}

/** The score of each seat as one bar, expected or final; the number is the viewer's. @param {string} title @param {number[]} expected @param {number} own @param {string[]} colors @param {string} who */
export function scoreBar(title, expected, own, colors, who) {
  const values = shares(expected);
  const order = [own, ...values.keys()].filter((seat, index, all) => all.indexOf(seat) === index);
  const text = `${who} ${percent(score(expected[own]))}`;
  return html`<div class="evalbar" role="img" aria-label="${title}: ${text}">
      ${order.map((seat) => html`<i class=${tone(seat, colors)} .style=${`width: ${100 * values[seat]}%`}></i>`)}</div>
    <p class="soft small">${title}: <b>${text}</b></p>`;
}

/** The widths of the bar: scores as shares of one. @param {number[]} expected */
function shares(expected) {
  const raw = expected.map(score);
  const total = raw.reduce((sum, value) => sum + value, 0) || 1;
  return expected.length === 2 ? raw : raw.map((value) => value / total);
}

/** A group of chips of which one is pressed. @param {string} label @param {[string, string][]} options @param {string} chosen @param {(value: string) => void} choose */
export function chips(label, options, chosen, choose) {
  return html`<div class="chips" role="group" aria-label=${label}>${options.map(([value, text]) => html`<button type="button" class="chip" aria-pressed=${value === chosen ? "true" : "false"} @click=${() => choose(value)}>${text}</button>`)}</div>`;
}
