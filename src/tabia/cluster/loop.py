"""Training with actors on a cluster: iterations whose self-play is a round of chunks, played elsewhere.

    with connect("local") as cluster, self_play(training, cluster, actors=2) as execution:
        train(training, observers, make_iteration=execution.make_iteration, parts=execution.parts)

Everything but self-play is as on one machine: replay buffer, learner, gate, evaluation, checkpoints. A run can be
resumed with or without a cluster. What was played ahead of a checkpoint is not part of it and is played again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from jax import Array

from tabia.cluster.chunks import Chunk, Task
from tabia.cluster.connection import Cluster
from tabia.cluster.errors import ClusterError
from tabia.cluster.launcher import RayLauncher
from tabia.cluster.placement import ONE_CPU, Need
from tabia.cluster.pool import Pool
from tabia.cluster.rounds import PlayedRound, Rounds, check_slots
from tabia.search import memory
from tabia.training.compiling import Part
from tabia.training.iteration import Iteration, IterationResult, random_keys
from tabia.training.plan import Plan
from tabia.training.selfplay.play import Plies
from tabia.training.state import Board, State, playing
from tabia.training.training import Training

AHEAD = 1
"""Rounds played ahead of the learner: actors play the next round while it learns from this one."""


class ClusterIteration(Iteration):
    """An iteration whose plies come from actors."""

    def __init__(self, rounds: Rounds, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._rounds, self._number, self._whole = rounds, arguments["number"], arguments["plan"]
        self._played: PlayedRound | None = None
        self._waited = 0.0

    def play(self) -> Plies:
        """The plies of this iteration's round, once all its chunks have arrived."""
        self._enter("playing")
        started = time.monotonic()
        with self._guard.computing():
            self._played = self._rounds.play(self._number, self._whole, self.state, playing(self.state))
        self._waited = time.monotonic() - started
        self._put(Board(self._played.lanes, self.state.boards[self._board].buffer))
        return self._played.plies

    @property
    def result(self) -> IterationResult:
        """The numbers of the iteration, with those of the actors."""
        found = super().result
        return replace(found, extra={**found.extra, **self._actor_fields()})

    def _actor_fields(self) -> dict[str, Any]:
        assert self._played is not None
        chunks, pool = self._played.chunks, self._rounds.pool
        behind = [self._number - chunk.version for chunk in chunks]
        return {
            "actors": pool.alive,
            "actor_restarts": pool.restarts,
            "chunks": len(chunks),
            "chunk_bytes": sum(chunk.size for chunk in chunks),
            "chunk_seconds": sum(chunk.seconds for chunk in chunks) / len(chunks),
            "wait_seconds": round(self._waited, 4),
            "staleness": sum(behind) / len(behind),
            "staleness_max": max(behind),
        }


@dataclass(frozen=True)
class Execution:
    """How the iterations of a run are made, and what is compiled on this machine."""

    rounds: Rounds

    def make_iteration(self, **arguments: Any) -> ClusterIteration:
        """An iteration; the arguments are those of `Iteration`."""
        return ClusterIteration(self.rounds, **arguments)

    @staticmethod
    def parts(board: Plan) -> tuple[Part, ...]:
        """What this machine compiles: the learner; actors compile self-play."""
        return (board.learner,)


@contextmanager
def self_play(
    training: Training,
    cluster: Cluster,
    *,
    actors: int,
    need: Need = ONE_CPU,
    ahead: int = AHEAD,
    notify: Callable[[str], None] = lambda text: None,
) -> Iterator[Execution]:
    """Self-play of a run on a cluster; after the block its actors have ended and its weights are removed.

    Each actor takes `need` of its node. `notify` gets a line whenever something goes wrong on a node.
    """
    plan = Plan(training.config)
    if training.config.is_supervised:
        raise ClusterError("A supervised run has no self-play, so there is nothing for a cluster to do.")
    check_slots(plan, actors)
    check_memory(cluster, training.state, plan, ahead)
    games = tuple(board.game.id for board in plan.boards)
    launcher = RayLauncher(cluster, need, games, notify, actors)
    with closing(launcher), launcher.pool().serving() as pool:
        yield execution(pool, launcher.publish, plan, slots=actors, ahead=ahead)


def execution(
    pool: Pool[Task, Chunk], publish: Callable[..., None], plan: Plan, *, slots: int, ahead: int = AHEAD
) -> Execution:
    """The iterations of a run whose chunks a pool plays."""

    def keys(number: int) -> tuple[Array, Array]:
        found = random_keys(plan.config.seed, number)
        return found.play, found.revisit

    rounds = Rounds(pool=pool, slots=slots, ahead=ahead, turns=len(plan.boards), keys=keys, publish=publish)
    return Execution(rounds)


def check_memory(cluster: Cluster, state: State, plan: Plan, ahead: int) -> None:
    """Refuse chunks and weights that may not fit into the object store of this machine's node."""
    needed, node = store_bytes(state, plan, ahead), cluster.here
    if needed > node.object_store:
        raise ClusterError(
            f"The chunks and weights of {ahead + 1} rounds may take {memory.size_text(needed)}; the object store of "
            f"node {node.name} has {memory.size_text(node.object_store)}. Lower selfplay.games or selfplay.plies, or "
            "start the node with a larger --object-store-memory."
        )


def store_bytes(state: State, plan: Plan, ahead: int) -> int:
    """The most that the chunks and weights of a run take in the object store of one node."""
    plies, rows = plan.config.selfplay.plies, plan.rows
    board = max(
        memory.nbytes(board.lanes) + memory.nbytes(board.buffer.plies) * plies // rows for board in state.boards
    )
    return (ahead + 1) * (board + memory.nbytes(playing(state)))
