"""Network bodies compared on the self-play of one run: how fast they are, and what they learn in the same steps.

Every body starts from fresh weights and takes the same number of optimizer steps with the learner of the run, on the
same batches from the replay buffer of the newest checkpoint. Axis letters: N positions.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.benchmarks.recorded import CHUNK, Body, Recorded
from tabia.benchmarks.search import forward_loop, seconds
from tabia.evaluation.accuracy import agreement
from tabia.evaluation.positions import PositionSet, draw
from tabia.games.game import State
from tabia.networks import Variables, compute_type
from tabia.networks.summary import counts
from tabia.players import perfect
from tabia.players.perfect import Oracle, Truth
from tabia.training.arena import make_player
from tabia.training.learning import Learner, TrainState
from tabia.training.learning.losses import compute_losses
from tabia.training.plan import Plan
from tabia.training.selfplay.replay import Samples

POSITIONS = 1000
"""Positions compared with perfect play, where any position is solved quickly."""
_LAST = 0.25  # of the steps, over which the losses of training are averaged
_MOST_STEPS = 32  # per call of the learner
_TURNS = 7
METHOD = (
    f"evaluations: shortest of {_TURNS} calls of each body in turn; steps: median of the calls of the learner; losses: "
    f"mean over the last {_LAST:.0%} of the steps, and of the weights that play on positions of lanes held out"
)


@dataclass(frozen=True)
class Result:
    """What a body has learned with one seed; None where it is not a finite number, or not measured."""

    seed: int
    policy: float | None  # losses in training
    value: float | None
    held_out_policy: float | None
    held_out_value: float | None
    agreement: float | None  # of the network alone with perfect play


@dataclass(frozen=True)
class Row:
    """One body: its size, its speed, and what it learned with each seed."""

    body: str
    trainable: int
    multiplications: int
    batch: int
    evaluations: float  # per second
    ratio: float  # of that, to the run's own network
    steps: int
    batch_size: int  # of the learner
    step_seconds: float | None
    results: tuple[Result, ...]
    device: str

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    @property
    def speed_cells(self) -> tuple[str, ...]:
        """Parameters, evaluations per second, their ratio, and milliseconds per step, for a table."""
        step = "-" if self.step_seconds is None else f"{1000 * self.step_seconds:.1f}"
        return f"{self.trainable:,}", f"{self.evaluations:,.0f}", f"{self.ratio:.2f}x", step

    @property
    def learned_cells(self) -> tuple[str, ...]:
        """The losses and the agreement, for a table."""
        losses = ("policy", "value", "held_out_policy", "held_out_value")
        return *(self._cell(name, ".4f") for name in losses), self._cell("agreement", ".1%")

    def _cell(self, name: str, shape: str) -> str:
        """The mean over the seeds, and half of their range."""
        found = [getattr(result, name) for result in self.results]
        if None in found:
            return "-"
        spread = f" ± {(max(found) - min(found)) / 2:{shape}}" if len(found) > 1 else ""
        return f"{statistics.fmean(found):{shape}}{spread}"


@dataclass(frozen=True)
class Bench:
    """How bodies are compared."""

    recorded: Recorded
    steps: int
    seeds: int = 1
    batch: int = 0  # positions per evaluation; 0: the lanes of self-play
    positions: int | None = None  # compared with perfect play; None: some, where any is solved quickly

    def run(self, compared: Sequence[Body], progress: Callable[[int], object] = lambda steps: None) -> Iterator[Row]:
        """Measure the bodies, the run's own first; `progress` receives the optimizer steps so far."""
        _ = self._reference  # refuses a game without perfect play before anything is trained
        rates = self._evaluations(compared)
        before = 0
        for body, rate in zip(compared, rates, strict=True):
            results, taken = [], list[float]()
            for seed in range(self.seeds):
                train_state, losses, times = self._learn(body, seed, before, progress)
                results.append(self._result(body, seed, losses, train_state.ema))
                taken += times
                before += self.steps
            size = counts(body.network)
            yield Row(
                body=body.text,
                trainable=size.trainable,
                multiplications=size.multiplications,
                batch=self._batch,
                evaluations=rate,
                ratio=rate / rates[0],
                steps=self.steps,
                batch_size=body.plan.config.learner.batch_size,
                step_seconds=statistics.median(taken) if taken else None,
                results=tuple(results),
                device=jax.devices()[0].device_kind,
            )

    @property
    def _batch(self) -> int:
        return self.batch or self.recorded.config.selfplay.games

    def _evaluations(self, compared: Sequence[Body]) -> list[float]:
        """Evaluations per second of each body, as self-play evaluates positions."""
        on_cpu = jax.default_backend() == "cpu"
        rounds = max(1, 512 // self._batch) if on_cpu else max(16, 2**17 // self._batch)
        calls = [self._evaluation(body, rounds) for body in compared]
        return [self._batch * rounds / taken for taken in seconds(calls, _TURNS, min)]

    def _evaluation(self, body: Body, rounds: int) -> Callable[[], Array]:
        network, held = body.network, self.recorded.held_out
        rows = jnp.arange(self._batch) % held.weight.shape[0]
        states = jax.tree.map(lambda leaf: leaf[rows], held.plies.states)
        observations = jax.vmap(partial(network.observe, body.plan.game))(states)
        dtype = compute_type(body.plan.config.learner.precision)
        folded = network.prepare(network.fold(network.init(jax.random.key(0)), dtype))
        return forward_loop(network, folded, observations, rounds)

    def _learn(
        self, body: Body, seed: int, before: int, progress: Callable[[int], object]
    ) -> tuple[TrainState, dict[str, float], list[float]]:
        """The state after all steps, the losses of the last part, and the seconds per step of each call."""
        chunk = min(_MOST_STEPS, max(1, self.steps // _MOST_STEPS))
        learner = body.learner(chunk)
        weight_key, key = jax.random.split(jax.random.key(seed))
        train_state = learner.init(weight_key)
        found: list[tuple[int, dict[str, float]]] = []
        times: list[float] = []
        done = 0
        while done < self.steps:
            count = min(chunk, self.steps - done) if done else 1  # the first step waits for compilation
            started = time.perf_counter()
            rate = self.recorded.learning_rate(done / self.steps)
            train_state, losses = learner.learn(
                train_state, self.recorded.training, jax.random.fold_in(key, done), rate, count
            )
            jax.block_until_ready(train_state)
            times += [(time.perf_counter() - started) / count] * bool(done)
            done += count
            if done > (1 - _LAST) * self.steps:
                found.append((count, losses.to_dict()))
            progress(before + done)
        total = sum(count for count, _ in found)
        means = {name: sum(count * each[name] for count, each in found) / total for name in found[0][1]}
        return train_state, means, times

    def _result(self, body: Body, seed: int, losses: dict[str, float], variables: Variables) -> Result:
        held = _losses_on(body.learner(1), variables, self.recorded.held_out)
        sound = all(map(math.isfinite, held.values()))
        return Result(
            seed=seed,
            policy=_finite(losses["loss_policy"]),
            value=_finite(losses["loss_value"]),
            held_out_policy=_finite(held["policy"]),
            held_out_value=_finite(held["value"]),
            agreement=self._agreement(body, variables) if sound else None,
        )

    def _agreement(self, body: Body, variables: Variables) -> float | None:
        """The fraction of the reference positions in which the network's first choice keeps the value."""
        if self._reference is None:
            return None
        positions, oracle = self._reference
        player = make_player(body.plan, variables, 0, body.text)
        return agreement(player, positions, oracle=oracle).all.agreement

    @cached_property
    def _reference(self) -> tuple[PositionSet, Oracle] | None:
        game = Plan(self.recorded.config).game
        wanted = self.positions
        if wanted is None:
            wanted = POSITIONS if perfect.is_quick(game) else 0
        return (draw(game, wanted), _Remembering(perfect.PerfectPlayer(game).oracle)) if wanted else None


class _Remembering:
    """An oracle that solves the same batch of positions once."""

    def __init__(self, oracle: Oracle) -> None:
        self._oracle = oracle
        self._known: dict[bytes, Truth] = {}

    def truth(self, states: State) -> Truth:
        name = b"".join(np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(states))
        if name not in self._known:
            self._known[name] = self._oracle.truth(states)
        return self._known[name]


def _losses_on(learner: Learner, variables: Variables, samples: Samples) -> dict[str, float]:
    """The losses of policy and value on all samples [N]."""
    count = samples.weight.shape[0]
    parts = []
    for first in range(0, count, CHUNK):
        rows = jnp.arange(first, min(first + CHUNK, count))
        parts.append(_terms(learner, variables, jax.tree.map(lambda leaf, rows=rows: leaf[rows], samples)))
    sums, weights = (np.sum([np.asarray(part[which]) for part in parts], axis=0) for which in (0, 1))
    policy, value = sums / np.maximum(weights, 1.0)
    return {"policy": float(policy), "value": float(value)}


@partial(jax.jit, static_argnums=0)
def _terms(learner: Learner, variables: Variables, samples: Samples) -> tuple[Array, Array]:
    """The losses of policy and value, times the weights of their positions; and those weights."""
    batch = learner.make_batch(samples, jax.random.key(0), symmetries=False)
    outputs, _ = learner.network.apply(variables, batch.observations, dtype=learner.dtype)
    terms = compute_losses(learner.terms, outputs, batch).terms
    weights = jnp.stack([batch.policy_weight.sum(), batch.weight.sum()])
    return jnp.stack([terms["policy"], terms["value"]]) * weights, weights


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
