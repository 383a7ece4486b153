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
        tree,
        first,
        cuda=partial(kernels.walk, rule=rule, max_depth=max_depth),
        default=partial(plain.walk, rule=rule, max_depth=max_depth),
    )


def back_up(tree: Tree, path: Path, values: Array, linked: Array) -> Tree:
    if not _has_kernels(tree):
        return plain.back_up(tree, path, values, linked)
    from tabia.search import kernels

    return jax.lax.platform_dependent(tree, path, values, linked, cuda=kernels.back_up, default=plain.back_up)


def descend(tree: Tree, rule: Rule, *, leaves: int, max_depth: int) -> tuple[Tree, Path, Array]:
    if not _has_kernels(tree):
        return plain.descend(tree, rule, leaves=leaves, max_depth=max_depth)
    from tabia.search import kernels

    return jax.lax.platform_dependent(
        tree,
        cuda=partial(kernels.descend, rule=rule, leaves=leaves, max_depth=max_depth),
        default=partial(plain.descend, rule=rule, leaves=leaves, max_depth=max_depth),
    )


def back_up_many(tree: Tree, paths: Path, values: Array, linked: Array, marks: Array) -> Tree:
    """Back up marked paths [K, ...], their values [K, B, P] and links [K, B], one after the other."""

    def once(tree: Tree, step: tuple[Path, Array, Array, Array]) -> tuple[Tree, None]:
        return plain.back_up(tree, *step), None

    def plainly(tree: Tree, paths: Path, values: Array, linked: Array, marks: Array) -> Tree:
        return jax.lax.scan(once, tree, (paths, values, linked, marks))[0]

    if not _has_kernels(tree):
        return plainly(tree, paths, values, linked, marks)
    from tabia.search import kernels

    return jax.lax.platform_dependent(tree, paths, values, linked, marks, cuda=kernels.back_up_many, default=plainly)


def _on_gpu() -> bool:
    """Whether programs may run on a GPU; where not, importing Pallas and tracing kernels is left out."""
    return jax.default_backend() == "gpu"


def _has_kernels(tree: Tree) -> bool:
    """The kernels know the plain tree; searches that keep more use XLA everywhere."""
    return _on_gpu() and tree.squares is None and tree.totals is None and tree.prints is None and tree.links is None
