/** A search tree opened node by node: visits as a bar, the value for who plays the move, and the network's prior. */
import { html, nothing, svg } from "../lit.js";
import { percent, score } from "../words.js";

/** @param {any} root */
export function searchTree(root) {
  const children = root?.children ?? [];
  if (!children.length) return html`<p class="soft">With so few simulations the tree has no branches yet.</p>`;
  return html`<div class="tree"><div class="tree-head" aria-hidden="true"><span>Move</span><span>Visits</span><span>Value</span><span>Prior</span></div>${branches(children, root.visits || 1, true)}</div>`;
}

/** @param {any[]} nodes @param {number} total @param {boolean} first */
function branches(nodes, total, first) {
  const most = Math.max(...nodes.map((node) => node.visits), 1);
  return html`<ul>${[...nodes].sort((a, b) => b.visits - a.visits).map((node, index) => {
    const share = node.visits / total;
    const isFaint = share < 0.1 && index > 0;
    const line = html`<span class="node ${isFaint ? "faint" : ""}"><b>${node.move}</b>
      <span class="bar" aria-hidden="true"><i .style=${`width: ${(100 * node.visits) / most}%`}></i></span>
      <span class="number"><span class="unseen">visits </span>${node.visits}</span>
      <span class="number"><span class="unseen">value </span>${node.value === null || node.value === undefined || isFaint ? "–" : percent(score(node.value))}</span>
      <span class="number"><span class="unseen">prior </span>${node.prior === null || node.prior === undefined ? "–" : percent(node.prior)}</span></span>`;
    return html`<li>${node.children?.length ? html`<details ?open=${first && index === 0}><summary>${line}</summary>${branches(node.children, node.visits || 1, false)}</details>` : html`<div class="leaf">${line}</div>`}</li>`;
  })}</ul>`;
}

/** Input planes as small pictures. @param {{name: string, values: number[][]}[]} planes */
export function planePictures(planes) {
  if (!planes?.length) return nothing;
  return html`<div class="planes">${planes.map(({ name, values }) => {
    const [height, width] = [values.length, values[0]?.length ?? 0];
    const cells = values.flatMap((row, y) => row.map((value, x) => (value ? { x, y, value } : null)).filter(Boolean));
    return html`<figure><svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${name}: ${cells.length} of ${width * height} cells set"><rect class="plane-ground" width=${width} height=${height}/>
      ${cells.map((cell) => planeCell(/** @type {any} */ (cell)))}</svg><figcaption>${name}</figcaption></figure>`;
  })}</div>`;
}

/** @param {{x: number, y: number, value: number}} cell */
const planeCell = ({ x, y, value }) => svg`<rect class="plane-cell" x=${x + 0.06} y=${y + 0.06} width="0.88" height="0.88" rx="0.12" opacity=${Math.min(1, Math.max(0.15, Math.abs(value)))}/>`;
