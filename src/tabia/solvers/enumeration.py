"""Every reachable position of a game, and the moves between them.

The search is breadth first. All moves of all new positions are played at once, in chunks of fixed size. Positions are
recognized by fingerprint, then compared word by word. A position counts once, by the first ply at which it occurs.

Axis letters: N positions, E moves between them, P seats, A actions, K words of a position.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, suppress
from functools import partial
from typing import Any, NamedTuple, TypeVar

import jax
import numpy as np
from jax import Array

from tabia.games.fingerprint import fingerprint
from tabia.games.game import Game, State
from tabia.solvers.errors import SolverError, TooLarge
from tabia.solvers.index import join

Progress = Callable[[int, int], None]  # (ply, positions so far)
Item = TypeVar("Item")

CHUNKS = (1024, 32768)  # moves played at once; two sizes keep both compilations and padding low


class Graph(NamedTuple):
    """Positions in the order of their first ply, and moves in the order of the positions they start from."""

    words: np.ndarray  # uint32[N, K]
    prints: np.ndarray  # uint64[N]
    mover: np.ndarray  # int32[N]
    scores: np.ndarray  # float32[N, P] current scores, scaled to [-1, 1]
    plies: np.ndarray  # int64[plies + 1] first position of each ply
    moves: np.ndarray  # int64[N + 1] first move of each position
    action: np.ndarray  # int32[E]
    child: np.ndarray  # int32[E] the position a move leads to


class Facts(NamedTuple):
    """What the rules say about n positions; arrays on the device, then NumPy arrays."""

    words: Any  # uint32[n, K]
    prints: Any  # uint32[n, 2]
    legal: Any  # bool[n, A]
    mover: Any  # int32[n]
    scores: Any  # float32[n, P]


class Ply(NamedTuple):
    """The positions that first occur at a ply, and their moves."""

    mover: np.ndarray  # int32[n]
    scores: np.ndarray  # float32[n, P]
    degree: np.ndarray  # int64[n] number of moves of each position
    action: np.ndarray  # int32[e]
    child: np.ndarray  # int32[e]


def enumerate_positions(game: Game, starts: State, *, limit: int, progress: Progress | None = None) -> Graph:
    """All positions reachable from `starts` [S, ...]; raises TooLarge if there are more than `limit`."""
    known = _Known(game, limit)
    return _graph(known, [ply for _, ply in _by_ply(known, game, starts, progress)])


def positions_by_ply(game: Game, starts: State, *, limit: int, finished: bool = False) -> Iterator[State]:
    """The states [n, ...] that first occur at each ply, without those that are over unless `finished`."""
    for states, ply in _by_ply(_Known(game, limit), game, starts):
        going = (ply.degree > 0) | finished
        yield jax.tree.map(lambda leaf, going=going: leaf[going], states)


def _by_ply(known: _Known, game: Game, starts: State, progress: Progress | None = None) -> Iterator[tuple[State, Ply]]:
    _, states, facts = _meet(known, _positions(game, starts))
    for number in itertools.count():
        if not len(facts.mover):
            return
        if progress is not None:
            progress(number, known.count)
        parents, actions = np.nonzero(facts.legal)
        child, new_states, new_facts = _meet(known, _positions(game, states, parents, actions.astype(np.int32)))
        degree = facts.legal.sum(axis=1)
        yield states, Ply(facts.mover, facts.scores, degree, actions.astype(np.int32), child)
        states, facts = new_states, new_facts


def _graph(known: _Known, plies: list[Ply]) -> Graph:
    every = Ply(*(np.concatenate(part) for part in zip(*plies, strict=True)))
    return Graph(
        words=known.words[: known.count],
        prints=known.prints[: known.count],
        mover=every.mover,
        scores=every.scores,
        plies=np.cumsum([0, *(len(ply.mover) for ply in plies)]),
        moves=np.append(0, np.cumsum(every.degree)),
        action=every.action,
        child=every.child,
    )


# Playing moves, on the device.


def _positions(
    game: Game, states: State, parents: np.ndarray | None = None, actions: np.ndarray | None = None
) -> Iterator[tuple[int, State, Facts]]:
    """The states [n, ...], or those after playing `actions` in the rows `parents`, and their facts, chunk by chunk.

    Each chunk comes with a count; the rows beyond it are padding.
    """
    rows = np.arange(len(jax.tree.leaves(states)[0])) if parents is None else parents
    size = CHUNKS[0] if len(rows) <= CHUNKS[0] else CHUNKS[1]
    for begin in range(0, max(len(rows), 1), size):
        part = rows[begin : begin + size]
        padded = np.pad(part, (0, size - len(part)))
        chunk = jax.tree.map(lambda leaf, padded=padded: leaf[padded], states)
        if actions is not None:
            chunk = _step(game, chunk, np.pad(actions[begin : begin + size], (0, size - len(part))))
        yield len(part), chunk, _facts(game, chunk)


# Two programs: in one, XLA would recompute the step for every fact.


@partial(jax.jit, static_argnums=0)
def _step(game: Game, states: State, actions: Array) -> State:
    return jax.vmap(game.step)(states, actions)


@partial(jax.jit, static_argnums=0)
def _facts(game: Game, states: State) -> Facts:
    return Facts(
        words=jax.vmap(game.position)(states),
        prints=jax.vmap(lambda state: fingerprint(game, state))(states),
        legal=jax.vmap(game.legal)(states),
        mover=jax.vmap(game.mover)(states),
        scores=game.scale(jax.vmap(game.scores)(states)),
    )


# Numbering positions, on the host.


def _meet(known: _Known, chunks: Iterable[tuple[int, State, Facts]]) -> tuple[np.ndarray, State, Facts]:
    """The number of every position [e], and the states and facts of the new ones in the order of their numbers."""
    numbers, states, facts = [], [], []
    with closing(_one_ahead(chunks)) as ahead:
        for count, chunk, seen in ahead:
            real = jax.tree.map(lambda leaf, count=count: np.asarray(leaf)[:count], seen)
            these, new = known.number(join(real.prints), real.words)
            numbers.append(these)
            states.append(jax.tree.map(lambda leaf, new=new: np.asarray(leaf)[new], chunk))
            facts.append(jax.tree.map(lambda leaf, new=new: leaf[new], real)._replace(words=None, prints=None))

    def concatenate(*parts: np.ndarray) -> np.ndarray:
        return np.concatenate(parts)

    return np.concatenate(numbers), jax.tree.map(concatenate, *states), jax.tree.map(concatenate, *facts)


def _one_ahead(items: Iterable[Item]) -> Generator[Item, None, None]:
    """The same items, fetched one ahead of their use, so that the device is never idle.

    Closing waits for the item fetched ahead: the rules of a plain Python class run inside its program, and Python
    aborts if it exits while a program is still calling back.
    """
    waiting: list[Item] = []
    try:
        for item in items:
            waiting.append(item)
            if len(waiting) > 1:
                yield waiting.pop(0)
        while waiting:
            yield waiting.pop(0)
    finally:
        with suppress(Exception):  # nobody uses this item, so its failure does not matter
            jax.block_until_ready(waiting)


class _Known:
    """The positions found so far, numbered in order of discovery."""

    def __init__(self, game: Game, limit: int) -> None:
        width = jax.eval_shape(lambda key: game.position(game.init(key)), jax.random.key(0)).shape[0]
        self.game, self.limit, self.count = game, limit, 0
        self.words = np.empty((0, width), np.uint32)  # [capacity, K]
        self.prints = np.empty(0, np.uint64)  # [capacity]
        # Sorted fingerprints and their numbers. Inserting into `recent`, which is small, is cheap.
        self.rest = self.recent = (np.empty(0, np.uint64), np.empty(0, np.int32))

    def number(self, prints: np.ndarray, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The numbers of positions [n], and the rows of the new ones in the order of their numbers."""
        unique, rows, back = np.unique(prints, return_index=True, return_inverse=True)
        numbers = np.maximum(_find(self.rest, unique), _find(self.recent, unique))
        unknown = numbers < 0
        new = rows[unknown]
        numbers[unknown] = np.arange(self.count, self.count + len(new))
        self._add(unique[unknown], words[new])
        numbers = numbers[back]
        if not np.array_equal(self.words[numbers], words):
            raise SolverError(
                f"Two positions of {self.game.id} share a 64-bit fingerprint, so it cannot be solved exactly."
            )
        return numbers, new

    def _too_many(self) -> str:
        note = self.game.position_note
        if not note:
            return f"{self.game.id} has more than {self.limit:,} positions, too many to solve exactly."
        return f"More than {self.limit:,} positions of {self.game.id} were found, too many to solve exactly. {note}"

    def _add(self, prints: np.ndarray, words: np.ndarray) -> None:
        """Append positions with ascending fingerprints."""
        numbers = np.arange(self.count, self.count + len(prints), dtype=np.int32)
        self.count += len(prints)
        if self.count > self.limit:
            raise TooLarge(self._too_many())
        if self.count > len(self.prints):
            self.words.resize((2 * self.count, self.words.shape[1]), refcheck=False)
            self.prints.resize(2 * self.count, refcheck=False)
        self.words[numbers], self.prints[numbers] = words, prints
        self.recent = _merge(self.recent, (prints, numbers))
        if len(self.recent[0]) ** 2 > CHUNKS[1] * len(self.rest[0]):
            self.rest, self.recent = _merge(self.rest, self.recent), (prints[:0], numbers[:0])


Sorted = tuple[np.ndarray, np.ndarray]  # ascending fingerprints uint64[n], and their numbers int32[n]


def _find(known: Sorted, prints: np.ndarray) -> np.ndarray:
    """int32[n]: the numbers of fingerprints, -1 if unknown."""
    if not len(known[0]):
        return np.full(len(prints), -1, np.int32)
    places = np.minimum(np.searchsorted(known[0], prints), len(known[0]) - 1)
    return np.where(known[0][places] == prints, known[1][places], np.int32(-1))


def _merge(known: Sorted, more: Sorted) -> Sorted:
    places = np.searchsorted(known[0], more[0])
    return np.insert(known[0], places, more[0]), np.insert(known[1], places, more[1])
