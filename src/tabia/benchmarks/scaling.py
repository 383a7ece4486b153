"""How fast a run would be on more devices or actors: the costs of one, measured here, and what the model predicts.

Self-play and the learner are measured at three batch sizes, so that fixed costs and costs per item can be separated.
On a CPU, a device or an actor is one core, and what is measured is CPU time, which other processes hardly change.
Chunks are packed as they travel to the learner. The equations are in `tabia.cluster.model`.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from tabia.benchmarks import training
from tabia.benchmarks.search import positions
from tabia.cluster.chunks import STORED, pack, unpack
from tabia.cluster.model import (
    Actors,
    Costs,
    Line,
    Link,
    Prediction,
    Workload,
    fit_line,
    predict_actors,
    predict_devices,
)
from tabia.core.errors import TabiaError
from tabia.networks import compute_type
from tabia.training import recipes
from tabia.training import state as states
from tabia.training.config.schema import Config
from tabia.training.config.toml import with_assignments
from tabia.training.learning.steps import TrainState
from tabia.training.plan import Plan
from tabia.training.selfplay import replay
from tabia.training.state import State, playing

METHOD = "median of 3 calls after compilation, with a quarter, a half and all of a batch; on a CPU, CPU time"
PARTS = (4, 2, 1)  # of the lanes and of the batch
_STEPS = 4  # of the optimizer per call
_REPEATS = 3


@dataclass(frozen=True)
class Measured:
    """The costs of one device, and the sizes they were measured with."""

    recipe: str
    device: str
    work: Workload
    costs: Costs

    def to_dict(self) -> dict[str, Any]:
        """The measurement as a JSON object."""
        return asdict(self)


@dataclass(frozen=True)
class Predicted:
    """What the model predicts for some actors or devices."""

    what: str
    prediction: Prediction
    speedup: float  # over the plain loop on one device, in positions per second

    def to_dict(self) -> dict[str, Any]:
        """The prediction as a JSON object."""
        return {"what": self.what, **asdict(self.prediction), "speedup": self.speedup}

    @property
    def cells(self) -> tuple[str, ...]:
        """A row of a table."""
        one = self.prediction
        times = (f"{seconds:.3g}" for seconds in (one.iteration, one.playing, one.learning, one.sending))
        return self.what, one.bound, *times, str(one.staleness), f"{one.positions:,.0f}", f"{self.speedup:.2f}x"


def configuration(recipe: str | None, changes: Sequence[str] = ()) -> Config:
    """A recipe with some settings changed; without one, the configuration of `tabia bench training` for this device."""
    if recipe is None:
        return with_assignments(training.config(small=jax.default_backend() == "cpu"), changes)
    return with_assignments(recipes.load(recipe).config(), changes)


def measure(config: Config) -> Measured:
    """Measure what a configuration costs on this device."""
    plan = Plan(config)
    work = workload(plan)
    state = states.begin(plan)
    lanes = [work.lanes // part for part in PARTS]
    per_call = work.plies * work.simulations
    batches = [work.batch_size // part for part in PARTS]
    costs = Costs(
        simulation=fit_line(lanes, [_selfplay(plan, state, count) / per_call for count in lanes]),
        network=fit_line(lanes, [_network(plan, state, count) for count in lanes]),
        step=fit_line(batches, [_step(plan, state, count) for count in batches]),
        cores=1.0 if _on_cpu() else 0.0,
        **_chunk_costs(plan, state),
    )
    return Measured(config.recipe or config.game, jax.devices()[0].device_kind, work, costs)


def predict(
    found: Measured,
    *,
    actors: Sequence[int],
    devices: Sequence[int],
    link: Link,
    device_link: Link,
    cores: float = math.inf,
) -> Iterator[Predicted]:
    """The plain loop, then this many devices in one program, then this many actors and one learner."""
    loop = predict_devices(found.costs, found.work, 1)
    yield Predicted("1 device" if not found.costs.cores else "1 core", loop, 1.0)
    for count in devices:
        one = predict_devices(found.costs, found.work, count, device_link, cores)
        yield Predicted(f"{count} devices", one, one.positions / loop.positions)
    for count in actors:
        one = predict_actors(found.costs, found.work, Actors(count=count, link=link, nodes=count, cores=cores))
        yield Predicted(f"{count} actor{'' if count == 1 else 's'}", one, one.positions / loop.positions)


def cost_cells(found: Measured) -> list[tuple[str, str]]:
    """The measured costs in words, for a table."""
    costs, work = found.costs, found.work
    return [
        ("one simulation", f"{_line(costs.simulation)} per lane"),
        ("the network in it", f"{_line(costs.network)} per lane"),
        ("an optimizer step", f"{_line(costs.step)} per sample"),
        *((f"to {name} a position", f"{1e6 * getattr(costs, name):.3g} us") for name in ("store", "pack", "unpack")),
        ("a packed position", f"{costs.position_bytes:.0f} bytes"),
        ("a game in progress", f"{costs.lane_bytes:.0f} bytes"),
        ("weights", f"{costs.weight_bytes:,.0f} bytes"),
        ("cores kept busy", f"{costs.cores:.2f}"),
        ("an iteration", f"{work.lanes} lanes x {work.plies} plies x {work.simulations} simulations"),
        ("", f"{work.steps} steps of {work.batch_size} samples"),
    ]


def _line(line: Line) -> str:
    return f"{1e3 * line.fixed:.3g} ms + {1e6 * line.each:.3g} us"


def workload(plan: Plan) -> Workload:
    """The sizes of an iteration; fast searches count with their share."""
    search, selfplay, learner = plan.config.search, plan.config.selfplay, plan.config.learner
    if learner.steps_per_game:
        raise TabiaError(
            f"{plan.config.recipe or plan.game.id}: with learner.steps_per_game, the steps of an iteration depend on "
            "the games that end in it, which is not modeled. Choose a recipe with learner.steps or learner.epochs."
        )
    full = search.full_search_fraction if search.fast_simulations else 1.0
    sample = learner.sample_positions or plan.window * selfplay.games
    return Workload(
        lanes=selfplay.games,
        plies=selfplay.plies,
        simulations=round(full * search.simulations + (1 - full) * search.fast_simulations),
        steps=learner.epochs * sample // learner.batch_size if learner.epochs else learner.steps,
        batch_size=learner.batch_size,
    )


def timed(call: Callable[[], Any], repeats: int = _REPEATS) -> float:
    """The median time of a call after compilation: on a CPU, the time that its cores computed."""
    clock = time.process_time if _on_cpu() else time.perf_counter
    jax.block_until_ready(call())
    found = []
    for _ in range(repeats):
        started = clock()
        jax.block_until_ready(call())
        found.append(clock() - started)
    return statistics.median(found)


def _on_cpu() -> bool:
    return jax.default_backend() == "cpu"


def _selfplay(plan: Plan, state: State, lanes: int) -> float:
    """A chunk of self-play in this many lanes."""
    selfplay = Plan(plan.config.changed({"selfplay.games": lanes})).selfplay
    games = selfplay.begin(jax.random.key(0))
    return timed(lambda: selfplay.play(playing(state), games, jax.random.key(1)))


def _network(plan: Plan, state: State, batch: int) -> float:
    """One evaluation of a batch, in a compiled loop."""
    game, network, rounds = plan.game, plan.network, 16
    weights = network.prepare(network.fold(playing(state), compute_type(plan.config.learner.precision)))
    seen = jax.vmap(partial(network.observe, game))(positions(game, batch, plies=0))

    @jax.jit
    def loop(weights: Any, seen: Array) -> Array:
        def call(_: Array, seen: Array) -> Array:
            logits, values = network.forward(weights, seen)
            small = 1e-6 * (logits[:, :1] + values[:, :1])  # keeps XLA from skipping a call
            return seen + small.reshape(-1, *(1,) * (seen.ndim - 1)).astype(seen.dtype)

        return jax.lax.fori_loop(0, rounds, call, seen)

    return timed(lambda: loop(weights, seen)) / rounds


def _step(plan: Plan, state: State, batch: int) -> float:
    """One optimizer step on a batch."""
    changes = {"learner.batch_size": batch, "learner.steps": _STEPS, "learner.epochs": 0}
    small = Plan(plan.config.changed(changes))
    buffer = training.filled(plan, state)

    def learn() -> Any:
        fresh = jax.tree.map(jnp.copy, state.train_state)
        return small.learner.learn(TrainState(*fresh), buffer, jax.random.key(2), 1e-3)

    return timed(learn) / _STEPS


def _chunk_costs(plan: Plan, state: State) -> dict[str, float]:
    """What a chunk costs beyond playing it: packing, bytes, unpacking, storing."""
    weights, start = playing(state), state.boards[0].lanes
    lanes, plies = jax.block_until_ready(plan.selfplay.play(weights, start, jax.random.key(1)))
    count, packed = plies.ended.size, pack(plies)
    like = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), plies)
    held = [jax.tree.map(jnp.copy, state.boards[0].buffer)]

    def store() -> Any:
        held[0] = replay.add(held[0], plies, reach=plan.reach)
        return held[0].rows

    return {
        "store": timed(store) / count,
        "pack": timed(lambda: pack(plies)) / count,
        "unpack": timed(lambda: jax.tree.map(jnp.asarray, unpack(packed, like))) / count,
        "position_bytes": len(packed) / count,
        "lane_bytes": len(pack(lanes)) / plan.config.selfplay.games,
        "weight_bytes": float(len(pack(weights, level=STORED))),
    }
