/** Parts of the review: the moves that mattered, what the agent sees, the present variation. */
import { html, nothing } from "../lit.js";
import { percent, score } from "../words.js";

/**
 * The moves that mattered, with the better line step by step.
 * @param {any[]|null} moments @param {(moment: any, length: number) => void} showLine @param {(ply: number) => void} seek
 */
export function mattered(moments, showLine, seek) {
  if (!moments) return html`<p class="soft" aria-busy="true">Looking at the game …</p>`;
  if (!moments.length) return html`<p class="soft">No move cost much: well played by all.</p>`;
  return html`<ol class="moments">${moments.map((moment) => html`<li>
    <button class="plain moment" @click=${() => seek(moment.ply + 1)}><b>Move ${moment.ply + 1}: ${moment.played} instead of ${moment.better}</b></button>
    <p class="small soft">${moment.exact ? html`<span class="exact-tag">${moment.exact}.</span> ` : nothing}${moment.exact ? moment.text.replace(`${moment.exact}. `, "") : moment.text}</p>
    ${moment.line?.length ? html`<p class="small line-steps"><span class="soft">Better:</span> ${moment.line.slice(0, 8).map((/** @type {string} */ move, /** @type {number} */ index) => html`<button class="step" aria-label="Show the better line up to ${move}" @click=${() => showLine(moment, index + 1)}>${move}</button>`)}</p>` : nothing}
  </li>`)}</ol>`;
}

const ABOUT = { policy: "Network: the share it gives each move, before any search.", visits: "Search: the share of simulations each move got.", values: "Values: the mover's expected score after each move.", exact: "Exact: the result of each move with perfect play." };

/**
 * What the overlay shows, as text, and the main line step by step.
 * @param {any} analysis @param {any} position @param {any[]} marks @param {string} kind
 * @param {{own: number, name: string, showLine: (length: number) => void}} view
 */
export function candidates(analysis, position, marks, kind, { own, name, showLine }) {
  if (position.over) return html`<p class="soft">The game is over here: ${position.result?.text ?? ""}.</p>`;
  if (!analysis) return html`<p class="soft" aria-busy="true">Looking at this position …</p>`;
  const total = Object.values(analysis.visits ?? {}).reduce((sum, visits) => sum + Number(visits), 0);
  const best = analysis.recommended ?? analysis.move;
  const visited = analysis.visits?.[best];
  const words = visited && total ? `${best} gets ${percent(visited / total)} of ${total} simulations.` : `Best: ${best}.`;
  const value = analysis.expected?.[own];
  return html`<p>${words}${value === undefined ? nothing : html` <span class="soft">Expected score ${percent(score(value))} for ${name === "You" ? "you" : name}.</span>`}</p>
    ${analysis.line?.length > 1 ? html`<p class="small line-steps"><span class="soft">Main line:</span> ${analysis.line.slice(0, 8).map((/** @type {string} */ move, /** @type {number} */ index) => html`<button class="step" aria-label="Show the main line up to ${move}" @click=${() => showLine(index + 1)}>${move}</button>`)}</p>` : nothing}
    ${kind !== "none" && marks.length ? html`<p class="soft small">${ABOUT[/** @type {keyof typeof ABOUT} */ (kind)]}</p>
      <ul class="candidates">${marks.filter((mark) => mark.sure && mark.label).slice(0, 8).map((mark) => html`<li class=${mark.best ? "best" : ""}><b>${mark.move}</b> <span class=${mark.outcome ?? ""}>${mark.label}</span></li>`)}</ul>` : nothing}`;
}

/** The variation being looked at. @param {import("../line-tree.js").LineTree} tree */
export function variation(tree) {
  if (!tree.isVariation) return nothing;
  const own = tree.path().filter((node) => !node.main);
  const siblings = tree.current.parent?.children.length ?? 1;
  return html`<p class="small soft gap-top">Variation: ${own.map((node) => node.move.move).join(" · ")}${siblings > 1 ? ` (${siblings} ways here, ↑ ↓ to switch)` : ""}</p>`;
}
