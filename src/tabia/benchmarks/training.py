"""How much of the machine training uses: self-play against its search alone, the learner against bare convolutions.

On CPUs also self-play against pgx and mctx with the same network and the default settings of JAX.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from tabia.benchmarks.search import positions, seconds
from tabia.core import groups
from tabia.networks import compute_type
from tabia.networks.presets import tower
from tabia.networks.summary import counts
from tabia.training import state as states
from tabia.training.config.schema import Config, LearnerSettings, ReplaySettings, SearchSettings, SelfPlaySettings
from tabia.training.learning.steps import TrainState
from tabia.training.plan import Plan
from tabia.training.selfplay import replay
from tabia.training.selfplay.play import make_search
from tabia.training.state import State, playing

METHOD = "median of 3 calls after compilation, alternating"


@dataclass(frozen=True)
class Row:
    """One comparison: our speed, the reference, and the ratio."""

    what: str
    ours: float
    beside: str
    other: float
    ratio: float
    unit: str
    device: str

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def config(*, small: bool) -> Config:
    """The configuration measured: Connect 4 with a 64 x 5 network on CPUs, 128 x 5 elsewhere."""
    if small:
        return Config(
            game="connect4",
            network=tower(64, 5, value="wdl"),
            search=SearchSettings(simulations=32, considered_actions=7),
            selfplay=SelfPlaySettings(games=256, plies=2),
            replay=ReplaySettings(positions=20_000),
            learner=LearnerSettings(steps=4, batch_size=512, value_loss="cross_entropy"),
        )
    return Config(
        game="connect4",
        network=tower(128, 5, value="wdl"),
        search=SearchSettings(simulations=32, considered_actions=7),
        selfplay=SelfPlaySettings(games=8192, plies=4, opening_moves=12),
        replay=ReplaySettings(positions=1_000_000),
        learner=LearnerSettings(steps=32, batch_size=4096, value_loss="cross_entropy"),
    )


def run(*, repeats: int = 3) -> Iterator[Row]:
    """Measure, yielding each row when it is ready."""
    on_cpu = jax.default_backend() == "cpu"
    plan = Plan(config(small=on_cpu))
    state = states.begin(plan)
    yield _selfplay(plan, state, repeats)
    yield _learner(plan, state, repeats)
    if on_cpu:
        yield from _reference(plan, state, repeats)


def _selfplay(plan: Plan, state: State, repeats: int) -> Row:
    settings = plan.config.selfplay
    search = make_search(plan.game, plan.network, plan.config.search, plan.config.search.simulations)
    folded = plan.network.fold(playing(state), compute_type(plan.config.learner.precision))
    number = groups.number(settings.games)
    weights = plan.network.prepare(folded, on_one_core=number > 1)
    parts = groups.split(positions(plan.game, settings.games), number)

    @jax.jit
    def alone(weights: Any, roots: Any) -> Array:
        def once(carry: Array, index: Array) -> tuple[Array, None]:
            return carry + search.run_unchecked(weights, roots, jax.random.key(index)).values.sum(), None

        return jax.lax.scan(once, jnp.float32(0), jnp.arange(settings.plies))[0]

    key = jax.random.key(1)
    calls: list[Callable[[], Any]] = [
        lambda: plan.selfplay.play(playing(state), state.boards[0].lanes, key),
        lambda: groups.each(lambda _, roots: alone(weights, roots), parts, "the search alone"),
    ]
    work = settings.games * settings.plies * plan.config.search.simulations
    ours, bare = (work / taken for taken in seconds(calls, repeats))
    return _row("self-play", ours, "the search alone", bare, unit="simulations/s")


def _learner(plan: Plan, state: State, repeats: int) -> Row:
    settings = plan.config.learner
    buffer = filled(plan, state)

    def learn() -> Any:
        fresh = jax.tree.map(jnp.copy, state.train_state)
        return plan.learner.learn(TrainState(*fresh), buffer, jax.random.key(2), 1e-3)

    bare = _convolution_speed(plan, repeats)
    work = 3 * counts(plan.network).operations * settings.batch_size * settings.steps  # backward is twice forward
    ours = work / seconds([learn], repeats)[0]
    return _row("learner", ours / 1e12, "bare convolutions", bare / 1e12, unit="Tflop/s")


def filled(plan: Plan, state: State) -> replay.ReplayBuffer:
    """A replay buffer full of plies that are ready to learn from."""
    shapes = plan.selfplay.shapes(playing(state), state.boards[0].lanes, jax.random.key(0))
    buffer = replay.make_buffer(shapes, plan.rows)
    spots = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (plan.rows, *leaf.shape)), state.boards[0].lanes.states)
    plies = buffer.plies._replace(states=spots, full_search=jnp.ones_like(buffer.plies.full_search))
    return buffer._replace(plies=plies, ready=jnp.ones_like(buffer.ready), rows=jnp.int32(plan.rows))


def _convolution_speed(plan: Plan, repeats: int) -> float:
    """Operations per second of the convolution of the tower, in a compiled loop at the batch size of the learner."""
    filters, batch, rounds = plan.config.network.filters, plan.config.learner.batch_size, 20
    height, width, _ = plan.game.observation_shape
    dtype = compute_type(plan.config.learner.precision)
    kernel = (jax.random.normal(jax.random.key(0), (3, 3, filters, filters)) / (3 * filters**0.5)).astype(dtype)
    start = jnp.ones((batch, height, width, filters), dtype)

    @jax.jit
    def loop(x: Array, kernel: Array) -> Array:
        def once(_: Array, x: Array) -> Array:
            return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

        return jax.lax.fori_loop(0, rounds, once, x)

    work = rounds * batch * height * width * 2 * 9 * filters**2
    return work / seconds([partial(loop, start, kernel)], repeats)[0]


def _reference(plan: Plan, state: State, repeats: int) -> Iterator[Row]:
    """Self-play with pgx and mctx, in a process with the default settings of JAX."""
    try:
        import mctx  # noqa: F401
        import pgx  # noqa: F401
    except ImportError:
        return
    # JAX starts before Tabia is imported, so that Tabia's settings have no effect.
    code = "import jax; jax.devices(); from tabia.benchmarks.training import reference; reference()"
    variables = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    settings = plan.config.selfplay
    work = settings.games * settings.plies * plan.config.search.simulations
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(repeats):
        ours.append(
            work / seconds([lambda: plan.selfplay.play(playing(state), state.boards[0].lanes, jax.random.key(1))], 1)[0]
        )
        done = subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=True)
        theirs.append(float(json.loads(done.stdout.splitlines()[-1])["rate"]))
    one, other = sorted(ours)[repeats // 2], sorted(theirs)[repeats // 2]
    yield _row("self-play", one, "pgx and mctx with default settings", other, unit="simulations/s")


def reference() -> None:
    """Print the simulations per second of self-play as in the AlphaZero example of pgx, with the same network."""
    import mctx
    import pgx

    plan = Plan(config(small=True))
    settings, simulations = plan.config.selfplay, plan.config.search.simulations
    environment = pgx.make("connect_four")
    network = plan.network
    weights = network.init(jax.random.key(0))

    def look(weights: Any, state: Any) -> tuple[Array, Array]:
        outputs, _ = network.apply(weights, state.observation.astype(jnp.float32))
        return jnp.where(state.legal_action_mask, outputs.logits, -1e9), outputs.values[:, 0]

    def expand(weights: Any, key: Array, action: Array, state: Any) -> tuple[Any, Any]:
        mover = state.current_player
        state = jax.vmap(environment.step)(state, action)
        logits, value = look(weights, state)
        reward = jnp.take_along_axis(state.rewards, mover[:, None], axis=1)[:, 0]
        over = state.terminated
        return mctx.RecurrentFnOutput(
            reward=reward, discount=jnp.where(over, 0.0, -1.0), prior_logits=logits, value=jnp.where(over, 0.0, value)
        ), state

    @jax.jit
    def play(weights: Any, state: Any, key: Array) -> Any:
        def ply(state: Any, key: Array) -> tuple[Any, None]:
            logits, value = look(weights, state)
            root = mctx.RootFnOutput(prior_logits=logits, value=value, embedding=state)
            illegal = ~state.legal_action_mask
            chosen = mctx.gumbel_muzero_policy(weights, key, root, expand, simulations, invalid_actions=illegal).action
            fresh = jax.vmap(environment.init)(jax.random.split(key, settings.games))
            moved = jax.vmap(environment.step)(state, chosen)
            done = moved.terminated
            return jax.tree.map(
                lambda new, old: jnp.where(done.reshape(done.shape + (1,) * (old.ndim - 1)), new, old), fresh, moved
            ), None

        return jax.lax.scan(ply, state, jax.random.split(key, settings.plies))[0]

    start = jax.jit(jax.vmap(environment.init))(jax.random.split(jax.random.key(1), settings.games))
    taken = seconds([partial(play, weights, start, jax.random.key(2))], 1)[0]
    print(json.dumps({"rate": settings.games * settings.plies * simulations / taken}))


def _row(what: str, ours: float, beside: str, other: float, *, unit: str) -> Row:
    return Row(
        what=what,
        ours=ours,
        beside=beside,
        other=other,
        ratio=ours / other,
        unit=unit,
        device=jax.devices()[0].device_kind,
    )
