"""Seconds per iteration of self-play and learning on one and on four devices of the host, in turn, in one process.

    python tools/measure_devices.py connect3 --games 2048 --iterations 7

Four devices on a CPU share its cores, so this measures what splitting costs, not what four devices gain.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time

os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=4"

import jax

from tabia.core import devices
from tabia.training import iteration
from tabia.training import state as states
from tabia.training.config import recipes
from tabia.training.plan import Plan
from tabia.training.state import State

COUNTS, PROGRESS = (1, 4), 0.1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("game")
    parser.add_argument("--games", type=int, default=2048, help="games of self-play at once")
    parser.add_argument("--iterations", type=int, default=7)
    words = parser.parse_args()
    config = recipes.default(words.game).config(words.game)
    plan = Plan(config.changed({"replay.min_positions": 1, "selfplay.games": words.games}))
    held = {number: warmed(plan, number) for number in COUNTS}
    found: dict[int, list[tuple[float, float]]] = {number: [] for number in COUNTS}
    for index in range(2, 2 + words.iterations):
        for number in COUNTS:
            held[number], seconds = timed(plan, held[number], number, index)
            found[number].append(seconds)
    for number, times in found.items():
        play, learn = (statistics.median(part) for part in zip(*times, strict=True))
        print(f"{number} devices: play {play:.3f} s, learn {learn:.3f} s (medians of {len(times)} iterations)")


def warmed(plan: Plan, number: int) -> State:
    """The state after two iterations, which compile everything."""
    with devices.using(number):
        state = states.begin(plan)
        for index in range(2):
            state, _ = iteration.run(plan, state, index, PROGRESS)
        return jax.block_until_ready(state)


def timed(plan: Plan, state: State, number: int, index: int) -> tuple[State, tuple[float, float]]:
    """The state after one more iteration, and the seconds of its two phases."""
    with devices.using(number):
        current = iteration.Iteration(plan, state, index, PROGRESS)
        started = time.monotonic()
        plies = current.play()
        played = time.monotonic()
        current.store(plies)
        stored = time.monotonic()
        current.learn()
        jax.block_until_ready(current.state)
        return current.state, (played - started, time.monotonic() - stored)


if __name__ == "__main__":
    main()
