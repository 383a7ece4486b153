"""The pool: whatever actors, nodes and the learner do, every chunk is taken once, and little is held in memory."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabia.cluster.actors import Identity
from tabia.cluster.chunks import Chunk, Key, Task
from tabia.cluster.errors import ClusterError
from tabia.cluster.placement import DEATH, ERROR, HOPELESS, Need, Placement
from tabia.cluster.pool import Failure, Pool

from .fakes import DIED, FakeLauncher, make_pool, node

HERE = Identity("1.0", ('{"game": "tictactoe"}',))


def task(round: int, slot: int, lanes: bytes = b"") -> Task:
    return Task(Key(round, slot), version=round, config="", random=b"", lanes=lanes, revisits=None)


def played(task: Task) -> Chunk:
    """The lanes of a slot list the rounds that it has been through."""
    after = task.lanes + bytes([task.key.round])
    return Chunk(task.key, task.version, lanes=after, plies=after, seconds=1.0)


def answering(actor: object, task: Task | None) -> Identity | Chunk:
    return HERE if task is None else played(task)


@settings(max_examples=100, deadline=None)
@given(st.data(), st.integers(1, 4), st.integers(1, 4), st.integers(0, 3))
def test_every_chunk_counts_once_however_actors_and_nodes_die(data, actors, slots, ahead):
    rounds, troubles = 5, [30]  # after that many troubles nothing goes wrong any more, so that the run ends

    def draws_trouble() -> bool:
        if not troubles[0] or data.draw(st.integers(0, 2), label="trouble"):
            return False
        troubles[0] -= 1
        return True

    def answer(actor, task):
        if draws_trouble():
            return DIED
        return HERE if task is None else played(task)

    launcher = FakeLauncher(answer, nodes=2, choose=lambda count: data.draw(st.integers(0, count - 1), label="next"))
    pool, most, opened, taken = make_pool(launcher, actors, HERE), 0, set(), []
    lanes = dict.fromkeys(range(slots), (0, b""))  # the next round of each slot, and its lanes

    def submit() -> None:
        for slot, (number, before) in lanes.items():
            if number in opened and number >= 0:
                lanes[slot] = (-1, b"")
                pool.submit([task(number, slot, before)])

    def on_chunk(chunk: Chunk) -> None:
        lanes[chunk.key.slot] = (chunk.key.round + 1, chunk.lanes)
        submit()

    pool.on_chunk = on_chunk
    for number in range(rounds):
        opened |= {each for each in range(number, number + ahead + 1) if each < rounds}
        submit()
        keys = [Key(number, slot) for slot in range(slots)]
        while not all(key in pool._chunks for key in keys):
            if draws_trouble():
                _leave_and_join(launcher, data)
            pool.step()
            most = max(most, pool.held)
        taken += pool.take(keys)
    assert [chunk.key for chunk in taken] == [Key(number, slot) for number in range(rounds) for slot in range(slots)]
    assert all(chunk.plies == bytes(range(chunk.key.round + 1)) for chunk in taken), "each follows the one before it"
    assert most <= (ahead + 1) * slots and pool.held == 0
    wasted = len(launcher.played) - rounds * slots
    assert wasted <= 30 - troubles[0]  # only what an actor was playing when it died is played again


def _leave_and_join(launcher: FakeLauncher, data: st.DataObject) -> None:
    """One node leaves, if another is left, or one joins."""
    if len(launcher.living) > 1 and data.draw(st.booleans(), label="leave"):
        launcher.living.remove(data.draw(st.sampled_from(launcher.living), label="who"))
    else:
        launcher.living.append(node(100 + len(launcher.where) + len(launcher.played)))


def test_what_was_dropped_is_never_taken():
    launcher = FakeLauncher(answering)
    pool = make_pool(launcher, 2, HERE)
    pool.submit([task(0, 0), task(0, 1), task(0, 2)])
    for _ in range(3):
        pool.step()
    pool.drop()
    pool.submit([task(0, 0, b"new")])
    while Key(0, 0) not in pool._chunks:
        pool.step()
    assert pool.take([Key(0, 0)])[0].plies == b"new\0"
    for _ in range(5):
        pool.step()
    assert pool.held == 0


@pytest.mark.parametrize(
    ("identity", "words"),
    [
        (Identity("0.9", HERE.games), "it has Tabia 0.9, this machine 1.0"),
        (Identity("1.0", ('{"game": "tictactoe", "game_version": 2}',)), "its game is"),
    ],
)
def test_a_node_with_other_versions_is_named_and_gets_no_work(identity, words):
    notes: list[str] = []
    launcher = FakeLauncher(
        lambda actor, task: (
            (identity if launcher.where[actor].id == "00000000" else HERE) if task is None else played(task)
        )
    )
    pool = make_pool(launcher, 2, HERE, notes)
    pool.submit([task(0, slot) for slot in range(4)])
    while pool.held > len(pool._chunks):
        pool.step()
    assert len(pool.take([Key(0, slot) for slot in range(4)])) == 4, "the other node continues"
    found = [note for note in notes if "10.0.0.0" in note]
    assert len(found) == 1 and words in found[0] and "\n" not in found[0]
    assert {place.id for place in launcher.where.values()} == {"00000001"}


def test_no_memory_gives_up_a_node_and_no_node_at_all_ends_the_run():
    launcher = FakeLauncher(
        lambda actor, task: HERE if task is None else Failure("its actor ran out of memory", HOPELESS)
    )
    notes: list[str] = []
    pool = make_pool(launcher, 2, HERE, notes)
    pool.submit([task(0, 0)])
    with pytest.raises(ClusterError, match=r"No node .*10\.0\.0\.0 .*memory.*10\.0\.0\.1 .*memory"):
        for _ in range(20):
            pool.step()
    assert sum("ran out of memory" in note for note in notes) == 2


def test_a_broken_pool_raises_in_the_learner():
    launcher = FakeLauncher(lambda actor, task: Failure("it is no good", HOPELESS))
    with make_pool(launcher, 1, HERE).serving() as pool, pytest.raises(ClusterError, match="it is no good"):
        pool.take([Key(0, 0)])


def test_actors_are_spread_over_the_nodes_by_their_capacity():
    placement, nodes = Placement(Need(cpus=2.0)), [node(0, cpus=4.0), node(1, cpus=8.0), node(2, cpus=1.0)]
    used: list[str] = []
    while (chosen := placement.choose(nodes, used)) is not None:
        used.append(chosen.id)
    assert sorted(used) == ["00000000"] * 2 + ["00000001"] * 4


@given(actors=st.integers(1, 40), cpus=st.lists(st.integers(0, 12), min_size=1, max_size=5))
def test_how_many_actors_share_a_node_follows_from_the_placement(actors, cpus):
    nodes, used = [node(number, cpus=count) for number, count in enumerate(cpus)], Counter[str]()
    for _ in range(actors):
        chosen = Placement(Need()).choose(nodes, used.elements())
        used.update([] if chosen is None else [chosen.id])
    for one in nodes:
        assert max(1, used[one.id]) <= Need().share(actors, one, nodes) <= used[one.id] + 1


def test_a_node_that_keeps_failing_is_given_up_and_a_chunk_clears_its_record():
    placement, place = Placement(Need()), node(0)
    for _ in range(100):
        assert not placement.failed(place, "its actor died", DEATH)
    for _ in range(HOPELESS - 1):
        assert not placement.failed(place, "its actor failed", ERROR)
    placement.succeeded(place)
    given_up = [placement.failed(place, "its actor failed", ERROR) for _ in range(HOPELESS)]
    assert given_up == [False] * (HOPELESS - 1) + [True]
    assert placement.choose([place], []) is None and placement.is_hopeless([place])


def test_actors_without_a_place_wait_and_say_so():
    notes: list[str] = []
    launcher = FakeLauncher(answering, nodes=1)
    pool: Pool = make_pool(launcher, 3, HERE, notes)
    for _ in range(5):
        pool.step()
    assert notes == ["2 of 3 actors wait for a node with room for them."] and pool.alive == 1
    launcher.living += [node(7), node(8)]
    for _ in range(5):
        pool.step()
    assert pool.alive == 3
