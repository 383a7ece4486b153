"""Matches and studies on a Ray cluster: the options `--ray` and `--actors` of commands that do independent jobs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from tabia.cli import interrupts
from tabia.cli.actors import abandon, capacity

if TYPE_CHECKING:
    from tabia.cluster.jobs import Runner
    from tabia.cluster.workers import MakeWork


@contextmanager
def job_actors(
    address: str, actors: int | None, make: MakeWork, common: Any, *, games: tuple[str, ...] = (), jobs: int
) -> Iterator[Runner]:
    """A runner of jobs on a cluster; by default with as many actors as it has capacity for, but no more than jobs."""
    from tabia.cluster.connection import connect
    from tabia.cluster.workers import job_runner

    interrupted = threading.Event()

    def leave(number: int) -> str:
        interrupted.set()  # deaths of actors are expected now; Ray may end this process, too
        return abandon(cluster)

    def notify(text: str) -> None:
        if not interrupted.is_set():
            typer.echo(text, err=True)

    with connect(address, cpus=actors) as cluster, interrupts.on_interrupt(leave, last=True):
        need, most = capacity(cluster)
        count = min(actors or max(most, 1), max(jobs, 1))
        with job_runner(cluster, make, common, actors=count, need=need, games=games, notify=notify) as run:
            yield run
