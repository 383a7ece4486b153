/**
 * Places in the page, by the hash of the address: `#/play/ID`, `#/review?g=connect4&m=4453`, `#/learn/RUN`, `#/explain?g=..&m=..`;
 * on a shared server also `#/leaderboard`, `#/account`, `#/people/NAME` and `#/play?join=CODE`.
 */

/** @typedef {{view: string, id: string, query: Record<string, string>, unknown?: string}} Route `unknown`: the view that an address names but that does not exist. */

const VIEWS = ["play", "review", "learn", "explain", "leaderboard", "account", "people"];

/** @returns {Route} */
export function route(hash = location.hash) {
  const [path, search] = hash.replace(/^#\/?/, "").split("?");
  const [view, ...rest] = path.split("/");
  if (view && !VIEWS.includes(view)) return nowhere(view);
  const query = Object.fromEntries(new URLSearchParams(search ?? ""));
  return { view: view || "play", id: decodeURIComponent(rest.join("/")), query };
}

/** Play, instead of a view that does not exist here. @param {string} unknown @returns {Route} */
export const nowhere = (unknown) => ({ view: "play", id: "", query: {}, unknown });

/** @param {string} view @param {string} [id] @param {Record<string, any>} [query] */
export function href(view, id = "", query = {}) {
  const known = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const search = known.length ? `?${new URLSearchParams(known)}` : "";
  return `#/${view}${id ? `/${encodeURIComponent(id)}` : ""}${search}`;
}

/** Go somewhere, with an entry in the browser's history. @param {string} view @param {string} [id] @param {object} [query] */
export function go(view, id, query) {
  location.hash = href(view, id, query);
}

/** Name the present place anew without an entry in the history; nothing if the reader has gone elsewhere. @param {string} view @param {string} [id] @param {object} [query] */
export function rename(view, id, query) {
  const target = href(view, id, query);
  if (route().view === view && location.hash !== target) {
    history.replaceState(null, "", target);
    dispatchEvent(new HashChangeEvent("hashchange"));
  }
}

/** Moves as text for an address: single characters need no space between them. @param {string[]} moves */
export function moveText(moves) {
  return moves.every((move) => move.length === 1) ? moves.join("") : moves.join(" ");
}

/** The address of a line of play, to be sent to others. @param {string} game @param {string[]} moves @param {Record<string, any>} [more] */
export function shareLink(game, moves, more = {}) {
  return `${location.origin}/${href("review", "", { g: game, m: moveText(moves), ...more })}`;
}
