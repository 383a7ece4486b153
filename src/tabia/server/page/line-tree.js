/**
 * A game with variations: nodes of moves under a root, and the node being looked at. Pure data, no drawing.
 *
 * The first child of a node on the game's own line continues the game; the others are variations.
 */

/** @typedef {{move: any, parent: Node|null, children: Node[], ply: number, main: boolean}} Node */

export class LineTree {
  /** @param {any[]} moves Moves of the game, in order. */
  constructor(moves) {
    /** @type {Node} */
    this.root = { move: null, parent: null, children: [], ply: 0, main: true };
    this.end = this.root;
    for (const move of moves) this.end = this.append(this.end, move, true);
    this.current = this.end;
  }

  /** @param {Node} parent @param {any} move @param {boolean} main */
  append(parent, move, main) {
    const node = { move, parent, children: [], ply: parent.ply + 1, main };
    parent.children.push(node);
    return node;
  }

  /** Play a move from the present node: follow it where it is known, branch off where it is new. @param {any} move */
  play(move) {
    const known = this.current.children.find((child) => child.move.move === move.move);
    this.current = known ?? this.append(this.current, move, false);
    return !known;
  }

  /** The nodes from the first move to a node. @param {Node} [node] */
  path(node = this.current) {
    const nodes = [];
    for (let at = /** @type {Node|null} */ (node); at?.parent; at = at.parent) nodes.unshift(at);
    return nodes;
  }

  /** The moves as text up to a node. @param {Node} [node] */
  moves(node = this.current) {
    return this.path(node).map(({ move }) => move.move);
  }

  /** The whole line through the present node, on to its end. */
  line() {
    let end = this.current;
    while (end.children.length) end = end.children.find((child) => child.main) ?? end.children[0];
    return this.path(end);
  }

  /** Go to a ply of the line through the present node. @param {number} ply */
  to(ply) {
    const line = this.line();
    const at = Math.min(Math.max(ply, 0), line.length);
    this.current = at === 0 ? this.root : line[at - 1];
  }

  /** Switch to the next or previous alternative of the present move. @param {number} step */
  switchBranch(step) {
    const siblings = this.current.parent?.children ?? [];
    if (siblings.length < 2) return;
    this.current = siblings[(siblings.indexOf(this.current) + step + siblings.length) % siblings.length];
  }

  /** Back to the game's own line, where the variation left it. */
  backToGame() {
    while (!this.current.main && this.current.parent) this.current = this.current.parent;
  }

  get isVariation() {
    return !this.current.main;
  }
}
