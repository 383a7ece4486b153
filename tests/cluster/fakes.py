"""Actors inside the test's process, whose fate the test decides: no Ray, no threads, the same order every time."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager

from tabia.cluster import chunks, loop
from tabia.cluster.actors import Identity, SelfPlayActor, identify
from tabia.cluster.chunks import Chunk, Task
from tabia.cluster.connection import Node
from tabia.cluster.placement import Need, Placement
from tabia.cluster.pool import Event, Failure, Pool, Seat
from tabia.training.plan import Plan

DIED = Failure("its actor died")


def node(number: int, cpus: float = 1.0) -> Node:
    return Node(id=f"{number:08}", address=f"10.0.0.{number}", cpus=cpus, gpus=0.0, object_store=10**9)


class FakeLauncher:
    """Answers one call per `events`: the one that `choose` picks of those under way, with what `answer` makes of it.

    `answer(actor, task)` gets None as the task of a new actor that introduces itself.
    """

    def __init__(
        self,
        answer: Callable[[object, Task | None], Identity | Chunk | Failure],
        *,
        nodes: int = 2,
        choose: Callable[[int], int] = lambda count: 0,
    ) -> None:
        self.living = [node(number) for number in range(nodes)]
        self.answer, self.choose = answer, choose
        self.calls: list[tuple[object, Task | None]] = []
        self.where: dict[object, Node] = {}
        self.played: list[Task] = []  # every task handed to an actor
        self.weights: dict[int, bytes] = {}
        self.sent: dict[object, bytes] = {}  # the weights of the latest task, by actor

    def nodes(self):
        return self.living

    def start(self, node):
        actor = object()
        self.where[actor] = node
        self.calls.append((actor, None))
        return actor

    def play(self, actor, task):
        assert all(busy is not actor for busy, _ in self.calls), "one call at a time"
        self.played.append(task)
        self.sent[actor] = self.weights.get(task.version, b"")
        self.calls.append((actor, task))

    def stop(self, actor):
        self.calls = [call for call in self.calls if call[0] is not actor]
        self.where.pop(actor, None)

    def events(self, seconds):
        if not self.calls:
            return []
        actor, task = self.calls.pop(self.choose(len(self.calls)))
        if self.where[actor] not in self.living:
            return [Event(actor, DIED)]
        return [Event(actor, self.answer(actor, task))]

    def publish(self, version, weights, needed):
        self.weights = {old: found for old, found in self.weights.items() if old in needed}
        self.weights[version] = chunks.pack(weights, level=chunks.STORED)


class Ticking:
    """A clock that goes on by a second with every look."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def make_pool(launcher: FakeLauncher, actors: int, expected: Identity, notes: list[str] | None = None) -> Pool:
    return Pool(
        launcher=launcher,
        seats=[Seat() for _ in range(actors)],
        placement=Placement(Need()),
        expected=expected,
        notify=lambda text: None if notes is None else notes.append(text),
        clock=Ticking(),
    )


@contextmanager
def in_process(plan: Plan, *, slots: int, ahead: int, actors: int = 1, dies: Callable[[int], bool] = lambda call: False):
    """The execution of a run whose actors are in this process; those calls die whose number `dies` names."""
    games, player, count = tuple(board.game.id for board in plan.boards), SelfPlayActor(), [0]

    def answer(actor, task):
        if task is None:
            return player.hello(games)
        count[0] += 1
        return DIED if dies(count[0]) else player.play(task, launcher.sent[actor])

    launcher = FakeLauncher(answer, nodes=actors)
    pool = make_pool(launcher, actors, identify(games))
    take = pool.take

    def step_until_taken(keys):
        while not all(key in pool._chunks for key in keys):
            pool.step()
        return take(keys)

    pool.take = step_until_taken
    execution = loop.execution(pool, launcher.publish, plan, slots=slots, ahead=ahead)
    yield execution, launcher
