"""Evaluators: rollouts against exact expectations, limits, values by seat, mixtures, symmetries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia import games
from tabia.games.game import Game, State
from tabia.games.tictactoe import State as Board
from tabia.search import Search
from tabia.search.evaluators import Evaluation, Heuristic, Mix, Network, Rollout, Uniform, by_seat, random_actions

from .positions import one, random_network, random_positions, random_weights
from .toy_games import Race, RingGame

TICTACTOE = games.make("tictactoe")
CONNECT = games.make("connect4")
KEY = jax.random.key(0)


def random_play(game: Game, state: State) -> np.ndarray:
    """The expected scores of uniformly random play, by enumerating all games."""
    if bool(game.over(state)):
        return np.asarray(game.scale(game.scores(state)))
    actions = np.flatnonzero(np.asarray(game.legal(state)))
    return np.mean([random_play(game, game.step(state, jnp.int32(action))) for action in actions], axis=0)


def test_rollouts_have_the_exact_expectation() -> None:
    """Four empty fields can be filled in 24 orders; rollouts are within four standard errors of the mean."""
    state = Board(jnp.array([0b100_011_000, 0b001_000_001], jnp.uint32), jnp.int32(-1))
    exact = random_play(TICTACTOE, state)
    batch = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (20, *leaf.shape)), state)
    values = np.asarray(Rollout(TICTACTOE, count=500)(None, batch, KEY).values)
    np.testing.assert_allclose(values.mean(axis=0), exact, atol=4 / np.sqrt(20 * 500))
    assert values.std(axis=0).max() > 0  # rows are drawn apart


def test_rollout_length_is_limited() -> None:
    """No seat arrives within two moves, so all scores are 0; in longer rollouts many do."""
    buffer = RingGame(max_moves=10_000)
    states = random_positions(buffer, 8, seed=0, most_moves=0)
    nothing = float(buffer.scale(jnp.float32(0)))
    np.testing.assert_array_equal(np.asarray(Rollout(buffer, max_moves=2)(None, states, KEY).values), nothing)
    assert np.asarray(Rollout(buffer, max_moves=200)(None, states, KEY).values).max() > nothing


def test_finished_games_have_their_scores() -> None:
    race = Race()
    state = random_positions(race, 1, seed=0, most_moves=0)
    over = state._replace(fields=jnp.array([[4, 10, 7]], jnp.int32))
    expected = race.scale(race.scores(one(over, 0)))
    np.testing.assert_allclose(np.asarray(Rollout(race, count=3)(None, over, KEY).values)[0], expected, atol=1e-6)


def test_random_actions_are_legal_and_uniform() -> None:
    legal = jnp.broadcast_to(jnp.array([True, False, True, True, False]), (30_000, 5))
    shares = np.bincount(np.asarray(random_actions(KEY, legal)), minlength=5) / 30_000
    np.testing.assert_allclose(shares, [1 / 3, 0, 1 / 3, 1 / 3, 0], atol=4 * np.sqrt(0.25 / 30_000))


def test_network_values_go_to_the_seats() -> None:
    said = jnp.array([[0.1, 0.2, 0.3]] * 3)  # me, next, next after
    seats = by_seat(said, jnp.arange(3))
    np.testing.assert_allclose(np.asarray(seats), [[0.1, 0.2, 0.3], [0.3, 0.1, 0.2], [0.2, 0.3, 0.1]], atol=1e-7)


def test_counting_network_is_right_for_every_seat() -> None:
    """It returns the progress of the mover, the next seat and the one after; by seat that is each seat's progress."""
    race = Race()

    def forward(parameters: None, planes: Array) -> tuple[Array, Array]:
        share = (planes[:, 0] * jnp.arange(11)[None, :, None]).sum(axis=1) / 10
        return jnp.zeros((planes.shape[0], 3)), share

    states = random_positions(race, 32, seed=1, most_moves=6)
    values = Network(race, forward)(None, states, KEY).values
    np.testing.assert_allclose(np.asarray(values), np.asarray(states.fields) / 10, atol=1e-6)
    assert len(np.unique(np.asarray(states.mover))) == 3


def test_averaging_over_symmetries_is_invariant() -> None:
    """The mean over all symmetries, with actions mapped back; tic-tac-toe has rotations too."""
    states = random_positions(TICTACTOE, 8, seed=1, most_moves=5)
    weights, forward = random_weights(TICTACTOE), random_network(TICTACTOE).forward
    mover, seen = jax.vmap(TICTACTOE.mover)(states), jax.vmap(TICTACTOE.observe)(states)

    def said(planes: Array) -> tuple[np.ndarray, np.ndarray]:
        """One symmetry after the other."""
        answers = [forward(weights, jax.vmap(turn.observation)(planes)) for turn in TICTACTOE.symmetries]
        logits = [
            np.asarray(answer[0])[:, turn.actions] for answer, turn in zip(answers, TICTACTOE.symmetries, strict=True)
        ]
        return np.mean(logits, axis=0), np.mean([np.asarray(answer[1]) for answer in answers], axis=0)

    mean, plain = (Network(TICTACTOE, forward, every)(weights, states, KEY) for every in (True, False))
    logits, values = said(seen)
    np.testing.assert_allclose(mean.logits, logits, atol=1e-6)
    np.testing.assert_allclose(mean.values, by_seat(jnp.asarray(values), mover), atol=1e-6)
    assert np.abs(np.asarray(mean.logits - plain.logits)).max() > 1e-3
    for turn in TICTACTOE.symmetries:
        turned, same = said(jax.vmap(turn.observation)(seen))
        np.testing.assert_allclose(turned[:, turn.actions], logits, atol=1e-5)
        np.testing.assert_allclose(same, values, atol=1e-5)


def test_mix_weights_values_and_keeps_the_first_priors() -> None:
    states = random_positions(CONNECT, 8, seed=1, most_moves=15)
    both = Mix(Heuristic(CONNECT), Uniform(CONNECT), weight=0.25)(None, states, KEY)
    alone = Heuristic(CONNECT)(None, states, KEY)
    np.testing.assert_allclose(np.asarray(both.values), 0.75 * np.asarray(alone.values), atol=1e-6)
    np.testing.assert_array_equal(np.asarray(both.logits), np.asarray(alone.logits))
    assert np.abs(np.asarray(alone.values)).max() > 0


def test_search_traces_its_evaluator_once() -> None:
    # Root and leaves share one trace: people wait for tracing before every first move.
    traced = []

    @dataclass(frozen=True)
    class Counting(Uniform):
        def __call__(self, parameters: Any, states: State, key: Array) -> Evaluation:
            traced.append(1)
            return super().__call__(parameters, states, key)

    states = jax.vmap(TICTACTOE.init)(jax.random.split(KEY, 3))
    jax.eval_shape(Search(TICTACTOE, Counting(TICTACTOE), 4).run_unchecked, None, states, KEY)
    assert len(traced) == 1
