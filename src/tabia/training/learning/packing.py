"""Parameters as training on a GPU carries them from step to step: equal kernels stacked, and all else in one vector.

    {"a": {"linear": {"kernel": K}, "norm": {"bias": b, "scale": s}},        {"3 x 3 x 8 x 8": {"kernels": [K, L]},
     "b": {"linear": {"kernel": L}, "norm": {"bias": c, "scale": t}}}   ->    "vectors": [b, s, c, t]}

A step then updates them with a few large operations. One for each parameter would take longer to start than to run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jax import Array
from jax.tree_util import PyTreeDef

from tabia.networks import Tree, Variables

KERNEL, KERNELS, VECTORS = "kernel", "kernels", "vectors"
Packed = dict[str, Any]
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Packing:
    """How to pack trees of one structure, and to unpack them."""

    structure: PyTreeDef
    shapes: tuple[Shape, ...]  # by leaf
    groups: tuple[str, ...]  # by leaf

    @classmethod
    def of(cls, tree: Tree) -> Packing:
        """How to pack trees with the structure and the shapes of this one."""
        leaves, structure = jax.tree.flatten_with_path(tree)
        return cls(
            structure=structure,
            shapes=tuple(leaf.shape for _, leaf in leaves),
            groups=tuple(_group(leaf.shape) if path[-1].key == KERNEL else VECTORS for path, leaf in leaves),
        )

    def pack(self, tree: Tree) -> Packed:
        """The arrays of a tree by group."""
        found: dict[str, list[Array]] = {}
        for group, leaf in zip(self.groups, jax.tree.leaves(tree, is_leaf=_is_masked), strict=True):
            found.setdefault(group, []).append(leaf)
        vectors = {VECTORS: _joined(found.pop(VECTORS))} if VECTORS in found else {}
        return {group: {KERNELS: _stacked(leaves)} for group, leaves in found.items()} | vectors

    def unpack(self, packed: Packed) -> Tree:
        """The tree that was packed."""
        places, leaves = dict.fromkeys(self.groups, 0), []
        for group, shape in zip(self.groups, self.shapes, strict=True):
            held = packed[group] if group == VECTORS else packed[group][KERNELS]
            size = math.prod(shape) if group == VECTORS else 1
            first = places[group]
            places[group] += size
            leaves.append(held if _is_masked(held) else held[first : first + size].reshape(shape))
        return jax.tree.unflatten(self.structure, leaves)

    def pack_state(self, state: optax.OptState) -> optax.OptState:
        """The state of an optimizer, with its trees of this structure packed."""
        return jax.tree.map(lambda part: self.pack(part) if self._fits(part) else part, state, is_leaf=self._fits)

    def unpack_state(self, state: optax.OptState) -> optax.OptState:
        """The state that was packed."""
        return jax.tree.map(
            lambda part: self.unpack(part) if self._is_packed(part) else part, state, is_leaf=self._is_packed
        )

    def _fits(self, part: Any) -> bool:
        return jax.tree.structure(part, is_leaf=_is_masked) == self.structure

    def _is_packed(self, part: Any) -> bool:
        return isinstance(part, dict) and part.keys() == set(self.groups)


class Plain:
    """Variables as they are: nothing is packed."""

    def pack(self, variables: Variables) -> Variables:
        return variables

    def unpack(self, variables: Variables) -> Variables:
        return variables


PLAIN = Plain()


@dataclass(frozen=True)
class PackedVariables(Plain):
    """Variables whose parameters and statistics are packed."""

    params: Packing
    statistics: Packing

    @classmethod
    def of(cls, variables: Variables) -> PackedVariables:
        """How to pack variables like these."""
        return cls(Packing.of(variables.params), Packing.of(variables.statistics))

    def pack(self, variables: Variables) -> Variables:
        return Variables(self.params.pack(variables.params), self.statistics.pack(variables.statistics))

    def unpack(self, variables: Variables) -> Variables:
        return Variables(self.params.unpack(variables.params), self.statistics.unpack(variables.statistics))


def _group(shape: Shape) -> str:
    """The name of the kernels of this shape."""
    return " x ".join(map(str, shape))


def _stacked(leaves: Sequence[Any]) -> Any:
    return leaves[0] if _is_masked(leaves[0]) else jnp.stack(leaves)


def _joined(leaves: Sequence[Any]) -> Any:
    return leaves[0] if _is_masked(leaves[0]) else jnp.concatenate([leaf.reshape(-1) for leaf in leaves])


def _is_masked(part: Any) -> bool:
    """Whether this stands for a parameter that another optimizer handles; of a group either all are masked or none."""
    return isinstance(part, optax.MaskedNode)
