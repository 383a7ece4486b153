"""Losses and batches: least at their targets, finite where masked, and consistent in every symmetry."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tabia.games import make
from tabia.networks import NetworkConfig, Outputs
from tabia.search.evaluators import by_seat, random_actions
from tabia.training.config.schema import LearnerSettings, TargetSettings
from tabia.training.learning.batch import Batch, Target, from_mover, make_batch, transform
from tabia.training.learning.losses import (
    FinalPositionLoss,
    Losses,
    PolicyLoss,
    ValueLoss,
    compute_losses,
    make_terms,
    win_draw_loss,
)
from tabia.training.selfplay.play import Plies
from tabia.training.selfplay.replay import Samples

LEGAL = jnp.array([[True, True, True, False]] * 3)
METRICS = ("entropy", "target_entropy", "agreement", "illegal")
POLICY = jnp.array([[0.5, 0.25, 0.25, 0], [1.0, 0, 0, 0], [0, 0, 0, 0.0]])


def batch(**changes) -> Batch:
    """Three positions: an ordinary one, one with a single good move, one to be ignored."""
    whole = Batch(
        observations=jnp.zeros((3, 1, 1, 1)),
        legal=LEGAL,
        policy=POLICY,
        outcome=jnp.array([[1.0, -1.0], [0.0, 0.0], [jnp.pi, 9.0]]),
        search_values=jnp.array([[0.5, -0.5], [0.5, -0.5], [7.0, 7.0]]),
        weight=jnp.array([1.0, 1.0, 0.0]),
        policy_weight=jnp.array([1.0, 1.0, 0.0]),
        auxiliary={},
    )
    return whole._replace(**changes)


def outputs(logits, values=None, **auxiliary) -> Outputs:
    values = jnp.zeros((3, 2)) if values is None else values
    return Outputs(jnp.asarray(logits, jnp.float32), values, auxiliary)


def losses(found: Outputs, batch: Batch, learner: LearnerSettings | None = None) -> Losses:
    """All losses of a network with the given outputs."""
    network = NetworkConfig(final_position="final_position" in found.auxiliary)
    return compute_losses(make_terms(network, learner or LearnerSettings(), TargetSettings()), found, batch)


def least(learner: LearnerSettings, illegal: float) -> float:
    """The policy loss of the target itself."""
    logits = jnp.where(LEGAL, jnp.log(jnp.maximum(POLICY, 1e-12)), illegal)
    return float(PolicyLoss(learner)(outputs(logits), batch()).loss)


@pytest.mark.parametrize("kind", ["cross_entropy", "squared"])
@pytest.mark.parametrize("mask", [True, False])
def test_the_policy_loss_is_0_at_its_target_and_positive_elsewhere(kind: str, mask: bool) -> None:
    learner = LearnerSettings(policy_loss=kind, mask_illegal=mask)
    assert least(learner, illegal=-40.0) == pytest.approx(0, abs=1e-5)
    for seed in range(5):
        logits = jax.random.normal(jax.random.key(seed), (3, 4))
        loss, metrics = PolicyLoss(learner)(outputs(logits), batch())
        entropy, target_entropy, agreement, illegal = (
            metrics[name] for name in ("entropy", "target_entropy", "agreement", "illegal")
        )
        assert 0 < float(loss) < jnp.inf and 0 < float(entropy) < np.log(3) and 0 <= float(agreement) <= 1
        assert float(illegal) == pytest.approx(float(jax.nn.softmax(logits)[:2, 3].mean()), rel=1e-5)
        assert float(target_entropy) == pytest.approx((0.5 * np.log(2) + 0.5 * np.log(4)) / 2)


@pytest.mark.parametrize("kind", ["cross_entropy", "squared"])
def test_illegal_moves_are_ignored_by_default(kind: str) -> None:
    masked = LearnerSettings(policy_loss=kind)
    assert least(masked, illegal=30.0) == pytest.approx(least(masked, illegal=-30.0), abs=1e-6)
    gradient = jax.grad(lambda logits: PolicyLoss(masked)(outputs(logits), batch()).loss)(jnp.ones((3, 4)))
    assert np.isfinite(gradient).all() and not gradient[:, 3].any()
    assert not gradient[2].any() and gradient[:2, :3].any()


def test_unmasked_illegal_moves_cost_cross_entropy() -> None:
    learner = LearnerSettings(mask_illegal=False)
    assert least(learner, illegal=0.0) == pytest.approx(
        np.log(2), abs=1e-5
    )  # the illegal move gets half the probability
    assert np.isfinite(least(learner, illegal=1e4))


def test_the_squared_value_loss_is_0_at_the_mixture() -> None:
    term = ValueLoss(LearnerSettings(), TargetSettings(search_value_weight=0.3))
    mixture = 0.7 * batch().outcome + 0.3 * batch().search_values
    assert float(term(outputs(jnp.zeros((3, 4)), mixture), batch()).loss) == pytest.approx(0, abs=1e-6)
    off = term(outputs(jnp.zeros((3, 4)), batch().outcome), batch()).loss
    assert float(off) == pytest.approx((0.15**2 + 0.15**2) / 2)


def test_the_wdl_loss_is_least_at_the_mixture() -> None:
    term = ValueLoss(LearnerSettings(value_loss="cross_entropy"), TargetSettings(search_value_weight=0.3))
    chances = 0.7 * win_draw_loss(batch().outcome[:, 0]) + 0.3 * win_draw_loss(batch().search_values[:, 0])
    assert np.asarray(chances[:2]) == pytest.approx(np.array([[0.85, 0.15, 0], [0.15, 0.85, 0]]), abs=1e-6)

    def loss(wdl):
        return term(outputs(jnp.zeros((3, 4)), wdl=wdl), batch()).loss

    best = jnp.log(jnp.maximum(chances, 1e-9))
    entropy = -(0.85 * np.log(0.85) + 0.15 * np.log(0.15))
    assert float(loss(best)) == pytest.approx(entropy, abs=1e-5)
    assert np.abs(np.asarray(jax.grad(loss)(best))).max() < 1e-6


def test_a_batch_without_weight_costs_nothing() -> None:
    nothing = batch(weight=jnp.zeros(3), policy_weight=jnp.zeros(3))
    for learner in (LearnerSettings(), LearnerSettings(policy_loss="squared", value_loss="cross_entropy")):
        found = losses(outputs(jnp.ones((3, 4)), wdl=jnp.ones((3, 3))), nothing, learner).to_dict()
        assert set(found) == {"loss_total", "loss_policy", "loss_value", *METRICS}
        assert set(found.values()) == {0.0}


def test_the_final_position_loss_is_least_at_its_target_and_ignores_resigned_games() -> None:
    board = jax.random.bernoulli(jax.random.key(0), shape=(3, 2, 2, 1)).astype(jnp.float32)
    target = Target(board, jnp.array([1.0, 0.0, 1.0]))
    made = batch(auxiliary={"final_position": target})

    def loss(logits) -> float:
        predicted = outputs(jnp.ones((3, 4)), final_position=logits)
        found = losses(predicted, made, LearnerSettings(final_position_weight=3.0)).to_dict()
        plain = losses(outputs(jnp.ones((3, 4))), made).to_dict()
        expected = plain["loss_total"] + 3 * found["loss_final_position"]
        assert found["loss_total"] == pytest.approx(expected, rel=1e-5)
        return found["loss_final_position"]

    known = 20.0 * (2.0 * board - 1.0)
    assert loss(known) == pytest.approx(0, abs=1e-6) and loss(-known) == pytest.approx(20, rel=1e-5)
    assert loss(known.at[1].set(-known[1])) == pytest.approx(0, abs=1e-6)  # the resigned game
    assert loss(jnp.zeros_like(board)) == pytest.approx(np.log(2), rel=1e-5)


def test_the_final_position_is_observed_from_the_current_movers_seat() -> None:
    """After three moves the second seat is to move; it sees the final position, where the first seat is to move."""
    game, states = make("connect4"), [make("connect4").init(jax.random.key(0))]
    for action in (3, 3, 2, 4, 2, 6):
        states.append(game.step(states[-1], jnp.int32(action)))
    now, last = (jax.tree.map(lambda leaf: leaf[None], states[ply]) for ply in (3, 6))
    row, yes, seats = jnp.zeros(1, jnp.int32), jnp.ones(1, bool), jnp.array([[1.0, -1.0]])
    policy = jnp.ones((1, 7), jnp.float16) / 7
    plies = Plies(now, row, policy, seats, yes, jnp.ones(1), yes, seats, ~yes, ~yes, ~yes, yes, row, row)
    samples = Samples(plies, seats, jnp.ones(1), last, yes)
    auxiliary = {"final_position": FinalPositionLoss().make_target}
    made = make_batch(game, samples, jax.random.key(0), symmetries=False, auxiliary=auxiliary)
    target = made.auxiliary["final_position"]
    first, second = jnp.moveaxis(game.observe(states[6]), -1, 0)  # the first seat sees its own stones first
    assert first.sum() == second.sum() == 3 and first[-1, 2] == 1  # it began with 4, 3, 3
    assert (target.values[0] == jnp.stack([second, first], axis=-1)).all()
    assert made.outcome.tolist() == [[-1.0, 1.0]] and target.weight.tolist() == [1.0]


@pytest.mark.parametrize("value", [-1.0, -0.25, 0.0, 0.5, 1.0])
def test_win_draw_loss_has_the_value_as_its_mean(value: float) -> None:
    chances = np.asarray(win_draw_loss(jnp.array([value])))[0]
    assert chances.sum() == pytest.approx(1) and (chances >= 0).all() and chances[0] - chances[2] == value


@pytest.mark.parametrize("seats", [2, 3, 4])
def test_from_mover_undoes_by_seat(seats: int) -> None:
    mover = jnp.arange(12) % seats
    values = jax.random.normal(jax.random.key(0), (12, seats))
    assert (from_mover(by_seat(values, mover), mover) == values).all()
    assert (by_seat(from_mover(values, mover), mover) == values).all()
    assert (from_mover(values, mover)[:, 0] == values[jnp.arange(12), mover]).all()


def unweighted(observations, legal, policy) -> Batch:
    """A batch of draws in which all samples count the same."""
    zero, one = jnp.zeros((len(policy), 2)), jnp.ones(len(policy))
    return Batch(
        observations=observations,
        legal=legal,
        policy=policy,
        outcome=zero,
        search_values=zero,
        weight=one,
        policy_weight=one,
        auxiliary={},
    )


@pytest.mark.parametrize(("id", "moves"), [("tictactoe", 4), ("connect4", 9), ("othello", 7)])
def test_a_transformed_batch_is_the_batch_of_the_transformed_game(id: str, moves: int) -> None:
    """Playing the same game in a symmetry gives the transformed observation, legal moves and policy."""
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
    targets = {
        "final_position": Target(observe(plain), jnp.ones(count)),
        "no_board": Target(policy, jnp.ones(count)),
    }
    made = unweighted(observe(plain), legal(plain), policy)._replace(auxiliary=targets)
    found = transform(game, made, jax.random.key(0), jnp.asarray(each))
    assert (found.observations == observe(turned)).all()
    assert (found.auxiliary["final_position"].values == found.observations).all()
    assert (found.auxiliary["no_board"].values == policy).all()
    assert (found.legal == legal(turned)).all()
    assert (jnp.take_along_axis(found.policy, goes_to, axis=1) == policy).all()


def test_symmetries_are_uniform() -> None:
    game, count = make("tictactoe"), 800
    corner = jnp.zeros((count, 9)).at[:, 0].set(1.0)
    made = unweighted(jnp.zeros((count, 3, 3, 2)), corner > 0, corner)
    corners = transform(game, made, jax.random.key(0)).policy.sum(0)
    assert np.asarray(corners)[[0, 2, 6, 8]] == pytest.approx(200, abs=4 * np.sqrt(200))


def test_fast_searches_train_values_only() -> None:
    half = batch(policy_weight=jnp.array([1.0, 0.0, 0.0]))
    logits = jnp.array([[1.0, 0, 0, 0], [0, 9.0, 0, 0], [0, 0, 0, 0]])
    alone = losses(outputs(logits), half).terms
    other = losses(outputs(logits.at[1].set(0.0)), half).terms
    assert float(alone["policy"]) == float(other["policy"]) and float(alone["value"]) > 0
    weighted = losses(outputs(logits), half, replace(LearnerSettings(), value_weight=3.0))
    assert float(weighted.total) == pytest.approx(float(alone["policy"]) + 3 * float(alone["value"]))
