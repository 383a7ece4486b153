"""How strong one recipe makes players of different games in a given time.

The suite has boards of different sizes and shapes, two and three seats, chance, captures, connections and races. It is
what recipes for any game are tuned on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tabia.core import files
from tabia.games import make
from tabia.training.config import recipes
from tabia.training.config.schema import Config
from tabia.training.run import metrics
from tabia.training.run.directory import RunDirectory
from tabia.training.training import Training

SUITE = (
    "tictactoe",
    "connect3",
    "connect:rows=5,columns=6,line=4",
    "connect4",
    "othello:size=6",
    "checkers",
    "chinese-checkers",
    "pgx:animal_shogi",
    "pgx:gardner_chess",
    "pgx:hex",
    "pgx:backgammon",
)
OPPONENT, SIMULATIONS, POSITIONS = "mcts:simulations=1000", 64, 400
POINTS_GOAL, AGREEMENT_GOAL = 0.9, 0.99
METHOD = f"{SIMULATIONS} simulations after training, against {OPPONENT} and on {POSITIONS} solved positions"


@dataclass(frozen=True)
class Plan:
    """What is run for every game."""

    recipe: str
    minutes: float
    games: int  # of the match at the end
    seed: int
    runs: Path

    def config(self, game: str) -> Config:
        """The recipe, with one evaluation at the end."""
        return (
            recipes.load(self.recipe)
            .config(game)
            .changed(
                {
                    "minutes": self.minutes,
                    "seed": self.seed,
                    "evaluation.every": 1_000_000,
                    "evaluation.opponents": (OPPONENT,),
                    "evaluation.simulations": SIMULATIONS,
                    "evaluation.games": self.games,
                    "evaluation.positions": -1,
                }
            )
        )

    def directory(self, game: str) -> RunDirectory:
        """The run of a game."""
        name = make(game).id.replace(":", "-").replace(",", "-").replace("=", "")
        return RunDirectory(self.runs / f"{name}-{self.seed}")


@dataclass(frozen=True)
class Row:
    """A game at the end of its run."""

    game: str
    positions: int
    score: float
    low: float
    high: float
    games: int
    agreement: float | None  # with perfect play, where it is known

    @property
    def reached(self) -> bool:
        """Whether the player is as strong as the recipe promises."""
        return self.score >= POINTS_GOAL if self.agreement is None else self.agreement >= AGREEMENT_GOAL

    @property
    def cells(self) -> tuple[str, ...]:
        """For a table."""
        interval = f"{self.low:.1%} to {self.high:.1%}"
        agreement = "-" if self.agreement is None else f"{self.agreement:.1%}"
        goal = "reached" if self.reached else "missed"
        return self.game, f"{self.positions:,}", f"{self.score:.1%}", interval, str(self.games), agreement, goal

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "reached": self.reached}


def run(games: Sequence[str], plan: Plan, train: Callable[[Training], None]) -> Iterator[Row]:
    """Begin or resume the run of each game, let `train` finish it, and report it."""
    for game in games:
        directory = plan.directory(game)
        if files.exists(directory.path):
            training = Training.resume(directory)
        else:
            training = Training.begin(directory, plan.config(game))
        if training.progress < 1.0:
            train(training)
        yield _row(game, training)


def _row(game: str, training: Training) -> Row:
    last = metrics.read(training.run)[-1]
    match = last["matches"][OPPONENT]
    return Row(
        game=game,
        positions=training.counters.positions,
        score=match["score"],
        low=match["low"],
        high=match["high"],
        games=match["games"],
        agreement=last.get("agreement_search"),
    )
