"""Self-play and learning, compiled ahead for all stages of a schedule.

Compiled when first called, each stage would stop the run again. The run waits for its first stage alone; the others are
compiled side by side while it plays. They come after it, so that they need not try out again which kernels are the
fastest on a GPU, where XLA remembers that.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, Self

import jax

from tabia.training.plan import Plan
from tabia.training.selfplay import revisits
from tabia.training.state import State, playing


class Ahead:
    """What a run will play and learn with from this share of it on: its first stage compiled, the others under way.

    What is compiled already costs nothing. If it is `stopped` meanwhile, nothing begins after the first stage; leaving
    it drops what has not begun.
    """

    def __init__(
        self, plan: Plan, state: State, progress: float = 0.0, *, stopped: Callable[[], bool] = lambda: False
    ) -> None:
        first, *later = plan.stages_from(progress)
        self._pool = ThreadPoolExecutor(os.cpu_count())
        self._jobs: dict[Any, Future[Any]] = {}
        with ExitStack() as undo:
            undo.callback(self.close)
            self._begin(_lowered([first], state))
            waiting = _lowered(later, state)  # now: a run gives its arrays away as it goes on
            self.wait(first)
            if not stopped():
                self._begin(waiting)
            undo.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def wait(self, stage: Plan, watch: Callable[[str], None] = lambda doing: None) -> None:
        """Until a stage is compiled; `watch` is told if that takes time."""
        for part in _parts(stage):
            if part in self._jobs:
                if not self._jobs[part].done():
                    watch("compiling")
                self._jobs[part].result()

    def _begin(self, programs: dict[Any, jax.stages.Lowered]) -> None:
        for part in programs.keys() - self._jobs.keys():
            self._jobs[part] = self._pool.submit(programs[part].compile)


def _parts(stage: Plan) -> list[Any]:
    """What is compiled for a stage."""
    return [part for board in stage.boards for part in (board.selfplay, board.learner)]


def _lowered(stages: Sequence[Plan], state: State) -> dict[Any, jax.stages.Lowered]:
    """The programs of these stages by what they are of, so that stages alike share them."""
    key = jax.random.key(0)
    found: dict[Any, jax.stages.Lowered | None] = {}
    for stage in stages:
        for board, (lanes, buffer) in zip(stage.boards, state.boards, strict=True):
            again = revisits.draw(buffer, key, board.config.selfplay, board.window)
            if board.selfplay not in found:
                found[board.selfplay] = board.selfplay.lowered(playing(state), lanes, key, again)
            if board.learner not in found:
                found[board.learner] = board.learner.lowered(state.train_state, buffer, key)
    return {part: program for part, program in found.items() if program is not None}
