"""Weights in files: written atomically, checked in full when read, and unable to run code.

safetensors cannot name a class or a function, and nothing here unpickles, evaluates or imports what a file says. The
manifest (`manifest.py`) is checked before any tensor is read.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import safetensors
from jax import Array
from safetensors.numpy import save as to_bytes

from tabia.core import files
from tabia.networks.errors import WeightsError
from tabia.networks.layers import Folded, LayerTree, Shape
from tabia.networks.manifest import SCALE, STORED, TYPES, Manifest, Tensor, check_names, expected_shapes, parse
from tabia.networks.network import Network
from tabia.networks.passes import Variables
from tabia.networks.quantize import dequantize, quantize

LIMIT = 2 * 1024**3
"""The default limit on the size of a file that is read, in bytes."""
_HEADER_LIMIT = 16 * 1024**2
_DTYPES = {name: np.dtype(getattr(jnp, name)) for name in STORED}
Weights = Variables | Folded


class Loaded(NamedTuple):
    """The content of a weights file."""

    network: Network
    weights: Variables | Folded  # as they were saved
    metadata: dict[str, Any]

    @property
    def variables(self) -> Variables:
        """The weights for training; a file with folded weights has none."""
        if not isinstance(self.weights, Variables):
            raise WeightsError("This file contains folded weights, which are for inference only.")
        return self.weights


def save(
    path: str | Path,
    network: Network,
    weights: Weights,
    metadata: Mapping[str, Any] | None = None,
    *,
    store: str | None = None,
) -> None:
    """Write weights to a file atomically: a reader finds the old file or the new one.

    `store` ("float32", "float16", "bfloat16", "int8") is the type in the file; by default each tensor's own. Half
    precision halves the file; "int8" halves it again, with kernels in 8 bits and all else in float16. `load` restores
    the types in memory.
    """
    if store is not None and store not in STORED:
        raise WeightsError(f"Weights can be stored as {', '.join(STORED)}; got {store!r}.")
    holds = "variables" if isinstance(weights, Variables) else "folded"
    arrays = _named(weights)
    check_names(arrays, expected_shapes(network, holds))
    kept: dict[str, np.ndarray] = {}
    for name, array in arrays.items():
        kept |= _stored(name, array, store)
    tensors = {name: Tensor(array.shape, kept[name].dtype.name, array.dtype.name) for name, array in arrays.items()}
    _check_shapes(tensors, expected_shapes(network, holds))
    manifest = Manifest(network, holds, tensors, _fingerprint(kept), dict(metadata or {}))
    try:
        files.write_atomic(Path(path), to_bytes(kept, manifest.to_header()))
    except OSError as error:
        raise WeightsError(f"{path} cannot be written: {error.strerror or error}.") from None


def load(path: str | Path, *, limit: int = LIMIT, within: Path | None = None) -> Loaded:
    """The network, its weights (variables or folded, as they were saved) and the metadata saved with them.

    The file must be inside the directory `within`, also after following links.
    """
    try:
        with files.open_regular(Path(path), within=within) as file:
            header, size = _header(file, limit)
            manifest = parse(header, size)
            file.seek(0)
            content = file.read(8 + len(header) + size)
        return Loaded(manifest.network, _weights(manifest, _arrays(manifest, content)), manifest.metadata)
    except OSError as error:
        raise WeightsError(f"{path} cannot be read: {error.strerror or error}.") from None
    except WeightsError as error:
        raise WeightsError(f"{path} is not a valid weights file. {error}") from None


def read_manifest(path: str | Path, *, within: Path | None = None) -> Manifest:
    """The manifest of a file, without reading its tensors."""
    try:
        with files.open_regular(Path(path), within=within) as file:
            return parse(*_header(file, limit=None))
    except OSError as error:
        raise WeightsError(f"{path} cannot be read: {error.strerror or error}.") from None
    except WeightsError as error:
        raise WeightsError(f"{path} is not a valid weights file. {error}") from None


def _header(file: IO[bytes], limit: int | None) -> tuple[bytes, int]:
    """The header of a safetensors file, and the number of bytes after it."""
    total = os.fstat(file.fileno()).st_size
    if limit is not None and total > limit:
        raise WeightsError(f"It has {total:,} bytes, more than the {limit:,} allowed.")
    length = int.from_bytes(file.read(8), "little")
    if not 2 <= length <= min(total - 8, _HEADER_LIMIT):
        raise WeightsError("It is not a safetensors file, or it is cut short.")
    return file.read(length), total - 8 - length


def _arrays(manifest: Manifest, content: bytes) -> dict[str, np.ndarray]:
    try:
        found = safetensors.deserialize(content)
        arrays = {name: _array(entry["data"], manifest.stored[name]) for name, entry in found}
    except (safetensors.SafetensorError, KeyError, ValueError) as error:
        raise WeightsError(f"It is damaged: {error}.") from None
    if _fingerprint(arrays) != manifest.sha256:
        raise WeightsError("It is damaged: the SHA-256 of its tensors is not the one in its manifest.")
    for name, array in arrays.items():
        _check_finite(name, array)
    return arrays


def _array(content: bytes, tensor: Tensor) -> np.ndarray:
    return np.frombuffer(content, _DTYPES[tensor.stored]).reshape(tensor.shape)


def _weights(manifest: Manifest, arrays: dict[str, np.ndarray]) -> Weights:
    in_memory = {
        name: jax.device_put(_restored(name, arrays).astype(_DTYPES[tensor.memory]))
        for name, tensor in manifest.tensors.items()
    }
    network = manifest.network
    if manifest.holds == "folded":
        return {
            layer.name: {leaf: in_memory[f"{layer.name}.{leaf}"] for leaf in layer.folded()} for layer in network.layers
        }
    params, statistics = {}, {}
    for layer in network.layers:
        params[layer.name] = _tree(in_memory, layer.name, layer.params())
        if layer.norm:
            statistics[layer.name] = _tree(in_memory, layer.name, layer.statistics())
    return Variables(params, statistics)


def _tree(arrays: Mapping[str, Array], layer: str, leaves: Mapping[str, Shape]) -> LayerTree:
    tree: LayerTree = {}
    for leaf in leaves:
        part, name = leaf.split(".")
        tree.setdefault(part, {})[name] = arrays[f"{layer}.{leaf}"]
    return tree


def _named(weights: Weights) -> dict[str, np.ndarray]:
    """Every array under its full name, such as block1.first.linear.kernel."""
    if not isinstance(weights, Variables):
        return {f"{layer}.{leaf}": np.asarray(a) for layer, leaves in weights.items() for leaf, a in leaves.items()}
    return {
        f"{layer}.{part}.{leaf}": np.asarray(array)
        for tree in weights
        for layer, parts in tree.items()
        for part, leaves in parts.items()
        for leaf, array in leaves.items()
    }


def _stored(name: str, array: np.ndarray, store: str | None) -> dict[str, np.ndarray]:
    """A tensor as it is in the file, with its scales if it is stored in 8 bits."""
    if array.dtype.name not in TYPES:
        raise WeightsError(f"{name} has the type {array.dtype.name}; weights can be {', '.join(TYPES)}.")
    if store == "int8" and array.ndim > 1:
        _check_finite(name, array)
        steps, scale = quantize(array)
        return {name: steps, f"{name}{SCALE}": scale}
    with np.errstate(over="ignore"):  # overflow becomes infinite and is refused by name below
        kept = np.ascontiguousarray(
            array if store is None else array.astype(_DTYPES["float16" if store == "int8" else store])
        )
    _check_finite(name, kept)
    return {name: kept}


def _restored(name: str, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
    scale = arrays.get(f"{name}{SCALE}")
    return arrays[name] if scale is None else dequantize(arrays[name], scale)


def _check_finite(name: str, array: np.ndarray) -> None:
    if not np.isfinite(array).all():
        raise WeightsError(f"{name} contains numbers that are not finite (in {array.dtype.name}).")


def _check_shapes(tensors: Mapping[str, Tensor], expected: Mapping[str, tuple[int, ...]]) -> None:
    for name, shape in expected.items():
        if tensors[name].shape != shape:
            raise WeightsError(f"{name} has the shape {tensors[name].shape}; this network needs {shape}.")


def _fingerprint(arrays: Mapping[str, np.ndarray]) -> str:
    """SHA-256 of the tensors' names and bytes, sorted by name."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(name.encode() + b"\0")
        digest.update(arrays[name].tobytes())
    return digest.hexdigest()
