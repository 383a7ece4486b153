"""What a player thinks of positions, in the names of moves: for the command line, for files of positions, for pages.

One `Analysis` holds everything that is said about a position; tables, JSON, hints and pictures only show it. Its main
line starts with the move the player plays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.games.game import Game, State
from tabia.games.moves import legal_names, row
from tabia.games.session import Session
from tabia.players.modifiers import Modified
from tabia.players.perfect import Perfect
from tabia.players.player import Choice, Player
from tabia.players.searching import MCTSPlayer, MinimaxPlayer, NetworkPlayer
from tabia.search.picture import Branch, branches, main_line, rounded

LONGEST_LINE = 60


@dataclass(frozen=True, kw_only=True)
class Analysis:
    """What a player thinks of one position; None where it has no opinion. Seats count from 0."""

    move: str | None  # the one it plays; None where the game is over
    mover: int | None = None
    recommended: str | None = None  # the move it thinks best, where a modifier drew another one
    policy: dict[str, float] | None = None
    visits: dict[str, int] | None = None
    values: dict[str, float] | None = None  # the mover's, of each move it looked at
    scores: dict[str, int] | None = None  # exact, for the mover
    expected: list[float] | None = None  # of each seat
    final: list[float] | None = None  # the scores of a game that is over
    line: list[str] | None = None  # the moves it expects, `move` first; only of positions looked at alone
    tree: Branch | None = None  # the top of its search tree, likewise

    def fields(self) -> dict[str, Any]:
        """What is known, ready for JSON; the move is always there, the tree never."""
        known = {name: value for name, value in vars(self).items() if value is not None and name != "tree"}
        return {"move": self.move, **known}

    @property
    def ranked(self) -> list[str]:
        """The moves, best first: by score, visits, policy or value, whichever there is; the one played leads equals."""
        order: Mapping[str, float] = self.scores or self.visits or self.policy or self.values or {}
        policy, values = self.policy or {}, self.values or {}

        def place(move: str) -> tuple[float, bool, float, float]:
            return (-order[move], move != self.move, -policy.get(move, 0.0), -values.get(move, 0.0))

        return sorted(order, key=place)


def analyze(
    player: Player, states: State, key: Array, plies: np.ndarray, *, count: int | None = None
) -> list[Analysis]:
    """What a player thinks of the first `count` of a batch of positions, all asked in one call."""
    choice = player.choose(states, key, jnp.asarray(plies, jnp.int32))
    return tell(player.game, states, choice, count=count)


def ask(player: Player, session: Session, *, seed: int = 0) -> Analysis:
    """What a player thinks of a game's position."""
    return look(player, session.state, jax.random.key(seed), session.ply)


def look(player: Player, state: State, key: Array, ply: int) -> Analysis:
    """What a player thinks of one position, with the line it expects and its tree if it grew one."""
    states = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], state)
    plies = jnp.array([ply], jnp.int32)
    # As in `Modified.choose`: the inner player gets the first half of the key, so both answer alike.
    inner, own, stray = (player.player, *jax.random.split(key)) if isinstance(player, Modified) else (player, key, key)
    over = bool(player.game.over(state))
    result = inner.look(states, own) if isinstance(inner, MCTSPlayer) and not over else None
    choice = inner.told(result) if isinstance(inner, MCTSPlayer) and result else inner.choose(states, own, plies)
    if isinstance(player, Modified):
        choice = player.stray(choice, states, stray, plies)
    line, tree = list[str](), None
    if result is not None:
        action = int(choice.actions[0])
        line = main_line(player.game, result, action=action)
        tree = branches(player.game, result, action=action)
    elif isinstance(inner, Perfect | MinimaxPlayer | NetworkPlayer):
        line = _expected(inner, states, choice.actions, own)
    return tell(player.game, states, choice, line=line or None, tree=tree)[0]


def tell(
    game: Game,
    states: State,
    choice: Choice,
    *,
    count: int | None = None,
    line: list[str] | None = None,
    tree: Branch | None = None,
) -> list[Analysis]:
    """Choices in words."""
    (legal, mover, over, final), host, said = jax.device_get((_facts(game, states), states, choice))
    return [
        Analysis(move=None, final=_rounded(final[index]))
        if over[index]
        else _one(game, row(game, host, index), said, legal[index], int(mover[index]), index, line, tree)
        for index in range(len(legal) if count is None else count)
    ]


def _expected(player: Player, states: State, actions: Array, key: Array) -> list[str]:
    """The moves of a game the player plays against itself, beginning with `actions`."""
    game, line = player.game, list[str]()
    while len(line) < LONGEST_LINE and not bool(jax.vmap(game.over)(states)[0]):
        line.append(game.move_name(int(actions[0]), jax.tree.map(lambda leaf: leaf[0], states)))
        key, draw, chance = jax.random.split(key, 3)
        states = _played(game, states, actions, chance)
        actions = player.choose(states, draw).actions
    return line


def _one(
    game: Game,
    state: State,
    said: Choice,
    legal: np.ndarray,
    mover: int,
    index: int,
    line: list[str] | None,
    tree: Branch | None,
) -> Analysis:
    names = legal_names(game, legal, state)

    def by_name(numbers: Any, kind: Callable[[Any], Any]) -> dict[str, Any] | None:
        if numbers is None:
            return None
        known = numbers[index].tolist()
        return {name: kind(known[action]) for action, name in names.items() if math.isfinite(known[action])}

    move = names[int(said.actions[index])]
    recommended = move if said.recommended is None else names[int(said.recommended[index])]
    return Analysis(
        move=move,
        mover=mover,
        recommended=None if recommended == move else recommended,
        policy=by_name(said.policy, rounded),
        visits=by_name(said.visits, int),
        values=by_name(said.means, rounded),
        scores=by_name(said.scores, int),
        expected=None if said.values is None else _rounded(said.values[index]),
        line=line,
        tree=tree,
    )


def _rounded(numbers: np.ndarray | Array) -> list[float]:
    return [rounded(number) for number in numbers.tolist()]


@partial(jax.jit, static_argnums=0)
def _facts(game: Game, states: State) -> tuple[Array, Array, Array, Array]:
    rules = (game.legal, game.mover, game.over, game.scores)
    legal, mover, over, scores = (jax.vmap(rule)(states) for rule in rules)
    return legal, mover, over, scores


@partial(jax.jit, static_argnums=0)
def _played(game: Game, states: State, actions: Array, key: Array) -> State:
    return jax.vmap(lambda state, action: game.step(state, action, key))(states, actions)
