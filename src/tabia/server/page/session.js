/**
 * One game at this screen: follows the server's state, sends moves, and survives lost connections and restarts.
 *
 * A Lit controller. The server owns the game; the page shows the newest version it has received.
 */
import { api, ApiError, follow } from "./api.js";
import { mine } from "./words.js";

export class GameSession {
  /** @param {any} host @param {(event: string, detail?: any) => void} heard Called with "state", "refused" (and the error) or "signed out". */
  constructor(host, heard) {
    this.host = host;
    this.heard = heard;
    /** @type {any} */ this.state = null;
    /** @type {any} The own move that is being sent. */ this.pending = null;
    /** When the state arrived, by the browser's monotonic clock: its clocks count from there. */ this.arrived = 0;
    this.connected = true;
    /** How often a game was opened or closed: an answer that comes later than the next of these is dropped. */ this.turn = 0;
    /** @type {() => void} */ this.stop = () => {};
    host.addController(this);
  }

  hostDisconnected() {
    this.stop();
  }

  hostConnected() {
    if (this.state) this.listen();
  }

  close() {
    this.turn += 1;
    this.stop();
    this.stop = () => {};
    this.state = this.pending = null;
    this.connected = true;
    this.host.requestUpdate();
  }

  /** Open a game by its id. @param {string} id @returns {Promise<boolean|null>} Whether it exists; null if the reader has gone elsewhere meanwhile. */
  async open(id) {
    if (this.state?.id === id) return true;
    this.close();
    const { turn } = this;
    try {
      const state = await api.game(id);
      if (turn !== this.turn) return null;
      this.take(state);
    } catch (error) {
      if (turn !== this.turn) return null;
      if (error instanceof ApiError && error.status === 404) return false;
      throw error;
    }
    this.listen();
    return true;
  }

  /** Begin a game. @param {{game: string, seats: any[], moves?: string}} body */
  async create(body) {
    const state = await api.create(body);
    this.close();
    this.take(state);
    this.listen();
    return state;
  }

  listen() {
    this.stop();
    const id = this.state.id;
    const status = (/** @type {boolean} */ connected) => {
      this.connected = connected;
      this.host.requestUpdate();
    };
    this.stop = follow(id, (message) => this.take(message.state), status, () => this.heard("signed out"));
  }

  /** Accept a state unless a newer one is here. @param {any} state */
  take(state) {
    if (this.state?.id === state.id && state.version < this.state.version) return;
    const before = this.state?.id === state.id ? this.state : null;
    this.state = state;
    this.arrived = performance.now();
    if (!before || before.version !== state.version) {
      if (!this.pending || state.position.ply !== this.pending.ply || state.status === "over") this.pending = null;
      this.heard("state", { before, state });
    }
    this.host.requestUpdate();
  }

  /** Send a request about this game; a stale one brings the newest state instead. @param {string} action @param {any} [body] */
  async send(action, body = {}) {
    try {
      const state = await api.act(this.state.id, action, body);
      if (state.id === this.state?.id) this.take(state);
      return state;
    } catch (error) {
      this.pending = null;
      if (error instanceof ApiError && error.state) this.take(error.state);
      this.heard("refused", error);
      this.host.requestUpdate();
      return null;
    }
  }

  /** Play a move, drawn at once. @param {any} move */
  async play(move) {
    const { ply } = this.state.position;
    this.pending = { ply, path: move.path };
    this.host.requestUpdate();
    const state = await this.send("moves", { ply, action: move.action });
    this.pending = null;
    this.host.requestUpdate();
    return state;
  }

  get ply() {
    return this.state.position.ply;
  }

  /** The reader's seats. @returns {number[]} */
  get own() {
    return mine(this.state);
  }
}
