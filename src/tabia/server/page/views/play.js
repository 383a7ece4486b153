/**
 * <tabia-play>: the board first. A game is created by its first move, or by Start where an agent moves first.
 */
import { isShared } from "../account.js";
import { api, ApiError } from "../api.js";
import { icon } from "../icons.js";
import { Shortcuts } from "../keys.js";
import { Element, html } from "../lit.js";
import { OnlinePlay } from "../online.js";
import { go, rename, shareLink } from "../router.js";
import { oriented, startsOnTop } from "../orientation.js";
import { GameSession } from "../session.js";
import { announce, game as catalogGame, notHere, prefer, store, Subscription } from "../store.js";
import { sound } from "../theme.js";
import { copied, ending, opponents, viewpoint } from "../words.js";
import { isFair, strip, vacant } from "../components/seats.js";
import { invitation, onlineActions, onlineSide } from "./play-online.js";
import { actions, sidebar, statusLine, welcome } from "./play-parts.js";
import { choices, seatsOf, setup } from "./play-setup.js";
import "../components/board.js";

class Play extends Element {
  static properties = {
    place: { attribute: false }, game: { attribute: false }, draft: { state: true }, hint: { state: true }, message: { state: true }, failure: { state: true },
    expected: { state: true }, unknown: { state: true }, sheet: { state: true }, confirming: { state: true }, flip: { state: true }, inviting: { state: true },
  };

  constructor() {
    super();
    this.draft = /** @type {any} */ (null);
    this.sheet = false;
    this.flip = false;
    this.inviting = false;
    this.clear();
    this.online = new OnlinePlay(this);
    this.session = new GameSession(this, (event, detail) => this.heard(event, detail));
    new Subscription(this);
    new Shortcuts(this, () => [
      { keys: ["n"], label: "New game", run: () => { if (!this.state || this.state.status === "over" || !isFair(this.state)) this.fresh(); } },
      { keys: ["u"], label: "Undo, back to your turn", run: () => this.undo() },
      { keys: ["h"], label: "Hint; again for the reason", run: () => this.askHint() },
      { keys: ["r"], label: "Rematch, or review the game", run: () => this.rematch(false) },
      { keys: [" "], label: "Let the agent move now", run: () => this.now() },
      { keys: ["f"], label: "Turn the board", run: () => { this.flip = !this.flip; } },
      { keys: ["e"], label: "Show the expected score", run: () => this.showExpected(!store.prefs.bar) },
      ...(this.sheet ? [{ keys: ["Escape"], label: "Close the list of opponents", run: () => { this.sheet = false; } }] : []),
    ]);
  }

  clear() {
    this.hint = /** @type {any} */ (null);
    this.message = "";
    /** What went wrong on the server or in the rules of the game; shown instead of the message. */ this.failure = "";
    this.expected = /** @type {any} */ (null);
    this.unknown = false; // Whether the analyst had no answer.
    this.confirming = false;
  }

  get state() {
    return this.session.state;
  }

  /** @param {Map<string, any>} changed */
  willUpdate(changed) {
    const switched = changed.has("game") && changed.get("game")?.id !== this.game.id;
    if (changed.has("place") || switched) this.arrive(switched && Boolean(changed.get("game")));
  }

  /** Show what the address names; if that is not here, say so. @param {boolean} switched */
  async arrive(switched) {
    const missing = notHere(this.place);
    await this.openPlace(switched);
    if (!missing) return;
    this.say(missing);
    rename("play", this.state?.id);
  }

  /** Open the game the address names, the one last played, or an empty board. @param {boolean} switched */
  async openPlace(switched) {
    const { place, game } = this;
    const id = place.id || store.prefs.current[game.id];
    if (switched && this.state && this.state.game !== game.id && place.id === this.state.id) return go("play");
    if (id && id === this.state?.id) return undefined;
    if (!id && !switched && !this.state && this.draft?.game === game.id) return undefined; // Only the address has changed.
    try {
      const found = id && (await this.session.open(id));
      if (found === null) return undefined;
      if (found) {
        const opened = this.state;
        if (opened.game !== this.game.id) prefer({ game: opened.game });
        if (opened.status !== "over") prefer({ current: { ...store.prefs.current, [opened.game]: id } });
        rename("play", id);
        this.face(opened);
        return undefined;
      }
    } catch (error) {
      this.explain(error);
      return undefined;
    }
    await this.fresh();
    if (place.id) this.say(isShared() ? "There is no such game here, or it is private. The board is ready for a new one." : "This game is not here any more. The board is ready for a new one.");
    return undefined;
  }

  /** An empty board, ready to play. */
  async fresh() {
    this.session.close();
    this.clear();
    const { game } = this;
    prefer({ current: { ...store.prefs.current, [game.id]: "" } });
    const known = choices(game);
    this.side = known.side === "random" ? Math.floor(Math.random() * game.seats) : Number(known.side);
    const draft = { game: game.id, position: null, seats: seatsOf(game, this.side) };
    this.draft = draft;
    try {
      const { position, moves } = await api.position(game.id, known.opening);
      if (this.game.id !== game.id || this.state || this.draft !== draft) return;
      this.draft = { ...draft, position, moves };
      this.face(this.draft);
    } catch (error) {
      this.explain(error);
    }
    rename("play");
  }

  /** Begin the game that is set up. */
  async start() {
    const { game } = this;
    try {
      const state = await this.session.create({ game: game.id, seats: this.draft.seats, moves: choices(game).opening });
      this.began(state);
      return state;
    } catch (error) {
      this.online.refused(error);
      return null;
    }
  }

  /** Turn the board so that the reader's pieces start at the bottom. @param {{game: string, seats: any[], you?: number[]}} state */
  async face(state) {
    this.flip = await startsOnTop(catalogGame(state.game), viewpoint(state)).catch(() => false);
    this.faced = state.game;
    this.requestUpdate();
  }

  /** @param {any} state */
  began(state) {
    this.face(state);
    this.draft = null;
    this.clear();
    this.online.began();
    prefer({ current: { ...store.prefs.current, [state.game]: state.id }, game: state.game });
    rename("play", state.id);
  }

  /** Show a sentence, instead of what went wrong before. @param {string} message */
  say(message) {
    this.failure = "";
    this.message = message;
  }

  /** Show why something was not done. @param {any} error */
  explain(error) {
    const failed = error instanceof ApiError && error.isFailure;
    this.failure = failed ? error.message : "";
    this.message = failed ? "" : error.message;
  }

  /** @param {string} event @param {any} detail */
  heard(event, detail) {
    if (event === "signed out") {
      this.online.signedOut();
      return;
    }
    if (event === "refused") {
      this.explain(detail);
      return;
    }
    const { before, state } = detail;
    if (!before || before.position.ply !== state.position.ply) this.hint = null;
    if (before) this.say("");
    this.confirming = false;
    const last = state.moves[state.moves.length - 1];
    if (before && state.moves.length > before.moves.length) {
      announce(`${state.seats[last.seat].name}: ${last.move}. ${this.status(state)}`);
      sound("move");
    } else if (before) announce(this.status(state));
    if (isFair(state)) document.title = `${state.status === "your move" ? "Your turn" : "Play"} · Tabia`; // Seen from another tab.
    if (state.status === "over" && before && before.status !== "over") {
      sound(state.result?.winner === viewpoint(state) ? "win" : "lose");
      prefer({ current: { ...store.prefs.current, [state.game]: "" } });
      this.online.finished(state);
    }
    this.expect(state);
  }

  /** Ask what result the analyst expects, where the reader wants to see it. @param {any} state */
  async expect(state) {
    if (!store.prefs.bar || state.status === "thinking" || isFair(state)) return;
    if (state.status === "over") {
      this.expected = null;
      return;
    }
    this.unknown = false;
    let expected = /** @type {any} */ (null);
    try {
      ({ expected } = await api.analyze({ game: state.game, moves: state.moves.map((/** @type {any} */ move) => move.move).join(" "), agent: this.game.analyst }));
    } catch {
      // The bar is an extra: without an answer a sentence stands in its place.
    }
    if (this.state?.id !== state.id || this.state.version !== state.version) return;
    this.expected = expected ?? null;
    this.unknown = !this.expected;
  }

  /** @param {boolean} bar */
  showExpected(bar) {
    prefer({ bar });
    if (this.state) this.expect(this.state);
  }

  /** @param {CustomEvent} event */
  async move(event) {
    const { action, path, move } = event.detail;
    this.say("");
    this.hint = null;
    if (!this.state) {
      const ply = this.draft.position.ply;
      this.session.pending = { ply, path };
      if (!(await this.start())) {
        this.session.pending = null;
        this.requestUpdate();
        return;
      }
    }
    await this.session.play({ action, path, move });
  }

  /** @param {CustomEvent} event */
  refused(event) {
    this.say(event.detail.reason);
    sound("illegal");
  }

  undo() {
    if (this.state?.can.undo) this.session.send("undo", { ply: this.session.ply });
  }

  now() {
    if (this.state?.thinking && !this.state.rated) this.session.send("now", { ply: this.session.ply });
  }

  resign() {
    if (!this.confirming) {
      this.confirming = true;
      return;
    }
    const { own } = this.session;
    const seat = own.includes(this.state.position.mover) ? this.state.position.mover : own[0];
    this.session.send("resign", { ply: this.session.ply, seat });
  }

  async askHint() {
    if (!this.state?.can.hint || this.asking) return;
    if (this.hint) {
      this.hint = { ...this.hint, explained: true };
      return;
    }
    const { id, version } = this.state;
    this.asking = true;
    this.requestUpdate();
    try {
      const hint = await api.hint(id, this.session.ply);
      if (this.state?.version === version) {
        this.say("");
        this.hint = { ...hint, explained: false };
      }
    } catch (error) {
      this.explain(error);
    }
    this.asking = false;
    this.requestUpdate();
  }

  /** @param {boolean} swap */
  async rematch(swap) {
    if (this.state?.status !== "over" || isFair(this.state)) return;
    try {
      const state = await api.act(this.state.id, "rematch", { swap });
      await this.session.open(state.id);
      this.began(state);
    } catch (error) {
      this.explain(error);
    }
  }

  /** A level was chosen: change the opponent of the running game, or the setup. @param {string} agent */
  async chooseLevel(agent) {
    const { state } = this;
    if (!state || state.status === "over") {
      if (!state) await this.fresh();
      return;
    }
    const seats = state.seats.flatMap((/** @type {any} */ seat, /** @type {number} */ index) => (seat.kind === "agent" ? [index] : []));
    let changed = /** @type {any} */ (null);
    for (const seat of seats) changed = await this.session.send("level", { seat, agent });
    if (changed) this.say(`${changed.seats[seats[0]].name} plays from now on.`);
  }

  async share() {
    const { state } = this;
    const link = shareLink(state.game, state.moves.map((/** @type {any} */ move) => move.move));
    this.say((await copied(link)) ? "The link is copied." : link);
  }

  /** The state in words. @param {any} state */
  status(state) {
    const { own } = this.session;
    if (state.status === "over") return ending(state);
    if (state.status === "waiting") return `Waiting for ${vacant(state, this.game.seat_names) ? "an opponent" : opponents(state)}`;
    const seat = state.seats[state.position.mover];
    if (seat.kind === "agent") return state.problem ? `${seat.name} cannot move` : `${seat.name} is thinking …`;
    if (!own.includes(state.position.mover)) return `${seat.name} is to move`;
    return own.length > 1 ? `${seat.name === "You" ? this.game.seat_names[state.position.mover] : seat.name} to move` : "Your move";
  }

  render() {
    const { game, state } = this;
    const draft = this.draft?.game === game.id ? this.draft : null;
    const shown = state && state.game === game.id ? state : null;
    const position = this.faced === game.id ? shown?.position ?? draft?.position : null;
    const seats = shown?.seats ?? draft?.seats ?? [];
    const own = shown ? shown.status === "your move" : seats[position?.mover]?.kind === "human";
    const look = { style: game.board.style, colors: game.seat_names, arrived: this.session.arrived, connected: this.session.connected };
    return html`<div class="play ${shown && isFair(shown) ? "fair" : ""} ${shown?.join ? "inviting" : ""}" data-ply=${position?.ply ?? ""} data-status=${shown?.status ?? "ready"} data-game=${shown?.id ?? ""}>
      <div class="side ${this.sheet ? "sheet" : ""}">
        <button class="square quiet sheet-close" aria-label="Close" @click=${() => { this.sheet = false; }}>${icon("close")}</button>
        ${onlineSide(this, shown, () => setup(game, (level) => { this.sheet = false; this.chooseLevel(level); }, () => { if (!this.state) this.fresh(); else this.say("This counts from the next game on."); }))}</div>
      <section class="center" aria-label="Board">
        ${statusLine(this, shown, position, seats)}
        ${invitation(this, shown)}${strip(shown, "top", look)}
        <tabia-board .board=${oriented(game.board, this.flip)} .position=${position} .colors=${game.seat_names} .label=${`${game.name} board`}
          .interactive=${Boolean(position && own && !position.over && this.session.connected)} .pending=${this.session.pending} .waiting=${this.waiting(shown, seats, position)}
          .highlight=${this.hint?.path ?? []} @move=${this.move} @refused=${this.refused}></tabia-board>
        ${strip(shown, "bottom", look)}
        ${onlineActions(this, shown) ?? actions(this, shown, own)}
      </section>
      <div class="side right">${shown ? sidebar(this, shown, look) : welcome(this)}</div>
    </div>`;
  }

  /** @param {any} state @param {any} seats @param {any} position */
  waiting(state, seats, position) {
    if (!this.session.connected) return "The connection is lost. Your move can be played when it is back.";
    if (!position) return "";
    if (!state) return `${this.levelName()} moves first. Press Start.`;
    if (state.status === "waiting") return "The game starts when somebody joins.";
    return state.status === "over" ? "The game is over. Start a new one." : `It is ${seats[position.mover].name}'s turn.`;
  }

  levelName() {
    return this.game.levels.find((/** @type {any} */ level) => level.id === choices(this.game).level)?.name ?? "The agent";
  }

  updated() {
    const box = this.querySelector(".moves-box");
    if (box && this.state?.moves.length !== this.scrolled) {
      box.scrollTop = box.scrollHeight;
      this.scrolled = this.state?.moves.length;
    }
    const chosen = /** @type {HTMLElement|null} */ (this.querySelector(".level:has(:checked)"));
    const list = chosen?.closest(".ladder");
    if (chosen && list && this.listed !== this.game.id) {
      list.scrollTop = chosen.offsetTop - /** @type {HTMLElement} */ (list).offsetTop - list.clientHeight / 2;
      this.listed = this.game.id;
    }
  }
}

customElements.define("tabia-play", Play);
