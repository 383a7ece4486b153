/**
 * <tabia-chart>: curves over iterations or time, with bands and a legend that reads all series under the pointer.
 *
 * A thin layer over uPlot. Colors come from the theme. Emits `pick` with the x value of a click.
 */
import { Element, html } from "../lit.js";
import uPlot from "../vendor/uplot/uPlot.js";
import { duration, figure, percent } from "../words.js";

/** @typedef {{label: string, x: number[], y: (number|null)[], low?: number[], high?: number[], tone: number, dash: number}} Curve */

const TONES = ["--accent", "--orange", "--red", "--violet", "--blue", "--green"];
/** Lengths of strokes and gaps. */
const DASHES = [[], [8, 5], [2, 4], [11, 4, 2, 4], [16, 6], [5, 3, 2, 3, 2, 3]];
const MOST_MARKS = 11;
/** Pixels that two marked points are apart at least. */
const APART = 14;
/** @type {Set<Chart>} */
const charts = new Set();
new MutationObserver(() => charts.forEach((chart) => chart.rebuild())).observe(document.documentElement, { attributeFilter: ["data-theme"] });

/** The line of a curve, as a background. @param {string} stroke @param {number[]} dash */
function swatch(stroke, dash) {
  if (!dash.length) return stroke;
  let end = 0;
  const parts = dash.map((length, index) => `${index % 2 ? "transparent" : stroke} ${end}px ${(end += length)}px`);
  return `repeating-linear-gradient(90deg, ${parts.join(", ")})`;
}

/** Whether marks on the points of a curve leave its line visible. @param {any} plot @param {number[]} x */
function isRoomy(plot, x) {
  const width = plot.valToPos(x[x.length - 1], "x") - plot.valToPos(x[0], "x");
  return x.length <= MOST_MARKS && width >= APART * (x.length - 1);
}

/** @param {any} plot @param {string} stroke @param {number} x @param {number} low @param {number} high */
function drawBar({ ctx, valToPos }, stroke, x, low, high) {
  const [center, top, bottom] = [valToPos(x, "x", true), valToPos(high, "y", true), valToPos(low, "y", true)];
  const half = 5 * devicePixelRatio;
  ctx.save();
  Object.assign(ctx, { strokeStyle: stroke, lineWidth: 2 * devicePixelRatio });
  ctx.beginPath();
  for (const [left, start, right, stop] of [[center, top, center, bottom], [center - half, top, center + half, top], [center - half, bottom, center + half, bottom]]) {
    ctx.moveTo(left, start);
    ctx.lineTo(right, stop);
  }
  ctx.stroke();
  ctx.restore();
}

class Chart extends Element {
  static properties = { curves: { attribute: false }, label: {}, unit: {}, time: { type: Boolean }, height: { type: Number }, span: { type: Number } };

  constructor() {
    super();
    this.curves = /** @type {Curve[]} */ ([]);
    this.label = "";
    this.unit = "";
    this.time = false;
    this.height = 190;
    this.span = 0; // Where the horizontal axis ends at least.
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
      const stroke = color(TONES[curve.tone % TONES.length]);
      const dash = DASHES[curve.dash % DASHES.length];
      const points = { show: (/** @type {any} */ plot) => isRoomy(plot, this.curves[index].x), fill: color("--surface") };
      series.push({ label: curve.label, stroke, dash, points, curve: index, swatch: swatch(stroke, dash), width: 2.5, spanGaps: true, value: (/** @type {any} */ plot, /** @type {any} */ y, /** @type {number} */ place, /** @type {number|null} */ at) => this.shown(y) + (curve.low && at !== null && typeof y === "number" ? ` (${this.shown(plot.data[place + 1][at])} to ${this.shown(plot.data[place + 2][at])})` : "") });
      if (!curve.low) return;
      const edge = { class: "band-edge", stroke: "transparent", width: 0, spanGaps: true, points: { show: false } };
      series.push({ ...edge, label: "from" }, { ...edge, label: "to" });
      bands.push({ series: [series.length - 1, series.length - 2], fill: `${stroke}33` });
    });
    const axis = { stroke: color("--soft"), grid: { stroke: color("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif" };
    const options = {
      width: this.clientWidth || 600, height: this.height, padding: [10, 14, 0, 0], series, bands, cursor: { sync: { key: "tabia" }, drag: { x: false, y: false } }, scales: { x: { time: false, range: () => [0, this.end] } },
      legend: { live: true, markers: { width: 0, fill: (/** @type {any} */ plot, /** @type {number} */ place) => plot.series[place].swatch } }, hooks: { ready: [() => setTimeout(() => this.readLast())], drawAxes: [(/** @type {any} */ plot) => this.drawIntervals(plot)] },
      axes: [{ ...axis, size: 30, values: (/** @type {any} */ _, /** @type {number[]} */ ticks) => ticks.map((tick) => (this.time ? duration(tick) : figure(tick))) },
        { ...axis, size: 58, values: (/** @type {any} */ _, /** @type {number[]} */ ticks) => ticks.map((tick) => (this.unit !== "%" ? figure(tick) : ticks[1] - ticks[0] < 0.0099 ? `${(100 * tick).toFixed(1)}%` : percent(tick))) }],
    };
    this.plot = new uPlot(/** @type {any} */ (options), this.table, /** @type {HTMLElement} */ (this.querySelector(".plot")));
    this.built = this.shape;
    this.plot.over.addEventListener("mouseleave", () => setTimeout(() => this.readLast()));
  }

  get end() {
    return Math.max(1, this.span, ...this.curves.map(({ x }) => x[x.length - 1] ?? 0));
  }

  /** A single point has no band: its interval is drawn as a bar. @param {any} plot */
  drawIntervals(plot) {
    plot.series.forEach((/** @type {any} */ series, /** @type {number} */ place) => {
      const { x, low, high } = this.curves[series.curve] ?? {};
      if (x?.length === 1 && low && high) drawBar(plot, series.stroke(plot, place), x[0], low[0], high[0]);
    });
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
