"""The state of a run between two iterations, and its arrays by name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.core import devices
from tabia.networks import Variables
from tabia.networks.widening import Widening
from tabia.search import memory
from tabia.search.memory import Need
from tabia.training.errors import DIVERGED, TrainingError
from tabia.training.learning.learner import Learner
from tabia.training.learning.steps import TrainState
from tabia.training.learning.widening import widen
from tabia.training.limits import working_bytes
from tabia.training.plan import Plan
from tabia.training.selfplay import replay
from tabia.training.selfplay.openings import Lanes
from tabia.training.selfplay.replay import ReplayBuffer

_NEW_GAMES = 2**32 - 1  # folded into the key of games that start within a run; the numbers of iterations are smaller
_NEW_WEIGHTS = 2**32 - 2  # likewise, of weights that are added to the network


class Board(NamedTuple):
    """The games in progress on one board, and its replay buffer."""

    lanes: Lanes
    buffer: ReplayBuffer


class State(NamedTuple):
    """A run between two iterations."""

    boards: tuple[Board, ...]
    train_state: TrainState
    champion: Variables | None  # the network that plays, if there is a gate; otherwise the EMA plays
    backup: TrainState | None = None  # the champion's, if a refused network is replaced by it


_Learned = tuple[TrainState, Variables | None, TrainState | None]  # of a state: what learning changes


@dataclass
class Counters:
    """What a run has done so far."""

    iteration: int = 0
    seconds: float = 0.0
    compile_seconds: float = 0.0  # of `seconds`, spent waiting for compilation
    games: int = 0
    positions: int = 0
    champion: int = 0  # the iteration whose network plays, if there is a gate
    loss: float = 0.0  # the total of the latest iteration that learned; 0 before that
    accuracy: float = 0.0  # of a supervised run


def begin(plan: Plan) -> State:
    """The state at the start of a run."""
    lane_key, weight_key = jax.random.split(jax.random.key(plan.config.seed))
    shapes = jax.eval_shape(plan.learner.init, weight_key)
    host = _host(plan, jax.eval_shape(lambda: [_board(board, shapes, lane_key).buffer for board in plan.boards]))
    train_state = devices.copied(plan.learner.init(weight_key))
    gated = plan.config.gate.kind != "none"
    boards = tuple(_board(board, train_state, lane_key, host) for board in plan.boards)
    champion = jax.tree.map(jnp.copy, train_state.ema) if gated else None
    backup = jax.tree.map(jnp.copy, train_state) if plan.config.gate.restore_on_refusal else None
    return State(boards, train_state, champion, backup)


def without_games(plan: Plan, state: State) -> State:
    """The state with empty replay buffers and new games, as the network takes over from a teacher."""
    key = jax.random.fold_in(jax.random.key(plan.config.seed), _NEW_GAMES)
    boards = (
        Board(board.selfplay.begin(key), replay.emptied(held.buffer))
        for board, held in zip(plan.boards, state.boards, strict=True)
    )
    return state._replace(boards=tuple(boards))


def widened(before: Plan, now: Plan, state: State) -> State:
    """The state of a run whose network grows from the one of `before` to the one of `now`."""
    if before.network == now.network:
        return state
    learned = (state.train_state, state.champion, state.backup)
    return _with(state, *devices.copied(_widened(before.learner, now.learner, learned, _weight_key(now))))


def widened_shapes(before: Plan, now: Plan, state: State) -> State:
    """A state whose network has grown, with shapes instead of learned arrays."""
    if before.network == now.network:
        return state
    like: TrainState = jax.eval_shape(now.learner.init, jax.random.key(0))
    like = jax.tree.map(lambda leaf: leaf.update(sharding=devices.copying()), like)
    return _with(state, like, None if state.champion is None else like.ema, None if state.backup is None else like)


def _with(state: State, train_state: TrainState, champion: Variables | None, backup: TrainState | None) -> State:
    return state._replace(train_state=train_state, champion=champion, backup=backup)


@partial(jax.jit, static_argnums=(0, 1))
def _widened(before: Learner, now: Learner, learned: _Learned, key: Array) -> _Learned:
    train_state, champion, backup = learned
    widening = Widening(before.network, now.network)
    return (
        widen(before, now, train_state, key),
        None if champion is None else widening.variables(champion, key),
        None if backup is None else widen(before, now, backup, key),
    )


def _weight_key(plan: Plan) -> Array:
    """The key of weights that are added to the network: it depends on their number, not on when they are added."""
    network, key = plan.config.network, jax.random.fold_in(jax.random.key(plan.config.seed), _NEW_WEIGHTS)
    return jax.random.fold_in(jax.random.fold_in(key, network.filters), network.blocks)


def _board(plan: Plan, train_state: TrainState, key: Array, host: jax.Device | None = None) -> Board:
    lanes = plan.selfplay.begin(key)
    plies = plan.selfplay.shapes(train_state.variables, lanes, key)
    return Board(lanes, replay.make_buffer(plies, plan.rows, host))


def _host(plan: Plan, buffers: Sequence[ReplayBuffer]) -> jax.Device | None:
    """The host device if replay buffers of these shapes belong there, otherwise None; refused if nothing fits."""
    needed, place, working = sum(map(memory.nbytes, buffers)), plan.config.replay.place, working_bytes(plan)
    device, machine = memory.device_limit(), memory.machine_limit()
    if place != "host" and devices.per_device(needed) + working <= device.bytes:
        return None
    if place != "device" and needed <= machine.bytes / 2:  # a checkpoint needs as much again, twice
        return _cpu()
    capacities = {"host": machine.bytes // 2, "device": max(device.bytes - working, 0) * devices.count()}
    capacity = capacities[place] if place in capacities else max(capacities.values())
    positions = plan.rows * plan.config.selfplay.games
    fits = memory.fitting(Need("replay.positions", positions, needed, ""), capacity)
    raise TrainingError(
        f"The replay buffer needs {memory.size_text(needed)} for {plan.rows:,} rows of "
        f"{plan.config.selfplay.games:,} games. With replay.place={place!r} it may take {memory.size_text(capacity)}: "
        f"the limit on the device is {device} for all arrays of a run, and in the machine's memory half of its limit. "
        f"About {fits:,} positions would fit: lower replay.positions or selfplay.games."
    )


def _cpu() -> jax.Device:
    try:
        return jax.local_devices(backend="cpu")[-1]  # the last one: tests use two CPU devices
    except RuntimeError:
        raise TrainingError(
            "The replay buffer needs the machine's memory, but JAX was started without its CPU backend. "
            "Set JAX_PLATFORMS=cuda,cpu."
        ) from None


def replay_size(state: State) -> str:
    """The size and place of the replay buffers, in words."""
    buffers = [board.buffer for board in state.boards]
    one = "on the device" if devices.count() == 1 else f"on {devices.count()} devices"
    where = one if replay.host_of(buffers[0]) is None else "in the machine's memory"
    return f"{sum(map(memory.nbytes, buffers)) / 1e9:.2f} GB {where}"


def size(plan: Plan) -> int:
    """Bytes of all arrays of a state."""
    plain = [_plain_shape(leaf) for leaf in jax.tree.leaves(_shapes(plan))]
    return sum(leaf.size * leaf.dtype.itemsize for leaf in plain)


@lru_cache(maxsize=2)
def _shapes(plan: Plan) -> State:
    return jax.eval_shape(lambda: begin(plan))


def playing(state: State) -> Variables:
    """The weights that play."""
    return state.train_state.ema if state.champion is None else state.champion


def check_finite(train_state: TrainState, iteration: int) -> None:
    """Refuse to save weights that are not finite: the last step may have ruined them after its losses were computed."""
    leaves = jax.tree.leaves((train_state.variables, train_state.ema, train_state.optimizer_state))
    # In NumPy, because a run that is being stopped has no time to compile anything.
    if not all(bool(np.isfinite(np.asarray(leaf)).all()) for leaf in leaves):
        raise TrainingError(
            f"Stopped after iteration {iteration}, by optimizer step {int(train_state.step)}: the weights are no "
            f"longer finite numbers, so they are not saved. {DIVERGED}"
        )


def to_arrays(state: State) -> dict[str, np.ndarray]:
    """Every array of a state by its path in the tree."""
    leaves = jax.tree_util.tree_flatten_with_path(state)[0]
    return {jax.tree_util.keystr(path): _plain(leaf) for path, leaf in leaves}


def from_arrays(plan: Plan, arrays: Mapping[str, np.ndarray]) -> State:
    """The state made of these arrays; refused unless names, shapes and types match the plan."""
    like = _shapes(plan)
    expected, shape = jax.tree_util.tree_flatten_with_path(like)
    names = {jax.tree_util.keystr(path): leaf for path, leaf in expected}
    if set(names) != set(arrays):
        odd = sorted(set(names) ^ set(arrays))[0]
        raise TrainingError(f"The saved state does not match this configuration: {odd} is missing or unknown.")
    host = _host(plan, [board.buffer for board in like.boards])
    places = {name: _place(name, leaf.ndim, host) for name, leaf in names.items()}
    return jax.tree.unflatten(shape, [_like(name, leaf, arrays[name], places[name]) for name, leaf in names.items()])


def _place(name: str, axes: int, host: jax.Device | None) -> jax.Device | jax.sharding.Sharding | None:
    """Where an array of a state belongs."""
    board = re.match(r"\.boards\[\d+\]\.(lanes|buffer)\b", name)
    if board is None or axes == 0:
        return devices.copying() if board is None or host is None else host
    if board[1] == "lanes":
        return devices.splitting()
    return devices.splitting(axis=1) if host is None else host


def _plain(leaf: Array) -> np.ndarray:
    return np.asarray(jax.random.key_data(leaf) if _is_key(leaf) else leaf)


def _plain_shape(leaf: Any) -> Any:
    return jax.eval_shape(jax.random.key_data, leaf) if _is_key(leaf) else leaf


def _like(name: str, leaf: Any, array: np.ndarray, place: jax.Device | jax.sharding.Sharding | None) -> Array:
    plain = _plain_shape(leaf)
    if plain.shape != array.shape or plain.dtype != array.dtype:
        raise TrainingError(
            f"The saved state does not match this configuration: {name} is {array.dtype}{list(array.shape)}, "
            f"not {plain.dtype}{list(plain.shape)}."
        )
    put = jax.device_put(array, place)
    return jax.random.wrap_key_data(put) if _is_key(leaf) else put


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
