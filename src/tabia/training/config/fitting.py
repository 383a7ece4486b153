"""Settings that suit a game, from a description of it: what the recipes for any game leave open.

The description comes from the rules alone: the sizes that the game declares, and a few hundred random games. The
settings are written to the run's config.toml like all others, and `--set` changes them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.games.game import Game, State
from tabia.networks import NetworkConfig
from tabia.networks.presets import mlp
from tabia.players.search import can_search_winning_moves
from tabia.search.evaluators import random_actions, step
from tabia.training.config.schema import Config, Schedule

GAMES = 128
MOST_PLIES = 512
"""Random games are stopped after this many plies."""
_TINY = 16  # cells; on smaller boards dense layers learn faster than convolutions
_NARROW = 3  # rows or columns; a narrower board has no neighborhoods to convolve
_FEW_PLANES = 8  # more planes show more than the pieces, such as earlier positions and pieces in hand
_SELDOM = 0.2  # fraction of random games with a winner; below it, little can be learned from random games
_TAUGHT = 0.15  # of a run: the teacher's part
_SELDOM_SCALE = 0.3  # Gumbel's weight of values against the prior: in such games they say little for long
_CHANCE_SCALE = 0.5  # the same where a search sees few throws


@dataclass(frozen=True)
class Description:
    """A game in figures."""

    rows: int
    columns: int
    planes: int
    actions: int
    plies: int  # the median length of random games
    decided: float  # the fraction of random games that ended within MOST_PLIES with a winner
    has_only_wins: bool  # no random game had another result than a win, a draw or a loss
    by_cell: bool  # actions are the cells of the board, perhaps with a few more
    chance: bool  # such as dice
    has_heuristic: bool
    winning_moves: bool  # a search finds moves that win at once at little cost

    @property
    def cells(self) -> int:
        """Cells of the board."""
        return self.rows * self.columns

    @property
    def seldom_decided(self) -> bool:
        """Whether random games hardly ever have a winner, so that the first games of a run would teach nothing."""
        return self.decided < _SELDOM


def describe(game: Game) -> Description:
    """The description of a game; the same at every call."""
    rows, columns, planes = game.observation_shape
    played = jax.device_get(_play(game))
    ended = played.scores[played.over]
    return Description(
        rows=rows,
        columns=columns,
        planes=planes,
        actions=game.num_actions,
        plies=int(np.median(played.plies)),
        decided=float(np.ptp(ended, axis=1).astype(bool).sum() / GAMES),
        has_only_wins=game.num_players == 2 and bool(np.isin(ended, (-1.0, 0.0, 1.0)).all()),
        by_cell=_is_by_cell(game),
        chance=game.chance,
        has_heuristic=game.has_heuristic,
        winning_moves=can_search_winning_moves(game),
    )


def fit(config: Config, game: Description) -> Config:
    """The configuration with the settings that suit the game; sizes of a board's network stay as they are."""
    changes: dict[str, Any] = {
        "search.considered_actions": min(config.search.considered_actions, game.actions),
        "search.winning_moves_first": game.winning_moves,
        "schedule": (*config.schedule, *_schedule(game)),
        **_exploration(game),
    }
    if game.has_only_wins:
        changes["learner.value_loss"] = "cross_entropy"
    if game.chance or game.seldom_decided:
        changes["search.value_scale"] = _CHANCE_SCALE if game.chance else _SELDOM_SCALE
    return replace(config, network=_network(config.network, game)).changed(changes)


def _network(network: NetworkConfig, game: Description) -> NetworkConfig:
    value = "wdl" if game.has_only_wins else network.value
    if game.cells < _TINY or min(game.rows, game.columns) < _NARROW:
        return mlp(256, 256, value=value, batch_norm=False)
    network = network.changed(value=value, final_position=game.has_only_wins and game.planes <= _FEW_PLANES)
    if game.by_cell:
        return network.changed(policy="cells", policy_filters=32, policy_extra=game.actions - game.cells)
    return network


def _exploration(game: Description) -> dict[str, Any]:
    """How many moves of a game are random or sampled; dice explore enough by themselves."""
    if game.chance:
        return {"selfplay.opening_moves": min(max(game.plies // 3, 1), 4), "selfplay.temperature_moves": 0}
    return {
        "selfplay.opening_moves": min(max(game.plies // 3, 1), 20),
        "selfplay.temperature_moves": min(max(game.plies // 5, 2), 30),
    }


def _schedule(game: Description) -> Schedule:
    """What changes during a run: the first games, where random ones would teach nothing."""
    if not game.seldom_decided:
        return ()
    varied = ("selfplay.temperature_end", ((0.0, 1.0), (0.4, 0.0)))
    if not game.has_heuristic or game.chance:  # greedy players do not roll dice
        return (varied,)
    return (varied, ("selfplay.teacher", ((0.0, "greedy"), (_TAUGHT, ""))))


class _Played(NamedTuple):
    """Random games at their end, or after MOST_PLIES."""

    plies: Array  # int32[B]
    over: Array  # bool[B]
    scores: Array  # [B, P] scaled to [-1, 1]


@partial(jax.jit, static_argnums=0)
def _play(game: Game) -> _Played:
    keys = jax.random.split(jax.random.key(0), GAMES)
    most = min(game.max_moves, MOST_PLIES)

    def going(carry: tuple[Array, Array, State]) -> Array:
        ply, _, states = carry
        return (ply < most) & ~jnp.all(jax.vmap(game.over)(states))

    def once(carry: tuple[Array, Array, State]) -> tuple[Array, Array, State]:
        ply, plies, states = carry
        choosing, rolling = jax.random.split(jax.random.fold_in(jax.random.key(1), ply))
        actions = random_actions(choosing, jax.vmap(game.legal)(states))
        lasting = ~jax.vmap(game.over)(states)
        return ply + 1, plies + lasting, step(game, states, actions, rolling)

    start = (jnp.int32(0), jnp.zeros(GAMES, jnp.int32), jax.vmap(game.init)(keys))
    _, plies, states = jax.lax.while_loop(going, once, start)
    scores = jax.vmap(lambda state: game.scale(game.scores(state)))(states)
    return _Played(plies, jax.vmap(game.over)(states), scores)


def _is_by_cell(game: Game) -> bool:
    """Whether every symmetry moves the first actions as it moves the cells; without symmetries nothing is known."""
    rows, columns, _ = game.observation_shape
    cells = rows * columns
    if game.num_actions < cells or len(game.symmetries) < 2:
        return False
    return all(np.array_equal(one.actions[one.cells], np.arange(cells)) for one in game.symmetries)
