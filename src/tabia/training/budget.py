"""The least time an iteration can take: a run with fewer minutes than that is refused before any work.

It is a bound, not a forecast: the network's arithmetic alone, at a rate hardly any machine reaches, and a moment for
compiling. `tabia train --estimate` measures.
"""

from __future__ import annotations

import os

import jax

from tabia.networks.summary import counts
from tabia.training.errors import TrainingError
from tabia.training.plan import Plan

CORE, CHIP = 2e11, 1e15  # operations a second: more than a core of a CPU, and any other chip, is good for
COMPILING = 2.0  # seconds: no machine traces, compiles and starts the programs of a run in less


def check(plan: Plan) -> None:
    """Refuse minutes in which not even one iteration can end."""
    minutes = plan.config.minutes
    needed = least_seconds(plan) / 60
    if minutes and minutes < needed:
        raise TrainingError(
            f"{minutes:g} minutes are too few for one iteration, which takes {needed:.2g} at the very least. Give more "
            "with --minutes, or less work: fewer selfplay.games, search.simulations or learner.steps, or a smaller "
            "network; --estimate says how long it takes here."
        )


def least_seconds(plan: Plan, platform: str | None = None) -> float:
    """Seconds that compiling and one iteration take at the very least on this kind of device."""
    rate = CORE * (os.cpu_count() or 1) if (platform or jax.default_backend()) == "cpu" else CHIP
    return COMPILING + iteration_operations(plan) / rate


def iteration_operations(plan: Plan) -> float:
    """Floating-point operations of the network in one iteration: a position a simulation, and the learner's steps."""
    config = plan.config.at(0.0)
    search, selfplay, learner = config.search, config.selfplay, config.learner
    # Every ply of an iteration may by its coin be a quick one; a bound counts on it.
    simulations = min(search.simulations, search.fast_simulations or search.simulations)
    played = 0 if selfplay.teacher else selfplay.games * selfplay.plies * simulations
    learned = 3 * learner.steps * learner.batch_size  # a step goes forward once and backward, which is twice the work
    waits = plan.start > selfplay.games * selfplay.plies  # the first iteration only plays
    return float(counts(plan.network).operations * (played + (0 if waits else learned)))
