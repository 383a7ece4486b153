"""Why a run learns little: signs of it in the metrics of its last quarter, as values of a training part.

- drawn games and moves per game, over all games;
- uses of a position: how often the learner sees each position, which falls with the length of games;
- value explained: the part of the value loss of a constant prediction that the network saves. The constant knows who
  moves: with a share d of draws and a mean score m of the first seat, its squared error is 1 - d - m^2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tabia.studies.estimates import Estimate, exact
from tabia.studies.trainings import Lines

DRAWN, LENGTH, USES, EXPLAINED = "drawn games", "moves per game", "uses of a position", "value explained"
UNITS = {DRAWN: "% of games", LENGTH: "moves", USES: "times", EXPLAINED: "% of the loss of a constant"}
CURVES = ("loss_policy", "loss_value", "draws", "game_length")


def sign_key(label: str, sign: str) -> str:
    return f"{label}: {sign}"


def sign_keys(label: str) -> tuple[str, ...]:
    return tuple(sign_key(label, sign) for sign in UNITS)


def signs(label: str, *, samples_per_game: float) -> Callable[[Lines], tuple[Estimate, ...]]:
    """Measures all signs; the learner takes this many samples for each finished game."""

    def measure(lines: Lines) -> tuple[Estimate, ...]:
        late = lines[-max(len(lines) // 4, 1) :]
        drawn, length, first = (_per_game(late, read) for read in (_draws, _length, _first_score))
        losses = [line["loss_value"] for line in late if "loss_value" in line]
        found = {
            DRAWN: 100 * drawn,
            LENGTH: length,
            USES: samples_per_game / max(length, 1.0),
            EXPLAINED: 100 * explained(float(np.mean(losses)) if losses else 1.0, drawn, first),
        }
        return tuple(exact(sign_key(label, sign), value, UNITS[sign]) for sign, value in found.items())

    return measure


def explained(loss: float, drawn: float, first: float) -> float:
    """How much of a constant prediction's squared error is saved; 0 if all games end the same way.

    >>> explained(0.9, drawn=0.1, first=0.0), explained(0.0, drawn=0.0, first=0.5), explained(0.0, drawn=1.0, first=0.0)
    (0.0, 1.0, 0.0)
    """
    constant = 1.0 - drawn - first**2
    return 1.0 - loss / constant if constant > 0.0 else 0.0


def _per_game(lines: Sequence[dict[str, Any]], read: Callable[[dict[str, Any]], float]) -> float:
    """The mean over games of a metric that is a mean over the games of an iteration."""
    ended = [line for line in lines if line["games"]]
    return sum(read(line) * line["games"] for line in ended) / max(sum(line["games"] for line in ended), 1)


def _draws(line: dict[str, Any]) -> float:
    return float(line["draws"])


def _length(line: dict[str, Any]) -> float:
    return float(line["game_length"])


def _first_score(line: dict[str, Any]) -> float:
    return float(line["scores"][0])
