"""The manifest of a weights file, checked before any tensor is read.

A weights file is one safetensors file. Its header holds, as JSON under the key `tabia`, a manifest: the network, the
names, shapes and types of its tensors, their SHA-256, and the writer's metadata. All of it is checked against the
tensors that the named network must have.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from tabia.core.parsing import parse_json
from tabia.core.text import plain, quote
from tabia.networks.config import NetworkConfig
from tabia.networks.errors import NetworkError, WeightsError
from tabia.networks.network import Network

FORMAT = 1
HOLDS = ("variables", "folded")
TYPES = {"float32": ("F32", 4), "float16": ("F16", 2), "bfloat16": ("BF16", 2)}
"""Types of tensors: the name in a safetensors header, and the bytes per number."""
STORED = TYPES | {"int8": ("I8", 1)}
"""Types in a file. A tensor in 8 bits comes with its scales, a float32 tensor named NAME.scale."""
SCALE = ".scale"
_KEY = "tabia"
_RENAMED = {"last_board": "final_position"}  # settings of networks, by their former names


@dataclass(frozen=True)
class Tensor:
    """One tensor of a file: its shape, its type in the file, and its type in memory."""

    shape: tuple[int, ...]
    stored: str
    memory: str

    @property
    def bytes(self) -> int:
        """Its size in the file, without scales."""
        return math.prod(self.shape) * STORED[self.stored][1]

    @property
    def scales(self) -> Tensor | None:
        """The tensor of its scales, if it is stored in 8 bits."""
        return Tensor(self.shape[-1:], "float32", "float32") if self.stored == "int8" else None


@dataclass(frozen=True)
class Manifest:
    """What a weights file says about itself."""

    network: Network
    holds: str
    tensors: dict[str, Tensor]
    sha256: str
    metadata: dict[str, Any]

    @property
    def stored(self) -> dict[str, Tensor]:
        """What is in the file: the tensors, and the scales of those in 8 bits."""
        scales = {f"{name}{SCALE}": tensor.scales for name, tensor in self.tensors.items()}
        return self.tensors | {name: tensor for name, tensor in scales.items() if tensor is not None}

    def to_header(self) -> dict[str, str]:
        """The manifest as safetensors stores it: one sorted JSON string, so that equal weights make equal files."""
        network = self.network
        content = {
            "format": FORMAT,
            "network": {
                "config": network.config.to_dict(),
                "observation_shape": list(network.observation_shape),
                "num_actions": network.num_actions,
                "num_players": network.num_players,
            },
            "holds": self.holds,
            "tensors": {
                name: {"shape": list(tensor.shape), "stored": tensor.stored, "memory": tensor.memory}
                for name, tensor in sorted(self.tensors.items())
            },
            "sha256": self.sha256,
            "metadata": self.metadata,
        }
        try:
            return {_KEY: json.dumps(content, allow_nan=False, sort_keys=True)}
        except (TypeError, ValueError, RecursionError) as error:
            raise WeightsError(
                f"The metadata of a weights file must be JSON (strings, finite numbers, lists, objects): {error}."
            ) from None


def expected_shapes(network: Network, holds: str) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the tensors that a file of this network must have."""
    shapes: dict[str, tuple[int, ...]] = {}
    for layer in network.layers:
        kept = layer.folded() if holds == "folded" else layer.params() | layer.statistics()
        shapes |= {f"{layer.name}.{name}": shape for name, shape in kept.items()}
    return shapes


def parse(header: bytes, size: int) -> Manifest:
    """The manifest in a header; it must fit its network, the header's list of tensors, and the bytes that follow."""
    entries = _json(header, "Its header")
    text = _entry(entries.get("__metadata__", {}), dict).get(_KEY)
    if not isinstance(text, str):
        raise WeightsError("It is a safetensors file without Tabia's manifest in its header.")
    content = _json(text.encode(), "Its manifest")
    if content.get("format") != FORMAT:
        raise WeightsError(
            f"Its format is {quote(content.get('format'))}; this version of Tabia reads format {FORMAT}."
        )
    manifest = _manifest(content)
    _check_tensors(manifest)
    _check_header(manifest, entries, size)
    return manifest


_Kind = TypeVar("_Kind", dict[str, Any], list[Any], str, int)
_KINDS: dict[type, str] = {dict: "an object", list: "a list", str: "a string", int: "a whole number"}


def _json(text: bytes, what: str) -> dict[str, Any]:
    try:
        found = parse_json(text)
    except ValueError:
        raise WeightsError(f"{what} is not JSON: it is not a safetensors file, or it is damaged.") from None
    return _entry(found, dict)


def _entry(found: object, kind: type[_Kind]) -> _Kind:
    if type(found) is not kind:
        raise WeightsError(f"Its manifest is damaged: expected {_KINDS[kind]}, got {quote(found)}.")
    return found


def _manifest(content: dict[str, Any]) -> Manifest:
    network, holds = _network(_entry(content.get("network"), dict)), content.get("holds")
    if not isinstance(holds, str) or holds not in HOLDS:
        raise WeightsError(f"It holds {quote(holds)}; expected {' or '.join(HOLDS)}.")
    tensors = {name: _tensor(entry) for name, entry in _entry(content.get("tensors"), dict).items()}
    sha256 = _entry(content.get("sha256"), str)
    return Manifest(network, holds, tensors, sha256, _entry(content.get("metadata"), dict))


def _network(entries: dict[str, Any]) -> Network:
    shape = [_entry(size, int) for size in _entry(entries.get("observation_shape"), list)]
    if len(shape) != 3:
        raise WeightsError(f"Its manifest is damaged: expected a board of rows x columns x planes, got {quote(shape)}.")
    try:
        config = NetworkConfig.from_dict(_renamed(_entry(entries.get("config"), dict)))
        actions, players = _entry(entries.get("num_actions"), int), _entry(entries.get("num_players"), int)
        return Network(config, (shape[0], shape[1], shape[2]), actions, players)
    except WeightsError:
        raise
    except (NetworkError, TypeError) as error:
        raise WeightsError(f"Its network cannot be built: {error}") from None


def _renamed(config: dict[str, Any]) -> dict[str, Any]:
    """A configuration with the names that settings have today; files keep those of the day they were written."""
    return {_RENAMED.get(name, name): value for name, value in config.items()}


def _tensor(entry: object) -> Tensor:
    fields = _entry(entry, dict)
    shape = tuple(_entry(size, int) for size in _entry(fields.get("shape"), list))
    stored, memory = _type(fields.get("stored"), STORED), _type(fields.get("memory"), TYPES)
    if stored == "int8" and len(shape) < 2:
        raise WeightsError(f"Its manifest is damaged: a tensor of shape {quote(shape)} has no channels to scale.")
    return Tensor(shape, stored, memory)


def _type(name: object, known: Iterable[str]) -> str:
    if not isinstance(name, str) or name not in known:
        raise WeightsError(f"Its manifest names the type {quote(name)}; expected {', '.join(known)}.")
    return name


def _check_tensors(manifest: Manifest) -> None:
    """Names and shapes must be exactly those of the network."""
    expected = expected_shapes(manifest.network, manifest.holds)
    check_names(manifest.tensors, expected)
    for name, shape in expected.items():
        if manifest.tensors[name].shape != shape:
            found = quote(manifest.tensors[name].shape)
            raise WeightsError(f"{name} has the shape {found}; its network needs {shape}.")


def check_names(found: Iterable[str], expected: Iterable[str]) -> None:
    """Refuse missing and foreign tensors."""
    found, expected = dict.fromkeys(found), dict.fromkeys(expected)
    for name in expected:
        if name not in found:
            raise WeightsError(f"The tensor {name} is missing.")
    for name in found:
        if name not in expected:
            raise WeightsError(f"The tensor {plain(name)} does not belong to this network.")


def _check_header(manifest: Manifest, entries: dict[str, Any], size: int) -> None:
    """The header's list of tensors must agree with the manifest, and the file must have the right size."""
    listed = {name: entry for name, entry in entries.items() if name != "__metadata__"}
    check_names(listed, manifest.stored)
    for name, tensor in manifest.stored.items():
        entry = _entry(listed[name], dict)
        if (entry.get("dtype"), entry.get("shape")) != (STORED[tensor.stored][0], list(tensor.shape)):
            raise WeightsError(f"The header and the manifest disagree about the tensor {name}.")
    needed = sum(tensor.bytes for tensor in manifest.stored.values())
    if size != needed:
        verb = "is cut short" if size < needed else "is too long"
        raise WeightsError(f"It {verb}: {size:,} bytes of tensors instead of {needed:,}.")
