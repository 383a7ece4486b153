"""The loss: a weighted sum of named terms, each a function of the network's outputs and a batch.

A term with a head of its own needs four additions: the head (`networks/value_heads.py`), the setting that switches it
on (`networks/config.py`), the term and its line in `make_terms`, and its weight (`LearnerSettings`). The metric is
`loss_` and the term's name.
Axis letters: N samples, A actions, P seats, H W C board and planes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

from tabia.games.game import Game
from tabia.networks import NetworkConfig, Outputs
from tabia.training.config.schema import LearnerSettings, TargetSettings
from tabia.training.learning.batch import Batch, Target
from tabia.training.selfplay.replay import Samples


class Losses(NamedTuple):
    """Means over a batch."""

    total: Array
    terms: dict[str, Array]  # by name, unweighted
    metrics: dict[str, Array]  # what terms report besides their loss

    def to_dict(self) -> dict[str, float]:
        """All numbers by the names of their metrics, such as `loss_total` and `loss_policy`."""
        losses = {"total": self.total, **self.terms}
        found = {f"loss_{name}": value for name, value in losses.items()} | self.metrics
        return {name: float(value) for name, value in found.items()}


class TermValue(NamedTuple):
    """One term for one batch."""

    loss: Array
    metrics: dict[str, Array]


@dataclass(frozen=True)
class LossTerm:
    """One term of the loss; the default target is none beyond those that every batch has."""

    name: ClassVar[str]
    needs_final_state: ClassVar[bool] = False  # whether samples must hold the final states of their games

    learner: LearnerSettings = field(default_factory=LearnerSettings)
    targets: TargetSettings = field(default_factory=TargetSettings)

    @property
    def weight(self) -> float:
        """The term's weight in the sum."""
        return 1.0

    def make_target(self, game: Game, samples: Samples) -> Target | None:
        """The auxiliary target that the term needs in a batch."""
        return None

    def __call__(self, outputs: Outputs, batch: Batch) -> TermValue:
        """The unweighted loss, and metrics by name."""
        raise NotImplementedError


class PolicyLoss(LossTerm):
    """Kullback-Leibler divergence of the policy from its target, or the squared error over legal moves.

    Metrics: `entropy` of the network's policy over legal moves; `target_entropy`; `agreement`, how often both have the
    same best move; `illegal`, the probability of illegal moves before they are masked.
    """

    name = "policy"

    def __call__(self, outputs: Outputs, batch: Batch) -> TermValue:
        """Both losses are 0 at the target."""
        logits, legal = outputs.logits, batch.legal
        masked = jnp.where(legal, logits, -1e9)
        log_policy = jax.nn.log_softmax(masked if self.learner.mask_illegal else logits)
        target = batch.policy / jnp.maximum(batch.policy.sum(axis=-1, keepdims=True), 1e-6)
        target_entropy = -jnp.sum(target * jnp.log(jnp.maximum(target, 1e-9)), axis=-1)
        log_legal = jax.nn.log_softmax(masked)
        entropy = -jnp.sum(jnp.where(legal, jnp.exp(log_legal) * log_legal, 0.0), axis=-1)
        if self.learner.policy_loss == "cross_entropy":
            loss = -jnp.sum(jnp.where(target > 0, target * log_policy, 0.0), axis=-1) - target_entropy
        else:
            loss = jnp.sum(jnp.where(legal, (jnp.exp(log_legal) - target) ** 2, 0.0), axis=-1)
        agreement = jnp.argmax(masked, axis=-1) == jnp.argmax(target, axis=-1)
        illegal = jnp.sum(jnp.where(legal, 0.0, jax.nn.softmax(logits)), axis=-1)
        metrics = {
            "entropy": entropy,
            "target_entropy": target_entropy,
            "agreement": agreement.astype(jnp.float32),
            "illegal": illegal,
        }
        return TermValue(
            weighted_mean(loss, batch.policy_weight),
            {name: weighted_mean(values, batch.policy_weight) for name, values in metrics.items()},
        )


class MoveClassLoss(LossTerm):
    """Cross-entropy of the move among all actions and one more class, that the game is over (Goldberg & Ishay 2017).

    Metrics: `agreement`, how often the network and the target have the same first class.
    """

    name = "policy"

    def __call__(self, outputs: Outputs, batch: Batch) -> TermValue:
        """The loss is 0 at the target."""
        logits, target = classes(outputs, batch)
        entropy = -jnp.sum(target * jnp.log(jnp.maximum(target, 1e-9)), axis=-1)
        loss = -jnp.sum(target * jax.nn.log_softmax(logits), axis=-1) - entropy
        agreement = (jnp.argmax(logits, axis=-1) == jnp.argmax(target, axis=-1)).astype(jnp.float32)
        return TermValue(
            weighted_mean(loss, batch.policy_weight), {"agreement": weighted_mean(agreement, batch.policy_weight)}
        )


def classes(outputs: Outputs, batch: Batch) -> tuple[Array, Array]:
    """Logits and targets [N, A + 1] over all actions and the end of the game; [N, A] without `network.over_class`."""
    target = batch.policy / jnp.maximum(batch.policy.sum(axis=-1, keepdims=True), 1e-6)
    if "over" not in outputs.auxiliary:
        return outputs.logits, target
    over = (~batch.legal.any(axis=-1, keepdims=True)).astype(jnp.float32)
    logits = jnp.concatenate([outputs.logits, outputs.auxiliary["over"]], axis=-1)
    return logits, jnp.concatenate([target, over], axis=-1)


class ValueLoss(LossTerm):
    """Squared error of every seat's value, or the cross-entropy of win, draw and loss."""

    name = "value"

    @property
    def weight(self) -> float:
        """`learner.value_weight`."""
        return self.learner.value_weight

    def __call__(self, outputs: Outputs, batch: Batch) -> TermValue:
        """The target mixes outcome and search values by `targets.search_value_weight`."""
        share = self.targets.search_value_weight
        if self.learner.value_loss == "squared":
            target = (1.0 - share) * batch.outcome + share * batch.search_values
            error = jnp.mean((outputs.values - target) ** 2, axis=-1)
        else:
            outcome, search = win_draw_loss(batch.outcome[:, 0]), win_draw_loss(batch.search_values[:, 0])
            chances = (1.0 - share) * outcome + share * search
            error = -jnp.sum(chances * jax.nn.log_softmax(outputs.auxiliary["wdl"]), axis=-1)
        return TermValue(weighted_mean(error, batch.weight), {})


class FinalPositionLoss(LossTerm):
    """Cross-entropy of what each plane shows in each cell at the end of the game, from the mover's seat.

    The target is the last stored position, before the final move. Planes are taken as probabilities, clipped to
    [0, 1]. Games that were resigned do not count.
    """

    name = "final_position"
    needs_final_state = True

    @property
    def weight(self) -> float:
        """`learner.final_position_weight`."""
        return self.learner.final_position_weight

    def make_target(self, game: Game, samples: Samples) -> Target:
        """The last positions of the games, as the movers of the samples see them."""
        assert samples.last is not None and samples.reached is not None
        mover = jax.vmap(game.mover)(samples.plies.states)
        return Target(jax.vmap(game.observe)(samples.last, mover), samples.weight * samples.reached)

    def __call__(self, outputs: Outputs, batch: Batch) -> TermValue:
        """The mean over cells and planes."""
        target = batch.auxiliary[self.name]
        logits = outputs.auxiliary[self.name]
        error = optax.sigmoid_binary_cross_entropy(logits, jnp.clip(target.values, 0.0, 1.0))
        return TermValue(weighted_mean(error.mean(axis=(1, 2, 3)), target.weight), {})


def make_terms(network: NetworkConfig, learner: LearnerSettings, targets: TargetSettings) -> tuple[LossTerm, ...]:
    """The terms for a network: policy and value, and one for each auxiliary head."""
    auxiliary = (FinalPositionLoss(learner, targets),) if network.final_position else ()
    policy = MoveClassLoss(learner, targets) if network.over_class else PolicyLoss(learner, targets)
    return (policy, ValueLoss(learner, targets), *auxiliary)


def compute_losses(terms: Sequence[LossTerm], outputs: Outputs, batch: Batch) -> Losses:
    """All terms for one batch, and their weighted sum."""
    found = {term.name: term(outputs, batch) for term in terms}
    weighted = [term.weight * found[term.name].loss for term in terms]
    total = weighted[0]
    for value in weighted[1:]:
        total = total + value
    metrics = {name: value for term in found.values() for name, value in term.metrics.items()}
    return Losses(total, {name: term.loss for name, term in found.items()}, metrics)


def win_draw_loss(value: Array) -> Array:
    """Probabilities [N, 3] of win, draw and loss with the mean value [N]: of win and loss, one is 0."""
    value = jnp.clip(value, -1.0, 1.0)
    return jnp.stack([jnp.maximum(value, 0.0), 1.0 - jnp.abs(value), jnp.maximum(-value, 0.0)], axis=-1)


def weighted_mean(values: Array, weight: Array) -> Array:
    """The mean of values [N] by weight [N]; 0 if all weights are 0."""
    return jnp.sum(values * weight) / jnp.maximum(jnp.sum(weight), 1.0)
