"""The objects of a plain Python game, cached by the moves that lead to them.

A position is made by copying the previous one and playing a move. JAX wraps what the user's class raises inside a
compiled program; `errors.unwrap_errors` unwraps it.
"""

from __future__ import annotations

import copy
import logging
import random
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np

from tabia.games.adapters.plain import NO_CHANCE, Facts, Moves, Plain
from tabia.games.errors import RulesError

_MEMORY, _MOST = 1 << 26, 1 << 16  # the most bytes of facts, and positions, in the cache
_TRIAL = 500  # moves of the random games that test a class
_PAIRS = 200  # pairs of equal positions that are compared in the test


class _Cached(NamedTuple):
    position: Any  # an object of the user's class
    seats: Moves  # who played each move
    facts: Facts


class Objects:
    """A least-recently-used cache of the positions of one class."""

    def __init__(self, plain: Plain) -> None:
        self._plain = plain
        self._kept: OrderedDict[Moves, _Cached] = OrderedDict()
        per_position = 4 * plain.num_players * int(np.prod(plain.shape)) + plain.num_actions + 1024
        self._most = max(256, min(_MOST, _MEMORY // per_position))
        self._lock = threading.Lock()  # several devices may call at once

    def facts(self, played: Any, lengths: Any) -> Facts:
        """The facts after each of the move lists `played` [..., max_moves] of `lengths` [...]."""
        return self._each(lambda moves: self._at(moves).facts, played, lengths)

    def heuristics(self, played: Any, lengths: Any) -> Any:
        """float32[..., P]: the class's heuristic of each position."""
        return self._each(lambda moves: self._plain.heuristic(self._at(moves).position, moves), played, lengths)

    def call(self, moves: Moves, method: str, *given: Any) -> Any:
        """Call a method of the object after these moves."""
        with self._lock:
            return self._plain.call(self._at(moves).position, moves, method, *given)

    def text(self, moves: Moves, method: str, *given: Any) -> str:
        """Call a method of the object after these moves that returns text."""
        with self._lock:
            return self._plain.text(self._at(moves).position, moves, method, *given)

    def copy(self, moves: Moves) -> Any:
        """A copy of the object after these moves."""
        with self._lock:
            return self._plain.call(copy, moves, "deepcopy", self._at(moves).position)

    def try_out(self) -> None:
        """Play a few random games, so that a broken class is refused before anything is compiled.

        Each game is played on copies and on one object from start to end; both must agree. So must equal positions
        that different moves lead to.
        """
        moves: Moves = ()
        dice, whole = random.Random(0), self._plain.start()
        for _ in range(_TRIAL):
            kept = self._at(moves)
            self._compare(kept, self._plain.read(whole, moves, kept.seats), moves)
            if kept.facts.over:
                moves, whole = (), self._plain.start()
            else:
                move = int(dice.choice(np.flatnonzero(kept.facts.legal)))
                self._plain.apply(whole, moves, move)
                moves = (*moves, move)
        self._compare_equals()

    def _compare_equals(self) -> None:
        """Check that equal positions have the same facts, and that the same move leads to equal positions."""
        met: dict[bytes, Moves] = {}
        pairs = 0
        for moves in [*self._first_positions(), *self._kept.copy()]:
            earlier = met.setdefault(self._at(moves).facts.words.tobytes(), moves)
            if earlier == moves:
                continue
            self._compare_pair(earlier, moves)
            pairs += 1
            if pairs == _PAIRS:
                return

    def _first_positions(self) -> list[Moves]:
        """The first positions of the game, breadth first, where transpositions appear soonest."""
        found: list[Moves] = [()]
        for moves in found:
            if len(found) > _PAIRS:
                break
            found += [(*moves, int(move)) for move in np.flatnonzero(self._at(moves).facts.legal)]
        return found

    def _compare_pair(self, one: Moves, other: Moves) -> None:
        first, second = self._at(one).facts, self._at(other).facts
        if first.over != second.over or not np.array_equal(first.legal, second.legal):
            raise self._unequal(one, other, "legal_moves() or is_over() differs")
        for move in np.flatnonzero(first.legal).tolist():
            after = [self._at((*moves, move)).facts.words for moves in (one, other)]
            if not np.array_equal(*after):
                raise self._unequal(one, other, f"the positions after move {move} are not the same")

    def _unequal(self, one: Moves, other: Moves, what: str) -> RulesError:
        subject, verb = ("position()", "is") if self._plain.compares else ("the object", "has all attributes")
        earlier = f"after moves {' '.join(map(str, one))}" if one else "at the start"
        return self._plain.fault(subject, other, f"{verb} the same as {earlier}, but {what}")

    def _compare(self, kept: _Cached, whole: Facts, moves: Moves) -> None:
        if not jax.tree.all(jax.tree.map(np.array_equal, kept.facts, whole)):
            found = "led to two different positions when played twice: its objects share state or use random numbers"
            raise self._plain.fault("apply(move)", moves, f"{found} ({NO_CHANCE})")

    def _each(self, answer: Callable[[Moves], Any], played: Any, lengths: Any) -> Any:
        lists, counts = np.asarray(played), np.asarray(lengths)
        rows = lists.reshape(-1, lists.shape[-1])
        with self._lock:
            answers = [answer(tuple(row[:n].tolist())) for row, n in zip(rows, counts.reshape(-1), strict=True)]
        return jax.tree.map(lambda *leaves: np.stack(leaves).reshape(counts.shape + np.shape(leaves[0])), *answers)

    def _at(self, moves: Moves) -> _Cached:
        """The position after these moves, made from the longest prefix in the cache."""
        known = len(moves)
        while known and moves[:known] not in self._kept:
            known -= 1
        for count in range(known, len(moves) + 1):
            if moves[:count] not in self._kept:
                self._keep(moves[:count])
        self._kept.move_to_end(moves)
        return self._kept[moves]

    def _keep(self, moves: Moves) -> None:
        if moves:
            before = self._kept[moves[:-1]]
            position = self._plain.call(copy, moves[:-1], "deepcopy", before.position)
            self._plain.apply(position, moves[:-1], moves[-1])
            seats = (*before.seats, int(before.facts.mover))
        else:
            position, seats = self._plain.start(), ()
        self._kept[moves] = _Cached(position, seats, self._plain.read(position, moves, seats))
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)


def _is_unexpected(record: logging.LogRecord) -> bool:
    """Whether to log a failed callback; for a RulesError the message is enough."""
    return not (record.exc_info and isinstance(record.exc_info[1], RulesError))


logging.getLogger("jax._src.callback").addFilter(_is_unexpected)
