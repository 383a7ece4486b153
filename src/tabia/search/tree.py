"""The search tree as arrays, one tree per position of the batch.

Axis letters: N nodes, B batch, A actions, P seats, D depth of a path.

    records [N, B, A + 1, 4]      one row per action, then one row for the node itself
                                                  LOGIT     VISITS    TOTAL     LINK
        action 0                                  log p     n         sum of v  child or NO_CHILD
        action 1                                  ...
        node                                      VALUE     SEAT      CERTAIN
                                                  (the evaluator's value for the mover; the mover;
                                                  1 if moves have no random outcomes)

Nodes are the first axis because all trees grow in step: simulation i adds the node of the same index in every tree, so
writing it is one contiguous block. Everything that selection reads of a node is contiguous, so reading it is one
gather (for Connect 4 exactly one cache line). Only positions with legal actions become nodes: a finished game is
scored by the rules each time it is reached.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array

from tabia.core import lanes

LOGIT, VISITS, TOTAL, LINK = 0, 1, 2, 3  # columns of an action's row
VALUE, SEAT, CERTAIN = 0, 1, 2  # columns of the node's own row
NO_CHILD, PENDING = -1, -2  # links: no child yet; a leaf being evaluated
ILLEGAL = -1e9  # the log-probability of an illegal action
NO_FAULT = -1  # in `Tree.faults`: all evaluations were usable
MISSING = -2e9  # the log-probability of a row beyond the last action, which kernels read as padding
UNPROVEN = -2.0  # in `Tree.proven`: no exact value is known; below any value
IMPOSSIBLE = -3.0  # in `Tree.proven`: an illegal action
HIGHEST = 1.0 - 1e-6  # the highest score, which scaling to [-1, 1] may round
LOWEST = -1e6  # the lowest log-probability of a legal action, far below any real one and far above ILLEGAL


class View(NamedTuple):
    """What a selection rule reads of a node: the mover's statistics, actions on the last axis."""

    logits: Array  # [..., A] log-probabilities, ILLEGAL for illegal actions
    visits: Array  # [..., A]
    totals: Array  # [..., A] sums of the mover's values
    value: Array  # [...] the evaluator's value of the node for its mover
    squares: Array | None = None  # [..., A] sums of squared values, if the rule needs them
    proven: Array | None = None  # [..., A] the mover's exact values, UNPROVEN if unknown; others follow them

    @property
    def legal(self) -> Array:
        """bool[..., A]"""
        return self.logits > ILLEGAL / 2

    @property
    def exists(self) -> Array:
        """bool[..., A]: false for the padding of kernels."""
        return self.logits > (ILLEGAL + MISSING) / 2

    @property
    def candidates(self) -> Array:
        """bool[..., A]: the actions that may be the best: the best proven ones, and those not proven unless it is won.

        If all actions are proven, these are the best ones.
        """
        if self.proven is None:
            return self.legal
        best = self.proven.max(axis=-1, keepdims=True)
        return self.legal & jnp.where(self.proven > UNPROVEN, self.proven == best, best < HIGHEST)

    @property
    def candidate_visits(self) -> Array:
        """The visits [..., A] of the candidates, 0 for other actions."""
        return self.visits if self.proven is None else jnp.where(self.candidates, self.visits, 0.0)

    @property
    def priors(self) -> Array:
        """Probabilities [..., A], 0 for illegal actions."""
        return jnp.exp(self.logits)

    @property
    def means(self) -> Array:
        """Mean value of each action, 0 if unvisited."""
        return self.totals / jnp.maximum(self.visits, 1.0)


class Tree(NamedTuple):
    """The trees of a batch."""

    records: Array  # [N, B, A + 1, 4]
    states: Any  # the game's states [N, B, ...]
    size: Array  # int32: nodes in use, the same in every tree
    root_values: Array  # [B, P] the evaluator's values of the root
    sums: Array  # [B, A, P] sums of the values backed up through each root action
    faults: Array  # int32[B] the first node with an unusable evaluation, or NO_FAULT
    # Only some searches keep these:
    squares: Array | None = None  # [N, B, A] sums of squared values, for rules that need them
    totals: Array | None = None  # [N, B, P] sums of all values backed up to a node, including its own evaluation
    prints: Array | None = None  # uint32[N, B, 2] fingerprints of positions
    links: Array | None = None  # [N, B, A, M] children by sampled outcome, in games with chance
    ties: Array | None = None  # uint32[B] seeds for breaking ties at random
    proven: Array | None = None  # [N, B, A, P] exact values of actions, UNPROVEN or IMPOSSIBLE

    @property
    def capacity(self) -> int:
        return int(self.records.shape[0])

    @property
    def num_actions(self) -> int:
        return int(self.records.shape[2]) - 1


def split_specs(tree: Tree) -> Tree:
    """How the arrays of a tree are split over devices, by the axis of their lanes."""
    axes = {"size": None, "root_values": 0, "sums": 0, "faults": 0, "ties": 0}
    held = [name for name, part in tree._asdict().items() if part is not None]
    specs: Any = {name: lanes.spec(axes.get(name, 1)) for name in held}
    return Tree(**specs)


def view(row: Array, squares: Array | None = None, proven: Array | None = None) -> View:
    """Read a node's record [B, A + 1, 4]; proven actions [B, A, P] count with their exact value in every visit."""
    edges = row[..., :-1, :]
    seen = View(edges[..., LOGIT], edges[..., VISITS], edges[..., TOTAL], row[..., -1, VALUE], squares)
    if proven is None:
        return seen
    own = movers_values(row[..., -1, SEAT], proven)
    return seen._replace(
        totals=jnp.where(own > UNPROVEN, own * seen.visits, seen.totals),
        squares=None if squares is None else jnp.where(own > UNPROVEN, own**2 * seen.visits, squares),
        proven=own,
    )


def movers_values(seat: Array, proven: Array) -> Array:
    """[..., A]: of the actions' values by seat [..., A, P] those of the mover [...]."""
    return jnp.take_along_axis(proven, seat.astype(jnp.int32)[..., None, None], axis=-1)[..., 0]


def root_view(tree: Tree) -> View:
    """The view of the roots."""
    squares, proven = (None if part is None else part[0] for part in (tree.squares, tree.proven))
    return view(tree.records[0], squares, proven)


def with_root_logits(tree: Tree, logits: Array) -> Tree:
    """The tree with new log-probabilities [B, A] at the roots."""
    return tree._replace(records=tree.records.at[0, :, :-1, LOGIT].set(logits))


def link_change(link: Array, child: Array, written: float = NO_CHILD) -> Array:
    """What to add to links so that they point to `child`; 0 where `link` already points to a node.

    The backup adds visit, value and link of an edge in one scatter, so links are set by addition. `link` is what
    selection read; `written` is what the tree holds now.
    """
    return jnp.where(link == NO_CHILD, child - written, 0.0)


def record(logits: Array, value: Array, seat: Array, certain: Array) -> Array:
    """A new node's record [B, A + 1, 4] from log-probabilities [B, A], and of the node [B] value, mover, certainty."""
    nothing = jnp.zeros_like(logits)
    edges = jnp.stack([logits, nothing, nothing, nothing + NO_CHILD], axis=-1)
    own = jnp.stack([value, seat.astype(value.dtype), certain.astype(value.dtype), jnp.zeros_like(value)], axis=-1)
    return jnp.concatenate([edges, own[:, None, :]], axis=1)


def log_priors(logits: Array, legal: Array) -> Array:
    """Normalized log-probabilities over the legal actions, ILLEGAL elsewhere [B, A].

    A legal action stays legal however low its finite logit.
    """
    masked = jnp.where(legal, logits, -jnp.inf)
    top = jnp.max(masked, axis=-1, keepdims=True)
    shifted = logits - jnp.where(jnp.isfinite(top), top, 0.0)
    total = jnp.sum(jnp.where(legal, jnp.exp(shifted), 0.0), axis=-1, keepdims=True)
    return jnp.where(legal, jnp.maximum(shifted - jnp.log(jnp.maximum(total, 1e-30)), LOWEST), ILLEGAL)


def allocate(leaf: Array, capacity: int) -> Array:
    """An array for `capacity` nodes, the first of which is `leaf` [B, ...]."""
    return jnp.zeros((capacity, *leaf.shape), leaf.dtype).at[0].set(leaf)
