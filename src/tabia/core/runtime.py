"""What JAX should be told before it starts, so that Tabia is fast without the user's doing.

Nothing here overrides what the user has set: a flag the user names, or a cache the user chose, stays as it is.
"""

from __future__ import annotations

import os
import sys
from importlib import metadata

from tabia.core import compile_cache

_CONVOLUTIONS = "--xla_cpu_experimental_ynn_fusion_type"
_MATRICES_ALONE = "LIBRARY_FUSION_TYPE_DOT"


def prepare() -> None:
    """Set the environment JAX reads when it starts; does nothing for a part the user has set."""
    if _knows_flag() and _CONVOLUTIONS not in os.environ.get("XLA_FLAGS", ""):
        # On CPUs XLA hands each convolution alone to a library kernel unless told otherwise, which halves its speed.
        # The library's kernels for arithmetic on arrays would gain a network a tenth and cost a search half its speed.
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {_CONVOLUTIONS}={_MATRICES_ALONE}".strip()
    _set("jax_compilation_cache_dir", str(compile_cache.directory()), unset=None)
    # JAX keeps only what took a second to compile; loading an agent is many small programs that together take one.
    _set("jax_persistent_cache_min_compile_time_secs", 0.0, unset=1.0)


def _set(name: str, value: str | float, *, unset: float | None) -> None:
    """One of JAX's settings, in the environment it reads, and in itself if it has read that already."""
    if name.upper() in os.environ:
        return
    os.environ[name.upper()] = str(value)
    jax = sys.modules.get("jax")
    if jax is not None and getattr(jax.config, name) == unset:
        jax.config.update(name, value)


def _knows_flag() -> bool:
    """XLA refuses to start with a flag it does not know, so only releases seen to know it are told."""
    try:
        major, minor = metadata.version("jaxlib").split(".")[:2]
    except metadata.PackageNotFoundError:
        return False
    return (int(major), int(minor)) in {(0, 10), (0, 11)}
