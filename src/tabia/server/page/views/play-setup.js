/**
 * Choosing a game to play: who sits where, from which position. What it shows follows from the reader's choices.
 */
import { html, nothing } from "../lit.js";
import { choose, store } from "../store.js";
import { chips } from "../components/parts.js";
import { ladder } from "../components/ladder.js";

const ORDER = ["First", "Second", "Third", "Fourth", "Fifth", "Sixth"];

/** Whether the choice of who plays is open: choosing there does not close it. */
let opened = false;

/** The choices for a game, complete. @param {any} game */
export function choices(game) {
  const known = store.prefs.choices[game.id] ?? {};
  const fallback = game.levels.find((/** @type {any} */ level) => level.default) ?? game.levels[0];
  const level = game.levels.some((/** @type {any} */ entry) => entry.id === known.level) ? known.level : fallback?.id;
  return { mode: "agent", side: "0", opening: "", seats: /** @type {Record<string, string>} */ ({}), ...known, level };
}

/** The seats of a new game. @param {any} game @param {number} [side] The reader's seat where it is drawn by lot. */
export function seatsOf(game, side) {
  const { mode, level, side: wanted, seats } = choices(game);
  const own = side ?? (wanted === "random" ? Math.floor(Math.random() * game.seats) : Number(wanted));
  return Array.from({ length: game.seats }, (_, seat) => {
    const custom = mode === "custom" ? seats[seat] ?? (seat === 0 ? "human" : level) : null;
    const isHuman = mode === "people" || custom === "human" || (mode === "agent" && seat === own);
    return isHuman ? { kind: "human" } : { kind: "agent", agent: custom ?? level };
  });
}

/** @param {any} game @param {(level: string) => void} chooseLevel @param {() => void} changed */
export function setup(game, chooseLevel, changed) {
  const chosen = choices(game);
  const set = (/** @type {object} */ patch) => {
    choose(game.id, patch);
    changed();
  };
  const sides = /** @type {[string, string][]} */ ([...Array.from({ length: game.seats }, (_, seat) => [String(seat), ORDER[seat]]), ["random", "Random"]]);
  const modes = /** @type {[string, string][]} */ ([["agent", "You and agents"], ["people", game.seats === 2 ? "Two people" : `${game.seats} people`], ["custom", "Each seat"]]);
  return html`
    <section class="card"><h2>Opponent</h2>
      ${ladder(game, chosen.mode === "people" ? "" : chosen.level, (level) => { choose(game.id, { level, ...(chosen.mode === "people" ? { mode: "agent" } : {}) }); chooseLevel(level); })}
    </section>
    <section class="card stack">
      ${chosen.mode === "agent" ? html`<div><h2>Your side</h2>${chips("Your side", sides, chosen.side, (side) => set({ side }))}
        ${game.note ? html`<p class="soft small gap-top">${game.note}</p>` : nothing}</div>` : nothing}
      <details ?open=${opened || chosen.mode !== "agent" || Boolean(chosen.opening)} @toggle=${(/** @type {any} */ event) => (opened = event.target.open)}><summary>Who plays, and from where</summary>
        <div class="stack gap-top">
          ${chips("Who plays", modes, chosen.mode, (mode) => set({ mode }))}
          ${chosen.mode === "custom" ? seatChoices(game, chosen, set) : nothing}
          ${game.openings?.length > 1 ? html`<label class="field"><span>Start from</span><select @change=${(/** @type {any} */ event) => set({ opening: event.target.value })}>${game.openings.map((/** @type {any} */ entry) => html`<option value=${entry.moves} .selected=${entry.moves === chosen.opening}>${entry.name}</option>`)}</select></label>` : nothing}
        </div>
      </details>
    </section>`;
}

/** @param {any} game @param {any} chosen @param {(patch: object) => void} set */
function seatChoices(game, chosen, set) {
  return Array.from({ length: game.seats }, (_, seat) => {
    const value = chosen.seats[seat] ?? (seat === 0 ? "human" : chosen.level);
    return html`<label class="field"><span>${game.seat_names[seat] ?? `Seat ${seat + 1}`}</span>
      <select @change=${(/** @type {any} */ event) => set({ seats: { ...chosen.seats, [seat]: event.target.value } })}>
        <option value="human" .selected=${value === "human"}>A person here</option>
        ${game.levels.map((/** @type {any} */ level) => html`<option value=${level.id} .selected=${level.id === value}>${level.name}</option>`)}
      </select></label>`;
  });
}
