"""Ratings from a partial round robin against those from a full one (Glimmerfors 2022, section 5.2).

Every pair plays once; the partial round robin counts only the games of players near each other in training.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tabia.evaluation import Record
from tabia.evaluation.rating_models import Ratings
from tabia.games.game import Game
from tabia.studies.estimates import Estimate, around, average
from tabia.studies.matches import TournamentPart, lineup, rate_all, spec
from tabia.studies.part import Outcome, Part, part_seed
from tabia.studies.plots import Curve, Figure
from tabia.studies.study import Scale, Source, Study
from tabia.studies.verdicts import equality

VERSIONS = (6, 12, 24, 54, 114, 216, 660)  # of the shipped agent connect4-laptop
FULL, PARTIAL = "full", "partial"
WITHIN = 50.0  # Elo; the thesis calls the ratings nearly identical


@dataclass(frozen=True, kw_only=True)
class RoundRobinScale(Scale):
    """Sizes of the study."""

    players: tuple[str, ...]  # from the weakest to the strongest
    labels: tuple[str, ...]
    game: str
    games: int  # per pair and seed
    nearest: int


_LABELS = tuple(f"version {version}" for version in VERSIONS)
_PLAYERS = tuple(f"az:connect4-laptop@{version},simulations=16" for version in VERSIONS)
SCALES = (
    RoundRobinScale(
        name="tiny",
        about="three simple players at tic-tac-toe, 8 games per pair",
        players=("random", "random:epsilon=0.1", "random:epsilon=0.2"),
        labels=_LABELS[:3],
        game="tictactoe",
        games=8,
        nearest=1,
    ),
    RoundRobinScale(
        name="quick",
        about="7 versions of connect4-laptop, 16 simulations, 40 games per seed and pair; partial: 2 places apart",
        players=_PLAYERS,
        labels=_LABELS,
        game="connect4",
        games=40,
        nearest=2,
        seeds=2,
        trends=True,
    ),
    RoundRobinScale(
        name="full",
        about="7 versions of connect4-laptop, 16 simulations, 400 games per seed and pair; partial: 2 places apart",
        players=_PLAYERS,
        labels=_LABELS,
        game="connect4",
        games=400,
        nearest=2,
        seeds=2,
        trends=True,
    ),
)


def _key(label: str, kind: str) -> str:
    return f"{label}: {kind}"


def _gain(kind: str) -> str:
    return f"gain over training: {kind}"


DIFFERENCE = "mean difference of the ratings"


def near(records: Sequence[Record], names: Sequence[str], nearest: int) -> list[Record]:
    """The games of players at most this many places apart."""
    place = {name: number for number, name in enumerate(names)}
    return [record for record in records if abs(place[record.players[0]] - place[record.players[1]]) <= nearest]


def _parts(scale: RoundRobinScale, seed: int) -> Sequence[Part]:
    def measure(game: Game, records: Sequence[Record], names: Sequence[str]) -> Outcome:
        both = {FULL: rate_all(records, names), PARTIAL: rate_all(near(records, names, scale.nearest), names)}
        found = [one for kind, ratings in both.items() for one in _ratings(scale, kind, ratings)]
        gaps = abs(both[FULL].elo - both[PARTIAL].elo)[1:]  # the first player anchors both
        return Outcome((*found, average(DIFFERENCE, gaps, "Elo")))

    kinds = (FULL, PARTIAL)
    keys = [_key(label, kind) for kind in kinds for label in scale.labels] + [_gain(kind) for kind in kinds]
    return [
        TournamentPart(
            name=f"tournament-{repeat}",
            keys=(*keys, DIFFERENCE),
            game=scale.game,
            players=lineup(*map(spec, scale.players)),
            games=scale.games,
            measure=measure,
            match_seed=part_seed(seed, repeat, "tournament"),
            seed=repeat,
        )
        for repeat in range(scale.seeds)
    ]


def _ratings(scale: RoundRobinScale, kind: str, ratings: Ratings) -> list[Estimate]:
    found = [
        around(_key(label, kind), float(ratings.elo[row]), float(ratings.error[row]), "Elo")
        for row, label in enumerate(scale.labels)
    ]
    return [*found, around(_gain(kind), *ratings.difference(len(scale.labels) - 1, 0), "Elo")]


STUDY = Study(
    name="round-robin",
    version=1,
    question="Are ratings from a partial round robin the same as those from a full one?",
    source=Source("Glimmerfors 2022", "section 5.2"),
    scales=SCALES,
    parts=_parts,
    published=(),
    claims=(
        equality(
            f"The gain over training is the same, within {WITHIN:g} Elo",
            "figures 5.1 to 5.3",
            one=_gain(FULL),
            other=_gain(PARTIAL),
            within=WITHIN,
        ),
    ),
    figures=(
        Figure(
            name="ratings",
            title="Ratings of the versions of one run (figures 5.1 to 5.3)",
            x="training iteration of the version",
            y="rating, Elo; the first version is 0",
            curves=tuple(
                Curve(f"{kind} round robin", tuple((v, _key(f"version {v}", kind)) for v in VERSIONS))
                for kind in (FULL, PARTIAL)
            ),
            log_x=True,
        ),
    ),
    notes=(
        "The thesis rates versions up to 60,000 steps apart, which is at most 24 opponents each, and shows plots only. "
        "Here both ratings come from the same games, so they differ only by the pairs that are left out.",
    ),
)
