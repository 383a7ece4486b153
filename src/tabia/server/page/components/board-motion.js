/**
 * The short animations of a board: a stone drops or appears, a piece moves along its path, stones flip, captured pieces
 * fade. A new position ends whatever still runs, so nothing ever waits for an animation.
 */
import { still } from "../theme.js";
import { UNIT } from "./board-art.js";

const LENGTH = 180;

export class Motion {
  constructor() {
    /** @type {Animation[]} */
    this.running = [];
  }

  /** End everything at once, in its final state. */
  finish() {
    for (const animation of this.running) animation.cancel();
    this.running = [];
  }

  /** @param {Element|null} element @param {Keyframe[]} frames @param {number} [delay] */
  run(element, frames, delay = 0) {
    if (!element?.animate) return;
    this.running.push(element.animate(frames, { duration: LENGTH, delay, easing: "ease-in-out", fill: "backwards" }));
  }

  /**
   * Show how the last move led to this position.
   * @param {SVGElement} root @param {any} board @param {any} before @param {any} after
   */
  play(root, board, before, after) {
    this.finish();
    if (still.matches || !before?.pieces || !after?.pieces || !after.last?.length || after.ply !== before.ply + 1) return;
    const find = (/** @type {number} */ cell) => root.querySelector(`[data-piece="${cell}"]`);
    const seat = after.pieces[after.last[after.last.length - 1]];
    const from = after.last.findLastIndex((/** @type {number} */ cell) => before.pieces[cell] === seat); // A chain of jumps goes on from here.
    const path = after.last.slice(Math.max(from, 0)).map((/** @type {number} */ cell) => board.cells[cell]);
    const end = path[path.length - 1];
    const moved = find(after.last[after.last.length - 1]);
    if (path.length > 1) {
      const frames = path.map((/** @type {any} */ at) => ({ transform: `translate(${(at.x - end.x) * UNIT}px, ${(at.y - end.y) * UNIT}px)` }));
      this.run(moved, frames);
    } else if (board.style === "drop") {
      this.run(moved, [{ transform: `translateY(${-(end.y + 0.7) * UNIT}px)`, easing: "ease-in" }, { transform: "translateY(0)" }]);
    } else {
      this.run(moved, [{ transform: "scale(0.4)", opacity: 0.2 }, { transform: "scale(1)", opacity: 1 }]);
    }
    for (const cell of after.flipped ?? []) {
      const old = root.querySelector(`[data-gone="${cell}"]`);
      if (after.pieces[cell] < 0) this.run(old, [{ opacity: 1 }, { opacity: 0 }]);
      else {
        this.run(old, [{ opacity: 1, transform: "scaleX(1)" }, { opacity: 1, transform: "scaleX(0)" }]);
        this.run(find(cell), [{ transform: "scaleX(0)" }, { transform: "scaleX(1)" }], LENGTH);
      }
    }
  }
}
