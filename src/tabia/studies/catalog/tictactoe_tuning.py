"""Fourteen sets of hyperparameters at tic-tac-toe, 100 games each (Sanz & Villanueva 2021, section 5.1.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tabia.studies.catalog.tictactoe_training import RECIPE, SEARCH, TrainingScale, match
from tabia.studies.estimates import spanning
from tabia.studies.matches import trained
from tabia.studies.part import Part, part_seed
from tabia.studies.plots import Curve, Figure
from tabia.studies.study import Source, Study
from tabia.studies.trainings import TINY, TrainingPart
from tabia.studies.verdicts import Claim, ordering, published_count

DRAWS = dict(zip("HIMDFKLJGCNAEB", (48, 47, 47, 46, 46, 46, 44, 41, 34, 25, 25, 24, 17, 13), strict=True))  # of 50


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
    return found


def _above(statement: str, higher: Sequence[str], lower: Sequence[str]) -> Claim:
    """The mean of some sets is above that of others."""
    weights = [(_key(name), 1.0 / len(higher)) for name in higher] + [(_key(name), -1.0 / len(lower)) for name in lower]
    return Claim(statement, "table 5.2", tuple(weights))


STUDY = Study(
    name="tictactoe-tuning",
    version=1,
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
            y_range=(-3, 103),
        ),
    ),
    notes=("The published table has one run per set. The intervals of several runs span those of each.",),
)
