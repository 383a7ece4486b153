"""Matches and studies on a Ray cluster: the options `--ray` and `--actors` of commands that do independent jobs."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from tabia.cli import interrupts
from tabia.cli.actors import abandon

if TYPE_CHECKING:
    from tabia.cluster.connection import Cluster
    from tabia.cluster.jobs import Runner
    from tabia.cluster.workers import MakeWork


@contextmanager
def job_actors(
    address: str, actors: int | None, make: MakeWork, common: Any, *, games: tuple[str, ...] = (), jobs: int
) -> Iterator[Runner]:
    """A runner of jobs on a cluster; with no number of actors as many as it has capacity for, but no more than jobs."""
    from tabia.cluster.connection import connect
    from tabia.cluster.workers import job_runner

    interrupted = threading.Event()

    def leave(number: int) -> str:
        interrupted.set()  # its actors die now, which is no news; Ray may end this process, too
        return abandon(cluster)

    def notify(text: str) -> None:
        if not interrupted.is_set():
            typer.echo(text, err=True)

    with connect(address, cpus=actors) as cluster, interrupts.on_interrupt(leave, last=True):
        gpus, capacity = _capacity(cluster)
        count = min(actors or capacity, max(jobs, 1))
        with job_runner(cluster, make, common, actors=count, gpus=gpus, games=games, notify=notify) as run:
            yield run


def _capacity(cluster: Cluster) -> tuple[float, int]:
    """The GPUs that each actor takes, and the number of actors that a cluster has capacity for."""
    nodes = cluster.nodes()
    gpus = float(any(node.gpus for node in nodes))
    return gpus, max(1, math.floor(sum(node.gpus if gpus else node.cpus for node in nodes)))
