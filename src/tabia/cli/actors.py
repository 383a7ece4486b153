"""Where a run's games are played: in this process, or by actors on a Ray cluster (`--ray`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol

from tabia.cli import interrupts
from tabia.cluster.errors import ClusterError
from tabia.core.text import quote

if TYPE_CHECKING:
    from tabia.cluster.connection import Cluster
    from tabia.cluster.placement import Need
    from tabia.training.training import Training

Notify = Callable[[str], None]


class Place(Protocol):
    """Where games are played."""

    def options(self, training: Training, notify: Notify) -> AbstractContextManager[dict[str, Any]]:
        """The options of `train` that make it so, for the time of a block."""


class Here:
    """In this process."""

    def options(self, training: Training, notify: Notify) -> AbstractContextManager[dict[str, Any]]:
        return nullcontext({})


class OnCluster:
    """By actors on a cluster; without a number of them, as many as it has capacity for."""

    def __init__(self, cluster: Cluster, actors: int | None, gpus: float | None) -> None:
        self._cluster, self._actors = cluster, actors
        self._need, self._capacity = capacity(cluster, gpus)

    @contextmanager
    def options(self, training: Training, notify: Notify) -> Iterator[dict[str, Any]]:
        from tabia.cluster.loop import self_play

        actors = self._actors or fitting(self._capacity, training.config.selfplay.games)
        with self_play(training, self._cluster, actors=actors, need=self._need, notify=notify) as execution:
            yield {"make_iteration": execution.make_iteration, "parts": execution.parts}


def capacity(cluster: Cluster, gpus: float | None = None) -> tuple[Need, int]:
    """What each actor takes, by default one GPU if the cluster has any, and how many actors there is capacity for."""
    from tabia.cluster.placement import Need, default_need

    nodes = cluster.nodes()
    need = default_need(nodes) if gpus is None else Need(gpus=gpus)
    return need, sum(map(need.capacity, nodes))


def fitting(capacity: int, games: int) -> int:
    """As many actors as there is capacity for, in a number that divides the games played at once.

    >>> fitting(7, 256), fitting(0, 256)
    (4, 1)
    """
    return max(count for count in range(1, max(1, capacity) + 1) if games % count == 0)


@contextmanager
def place(address: str | None, actors: int | None, devices: str | None) -> Iterator[Place]:
    """The place that the options `--ray`, `--actors` and `--actor-devices` name."""
    check_actors(address, actors, devices)
    if address is None:
        yield Here()
        return
    from tabia.cluster.connection import connect

    gpus = parse_devices(devices)
    with connect(address, cpus=actors) as cluster, interrupts.on_interrupt(lambda number: abandon(cluster)):
        yield OnCluster(cluster, actors, gpus)


def check_actors(address: str | None, actors: int | None, devices: str | None = None) -> None:
    """Reject the options of a cluster if there is none."""
    for option, value in (("--actors", actors), ("--actor-devices", devices)):
        if address is None and value is not None:
            raise ClusterError(f"{option} is for a cluster: add --ray local or --ray HOST:PORT.")


def abandon(cluster: Cluster) -> str:
    """End a local cluster when the process is about to exit without unwinding."""
    cluster.kill()
    return ""


def parse_devices(text: str | None) -> float | None:
    """The GPUs of each actor.

    >>> parse_devices("cpu"), parse_devices("0.5"), parse_devices(None)
    (0.0, 0.5, None)
    """
    if text is None:
        return None
    try:
        found = 0.0 if text == "cpu" else float(text)
    except ValueError:
        found = math.nan
    if not (0.0 <= found <= 1.0):
        raise ClusterError(
            f"--actor-devices {quote(text)}: expected `cpu`, or the fraction of a GPU per actor, such as 1 or 0.5."
        )
    return found
