"""What a network computes in on this machine."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp


def compute_type(precision: str) -> Any:
    """The type that `auto`, `float32` or `bfloat16` means here: CPUs are slower, not faster, in half precision."""
    if precision == "auto":
        precision = "float32" if jax.default_backend() == "cpu" else "bfloat16"
    return jnp.dtype(precision)
