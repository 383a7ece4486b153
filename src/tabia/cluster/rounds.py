"""Rounds of self-play: the lanes of a run, split into slots, whose chunks are played by a pool of actors.

A task is one chunk of one slot. It starts from the slot's lanes after its previous chunk, so the chunks of a slot are
played one after another, and those of different slots at the same time. Rounds may be played ahead of the learner: in
iteration r the rounds up to r + ahead are open, with the weights of the time when they were opened. That bounds how old
weights can be, and the memory: at most `ahead + 1` rounds of tasks or chunks exist.

All that a chunk depends on is fixed when its round opens. So which actor plays it, when, and how often actors die
changes nothing: the run is the same. Axis letters: T plies, B lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.cluster.chunks import Chunk, Key, Task, pack, plain, unpack
from tabia.cluster.errors import ClusterError
from tabia.cluster.pool import Pool
from tabia.core import devices
from tabia.training.config.toml import to_toml
from tabia.training.plan import Plan
from tabia.training.selfplay import openings
from tabia.training.selfplay.openings import Lanes
from tabia.training.selfplay.play import Plies, SelfPlay
from tabia.training.state import State


class PlayedRound(NamedTuple):
    """A round, put together."""

    lanes: Lanes  # [B, ...]
    plies: Plies  # [T, B, ...]
    chunks: list[Chunk]


class OpenRound(NamedTuple):
    """A round that may be played."""

    selfplay: SelfPlay  # of all lanes, to notice when the schedule changes it
    tasks: list[Task]  # one per slot, without lanes


@dataclass
class Rounds:
    """The rounds of one run. `keys` makes the random keys of a round: for self-play, and for revisits."""

    pool: Pool[Task, Chunk]
    slots: int
    ahead: int
    turns: int  # boards, which are played in turn
    keys: Callable[[int], tuple[Array, Array]]
    publish: Callable[[int, Any, Set[int]], None]  # hands out weights: their version, and the others still needed
    _open: dict[int, OpenRound] = field(default_factory=dict)
    _lanes: dict[Key, bytes] = field(default_factory=dict)  # packed lanes for a chunk, by its key
    _given: dict[int, Lanes] = field(default_factory=dict)  # the lanes that the learner has, by board

    def __post_init__(self) -> None:
        self.pool.on_chunk = self._continue

    def play(self, number: int, plan: Plan, state: State, weights: Any) -> PlayedRound:
        """The round with this number, as of the state before it; opens the next ones."""
        if not self._continues(plan, state):
            self._restart(number, state)
        opened = [each for each in range(number, number + self.ahead + 1) if each not in self._open]
        if opened:
            self.publish(number, weights, {found.tasks[0].version for found in self._open.values()})
        rounds = {each: self._opened(each, number, plan.boards[each % self.turns], state) for each in opened}
        with self.pool.lock:
            self._open |= rounds
            self._submit()
        chunks = self.pool.take([Key(number, slot) for slot in range(self.slots)])
        del self._open[number]
        return self._joined(number % self.turns, state, chunks, plan.config.selfplay.plies)

    def _continues(self, plan: Plan, state: State) -> bool:
        """Whether the rounds that are open are what this state would have opened."""
        same = all(plan.boards[each % self.turns].selfplay == found.selfplay for each, found in self._open.items())
        return same and all(self._given.get(turn) is board.lanes for turn, board in enumerate(state.boards))

    def _restart(self, number: int, state: State) -> None:
        """Forget what was played ahead, and play on from the lanes of the state."""
        with self.pool.lock:
            self.pool.drop()
            self._open.clear()
            self._lanes.clear()
            for each in range(number, number + self.turns):
                lanes = self._given[each % self.turns] = state.boards[each % self.turns].lanes
                parts = split(lanes, self.slots)
                self._lanes |= {Key(each, slot): pack(part) for slot, part in enumerate(parts)}

    def _opened(self, number: int, version: int, board: Plan, state: State) -> OpenRound:
        """A round with the weights and the replay buffer of now."""
        config, buffer = board.config, state.boards[number % self.turns].buffer
        play_key, revisit_key = self.keys(number)
        revisits = openings.draw_revisits(buffer, revisit_key, config.selfplay, board.window)
        starts = [None] * self.slots if revisits is None else [pack(part) for part in split(revisits, self.slots)]
        text = to_toml(slot_plan(board, self.slots).config)
        tasks = [
            Task(
                key=Key(number, slot),
                version=version,
                config=text,
                random=plain(slot_key(play_key, slot, self.slots)).tobytes(),
                lanes=b"",
                revisits=starts[slot],
            )
            for slot in range(self.slots)
        ]
        return OpenRound(board.selfplay, tasks)

    def _submit(self) -> None:
        """Hand over the tasks of open rounds whose lanes are known."""
        known = [key for key in self._lanes if key.round in self._open]
        self.pool.submit(self._open[key.round].tasks[key.slot]._replace(lanes=self._lanes.pop(key)) for key in known)

    def _continue(self, chunk: Chunk) -> None:
        """Let the slot go on with its next round, if that is open."""
        self._lanes[chunk.key._replace(round=chunk.key.round + self.turns)] = chunk.lanes
        self._submit()

    def _joined(self, turn: int, state: State, chunks: list[Chunk], plies: int) -> PlayedRound:
        lanes_like, buffer = state.boards[turn].lanes, state.boards[turn].buffer
        one_lanes = _shapes(lanes_like, lambda shape: (shape[0] // self.slots, *shape[1:]))
        one_plies = _shapes(buffer.plies, lambda shape: (plies, shape[1] // self.slots, *shape[2:]))
        lanes = join([unpack(chunk.lanes, one_lanes) for chunk in chunks], axis=0)
        self._given[turn] = lanes
        return PlayedRound(lanes, join([unpack(chunk.plies, one_plies) for chunk in chunks], axis=1), chunks)


def check_slots(plan: Plan, slots: int) -> None:
    """Refuse a number of slots that does not divide the lanes."""
    games = plan.config.selfplay.games
    if not 1 <= slots <= games or games % slots:
        fits = [count for count in range(1, games + 1) if games % count == 0]
        near = min(fits, key=lambda count: abs(count - slots))
        raise ClusterError(
            f"{slots} actors cannot share selfplay.games={games} evenly. Use --actors {near}, "
            f"or --set selfplay.games={slots * max(1, round(games / slots))}."
        )


def slot_plan(board: Plan, slots: int) -> Plan:
    """The plan of one slot: the same for a part of the lanes."""
    config = board.config
    return Plan(config.changed({"selfplay.games": config.selfplay.games // slots}))


def slot_key(key: Array, slot: int, slots: int) -> Array:
    """The random key of a slot's chunk; that of a single slot is the key of the round, as on one machine."""
    return key if slots == 1 else jax.random.fold_in(key, slot)


def split(tree: Any, parts: int) -> list[Any]:
    """A tree of arrays [B, ...] cut into parts of the lanes, in the machine's memory."""
    leaves, shape = jax.tree.flatten(tree)
    cut = [_cut(leaf, parts) for leaf in leaves]
    return [jax.tree.unflatten(shape, [pieces[part] for pieces in cut]) for part in range(parts)]


def join(trees: list[Any], *, axis: int) -> Any:
    """Trees of arrays put together along the axis of lanes, on the devices of the learner."""
    return devices.split(jax.tree.map(lambda *parts: _concatenated(parts, axis), *trees), axis)


def _cut(leaf: Array, parts: int) -> list[Any]:
    pieces = np.split(plain(leaf), parts)
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return [jax.random.wrap_key_data(jnp.asarray(piece)) for piece in pieces]
    return list(pieces)


def _concatenated(parts: tuple[Any, ...], axis: int) -> Array:
    if jnp.issubdtype(parts[0].dtype, jax.dtypes.prng_key):
        return jnp.concatenate(parts, axis)
    return jnp.asarray(np.concatenate(parts, axis))


def _shapes(tree: Any, change: Callable[[tuple[int, ...]], tuple[int, ...]]) -> Any:
    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(change(leaf.shape), leaf.dtype), tree)
