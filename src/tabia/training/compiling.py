"""A run's programs, compiled side by side before its first cycle.

A schedule calls for several programs of self-play and of learning. Compiled when first called, each would stop the run
for ten to forty seconds on a GPU. The first stage goes ahead of the others: trying out which kernel is the fastest is
most of the work on a GPU, and XLA remembers what it has tried.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import jax

from tabia.training.plan import Plan
from tabia.training.state import State, playing


def compile_ahead(plan: Plan, state: State, progress: float = 0.0) -> None:
    """Compile what a run will call from this share of it on; what is compiled already costs nothing."""
    first, *later = plan.stages_from(progress)
    _compile([first], state)
    _compile(later, state)


def _compile(stages: Sequence[Plan], state: State) -> None:
    key = jax.random.key(0)
    jobs: dict[Any, Callable[[], None]] = {}  # by what is compiled, so that stages alike share it
    for stage in stages:
        for board, (lanes, ring) in zip(stage.boards, state.boards, strict=True):
            jobs[board.selfplay] = partial(board.selfplay.compile, playing(state), lanes, key)
            jobs[board.learner] = partial(board.learner.compile, state.learned, ring, key)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for done in [pool.submit(job) for job in jobs.values()]:
            done.result()
