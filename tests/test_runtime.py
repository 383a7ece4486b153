"""What JAX is expected: where compiled programs are kept, whoever is imported first, unless the user said otherwise."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SHOW = "print(jax.config.jax_compilation_cache_dir, jax.config.jax_persistent_cache_min_compile_time_secs)"
NAMES = ("JAX_COMPILATION_CACHE_DIR", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS")


@pytest.mark.parametrize(
    ("code", "mine", "expected"),
    [
        ("import tabia, jax", {}, "{cache}/tabia/compiled 0.0"),
        ("import jax, tabia", {}, "{cache}/tabia/compiled 0.0"),
        ("import jax; jax.config.update('jax_compilation_cache_dir', '/mine'); import tabia", {}, "/mine 0.0"),
        ("import jax, tabia", {"JAX_COMPILATION_CACHE_DIR": "/mine"}, "/mine 0.0"),
        ("import tabia, jax", {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "2"}, "{cache}/tabia/compiled 2.0"),
    ],
)
def test_compiled_programs_are_kept(tmp_path: Path, code: str, mine: dict[str, str], expected: str) -> None:
    env = {name: value for name, value in os.environ.items() if name not in NAMES} | {"XDG_CACHE_HOME": str(tmp_path)}
    words = [sys.executable, "-c", f"{code}; {SHOW}"]
    done = subprocess.run(words, env=env | mine, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == expected.format(cache=tmp_path)
