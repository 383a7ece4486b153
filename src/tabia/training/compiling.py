"""Self-play and learning, compiled before the first cycle for all stages of a schedule, side by side.

Compiled when first called, each stage would stop the run again. The first stage goes ahead of the others, so that they
need not try out again which kernels are the fastest on a GPU, where XLA remembers that.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import jax

from tabia.training import revisits
from tabia.training.plan import Plan
from tabia.training.state import State, playing


def compile_ahead(
    plan: Plan, state: State, progress: float = 0.0, *, stopped: Callable[[], bool] = lambda: False
) -> None:
    """Compile what a run will play and learn with from this share of it on, unless it is stopped.

    What is compiled already costs nothing.
    """
    first, *later = plan.stages_from(progress)
    _compile([first], state)
    if not stopped():
        _compile(later, state)


def _compile(stages: Sequence[Plan], state: State) -> None:
    key = jax.random.key(0)
    jobs: dict[Any, Callable[[], None]] = {}  # by what is compiled, so that stages alike share it
    for stage in stages:
        for board, (lanes, ring) in zip(stage.boards, state.boards, strict=True):
            again = revisits.draw(ring, key, board.config.selfplay, board.window)
            jobs[board.selfplay] = partial(board.selfplay.compile, playing(state), lanes, key, again)
            jobs[board.learner] = partial(board.learner.compile, state.learned, ring, key)
    pool = ThreadPoolExecutor(os.cpu_count())
    try:
        for done in [pool.submit(job) for job in jobs.values()]:
            done.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # a second Ctrl-C does not wait for what has not begun
