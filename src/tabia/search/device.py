"""Descent and backup on whatever is fastest: kernels on an NVIDIA GPU, XLA everywhere else."""

from __future__ import annotations

from functools import partial

import jax
from jax import Array

from tabia.search import descent
from tabia.search.descent import Path
from tabia.search.rules.rule import Rule
from tabia.search.tree import Tree


def descend(tree: Tree, first: Array, rule: Rule, *, max_depth: int) -> Path:
    """`descent.descend`, or its kernel."""
    if not _has_kernels(tree):
        return descent.descend(tree, first, rule, max_depth=max_depth)
    from tabia.search import kernels

    return jax.lax.platform_dependent(
        tree,
        first,
        cuda=partial(kernels.descend, rule=rule, max_depth=max_depth),
        default=partial(descent.descend, rule=rule, max_depth=max_depth),
    )


def backup(tree: Tree, path: Path, values: Array, link_change: Array) -> Tree:
    """`descent.backup`, or its kernel."""
    if not _has_kernels(tree):
        return descent.backup(tree, path, values, link_change)
    from tabia.search import kernels

    def kernel(tree: Tree, path: Path, values: Array, link_change: Array) -> Tree:
        return descent.add_totals(kernels.backup(tree, path, values, link_change), path, values)

    return jax.lax.platform_dependent(tree, path, values, link_change, cuda=kernel, default=descent.backup)


def descend_many(tree: Tree, rule: Rule, *, leaves: int, max_depth: int) -> tuple[Tree, Path, Array]:
    """`descent.descend_many`, or its kernel."""
    if not _has_kernels(tree):
        return descent.descend_many(tree, rule, leaves=leaves, max_depth=max_depth)
    from tabia.search import kernels

    return jax.lax.platform_dependent(
        tree,
        cuda=partial(kernels.descend_many, rule=rule, leaves=leaves, max_depth=max_depth),
        default=partial(descent.descend_many, rule=rule, leaves=leaves, max_depth=max_depth),
    )


def backup_many(tree: Tree, paths: Path, values: Array, link_changes: Array, virtual: Array) -> Tree:
    """`descent.backup_many`, or its kernel."""
    if not _has_kernels(tree):
        return descent.backup_many(tree, paths, values, link_changes, virtual)
    from tabia.search import kernels

    def kernel(tree: Tree, paths: Path, values: Array, link_changes: Array, virtual: Array) -> Tree:
        tree = kernels.backup_many(tree, paths, values, link_changes, virtual)
        return descent.add_totals(tree, paths, values)

    return jax.lax.platform_dependent(
        tree, paths, values, link_changes, virtual, cuda=kernel, default=descent.backup_many
    )


def _on_gpu() -> bool:
    """Whether programs may run on a GPU; if not, Pallas is not imported and kernels are not traced."""
    return jax.default_backend() == "gpu"


def _has_kernels(tree: Tree) -> bool:
    """Kernels handle records, loops of shared nodes and ties; totals are added beside them. Other searches use XLA."""
    more = (tree.squares, tree.links, tree.proven)
    return _on_gpu() and all(part is None for part in more)
