"""Strict settings for all tests: rank promotion raises, warnings fail (pyproject.toml), seeds are fixed."""

import gc
import os
import signal
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jax
import pytest
import typer.testing
from hypothesis import HealthCheck, settings
from jax._src.interpreters import mlir
from xdist.scheduler import LoadFileScheduling

import tabia  # noqa: F401  sets up JAX

gc.disable()  # nothing that is imported or collected is garbage, and looking for it takes a third of that time

jax.config.update("jax_numpy_rank_promotion", "raise")
if "PYTEST_XDIST_WORKER" in os.environ:  # `make test` turns the cache off for workers, not for what their tests start
    os.environ.pop("JAX_ENABLE_COMPILATION_CACHE", None)

# Hypothesis would otherwise draw other examples in every run, and fail a test whose example takes 0.2 s.
settings.register_profile(
    "tabia", derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("tabia")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # in the background of a shell, whose jobs ignore Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)  # processes that tests interrupt would inherit it


def _share_context() -> None:
    """Let JAX lower all programs of the main thread in one MLIR context.

    It makes one per program, which with all dialects takes 20 ms, three times as long as the rest of the compilation of
    a small program, and keeps it in memory with the program. Other threads have contexts of their own, because a
    context that is still loading dialects is not safe for threads.
    """
    make, shared = mlir.make_ir_context, mlir.make_ir_context()
    mlir.make_ir_context = lambda: shared if threading.current_thread() is threading.main_thread() else make()
    jax.jit(lambda x: x + 1)(0)  # compiling loads more dialects


_share_context()

typer.testing._get_command = cache(typer.testing._get_command)  # 50 commands from their functions take 60 ms

# Linux allows a process 65,530 by default, and LLVM crashes where one more is refused. Memory ends earlier: compiled as
# in `make test`, a worker with 15,000 mappings takes about 3.5 GB.
_MOST_MAPPINGS = 15_000
_PAGE = "tests/server/page"


@pytest.fixture(autouse=True, scope="module")
def _few_programs() -> Iterator[None]:
    """Drop compiled programs once there are many: each is a few memory mappings."""
    yield
    mappings = Path("/proc/self/maps")
    if mappings.exists() and mappings.read_bytes().count(b"\n") > _MOST_MAPPINGS:
        jax.clear_caches()
        gc.collect()


class _Files(LoadFileScheduling):
    """Files by worker; those that share the server and the browser of the page count as one."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return _PAGE if file.startswith(_PAGE) else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> _Files | None:
    return _Files(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over modules and tests, and run less often: JAX's objects are many."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write tests/golden anew instead of comparing with it"
    )
