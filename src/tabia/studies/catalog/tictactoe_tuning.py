"""Fourteen sets of hyperparameters at tic-tac-toe, 100 games each (Sanz & Villanueva 2021, section 5.1.2)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tabia.studies.catalog.tictactoe_training import RECIPE, SEARCH, TrainingScale, match
from tabia.studies.estimates import spanning, spread
from tabia.studies.matches import trained
from tabia.studies.part import Measurement, Outcome, Part, Place, part_seed
from tabia.studies.plots import PERCENT, Curve, Figure
from tabia.studies.study import Source, Study
from tabia.studies.trainings import TINY, TrainingPart
from tabia.studies.verdicts import Claim, ordering, published_count

DRAWS = dict(zip("HIMDFKLJGCNAEB", (48, 47, 47, 46, 46, 46, 44, 41, 34, 25, 25, 24, 17, 13), strict=True))  # of 50
TWO_RUNS, WITH_THEIRS = "rank correlation of two runs of all sets", "rank correlation of a run with the thesis"


@dataclass(frozen=True, kw_only=True)
class TuningScale(TrainingScale):
    """Sizes of the study."""

    sets: tuple[str, ...] = tuple(DRAWS)


SCALES = (
    TuningScale(name="tiny", about="two iterations, 4 games per match", games=4, tiny=True, sets=("H",)),
    TuningScale(name="quick", about="50 games per match and seed", games=50, seeds=2, values=True, trends=True),
    TuningScale(name="full", about="100 games per match and seed", games=100, seeds=10, values=True, trends=True),
)


def _key(name: str) -> str:
    return f"set {name}: draws"


def _parts(scale: TuningScale, seed: int) -> Sequence[Part]:
    found: list[Part] = []
    for repeat in range(scale.seeds):
        for name in scale.sets:
            run = f"train-{name.lower()}-{repeat}"
            found.append(
                TrainingPart(
                    name=run,
                    recipe=RECIPE if scale.tiny else f"{RECIPE}@{name}",
                    run_seed=part_seed(seed, repeat, f"train-{name}"),
                    changes=TINY if scale.tiny else (),
                    curves=(),
                    seed=repeat,
                )
            )
            player = trained(run, f"simulations={4 if scale.tiny else 100},{SEARCH}")
            found.append(
                match(scale, seed, repeat, name=f"match-{name.lower()}", key=_key(name), player=player, needs=(run,))
            )
    if scale.seeds > 1:
        found.append(_agreement(scale))
    return found


def _agreement(scale: TuningScale) -> Measurement:
    """Do two runs of every set rank the sets alike? The thesis ranks them by one run each."""

    def draws(place: Place, repeat: int) -> list[float]:
        return [place.outcome_of(f"match-{name.lower()}-{repeat}").estimates[0].value for name in scale.sets]

    def measure(place: Place) -> Outcome:
        runs = [draws(place, repeat) for repeat in range(scale.seeds)]
        pairs = [rank_correlation(one, other) for one, other in itertools.combinations(runs, 2)]
        theirs = [rank_correlation(one, [DRAWS[name] for name in scale.sets]) for one in runs]
        return Outcome((spread(TWO_RUNS, pairs, "correlation"), spread(WITH_THEIRS, theirs, "correlation")))

    needs = tuple(f"match-{name.lower()}-{repeat}" for repeat in range(scale.seeds) for name in scale.sets)
    return Measurement(name="agreement", keys=(TWO_RUNS, WITH_THEIRS), measure=measure, needs=needs, cost=0.1)


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float:
    """Spearman's rank correlation; equal values share their mean rank.

    >>> rank_correlation([1, 2, 3], [10, 30, 20])
    0.5
    """
    return float(np.corrcoef(_ranks(np.asarray(one)), _ranks(np.asarray(other)))[0, 1])


def _ranks(values: np.ndarray) -> np.ndarray:
    """The mean ranks of values, counted from 0."""
    return np.asarray((values[:, None] > values).sum(axis=1) + ((values[:, None] == values).sum(axis=1) - 1) / 2)


def _above(statement: str, higher: Sequence[str], lower: Sequence[str]) -> Claim:
    """The mean of some sets is above that of others."""
    weights = [(_key(name), 1.0 / len(higher)) for name in higher] + [(_key(name), -1.0 / len(lower)) for name in lower]
    return Claim(statement, "table 5.2", tuple(weights))


STUDY = Study(
    name="tictactoe-tuning",
    version=2,
    question="Which hyperparameters learn tic-tac-toe best from 100 games?",
    source=Source("Sanz & Villanueva 2021", "section 5.1.2"),
    scales=SCALES,
    parts=_parts,
    combine=spanning,
    published=tuple(published_count(_key(name), count, 50, "table 5.2") for name, count in DRAWS.items()),
    claims=(
        ordering("The best set, H, draws more than the worst, B", "table 5.2", higher=_key("H"), lower=_key("B")),
        _above("Noise with alpha 0.5 draws more than with 1.0", ("G", "I"), ("C", "E")),
        _above("A learning rate of 1e-2 draws more than 1e-3", ("A", "F", "H"), ("B", "G", "I")),
        _above("L2 regularization draws more than none", ("D", "H", "I", "K", "M"), ("A", "F", "G", "J", "L")),
    ),
    figures=(
        Figure(
            name="sets",
            title="Draws against minimax, moving second, 100 iterations (table 5.2)",
            x="set of hyperparameters (table 5.1)",
            y="draws, % of games",
            curves=(Curve("draws", tuple((name, _key(name)) for name in DRAWS)),),
            joined=False,
            y_range=PERCENT,
        ),
        Figure(
            name="agreement",
            title="Do two runs of every set rank the sets alike?",
            x="",
            y="rank correlation; 1 is the same order",
            curves=(Curve("correlation", (("two runs", TWO_RUNS), ("a run and the thesis", WITH_THEIRS))),),
            joined=False,
            y_range=(-1.05, 1.05),
        ),
    ),
    notes=(
        "The published table has one run per set. The intervals of several runs span those of each. After 100 games, "
        "runs of one set differ by more than sets do, so a table of one run per set ranks them mostly by chance: see "
        "the rank correlation of two runs, with the range of 95% of all pairs of runs.",
    ),
)
