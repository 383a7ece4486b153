/**
 * Talking to the server: JSON over fetch, game states over a WebSocket, progress over server-sent events.
 *
 * Every refusal becomes an `ApiError` whose message is a sentence for people; a stale request carries the current state.
 */

const isHere = /^(localhost|127\.|\[::1\])/.test(location.hostname);
const AWAY = isHere
  ? "The server does not answer. Start it again with `tabia play`; your game is kept."
  : "The server does not answer. The page tries again by itself; your game is kept.";

export class ApiError extends Error {
  /** @param {string} message @param {number} status @param {any} body @param {number} [retryAfter] Seconds to wait. */
  constructor(message, status, body, retryAfter = 0) {
    super(message);
    this.status = status;
    this.state = body?.state ?? null;
    /** The name of the input at fault, where there is one. @type {string} */
    this.field = body?.field ?? "";
    this.retryAfter = retryAfter;
    /** Whether the server or the rules of the game failed, not the reader. */
    this.isFailure = status === 0 || status >= 500;
  }
}

/** @param {Record<string, any>} values Empty values are left out. */
function query(values) {
  const known = Object.entries(values).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return known.length ? `?${new URLSearchParams(known.map(([name, value]) => [name, String(value)]))}` : "";
}

/** Short waits that the server asks for are waited out: a refused request has changed nothing. */
const PATIENT = { tries: 4, seconds: 3 };
/** Where a wait belongs to what the reader typed: it is shown instead. */
const PASSWORDS = ["login", "account", "account/password"];

/** @param {string} path @param {RequestInit & {json?: any}} [options] */
async function request(path, { json, ...options } = {}) {
  const init = json === undefined ? options : { ...options, body: JSON.stringify(json), headers: { "content-type": "application/json" } };
  for (let left = PATIENT.tries; ; left--) {
    const response = await answer(path, init);
    if (response.status === 204) return null;
    const wait = Number(response.headers.get("retry-after")) || 0;
    const isJson = response.headers.get("content-type")?.includes("json");
    const body = isJson ? await response.json() : await response.text();
    if (response.ok) return body;
    const isShown = init.method === "POST" && PASSWORDS.includes(path);
    const isPatient = response.status === 429 && !isShown && wait <= PATIENT.seconds && left > 1;
    if (!isPatient) throw new ApiError(body?.detail ?? "The server refused this. Reload the page and try again.", response.status, body, wait);
    await new Promise((resume) => setTimeout(resume, 1000 * (wait || 1)));
  }
}

/** @param {string} path @param {RequestInit} init */
async function answer(path, init) {
  try {
    return await fetch(`/api/v1/${path}`, init);
  } catch (error) {
    if (/** @type {Error} */ (error).name === "AbortError") throw error;
    throw new ApiError(AWAY, 0, null);
  }
}

/** @param {string} path @param {any} [json] */
const post = (path, json = {}) => request(path, { method: "POST", json });
/** @param {string} path @param {any} [json] */
const remove = (path, json) => request(path, { method: "DELETE", json });
const part = encodeURIComponent;

export const api = {
  catalog: () => request("catalog"),
  create: (/** @type {any} */ body) => post("games", body),
  games: (/** @type {any} */ filter) => request(`games${query(filter)}`),
  game: (/** @type {string} */ id) => request(`games/${part(id)}`),
  act: (/** @type {string} */ id, /** @type {string} */ action, /** @type {any} */ body) => post(`games/${part(id)}/${action}`, body),
  hint: (/** @type {string} */ id, /** @type {number} */ ply) => request(`games/${part(id)}/hint${query({ ply })}`),
  record: (/** @type {string} */ id) => request(`games/${part(id)}/record`),
  position: (/** @type {string} */ game, /** @type {string} */ moves) => request(`position${query({ game, moves })}`),
  analyze: (/** @type {any} */ values) => request(`analyze${query(values)}`),
  explain: (/** @type {any} */ values, /** @type {AbortSignal} */ signal) => request(`explain${query(values)}`, { signal }),
  importText: (/** @type {string} */ text, /** @type {string} */ game) => post("import", { text, game }),
  runs: () => request("runs"),
  run: (/** @type {string} */ name) => request(`runs/${part(name)}`),
  runGames: (/** @type {string} */ name, /** @type {any} */ checkpoint) => request(`runs/${part(name)}/games${query({ checkpoint })}`),
  compare: (/** @type {string} */ a, /** @type {string} */ b) => request(`runs/compare${query({ a, b })}`),
  proof: (/** @type {string} */ name) => request(`runs/${part(name)}/proof`),
  recipes: (/** @type {string} */ game) => request(`recipes${query({ game })}`),
  estimate: (/** @type {string} */ game, /** @type {string} */ recipe) => request(`runs/estimate${query({ game, recipe })}`),
  account: () => request("account"),
  signUp: (/** @type {any} */ body) => post("account", body),
  login: (/** @type {any} */ body) => post("login", body),
  logout: () => post("logout"),
  password: (/** @type {any} */ body) => post("account/password", body),
  deleteAccount: (/** @type {any} */ body) => remove("account", body),
  /** The sessions, tokens or bots of this account. */
  owned: (/** @type {string} */ kind) => request(`account/${kind}`),
  add: (/** @type {string} */ kind, /** @type {any} */ body) => post(`account/${kind}`, body),
  end: (/** @type {string} */ kind, /** @type {string} */ id) => remove(`account/${kind}/${part(id)}`),
  ratings: (/** @type {string} */ game) => request(`ratings${query({ game })}`),
  myRatings: () => request("ratings/me"),
  person: (/** @type {string} */ name) => request(`people/${part(name)}`),
  rated: (/** @type {string} */ game) => post("rated", { game }),
  invitation: (/** @type {string} */ code) => request(`games/join${query({ code })}`),
  join: (/** @type {string} */ code) => post("games/join", { code }),
  startRun: (/** @type {any} */ body) => post("runs", body),
  runAction: (/** @type {string} */ name, /** @type {string} */ action, /** @type {any} */ body) => post(`runs/${part(name)}/${action}`, body),
};

/** The code with which the server closes the connections of a session that has ended. */
const SESSION_ENDED = 4401;

/**
 * Follow a game; reconnects by itself, quickly at first, then every four seconds.
 * @param {string} id @param {(message: any) => void} receive @param {(connected: boolean) => void} status
 * @param {() => void} signedOut Called when the reader's session has ended, here or in another browser.
 * @returns {() => void} Stops following.
 */
export function follow(id, receive, status, signedOut) {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  let socket = /** @type {WebSocket|null} */ (null);
  let wait = 250;
  let timer = 0;
  let stopped = false;
  const connect = () => {
    socket = new WebSocket(`${scheme}://${location.host}/api/v1/games/${part(id)}/live`);
    socket.onopen = () => {
      wait = 250;
      status(true);
    };
    socket.onmessage = (event) => receive(JSON.parse(event.data));
    socket.onclose = ({ code }) => {
      if (stopped) return;
      status(false);
      if (code === SESSION_ENDED) signedOut();
      timer = window.setTimeout(connect, wait);
      wait = Math.min(2 * wait, 4000);
    };
  };
  const ping = window.setInterval(() => socket?.readyState === WebSocket.OPEN && socket.send("ping"), 20000);
  connect();
  return () => {
    stopped = true;
    clearTimeout(timer);
    clearInterval(ping);
    socket?.close();
  };
}

/**
 * Read a stream of named events until it ends.
 * @param {string} path @param {Record<string, any>} values @param {Record<string, (data: any) => void>} handlers
 *   `end` is called once when the stream is over, `lost` when the connection breaks.
 * @returns {() => void} Stops reading.
 */
export function stream(path, values, handlers) {
  const source = new EventSource(`/api/v1/${path}${query(values)}`);
  const close = () => source.close();
  for (const [name, handler] of Object.entries(handlers)) {
    source.addEventListener(name, (event) => {
      if (name === "end") close();
      const text = /** @type {MessageEvent} */ (event).data;
      handler(text ? JSON.parse(text) : null);
    });
  }
  source.addEventListener("error", (event) => {
    if ("data" in event && event.data) return;
    if (!handlers.metrics && !handlers.state) close(); // A finite stream is not asked for twice; a live one reconnects.
    handlers.lost?.(null);
  });
  return close;
}

/** Hear of the reader's games: those that run come first, then what happens. @param {Record<string, (data: any) => void>} handlers */
export function events(handlers) {
  const source = new EventSource("/api/v1/events");
  for (const [name, handler] of Object.entries(handlers)) source.addEventListener(name, (event) => handler(JSON.parse(event.data)));
  return () => source.close();
}

/** Follow a run's metrics after an iteration. @param {string} name @param {number} after @param {Record<string, (data: any) => void>} handlers */
export const runLive = (name, after, handlers) => stream(`runs/${part(name)}/live`, { after }, handlers);
