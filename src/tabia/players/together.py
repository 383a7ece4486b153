"""Two players of the same search in one call: they differ only in their weights, as checkpoints of a run do.

A GPU takes about as long for the trees of eight games as for those of a hundred. So both players share one search, and
only the evaluation of the leaves is split between their weights.
Axis letters: B positions of each player.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from tabia.core import devices
from tabia.games.game import State
from tabia.players.final_moves import Final
from tabia.players.player import Player
from tabia.players.spec import PlayerError
from tabia.players.tree_player import SearchPlayer, TreeSearchPlayer
from tabia.search.evaluators import Evaluate, Evaluation, needs_of
from tabia.search.memory import Need


def together(players: Sequence[Player], most: int) -> Player | None:
    """A player of positions [2 * B]: the first half is the first player's, the second half the second's.

    None unless there are two players of the same search, and `most` positions of each fit into memory; and where it
    would gain nothing: on a CPU, and on several devices.
    """
    if not _pays() or len(players) != 2:
        return None
    one, other = players
    if not (isinstance(one, TreeSearchPlayer) and isinstance(other, TreeSearchPlayer)):
        return None
    same = one.search == other.search and one.final_rule == other.final_rule
    if not same or one.parameters is None or not (_is_plain(one) and _is_plain(other)):
        return None
    search = replace(one.search, evaluate=ByHalf(one.search.evaluate))
    parameters = (one.parameters, other.parameters)
    pair = _Pair(search, parameters, name=f"{one.spec} and {other.spec}", final=one.final_rule)
    return pair if _fits(pair, 2 * most) else None


def _pays() -> bool:
    return jax.default_backend() != "cpu" and devices.count() == 1


def _is_plain(player: TreeSearchPlayer) -> bool:
    """Whether each call runs all simulations anew, one leaf per step: no clock, no early stop, no kept tree."""
    stops_early = player.seconds is not None or player.until_agreed or player.whole_search != player.search
    return not stops_early and not player.reuse_tree and player.search.leaves == 1


def _fits(player: TreeSearchPlayer, positions: int) -> bool:
    try:
        player.check_batch(positions)
    except PlayerError:
        return False
    return True


@dataclass(frozen=True)
class ByHalf:
    """An evaluator of a batch whose halves have parameters of their own; such a batch is not searched in groups."""

    evaluate: Evaluate

    def __call__(self, parameters: tuple[Any, Any], states: State, key: Array) -> Evaluation:
        middle = jax.tree.leaves(states)[0].shape[0] // 2
        halves = [jax.tree.map(partial(_part, half), states) for half in (slice(middle), slice(middle, None))]
        keys = jax.random.split(key)  # with one key the rollouts of both halves would be the same
        found = [self.evaluate(*given) for given in zip(parameters, halves, keys, strict=True)]
        return jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *found)

    def needs(self, batch: int, leaves: int) -> list[Need]:
        """The needs of the evaluator for the whole batch."""
        return needs_of(self.evaluate, batch, leaves)


def _part(half: slice, leaf: Array) -> Array:
    return leaf[half]


@dataclass(frozen=True, eq=False)
class _Pair(SearchPlayer):
    """Both players as one."""

    final: Final | None = None

    @property
    def final_rule(self) -> Final | None:
        return self.final
