"""The host's side of a plain Python game: its objects, kept by the moves that led to them.

A position is made from the one before it: copied, and one move played. What the user's class raises while
compiled code is asking comes back wrapped by JAX; `said_plainly` unwraps it.
"""

from __future__ import annotations

import copy
import logging
import random
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import jax
import numpy as np

from tabia.games.adapters.plain import NO_CHANCE, Facts, Moves, Plain
from tabia.games.errors import GameError, refusal_in

_MEMORY, _MOST = 1 << 26, 1 << 16  # bytes of facts, and positions, kept at a time
_TRIAL = 500  # moves of the games played before a class is taken
_PAIRS = 200  # pairs of equal positions that are compared then


class _Kept(NamedTuple):
    position: Any  # an object of the user's class
    seats: Moves  # who played each move
    facts: Facts


class Objects:
    """Positions of one class by the moves that led to them, the least recently used forgotten first."""

    def __init__(self, plain: Plain) -> None:
        self._plain = plain
        self._kept: OrderedDict[Moves, _Kept] = OrderedDict()
        per_position = 4 * plain.num_players * int(np.prod(plain.shape)) + plain.num_actions + 1024
        self._most = max(256, min(_MOST, _MEMORY // per_position))
        self._lock = threading.Lock()  # several devices may ask at once

    def facts(self, played: Any, lengths: Any) -> Facts:
        """What the class says after each of the move lists `played` [..., max_moves], cut at `lengths` [...]."""
        return self._each(lambda moves: self._at(moves).facts, played, lengths)

    def heuristics(self, played: Any, lengths: Any) -> Any:
        """float32[..., P]: the class's own judgment of each position."""
        return self._each(lambda moves: self._plain.heuristic(self._at(moves).position, moves), played, lengths)

    def call(self, moves: Moves, method: str, *given: Any) -> Any:
        """What a method of the class says after these moves."""
        with self._lock:
            return self._plain.call(self._at(moves).position, moves, method, *given)

    def copy(self, moves: Moves) -> Any:
        """The class's own object after these moves, for the caller to change."""
        with self._lock:
            return self._plain.call(copy, moves, "deepcopy", self._at(moves).position)

    def try_out(self) -> None:
        """Play a few random games, so that a class that cannot be played is refused before it is compiled.

        Each is played on copies, as always, and on one object from start to end, which must say the same. So must
        positions that are equal by different moves.
        """
        moves: Moves = ()
        lots, whole = random.Random(0), self._plain.start()
        for _ in range(_TRIAL):
            kept = self._at(moves)
            self._compare(kept, self._plain.read(whole, moves, kept.seats), moves)
            if kept.facts.over:
                moves, whole = (), self._plain.start()
            else:
                move = int(lots.choice(np.flatnonzero(kept.facts.legal)))
                self._plain.call(whole, moves, "apply", move)
                moves = (*moves, move)
        self._compare_equals()

    def _compare_equals(self) -> None:
        """Equal positions have the same facts, and lead to equal positions by the same move."""
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
        """The first positions of the game, breadth first: where different orders of moves meet soonest."""
        found: list[Moves] = [()]
        for moves in found:
            if len(found) > _PAIRS:
                break
            found += [(*moves, int(move)) for move in np.flatnonzero(self._at(moves).facts.legal)]
        return found

    def _compare_pair(self, one: Moves, other: Moves) -> None:
        first, second = self._at(one).facts, self._at(other).facts
        if first.over != second.over or not np.array_equal(first.legal, second.legal):
            raise self._unequal(one, other, "legal_moves() or is_over() says something else")
        for move in np.flatnonzero(first.legal).tolist():
            after = [self._at((*moves, move)).facts.words for moves in (one, other)]
            if not np.array_equal(*after):
                raise self._unequal(one, other, f"the positions after move {move} are not the same")

    def _unequal(self, one: Moves, other: Moves, what: str) -> GameError:
        subject, verb = ("position()", "is") if self._plain.compares else ("the object", "has all attributes")
        earlier = f"after moves {' '.join(map(str, one))}" if one else "at the start"
        return self._plain.fault(subject, other, f"{verb} the same as {earlier}, but {what}")

    def _compare(self, kept: _Kept, whole: Facts, moves: Moves) -> None:
        if not jax.tree.all(jax.tree.map(np.array_equal, kept.facts, whole)):
            found = "led to two different positions when played twice: its objects share something, or draw lots"
            raise self._plain.fault("apply(move)", moves, f"{found} ({NO_CHANCE})")

    def _each(self, answer: Callable[[Moves], Any], played: Any, lengths: Any) -> Any:
        lists, counts = np.asarray(played), np.asarray(lengths)
        rows = lists.reshape(-1, lists.shape[-1])
        with self._lock:
            answers = [answer(tuple(row[:n].tolist())) for row, n in zip(rows, counts.reshape(-1), strict=True)]
        return jax.tree.map(lambda *leaves: np.stack(leaves).reshape(counts.shape + np.shape(leaves[0])), *answers)

    def _at(self, moves: Moves) -> _Kept:
        """The position after these moves, made from the longest beginning that is still kept."""
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
            self._plain.call(position, moves[:-1], "apply", moves[-1])
            seats = (*before.seats, int(before.facts.mover))
        else:
            position, seats = self._plain.start(), ()
        self._kept[moves] = _Kept(position, seats, self._plain.read(position, moves, seats))
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)


@contextmanager
def said_plainly() -> Iterator[None]:
    """Turn the error JAX makes of a GameError raised on the host back into that GameError."""
    try:
        yield
    except Exception as error:  # a RuntimeError or a ValueError, depending on where the answer was first read
        refusal = refusal_in(error)
        if refusal is None or refusal is error:
            raise
        raise refusal from None


def _is_news(record: logging.LogRecord) -> bool:
    """JAX logs the traceback of every failed call to the host; a GameError says all there is to say."""
    return not (record.exc_info and isinstance(record.exc_info[1], GameError))


logging.getLogger("jax._src.callback").addFilter(_is_news)
