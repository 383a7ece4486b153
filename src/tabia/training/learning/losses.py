"""What the network is taught: policy and value targets, and the losses between them and its answers.

Axis letters: N samples, A actions, P seats (me, next, next after), H W C board and planes, S symmetries.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array

from tabia.games.game import Game
from tabia.networks import Outputs
from tabia.training.config.schema import LearnerSettings, TargetSettings
from tabia.training.selfplay.replay import Samples, expand_policy


class Lesson(NamedTuple):
    """Positions and what to say of them, as the mover sees both."""

    observations: Array  # float32[N, H, W, C]
    legal: Array  # bool[N, A]
    policy: Array  # float32[N, A]
    outcome: Array  # float32[N, P] in [-1, 1]
    searched: Array  # float32[N, P] the search's own values; the outcome where a teacher played
    weight: Array  # float32[N] 0 for samples to pass over
    policy_weight: Array  # float32[N]
    last_board: Array | None = None  # float32[N, H, W, C] the game's last position, where the network is to tell it
    board_weight: Array | None = None  # float32[N]


class Losses(NamedTuple):
    """Means over a batch."""

    total: Array
    policy: Array  # beyond the target's own entropy, so that 0 is perfect
    value: Array
    entropy: Array  # of the network's policy over legal moves
    target_entropy: Array
    agreement: Array  # how often network and target have the same favorite
    illegal: Array  # what the network's policy gives to illegal moves before they are masked
    board: Array | None = None  # of the game's last position, where the network tells it

    def told(self) -> dict[str, float]:
        """Those there are, by name."""
        return {name: float(value) for name, value in self._asdict().items() if value is not None}


def lesson(game: Game, samples: Samples, key: Array, *, symmetries: bool) -> Lesson:
    """Samples as the network sees them, each turned by a symmetry drawn at random."""
    plies = samples.plies
    mover = jax.vmap(game.mover)(plies.states)
    searched = jnp.where(plies.valued[:, None], plies.values, samples.outcome)
    made = Lesson(
        jax.vmap(game.observe)(plies.states),
        jax.vmap(game.legal)(plies.states),
        expand_policy(plies.policy, plies.policy_actions, game.num_actions),
        from_mover(samples.outcome, mover),
        from_mover(searched, mover),
        samples.weight,
        samples.weight * plies.full_search,
    )
    if samples.reached is not None:
        last = jax.vmap(game.observe)(samples.last, mover)
        made = made._replace(last_board=last, board_weight=samples.weight * samples.reached)
    return turned(game, made, key) if symmetries and len(game.symmetries) > 1 else made


def from_mover(values: Array, mover: Array) -> Array:
    """Values by seat [N, P] as the mover sees them: me, next, next after."""
    seats = values.shape[-1]
    return jnp.take_along_axis(values, (jnp.arange(seats)[None, :] + mover[:, None]) % seats, axis=-1)


def turned(game: Game, lesson: Lesson, key: Array, drawn: Array | None = None) -> Lesson:
    """Every position in a symmetry drawn at random, or in the one `drawn` [N] for it."""
    cells = np.stack([symmetry.cells for symmetry in game.symmetries])  # [S, H * W]
    origins = np.stack([np.argsort(symmetry.actions) for symmetry in game.symmetries])  # [S, A]
    if drawn is None:
        drawn = jax.random.randint(key, lesson.weight.shape, 0, len(cells))
    places, actions = jnp.asarray(cells)[drawn], jnp.asarray(origins)[drawn]

    def board(planes: Array) -> Array:
        flat = planes.reshape(len(planes), -1, planes.shape[-1])
        return jnp.take_along_axis(flat, places[:, :, None], axis=1).reshape(planes.shape)

    return lesson._replace(
        observations=board(lesson.observations),
        last_board=None if lesson.last_board is None else board(lesson.last_board),
        legal=jnp.take_along_axis(lesson.legal, actions, axis=1),
        policy=jnp.take_along_axis(lesson.policy, actions, axis=1),
    )


def losses(outputs: Outputs, lesson: Lesson, learner: LearnerSettings, targets: TargetSettings) -> Losses:
    """All of them for one batch."""
    policy = policy_loss(outputs, lesson, learner)
    value = value_loss(outputs, lesson, learner, targets.search_value_weight)
    total = policy.loss + learner.value_weight * value
    board = None
    if outputs.last_board is not None:
        board = board_loss(outputs.last_board, lesson)
        total += learner.board_weight * board
    return Losses(
        total=total,
        policy=policy.loss,
        value=value,
        entropy=policy.entropy,
        target_entropy=policy.target_entropy,
        agreement=policy.agreement,
        illegal=policy.illegal,
        board=board,
    )


class PolicyLoss(NamedTuple):
    """The policy's part of `Losses`."""

    loss: Array
    entropy: Array
    target_entropy: Array
    agreement: Array
    illegal: Array


def policy_loss(outputs: Outputs, lesson: Lesson, learner: LearnerSettings) -> PolicyLoss:
    """How far the network's policy is from the one it is taught."""
    logits, legal = outputs.logits, lesson.legal
    inside = jnp.where(legal, logits, -1e9)
    known = jax.nn.log_softmax(inside if learner.mask_illegal else logits)
    target = lesson.policy / jnp.maximum(lesson.policy.sum(axis=-1, keepdims=True), 1e-6)
    target_entropy = -jnp.sum(target * jnp.log(jnp.maximum(target, 1e-9)), axis=-1)
    among_legal = jax.nn.log_softmax(inside)
    entropy = -jnp.sum(jnp.where(legal, jnp.exp(among_legal) * among_legal, 0.0), axis=-1)
    if learner.policy_loss == "cross_entropy":
        loss = -jnp.sum(jnp.where(target > 0, target * known, 0.0), axis=-1) - target_entropy
    else:
        loss = jnp.sum(jnp.where(legal, (jnp.exp(among_legal) - target) ** 2, 0.0), axis=-1)
    agrees = jnp.argmax(inside, axis=-1) == jnp.argmax(target, axis=-1)
    illegal = jnp.sum(jnp.where(legal, 0.0, jax.nn.softmax(logits)), axis=-1)
    found = PolicyLoss(loss, entropy, target_entropy, agrees.astype(jnp.float32), illegal)
    return PolicyLoss(*(weighted_mean(values, lesson.policy_weight) for values in found))


def value_loss(outputs: Outputs, lesson: Lesson, learner: LearnerSettings, search_share: float) -> Array:
    """Squared error of every seat's value, or the cross-entropy of win, draw and loss."""
    if learner.value_loss == "squared":
        target = (1.0 - search_share) * lesson.outcome + search_share * lesson.searched
        return weighted_mean(jnp.mean((outputs.values - target) ** 2, axis=-1), lesson.weight)
    assert outputs.wdl is not None
    told, searched = win_draw_loss(lesson.outcome[:, 0]), win_draw_loss(lesson.searched[:, 0])
    chances = (1.0 - search_share) * told + search_share * searched
    return weighted_mean(-jnp.sum(chances * jax.nn.log_softmax(outputs.wdl), axis=-1), lesson.weight)


def board_loss(logits: Array, lesson: Lesson) -> Array:
    """The cross-entropy of what each plane shows in each cell at the end; planes are chances, cut off at 0 and 1."""
    assert lesson.last_board is not None and lesson.board_weight is not None
    apart = optax.sigmoid_binary_cross_entropy(logits, jnp.clip(lesson.last_board, 0.0, 1.0))
    return weighted_mean(apart.mean(axis=(1, 2, 3)), lesson.board_weight)


def win_draw_loss(value: Array) -> Array:
    """Chances [N, 3] with the given mean [N]: whatever is neither won nor lost is drawn."""
    value = jnp.clip(value, -1.0, 1.0)
    return jnp.stack([jnp.maximum(value, 0.0), 1.0 - jnp.abs(value), jnp.maximum(-value, 0.0)], axis=-1)


def weighted_mean(values: Array, weight: Array) -> Array:
    return jnp.sum(values * weight) / jnp.maximum(jnp.sum(weight), 1.0)
