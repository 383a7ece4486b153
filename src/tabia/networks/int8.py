"""A network in 8-bit integers on a CPU: ONNX Runtime evaluates it inside compiled programs.

    quantized = Int8Network(network, folded, ranges)
    logits, values = Int8Forward(network)(quantized.handle, observations)      # inside any jit

The program that JAX compiles calls back to the host with the observations and a handle, and the host finds the session
of that handle. So networks of one shape share their programs, whatever their weights. The host also keeps evaluations,
because a search visits many positions of the search before it again.
Axis letters: B batch, H rows, W columns, C planes, A actions, P seats.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from types import ModuleType
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.core import devices
from tabia.networks.errors import NetworkError
from tabia.networks.evaluation_cache import DEFAULT_BYTES, EvaluationCache
from tabia.networks.layers import Folded
from tabia.networks.network import Network

if TYPE_CHECKING:
    from onnx import ModelProto
    from onnxruntime import InferenceSession

_LOG_ERRORS = 3
_handles = itertools.count()
_networks: WeakValueDictionary[int, Int8Network] = WeakValueDictionary()


class Session:
    """A model in ONNX Runtime, which computes each call on one core."""

    def __init__(self, model: ModelProto) -> None:
        onnxruntime = require_library()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = _LOG_ERRORS
        providers = ["CPUExecutionProvider"]
        self._session: InferenceSession = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=providers
        )

    def run(self, observations: np.ndarray) -> list[np.ndarray]:
        """Logits [B, A], values [B, P], and the model's scalars, for observations [B, H, W, C]."""
        found: list[np.ndarray] = self._session.run(None, {"observation": observations})
        return found


class Int8Network:
    """The weights of a network in 8 bits; `ranges` are those of the tensors that `measuring_session` reports."""

    def __init__(
        self,
        network: Network,
        folded: Folded,
        ranges: Sequence[tuple[float, float]],
        *,
        cache_bytes: int = DEFAULT_BYTES,
    ) -> None:
        require_library()
        from tabia.networks.onnx_graph import to_model
        from tabia.networks.onnx_int8 import Int8Pass

        self._session = Session(to_model(network, Int8Pass(folded, ranges)))
        self._actions = network.num_actions
        self.cache = EvaluationCache(network.num_actions + network.num_players, max_bytes=cache_bytes)
        """Evaluations by what the network was shown."""
        number = next(_handles)
        _networks[number] = self
        self.handle = jnp.int32(number)
        """What compiled programs take in place of weights."""

    def evaluate(self, observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Logits [B, A] and values [B, P] for observations [B, H, W, C]."""
        rows = self.cache.evaluate(observations, self._run)
        return rows[:, : self._actions], rows[:, self._actions :]

    def _run(self, observations: np.ndarray) -> np.ndarray:
        """Each core evaluates some of the positions; sharing every operation would wake the threads many times."""
        first, *others = np.array_split(observations, min(devices.cores(), len(observations)))
        jobs = [_threads().submit(self._run_part, part) for part in others]
        return np.concatenate([self._run_part(first), *(job.result() for job in jobs)])

    def _run_part(self, observations: np.ndarray) -> np.ndarray:
        logits, values = self._session.run(observations)
        return np.concatenate([logits, np.clip(values, -1.0, 1.0)], axis=-1)


@cache
def _threads() -> ThreadPoolExecutor:
    """One thread less than there are cores: the thread that calls back evaluates, too."""
    return ThreadPoolExecutor(max(devices.cores() - 1, 1), thread_name_prefix="int8")


def measuring_session(network: Network, folded: Folded) -> Session:
    """The network in float32; its scalars are the least and the largest number of each tensor to quantize, in turn."""
    require_library()
    from tabia.networks.onnx_graph import to_model
    from tabia.networks.onnx_int8 import RangePass, has_int8

    if not all(layer.is_plain for layer in network.layers):
        raise NetworkError(
            f"8 bits are for networks of convolutions and dense layers; a network of kind {network.config.kind!r} has "
            "others."
        )
    if not any(map(has_int8, network.layers)):
        raise NetworkError("8 bits are for networks with wide convolutions; this network has none.")
    return Session(to_model(network, RangePass(folded)))


@dataclass(frozen=True)
class Int8Forward:
    """The forward pass of an `Int8Network`, given its handle; equal for equal networks."""

    network: Network

    def __call__(self, handle: Array, observations: Array) -> tuple[Array, Array]:
        # JAX spends 0.06 ms on every array that crosses: one goes to the host, and one comes back.
        sent = jnp.concatenate([observations.astype(jnp.float32).ravel(), handle.astype(jnp.float32)[None]])
        actions = self.network.num_actions
        shape = jax.ShapeDtypeStruct((observations.shape[0], actions + self.network.num_players), jnp.float32)
        both = jax.pure_callback(partial(_evaluate, self.network.observation_shape), shape, sent)
        return both[:, :actions], both[:, actions:]

    @property
    def position_bytes(self) -> int:
        """Bytes of one position's features in the widest layer and the one before it."""
        return self.network.position_bytes


def _evaluate(shape: tuple[int, int, int], sent: Array) -> np.ndarray:
    numbers = np.asarray(sent)
    network = _networks[int(numbers[-1])]
    return np.concatenate(network.evaluate(numbers[:-1].reshape(-1, *shape)), axis=-1)


def require_library() -> ModuleType:
    """ONNX Runtime; raises NetworkError where it is not installed."""
    try:
        import onnx  # noqa: F401
        import onnxruntime
    except ImportError:
        raise NetworkError("8 bits need ONNX Runtime: install tabia[onnx].") from None
    return onnxruntime
