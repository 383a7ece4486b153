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

/** Whether agents of this game have measured ratings, so that people can be rated too. @param {any} game */
export const isRated = (game) => isShared() && game.levels.some((/** @type {any} */ level) => level.group === "levels" && typeof level.elo === "number");

/** Ask the server who the reader is, and how they are rated. */
export async function refresh() {
  if (!isShared()) return;
  const account = await api.account();
  const ratings = account.role === "stranger" ? [] : (await api.myRatings()).ratings;
  update({ account, ratings });
}

/** The reader's rating in a game, or undefined. @param {string} game */
export const ownRating = (game) => store.ratings.find((/** @type {any} */ row) => row.game === game);

/** @param {{name: string, password: string, invite?: string}} body */
export async function signUp(body) {
  await api.signUp(body);
  await changed();
}

/** @param {{name: string, password: string}} body */
export async function signIn(body) {
  await api.login(body);
  await changed();
}

export async function signOut() {
  await api.logout();
  await changed();
}

/** Another person is here: what they may do and see is asked for anew. */
export async function changed() {
  update({ catalog: await api.catalog() });
  await refresh();
}
