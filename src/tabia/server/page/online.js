/**
 * Games with other people and for a rating, on a shared server: what the play view asks the server for.
 *
 * A Lit controller of the play view.
 */
import { arrive, isShared, refresh } from "./account.js";
import { api, ApiError } from "./api.js";
import { go } from "./router.js";
import { choose, store, update } from "./store.js";
import { copied } from "./words.js";
import { openSignIn } from "./components/sign-in.js";

/** Initial time and increment in seconds; the first is without a clock. @type {[string, string, {initial_s: number, increment_s: number}|null][]} */
export const CLOCKS = [
  ["none", "No clock", null],
  ["180+2", "3+2", { initial_s: 180, increment_s: 2 }],
  ["300+3", "5+3", { initial_s: 300, increment_s: 3 }],
  ["600+5", "10+5", { initial_s: 600, increment_s: 5 }],
  ["1800+20", "30+20", { initial_s: 1800, increment_s: 20 }],
];

export class OnlinePlay {
  /** @param {any} view The play view. */
  constructor(view) {
    this.view = view;
    this.busy = false;
    this.reader = "";
    view.addController(this);
  }

  hostUpdate() {
    const who = store.account?.name ?? "";
    if (this.reader && who !== this.reader) this.reopen();
    this.reader = who;
  }

  /** Another person is here: show the game as they may see it. */
  async reopen() {
    const { session } = this.view;
    if (!session.state) return;
    const { id } = session.state;
    session.close();
    if (!(await session.open(id).catch(() => false))) this.view.fresh();
  }

  /** The first game makes a stranger a guest. */
  async began() {
    if (store.account?.role === "stranger") await refresh().catch(() => {});
  }

  /** The session has ended, perhaps from another browser. */
  async signedOut() {
    await arrive().catch(() => {}); // Without an answer the page tries again when the connection is back.
  }

  /** Do one thing at a time; a refusal is shown in the view. @param {() => Promise<void>} task */
  async attempt(task) {
    if (this.busy) return;
    this.busy = true;
    this.view.requestUpdate();
    try {
      await task();
    } catch (error) {
      this.refused(error);
    }
    this.busy = false;
    this.view.requestUpdate();
  }

  /** @param {any} error */
  refused(error) {
    if (error instanceof ApiError && error.state) this.enter(error.state);
    else if (error instanceof ApiError && [401, 403].includes(error.status) && store.account?.role !== "member") openSignIn("up", error.message);
    else this.view.explain(error);
  }

  /** Show a game. @param {any} state */
  async enter(state) {
    await this.view.session.open(state.id);
    this.view.sheet = false;
    this.view.began(state);
  }

  /** The next rated game; the server chooses the opponent and who starts. */
  rated() {
    return this.attempt(async () => {
      await this.enter(await api.rated(this.view.game.id));
    });
  }

  /** A game with open seats and a link to them. */
  invite() {
    return this.attempt(async () => {
      const { game } = this.view;
      const { clock, side, rated } = friendChoices(game);
      const own = side === "random" ? Math.floor(Math.random() * game.seats) : Number(side);
      const seats = Array.from({ length: game.seats }, (_, seat) => ({ kind: seat === own ? "human" : "open" }));
      const found = CLOCKS.find(([id]) => id === clock);
      await this.enter(await api.create({ game: game.id, seats, clock: found?.[2] ?? null, rated }));
      this.view.inviting = false;
    });
  }

  /** Withdraw an invitation. */
  cancel() {
    return this.attempt(async () => {
      const { session } = this.view;
      await api.act(session.state.id, "resign", { ply: session.ply });
      this.view.fresh();
    });
  }

  /** Offer a draw, or accept the other's offer. */
  draw() {
    return this.view.session.send("draw", { ply: this.view.session.ply });
  }

  /** Offer a rematch, or accept the other's offer: both sides then open the same game. */
  rematch() {
    return this.attempt(async () => this.enter(await api.act(this.view.state.id, "rematch", { swap: true })));
  }

  /** The address of the open seat. @param {any} state */
  link(state) {
    return `${location.origin}${state.join.path}`;
  }

  /** @param {any} state */
  async copyLink(state) {
    const link = this.link(state);
    this.view.say((await copied(link)) ? "The link is copied. Send it to the person you want to play with." : "Copy the link from the box.");
  }

  /** @param {any} state */
  async shareLink(state) {
    try {
      await navigator.share({ title: "Tabia", text: `Play ${this.view.game.name} with me`, url: this.link(state) });
    } catch {
      // The reader closed the system's dialog.
    }
  }

  /** A game is over: ratings have changed. @param {any} state */
  finished(state) {
    if (isShared() && state.rated) refresh().catch((error) => update({ notice: error.message }));
  }

  /** Leave a game that another person has to be asked about. */
  home() {
    go("play");
    this.view.fresh();
  }
}

/** What the reader last chose for games with friends. @param {any} game */
export function friendChoices(game) {
  return { clock: "300+3", side: "random", rated: false, ...store.prefs.choices[game.id]?.friend };
}

/** @param {any} game @param {object} patch */
export const chooseFriend = (game, patch) => choose(game.id, { friend: { ...friendChoices(game), ...patch } });
