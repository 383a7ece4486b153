/** The play view on a shared server: the rated game, the game with a friend, the invitation, and the end of such games. */
import { isMember, isRated, isShared, ownRating } from "../account.js";
import { icon } from "../icons.js";
import { html, nothing } from "../lit.js";
import { href } from "../router.js";
import { mine, personRating, rating, signed, timeControl } from "../words.js";
import { chips } from "../components/parts.js";
import { hasOthers, isFair, vacant } from "../components/seats.js";
import { openSignIn } from "../components/sign-in.js";
import { chooseFriend, CLOCKS, friendChoices } from "../online.js";

const ORDER = ["First", "Second", "Third", "Fourth", "Fifth", "Sixth"];

/** The left side on a shared server: what can be played, or what is being played for. @param {any} view @param {any} state @param {() => unknown} levels */
export function onlineSide(view, state, levels) {
  if (state && isFair(state) && state.status !== "over") return gameCard(view, state);
  if (!isShared()) return levels();
  return html`${isRated(view.game) ? ratedCard(view) : nothing}${friendCard(view)}${view.inviting ? nothing : levels()}`;
}

/** @param {any} view @param {any} state */
function gameCard(view, state) {
  const people = hasOthers(state);
  return html`<section class="card stack tight"><h2>${state.rated ? "Rated game" : "Unrated game"}</h2><p>${view.game.name}, ${timeControl(state.clock)}.</p>
    <p class="soft small">No undo and no hints.${people || state.rated ? " Whoever is away for a minute loses." : ""}${state.rated ? " Resigning counts as a loss." : ""}</p></section>`;
}

/** @param {any} view */
function ratedCard(view) {
  const { game } = view;
  const own = ownRating(game.id);
  return html`<section class="card stack tight rated-card"><h2>Rated game</h2>
    ${own?.games ? html`<p class="own-rating"><span class="big">${personRating(own)}</span> ${own.placement ? nothing : html`<a href=${href("leaderboard")}>Leaderboard</a>`}</p>` : nothing}
    ${placement(own)}
    ${own?.next ? html`<p class="soft small">Next opponent: <b>${own.next.name}</b> <span class="rank">${rating(view.game.levels.find((/** @type {any} */ level) => level.id === own.next.agent) ?? { elo: own.next.rating, error: null })}</span></p>` : nothing}
    <div class="actions"><button class="primary wide-button" ?disabled=${view.online.busy} @click=${() => view.online.rated()}>${icon("play")} ${own?.games ? "Next rated game" : "Play a rated game"}</button></div>
    ${own?.games && isMember() ? nothing : html`<p class="soft small">No undo, no hints; who starts is drawn at random.${isMember() ? "" : html` <button class="plain" @click=${() => openSignIn("up")}>Create an account</button> to keep your rating.`}</p>`}</section>`;
}

/** How far the placement is. @param {any} own */
function placement(own) {
  const place = own?.placement;
  if (!place) return nothing;
  const span = `${place.at_least} to ${place.of} games`;
  const text = place.played ? `Placement: ${place.played} of ${span}` : `Placement: ${span} find your level`;
  return html`<p class="placement"><span class="pips" aria-hidden="true">${Array.from({ length: place.of }, (_, at) => html`<i class=${at < place.played ? "done" : at < place.at_least ? "" : "maybe"}></i>`)}</span><span class="small">${text}</span></p>`;
}

/** @param {any} view */
function friendCard(view) {
  const { game } = view;
  const chosen = friendChoices(game);
  const sides = /** @type {[string, string][]} */ ([...Array.from({ length: game.seats }, (_, seat) => [String(seat), ORDER[seat]]), ["random", "Random"]]);
  const set = (/** @type {object} */ patch) => chooseFriend(game, patch);
  return html`<details class="card friend-card" ?open=${view.inviting} @toggle=${(/** @type {any} */ event) => { view.inviting = event.target.open; }}><summary>${icon("friends")} ${game.seats > 2 ? "Play friends" : "Play a friend"}</summary>
    <div class="stack gap-top">
      <div class="field"><span>Minutes + seconds per move</span>${chips("Clock", CLOCKS.map(([id, text]) => [id, text]), chosen.clock, (clock) => set({ clock }))}</div>
      <div class="field"><span>Your side</span>${chips("Your side", sides, chosen.side, (side) => set({ side }))}</div>
      ${isRated(game) && isMember() && game.seats === 2 ? html`<label class="check"><input type="checkbox" .checked=${chosen.rated} @change=${(/** @type {any} */ event) => set({ rated: event.target.checked })}>Rated: the result counts</label>` : nothing}
      <button class="primary" ?disabled=${view.online.busy} @click=${() => view.online.invite()}>${icon("link")} Make a link</button>
    </div></details>`;
}

/** The link to the open seat, above the board. @param {any} view @param {any} state */
export function invitation(view, state) {
  if (!state?.join || !vacant(state, view.game.seat_names)) return nothing;
  const link = view.online.link(state);
  return html`<section class="card invitation" aria-label="Invitation"><p>Send this link to the person you want to play with. The game starts when they join. <span class="soft">${facts(state)}</span></p>
    <div class="with-button"><input readonly aria-label="Link to the open seat" .value=${link} @focus=${(/** @type {any} */ event) => event.target.select()}>
      <button class="primary" @click=${() => view.online.copyLink(state)}>${icon("copy")} Copy</button>
      ${"share" in navigator ? html`<button @click=${() => view.online.shareLink(state)}>${icon("share")} Send</button>` : nothing}</div></section>`;
}

/** @param {any} state */
const facts = (state) => [timeControl(state.clock), state.rated ? "rated" : "not rated"].join(" · ");

/** The buttons under the board in games with others or for a rating; null leaves them to the ordinary ones. @param {any} view @param {any} state */
export function onlineActions(view, state) {
  if (!state) return isShared() ? readyActions(view) : null;
  if (!state.rated && !hasOthers(state)) return null;
  if (state.status === "waiting") return html`<div class="actions main-actions"><button ?disabled=${view.online.busy} @click=${() => (state.join ? view.online.cancel() : view.online.home())}>${icon("close")} Cancel</button></div>`;
  if (state.status === "over") return overActions(view, state);
  const seat = mine(state)[0];
  if (seat === undefined) return html`<div class="actions main-actions"><p class="soft">You are watching.</p><button @click=${() => view.online.home()}>${icon("plus")} New game</button></div>`;
  if (state.seats.length > 2) return html`<div class="actions main-actions"><p class="soft">With more than two seats there are no draws and no resignation.</p></div>`;
  const offered = state.draw_offer;
  const isAsked = typeof offered === "number" && offered !== seat;
  return html`<div class="actions main-actions">
    ${hasOthers(state) ? html`<button class=${isAsked ? "primary" : ""} ?disabled=${!state.can.draw} @click=${() => view.online.draw()}>${isAsked ? "Accept the draw" : offered === seat ? "Draw offered" : "Offer a draw"}</button>` : nothing}
    <button ?disabled=${!state.can.resign} class=${view.confirming ? "danger" : ""} @click=${view.resign}>${icon("flag")} ${view.confirming ? "Really resign" : "Resign"}</button></div>`;
}

/** Before a game, on phones: what else there is to play; the cards are in the sheet. @param {any} view */
function readyActions(view) {
  if (!view.draft?.position) return null;
  const own = view.draft.seats[view.draft.position.mover]?.kind === "human";
  return html`<div class="actions main-actions">
    ${own ? html`<p class="soft start-note">Play a move to start an unrated game against ${view.levelName()}.</p>` : html`<button @click=${view.start}>${icon("play")} Start: ${view.levelName()} moves first</button>`}
    ${isRated(view.game) ? html`<button class="primary phone" ?disabled=${view.online.busy} @click=${() => view.online.rated()}>${icon("play")} Rated game</button>` : nothing}
    <button class="phone" @click=${() => { view.inviting = true; view.sheet = true; }}>${icon("friends")} Play a friend</button></div>`;
}

/** @param {any} view @param {any} state */
function overActions(view, state) {
  const isSeated = mine(state).length > 0;
  const again = hasOthers(state)
    ? html`<button class="primary" ?disabled=${view.online.busy || !state.can.rematch} @click=${() => view.online.rematch()}>${icon("again")} ${state.rematch ? "Accept the rematch" : "Offer a rematch"}</button>`
    : html`<button class="primary" ?disabled=${view.online.busy} @click=${() => view.online.rated()}>${icon("play")} Next rated game</button>`;
  return html`<div class="actions main-actions many">${isSeated ? again : nothing}
    <a class="button" href=${href("review", state.id)}>${icon("search")} Review</a>
    <button @click=${view.share}>${icon("share")} Share</button>
    <button @click=${() => view.online.home()}>${icon("plus")} New game</button></div>`;
}

/** What a finished game did to the reader's rating, or an offer that waits, in words. @param {any} view @param {any} state */
export function onlineNote(view, state) {
  if (!state || !isShared()) return "";
  const [seat] = mine(state);
  const other = state.seats.find((/** @type {any} */ entry, /** @type {number} */ index) => entry.kind === "human" && index !== seat)?.name;
  if (state.status === "over") {
    const change = state.rating_change?.[seat];
    const rated = change ? `Your rating: ${personRating({ rating: change.after, deviation: change.deviation })} (${signed(change.change)}).` : "";
    const offer = state.rematch ? `${other} offers a rematch.` : "";
    return [rated, offer].filter(Boolean).join(" ");
  }
  if (typeof state.draw_offer === "number") return state.draw_offer === seat ? `You offer a draw. ${other} can accept it.` : `${other} offers a draw.`;
  return state.status === "waiting" ? "" : state.waiting ?? ""; // The title says already that a seat is open.
}
