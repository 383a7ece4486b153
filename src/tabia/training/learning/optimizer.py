"""The optimizer and the learning rate schedule."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import optax
import optax.contrib
from jax import Array
from jax.tree_util import KeyPath

from tabia.networks import Tree
from tabia.training.config.schema import LearnerSettings
from tabia.training.learning.packing import KERNEL, KERNELS


def make_optimizer(settings: LearnerSettings) -> optax.GradientTransformation:
    """The optimizer without its learning rate: updates are to be multiplied by it and subtracted."""
    parts = [optax.clip_by_global_norm(settings.gradient_clip)] if settings.gradient_clip else []
    parts.append(_direction(settings))
    if _decoupled(settings) and settings.weight_decay:
        parts.append(optax.add_decayed_weights(settings.weight_decay, mask=_are_kernels))
    return optax.chain(*parts)


def l2_loss(settings: LearnerSettings, params: Tree) -> Array | float:
    """Weight decay as a part of the loss, for optimizers without decoupled decay."""
    if _decoupled(settings) or not settings.weight_decay:
        return 0.0
    kernels = [leaf for path, leaf in jax.tree.leaves_with_path(params) if _is_kernel(path)]
    return 0.5 * settings.weight_decay * sum(jnp.sum(leaf**2) for leaf in kernels)


def learning_rate_at(settings: LearnerSettings, progress: float) -> float:
    """The learning rate at a fraction of the run, before warmup."""
    if settings.learning_rate_schedule == "cosine":
        return settings.learning_rate_end + (settings.learning_rate - settings.learning_rate_end) * 0.5 * (
            1 + math.cos(math.pi * progress)
        )
    factors = [
        factor
        for start, factor in settings.learning_rate_drops
        if settings.learning_rate_schedule == "stepped" and start <= progress
    ]
    return settings.learning_rate * (factors[-1] if factors else 1.0)


def _decoupled(settings: LearnerSettings) -> bool:
    return settings.optimizer in ("adamw", "muon")


def _direction(settings: LearnerSettings) -> optax.GradientTransformation:
    if settings.optimizer == "sgd":
        return optax.trace(settings.momentum)
    if settings.optimizer == "muon":
        # Its steps are as long as Adam's, so the same learning rates fit; -1 because the step is subtracted later.
        return optax.contrib.muon(-1.0, consistent_rms=0.2, muon_weight_dimension_numbers=_muon_dimensions)
    return optax.scale_by_adam()


def _muon_dimensions(params: optax.Params) -> optax.Params:
    """Muon takes weights as matrices from inputs to outputs, except biases, norms and thin output layers.

    It takes each kernel of a stack by itself, and each of the matrices over cells [groups, cells, cells]. A depthwise
    kernel [rows, columns, 1, channels] is not a matrix: it mixes no channels.
    """

    def dimensions(path: KeyPath[Any], leaf: Array) -> optax.contrib.MuonDimensionNumbers | None:
        first = int(path[-1].key == KERNELS)  # the axis after that of the stack
        shape = leaf.shape[first:]
        if not _is_kernel(path) or (len(shape) == 4 and shape[2] == 1):
            return None
        inputs = (1,) if len(shape) == 3 else tuple(range(len(shape) - 1))
        thin = min(math.prod(shape[axis] for axis in inputs), shape[-1]) < 16
        return None if thin else optax.contrib.MuonDimensionNumbers(tuple(first + axis for axis in inputs), -1)

    return jax.tree.map_with_path(dimensions, params)


def _are_kernels(params: optax.Params) -> optax.Params:
    """Only kernels decay: biases and normalization do not."""
    return jax.tree.map_with_path(lambda path, leaf: _is_kernel(path), params)


def _is_kernel(path: KeyPath[Any]) -> bool:
    return path[-1].key in (KERNEL, KERNELS)
