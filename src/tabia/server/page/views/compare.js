/** <tabia-compare>: two runs side by side: the settings that differ first, then their curves in one picture. */
import { api } from "../api.js";
import { icon } from "../icons.js";
import { Element, html } from "../lit.js";
import { href } from "../router.js";
import { curves, derived, grouped } from "../run-series.js";
import { store, Subscription } from "../store.js";
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
    } catch (error) {
      this.message = /** @type {Error} */ (error).message;
    }
  }

  render() {
    if (!this.found) return html`<p class=${this.message ? "note bad" : "empty"} role="status">${this.message ? html`${icon("warn")}<span>${this.message}</span><a href=${href("learn")}>All runs</a>` : "Loading …"}</p>`;
    const { settings, a, b } = this.found;
    const time = store.prefs.xaxis === "time";
    const differing = settings.filter((/** @type {any} */ row) => JSON.stringify(row.a) !== JSON.stringify(row.b));
    const { groups } = grouped({ ...a.series, ...b.series });
    return html`<div class="compare"><section class="stack"><div class="status"><h1>${a.name} and ${b.name}</h1><span class="soft"><a href=${href("learn")}>All runs</a></span></div>
        <section class="card"><h2>Settings that differ</h2>${differing.length ? html`<div class="scroll"><table><tr><th>Setting</th><th>${a.name}</th><th>${b.name}</th></tr>
          ${differing.map((/** @type {any} */ row) => html`<tr><th scope="row">${row.key}</th><td>${show(row.a)}</td><td>${show(row.b)}</td></tr>`)}</table></div>` : html`<p class="soft">None: the runs differ only in chance.</p>`}</section></section>
      <div class="charts">${groups.map((group) => html`<section class="card chart-card"><h2>${group.title}</h2>
        <tabia-chart .curves=${[...curves(a.series, group.names, time, `${a.name}: `), ...curves(b.series, group.names, time, `${b.name}: `, true)]} .label=${group.title} .unit=${group.unit} .time=${time}></tabia-chart></section>`)}</div></div>`;
  }
}

/** @param {any} value */
const show = (value) => (value === null || value === undefined ? "–" : Array.isArray(value) ? value.join(", ") : String(value));

customElements.define("tabia-compare", Compare);
