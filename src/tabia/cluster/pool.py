"""A pool of actors that play tasks: any free actor takes the next one, and the task of a dead actor goes to another.

Actors may join, leave and die at any time. The law: of every task submitted exactly one chunk is taken, unless the task
was dropped. Memory is bounded by whoever submits: the pool holds one task or one chunk per key, never both.

`step` does one round of bookkeeping and is all there is to test; `serving` runs it in a thread, because the learner
computes for long while actors finish.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from tabia.cluster.actors import Identity
from tabia.cluster.connection import Node
from tabia.cluster.errors import ClusterError
from tabia.cluster.placement import DEATH, HOPELESS, Placement

_TICK = 0.5  # seconds between two looks at the nodes
_LONGEST_PAUSE = 16.0  # seconds before a seat tries again that keeps failing


class Keyed(Protocol):
    """A task, or what it gave; keys can be sorted, and the smallest goes first."""

    @property
    def key(self) -> Any: ...


T = TypeVar("T", bound=Keyed)
A = TypeVar("A", bound=Keyed)


class Failure(NamedTuple):
    """Why a call to an actor gave nothing."""

    why: str  # one line
    weight: int = DEATH  # how much it counts against the node


class Event(NamedTuple):
    """The answer of an actor: who it is, a chunk, or neither."""

    actor: object
    answer: Identity | Failure | Keyed


class Launcher(Protocol):
    """Starts actors and calls them; one call per actor at a time, each of which makes one event."""

    def nodes(self) -> Sequence[Node]:
        """The nodes that are alive."""

    def start(self, node: Node) -> object:
        """A new actor on a node; its first event is an `Identity`."""

    def play(self, actor: Any, task: Any) -> None:
        """Let an actor play; the event is an answer with the key of the task."""

    def stop(self, actor: object) -> None:
        """End an actor, whatever it does."""

    def events(self, seconds: float) -> list[Event]:
        """What has happened; waits this long for the first event."""


@dataclass
class Seat(Generic[T]):
    """A place in the pool for one actor."""

    actor: object | None = None
    node: Node | None = None
    ready: bool = False  # whether the actor has introduced itself
    task: T | None = None
    dropped: bool = False  # whether the chunk it plays is no longer wanted
    started: int = 0  # actors that have been started for this seat
    failures: int = 0  # in a row
    rests_until: float = 0.0


@dataclass
class Pool(Generic[T, A]):
    """Actors and the tasks they play."""

    launcher: Launcher
    seats: list[Seat[T]]
    placement: Placement
    expected: Identity
    notify: Callable[[str], None] = lambda text: None
    clock: Callable[[], float] = time.monotonic
    on_chunk: Callable[[A], None] = lambda chunk: None  # may submit tasks
    _waiting: dict[Any, T] = field(default_factory=dict)
    _chunks: dict[Any, A] = field(default_factory=dict)  # played, not taken yet
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _broken: BaseException | None = None
    _looked: float = -math.inf
    _missing: int = 0  # actors that wait for a node

    @property
    def lock(self) -> AbstractContextManager[bool]:
        """Hold it around several calls that belong together."""
        return self._changed

    # What the learner calls.

    def submit(self, tasks: Iterable[T]) -> None:
        """Let these tasks be played; older rounds go first."""
        with self._changed:
            self._waiting |= {task.key: task for task in tasks}
            self._assign()

    def take(self, keys: Sequence[Any]) -> list[A]:
        """The chunks with these keys, once all have been played; each can be taken once."""
        with self._changed:
            while self._broken is None and not all(key in self._chunks for key in keys):
                self._changed.wait(1.0)
            if self._broken is not None:
                raise self._broken
            return [self._chunks.pop(key) for key in keys]

    def drop(self) -> None:
        """Forget all tasks and chunks; what is being played now is ignored when it arrives."""
        with self._changed:
            self._waiting.clear()
            self._chunks.clear()
            for seat in self.seats:
                seat.dropped = seat.task is not None

    @property
    def held(self) -> int:
        """Tasks and chunks in memory."""
        playing = sum(seat.task is not None for seat in self.seats)
        return len(self._waiting) + len(self._chunks) + playing

    @property
    def alive(self) -> int:
        """Actors that can play."""
        return sum(seat.ready for seat in self.seats)

    @property
    def restarts(self) -> int:
        """Actors started in place of others."""
        return sum(max(seat.started - 1, 0) for seat in self.seats)

    # Bookkeeping.

    @contextmanager
    def serving(self) -> Iterator[Pool[T, A]]:
        """Do the bookkeeping in a thread; all actors end after the block."""
        ended = threading.Event()
        thread = threading.Thread(target=self._serve, args=(ended,), daemon=True, name="actors")
        thread.start()
        try:
            yield self
        finally:
            ended.set()
            thread.join()
            self.close()

    def close(self) -> None:
        """End all actors."""
        for seat in self.seats:
            self._vacate(seat)

    def step(self, seconds: float = _TICK) -> None:
        """Wait for events at most this long and handle them; start actors, hand out tasks."""
        events = self.launcher.events(seconds)
        with self._changed:
            for event in events:
                self._handle(event)
            self._fill()
            self._assign()
            self._changed.notify_all()

    def _serve(self, ended: threading.Event) -> None:
        try:
            while not ended.is_set():
                self.step()
        except BaseException as error:
            with self._changed:
                self._broken = error
                self._changed.notify_all()

    def _handle(self, event: Event) -> None:
        seat = next((seat for seat in self.seats if seat.actor is event.actor), None)
        if seat is None:  # of an actor that has been stopped
            return
        match event.answer:
            case Failure() as failure:
                self._fail(seat, failure)
            case Identity() as identity:
                self._welcome(seat, identity)
            case chunk:
                self._accept(seat, chunk)

    def _welcome(self, seat: Seat[T], identity: Identity) -> None:
        difference = self.expected.difference(identity)
        if difference is not None:
            self._fail(seat, Failure(difference, HOPELESS))
            return
        seat.ready = True

    def _accept(self, seat: Seat[T], chunk: Any) -> None:
        assert seat.node is not None and seat.task is not None and seat.task.key == chunk.key
        dropped, seat.task, seat.dropped, seat.failures = seat.dropped, None, False, 0
        self.placement.succeeded(seat.node)
        if not dropped:
            self._chunks[chunk.key] = chunk
            self.on_chunk(chunk)

    def _fail(self, seat: Seat[T], failure: Failure) -> None:
        """Give the task of a failed actor to another, and its seat a new actor after a pause."""
        assert seat.node is not None
        node, seat.failures = seat.node, seat.failures + 1
        given_up = self.placement.failed(node, failure.why, failure.weight)
        after = "It gets no more work; the other nodes continue." if given_up else "Its work goes to another actor."
        self.notify(f"Node {node.name}: {failure.why.rstrip('.')}. {after}")
        if seat.task is not None and not seat.dropped:
            self._waiting[seat.task.key] = seat.task
        self._vacate(seat)
        self._looked = -math.inf
        if seat.failures > 1 and not given_up:
            seat.rests_until = self.clock() + min(2.0 ** (seat.failures - 2), _LONGEST_PAUSE)

    def _vacate(self, seat: Seat[T]) -> None:
        if seat.actor is not None:
            self.launcher.stop(seat.actor)
        seat.actor, seat.node, seat.task = None, None, None
        seat.ready = seat.dropped = False

    def _fill(self) -> None:
        """Start actors in empty seats, on nodes with room."""
        now = self.clock()
        empty = [seat for seat in self.seats if seat.actor is None and seat.rests_until <= now]
        if not empty or now < self._looked + _TICK:
            return
        self._looked = now
        nodes = self.launcher.nodes()
        for seat in empty:
            used = [taken.node.id for taken in self.seats if taken.node is not None]
            seat.node = self.placement.choose(nodes, used)
            if seat.node is not None:
                seat.actor, seat.started = self.launcher.start(seat.node), seat.started + 1
        if all(seat.actor is None for seat in self.seats) and self.placement.is_hopeless(nodes):
            reasons = "; ".join(self.placement.given_up.values())
            raise ClusterError(f"No node of the cluster can play. {reasons}.")
        self._note_missing(sum(seat.actor is None for seat in empty))

    def _note_missing(self, missing: int) -> None:
        if missing and missing != self._missing:
            self.notify(f"{missing} of {len(self.seats)} actors wait for a node with room for them.")
        self._missing = missing

    def _assign(self) -> None:
        """Hand the oldest tasks to free actors."""
        free = (seat for seat in self.seats if seat.ready and seat.task is None)
        for seat, key in zip(free, sorted(self._waiting), strict=False):
            seat.task = self._waiting.pop(key)
            self.launcher.play(seat.actor, seat.task)
