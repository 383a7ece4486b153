"""What stale weights and lost chunks cost: Connect 3 with delays of up to 64 iterations, and up to 90% of chunks lost.

Self-play on a cluster differs from one machine in two ways: actors play with weights that are some iterations old, and
an actor that dies takes its chunk with it. Both are simulated in one process, one at a time (`parts.simulated_actors`).
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from tabia.core import files
from tabia.evaluation import accuracy, positions
from tabia.evaluation.positions import PositionSet
from tabia.games import make
from tabia.players import PerfectPlayer
from tabia.players.perfect import Oracle
from tabia.studies.directory import RUN
from tabia.studies.estimates import percentage, spanning
from tabia.studies.part import Measurement, Outcome, Part, Place, Series, part_seed
from tabia.studies.parts.simulated_actors import Impairment, SimulatedActors
from tabia.studies.plots import Curve, Figure, SeriesCurve
from tabia.studies.study import Scale, Source, Study
from tabia.studies.trainings import TINY, TINY_RECIPE, UNMEASURED
from tabia.studies.verdicts import Claim, equality, ordering, trend
from tabia.training import BaseObserver, Config, Training, default_observers, recipes, train
from tabia.training.arena import make_player
from tabia.training.iteration import IterationResult
from tabia.training.plan import Plan
from tabia.training.state import playing

DELAYS, DROPS = (0, 1, 4, 16, 64), (0, 25, 50, 75, 90)
ACTORS = 16
WITHIN = 2.0  # percentage points of agreement at the end that count as no loss
UNIT = "% of positions"
NONE = "no delay, none dropped"


@dataclass(frozen=True, kw_only=True)
class ScalingScale(Scale):
    """Sizes of the study."""

    iterations: int
    every: int  # iterations between measurements
    delays: tuple[int, ...] = DELAYS
    drops: tuple[int, ...] = DROPS
    simulations: int = 25  # of the search at the end
    actors: int = ACTORS
    tiny: bool = False

    @property
    def config(self) -> Config:
        """The recipe; the search compared with perfect play at the end counts as evaluation, not as the run's."""
        config = recipes.load(TINY_RECIPE if self.tiny else "connect3").config()
        changes = dict(TINY) if self.tiny else {"iterations": self.iterations, "checkpoints.every": self.iterations}
        return config.changed({**UNMEASURED, **changes})


SCALES = (
    ScalingScale(
        name="tiny",
        about="tic-tac-toe, two iterations",
        iterations=2,
        every=1,
        delays=(0, 1),
        drops=(0, 50),
        simulations=4,
        actors=2,
        tiny=True,
    ),
    ScalingScale(
        name="quick",
        about="80 of 120 iterations of the recipe connect3",
        iterations=80,
        every=10,
        delays=(0, 4, 64),
        drops=(0, 50, 90),
        seeds=2,
        trends=True,
    ),
    ScalingScale(
        name="full", about="the recipe connect3, 120 iterations", iterations=120, every=5, seeds=3, trends=True
    ),
)


def _label(impairment: Impairment) -> str:
    if impairment.dropped:
        return f"{100 * impairment.dropped:g}% dropped"
    return f"delay {impairment.delay}" if impairment.delay else NONE


def _delayed(delay: int) -> str:
    return _label(Impairment(delay))


def _dropped(percent: int) -> str:
    return _label(Impairment(dropped=percent / 100))


def _end(label: str) -> str:
    return f"{label}: at the end"


def _mean(label: str) -> str:
    return f"{label}: over training"


def _search(label: str) -> str:
    return f"{label}: with search"


@dataclass(frozen=True)
class Exam:
    """The positions of a game in which some move loses value, and perfect play."""

    positions: PositionSet
    oracle: Oracle


@lru_cache(maxsize=1)
def exam(game: str, most: int) -> Exam:
    """All losable positions of a game, or about as many as `most`, evenly spread."""
    played = make(game)
    oracle = PerfectPlayer(played).oracle
    every = positions.every(played)
    losable = np.flatnonzero(accuracy.is_losable(played, every, oracle))
    rows = losable[:: max(len(losable) // most, 1)]
    return Exam(PositionSet(every.rows(rows), every.plies[rows]), oracle)


class Examiner(BaseObserver):
    """Measures how often the network alone agrees with perfect play, during the run; with search at its end."""

    def __init__(self, scale: ScalingScale, place: Place) -> None:
        self._scale, self._place = scale, place
        self.points: list[tuple[int, accuracy.Group]] = []  # by iteration

    def on_start(self, training: Training) -> None:
        self.points.append((0, self.grade(training)))

    def on_iteration(self, training: Training, result: IterationResult) -> dict[str, Any]:
        self._place.control.progress(training.progress, 1.0)
        iteration = training.counters.iteration
        if iteration % self._scale.every and training.progress < 1.0:
            return {}
        self.points.append((iteration, self.grade(training)))
        return {"agreement_network": self.points[-1][1].agreement}

    def grade(self, training: Training, simulations: int = 0) -> accuracy.Group:
        """The agreement of the newest network, alone or with search."""
        test = exam(training.config.game, 64 if self._scale.tiny else 100_000)
        player = make_player(Plan(training.current), playing(training.state), simulations, "tabia")
        return accuracy.agreement(player, test.positions, oracle=test.oracle).all


def _part(scale: ScalingScale, seed: int, repeat: int, impairment: Impairment) -> Measurement:
    """One training run; runs of one repeat start from the same weights and the same games."""
    label = _label(impairment)
    keys = (_end(label), _mean(label), _search(label))

    def measure(place: Place) -> Outcome:
        folder, examiner = place.folder / RUN, Examiner(scale, place)
        if files.exists(folder):
            shutil.rmtree(folder)
        training = Training.begin(folder, scale.config.changed({"seed": part_seed(seed, repeat, "scaling")}))
        actors = SimulatedActors(impairment)
        train(training, [examiner, *default_observers()], signals=False, make_iteration=actors)
        count, curve = examiner.points[-1][1].positions, _series(examiner.points)
        kept = (curve.y[-1], float(np.mean(curve.y[1:])), 100 * examiner.grade(training, scale.simulations).agreement)
        return Outcome(
            tuple(percentage(key, share / 100 * count, count, UNIT) for key, share in zip(keys, kept, strict=True)),
            {label: curve},
        )

    name = f"delay-{impairment.delay}" if not impairment.dropped else f"dropped-{100 * impairment.dropped:g}"
    return Measurement(name=f"{name}-{repeat}", keys=keys, measure=measure, seed=repeat, cost=20.0)


def _series(points: Sequence[tuple[int, accuracy.Group]]) -> Series:
    rows = [
        (iteration, *(100 * one for one in (found.agreement, found.low, found.high))) for iteration, found in points
    ]
    x, y, low, high = (tuple(map(float, column)) for column in zip(*rows, strict=True))
    return Series(x, y, low, high)


def _parts(scale: ScalingScale, seed: int) -> Sequence[Part]:
    delays = [Impairment(delay) for delay in scale.delays]
    drops = [Impairment(0, percent / 100, scale.actors) for percent in scale.drops if percent]
    return [_part(scale, seed, repeat, one) for repeat in range(scale.seeds) for one in (*delays, *drops)]


def _claims() -> tuple[Claim, ...]:
    """What each delay and each loss costs at the end, and whether learning takes longer."""
    labels = [(f"a delay of {delay}", _delayed(delay)) for delay in DELAYS[1:]]
    labels += [(f"{percent}% of chunks dropped", _dropped(percent)) for percent in DROPS[1:]]
    where = ""  # nobody has published them
    return (
        *(
            equality(
                f"With {name}, the network ends at most {WITHIN:g} points from one without",
                where,
                one=_end(label),
                other=_end(NONE),
                within=WITHIN,
            )
            for name, label in labels
        ),
        *(
            ordering(f"With {name}, learning takes longer", where, higher=_mean(NONE), lower=_mean(label))
            for name, label in labels
        ),
        trend("Longer delays learn more slowly", where, keys=[_mean(_delayed(one)) for one in DELAYS], falling=True),
        trend("More losses learn more slowly", where, keys=[_mean(_dropped(one)) for one in DROPS], falling=True),
    )


def _by_size(name: str, title: str, x: str, labels: Sequence[tuple[int, str]]) -> Figure:
    """Agreement by delay or by share; the values are spaced evenly, because they grow in large steps."""
    kinds = (("the network, mean over training", _mean), ("the network, at the end", _end), ("with search", _search))
    return Figure(
        name=name,
        title=title,
        x=x,
        y="moves that keep the value, %",
        curves=tuple(Curve(kind, tuple((str(size), key(label)) for size, label in labels)) for kind, key in kinds),
    )


def _over_training(name: str, title: str, labels: Sequence[str]) -> Figure:
    return Figure(
        name=name,
        title=title,
        x="iteration",
        y="moves that keep the value, %",
        series=tuple(SeriesCurve(label, label) for label in labels),
    )


STUDY = Study(
    name="scaling",
    version=1,
    question=(
        "What does it cost if self-play uses weights that are some iterations old, or if some of its chunks are lost?"
    ),
    source=Source("Tabia", ""),
    scales=SCALES,
    parts=_parts,
    published=(),
    claims=_claims(),
    figures=(
        _over_training("delays", "Agreement with perfect play, by delay", [_delayed(one) for one in DELAYS]),
        _by_size(
            "by-delay",
            "Agreement with perfect play by delay",
            "delay of the weights, iterations",
            [(one, _delayed(one)) for one in DELAYS],
        ),
        _over_training("drops", "Agreement with perfect play, by chunks dropped", [_dropped(one) for one in DROPS]),
        _by_size(
            "by-drops",
            "Agreement with perfect play by chunks dropped",
            "chunks dropped, %",
            [(one, _dropped(one)) for one in DROPS],
        ),
    ),
    combine=spanning,
    notes=(
        "Agreement is the share of moves that keep the value, over all positions in which some move does not (2,359 of "
        "Connect 3). The mean over training is the mean of the curve, untrained network excluded. With a delay of d, "
        "self-play in iteration n uses the weights before iteration n - d, and the untrained ones until then; the "
        "learner is not delayed.",
        f"The lanes are split among {ACTORS} actors. A dropped chunk is one actor's plies of one iteration, lost with "
        "the same probability each time: its positions are not stored, the games in it are lost together with their "
        "earlier positions, and new games start. The learner takes as many steps as without losses, and the replay "
        "buffer spans as many iterations, so it holds fewer positions. With `tabia train --ray`, the chunk of an actor "
        "that died is played again; this is what happens if it is not.",
    ),
)
