"""A wave: many games of a match played side by side, one move in each at every step.

Games where the same player is to move are gathered, padded to one of a few sizes so that nothing is compiled
twice, and put to that player in one call. All games of a wave have seen the same number of moves, so a wave that was
interrupted goes on from its records exactly as if it had not been. Axis letters: G games, B games gathered, P seats.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.evaluation.openings import begin, proceed
from tabia.evaluation.records import Record
from tabia.evaluation.seating import MatchError
from tabia.games.game import Game, State
from tabia.games.session import move_word
from tabia.players.player import Player

SMALLEST = 8


class View(NamedTuple):
    """What the umpire must know of every game."""

    mover: np.ndarray  # int32[G]
    over: np.ndarray  # bool[G]
    scores: np.ndarray  # float32[G, P]
    legal: np.ndarray  # bool[G, A]


@dataclass
class Seated:
    """One game being played: who sits where, and what has been played."""

    players: tuple[int, ...]
    record: Record
    actions: list[int] = field(default_factory=list)


class Wave:
    """Games begun together. `games` must all have played the same number of actions, or be finished.

    Players are asked about at least `smallest` positions at once; a larger number means fewer programs to compile.
    """

    def __init__(
        self, game: Game, players: Sequence[Player], games: Sequence[Seated], key: Array, *, smallest: int = SMALLEST
    ) -> None:
        self.game, self.players, self.games, self._key = game, players, list(games), key
        self._smallest = smallest
        self._rules = compiled(game)
        self._seats = np.array([seated.players for seated in games])
        self._live = np.array([not seated.record.finished for seated in games])
        if len({len(seated.actions) for seated in games if not seated.record.finished}) > 1:
            raise MatchError("The unfinished games are not equally long, so their match cannot be continued.")
        self._replay()

    @property
    def over(self) -> bool:
        return not self._live.any()

    def step(self) -> list[int]:
        """One move in every game that is not over; the numbers of those that ended with it."""
        chosen = self._choose()
        names = self._names(chosen)
        self._advance(chosen)
        ended = []
        for number in map(int, np.flatnonzero(self._live)):
            seated = self.games[number]
            seated.actions.append(int(chosen[number]))
            seated.record = replace(seated.record, moves=(*seated.record.moves, names[number]))
            if self._view.over[number]:
                scores = tuple(map(float, self._view.scores[number]))
                seated.record = replace(seated.record, scores=scores, end="over")
                ended.append(number)
        self._live[ended] = False
        return ended

    def _replay(self) -> None:
        """Bring every game to where its actions have led; opening moves get their names here."""
        seeds = [seated.record.seed for seated in self.games]
        keys = jax.vmap(jax.random.key)(jnp.asarray(_padded(np.array(seeds, np.int32))))
        self._keys, self._states, view = self._rules.begin(keys)
        self._view = _host(view)
        played = [seated.actions if live else [] for seated, live in zip(self.games, self._live, strict=True)]
        named: list[list[str]] = [[] for _ in self.games]
        for ply in range(max(map(len, played), default=0)):
            actions = np.array([moves[ply] if ply < len(moves) else -1 for moves in played], np.int32)
            for number, name in self._names(actions).items():
                named[number].append(name)
            self._advance(actions)
        for seated, live, names in zip(self.games, self._live, named, strict=True):
            if live:
                seated.record = replace(seated.record, moves=tuple(names))

    def _choose(self) -> np.ndarray:
        """The move of every live game, -1 elsewhere."""
        chosen = np.full(len(self.games), -1, np.int32)
        mover = self._seats[np.arange(len(self.games)), self._view.mover[: len(self.games)]]
        ply = max(len(self.games[number].actions) for number in np.flatnonzero(self._live))
        for index, player in enumerate(self.players):
            rows = np.flatnonzero(self._live & (mover == index))
            if not len(rows):
                continue
            padded = _padded(rows, self._smallest)
            gathered = self._rules.take(self._states, jnp.asarray(padded))
            key = jax.random.fold_in(jax.random.fold_in(self._key, ply), index)
            plies = jnp.full(len(padded), ply, jnp.int32)
            chosen[rows] = np.asarray(player.choose(gathered, key, plies).actions)[: len(rows)]
            self._check(player, rows, chosen[rows])
        return chosen

    def _check(self, player: Player, rows: np.ndarray, actions: np.ndarray) -> None:
        legal = (actions >= 0) & (actions < self.game.num_actions)
        legal &= self._view.legal[rows, np.where(legal, actions, 0)]
        for row, action in zip(rows[~legal], actions[~legal], strict=True):
            position = self.game.draw(jax.tree.map(lambda leaf, row=row: leaf[row], self._states))
            raise MatchError(f"{player.spec} chose action {action}, which is not legal here:\n{position}")

    def _names(self, actions: np.ndarray) -> dict[int, str]:
        """The moves about to be made, as text."""
        states = jax.device_get(self._states)
        rows = map(int, np.flatnonzero(actions >= 0))
        return {row: move_word(self.game, int(actions[row]), _row(states, row)) for row in rows}

    def _advance(self, actions: np.ndarray) -> None:
        # A finished game leaves any action unplayed, so the padding may name one.
        moved = self._rules.proceed(self._keys, self._states, jnp.asarray(_padded(np.maximum(actions, 0))))
        self._keys, self._states, view = moved
        self._view = _host(view)


class Rules(NamedTuple):
    """A game's rules for batches, compiled."""

    begin: Callable[..., Any]
    proceed: Callable[..., Any]
    take: Callable[..., Any]


@functools.lru_cache(maxsize=16)
def compiled(game: Game) -> Rules:
    def view(keys: Array, states: State) -> tuple[Array, State, tuple[Array, ...]]:
        seen = tuple(jax.vmap(ask)(states) for ask in (game.mover, game.over, game.scores, game.legal))
        return keys, states, seen

    return Rules(
        jax.jit(lambda keys: view(*begin(game, keys))),
        jax.jit(lambda keys, states, actions: view(*proceed(game, keys, states, actions))),
        jax.jit(lambda states, rows: jax.tree.map(lambda leaf: leaf[rows], states)),
    )


def _host(view: tuple[Array, ...]) -> View:
    return View(*map(np.asarray, view))


def _row(states: State, row: int) -> State:
    return jax.tree.map(lambda leaf: leaf[row], states)


def _padded(rows: np.ndarray, smallest: int = SMALLEST) -> np.ndarray:
    """Rows repeated from the first up to a power of two, at least `smallest`, which is one."""
    return np.concatenate([rows, np.repeat(rows[:1], padded_size(len(rows), smallest) - len(rows))])


def padded_size(count: int, smallest: int = SMALLEST) -> int:
    """The size of the batch in which `count` games are put to a player: a power of two, at least `smallest`."""
    return max(smallest, 1 << (count - 1).bit_length())
