/**
 * The expected score over a game as one line from one point of view: clickable, mistakes marked, the present ply shown.
 * A range input lies under it, so that keys and screen readers read the same numbers.
 */
import { html, nothing, svg } from "../lit.js";
import { percent } from "../words.js";

const [WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM] = [440, 150, 42, 10, 12, 22];

/**
 * @param {{scores: (number|null)[], plies: number, current: number, flaws: {ply: number, text: string}[], pick: (ply: number) => void, label: string}} graph
 */
export function scoreGraph({ scores, plies, current, flaws, pick, label }) {
  const x = (/** @type {number} */ ply) => LEFT + (ply * (WIDTH - LEFT - RIGHT)) / Math.max(plies, 1);
  const y = (/** @type {number} */ score) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - score);
  const points = scores.flatMap((score, ply) => (score === null || score === undefined ? [] : [`${x(ply).toFixed(1)},${y(score).toFixed(1)}`]));
  const known = scores.filter((score) => score !== null && score !== undefined).length;
  const step = plies > 60 ? 20 : plies > 24 ? 10 : plies > 10 ? 5 : 1;
  const ticks = Array.from({ length: Math.floor(plies / step) + 1 }, (_, index) => index * step);
  const at = scores[current];
  const click = (/** @type {any} */ event) => {
    const box = event.currentTarget.getBoundingClientRect();
    const place = ((event.clientX - box.left) / box.width) * WIDTH;
    pick(Math.min(plies, Math.max(0, Math.round(((place - LEFT) / (WIDTH - LEFT - RIGHT)) * plies))));
  };
  return html`<svg class="score-graph" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${label}${at === null || at === undefined ? "" : `: ${percent(at)} after move ${current}`}" @click=${click}>
      <rect class="area" x=${LEFT} y=${TOP} width=${WIDTH - LEFT - RIGHT} height=${HEIGHT - TOP - BOTTOM} rx="6"/>
      ${[0, 0.5, 1].map((score) => svg`<text class="tick end" x=${LEFT - 8} y=${y(score) + 4}>${percent(score)}</text>`)}
      ${ticks.map((ply) => svg`<text class="tick" x=${x(ply)} y=${HEIGHT - 5}>${ply}</text>`)}
      <line class="middle" x1=${LEFT} x2=${WIDTH - RIGHT} y1=${y(0.5)} y2=${y(0.5)}/>
      ${points.length > 1 ? svg`<polygon class="under" points="${x(0)},${y(0.5)} ${points.join(" ")} ${points[points.length - 1].split(",")[0]},${y(0.5)}"/><polyline class="curve" points=${points.join(" ")}/>` : nothing}
      <line class="now" x1=${x(current)} x2=${x(current)} y1=${TOP} y2=${HEIGHT - BOTTOM}/>
      ${at === null || at === undefined ? nothing : svg`<circle class="dot" cx=${x(current)} cy=${y(at)} r="5"/>`}
      ${flaws.map(({ ply, text }) => svg`<g class="flaw-dot"><title>${text}</title><circle cx=${x(ply)} cy=${y(scores[ply] ?? 0.5)} r="8.5"/><text x=${x(ply)} y=${y(scores[ply] ?? 0.5) + 4}>${ply}</text></g>`)}
    </svg>
    ${plies && known <= plies ? html`<p class="soft small" role="status">Looking at move ${Math.min(known + 1, plies)} of ${plies} …</p>` : nothing}`;
}
