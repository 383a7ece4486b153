"""Losses and lessons: least at their targets, finite where masked, and consistent in every symmetry."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tabia.games import make
from tabia.networks import Outputs
from tabia.search.evaluators import by_seat, random_actions
from tabia.training.config.schema import LearnerSettings, TargetSettings
from tabia.training.learning import losses
from tabia.training.learning.losses import Lesson
from tabia.training.selfplay.play import Plies
from tabia.training.selfplay.replay import Samples

LEGAL = jnp.array([[True, True, True, False]] * 3)
POLICY = jnp.array([[0.5, 0.25, 0.25, 0], [1.0, 0, 0, 0], [0, 0, 0, 0.0]])


def lesson(**changes) -> Lesson:
    """Three positions: one like any other, one with a single good move, one that is to be passed over."""
    whole = Lesson(
        jnp.zeros((3, 1, 1, 1)),
        LEGAL,
        POLICY,
        jnp.array([[1.0, -1.0], [0.0, 0.0], [jnp.pi, 9.0]]),
        jnp.array([[0.5, -0.5], [0.5, -0.5], [7.0, 7.0]]),
        jnp.array([1.0, 1.0, 0.0]),
        jnp.array([1.0, 1.0, 0.0]),
    )
    return whole._replace(**changes)


def outputs(logits, values=None, wdl=None) -> Outputs:
    values = jnp.zeros((3, 2)) if values is None else values
    return Outputs(jnp.asarray(logits, jnp.float32), values, wdl)


def least(learner: LearnerSettings, illegal: float) -> float:
    """The policy loss of the target itself."""
    logits = jnp.where(LEGAL, jnp.log(jnp.maximum(POLICY, 1e-12)), illegal)
    return float(losses.policy_loss(outputs(logits), lesson(), learner).loss)


@pytest.mark.parametrize("kind", ["cross_entropy", "squared"])
@pytest.mark.parametrize("mask", [True, False])
def test_the_policy_loss_is_nothing_at_its_target_and_more_elsewhere(kind: str, mask: bool) -> None:
    learner = LearnerSettings(policy_loss=kind, mask_illegal=mask)
    assert least(learner, illegal=-40.0) == pytest.approx(0, abs=1e-5)
    for seed in range(5):
        logits = jax.random.normal(jax.random.key(seed), (3, 4))
        loss, entropy, target_entropy, agreement, illegal = losses.policy_loss(outputs(logits), lesson(), learner)
        assert 0 < float(loss) < jnp.inf and 0 < float(entropy) < np.log(3) and 0 <= float(agreement) <= 1
        assert float(illegal) == pytest.approx(float(jax.nn.softmax(logits)[:2, 3].mean()), rel=1e-5)
        assert float(target_entropy) == pytest.approx((0.5 * np.log(2) + 0.5 * np.log(4)) / 2)


@pytest.mark.parametrize("kind", ["cross_entropy", "squared"])
def test_illegal_moves_take_no_part_unless_asked(kind: str) -> None:
    masked = LearnerSettings(policy_loss=kind)
    assert least(masked, illegal=30.0) == pytest.approx(least(masked, illegal=-30.0), abs=1e-6)
    slope = jax.grad(lambda logits: losses.policy_loss(outputs(logits), lesson(), masked).loss)(jnp.ones((3, 4)))
    assert np.isfinite(slope).all() and not slope[:, 3].any() and not slope[2].any() and slope[:2, :3].any()


def test_open_illegal_moves_cost_the_cross_entropy() -> None:
    learner = LearnerSettings(mask_illegal=False)
    assert least(learner, illegal=0.0) == pytest.approx(np.log(2), abs=1e-5)  # half the odds go to the illegal move
    assert np.isfinite(least(learner, illegal=1e4))


def test_the_squared_value_loss_is_nothing_at_the_mixture() -> None:
    at = losses.value_loss(
        outputs(jnp.zeros((3, 4)), 0.7 * lesson().outcome + 0.3 * lesson().searched), lesson(), LearnerSettings(), 0.3
    )
    assert float(at) == pytest.approx(0, abs=1e-6)
    off = losses.value_loss(outputs(jnp.zeros((3, 4)), lesson().outcome), lesson(), LearnerSettings(), 0.3)
    assert float(off) == pytest.approx((0.15**2 + 0.15**2) / 2)


def test_the_cross_entropy_of_values_is_least_at_the_mixture() -> None:
    learner = LearnerSettings(value_loss="cross_entropy")
    chances = 0.7 * losses.win_draw_loss(lesson().outcome[:, 0]) + 0.3 * losses.win_draw_loss(lesson().searched[:, 0])
    assert np.asarray(chances[:2]) == pytest.approx(np.array([[0.85, 0.15, 0], [0.15, 0.85, 0]]), abs=1e-6)

    def loss(wdl):
        return losses.value_loss(outputs(jnp.zeros((3, 4)), wdl=wdl), lesson(), learner, 0.3)

    best = jnp.log(jnp.maximum(chances, 1e-9))
    entropy = -(0.85 * np.log(0.85) + 0.15 * np.log(0.15))
    assert float(loss(best)) == pytest.approx(entropy, abs=1e-5)
    assert np.abs(np.asarray(jax.grad(loss)(best))).max() < 1e-6


def test_a_lesson_without_weight_costs_nothing() -> None:
    nothing = lesson(weight=jnp.zeros(3), policy_weight=jnp.zeros(3))
    for learner in (LearnerSettings(), LearnerSettings(policy_loss="squared", value_loss="cross_entropy")):
        found = losses.losses(outputs(jnp.ones((3, 4)), wdl=jnp.ones((3, 3))), nothing, learner, TargetSettings())
        assert found.board is None and [float(value) for value in found[:-1]] == [0.0] * 7


def test_the_board_loss_is_least_at_the_last_board_and_counts_games_that_reached_it() -> None:
    board = jax.random.bernoulli(jax.random.key(0), shape=(3, 2, 2, 1)).astype(jnp.float32)
    taught = lesson(last_board=board, board_weight=jnp.array([1.0, 0.0, 1.0]))

    def loss(logits) -> float:
        told = outputs(jnp.ones((3, 4)))._replace(last_board=logits)
        found = losses.losses(told, taught, LearnerSettings(board_weight=3.0), TargetSettings())
        plain = losses.losses(outputs(jnp.ones((3, 4))), taught, LearnerSettings(), TargetSettings())
        assert float(found.total) == pytest.approx(float(plain.total) + 3 * float(found.board), rel=1e-5)
        return float(found.board)

    known = 20.0 * (2.0 * board - 1.0)
    assert loss(known) == pytest.approx(0, abs=1e-6) and loss(-known) == pytest.approx(20, rel=1e-5)
    assert loss(known.at[1].set(-known[1])) == pytest.approx(0, abs=1e-6)  # the game that did not reach it
    assert loss(jnp.zeros_like(board)) == pytest.approx(np.log(2), rel=1e-5)


def test_the_last_board_is_seen_by_who_moves_now_not_by_who_moved_last() -> None:
    """After three moves the second seat is to move; the last position, the first seat's turn, is shown its way."""
    game, states = make("connect4"), [make("connect4").init(jax.random.key(0))]
    for action in (3, 3, 2, 4, 2, 6):
        states.append(game.step(states[-1], jnp.int32(action)))
    now, last = (jax.tree.map(lambda leaf: leaf[None], states[ply]) for ply in (3, 6))
    row, yes, seats = jnp.zeros(1, jnp.int32), jnp.ones(1, bool), jnp.array([[1.0, -1.0]])
    policy = jnp.ones((1, 7), jnp.float16) / 7
    plies = Plies(now, row, policy, seats, yes, jnp.ones(1), yes, seats, ~yes, ~yes, ~yes, yes, row, row)
    made = losses.lesson(game, Samples(plies, seats, jnp.ones(1), last, yes), jax.random.key(0), symmetries=False)
    first, second = jnp.moveaxis(game.observe(states[6]), -1, 0)  # the first seat sees its own stones first
    assert first.sum() == second.sum() == 3 and first[-1, 2] == 1  # it began with 4, 3, 3
    assert (made.last_board[0] == jnp.stack([second, first], axis=-1)).all()
    assert made.outcome.tolist() == [[-1.0, 1.0]] and made.board_weight.tolist() == [1.0]


@pytest.mark.parametrize("value", [-1.0, -0.25, 0.0, 0.5, 1.0])
def test_win_draw_loss_has_the_value_as_its_mean(value: float) -> None:
    chances = np.asarray(losses.win_draw_loss(jnp.array([value])))[0]
    assert chances.sum() == pytest.approx(1) and (chances >= 0).all() and chances[0] - chances[2] == value


@pytest.mark.parametrize("seats", [2, 3, 4])
def test_from_mover_undoes_by_seat(seats: int) -> None:
    mover = jnp.arange(12) % seats
    values = jax.random.normal(jax.random.key(0), (12, seats))
    assert (losses.from_mover(by_seat(values, mover), mover) == values).all()
    assert (by_seat(losses.from_mover(values, mover), mover) == values).all()
    assert (losses.from_mover(values, mover)[:, 0] == values[jnp.arange(12), mover]).all()


@pytest.mark.parametrize(("id", "moves"), [("tictactoe", 4), ("connect4", 9), ("othello", 7)])
def test_a_turned_lesson_is_the_lesson_of_the_turned_game(id: str, moves: int) -> None:
    """The same game played in a symmetry leads to the turned observation, legal moves and policy."""
    game, count = make(id), 16
    each = np.arange(count) % len(game.symmetries)
    goes_to = jnp.asarray(np.stack([symmetry.actions for symmetry in game.symmetries])[each])
    plain = turned = jax.vmap(game.init)(jax.random.split(jax.random.key(0), count))
    step, legal = jax.jit(jax.vmap(game.step)), jax.jit(jax.vmap(game.legal))
    for ply in range(moves):
        actions = random_actions(jax.random.key(ply), legal(plain))
        plain = step(plain, actions)
        turned = step(turned, goes_to[jnp.arange(count), actions])
    observe = jax.jit(jax.vmap(game.observe))
    policy = jax.random.uniform(jax.random.key(1), (count, game.num_actions)) * legal(plain)
    made = Lesson(observe(plain), legal(plain), policy, *[jnp.zeros((count, 2))] * 2, *[jnp.ones(count)] * 2)
    made = made._replace(last_board=observe(plain))
    found = losses.turned(game, made, jax.random.key(0), drawn=jnp.asarray(each))
    assert (found.observations == observe(turned)).all() and (found.last_board == found.observations).all()
    assert (found.legal == legal(turned)).all()
    assert (jnp.take_along_axis(found.policy, goes_to, axis=1) == policy).all()


def test_symmetries_are_drawn_evenly() -> None:
    game, count = make("tictactoe"), 800
    corner = jnp.zeros((count, 9)).at[:, 0].set(1.0)
    made = Lesson(jnp.zeros((count, 3, 3, 2)), corner > 0, corner, *[jnp.zeros((count, 2))] * 2, *[jnp.ones(count)] * 2)
    corners = losses.turned(game, made, jax.random.key(0)).policy.sum(0)
    assert np.asarray(corners)[[0, 2, 6, 8]] == pytest.approx(200, abs=4 * np.sqrt(200))


def test_quick_plies_teach_values_alone() -> None:
    half = lesson(policy_weight=jnp.array([1.0, 0.0, 0.0]))
    logits = jnp.array([[1.0, 0, 0, 0], [0, 9.0, 0, 0], [0, 0, 0, 0]])
    alone = losses.losses(outputs(logits), half, LearnerSettings(), TargetSettings())
    other = losses.losses(outputs(logits.at[1].set(0.0)), half, LearnerSettings(), TargetSettings())
    assert float(alone.policy) == float(other.policy) and float(alone.value) > 0
    weighed = losses.losses(outputs(logits), half, replace(LearnerSettings(), value_weight=3.0), TargetSettings())
    assert float(weighed.total) == pytest.approx(float(alone.policy) + 3 * float(alone.value))
