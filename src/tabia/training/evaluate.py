"""Evaluations on the way: matches against fixed opponents, and agreement with perfect play where it is known."""

from __future__ import annotations

from typing import Any

from tabia.evaluation import accuracy, positions
from tabia.evaluation.tally import tally
from tabia.players import make as make_player
from tabia.players import perfect
from tabia.players.player import Player
from tabia.players.spec import PlayerError
from tabia.training.contest import contest, seated
from tabia.training.cycle import Report
from tabia.training.errors import TrainingError
from tabia.training.loop import Onlooker, Training
from tabia.training.plan import Plan
from tabia.training.state import playing


def opponents(plan: Plan) -> list[Player]:
    """Whom evaluations are played against; made before a run begins, so that a misspelt one is refused in time."""
    settings = plan.config.evaluation
    if not settings.every:
        return []
    try:
        if settings.positions:
            perfect.make(plan.game)
        return [make_player(spec, plan.game, files=False) for spec in settings.opponents]
    except PlayerError as error:
        raise TrainingError(f"[evaluation] {error}") from None


class Evaluate(Onlooker):
    """Every so many cycles, and after the last."""

    def __init__(self) -> None:
        self._opponents: list[Player] = []
        self._positions: positions.Positions | None = None

    def begun(self, training: Training) -> None:
        plan, settings = Plan(training.config), training.config.evaluation
        self._opponents = opponents(plan)
        if settings.positions and settings.every:
            self._positions = positions.draw(plan.game, settings.positions, seed=training.config.seed)

    def cycled(self, training: Training, report: Report) -> dict[str, Any]:
        every = training.config.evaluation.every
        if not every or (training.ledger.cycle % every and training.progress < 1.0):
            return {}
        training.now("evaluating")
        return self.measure(training)

    def measure(self, training: Training) -> dict[str, Any]:
        """Every opponent's match and, where known, the shares of moves that keep the value."""
        plan, settings = Plan(training.config), training.config.evaluation
        found: dict[str, Any] = {}
        for opponent in self._opponents:
            us = seated(plan, playing(training.state), settings.simulations, "tabia")
            result = tally(plan.game, contest(plan, us, opponent, settings.games, training.ledger.cycle).records)
            side = next(side for side in result.players if side.name == "tabia")
            found.setdefault("matches", {})[opponent.spec] = {
                "share": side.share, "low": side.low, "high": side.high, "games": side.games,
            }  # fmt: skip
        if self._positions is not None:
            searched = settings.simulations or plan.config.search.simulations
            for name, simulations in (("network", 0), ("searched", searched)):
                us = seated(plan, playing(training.state), simulations, name)
                found[f"keeps_{name}"] = accuracy.agreement(us, self._positions).all.keeps
        return found
