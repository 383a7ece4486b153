"""A batch of games: many games of a match played side by side, one move per game and step.

Games with the same player to move are gathered, padded to one of a few sizes, and passed to that player in one call.
A player that follows games gets their moves too; it may end a game that is not over.
All unfinished games have the same length, so an interrupted batch continues from its records exactly as if it had
not been interrupted. Axis letters: G games, A actions, P seats.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.core import batching
from tabia.evaluation.records import Record
from tabia.evaluation.rounds import MatchError
from tabia.games.game import Game, State
from tabia.games.session import move_word
from tabia.players.player import FollowsGames, Line, Player, Reply, choose
from tabia.players.together import together

SMALLEST = 8
"""The smallest number of positions passed to a player, unless a match says otherwise."""


def query_size(games: int, smallest: int = SMALLEST) -> int:
    """The number of positions passed to a player that is to move in `games` games: a power of two."""
    return batching.padded_size(games, smallest=smallest)


@dataclass
class GameInProgress:
    """One game of a batch: the player in each seat, the record so far, and the actions behind its moves."""

    players: tuple[int, ...]
    record: Record
    actions: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Incident:
    """A game that ended otherwise than by its rules, because of a player that follows games."""

    round: int
    player: str  # its spec
    seat: int
    end: str  # resigned, forfeited or excluded
    reason: str  # in one line
    report: str = ""  # the position and what was said


class GameBatch:
    """Games that advance together; all unfinished ones must have the same number of actions.

    Players get at least `smallest` positions per call, a power of two; a larger number compiles fewer programs.
    """

    def __init__(
        self,
        game: Game,
        players: Sequence[Player],
        games: Sequence[GameInProgress],
        key: Array,
        *,
        smallest: int = SMALLEST,
    ) -> None:
        self.game, self.players, self.games, self._key = game, players, list(games), key
        self.incidents: list[Incident] = []
        self._smallest = smallest
        self._pair = together(players, query_size(len(games), smallest))
        self._rules = _compiled(game)
        self._seats = np.array([one.players for one in games])
        self._live = np.array([not one.record.finished for one in games])
        if len({len(one.actions) for one in games if not one.record.finished}) > 1:
            raise MatchError("The unfinished games differ in length, so their match cannot be resumed.")
        self._replay()

    @property
    def over(self) -> bool:
        """Whether all games are over."""
        return not self._live.any()

    def step(self) -> list[int]:
        """Play one move in every unfinished game; returns the indices of the games that ended."""
        before = self._live.copy()
        chosen = self._choose()
        names = self._names(chosen)
        self._advance(chosen)
        for index in map(int, np.flatnonzero(self._live)):
            one = self.games[index]
            one.actions.append(int(chosen[index]))
            one.record = replace(one.record, moves=(*one.record.moves, names[index]))
            if self._status.over[index]:
                self._end(index)
        return np.flatnonzero(before & ~self._live).tolist()

    def _end(self, index: int) -> None:
        """Record the result of a game that is over, unless an engine's rules differ in it."""
        one = self.games[index]
        scores = tuple(map(float, self._status.scores[index]))
        one.record, self._live[index] = replace(one.record, scores=scores, end="over"), False
        for seat, player in enumerate(self.players[number] for number in one.players):
            if isinstance(player, FollowsGames):
                line = Line(batching.take(self._states, index), tuple(one.actions))
                difference = player.difference(line, one.record.seed)
                if difference:
                    self._interrupt(index, seat, Reply(None, "excluded", difference))
                    return

    def _interrupt(self, index: int, seat: int, reply: Reply) -> None:
        """End a game that a player gave up, lost by a fault or cannot follow."""
        one = self.games[index]
        low, high = self.game.score_range
        lost = tuple(low if other == seat else high for other in range(self.game.num_players))
        scores = (0.0,) * self.game.num_players if reply.end == "excluded" else lost
        one.record, self._live[index] = replace(one.record, scores=scores, end=reply.end), False
        self.incidents.append(
            Incident(
                round=one.record.round,
                player=one.record.players[seat],
                seat=seat,
                end=reply.end,
                reason=reply.reason,
                report=reply.report,
            )
        )

    def _replay(self) -> None:
        """Start every game and play its actions so far; the moves of openings get their names here."""
        seeds = np.array([one.record.seed for one in self.games], np.int32)
        keys = jax.vmap(jax.random.key)(jax.device_put(_padded(seeds)))
        self._keys, self._states, status = self._rules.start(keys)
        self._status = _on_host(status)
        played = [one.actions if live else [] for one, live in zip(self.games, self._live, strict=True)]
        named: list[list[str]] = [[] for _ in self.games]
        for ply in range(max(map(len, played), default=0)):
            actions = np.array([moves[ply] if ply < len(moves) else -1 for moves in played], np.int32)
            for index, name in self._names(actions).items():
                named[index].append(name)
            self._advance(actions)
        for one, live, names in zip(self.games, self._live, named, strict=True):
            if live:
                one.record = replace(one.record, moves=tuple(names))

    def _choose(self) -> np.ndarray:
        """The action of every unfinished game, -1 for the others."""
        chosen = np.full(len(self.games), -1, np.int32)
        mover = self._seats[np.arange(len(self.games)), self._status.mover[: len(self.games)]]
        ply = max(len(self.games[index].actions) for index in np.flatnonzero(self._live))
        rows = [np.flatnonzero(self._live & (mover == index)) for index in range(len(self.players))]
        replies = {} if self._pair is None else self._ask_together(self._pair, rows, ply)
        for index, (player, own) in enumerate(zip(self.players, rows, strict=True)):
            if not len(own):
                continue
            if isinstance(player, FollowsGames):
                chosen[own] = self._follow(player, own)
            else:
                reply = replies.get(index)
                reply = self._ask(player, _padded(own, self._smallest), ply, index) if reply is None else reply
                chosen[own] = reply[: len(own)]
            playing = own[self._live[own]]
            self._check(player, playing, chosen[playing])
        return chosen

    def _ask(self, player: Player, rows: np.ndarray, ply: int, index: int) -> np.ndarray:
        """The actions of a player in these games; `index` makes its random key another than that of the others."""
        gathered = self._rules.take(self._states, jax.device_put(rows))
        key = jax.random.fold_in(jax.random.fold_in(self._key, ply), index)
        return np.asarray(choose(player, gathered, key, jnp.full(len(rows), ply, jnp.int32)).actions)

    def _ask_together(self, pair: Player, rows: Sequence[np.ndarray], ply: int) -> dict[int, np.ndarray]:
        """The actions of both players of a pair; one that is not to move in any game repeats the other's positions."""
        size = query_size(max(map(len, rows)), self._smallest)
        either = rows[0] if len(rows[0]) else rows[1]
        padded = [_padded(own if len(own) else either, size) for own in rows]
        return dict(enumerate(np.split(self._ask(pair, np.concatenate(padded), ply, 0), 2)))

    def _follow(self, player: FollowsGames, rows: np.ndarray) -> list[int]:
        """The actions of a player that follows games, -1 where it ends one."""
        states = jax.device_get(self._states)
        lines = [Line(batching.take(states, row), tuple(self.games[row].actions)) for row in map(int, rows)]
        replies = player.follow(lines)
        for row, reply in zip(map(int, rows), replies, strict=True):
            if reply.action is None:
                self._interrupt(row, int(self._status.mover[row]), reply)
        return [-1 if reply.action is None else reply.action for reply in replies]

    def _check(self, player: Player, rows: np.ndarray, actions: np.ndarray) -> None:
        legal = (actions >= 0) & (actions < self.game.num_actions)
        legal &= self._status.legal[rows, np.where(legal, actions, 0)]
        for row, action in zip(rows[~legal], actions[~legal], strict=True):
            position = self.game.draw(jax.tree.map(lambda leaf, row=row: leaf[row], self._states))
            raise MatchError(f"{player.spec} chose action {action}, which is not legal here:\n{position}")

    def _names(self, actions: np.ndarray) -> dict[int, str]:
        """The text of each move about to be made, by index of the game."""
        states = jax.device_get(self._states)
        rows = map(int, np.flatnonzero(actions >= 0))
        return {row: move_word(self.game, int(actions[row]), batching.take(states, row)) for row in rows}

    def _advance(self, actions: np.ndarray) -> None:
        # A step does not change a finished game, so any action will do for it and for the padding.
        moved = self._rules.step(self._keys, self._states, jax.device_put(_padded(np.maximum(actions, 0))))
        self._keys, self._states, status = moved
        self._status = _on_host(status)


class _Status(NamedTuple):
    """What a batch must know about its games."""

    mover: np.ndarray  # int32[G]
    over: np.ndarray  # bool[G]
    scores: np.ndarray  # float32[G, P]
    legal: np.ndarray  # bool[G, A]


_Position = tuple[Array, State, tuple[Array, ...]]  # keys, states and status of a batch


class _Rules(NamedTuple):
    """The compiled rules of a game for batches."""

    start: Callable[[Array], _Position]
    step: Callable[[Array, State, Array], _Position]
    take: Callable[[State, Array], State]


@functools.lru_cache(maxsize=16)
def _compiled(game: Game) -> _Rules:
    def with_status(keys: Array, states: State) -> _Position:
        return keys, states, tuple(jax.vmap(ask)(states) for ask in (game.mover, game.over, game.scores, game.legal))

    return _Rules(
        start=jax.jit(lambda keys: with_status(*batching.start(game, keys))),
        step=jax.jit(lambda keys, states, actions: with_status(*batching.step(game, keys, states, actions))),
        take=jax.jit(batching.take),
    )


def _on_host(status: tuple[Array, ...]) -> _Status:
    return _Status(*map(np.asarray, status))


def _padded(rows: np.ndarray, smallest: int = SMALLEST) -> np.ndarray:
    return batching.pad(rows, query_size(len(rows), smallest))
