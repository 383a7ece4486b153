"""The walk and the way back by whatever is fastest: kernels on an NVIDIA GPU, plain XLA everywhere else."""

from __future__ import annotations

from functools import partial

import jax
from jax import Array

from tabia.search import walk as plain
from tabia.search.selection import Rule
from tabia.search.tree import Tree
from tabia.search.walk import Path


def walk(tree: Tree, first: Array, rule: Rule, *, max_depth: int) -> Path:
    if not _has_kernels(tree):
        return plain.walk(tree, first, rule, max_depth=max_depth)
    from tabia.search import kernels

    return jax.lax.platform_dependent(
        tree, first,
        cuda=partial(kernels.walk, rule=rule, max_depth=max_depth),
        default=partial(plain.walk, rule=rule, max_depth=max_depth),
    )  # fmt: skip


def back_up(tree: Tree, path: Path, values: Array, linked: Array, *, visits: float = 1.0) -> Tree:
    if not _has_kernels(tree):
        return plain.back_up(tree, path, values, linked, visits=visits)
    from tabia.search import kernels

    return jax.lax.platform_dependent(
        tree, path, values, linked,
        cuda=partial(kernels.back_up, visits=visits),
        default=partial(plain.back_up, visits=visits),
    )  # fmt: skip


def _has_kernels(tree: Tree) -> bool:
    """The kernels know the plain tree; searches that keep more use XLA everywhere."""
    return tree.squares is None and tree.totals is None and tree.prints is None and tree.links is None
