"""JAX's settings, made before it starts, so that Tabia is fast by default.

Flags and directories that the user has set are never changed.
"""

from __future__ import annotations

import os
import sys
from importlib import metadata

from tabia.core import allocator, compile_cache

_CONVOLUTIONS = "--xla_cpu_experimental_ynn_fusion_type"
_MATRICES_ALONE = "LIBRARY_FUSION_TYPE_DOT"


def prepare() -> None:
    """Set the environment that JAX reads when it starts, and the memory allocator, except what the user has set."""
    allocator.keep_memory()
    if _knows_flag() and _CONVOLUTIONS not in os.environ.get("XLA_FLAGS", ""):
        # On CPUs XLA by default runs each convolution as a library kernel, which halves its speed. The library's
        # elementwise kernels would make a network 10% faster, but halve the speed of a search.
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {_CONVOLUTIONS}={_MATRICES_ALONE}".strip()
    _set("jax_compilation_cache_dir", str(compile_cache.directory()), unset=None)
    # By default JAX caches only programs that took a second to compile; an agent consists of many small ones.
    _set("jax_persistent_cache_min_compile_time_secs", 0.0, unset=1.0)


def _set(name: str, value: str | float, *, unset: float | None) -> None:
    """Set a JAX option in the environment and, if JAX has been imported already, in its configuration."""
    if name.upper() in os.environ:
        return
    os.environ[name.upper()] = str(value)
    jax = sys.modules.get("jax")
    if jax is not None and getattr(jax.config, name) == unset:
        jax.config.update(name, value)


def _knows_flag() -> bool:
    """Whether this release has the flag; XLA does not start with a flag it does not know."""
    try:
        major, minor = metadata.version("jaxlib").split(".")[:2]
    except metadata.PackageNotFoundError:
        return False
    return (int(major), int(minor)) in {(0, 10), (0, 11)}
