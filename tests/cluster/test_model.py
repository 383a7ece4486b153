"""The throughput model: closed forms, limits, and a schedule played out event by event."""

from __future__ import annotations

import heapq
from dataclasses import replace

import pytest

from tabia.cluster.model import (
    MEMORY,
    Actors,
    Costs,
    Line,
    Link,
    Workload,
    fit_line,
    predict_actors,
    predict_devices,
    predict_loop,
)

WORK = Workload(lanes=64, plies=4, simulations=8, steps=10, batch_size=32)
COSTS = Costs(
    simulation=Line(1e-3, 1e-4),
    network=Line(5e-4, 8e-5),
    step=Line(2e-3, 1e-4),
    store=1e-5,
    position_bytes=100.0,
    lane_bytes=50.0,
    weight_bytes=1e5,
    cores=1.0,
)
PLAY = 4 * 8 * (1e-3 + 64e-4)
LEARN = 10 * (2e-3 + 32e-4) + 256e-5


def test_one_actor_without_transfer_is_the_plain_loop() -> None:
    loop = predict_loop(COSTS, WORK)
    assert loop.iteration == pytest.approx(PLAY + LEARN) and loop.staleness == 0
    assert predict_actors(COSTS, WORK, Actors(count=1, ahead=0)).iteration == pytest.approx(loop.iteration)
    assert predict_devices(COSTS, WORK, 1, Link(1.0, 1.0)).iteration == pytest.approx(loop.iteration)
    assert loop.positions == pytest.approx(256 / (PLAY + LEARN))


def test_one_actor_ahead_hides_the_shorter_of_playing_and_learning() -> None:
    found = predict_actors(COSTS, WORK, Actors(count=1))
    assert found.iteration == pytest.approx(max(PLAY, LEARN)) and found.bound == "self-play" and found.staleness == 1
    # On one core nothing is hidden.
    found = predict_actors(COSTS, WORK, Actors(count=1, cores=1))
    assert found.iteration == pytest.approx(PLAY + LEARN) and found.bound == "cores"


def test_many_actors_are_bound_by_the_learner() -> None:
    """Without fixed costs self-play takes as much less time as there are actors, until only learning is left."""
    costs = replace(COSTS, simulation=Line(0.0, 1e-3))
    alone = predict_actors(costs, WORK, Actors(count=1)).iteration
    two = predict_actors(costs, WORK, Actors(count=2))
    assert two.iteration == pytest.approx(alone / 2) and two.bound == "self-play"
    many = predict_actors(costs, WORK, Actors(count=10_000, ahead=3))
    assert many.iteration == pytest.approx(LEARN) and many.bound == "learner" and many.staleness == 3


def test_fixed_costs_bound_actors_that_have_few_lanes() -> None:
    found = predict_actors(replace(COSTS, step=Line(0, 0), store=0), WORK, Actors(count=10_000))
    assert found.iteration == pytest.approx(4 * 8 * 1e-3, rel=0.01) and found.bound == "self-play"


def test_a_slow_link_bounds_everything() -> None:
    """All chunks with their lanes, and the weights once per node, pass the link of the learner."""
    slow = Link(1e5)
    found = predict_actors(COSTS, WORK, Actors(count=64, link=slow, nodes=8))
    assert found.iteration == pytest.approx((256 * 100 + 2 * 64 * 50 + 8 * 1e5) / 1e5) and found.bound == "link"
    latency = predict_actors(COSTS, WORK, Actors(count=1, link=Link(1e12, 5.0)))
    assert latency.iteration == pytest.approx(PLAY + 5.0, rel=1e-4)


def test_packing_is_done_by_the_actors_and_unpacking_by_the_learner() -> None:
    costs = replace(COSTS, pack=1e-3, unpack=2e-3)
    found = predict_actors(costs, WORK, Actors(count=2))
    assert found.playing == pytest.approx(4 * 8 * (1e-3 + 32e-4) + 128e-3)
    assert found.learning == pytest.approx(LEARN + 512e-3)


def test_devices_share_lanes_and_batches_and_sum_gradients() -> None:
    link = Link(1e8, 1e-4)
    found = predict_devices(COSTS, WORK, 4, link)
    exchange = 10 * (1e-4 + 2 * 3 / 4 * 1e5 / 1e8)
    assert found.playing == pytest.approx(4 * 8 * (1e-3 + 16e-4))
    assert found.learning == pytest.approx(10 * (2e-3 + 8e-4) + 256e-5)
    assert found.iteration == pytest.approx(found.playing + found.learning + exchange)


def test_devices_that_share_a_core_pay_fixed_costs_each() -> None:
    found = predict_devices(COSTS, WORK, 4, cores=1)
    assert found.playing == pytest.approx(PLAY + 3 * 4 * 8 * 1e-3)
    assert found.learning == pytest.approx(LEARN + 3 * 10 * 2e-3)


def test_a_run_that_grows_with_its_actors_plays_as_fast_per_actor() -> None:
    """Ten times the lanes and the steps on ten actors with a learner of their own: ten times the positions."""
    one = predict_actors(COSTS, WORK, Actors(count=1), replace(COSTS, step=Line(0, 0), store=0))
    ten = predict_actors(COSTS, WORK.grown(10), Actors(count=10), replace(COSTS, step=Line(0, 0), store=0))
    assert ten.positions == pytest.approx(10 * one.positions)
    assert WORK.grown(10).steps == 100


@pytest.mark.parametrize("ahead", [0, 1, 3])
@pytest.mark.parametrize(("play", "learn"), [(3.0, 1.0), (1.0, 3.0), (2.0, 1.9)])
@pytest.mark.parametrize("count", [1, 4])
def test_the_schedule_played_out(ahead: int, play: float, learn: float, count: int) -> None:
    """A run with these times, event by event, takes the predicted time per iteration."""
    costs = Costs(simulation=Line(play, 0), network=Line(0, 0), step=Line(learn, 0))
    work = Workload(lanes=4, plies=1, simulations=1, steps=1, batch_size=1)
    found = predict_actors(costs, work, Actors(count=count, ahead=ahead))
    assert found.iteration == pytest.approx(played_out(count, play, learn, ahead)) and found.staleness == ahead


def played_out(count: int, play: float, learn: float, ahead: int, rounds: int = 60) -> float:
    """Seconds per iteration in the second half of a run, one slot per actor.

    A slot may play round r once the learner has learned from round r - ahead - 1.
    """
    learned = [0.0]  # when the learner had learned from n rounds
    played: list[list[float]] = [[] for _ in range(rounds)]  # when chunks of a round arrived
    waiting = [(0.0, slot, 0) for slot in range(count)]  # when a slot is free, for its next round
    while waiting:
        free, slot, number = heapq.heappop(waiting)
        needed = max(number - ahead, 0)
        if needed >= len(learned):  # blocked: the learner comes first
            heapq.heappush(waiting, (free + 1e-9, slot, number))
            _learn(learned, played, count, learn)
            continue
        start = max(free, learned[needed])
        played[number].append(start + play)
        if number + 1 < rounds:
            heapq.heappush(waiting, (start + play, slot, number + 1))
    _learn(learned, played, count, learn)
    half = rounds // 2
    return (learned[rounds] - learned[half]) / (rounds - half)


def _learn(learned: list[float], played: list[list[float]], count: int, seconds: float) -> None:
    """Learn from all rounds whose chunks are known."""
    while len(learned) <= len(played) and len(played[len(learned) - 1]) == count:
        learned.append(max(learned[-1], *played[len(learned) - 1]) + seconds)


def test_a_line_is_fitted_and_never_negative() -> None:
    line = fit_line([16, 64, 256], [1 + 16 * 0.5, 1 + 64 * 0.5, 1 + 256 * 0.5])
    assert line.fixed == pytest.approx(1.0) and line.each == pytest.approx(0.5)
    assert fit_line([10], [5.0]) == Line(0.0, 0.5)
    falling, sinking = fit_line([1, 2], [4.0, 1.0]), fit_line([1, 2], [1.0, 4.0])
    assert falling.each == 0.0 and 1.0 < falling.fixed < 4.0
    assert sinking.fixed == 0.0 and 1.0 < sinking.each < 2.0
    assert Link(100.0, 0.5).seconds(200.0) == pytest.approx(2.5) and MEMORY.seconds(1e12) == 0.0
