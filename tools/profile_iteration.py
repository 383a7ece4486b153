"""Where the time of an iteration goes on a GPU: self-play and learning, each with its kernels.

    python tools/profile_iteration.py glimmerfors-connect4@width-7 --set search.simulations=64 --plies 2 --steps 40

Each program is compiled and run twice before it is traced. `wall` is the second run without a trace, `busy` how long
any kernel ran during the traced one; if they are far apart, starting kernels takes longer than running them.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tabia  # noqa: F401  sets up JAX

import jax  # isort: skip
import jax.numpy as jnp

from tabia.training.config import recipes
from tabia.training.config.toml import with_assignments
from tabia.training.iteration import Iteration
from tabia.training.plan import Plan
from tabia.training.state import begin, playing

PROGRESS = 0.1
Span = tuple[float, float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recipe")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change a setting")
    parser.add_argument("--plies", type=int, default=2, help="plies of self-play to trace")
    parser.add_argument("--steps", type=int, default=40, help="optimizer steps to trace")
    parser.add_argument("--top", type=int, default=15, help="kernels to list")
    words = parser.parse_args()
    config = with_assignments(recipes.load(words.recipe).config(), words.set)
    config = config.changed({"selfplay.plies": words.plies})
    plan = Plan(config.starting.without_teacher if config.selfplay.teacher_games else config.starting)
    iteration = Iteration(plan, begin(plan), 0, PROGRESS)
    iteration.store(iteration.play())
    profile_selfplay(plan, iteration, words.plies, words.top)
    profile_learning(plan, iteration, words.steps, words.top)


def profile_selfplay(plan: Plan, iteration: Iteration, plies: int, top: int) -> None:
    lanes, key = iteration.state.boards[0].lanes, jax.random.key(0)
    count = plies * plan.config.search.simulations
    title = f"self-play: {plan.config.selfplay.games} games, per simulation"
    profile(title, lambda: plan.selfplay.play(playing(iteration.state), lanes, key), count, top)


def profile_learning(plan: Plan, iteration: Iteration, steps: int, top: int) -> None:
    """Steps on the plies just played, as if all of their games had ended."""
    buffer = iteration.state.boards[0].buffer
    buffer = buffer._replace(ready=jnp.ones_like(buffer.ready))
    rate, key = plan.config.learner.learning_rate, jax.random.key(0)
    learner = plan.learner if not plan.config.learner.epochs else _without_epochs(plan)

    def learn() -> Any:
        return learner.learn(jax.tree.map(jnp.copy, iteration.state.train_state), buffer, key, rate, steps)

    profile(f"learning: batches of {plan.config.learner.batch_size}, per step", learn, steps, top)


def _without_epochs(plan: Plan) -> Any:
    return Plan(plan.config.changed({"learner.epochs": 0, "learner.sample_positions": 0})).learner


def profile(title: str, call: Callable[[], Any], count: int, top: int) -> None:
    """Print the times and kernels of a call, divided by `count`."""
    jax.block_until_ready(call())
    started = time.perf_counter()
    jax.block_until_ready(call())
    wall = time.perf_counter() - started
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            jax.block_until_ready(call())
        total, number, spans = kernels(Path(folder))
    print(f"{title}: wall {1e3 * wall / count:.3f} ms, busy {busy(spans) / 1e6 / count:.3f} ms,", end=" ")
    print(f"{number.total() / count:.1f} kernels")
    for name, nanoseconds in total.most_common(top):
        print(f"  {nanoseconds / 1e3 / count:9.2f} us  x {number[name] / count:7.2f}  {name[:100]}")


def kernels(folder: Path) -> tuple[Counter[str], Counter[str], list[Span]]:
    """Nanoseconds and number of the kernels in a trace by name, and when each of them ran."""
    total, number, spans = Counter[str](), Counter[str](), list[Span]()
    for file in folder.rglob("*.xplane.pb"):
        for plane in jax.profiler.ProfileData.from_file(str(file)).planes:
            for line in plane.lines if "GPU" in plane.name else ():
                for event in line.events if "Stream" in line.name else ():
                    total[event.name] += event.duration_ns
                    number[event.name] += 1
                    spans.append((event.start_ns, event.start_ns + event.duration_ns))
    return total, number, spans


def busy(spans: list[Span]) -> float:
    """How long at least one of these spans lasted.

    >>> busy([(0.0, 2.0), (1.0, 3.0), (5.0, 6.0)])
    4.0
    """
    found, end = 0.0, float("-inf")
    for first, last in sorted(spans):
        found += max(last - max(first, end), 0.0)
        end = max(end, last)
    return found


if __name__ == "__main__":
    main()
