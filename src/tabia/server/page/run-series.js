/** What a run's series mean: which belong in one chart, their names, units and the figures worth a tile. Pure functions. */
import { count, figure, percent, playerName } from "./words.js";

/** @typedef {{x: number[], seconds: number[], y: (number|null)[], low?: number[], high?: number[]}} Series */

const GROUPS = [
  { title: "Agreement with perfect play", unit: "%", test: (/** @type {string} */ name) => /^agreement_/.test(name) },
  { title: "Strength", unit: "Elo", test: (/** @type {string} */ name) => /^(elo|strength|rating)/.test(name) },
  { title: "Score against opponents", unit: "%", test: (/** @type {string} */ name) => /^(matches|gate_score)/.test(name) },
  { title: "Loss", unit: "", test: (/** @type {string} */ name) => /^loss/.test(name) },
  { title: "Network and search agree", unit: "%", test: (/** @type {string} */ name) => /^(policy_agreement|agreement)$/.test(name) },
  { title: "Speed", unit: "per s", test: (/** @type {string} */ name) => /per_second$/.test(name) },
];

const COUNTERS = ["progress", "total_games", "positions", "seconds"];

/**
 * The series with the speeds that follow from the counters, over windows of up to nine iterations.
 * @param {Record<string, Series>} all @returns {Record<string, Series>}
 */
export function derived(all) {
  const found = { ...all };
  for (const [counter, name] of [["total_games", "games_per_second"], ["positions", "positions_per_second"]]) {
    const source = all[counter];
    if (!source || all[name] || source.y.length < 2) continue;
    const y = source.y.map((value, at) => {
      const from = Math.max(0, at - 8);
      const time = source.seconds[at] - source.seconds[from];
      return at && time > 0 ? (Number(value) - Number(source.y[from])) / time : null;
    });
    found[name] = { x: source.x, seconds: source.seconds, y };
  }
  return found;
}

/** A metric's name for people. @param {string} name */
export function seriesName(name) {
  const known = /** @type {Record<string, string>} */ ({ agreement_network: "network alone", agreement_search: "with search", loss_total: "total", loss_policy: "policy", loss_value: "value", loss_final_position: "final position", elo: "Elo", policy_agreement: "moves played", agreement: "positions learned" });
  if (name.startsWith("matches.")) return `against ${playerName(name.slice("matches.".length))}`;
  return known[name] ?? name.replace(/\.score$/, "").replace(/_per_second$/, "").replaceAll("_", " ");
}

/** Who plays the matches of a run: its network, alone or with a search. @param {Record<string, any>} settings */
export function evaluated(settings) {
  const simulations = settings["evaluation.simulations"];
  if (typeof simulations !== "number") return "The network";
  return simulations ? `The network with ${simulations} simulations per move` : "The network alone, without search";
}

/** Which player the curves of a chart are about, where that matters. @param {string} title @param {Record<string, any>} settings */
export function chartNote(title, settings) {
  if (title === "Score against opponents") return `${evaluated(settings)}, in games that start after a few random moves.`;
  const simulations = settings["evaluation.simulations"] || settings["search.simulations"];
  if (title === "Agreement with perfect play" && simulations) return `The network alone, and with a search of ${simulations} simulations per move.`;
  return "";
}

/** Series grouped into charts; the rest comes last, each on its own. @param {Record<string, Series>} all */
export function grouped(all) {
  const names = Object.keys(all).filter((name) => !COUNTERS.includes(name) && all[name].y.some((value) => typeof value === "number"));
  const groups = GROUPS.map(({ title, unit, test }) => ({ title, unit, names: names.filter(test) })).filter((group) => group.names.length);
  const used = new Set(groups.flatMap((group) => group.names));
  return { groups, rest: names.filter((name) => !used.has(name)) };
}

/** Curves for a chart, one color per metric. @param {Record<string, Series>} all @param {string[]} names @param {boolean} time */
export function curves(all, names, time) {
  return names.flatMap((name, tone) => {
    if (!all[name]) return [];
    const { x, seconds, y, low, high } = all[name];
    return [{ label: seriesName(name), x: time ? seconds : x, y, ...(low && high ? { low, high } : {}), tone, dash: 0 }];
  });
}

/** Curves of one of several runs, in its color; dashes tell the metrics apart. @param {any} run @param {number} tone @param {string[]} names @param {boolean} time */
export function runCurves(run, tone, names, time) {
  return curves(run.series, names, time).map((curve) => ({ ...curve, label: `${run.name}: ${curve.label}`, tone, dash: curve.tone }));
}

/** Where the last curve ends. @param {Record<string, Series>} all @param {boolean} time */
export const end = (all, time) => Math.max(0, ...Object.values(all).map((curve) => (time ? curve.seconds : curve.x).at(-1) ?? 0));

/** A setting's value for people. @param {any} value */
export function settingText(value) {
  if (value === null || value === undefined) return "–";
  return typeof value === "number" && !Number.isInteger(value) ? figure(value) : String(value);
}

/** Add a line of metrics to the series it continues. @param {Record<string, Series>} all @param {Record<string, any>} line */
export function extended(all, line) {
  return Object.fromEntries(Object.entries(all).map(([name, series]) => {
    const value = line[name];
    if (typeof value !== "number" || (series.x.at(-1) ?? -1) >= line.iteration || series.low) return [name, series];
    return [name, { ...series, x: [...series.x, line.iteration], seconds: [...series.seconds, line.seconds ?? 0], y: [...series.y, value] }];
  }));
}

/** The newest value of a series. @param {Series|undefined} series */
const newest = (series) => series?.y.findLast((value) => typeof value === "number");

/** @type {[string, string, (value: number) => string][]} */
const TILES = [
  ["total_games", "games played", count],
  ["games_per_second", "games per second", figure],
  ["positions_per_second", "positions per second", figure],
  ["agreement_search", "agrees with perfect play, with search", (value) => percentage(value)],
  ["agreement_network", "agrees with perfect play, network alone", (value) => percentage(value)],
  ["elo", "Elo", count],
  ["draws", "draws in self-play", percent],
  ["game_length", "moves per game", figure],
  ["loss_total", "loss", figure],
  ["positions", "positions", count],
];

const percentage = (/** @type {number} */ value) => `${(100 * value).toFixed(1)}%`;

/** Up to four figures for tiles. @param {Record<string, Series>} all @param {Record<string, any>} line The newest metrics. */
export function tiles(all, line) {
  return TILES.flatMap(([name, label, format]) => {
    const value = typeof line[name] === "number" ? line[name] : newest(all[name]);
    return typeof value === "number" ? [{ label, text: format(value) }] : [];
  }).slice(0, 4);
}
