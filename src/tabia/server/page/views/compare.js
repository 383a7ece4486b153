/** <tabia-compare>: two runs: their curves in one picture, each run in its color, and the settings that differ. */
import { api } from "../api.js";
import { icon } from "../icons.js";
import { Element, html, nothing } from "../lit.js";
import { href } from "../router.js";
import { derived, end, grouped, runCurves, settingText } from "../run-series.js";
import { game as catalogGame, prefer, store, Subscription } from "../store.js";
import { chips } from "../components/parts.js";
import "../components/chart.js";

class Compare extends Element {
  static properties = { first: {}, second: {}, found: { state: true }, message: { state: true } };

  constructor() {
    super();
    this.found = /** @type {any} */ (null);
    this.message = "";
    new Subscription(this);
  }

  /** @param {Map<string, any>} changed */
  willUpdate(changed) {
    if (changed.has("first") || changed.has("second")) this.load();
  }

  async load() {
    try {
      const [difference, a, b] = await Promise.all([api.compare(this.first, this.second), api.run(this.first), api.run(this.second)]);
      this.found = { settings: difference.settings, a: { ...a, series: derived(a.series) }, b: { ...b, series: derived(b.series) } };
      if (a.game === b.game && catalogGame(a.game)) prefer({ game: a.game });
    } catch (error) {
      this.message = /** @type {Error} */ (error).message;
    }
  }

  render() {
    if (!this.found) return html`<p class=${this.message ? "note bad" : "empty"} role="status">${this.message ? html`${icon("warn")}<span>${this.message}</span><a href=${href("learn")}>All runs</a>` : "Loading …"}</p>`;
    const { a, b } = this.found;
    const { groups } = grouped({ ...a.series, ...b.series });
    return html`<div class="compare"><div class="status"><h1><span class="run-key">${a.name}</span> and <span class="run-key second">${b.name}</span></h1><span class="soft"><a href=${href("learn")}>All runs</a></span></div>
      ${groups.length ? chips("Horizontal axis", [["iterations", "Iterations"], ["time", "Time"]], store.prefs.xaxis, (value) => prefer({ xaxis: /** @type {any} */ (value) })) : nothing}
      <div class="charts">${groups.map((group) => this.chart(group))}</div>${this.settings()}</div>`;
  }

  /** @param {{title: string, unit: string, names: string[]}} group */
  chart({ title, unit, names }) {
    const { a, b } = this.found;
    const time = store.prefs.xaxis === "time";
    const span = Math.max(end(a.series, time), end(b.series, time));
    return html`<section class="card chart-card"><h2>${title}</h2>
      <tabia-chart .curves=${[...runCurves(a, 0, names, time), ...runCurves(b, 1, names, time)]} .label=${title} .unit=${unit} .time=${time} .span=${span}></tabia-chart></section>`;
  }

  settings() {
    const { settings, a, b } = this.found;
    return html`<section class="card"><h2>Settings that differ</h2>${settings.length ? html`<div class="scroll"><table><tr><th>Setting</th><th>${a.name}</th><th>${b.name}</th></tr>
      ${settings.map((/** @type {any} */ row) => html`<tr><th scope="row">${row.key}</th><td>${settingText(row.a)}</td><td>${settingText(row.b)}</td></tr>`)}</table></div>` : html`<p class="soft">None: the runs differ only in chance.</p>`}</section>`;
  }
}

customElements.define("tabia-compare", Compare);
