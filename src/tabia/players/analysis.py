"""What a player thinks of positions, in the names of moves: for the command line, for files of positions, for pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.games.game import Game, State
from tabia.games.table import Table
from tabia.players.modifiers import Modified
from tabia.players.perfect import Perfect
from tabia.players.player import Choice, Player
from tabia.players.reading import row
from tabia.players.searching import Instinct, Lookahead, Searcher
from tabia.search.picture import main_line
from tabia.search.roots import Result

LONGEST_LINE = 60


@dataclass(frozen=True)
class Analysis:
    """What a player thinks of one position; None where it has no opinion. Seats count from 0."""

    move: str | None  # the one it plays; None where the game is over
    mover: int | None
    policy: dict[str, float] | None = None
    visits: dict[str, int] | None = None
    values: dict[str, float] | None = None  # the mover's, of each move it looked at
    scores: dict[str, int] | None = None  # exact, for the mover
    expected: list[float] | None = None  # of each seat
    final: list[float] | None = None  # the scores of a game that is over

    def fields(self) -> dict[str, Any]:
        """What is known, ready for JSON; the move is always there."""
        known = {name: value for name, value in vars(self).items() if value is not None}
        return {"move": self.move, **known}


def analyse(
    player: Player, states: State, key: Array, plies: np.ndarray, *, count: int | None = None
) -> list[Analysis]:
    """What a player thinks of the first `count` of a batch of positions, all asked in one call."""
    choice = player.choose(states, key, jnp.asarray(plies, jnp.int32))
    return tell(player.game, states, choice, count=count)


def ask(player: Player, table: Table, *, seed: int = 0) -> Analysis:
    """What a player thinks of the position on a table."""
    states = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], table.state)
    return analyse(player, states, jax.random.key(seed), np.array([table.ply]))[0]


def tell(game: Game, states: State, choice: Choice, *, count: int | None = None) -> list[Analysis]:
    """A choice in words."""
    legal, mover, over, final = jax.device_get(_facts(game, states))
    host, said = jax.device_get((states, choice))
    return [
        Analysis(None, None, final=_rounded(final[index]))
        if over[index]
        else _one(game, row(host, index), said, legal[index], int(mover[index]), index)
        for index in range(len(legal) if count is None else count)
    ]


def look(player: Player, state: State, key: Array, ply: int) -> tuple[Analysis, list[str], Result | None]:
    """What a player thinks of one position, the line it expects, and its tree if it grew one."""
    states = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], state)
    inner = player.player if isinstance(player, Modified) else player
    if not isinstance(inner, Searcher) or bool(player.game.over(state)):
        choice = player.choose(states, key, jnp.array([ply]))
        line = (
            _expected(inner, states, choice.actions, key) if isinstance(inner, Perfect | Lookahead | Instinct) else []
        )
        return tell(player.game, states, choice)[0], line, None
    # The modified player gives its inner player the first half of the key; the same tree grows here.
    result = inner.look(states, jax.random.split(key)[0] if isinstance(player, Modified) else key)
    choice = inner.told(result) if player is inner else player.choose(states, key, jnp.array([ply]))
    return tell(player.game, states, choice)[0], main_line(player.game, result.tree), result


def _expected(player: Player, states: State, actions: Array, key: Array) -> list[str]:
    """The moves of a game the player plays against itself, beginning with `actions`."""
    game, line = player.game, list[str]()
    while len(line) < LONGEST_LINE and not bool(jax.vmap(game.over)(states)[0]):
        line.append(game.move_name(int(actions[0]), row(states, 0)))
        key, draw, chance = jax.random.split(key, 3)
        states = _played(game, states, actions, chance)
        actions = player.choose(states, draw).actions
    return line


def _one(game: Game, state: State, said: Choice, legal: np.ndarray, mover: int, index: int) -> Analysis:
    names = {int(action): game.move_name(int(action), state) for action in np.flatnonzero(legal)}

    def by_name(numbers: Any, kind: Callable[[Any], Any]) -> dict[str, Any] | None:
        if numbers is None:
            return None
        return {name: kind(numbers[index][a]) for a, name in names.items() if np.isfinite(numbers[index][a])}

    return Analysis(
        names[int(said.actions[index])],
        mover,
        by_name(said.policy, _round),
        by_name(said.visits, int),
        by_name(said.means, _round),
        by_name(said.scores, int),
        None if said.values is None else _rounded(said.values[index]),
    )


def _round(number: Any) -> float:
    return round(float(number), 4) + 0.0  # no minus zero


def _rounded(numbers: np.ndarray | Array) -> list[float]:
    return [_round(number) for number in numbers]


@partial(jax.jit, static_argnums=0)
def _facts(game: Game, states: State) -> tuple[Array, Array, Array, Array]:
    rules = (game.legal, game.mover, game.over, game.scores)
    legal, mover, over, scores = (jax.vmap(rule)(states) for rule in rules)
    return legal, mover, over, scores


@partial(jax.jit, static_argnums=0)
def _played(game: Game, states: State, actions: Array, key: Array) -> State:
    return jax.vmap(lambda state, action: game.step(state, action, key))(states, actions)
