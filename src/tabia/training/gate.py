"""The gate: a new network plays self-play only once it has beaten the one that does.

The games start from varied openings, each played in every seating, and a game that comes twice counts once.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from tabia.core import elo
from tabia.evaluation.results import match_result
from tabia.training.arena import contest, seated
from tabia.training.plan import Plan
from tabia.training.state import Counters, State

_ALPHA = 0.05


@dataclass(frozen=True)
class Verdict:
    """How an attempt went."""

    passed: bool
    share: float  # of the points
    games: int

    def fields(self) -> dict[str, float | int | bool]:
        return {"gate_passed": self.passed, "gate_share": self.share, "gate_games": self.games}


def due(plan: Plan, iteration: int) -> bool:
    return plan.config.gate.kind != "none" and iteration % plan.config.gate.every == 0


def attempt(plan: Plan, state: State, counters: Counters) -> tuple[State, Verdict]:
    """Let the latest network challenge the champion; the state with whoever is champion now."""
    assert state.champion is not None
    settings = plan.config.gate
    simulations = settings.simulations or plan.config.search.simulations
    latest = seated(plan, state.train_state.ema, simulations, "challenger")
    champion = seated(plan, state.champion, simulations, "champion")
    test = (0.0, elo.difference(settings.threshold), _ALPHA, _ALPHA) if settings.kind == "sequential" else None
    played = contest(plan, latest, champion, settings.games, seed=counters.iteration, test=test)
    result = match_result(plan.game, played.records)
    side = next(side for side in result.players if side.name == "challenger")
    passed = {
        "score": side.score >= settings.threshold,
        "ratio": side.wins >= settings.threshold * side.losses and side.wins > 0,
        "sequential": played.verdict is True,
    }[settings.kind]
    if passed:
        state = state._replace(champion=jax.tree.map(jnp.copy, state.train_state.ema))
    return state, Verdict(passed, side.score, result.games)
