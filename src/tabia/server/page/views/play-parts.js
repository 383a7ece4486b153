/** The parts of the play view around the board: status, actions, who plays, the list of moves, the welcome. */
import { icon } from "../icons.js";
import { html, nothing } from "../lit.js";
import { href, moveText } from "../router.js";
import { store } from "../store.js";
import { mine, viewpoint } from "../words.js";
import { moveList, scoreBar } from "../components/parts.js";
import { isFair, players } from "../components/seats.js";
import { onlineNote } from "./play-online.js";

/** @param {any} state @param {any} position @param {any[]} seats @param {any} view The view of the game. */
export function statusLine(view, state, position, seats) {
  const { game } = view;
  const seated = mine(state ?? { seats });
  const alone = seated.length === 1;
  const [own] = seated;
  const goal = position && !position.over ? lower(game.goals[alone ? own : position.mover]) : "";
  const facts = [position && alone ? `you are ${seatName(game.seat_names[own])}` : "", goal].filter(Boolean);
  const title = state ? view.status(state) : position ? ready(seats[position.mover]) : view.failure || view.message ? "The board cannot be shown" : "Opening the board …";
  const won = state?.status === "over" && alone ? (state.result?.winner === own ? "won" : state.result?.winner === null ? "" : "lost") : "";
  const failure = view.session.connected ? view.failure || state?.problem : "";
  const note = !view.session.connected ? "Reconnecting … your game is kept." : failure ? failure : view.hint?.explained ? view.hint.text : view.hint ? `Look at ${view.hint.move}. Press Hint again for the reason.` : view.message || onlineNote(view, state);
  return html`<div class="status"><h1 class=${won}>${title}</h1>
      ${state?.thinking && !state.problem ? html`<span class="dots" aria-hidden="true"><i></i><i></i><i></i></span>` : nothing}
      <span class="soft">${position ? `Move ${position.ply + (position.over ? 0 : 1)}` : ""}<span class="wide">${facts.map((fact) => ` · ${fact}`).join("")}</span></span>
      <button class="who quiet" @click=${() => { view.sheet = true; }}>${icon("settings")}<span>${alone && opponents(view, seats) ? `against ${opponents(view, seats)}` : "Players"}</span></button></div>
    <p class="line ${note ? "" : "blank"} ${failure || !view.session.connected ? "bad" : ""}" aria-live="polite">${note || " "}</p>`;
}

/** Who begins, before a game. @param {any} seat */
const ready = (seat) => (seat?.kind === "agent" ? "Ready when you are" : "Your move");

/** A seat inside a sentence: red, seat 1, X. @param {string} name */
const seatName = (name) => (name.length > 1 ? name.toLowerCase() : name);

/** @param {any[]} seats @param {any} view The view of the game. */
function opponents(view, seats) {
  const names = seats.filter((seat) => seat.kind === "agent").map((seat) => seat.name ?? view.game.levels.find((/** @type {any} */ level) => level.id === seat.agent)?.name);
  return [...new Set(names)].join(" and ");
}

/** @param {any} state @param {boolean} own @param {any} view The view of the game. */
export function actions(view, state, own) {
  if (!state) {
    if (!view.draft?.position) return html`<div class="actions main-actions"></div>`;
    return html`<div class="actions main-actions">${!own
      ? html`<button class="primary" @click=${view.start}>${icon("play")} Start: ${view.levelName()} moves first</button>`
      : html`<p class="soft">Play a move to start. Nothing to sign up for.</p>`}</div>`;
  }
  if (state.status === "over") {
    return html`<div class="actions main-actions many"><button class="primary" @click=${() => view.rematch(false)}>${icon("again")} Rematch</button>
      <button @click=${() => view.rematch(true)}>${icon("swap")} Swap sides</button>
      <a class="button" href=${href("review", state.id)}>${icon("search")} Review</a>
      <button @click=${view.share}>${icon("share")} Share</button>
      <button @click=${() => view.fresh()}>${icon("plus")} New game</button></div>`;
  }
  const people = view.session.own.length;
  return html`<div class="actions main-actions">
    <button ?disabled=${!state.can.undo} @click=${view.undo}>${icon("undo")} Undo <kbd>U</kbd></button>
    ${state.thinking && people ? html`<button @click=${view.now}>${icon("play")} Move now <kbd>Space</kbd></button>` : html`<button ?disabled=${!state.can.hint || view.asking} @click=${view.askHint}>${icon("hint")} ${view.hint ? "Why?" : "Hint"} <kbd>H</kbd></button>`}
    <button ?disabled=${!state.can.resign || !people} class=${view.confirming ? "danger" : ""} @click=${view.resign}>${icon("flag")} ${view.confirming ? "Really resign" : "Resign"}</button>
    <button @click=${() => view.fresh()}>${icon("plus")} New game <kbd>N</kbd></button></div>`;
}

/** @param {any} state @param {any} view The view of the game. @param {import("../components/seats.js").Look} look */
export function sidebar(view, state, look) {
  const { game } = view;
  const isHelped = !isFair(state) || state.status === "over";
  return html`<section class="card">${players(state, look)}</section>
    <section class="card moves-card"><h2>Moves</h2><div class="moves-box">${moveList({ moves: state.moves, seats: game.seats, current: state.moves.length })}</div>
      ${game.board.cells && state.status === "your move" ? moveBox(view, state.position) : nothing}
      <div class="actions gap-top">${isHelped ? html`<button class="plain" @click=${view.share}>Copy link</button><a href=${href("explain", "", { g: game.id, m: moveText(state.moves.map((/** @type {any} */ move) => move.move)) })}>Explain this position</a>` : nothing}</div></section>
    ${isFair(state) ? nothing : html`<section class="card"><label class="check"><input type="checkbox" .checked=${store.prefs.bar} @change=${(/** @type {any} */ event) => view.showExpected(event.target.checked)}>Show the expected score</label>
      ${store.prefs.bar ? scores(state, view) : nothing}</section>`}`;
}

/** The expected score or, at the end, the final one. @param {any} state @param {any} view The view of the game. */
function scores(state, view) {
  const { seat_names: colors } = view.game;
  const own = viewpoint(state);
  const who = state.seats[own].name;
  if (state.status === "over") return state.result ? scoreBar("Final score", state.result.scores, own, colors, who) : nothing;
  return view.expected ? scoreBar("Expected score", view.expected, own, colors, who) : html`<p class="soft small" role="status">${expectedText(state, view)}</p>`;
}

/** Why no expected score is shown. @param {any} state @param {any} view The view of the game. */
function expectedText(state, view) {
  if (state.status === "thinking") return view.session.own.length ? "It appears at your next turn." : "It is shown only in games you play in.";
  return view.unknown ? "No estimate is available for this position." : "Computing …";
}

/** A box for moves as text, for those who do not use the board. @param {any} view The view of the game. @param {any} position */
function moveBox(view, position) {
  const submit = (/** @type {any} */ event) => {
    event.preventDefault();
    const input = event.target.querySelector("input");
    const typed = input.value.trim().toLowerCase();
    const found = position.legal.find((/** @type {any} */ move) => move.move.toLowerCase() === typed);
    if (found) view.move({ detail: found });
    else view.refused({ detail: { reason: `${input.value.trim() || "An empty text"} is not a legal move here. Legal moves: ${position.legal.slice(0, 12).map((/** @type {any} */ move) => move.move).join(", ")}${position.legal.length > 12 ? ", …" : ""}.` } });
    input.value = "";
  };
  return html`<form class="move-box" @submit=${submit}><input aria-label="Type a move" placeholder="Type a move" autocomplete="off" autocapitalize="off" spellcheck="false"><button type="submit">Play</button></form>`;
}

/** @param {any} view The view of the game. */
export function welcome(view) {
  const { game } = view;
  const seats = /** @type {any[]} */ (view.draft?.game === game.id ? view.draft.seats : []);
  const levels = game.levels.filter((/** @type {any} */ level) => seats.some((seat) => seat.agent === level.id));
  return html`<section class="card stack tight"><h2>${game.name}</h2>${goals(game, mine({ seats }))}
    ${game.note ? html`<p class="soft">${game.note}</p>` : nothing}
    ${levels.map((/** @type {any} */ level) => html`<p class="soft small">${level.name}: ${level.about}<br><span class="technical">${level.technical}</span></p>`)}</section>`;
}

/** What the reader has to do; where several people play or none, what each seat has to do. @param {any} game @param {number[]} own */
function goals(game, own) {
  if (own.length === 1) return html`<p>${game.goals[own[0]]}</p>`;
  if (new Set(game.goals).size === 1) return html`<p>${game.goals[0]}</p>`;
  return game.goals.map((/** @type {string} */ goal, /** @type {number} */ seat) => html`<p><b>${game.seat_names[seat]}</b>: ${goal}</p>`);
}

/** A sentence as part of another. @param {string} text */
const lower = (text) => text.charAt(0).toLowerCase() + text.slice(1).split(":")[0].replace(/\.$/, "");
