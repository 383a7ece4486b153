"""The search tree as arrays, one tree per position of the batch.

Axis letters: N nodes, B batch, A actions, P seats, D depth of a path.

    records [N, B, A + 1, 4]      one row per action, then one row for the node itself
                                                  LOGIT     VISITS    TOTAL     LINK
        action 0                                  log p     n         sum of v  child or NO_CHILD
        action 1                                  ...
        node                                      VALUE     SEAT
                                                  (the evaluator's value for the mover; the mover)

Nodes lead the axes, because all trees grow in step: the node made by simulation i stands at the same index in
every tree, so writing it is one contiguous block. All that a step of selection needs of a node lies together, so
reading it is one gather (for Connect 4 exactly one cache line). Only positions one can move from become nodes:
a finished game is scored by the rules each time it is reached.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array

LOGIT, VISITS, TOTAL, LINK = 0, 1, 2, 3  # columns of an action's row
VALUE, SEAT = 0, 1  # columns of the node's own row
NO_CHILD, PENDING = -1, -2  # a link to nothing yet; to a leaf being evaluated
ILLEGAL = -1e9  # the log-probability of an action that cannot be played
NO_FAULT = -1  # in `Tree.faults`: every evaluation could be used
MISSING = -2e9  # that of a row beyond the last action, where kernels round their number up
HOPELESS = -1e6  # the lowest log-probability of a legal action: far below any real one, far above ILLEGAL


class View(NamedTuple):
    """What a selection rule sees of a node: the mover's statistics, the last axis running over actions."""

    logits: Array  # [..., A] log-probabilities, ILLEGAL where the action cannot be played
    visits: Array  # [..., A]
    totals: Array  # [..., A] sums of the mover's values
    value: Array  # [...] the evaluator's value of the node for its mover
    squares: Array | None = None  # [..., A] sums of squared values, where the rule asked for them

    @property
    def legal(self) -> Array:
        return self.logits > ILLEGAL / 2

    @property
    def exists(self) -> Array:
        return self.logits > (ILLEGAL + MISSING) / 2

    @property
    def priors(self) -> Array:
        return jnp.exp(self.logits)

    @property
    def means(self) -> Array:
        """Mean value of each action, 0 where it was never tried."""
        return self.totals / jnp.maximum(self.visits, 1.0)


class Tree(NamedTuple):
    records: Array  # [N, B, A + 1, 4]
    states: Any  # the game's states [N, B, ...]
    size: Array  # int32: nodes in use, the same in every tree
    root_values: Array  # [B, P] the evaluator's values of the root
    sums: Array  # [B, A, P] sums of the values that came back through each of the root's moves
    faults: Array  # int32[B]: the first node whose evaluation could not be used, or NO_FAULT
    # What only some searches keep:
    squares: Array | None = None  # [N, B, A] sums of squared values, for rules that ask
    totals: Array | None = None  # [N, B, P] sums of all values seen at a node, its own evaluation included
    prints: Array | None = None  # uint32[N, B, 2] fingerprints of positions, to tell equal ones
    links: Array | None = None  # [N, B, A, M] children by sampled outcome, in games of chance

    @property
    def capacity(self) -> int:
        return int(self.records.shape[0])

    @property
    def num_actions(self) -> int:
        return int(self.records.shape[2]) - 1


def view(row: Array, squares: Array | None = None) -> View:
    """Read a node's record [..., A + 1, 4]."""
    edges = row[..., :-1, :]
    return View(edges[..., LOGIT], edges[..., VISITS], edges[..., TOTAL], row[..., -1, VALUE], squares)


def root_view(tree: Tree) -> View:
    return view(tree.records[0], None if tree.squares is None else tree.squares[0])


def record(logits: Array, value: Array, seat: Array) -> Array:
    """A fresh node's record [B, A + 1, 4] from log-probabilities [B, A], the mover's value [B] and the mover [B]."""
    nothing = jnp.zeros_like(logits)
    edges = jnp.stack([logits, nothing, nothing, nothing + NO_CHILD], axis=-1)
    own = jnp.stack([value, seat.astype(value.dtype), jnp.zeros_like(value), jnp.zeros_like(value)], axis=-1)
    return jnp.concatenate([edges, own[:, None, :]], axis=1)


def log_priors(logits: Array, legal: Array) -> Array:
    """Normalized log-probabilities over the legal actions, ILLEGAL elsewhere [B, A].

    Logits may be of any finite size: a legal action stays legal however low its logit.
    """
    masked = jnp.where(legal, logits, -jnp.inf)
    top = jnp.max(masked, axis=-1, keepdims=True)
    shifted = logits - jnp.where(jnp.isfinite(top), top, 0.0)
    total = jnp.sum(jnp.where(legal, jnp.exp(shifted), 0.0), axis=-1, keepdims=True)
    return jnp.where(legal, jnp.maximum(shifted - jnp.log(jnp.maximum(total, 1e-30)), HOPELESS), ILLEGAL)


def room(leaf: Array, capacity: int, fill: float = 0) -> Array:
    """Space for `capacity` nodes like those of `leaf` [B, ...], the first of them set."""
    return jnp.full((capacity, *leaf.shape), fill, leaf.dtype).at[0].set(leaf)
