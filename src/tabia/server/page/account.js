/**
 * Who is in front of the page. On one's own computer (`tabia play`) there are no accounts, and nothing of this is shown.
 *
 * The session is a cookie that scripts cannot read; the page asks the server who it belongs to.
 */
import { api } from "./api.js";
import { store, update } from "./store.js";

/** Whether several people use this server. */
export const isShared = () => store.catalog?.mode === "shared";

/** Whether the reader has an account. */
export const isMember = () => ["member", "operator"].includes(store.account?.role);

/** Whether the reader may start and stop training runs. */
export const mayTrain = () => store.catalog.runs_allowed && (!isShared() || store.account?.role === "operator");

/** Whether agents of this game have measured ratings, so that people can be rated too. @param {any} game */
export const isRated = (game) => isShared() && game.levels.some((/** @type {any} */ level) => level.group === "levels" && typeof level.elo === "number");

/** What there is to play, who the reader is and how they are rated: asked for at the start and when another person signs in. */
export async function arrive() {
  const catalog = await api.catalog();
  update({ catalog, ...(catalog.mode === "shared" ? await reader() : {}) });
}

/** Ask again who the reader is and how they are rated. */
export async function refresh() {
  if (isShared()) update(await reader());
}

async function reader() {
  const [account, { ratings }] = await Promise.all([api.account(), api.myRatings()]);
  return { account, ratings };
}

/** The reader's rating in a game, or undefined. @param {string} game */
export const ownRating = (game) => store.ratings.find((/** @type {any} */ row) => row.game === game);

/** @param {{name: string, password: string, invite?: string}} body */
export async function signUp(body) {
  await api.signUp(body);
  await arrive();
}

/** @param {{name: string, password: string}} body */
export async function signIn(body) {
  await api.login(body);
  await arrive();
}

export async function signOut() {
  await api.logout();
  await arrive();
}
