"""Everything that decides how a run goes on, and its arrays by name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.networks import Variables
from tabia.search import memory
from tabia.search.memory import Need
from tabia.training.errors import TrainingError
from tabia.training.learning.learner import TrainState
from tabia.training.memory import working_bytes
from tabia.training.plan import Plan
from tabia.training.selfplay import replay
from tabia.training.selfplay.openings import Lanes
from tabia.training.selfplay.replay import ReplayBuffer


class Board(NamedTuple):
    """The games being played on one board, and what was played on it."""

    lanes: Lanes
    buffer: ReplayBuffer


class State(NamedTuple):
    """A run between two iterations."""

    boards: tuple[Board, ...]
    train_state: TrainState
    champion: Variables | None  # the network that plays, where a gate decides; otherwise the averaged one does


@dataclass
class Counters:
    """What a run has done so far, counted on the host."""

    iteration: int = 0
    seconds: float = 0.0
    compiling: float = 0.0  # seconds of them in which it waited for compilers
    games: int = 0
    positions: int = 0
    champion: int = 0  # the iteration whose network plays, where a gate decides


def begin(plan: Plan) -> State:
    """The start of a run."""
    lane_key, weight_key = jax.random.split(jax.random.key(plan.config.seed))
    shapes = jax.eval_shape(plan.learner.init, weight_key)
    host = _host(plan, jax.eval_shape(lambda: [_board(board, shapes, lane_key).buffer for board in plan.boards]))
    train_state = plan.learner.init(weight_key)
    gated = plan.config.gate.kind != "none"
    champion = jax.tree.map(jnp.copy, train_state.ema) if gated else None
    return State(tuple(_board(board, train_state, lane_key, host) for board in plan.boards), train_state, champion)


def _board(plan: Plan, train_state: TrainState, key: Array, host: jax.Device | None = None) -> Board:
    lanes = plan.selfplay.begin(key)
    plies = jax.eval_shape(plan.selfplay.play, train_state.variables, lanes, key)[1]
    return Board(lanes, replay.make_room(plies, plan.rows, host))


def _host(plan: Plan, buffers: Sequence[ReplayBuffer]) -> jax.Device | None:
    """Where replays of these shapes are kept if not with everything else; refused where no place has room for them."""
    wanted, wish, working = sum(map(memory.nbytes, buffers)), plan.config.replay.place, working_bytes(plan)
    device, machine = memory.device_limit(), memory.machine_limit()
    if wish != "host" and wanted + working <= device.bytes:
        return None
    if wish != "device" and wanted <= machine.bytes / 2:  # a checkpoint needs as much again, twice
        return _cpu()
    places = {"host": machine.bytes // 2, "device": max(device.bytes - working, 0)}
    room = places[wish] if wish in places else max(places.values())
    held = plan.rows * plan.config.selfplay.games
    fits = memory.fitting(Need("replay.positions", held, wanted, ""), room)
    raise TrainingError(
        f"The replay needs {memory.size_text(wanted)} for {plan.rows:,} rows of {plan.config.selfplay.games:,} games; "
        f"with replay.place={wish!r} it may take {memory.size_text(room)}, where the limit is {device} on the device "
        "for all of a run's arrays, and half of that share in the machine's memory. "
        f"About {fits:,} positions would fit: lower replay.positions or selfplay.games."
    )


def _cpu() -> jax.Device:
    try:
        return jax.local_devices(backend="cpu")[-1]  # the last, so that tests can have a host beside their device
    except RuntimeError:
        raise TrainingError(
            "The replay needs the machine's memory, but JAX was started without its CPU: set JAX_PLATFORMS=cuda,cpu."
        ) from None


def whereabouts(state: State) -> str:
    """The replay's size and place, in words."""
    buffers = [board.buffer for board in state.boards]
    where = "on the device" if replay.host_of(buffers[0]) is None else "in the machine's memory"
    return f"{sum(map(memory.nbytes, buffers)) / 1e9:.2f} GB {where}"


def size(plan: Plan) -> int:
    """Bytes of all arrays of a plan's state."""
    plain = [_plain_shape(leaf) for leaf in jax.tree.leaves(_shapes(plan))]
    return sum(leaf.size * leaf.dtype.itemsize for leaf in plain)


@lru_cache(maxsize=2)
def _shapes(plan: Plan) -> State:
    return jax.eval_shape(lambda: begin(plan))


def playing(state: State) -> Variables:
    """The weights that play."""
    return state.train_state.ema if state.champion is None else state.champion


def to_arrays(state: State) -> dict[str, np.ndarray]:
    """Every array of a state under a name that tells its place."""
    leaves = jax.tree_util.tree_flatten_with_path(state)[0]
    return {jax.tree_util.keystr(path): _plain(leaf) for path, leaf in leaves}


def from_arrays(plan: Plan, arrays: Mapping[str, np.ndarray]) -> State:
    """The state these arrays hold; refused unless names, shapes and types are those of the plan."""
    like = _shapes(plan)
    expected, shape = jax.tree_util.tree_flatten_with_path(like)
    names = {jax.tree_util.keystr(path): leaf for path, leaf in expected}
    if set(names) != set(arrays):
        odd = sorted(set(names) ^ set(arrays))[0]
        raise TrainingError(f"The saved state is not one of this configuration: {odd} is missing or not known.")
    host = _host(plan, [board.buffer for board in like.boards])
    places = {name: host if re.match(r"\.boards\[\d+\]\.ring\b", name) else None for name in names}
    return jax.tree.unflatten(shape, [_like(name, leaf, arrays[name], places[name]) for name, leaf in names.items()])


def _plain(leaf: Array) -> np.ndarray:
    return np.asarray(jax.random.key_data(leaf) if _is_key(leaf) else leaf)


def _plain_shape(leaf: Any) -> Any:
    return jax.eval_shape(jax.random.key_data, leaf) if _is_key(leaf) else leaf


def _like(name: str, leaf: Any, array: np.ndarray, place: jax.Device | None) -> Array:
    plain = _plain_shape(leaf)
    if plain.shape != array.shape or plain.dtype != array.dtype:
        raise TrainingError(
            f"The saved state is not one of this configuration: {name} is {array.dtype}{list(array.shape)}, "
            f"not {plain.dtype}{list(plain.shape)}."
        )
    put = jax.device_put(array, place)
    return jax.random.wrap_key_data(put) if _is_key(leaf) else put


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
