"""Supervised learning: a network learns the best moves of a solved game instead of its own games.

    config = recipes.load("goldberg-ishay-connect3").config()
    train(Training.begin("runs/connect3", config), default_observers())

`loop.train` calls this module for a configuration with `supervised.positions`. Run directory, checkpoints, metrics and
players are those of any other run. Goldberg & Ishay 2017 train on the nodes of the game tree, where a position counts
as often as it is reached; their class for finished games is `network.over_class`.
Axis letters: N positions, A actions, P seats, S positions of a sample.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.games.game import Game, State
from tabia.networks import Variables
from tabia.solvers.enumeration import enumerate_positions, positions_by_ply
from tabia.solvers.exact import solve
from tabia.training import state as states
from tabia.training.iteration import IterationResult, SelfPlaySummary
from tabia.training.learning import Learner, Losses, learning_rate_at
from tabia.training.learning.batch import Batch
from tabia.training.learning.epochs import epochs_over
from tabia.training.learning.losses import classes
from tabia.training.observers import Observer
from tabia.training.plan import Plan
from tabia.training.progress import running
from tabia.training.rollback import Unguarded
from tabia.training.selfplay.play import Plies
from tabia.training.selfplay.replay import Samples, compress_policy
from tabia.training.training import Training

MOST = 1_000_000
"""The most positions of a game that can be learned."""
_CHUNK = 4096  # positions whose moves are compared at once


class Solved(NamedTuple):
    """All positions of a game, finished ones included, with what perfect play says about them."""

    states: State  # [N, ...]
    policy: np.ndarray  # float32[N, A] the labels; all 0 where the game is over
    values: np.ndarray  # float32[N, P] by seat, in [-1, 1]
    nodes: np.ndarray  # int64[N] nodes of the game tree with this position


@lru_cache(maxsize=1)
def solved(game: Game, labels: str) -> Solved:
    """The solved positions of a game; `labels` is the setting of this name."""
    starts = jax.tree.map(lambda leaf: leaf[None], game.init(jax.random.key(0)))
    plies = list(positions_by_ply(game, starts, limit=MOST, finished=True))
    every = jax.tree.map(lambda *parts: np.concatenate(parts), *plies)
    solution = solve(game, limit=MOST)
    best = solution.best(every)
    if labels == "first":
        best = best & (np.cumsum(best, axis=1) == 1)
    policy = best / np.maximum(best.sum(axis=1, keepdims=True), 1)
    return Solved(every, policy.astype(np.float32), solution.values(every), _nodes(game, starts))


def _nodes(game: Game, starts: State) -> np.ndarray:
    """How often each position occurs in the game tree: the sum over the positions before it."""
    graph = enumerate_positions(game, starts, limit=MOST)
    nodes = np.zeros(len(graph.prints), np.int64)
    nodes[0] = 1
    for parent, (first, end) in enumerate(zip(graph.moves[:-1], graph.moves[1:], strict=True)):
        np.add.at(nodes, graph.child[first:end], nodes[parent])  # positions come in the order of play
    return nodes


class SupervisedIteration:
    """An iteration that learns solved positions. The same arguments give the same one."""

    positions = 0  # none are played

    def __init__(
        self,
        plan: Plan,
        state: states.State,
        number: int,
        progress: float,
        enter: Callable[[str], None] = lambda phase: None,
        guard: Unguarded | None = None,
        games: int = 0,
    ) -> None:
        self.plan, self.state, self._number = plan, state, number
        self._learning_rate = learning_rate_at(plan.config.learner, progress)
        self._enter, self._guard = enter, guard or Unguarded()
        self._losses: Losses | None = None
        self.accuracy = 0.0  # the fraction of positions whose move the network names, afterwards

    def learn(self) -> None:
        """Some epochs over a sample of the positions."""
        self._enter("learning")
        with self._guard.computing():
            key = jax.random.fold_in(jax.random.key(self.plan.config.seed), self._number)
            order_key, learn_key = jax.random.split(key)
            samples = make_samples(self.plan, self._draw())
            size = jnp.int32(samples.weight.shape[0])
            epochs = epochs_over(samples, size, order_key, self.plan.config.learner.epochs)
            train_state = jax.tree.map(jnp.copy, self.state.train_state)  # learning donates its argument
            train_state, losses = self.plan.learner.learn_epochs(train_state, epochs, learn_key, self._learning_rate)
            self._losses = jax.tree.map(np.asarray, losses)
            self.accuracy = accuracy(self.plan, train_state.ema)
        self.state = self.state._replace(train_state=train_state)

    def _draw(self) -> np.ndarray:
        """The positions of the sample: drawn by their weights, or all of them."""
        weights, size = _weights(self.plan), self.plan.config.learner.sample_positions
        if not size:
            return np.repeat(np.arange(len(weights)), weights)
        dice = np.random.default_rng([self.plan.config.seed, self._number])
        return np.searchsorted(np.cumsum(weights), dice.integers(weights.sum(), size=size), side="right")

    @property
    def result(self) -> IterationResult:
        """The numbers of the iteration."""
        return IterationResult(
            selfplay=_no_games(self.plan.game),
            losses=self._losses,
            buffer_positions=int(np.count_nonzero(_weights(self.plan))),
            learning_rate=self._learning_rate,
            extra={"accuracy": self.accuracy},
        )


def train(training: Training, observers: Sequence[Observer], *, started: float | None, signals: bool) -> str:
    """Train until the budget is spent or the accuracy is reached ("finished"), or the run is stopped ("stopped")."""
    with running(training, observers, started=started, signals=signals) as progress:
        while progress.unfinished:
            with progress.start(SupervisedIteration) as iteration:
                iteration.learn()
                result = progress.count(iteration)
                training.counters.accuracy = iteration.accuracy
                progress.report(result)
                progress.save_if_due()
    return progress.why


def _no_games(game: Game) -> SelfPlaySummary:
    zero = jnp.int32(0)
    nothing = SelfPlaySummary(
        positions=zero,
        games=zero,
        moves=zero,
        scores=jnp.zeros(game.num_players),
        draws=zero,
        resigned=zero,
        policy_agreement=zero,
        played_prior=zero,
        first_moves=jnp.zeros(game.num_actions, jnp.int32),
    )
    summary: SelfPlaySummary = jax.tree.map(np.asarray, nothing)
    return summary


def make_samples(plan: Plan, rows: np.ndarray) -> Samples:
    """These of the solved positions [S] as the learner takes them."""
    found, count = solved(plan.game, plan.config.supervised.labels), len(rows)
    policy, actions = compress_policy(jnp.asarray(found.policy[rows]))
    zero, no, values = jnp.zeros(count, jnp.int32), jnp.zeros(count, bool), jnp.asarray(found.values[rows])
    plies = Plies(
        states=jax.tree.map(lambda leaf: jnp.asarray(leaf[rows]), found.states),
        action=zero,
        policy=policy,
        values=values,
        valued=~no,
        prior=jnp.zeros(count),
        agrees=no,
        scores=values,
        ended=no,
        resigned=no,
        explored=no,
        full_search=~no,
        ply=zero,
        opening=zero,
        policy_actions=actions,
    )
    return Samples(plies, values, jnp.ones(count))


def accuracy(plan: Plan, variables: Variables) -> float:
    """The fraction of positions, by their weights, for which a network names a labeled move or the end of the game."""
    weights = _weights(plan)
    right = np.zeros(len(weights))
    for first in range(0, len(weights), _CHUNK):
        rows = np.arange(first, first + _CHUNK) % len(weights)
        found = _is_right(plan.learner, variables, make_samples(plan, rows))
        right[rows] = np.asarray(found)
    return float(np.average(right, weights=weights))


@partial(jax.jit, static_argnums=0)
def _is_right(learner: Learner, variables: Variables, samples: Samples) -> Array:
    batch: Batch = learner.make_batch(samples, jax.random.key(0), symmetries=False)
    outputs, _ = learner.network.apply(variables, batch.observations)
    logits, target = classes(outputs, batch)
    return jnp.take_along_axis(target, jnp.argmax(logits, axis=-1)[:, None], axis=-1)[:, 0] > 0


def _weights(plan: Plan) -> np.ndarray:
    """int64[N]: how often each position counts; those without a move count only where the network can name the end."""
    found = solved(plan.game, plan.config.supervised.labels)
    weights = found.nodes if plan.config.supervised.positions == "tree" else np.ones_like(found.nodes)
    return weights if plan.config.network.over_class else np.where(found.policy.any(axis=1), weights, 0)
