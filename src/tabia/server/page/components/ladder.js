/** The opponents of a game as a ladder of levels, each with a sentence, its rating and the error of it. */
import { html, nothing } from "../lit.js";
import { rating } from "../words.js";

const GROUPS = { classical: "Classical players", runs: "Versions of your runs" };

/**
 * @param {any} game Catalog entry. @param {string} chosen Level id. @param {(id: string) => void} choose
 */
export function ladder(game, chosen, choose) {
  const groups = Object.groupBy
    ? Object.groupBy(game.levels, (/** @type {any} */ level) => level.group)
    : game.levels.reduce((/** @type {any} */ found, /** @type {any} */ level) => ({ ...found, [level.group]: [...(found[level.group] ?? []), level] }), {});
  const main = [...(groups.levels ?? []), ...(groups.exact ?? [])];
  const more = Object.entries(GROUPS).filter(([group]) => groups[group]?.length);
  const first = main.length ? main : game.levels;
  return html`<fieldset class="ladder">
    <legend class="unseen">Opponent</legend>
    ${first.map((/** @type {any} */ level) => row(level, chosen, choose))}
    ${main.length ? more.map(([group, name]) => html`<details ?open=${groups[group].some((/** @type {any} */ level) => level.id === chosen)}>
      <summary>${name}</summary>${groups[group].map((/** @type {any} */ level) => row(level, chosen, choose))}</details>`) : nothing}
  </fieldset>`;
}

/** @param {any} level @param {string} chosen @param {(id: string) => void} choose */
function row(level, chosen, choose) {
  const rated = rating(level);
  return html`<label class="level" title=${level.about ?? ""}>
    <input type="radio" name="level" class="unseen" value=${level.id} .checked=${level.id === chosen} @change=${() => choose(level.id)}>
    <b>${level.name}</b>${rated ? html`<span class="rank" title="Elo rating and its error">${rated}</span>` : html`<span></span>`}
    ${level.id === chosen ? html`<small>${level.about} <span class="technical">${level.technical}</span></small>` : nothing}
  </label>`;
}
