"""Self-play actors on Ray: starting, calling and stopping them, and the weights in the object store.

The object store holds one copy of each version of the weights that an open round needs, and the chunks that have not
arrived yet. Answers come through a queue, so nothing polls.
"""

from __future__ import annotations

import contextlib
import queue
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence, Set
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from tabia.cluster.actors import SelfPlayActor, identify
from tabia.cluster.chunks import STORED, Task, pack
from tabia.cluster.connection import Cluster, Node
from tabia.cluster.errors import ClusterError
from tabia.cluster.placement import ERROR, HOPELESS, Need, Placement
from tabia.cluster.pool import Event, Failure, Pool, Seat

_FULL_STORE_SECONDS = 60.0  # to wait for room in the object store
_CREATION = "error raised in its creation task"  # Ray's words
_FULL_STORE = "ObjectStoreFullError"
_OUT_OF_MEMORY = ("OutOfMemoryError", "MemoryError", "RESOURCE_EXHAUSTED")


@dataclass
class ActorLauncher(ABC):
    """Actors on a cluster; implements `pool.Launcher`, except for what its actors are and do."""

    cluster: Cluster
    need: Need
    games: tuple[str, ...]  # ids of the boards
    notify: Callable[[str], None] = lambda text: None
    actors: int = 1  # in all
    _queue: queue.SimpleQueue[Event] = field(default_factory=queue.SimpleQueue)

    def pool(self) -> Pool[Any, Any]:
        """A pool of the actors."""
        return Pool(
            launcher=self,
            seats=[Seat() for _ in range(self.actors)],
            placement=Placement(self.need),
            expected=identify(self.games),
            notify=self.notify,
        )

    def nodes(self) -> Sequence[Node]:
        return self.cluster.nodes()

    def sharing(self, node: Node) -> int:
        """How many of the actors will share a node."""
        return self.need.share(self.actors, node, self.nodes())

    @abstractmethod
    def start(self, node: Node) -> object:
        """A new actor on a node."""

    @abstractmethod
    def play(self, actor: Any, task: Any) -> None:
        """Let an actor play a task."""

    def remote(self, node: Node, kind: type, **options: Any) -> Any:
        """A class whose actors run on a node."""
        ray = self.cluster.ray
        here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node.id, soft=False)
        return ray.remote(kind).options(
            num_cpus=self.need.cpus, num_gpus=self.need.gpus, max_restarts=0, scheduling_strategy=here, **options
        )

    def stop(self, actor: Any) -> None:
        with contextlib.suppress(Exception):  # it may be dead, or the connection gone
            self.cluster.ray.kill(actor)

    def events(self, seconds: float) -> list[Event]:
        with contextlib.suppress(queue.Empty):
            return [self._queue.get(timeout=seconds)]
        return []

    def expect(self, actor: object, reference: Any) -> None:
        """Make an event of the answer to a call."""

        def done(future: Future[Any]) -> None:
            error = future.exception()
            self._queue.put(Event(actor, future.result() if error is None else describe(error)))

        reference.future().add_done_callback(done)


@dataclass
class RayLauncher(ActorLauncher):
    """Starts self-play actors and gives them weights."""

    _weights: dict[int, Any] = field(default_factory=dict)  # references by version

    def start(self, node: Node) -> object:
        actor = self.remote(node, SelfPlayActor).remote(self.need.platform, self.sharing(node))
        self.expect(actor, actor.hello.remote(self.games))
        return actor

    def play(self, actor: Any, task: Task) -> None:
        self.expect(actor, actor.play.remote(task, self._weights[task.version]))

    def publish(self, version: int, weights: Any, needed: Set[int]) -> None:
        """Put weights into the object store and remove all versions but the needed ones."""
        self._weights = {old: found for old, found in self._weights.items() if old in needed}
        self._weights[version] = self._put(pack(weights, level=STORED))

    def close(self) -> None:
        """Remove all weights from the object store."""
        self._weights.clear()

    def _put(self, content: bytes) -> Any:
        """A reference to bytes in the object store; waits for a while if it is full."""
        ray, until, notified = self.cluster.ray, time.monotonic() + _FULL_STORE_SECONDS, False
        while True:
            try:
                return ray.put(content)
            except ray.exceptions.ObjectStoreFullError:
                text = f"The object store of node {self.cluster.here.name} is full"
                if time.monotonic() > until:
                    raise ClusterError(
                        f"{text}. End other jobs, or start the node with a larger --object-store-memory."
                    ) from None
                if not notified:
                    self.notify(f"{text}; waiting for room.")
                notified = True
                time.sleep(1.0)


def describe(error: BaseException) -> Failure:
    """What an error of Ray means, in one line."""
    text = f"{type(error).__name__}: {error}"
    cause = getattr(error, "cause", None)  # of an exception that was raised inside the actor
    if cause is not None:
        text = f"{type(cause).__name__}: {cause}"
    if any(name in text for name in _OUT_OF_MEMORY):
        return Failure(f"its actor ran out of memory ({_line(text)})", ERROR if cause is None else HOPELESS)
    if _FULL_STORE in text:
        return Failure("its object store is full; start it with a larger --object-store-memory", ERROR)
    if cause is not None:
        return Failure(f"its actor failed ({_line(text)})", ERROR)
    if _CREATION in text:
        return Failure(f"no actor can start there ({_last_line(text)})", HOPELESS)
    return Failure("its actor died")


def _line(text: str) -> str:
    """The first line of an error, at most 200 characters."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0][:200] if lines else "no reason given"


def _last_line(text: str) -> str:
    """The last line of an error; in a traceback it says what was raised."""
    return _line(text.strip().splitlines()[-1])
