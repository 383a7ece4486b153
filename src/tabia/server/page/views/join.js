/** <tabia-join>: what a link to an open seat shows. Opening it changes nothing; the button takes the seat. */
import { refresh } from "../account.js";
import { api } from "../api.js";
import { icon } from "../icons.js";
import { Element, html, nothing } from "../lit.js";
import { go, href } from "../router.js";
import { game as catalogGame, prefer, store, Subscription } from "../store.js";
import { timeControl } from "../words.js";
import { openSignIn } from "../components/sign-in.js";

class Join extends Element {
  static properties = { code: { attribute: false }, invitation: { state: true }, problem: { state: true }, busy: { state: true } };

  constructor() {
    super();
    this.code = "";
    this.invitation = /** @type {any} */ (null);
    this.problem = "";
    this.busy = false;
    new Subscription(this);
  }

  /** @param {Map<string, any>} changed */
  willUpdate(changed) {
    if (changed.has("code")) this.load();
  }

  async load() {
    this.problem = "";
    try {
      this.invitation = await api.invitation(this.code);
    } catch (error) {
      this.problem = /** @type {Error} */ (error).message;
    }
  }

  async join() {
    this.busy = true;
    try {
      const state = await api.join(this.code);
      prefer({ game: state.game });
      await refresh();
      go("play", state.id);
    } catch (error) {
      this.problem = /** @type {Error} */ (error).message;
    }
    this.busy = false;
  }

  render() {
    const { invitation } = this;
    if (this.problem) return html`<section class="card join"><h1>This seat is not open</h1><p>${this.problem}</p><div class="actions"><a class="button primary" href=${href("play")}>${icon("play")} Play something else</a></div></section>`;
    if (!invitation) return html`<p class="empty" aria-busy="true">Opening the invitation …</p>`;
    const game = catalogGame(invitation.game);
    const isStranger = ["stranger", "guest"].includes(store.account?.role);
    return html`<section class="card join stack"><div><h1>${invitation.by} invites you to ${game?.name ?? invitation.game}</h1>
        <p class="soft">${game?.goals[invitation.seat] ?? ""}</p></div>
      <dl class="facts"><dt>Your side</dt><dd>${game?.seat_names[invitation.seat] ?? `seat ${invitation.seat + 1}`}</dd><dt>Time</dt><dd>${timeControl(invitation.clock)}</dd>
        <dt>Rated</dt><dd>${invitation.rated ? "yes: the result changes both ratings" : "no"}</dd></dl>
      <div class="actions"><button class="primary" ?disabled=${this.busy} @click=${this.join}>${icon("play")} Join the game</button><a class="button" href=${href("play")}>Not now</a></div>
      ${isStranger ? html`<p class="soft small">You play as a guest; nothing to sign up for. <button class="plain" @click=${() => openSignIn("in")}>Sign in</button> to play under your own name.</p>` : nothing}</section>`;
  }
}

customElements.define("tabia-join", Join);
