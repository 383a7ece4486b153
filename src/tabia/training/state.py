"""Everything that decides how a run goes on, and its arrays by name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.networks import Variables
from tabia.training import replay
from tabia.training.errors import TrainingError
from tabia.training.learner import Learned
from tabia.training.plan import Plan
from tabia.training.replay import Ring
from tabia.training.selfplay import Lanes, Plies


class State(NamedTuple):
    """A run between two cycles."""

    lanes: Lanes
    ring: Ring
    learned: Learned
    champion: Variables | None  # the network that plays, where a gate decides; otherwise the averaged one does


@dataclass
class Ledger:
    """What a run has done so far, counted on the host."""

    cycle: int = 0
    seconds: float = 0.0
    games: int = 0
    positions: int = 0
    champion: int = 0  # the cycle whose network plays, where a gate decides


def begin(plan: Plan) -> State:
    """The start of a run."""
    lane_key, weight_key = jax.random.split(jax.random.key(plan.config.seed))
    lanes = plan.selfplay.begin(lane_key)
    learned = plan.learner.begin(weight_key)
    plies = jax.eval_shape(plan.selfplay.play, learned.variables, lanes, lane_key)[1]
    check_room(plan, plies)
    gated = plan.config.gate.kind != "none"
    champion = jax.tree.map(jnp.copy, learned.averaged) if gated else None
    return State(lanes, replay.make_room(plies, plan.rows), learned, champion)


def check_room(plan: Plan, plies: Plies) -> None:
    """Refuse a replay that would take more than half of the device's memory."""
    row = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(plies)) / plan.config.selfplay.plies
    wanted, there = row * plan.rows, _memory()
    if wanted > there / 2:
        raise TrainingError(
            f"The replay would take {wanted / 1e9:.1f} GB of the device's {there / 1e9:.1f} GB: its {plan.rows:,} rows "
            f"of {plan.config.selfplay.games:,} games take {row / 1e6:.2f} MB each. Lower replay.positions or "
            "selfplay.games."
        )


def _memory() -> float:
    """Bytes of the device's memory, or of the machine's where the device does not say."""
    told = jax.devices()[0].memory_stats() or {}
    return float(told.get("bytes_limit") or os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))


def playing(state: State) -> Variables:
    """The weights that play."""
    return state.learned.averaged if state.champion is None else state.champion


def to_arrays(state: State) -> dict[str, np.ndarray]:
    """Every array of a state under a name that tells its place."""
    leaves = jax.tree_util.tree_flatten_with_path(state)[0]
    return {jax.tree_util.keystr(path): _plain(leaf) for path, leaf in leaves}


def from_arrays(plan: Plan, arrays: Mapping[str, np.ndarray]) -> State:
    """The state these arrays hold; refused unless names, shapes and types are those of the plan."""
    expected, shape = jax.tree_util.tree_flatten_with_path(jax.eval_shape(lambda: begin(plan)))
    names = {jax.tree_util.keystr(path): leaf for path, leaf in expected}
    if set(names) != set(arrays):
        odd = sorted(set(names) ^ set(arrays))[0]
        raise TrainingError(f"The saved state is not one of this configuration: {odd} is missing or not known.")
    return jax.tree.unflatten(shape, [_like(name, leaf, arrays[name]) for name, leaf in names.items()])


def _plain(leaf: Array) -> np.ndarray:
    return np.asarray(jax.random.key_data(leaf) if _is_key(leaf) else leaf)


def _like(name: str, leaf: Any, array: np.ndarray) -> Array:
    plain = jax.eval_shape(jax.random.key_data, leaf) if _is_key(leaf) else leaf
    if plain.shape != array.shape or plain.dtype != array.dtype:
        raise TrainingError(
            f"The saved state is not one of this configuration: {name} is {array.dtype}{list(array.shape)}, "
            f"not {plain.dtype}{list(plain.shape)}."
        )
    return jax.random.wrap_key_data(jnp.asarray(array)) if _is_key(leaf) else jnp.asarray(array)


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
