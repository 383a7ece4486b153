"""Evaluators: the value of a position and the prior of its actions.

An evaluator is `(parameters, states, key) -> Evaluation` over a batch of states. Axis letters: B batch, A actions,
P seats. Values are per seat, scaled to [-1, 1].
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from tabia.core import lanes
from tabia.games.game import Game, State
from tabia.search.errors import SearchError
from tabia.search.memory import Need, nbytes


class Evaluation(NamedTuple):
    """What an evaluator returns."""

    logits: Array  # float32[B, A] of the prior policy; the search masks illegal actions
    values: Array  # float32[B, P] the expected result of each seat


Evaluate = Callable[[Any, State, Array], Evaluation]  # (parameters, states [B, ...], key)
Forward = Callable[[Any, Array], tuple[Array, Array]]  # (parameters, observations [B, H, W, C]) -> logits, values


def needs_of(evaluate: Evaluate, batch: int, leaves: int) -> list[Need]:
    """The memory of an evaluator for `leaves` positions of each of `batch` trees at once.

    An evaluator may declare it with a method `needs(batch, leaves)`.
    """
    own = getattr(evaluate, "needs", None)
    return [] if own is None else own(batch, leaves)


def calls_python(function: Evaluate | Forward) -> bool:
    """Whether an evaluator or a network may call ordinary Python from compiled code.

    It may, unless it has an attribute `calls_python` that is False.
    """
    return bool(getattr(function, "calls_python", True))


def _state_bytes(game: Game) -> int:
    return nbytes(jax.eval_shape(game.init, jax.random.key(0)))


def by_seat(values: Array, mover: Array) -> Array:
    """Turn a network's values (mover, next seat, ...) [B, P] into values by seat; nothing else does this."""
    places = jnp.arange(values.shape[-1])
    return jnp.take_along_axis(values, (places[None, :] - mover[:, None]) % values.shape[-1], axis=-1)


@dataclass(frozen=True)
class Network:
    """A network: `forward` maps parameters and observations to logits and values from the mover's point of view.

    With `symmetries` it averages over all symmetries of the board. `observe` turns a state into the network's planes;
    the default is the game's own observation.
    """

    game: Game
    forward: Forward
    symmetries: bool = False
    observe: Callable[[State], Array] | None = None

    def __call__(self, parameters: Any, states: State, key: Array) -> Evaluation:
        observations = jax.vmap(self.observe or self.game.observe)(states)
        average = self.symmetries and len(self.game.symmetries) > 1
        forward = self._average if average else self.forward
        logits, values = forward(parameters, observations)
        return Evaluation(
            logits.astype(jnp.float32), by_seat(values.astype(jnp.float32), jax.vmap(self.game.mover)(states))
        )

    def needs(self, batch: int, leaves: int) -> list[Need]:
        """The observations, and the `position_bytes` of `forward` for each."""
        copies = len(self.game.symmetries) if self.symmetries else 1
        each = 4 * math.prod(self.game.observation_shape) + getattr(self.forward, "position_bytes", 0)
        return [Need("leaves", leaves, batch * leaves * copies * each, "for the network")]

    @property
    def calls_python(self) -> bool:
        """Whether the network does."""
        return calls_python(self.forward)

    def _average(self, parameters: Any, observations: Array) -> tuple[Array, Array]:
        symmetries = self.game.symmetries
        transformed = jnp.concatenate([jax.vmap(one.observation)(observations) for one in symmetries])
        outputs = self.forward(parameters, transformed)
        logits, values = (part.reshape(len(symmetries), -1, part.shape[-1]).astype(jnp.float32) for part in outputs)
        restored = jnp.stack([logits[number][:, one.actions] for number, one in enumerate(symmetries)])
        return restored.mean(axis=0), values.mean(axis=0)


@dataclass(frozen=True)
class Uniform:
    """Uniform priors and values of 0."""

    game: Game
    calls_python = False

    def __call__(self, parameters: Any, states: State, key: Array) -> Evaluation:
        batch = jax.tree.leaves(states)[0].shape[0]
        return Evaluation(jnp.zeros((batch, self.game.num_actions)), jnp.zeros((batch, self.game.num_players)))


@dataclass(frozen=True)
class Heuristic:
    """The game's own heuristic as values, with uniform priors."""

    game: Game
    calls_python = False

    def __call__(self, parameters: Any, states: State, key: Array) -> Evaluation:
        values = jax.vmap(self.game.heuristic)(states)
        return Evaluation(jnp.zeros((values.shape[0], self.game.num_actions)), values)


@dataclass(frozen=True)
class Rollout:
    """Random rollouts, `count` from every position, of at most `max_moves` moves (default: the game's own limit).

    A rollout that reaches the limit counts with its current scores.
    """

    game: Game
    count: int = 1
    max_moves: int | None = None
    calls_python = False

    def __call__(self, parameters: Any, states: State, key: Array) -> Evaluation:
        game = self.game
        many = jax.tree.map(lambda leaf: jnp.repeat(leaf, self.count, axis=0), states)
        ends = play_out(game, many, key, game.max_moves if self.max_moves is None else self.max_moves)
        scores = game.scale(jax.vmap(game.scores)(ends)).reshape(-1, self.count, game.num_players).mean(axis=1)
        return Evaluation(jnp.zeros((scores.shape[0], game.num_actions)), scores)

    def needs(self, batch: int, leaves: int) -> list[Need]:
        """The states before and after a move, and the legal moves."""
        each = 2 * _state_bytes(self.game) + 5 * self.game.num_actions
        return [Need("rollouts", self.count, batch * leaves * self.count * each, "for its rollouts")]


@dataclass(frozen=True)
class Mix:
    """(1 - weight) * values of the first evaluator + weight * values of the second; priors of the first."""

    first: Evaluate
    second: Evaluate
    weight: float = 0.5

    def __call__(self, parameters: Any, states: State, key: Array) -> Evaluation:
        one, two = jax.random.split(key)
        first, second = self.first(parameters, states, one), self.second(parameters, states, two)
        return Evaluation(first.logits, (1.0 - self.weight) * first.values + self.weight * second.values)

    @property
    def calls_python(self) -> bool:
        """Whether one of them does."""
        return calls_python(self.first) or calls_python(self.second)

    def needs(self, batch: int, leaves: int) -> list[Need]:
        """The needs of both evaluators."""
        return needs_of(self.first, batch, leaves) + needs_of(self.second, batch, leaves)


@dataclass(frozen=True)
class WinningMovesFirst:
    """Finds actions that win at once, with the best possible score; otherwise another evaluator decides.

    A position with such an action has the value of winning, and no other action has a prior. Every action is played
    once to find them, so this suits games with few actions; games with chance are refused.
    """

    game: Game
    otherwise: Evaluate

    def __post_init__(self) -> None:
        if self.game.chance:
            raise SearchError(f"{self.game.id} has chance, so winning_moves_first is not possible.")

    def __call__(self, parameters: Any, states: State, key: Array) -> Evaluation:
        found = self.otherwise(parameters, states, key)
        wins, scores = winning_actions(self.game, states)
        any_wins = wins.any(axis=-1, keepdims=True)
        logits = jnp.where(any_wins, jnp.where(wins, 0.0, _LOW), found.logits)
        return Evaluation(logits, jnp.where(any_wins, scores, found.values))

    @property
    def calls_python(self) -> bool:
        """Whether the other evaluator does."""
        return calls_python(self.otherwise)

    def needs(self, batch: int, leaves: int) -> list[Need]:
        """The positions after every action, and the needs of the other evaluator."""
        tried = batch * leaves * self.game.num_actions * _state_bytes(self.game)
        return [Need("leaves", leaves, tried, "to try every action"), *needs_of(self.otherwise, batch, leaves)]


_LOW = -30.0  # a finite logit whose probability is 0 in single precision


@partial(jax.jit, static_argnums=0)  # traced once for roots and leaves
def winning_actions(game: Game, states: State) -> tuple[Array, Array]:
    """The actions [B, A] that end the game with the best score for the mover, and the scores [B, P] of the first."""
    legal, mover, count = jax.vmap(game.legal)(states), jax.vmap(game.mover)(states), game.num_actions
    many = jax.tree.map(lambda leaf: jnp.repeat(leaf, count, axis=0), states)
    after = jax.vmap(game.step)(many, jnp.tile(jnp.arange(count), legal.shape[0]))
    ends = jax.vmap(game.over)(after).reshape(legal.shape) & ~jax.vmap(game.over)(states)[:, None]
    scores = jax.vmap(game.scores)(after).reshape(*legal.shape, -1)
    best = jnp.take_along_axis(scores, mover[:, None, None], axis=-1)[..., 0] >= game.score_range[1]
    wins = legal & ends & best
    return wins, game.scale(jnp.take_along_axis(scores, jnp.argmax(wins, axis=-1)[:, None, None], axis=1)[:, 0])


def play_out(game: Game, states: State, key: Array, max_moves: int) -> State:
    """Play uniformly random legal moves in every game until all are over or `max_moves` are played."""
    dice_key, chance_key = jax.random.split(key)
    batch = jax.tree.leaves(states)[0].shape[0]
    dice = lanes.draw(jax.random.bits, dice_key, (batch,)) | 1  # xorshift must not start at zero

    def going(carry: tuple[State, Array, Array]) -> Array:
        states, played, _ = carry
        return (played < max_moves) & ~jnp.all(jax.vmap(game.over)(states))

    def move(carry: tuple[State, Array, Array]) -> tuple[State, Array, Array]:
        states, played, dice = carry
        dice = xorshift(dice)
        actions = pick(jax.vmap(game.legal)(states), dice)
        return step(game, states, actions, jax.random.fold_in(chance_key, played)), played + 1, dice

    return jax.lax.while_loop(going, move, (states, jnp.int32(0), dice))[0]


def xorshift(word: Array) -> Array:
    """Marsaglia's 32-bit generator: good enough for rollouts, at a tenth of the cost of a new key per move."""
    for shift in (13, -17, 5):
        word = word ^ (word << shift if shift > 0 else word >> -shift)
    return word


def step(game: Game, states: State, actions: Array, key: Array) -> State:
    """Play one action in every state; games with chance get a key each."""
    if not game.chance:
        return jax.vmap(game.step)(states, actions)
    return jax.vmap(game.step)(states, actions, lanes.draw(jax.random.split, key, actions.shape))


def random_actions(key: Array, legal: Array) -> Array:
    """One legal action per row [B, A], all equally likely; 0 if none is legal."""
    return pick(legal, lanes.draw(jax.random.bits, key, legal.shape[:1]))


def pick(legal: Array, dice: Array) -> Array:
    """The legal action of each row [B, A] that a random word [B] selects."""
    count = jnp.cumsum(legal, axis=-1, dtype=jnp.int32)
    ticket = ((dice >> 16) * count[:, -1].astype(jnp.uint32)) >> 16  # uniform up to one part in 65,536
    return jnp.argmax(count > ticket.astype(jnp.int32)[:, None], axis=-1).astype(jnp.int32)
