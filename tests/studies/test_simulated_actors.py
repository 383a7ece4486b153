"""Simulated actors: late weights and lost chunks, compared with the plain loop and with the definition."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tabia.networks import Variables
from tabia.studies.catalog.scaling import STUDY
from tabia.studies.parts.simulated_actors import Impairment, SimulatedActors, lost_lanes, without
from tabia.training import Training, train
from tabia.training import state as states
from tabia.training.iteration import Iteration
from tabia.training.plan import Plan
from tabia.training.selfplay import replay
from tabia.training.state import State, playing


@pytest.fixture(scope="module")
def plan() -> Plan:
    return Plan(STUDY.scale("tiny").config.changed({"iterations": 4}))


def run(plan: Plan, make: Callable[..., Iteration], iterations: int = 4) -> list[State]:
    """The states before and after each of some iterations."""
    found = [states.begin(plan)]
    for number in range(iterations):
        turn = make(plan=plan, state=jax.tree.map(jnp.copy, found[-1]), number=number, progress=0.0)
        turn.store(turn.play())
        turn.learn()
        found.append(turn.state)
    return found


def same(one: object, other: object) -> bool:
    """Whether two trees are equal, bit for bit."""
    leaves = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return all(np.array_equal(first, second) for first, second in leaves)


def test_without_impairment_a_run_is_the_plain_one(plan: Plan, tmp_path: Path) -> None:
    made = []
    for name, make in (("plain", Iteration), ("actors", SimulatedActors(Impairment(actors=4)))):
        training = Training.begin(tmp_path / name, plan.config)
        train(training, signals=False, make_iteration=make)
        made.append(training.state)
    assert same(*made) and int(made[0].train_state.step) > 0


def test_weights_arrive_after_the_delay() -> None:
    actors = SimulatedActors(Impairment(delay=3))
    sent = [Variables({}, {}) for _ in range(9)]
    received = [actors.received(one) for one in sent]
    assert [id(one) for one in received] == [id(sent[number]) for number in (0, 0, 0, 0, 1, 2, 3, 4, 5)]


def test_a_delayed_iteration_plays_with_the_earlier_weights_and_learns_with_the_newest(plan: Plan) -> None:
    """The second iteration is the first that learns, so the third and fourth see other weights than those that play."""
    delayed = run(plan, SimulatedActors(Impairment(delay=1)))
    for number in (2, 3):
        assert not same(playing(delayed[number - 1]), playing(delayed[number]))
        before, after = delayed[number], delayed[number + 1]
        key = jax.random.split(jax.random.fold_in(jax.random.key(plan.config.seed), number), 3)[0]
        lanes, _ = plan.selfplay.play(playing(delayed[number - 1]), before.boards[0].lanes, key)
        assert same(lanes, after.boards[0].lanes)
        assert int(after.train_state.step) > int(before.train_state.step)
        assert after.champion is None


def test_a_lost_chunk_is_never_learned_from_and_neither_are_the_games_it_interrupts(plan: Plan) -> None:
    """Two chunks, the second one lost in half of the lanes, then a third: compared with the definition lane by lane."""
    state, chunks = states.begin(plan), []
    lanes = state.boards[0].lanes
    for number in range(3):
        lanes, plies = plan.selfplay.play(playing(state), lanes, jax.random.key(number))
        chunks.append(plies)
    lost = jnp.arange(plan.config.selfplay.games) % 2 == 0
    buffer = state.boards[0].buffer
    for plies in (chunks[0], without(chunks[1], lost), chunks[2]):
        buffer = replay.add(buffer, plies, reach=plan.reach)
    length = plan.config.selfplay.plies
    ended = np.concatenate([plies.ended for plies in chunks])
    assert not any(np.asarray(plies.explored).any() for plies in chunks)
    for lane in range(plan.config.selfplay.games):
        for row in range(3 * length):
            segment = slice(row, length if row < length else 3 * length) if lost[lane] else slice(row, 3 * length)
            expected = ended[segment, lane].any() and not (bool(lost[lane]) and length <= row < 2 * length)
            assert bool(buffer.ready[row, lane]) == expected, (row, lane)
    assert ended[:length, ::2].sum() < ended[: 2 * length, ::2].sum()  # some games were interrupted


def test_new_games_replace_lost_ones(plan: Plan) -> None:
    turn = SimulatedActors(Impairment(dropped=1.0, actors=2))(
        plan=plan, state=states.begin(plan), number=0, progress=0.0
    )
    plies = turn.play()
    assert not np.asarray(plies.ended).any() and np.asarray(plies.explored).all()
    assert not np.asarray(turn.state.boards[0].lanes.ply).any()  # this recipe has no random openings


def test_chunks_are_lost_whole_and_with_the_given_probability() -> None:
    impairment, lanes = Impairment(dropped=0.75, actors=16), 64
    drawn = np.array([lost_lanes(impairment, lanes, jax.random.key(seed)) for seed in range(40)])
    by_actor = drawn.reshape(40, 16, 4)
    assert (by_actor.all(axis=2) == by_actor.any(axis=2)).all()
    # 640 draws: three standard errors are 3 sqrt(0.75 * 0.25 / 640) = 0.051.
    assert abs(drawn.mean() - 0.75) < 0.052
    assert not np.asarray(lost_lanes(Impairment(), lanes, jax.random.key(0))).any()
