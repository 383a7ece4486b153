/**
 * <tabia-chart>: curves over iterations or time, with bands and a legend that reads all series under the pointer.
 *
 * A thin layer over uPlot. Colors come from the theme. Emits `pick` with the x value of a click.
 */
import { Element, html } from "../lit.js";
import uPlot from "../vendor/uplot/uPlot.js";
import { duration, figure, percent } from "../words.js";

/** @typedef {{label: string, x: number[], y: (number|null)[], low?: number[], high?: number[], dashed?: boolean, tone?: number}} Curve */

const TONES = ["--accent", "--yellow", "--red", "--violet", "--blue", "--green"];
/** @type {Set<Chart>} */
const charts = new Set();
new MutationObserver(() => charts.forEach((chart) => chart.rebuild())).observe(document.documentElement, { attributeFilter: ["data-theme"] });

class Chart extends Element {
  static properties = { curves: { attribute: false }, label: {}, unit: {}, time: { type: Boolean }, height: { type: Number }, span: { type: Number } };

  constructor() {
    super();
    this.curves = /** @type {Curve[]} */ ([]);
    this.label = "";
    this.unit = "";
    this.time = false;
    this.height = 190;
    this.span = 0; // Where the horizontal axis ends; by itself the last point.
    this.sizes = new ResizeObserver(() => this.plot?.setSize({ width: this.clientWidth, height: this.height }));
  }

  connectedCallback() {
    super.connectedCallback();
    charts.add(this);
    this.sizes.observe(this);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    charts.delete(this);
    this.sizes.disconnect();
    this.plot?.destroy();
    this.plot = null;
  }

  /** One table for all curves: x, then y and the edges of its band for each. */
  get table() {
    return uPlot.join(this.curves.map(({ x, y, low, high }) => (low && high ? [x, y, low, high] : [x, y])));
  }

  get shape() {
    return JSON.stringify([this.unit, this.time, this.curves.map((curve) => [curve.label, Boolean(curve.low)])]);
  }

  updated() {
    if (!this.curves.length) return;
    if (this.plot && this.shape === this.built) {
      this.plot.setData(this.table);
      this.readLast();
    } else this.rebuild();
  }

  /** @param {number|null|undefined} value */
  shown(value) {
    if (value === null || value === undefined) return "–";
    return this.unit === "%" ? `${(100 * value).toFixed(1)}%` : `${figure(value)}${this.unit ? ` ${this.unit}` : ""}`;
  }

  /** The legend reads the newest values while the pointer is elsewhere. */
  readLast() {
    const { plot } = this;
    if (!plot || plot.cursor.idx !== null && plot.cursor.idx !== undefined) return;
    const last = plot.data.map((/** @type {any} */ column) => column.findLastIndex((/** @type {any} */ value) => value !== null && value !== undefined));
    plot.setLegend({ idxs: last });
  }

  rebuild() {
    if (!this.curves.length || !this.isConnected) return;
    this.plot?.destroy();
    const css = getComputedStyle(document.documentElement);
    const color = (/** @type {string} */ name) => css.getPropertyValue(name).trim();
    /** @type {any[]} */ const series = [{ label: this.time ? "time" : "iteration", value: (/** @type {any} */ _, /** @type {number|null} */ x) => (x === null || x === undefined ? "–" : this.time ? duration(x) : figure(x)) }];
    /** @type {any[]} */ const bands = [];
    this.curves.forEach((curve, index) => {
      const stroke = color(TONES[(curve.tone ?? index) % TONES.length]);
      series.push({ label: curve.label, stroke, width: 2.5, spanGaps: true, dash: curve.dashed ? [6, 5] : undefined, points: { show: curve.x.length < 12 }, value: (/** @type {any} */ plot, /** @type {any} */ y, /** @type {number} */ place, /** @type {number|null} */ at) => this.shown(y) + (curve.low && at !== null && typeof y === "number" ? ` (${this.shown(plot.data[place + 1][at])} to ${this.shown(plot.data[place + 2][at])})` : "") });
      if (!curve.low) return;
      const edge = { class: "band-edge", stroke: "transparent", width: 0, spanGaps: true, points: { show: false } };
      series.push({ ...edge, label: "from" }, { ...edge, label: "to" });
      bands.push({ series: [series.length - 1, series.length - 2], fill: `${stroke}33` });
    });
    const axis = { stroke: color("--soft"), grid: { stroke: color("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif" };
    const options = {
      width: this.clientWidth || 600, height: this.height, padding: [10, 14, 0, 0], series, bands, cursor: { sync: { key: "tabia" }, drag: { x: false, y: false } }, scales: { x: { time: false, range: (/** @type {any} */ _, /** @type {number} */ low, /** @type {number} */ high) => [this.span ? 0 : low, Math.max(this.span, high, low + 1)] } }, legend: { live: true }, hooks: { ready: [() => setTimeout(() => this.readLast())] },
      axes: [{ ...axis, size: 30, values: (/** @type {any} */ _, /** @type {number[]} */ ticks) => ticks.map((tick) => (this.time ? duration(tick) : figure(tick))) },
        { ...axis, size: 58, values: (/** @type {any} */ _, /** @type {number[]} */ ticks) => ticks.map((tick) => (this.unit !== "%" ? figure(tick) : ticks[1] - ticks[0] < 0.0099 ? `${(100 * tick).toFixed(1)}%` : percent(tick))) }],
    };
    this.plot = new uPlot(/** @type {any} */ (options), this.table, /** @type {HTMLElement} */ (this.querySelector(".plot")));
    this.built = this.shape;
    this.plot.over.addEventListener("mouseleave", () => setTimeout(() => this.readLast()));
  }

  /** @param {MouseEvent} event */
  clicked(event) {
    if (!this.plot || !(/** @type {HTMLElement} */ (event.target).closest(".u-over"))) return;
    this.emit("pick", this.plot.posToVal(this.plot.cursor.left, "x"));
  }

  render() {
    const last = this.curves.map((curve) => `${curve.label} ${this.shown(curve.y[curve.y.length - 1])}`).join(", ");
    return html`<div class="plot" role="img" aria-label="${this.label}: ${last}" @click=${this.clicked}></div>`;
  }
}

customElements.define("tabia-chart", Chart);
