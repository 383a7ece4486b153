/**
 * The page's one store: the catalog, the chosen game, the reader's preferences and the message being shown.
 *
 * `update(patch)` changes it and tells every subscriber. Preferences persist in the browser.
 */

/** @typedef {{theme: "system"|"light"|"dark", keys: boolean, sound: boolean, palette: string, bar: boolean, exact: boolean,
 *   game: string|null, xaxis: "iterations"|"time", choices: Record<string, {level?: string, side?: string, mode?: string}>,
 *   current: Record<string, string>}} Preferences */

const KEY = "tabia.preferences";

/** @type {Preferences} */
const DEFAULTS = {
  theme: "system",
  keys: true,
  sound: false,
  palette: "default",
  bar: false,
  exact: false,
  game: null,
  xaxis: "iterations",
  choices: {},
  current: {},
};

/** @returns {Preferences} */
function stored() {
  try {
    return { ...DEFAULTS, ...JSON.parse(localStorage.getItem(KEY) || "{}") };
  } catch {
    return { ...DEFAULTS };
  }
}

export const store = {
  /** @type {any} */ catalog: null,
  /** @type {any} Who is here, on a shared server. */ account: null,
  /** @type {any[]} The reader's ratings, one per rated game. */ ratings: [],
  /** @type {string} A problem or note shown under the header. */ notice: "",
  prefs: stored(),
};

const subscribers = new Set();

/** Change the store and notify. @param {Partial<typeof store>} patch */
export function update(patch) {
  Object.assign(store, patch);
  for (const subscriber of subscribers) subscriber();
}

/** Change preferences and keep them. @param {Partial<Preferences>} patch */
export function prefer(patch) {
  const prefs = { ...store.prefs, ...patch };
  try {
    localStorage.setItem(KEY, JSON.stringify(prefs));
  } catch {
    // Private windows may refuse storage; the choice then lasts for this visit.
  }
  update({ prefs });
}

/** Remember a choice made for one game. @param {string} game @param {object} patch */
export function choose(game, patch) {
  const choices = store.prefs.choices;
  prefer({ choices: { ...choices, [game]: { ...choices[game], ...patch } } });
}

/** The catalog entry of a game, the chosen one by default. @param {string} [id] */
export function game(id) {
  const games = store.catalog?.games ?? [];
  const find = (/** @type {string|null|undefined} */ wanted) => games.find((/** @type {any} */ entry) => entry.id === wanted);
  return find(id ?? store.prefs.game) ?? (id ? undefined : find(store.catalog?.default) ?? games[0]);
}

/** What an address names that is not here, as a sentence. @param {import("./router.js").Route} place */
export function notHere({ unknown, query }) {
  if (unknown) return `There is no page ${unknown} here.`;
  return query.g && !game(query.g) ? `There is no game ${query.g} here.` : "";
}

/** An agent's name for people, where the server gives its id; other names as they are. @param {string} id The game. @param {string} name */
export const agentName = (id, name) => game(id)?.levels.find((/** @type {any} */ level) => level.id === name)?.name ?? name;

/** A Lit controller that renders its host again whenever the store changes. */
export class Subscription {
  /** @param {any} host */
  constructor(host) {
    this.host = host;
    this.changed = () => host.requestUpdate();
    host.addController(this);
  }

  hostConnected() {
    subscribers.add(this.changed);
  }

  hostDisconnected() {
    subscribers.delete(this.changed);
  }
}

/** Let screen readers speak a sentence, politely. @param {string} text */
export function announce(text) {
  const region = document.getElementById("announcer");
  if (region) region.textContent = region.textContent === text ? `${text} ` : text;
}
