"""Compilation of self-play and learning, ahead of time, for all stages of a schedule.

Compiled at its first call, each stage would interrupt the run. Instead the run waits for its first stage only, and the
others compile in the background while it plays. They start after the first one, so that on a GPU XLA can reuse the
kernels it has already tuned.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, Self

import jax

from tabia.training.learning.learner import Learner
from tabia.training.plan import Plan
from tabia.training.selfplay import openings
from tabia.training.selfplay.play import SelfPlay
from tabia.training.state import State, playing, widened_shapes

Part = SelfPlay | Learner
"""What is compiled: stages with equal parts share a program."""
Parts = Callable[[Plan], Sequence[Part]]
"""What of a board's plan this process runs."""


def all_parts(board: Plan) -> tuple[Part, ...]:
    """Self-play and learning."""
    return board.selfplay, board.learner


class CompileAhead:
    """Compiles the stage at `progress` and, in the background, all later ones.

    What is compiled already costs nothing. If `stopped` returns True after the first stage, the others do not start;
    leaving the block drops those that have not started.
    """

    def __init__(
        self,
        plan: Plan,
        state: State,
        progress: float = 0.0,
        *,
        stopped: Callable[[], bool] = lambda: False,
        parts: Parts = all_parts,
    ) -> None:
        self._parts = parts
        first, *later = plan.stages_from(progress)
        self._pool = ThreadPoolExecutor(os.cpu_count())
        self._jobs: dict[Part, Future[Any]] = {}
        with ExitStack() as undo:
            undo.callback(self.close)
            self._start(_lowered(plan, [first], state, parts))
            # Now, because the run donates its arrays once it starts.
            waiting = _lowered(plan, [*plan.after_teacher, *later], state, parts)
            self.wait(first)
            if not stopped():
                self._start(waiting)
            undo.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Drop what has not started."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def wait(self, stage: Plan, enter: Callable[[str], None] = lambda phase: None) -> None:
        """Wait until a stage is compiled; `enter` the phase "compiling" if that takes time."""
        for part in (part for board in stage.boards for part in self._parts(board)):
            if part in self._jobs:
                if not self._jobs[part].done():
                    enter("compiling")
                self._jobs[part].result()

    def _start(self, programs: dict[Part, jax.stages.Lowered]) -> None:
        for part in programs.keys() - self._jobs.keys():
            self._jobs[part] = self._pool.submit(programs[part].compile)


def _lowered(plan: Plan, stages: Sequence[Plan], current: State, parts: Parts) -> dict[Part, jax.stages.Lowered]:
    """The programs of these stages, ready to compile; the network of the state is that of the plan."""
    key = jax.random.key(0)
    found: dict[Part, jax.stages.Lowered | None] = {}
    for stage in stages:
        state = widened_shapes(plan, stage, current)
        for board, (lanes, buffer) in zip(stage.boards, state.boards, strict=True):
            wanted = [part for part in parts(board) if part not in found]
            if board.selfplay in wanted:
                revisits = openings.draw_revisits(buffer, key, board.config.selfplay, board.window)
                found[board.selfplay] = board.selfplay.lowered(playing(state), lanes, key, revisits)
            if board.learner in wanted:
                found[board.learner] = board.learner.lowered(state.train_state, buffer, key)
    return {part: program for part, program in found.items() if program is not None}
