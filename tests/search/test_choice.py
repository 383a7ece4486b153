"""Final-move rules on hand-made results; noise, temperature and sequential halving by their laws."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tabia import games
from tabia.search import Gumbel, Puct, Result, Search
from tabia.search.reference_rules import halving
from tabia.search.result import agreed, best_value, max_robust, most_visits, preferred, sample, secure, visit_policy
from tabia.search.rules.gumbel import halving_schedule
from tabia.search.tree import ILLEGAL, log_priors

from .positions import random_network, random_positions, random_weights


def found(visits: list[float], means: list[float]) -> Result:
    nothing = jnp.zeros(1)
    return Result(nothing, nothing, jnp.array([visits]), jnp.array([means]), nothing, None)  # type: ignore[arg-type]


def test_robust_and_max_child() -> None:
    result = found([50, 20, 0, 30], [0.1, 0.6, 0.0, -0.4])
    assert (int(most_visits(result)[0]), int(best_value(result)[0])) == (0, 1)
    assert not bool(agreed(result)[0])
    assert int(max_robust(result)[0]) == 0
    both = found([50, 20, 0, 30], [0.7, 0.6, 0.0, -0.4])
    assert bool(agreed(both)[0]) and int(max_robust(both)[0]) == 0


def test_unvisited_actions_are_never_played() -> None:
    """Their mean is 0, which may be the highest."""
    result = found([0, 5, 5], [0.0, -0.5, -0.5])
    assert [int(rule(result)[0]) for rule in (most_visits, best_value, secure, max_robust)] == [1, 1, 1, 1]


def test_ties_in_visits_are_broken_by_value_in_max_robust() -> None:
    result = found([40, 40, 20], [0.1, 0.3, 0.2])
    assert int(max_robust(result)[0]) == 1 and bool(agreed(result)[0])


def test_ties_in_visits_are_broken_by_the_prior_of_the_network() -> None:
    """Two simulations with a large c visit the two favorites once each; the favorite is played, whatever its place."""
    game = games.make("connect4")
    states, weights = random_positions(game, 16, seed=2, most_moves=6), random_weights(game)
    result = Search(game, random_network(game), 2, Puct(c=1000.0)).run(weights, states, jax.random.key(0))
    logits = random_network(game)(weights, states, jax.random.key(0)).logits
    priors = np.asarray(log_priors(logits, jax.vmap(game.legal)(states)))
    tied = (np.asarray(result.visits) == 1).sum(axis=1) == 2
    chosen = np.asarray(preferred(result))
    np.testing.assert_array_equal(chosen[tied], priors.argmax(axis=1)[tied])
    assert tied.any() and (chosen != np.asarray(most_visits(result)))[tied].any()


def test_secure_child_is_the_formula_of_sanz_villanueva() -> None:
    """V + A / sqrt(n): 0.3 + 1 / 10 = 0.4 against 0.2 + 1 / 2 = 0.7; with A = -1 it is 0.2 against -0.3."""
    result = found([100, 4], [0.3, 0.2])
    assert int(secure(result, a=1.0)[0]) == 1
    assert int(secure(result, a=-1.0)[0]) == 0


def test_temperature_as_in_sanz_villanueva() -> None:
    """Section 3.2: 20, 50 and 30 visits give (0.2, 0.5, 0.3), and (0, 1, 0) as the temperature approaches 0."""
    visits = jnp.array([[20.0, 50.0, 30.0, 0.0]])
    np.testing.assert_allclose(np.asarray(visit_policy(visits, 1.0))[0], [0.2, 0.5, 0.3, 0.0], atol=1e-6)
    np.testing.assert_allclose(np.asarray(visit_policy(visits, 0.0))[0], [0, 1, 0, 0], atol=1e-6)
    np.testing.assert_allclose(np.asarray(visit_policy(visits, 0.5))[0], np.array([4, 25, 9, 0]) / 38, atol=1e-6)


def test_sampling_follows_the_policy() -> None:
    policy = jnp.broadcast_to(jnp.array([0.2, 0.5, 0.3, 0.0]), (20_000, 4))
    shares = np.bincount(np.asarray(sample(jax.random.key(0), policy)), minlength=4) / 20_000
    np.testing.assert_allclose(shares, [0.2, 0.5, 0.3, 0.0], atol=4 * np.sqrt(0.25 / 20_000))


ROOTS = 20_000
LEGAL = np.array([True, False, True, True, False])
PRIORS = np.array([0.5, 0.0, 0.3, 0.2, 0.0])


def with_noise(rule: Puct) -> np.ndarray:
    """Priors with noise, for many equal roots."""
    logits = jnp.broadcast_to(jnp.log(jnp.asarray(PRIORS) + 1e-9), (ROOTS, 5))
    priors = log_priors(logits, jnp.broadcast_to(LEGAL, (ROOTS, 5)))
    logits_after = np.asarray(rule.add_noise(priors, jax.random.key(0)))
    assert (logits_after[:, ~LEGAL] == ILLEGAL).all()
    return np.exp(logits_after)


@pytest.mark.parametrize("alpha", [0.03, 0.3, 10.0, 0.0])
def test_dirichlet_noise(alpha: float) -> None:
    """Priors sum to one; a Dirichlet's mean is 1 / k, its variance (1 / k)(1 - 1 / k) / (k alpha + 1)."""
    priors = with_noise(Puct(dirichlet_alpha=alpha, dirichlet_fraction=0.25))
    np.testing.assert_allclose(priors.sum(axis=1), 1.0, atol=1e-5)
    drawn = (priors[:, LEGAL] - 0.75 * PRIORS[LEGAL]) / 0.25
    concentration = alpha or 10.0 / 3
    variance = (1 / 3) * (2 / 3) / (3 * concentration + 1)
    np.testing.assert_allclose(drawn.mean(axis=0), 1 / 3, atol=4 * np.sqrt(variance / ROOTS))
    np.testing.assert_allclose(drawn.var(axis=0), variance, rtol=0.1)


def test_no_noise_and_only_noise() -> None:
    np.testing.assert_allclose(with_noise(Puct(dirichlet_fraction=0.0)), np.broadcast_to(PRIORS, (ROOTS, 5)), atol=1e-6)
    only = with_noise(Puct(dirichlet_alpha=1.0, dirichlet_fraction=1.0))
    np.testing.assert_allclose(only[:, LEGAL].mean(axis=0), 1 / 3, atol=0.01)


@pytest.mark.parametrize("considered", [1, 2, 3, 4, 7, 16])
@pytest.mark.parametrize("simulations", [1, 5, 16, 50, 200])
def test_sequential_halving(considered: int, simulations: int) -> None:
    """The schedule matches the reference, and every simulation finds an action with the considered visits."""
    schedule = jax.jit(halving_schedule, static_argnums=(0, 2))
    table = schedule(16, jnp.ones((1, considered), bool), simulations)
    plan = np.asarray(table)[:, 0].astype(int).tolist()
    assert plan == list(halving(considered, simulations))
    assert len(plan) == simulations
    visits = [0] * considered  # always take the first action that fits
    for wanted in plan:
        visits[visits.index(wanted)] += 1
    assert sum(visits) == simulations


def test_each_root_has_its_own_schedule() -> None:
    legal = jnp.array([[True, False, False], [True, True, False], [True, True, True]])
    table = np.asarray(halving_schedule(2, legal, 6))
    assert table.T.tolist() == [list(halving(1, 6)), list(halving(2, 6)), list(halving(2, 6))]


def test_a_move_without_prior_is_considered_by_its_uniform_fraction() -> None:
    """The largest of Gumbel samples and log-probabilities follows the mixed prior; illegal moves stay illegal."""
    logits = jnp.broadcast_to(
        log_priors(jnp.array([0.0, -30.0, 0.0, 5.0]), jnp.array([True] * 3 + [False])), (20_000, 4)
    )
    rule = Gumbel(uniform_fraction=0.3)
    prior, (gumbel, _) = rule.prepare_root(logits, 4, jax.random.key(0))
    assert prior is logits
    shares = np.bincount(np.asarray(jnp.argmax(gumbel + prior, axis=-1)), minlength=4) / 20_000
    np.testing.assert_allclose(shares, [0.45, 0.1, 0.45, 0.0], atol=4 * np.sqrt(0.25 / 20_000))
