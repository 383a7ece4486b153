/**
 * <tabia-clock>: the time a seat has left, and <tabia-countdown>: the seconds until something happens.
 *
 * The server's clock decides; these count down between two of its states.
 */
import { Element, html, nothing } from "../lit.js";
import { announce } from "../store.js";
import { clockText } from "../words.js";

const LOW = 20_000;
const SPOKEN = [60_000, 30_000, 10_000];

class Clock extends Element {
  static properties = { ms: { attribute: false }, running: { attribute: false }, since: { attribute: false }, label: { attribute: false }, own: { attribute: false } };

  constructor() {
    super();
    this.ms = 0;
    this.running = false;
    this.own = false;
    this.label = "";
    /** When `ms` was true, by the browser's monotonic clock. */
    this.since = performance.now();
    this.timer = 0;
    this.spoken = 0;
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    clearTimeout(this.timer);
  }

  get left() {
    return this.running ? Math.max(0, this.ms - (performance.now() - this.since)) : this.ms;
  }

  updated() {
    clearTimeout(this.timer);
    const { left } = this;
    if (!this.running || left <= 0 || !this.isConnected) return;
    this.speak(left);
    const step = left < 10_000 ? 100 : 1000;
    this.timer = window.setTimeout(() => this.requestUpdate(), (left % step) + 10);
  }

  /** Let screen readers hear the own time when it becomes short. @param {number} left */
  speak(left) {
    const passed = SPOKEN.filter((mark) => left <= mark).length;
    if (this.own && passed > this.spoken && this.checkVisibility()) announce(`${Math.ceil(left / 1000)} seconds left.`);
    this.spoken = passed;
  }

  render() {
    const { left } = this;
    return html`<span class="clock ${this.running ? "running" : ""} ${left < LOW ? "low" : ""}" role="timer" aria-live="off" aria-label=${this.label || nothing}>${clockText(left)}</span>`;
  }
}

class Countdown extends Clock {
  render() {
    return html`${Math.ceil(this.left / 1000)} s`;
  }
}

customElements.define("tabia-clock", Clock);
customElements.define("tabia-countdown", Countdown);
