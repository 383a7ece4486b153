"""Simulations per second of our search and of mctx, with the same game and evaluator on one device.

Both search the same Connect 4 positions with our rules and the same evaluator: uniform (equal priors, values 0) or a
residual network of 64 filters x 5 blocks. The speed of that network alone, in a compiled loop with the same batch, is
the limit for any search.

Axis letters: B positions side by side, A actions.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from tabia.games import make
from tabia.games.game import Game, State
from tabia.networks import Network
from tabia.networks.presets import tower
from tabia.search import Gumbel, Puct, Search
from tabia.search.evaluators import Evaluate, Uniform, random_actions
from tabia.search.evaluators import Network as Evaluator

METHOD = "median of 3 calls per side after compilation, the sides taking turns"
SIMULATIONS = (32, 128, 400, 800)
_GPU_BATCHES, _CPU_BATCHES = (1024, 4096, 16384), (1, 64, 1024)


@dataclass(frozen=True)
class Case:
    """One setting to measure."""

    rule: str  # gumbel or puct
    network: bool
    batch: int
    simulations: int


@dataclass(frozen=True)
class SearchSpeed:
    """The result of one case, in simulations per second over the whole batch."""

    rule: str
    network: str
    batch: int
    simulations: int
    ours: float
    mctx: float | None
    ratio: float | None
    network_alone: float | None
    share: float | None  # ours divided by network_alone
    device: str

    def to_dict(self) -> dict[str, Any]:
        """The result as a JSON object."""
        return asdict(self)


def cases(*, quick: bool = False) -> list[Case]:
    """The cases for this device."""
    if quick:
        return [Case("puct", False, 64, 32), Case("gumbel", False, 64, 32), Case("puct", True, 64, 32)]
    batches = _CPU_BATCHES if jax.default_backend() == "cpu" else _GPU_BATCHES
    return [
        Case(rule, network, batch, simulations)
        for network in (False, True)
        for rule in ("puct", "gumbel")
        for simulations in SIMULATIONS
        for batch in batches
    ]


def run(
    chosen: Sequence[Case], *, repeats: int = 3, of: Callable[[list[float]], float] = statistics.median
) -> Iterator[SearchSpeed]:
    """Measure each case and yield its row; of a side's `repeats` times, `of` chooses the one that counts."""
    game = make("connect4")
    network = Network(tower(filters=64, blocks=5), game.observation_shape, game.num_actions, game.num_players)
    dtype = jnp.float32 if jax.default_backend() == "cpu" else jnp.bfloat16
    parameters = network.prepare(network.fold(network.init(jax.random.key(0)), dtype))
    alone: dict[int, float] = {}
    for case in chosen:
        if case.network and case.batch not in alone:
            alone[case.batch] = _network_speed(game, network, parameters, case.batch)
        evaluate: Evaluate = Evaluator(game, network.forward) if case.network else Uniform(game)
        limit = alone[case.batch] if case.network else None
        yield _measure(game, evaluate, parameters, case, limit, repeats, of)


def _measure(
    game: Game,
    evaluate: Evaluate,
    parameters: Any,
    case: Case,
    alone: float | None,
    repeats: int,
    of: Callable[[list[float]], float],
) -> SearchSpeed:
    states = positions(game, case.batch)
    sides = [_ours(game, evaluate, case), *_mctx(game, evaluate, case)]
    work = case.batch * case.simulations
    rates = [work / taken for taken in seconds([partial(side, parameters, states) for side in sides], repeats, of)]
    theirs = rates[1] if len(rates) > 1 else None
    return SearchSpeed(
        rule=case.rule,
        network="64x5" if case.network else "none",
        batch=case.batch,
        simulations=case.simulations,
        ours=rates[0],
        mctx=theirs,
        ratio=rates[0] / theirs if theirs else None,
        network_alone=alone,
        share=rates[0] / alone if alone else None,
        device=jax.devices()[0].device_kind,
    )


def seconds(
    calls: Sequence[Callable[[], Any]], repeats: int, of: Callable[[list[float]], float] = statistics.median
) -> list[float]:
    """The median time of each call (or another statistic `of`) after compilation; the calls alternate."""
    for call in calls:
        jax.block_until_ready(call())
    seen: list[list[float]] = [[] for _ in calls]
    for _ in range(repeats):
        for times, call in zip(seen, calls, strict=True):
            start = time.perf_counter()
            jax.block_until_ready(call())
            times.append(time.perf_counter() - start)
    return [of(times) for times in seen]


def positions(game: Game, batch: int, *, plies: int = 6, seed: int = 0) -> State:
    """Unfinished positions after a few random moves."""

    def play(key: Array, state: State) -> State:
        action = random_actions(key, game.legal(state)[None])[0]
        new = game.step(state, action)
        return jax.tree.map(lambda a, b: jnp.where(game.over(new), a, b), state, new)

    def one(key: Array) -> State:
        keys = jax.random.split(key, plies + 1)
        return jax.lax.fori_loop(1, plies + 1, lambda ply, state: play(keys[ply], state), game.init(keys[0]))

    return jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(seed), batch))


def forward_loop(network: Network, parameters: Any, observations: Array, rounds: int) -> Callable[[], Array]:
    """A call that evaluates these observations [B, ...] with folded weights, `rounds` times in one compiled loop."""

    @jax.jit
    def loop(parameters: Any, observations: Array) -> Array:
        def call(_: Array, seen: Array) -> Array:
            logits, values = network.forward(parameters, seen)
            return seen + 1e-6 * (logits[:, :1] + values[:, :1])[:, :, None, None]  # keeps XLA from skipping a call

        return jax.lax.fori_loop(0, rounds, call, observations)

    return partial(loop, parameters, observations)


def _network_speed(game: Game, network: Network, parameters: Any, batch: int) -> float:
    """Positions per second of the network alone in a compiled loop."""
    rounds = 100 if jax.default_backend() != "cpu" else max(1, 512 // batch)
    observations = jax.vmap(game.observe)(positions(game, batch))
    return batch * rounds / seconds([forward_loop(network, parameters, observations, rounds)], 3)[0]


def _ours(game: Game, evaluate: Evaluate, case: Case) -> Callable[[Any, State], Array]:
    rule = Gumbel() if case.rule == "gumbel" else Puct()
    search = Search(game, evaluate, case.simulations, rule)
    return jax.jit(lambda parameters, states: search.run_unchecked(parameters, states, jax.random.key(1)).visits)


def _mctx(game: Game, evaluate: Evaluate, case: Case) -> list[Callable[[Any, State], Array]]:
    """The mctx side with its default settings; empty if mctx is not installed."""
    try:
        import mctx
    except ImportError:
        return []

    def step(parameters: Any, key: Array, actions: Array, states: State) -> tuple[Any, State]:
        movers = jax.vmap(game.mover)(states)
        states = jax.vmap(game.step)(states, actions)
        over, scores = jax.vmap(game.over)(states), jax.vmap(game.scores)(states)
        logits, value = evaluate_mover(parameters, states, key)
        return mctx.RecurrentFnOutput(
            reward=jnp.take_along_axis(scores, movers[:, None], axis=1)[:, 0],
            discount=jnp.where(over, 0.0, -1.0),
            prior_logits=logits,
            value=jnp.where(over, 0.0, value),
        ), states

    def evaluate_mover(parameters: Any, states: State, key: Array) -> tuple[Array, Array]:
        logits, values = evaluate(parameters, states, key)
        legal, movers = jax.vmap(game.legal)(states), jax.vmap(game.mover)(states)
        masked = jnp.where(legal, logits, jnp.finfo(logits.dtype).min)
        return masked, jnp.take_along_axis(values, movers[:, None], axis=1)[:, 0]

    def search(parameters: Any, states: State) -> Array:
        key = jax.random.key(1)
        logits, value = evaluate_mover(parameters, states, key)
        root = mctx.RootFnOutput(prior_logits=logits, value=value, embedding=states)
        policy = (
            mctx.gumbel_muzero_policy if case.rule == "gumbel" else partial(mctx.muzero_policy, dirichlet_fraction=0.0)
        )
        illegal = ~jax.vmap(game.legal)(states)
        output = policy(parameters, key, root, step, case.simulations, invalid_actions=illegal)
        return output.search_tree.summary().visit_counts

    return [jax.jit(search)]
