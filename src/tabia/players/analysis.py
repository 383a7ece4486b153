"""Analyses of positions by a player, in the names of moves, for the command line, files of positions and the page.

An `Analysis` holds everything about one position; tables, JSON, hints and pictures only display it. Its main line
starts with the move the player plays.
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
from tabia.players.network import NetworkPlayer
from tabia.players.perfect import PerfectPlayer
from tabia.players.player import Choice, FollowsGames, Line, Player
from tabia.players.simple import MinimaxPlayer
from tabia.players.spec import PlayerError
from tabia.players.tree_player import TreeSearchPlayer
from tabia.search.picture import Branch, branches, main_line, rounded

LONGEST_LINE = 60
_PREDICTABLE = (PerfectPlayer, MinimaxPlayer, NetworkPlayer)
"""Players without a tree whose main line is a game against themselves."""


@dataclass(frozen=True, kw_only=True)
class Analysis:
    """A player's analysis of one position; None where it has no information. Seats count from 0."""

    move: str | None  # the move it plays; None if the game is over
    mover: int | None = None
    recommended: str | None = None  # its best move, if a modifier chose another one
    policy: dict[str, float] | None = None
    visits: dict[str, int] | None = None
    values: dict[str, float] | None = None  # the mover's value of each move it searched
    scores: dict[str, int] | None = None  # exact scores for the mover
    expected: list[float] | None = None  # by seat
    final: list[float] | None = None  # the scores if the game is over
    line: list[str] | None = None  # the main line, `move` first; only for single positions
    tree: Branch | None = None  # the top of its search tree; only for single positions

    def to_dict(self) -> dict[str, Any]:
        """The known fields, ready for JSON; always with the move, never with the tree."""
        known = {name: value for name, value in vars(self).items() if value is not None and name != "tree"}
        return {"move": self.move, **known}

    @property
    def ranked(self) -> list[str]:
        """The moves, best first: by score, visits, policy or value; among equals the move played first."""
        order: Mapping[str, float] = self.scores or self.visits or self.policy or self.values or {}
        policy, values = self.policy or {}, self.values or {}

        def place(move: str) -> tuple[float, bool, float, float]:
            return (-order[move], move != self.move, -policy.get(move, 0.0), -values.get(move, 0.0))

        return sorted(order, key=place)


def analyze_batch(
    player: Player, states: State, key: Array, plies: np.ndarray, *, count: int | None = None
) -> list[Analysis]:
    """Analyze a batch of positions in one call; only the first `count` are described."""
    choice = player.choose(states, key, jnp.asarray(plies, jnp.int32))
    return describe(player.game, states, choice, count=count)


def analyze(player: Player, session: Session, *, seed: int = 0) -> Analysis:
    """Analyze the current position of a game session."""
    if isinstance(player, FollowsGames) and not session.over:
        states = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], session.state)
        return describe(player.game, states, Choice(jnp.array([follow_session(player, session)], jnp.int32)))[0]
    return analyze_position(player, session.state, jax.random.key(seed), session.ply)


def follow_session(player: FollowsGames, session: Session) -> int:
    """The action of a player that follows games; PlayerError if it does not play one."""
    (reply,) = player.follow([Line(session.state, session.actions)])
    if reply.action is None:
        raise PlayerError("\n".join(filter(None, (f"{reply.reason}.", reply.report))))
    return reply.action


def analyze_position(player: Player, state: State, key: Array, ply: int) -> Analysis:
    """Analyze one position, with the main line and the search tree if there is one."""
    states = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], state)
    plies = jnp.array([ply], jnp.int32)
    # As in `Modified.choose`, the inner player gets the first half of the key, so that both choose the same move.
    inner, inner_key, modify_key = (
        (player.player, *jax.random.split(key)) if isinstance(player, Modified) else (player, key, key)
    )
    over = bool(player.game.over(state))
    result = inner.run(states, inner_key) if isinstance(inner, TreeSearchPlayer) and not over else None
    if isinstance(inner, TreeSearchPlayer) and result is not None:
        choice = inner.to_choice(result)
    else:
        choice = inner.choose(states, inner_key, plies)
    if isinstance(player, Modified):
        choice = player.modify(choice, states, modify_key, plies)
    line, tree = list[str](), None
    if result is not None:
        action = int(choice.actions[0])
        line = main_line(player.game, result, action=action)
        tree = branches(player.game, result, action=action)
    elif isinstance(inner, _PREDICTABLE):
        line = _self_play_line(inner, states, choice.actions, inner_key)
    return describe(player.game, states, choice, line=line or None, tree=tree)[0]


def describe(
    game: Game,
    states: State,
    choice: Choice,
    *,
    count: int | None = None,
    line: list[str] | None = None,
    tree: Branch | None = None,
) -> list[Analysis]:
    """Choices as analyses, with the names of moves."""
    (legal, mover, over, final), host, chosen = jax.device_get((_facts(game, states), states, choice))
    return [
        Analysis(move=None, final=_rounded(final[index]))
        if over[index]
        else _describe_one(game, row(game, host, index), chosen, legal[index], int(mover[index]), index, line, tree)
        for index in range(len(legal) if count is None else count)
    ]


def _self_play_line(player: Player, states: State, actions: Array, key: Array) -> list[str]:
    """The moves of a game of the player against itself, starting with `actions`."""
    game, line = player.game, list[str]()
    while len(line) < LONGEST_LINE and not bool(jax.vmap(game.over)(states)[0]):
        line.append(game.move_name(int(actions[0]), jax.tree.map(lambda leaf: leaf[0], states)))
        key, move_key, chance_key = jax.random.split(key, 3)
        states = _step(game, states, actions, chance_key)
        actions = player.choose(states, move_key).actions
    return line


def _describe_one(
    game: Game,
    state: State,
    choice: Choice,
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

    move = names[int(choice.actions[index])]
    recommended = move if choice.recommended is None else names[int(choice.recommended[index])]
    return Analysis(
        move=move,
        mover=mover,
        recommended=None if recommended == move else recommended,
        policy=by_name(choice.policy, rounded),
        visits=by_name(choice.visits, int),
        values=by_name(choice.means, rounded),
        scores=by_name(choice.scores, int),
        expected=None if choice.values is None else _rounded(choice.values[index]),
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
def _step(game: Game, states: State, actions: Array, key: Array) -> State:
    return jax.vmap(lambda state, action: game.step(state, action, key))(states, actions)
