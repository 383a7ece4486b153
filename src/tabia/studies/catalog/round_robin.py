"""Ratings from a partial round robin against those from a full one (Glimmerfors 2022, section 5.2).

Every pair plays once; the partial round robin counts only the games of players near each other in training. To find out
why the ratings differ, the scores of players far apart are compared with those that the partial ratings predict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tabia.core.elo import expected_score
from tabia.evaluation import Record
from tabia.evaluation.rating_models import Ratings
from tabia.games.game import Game
from tabia.studies.estimates import Estimate, around, average, exact, percentage
from tabia.studies.matches import Tally, TournamentPart, lineup, rate_all, spec
from tabia.studies.part import Outcome, Part, part_seed
from tabia.studies.plots import Curve, Figure
from tabia.studies.study import Scale, Source, Study
from tabia.studies.verdicts import equality, ordering

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
MEASURED, PREDICTED = "score", "predicted score"


def _apart(places: int, what: str) -> str:
    return f"{places} place{'' if places == 1 else 's'} apart: {what}"


def near(records: Sequence[Record], names: Sequence[str], nearest: int) -> list[Record]:
    """The games of players at most this many places apart."""
    place = {name: number for number, name in enumerate(names)}
    return [record for record in records if abs(place[record.players[0]] - place[record.players[1]]) <= nearest]


def predicted_score(ratings: Ratings, one: int, other: int) -> float:
    """The score that ratings predict for a player against another, in both seats equally often."""
    gap, first = float(ratings.elo[one] - ratings.elo[other]), float(ratings.advantage[0])
    seats = [
        expected_score(gap + advantage - ratings.draw) - expected_score(-gap - advantage - ratings.draw)
        for advantage in (first, -first)
    ]
    return 0.5 + sum(seats) / 4


def by_distance(records: Sequence[Record], names: Sequence[str], ratings: Ratings) -> list[Estimate]:
    """The mean score of the later of two versions by their distance, and what the ratings predict for it."""
    found = []
    for places in range(1, len(names)):
        pairs = [(later, later - places) for later in range(places, len(names))]
        tallies = [
            Tally([record for record in records if set(record.players) == {names[later], names[earlier]}], names[later])
            for later, earlier in pairs
        ]
        points, games = sum(tally.points for tally in tallies), sum(tally.games for tally in tallies)
        expected = [predicted_score(ratings, *pair) for pair in pairs]
        found.append(percentage(_apart(places, MEASURED), points, games, "% of points"))
        found.append(exact(_apart(places, PREDICTED), 100 * sum(expected) / len(expected), "% of points"))
    return found


def _parts(scale: RoundRobinScale, seed: int) -> Sequence[Part]:
    def measure(game: Game, records: Sequence[Record], names: Sequence[str]) -> Outcome:
        both = {FULL: rate_all(records, names), PARTIAL: rate_all(near(records, names, scale.nearest), names)}
        found = [one for kind, ratings in both.items() for one in _ratings(scale, kind, ratings)]
        gaps = abs(both[FULL].elo - both[PARTIAL].elo)[1:]  # the first player anchors both
        apart = by_distance(records, names, both[PARTIAL])
        return Outcome((*found, average(DIFFERENCE, gaps, "Elo"), *apart))

    kinds = (FULL, PARTIAL)
    keys = [_key(label, kind) for kind in kinds for label in scale.labels] + [_gain(kind) for kind in kinds]
    apart = [_apart(places, what) for places in range(1, len(scale.players)) for what in (MEASURED, PREDICTED)]
    return [
        TournamentPart(
            name=f"tournament-{repeat}",
            keys=(*keys, DIFFERENCE, *apart),
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
        ordering(
            "Versions 6 places apart score less than the partial ratings predict",
            "ours",
            higher=_apart(6, PREDICTED),
            lower=_apart(6, MEASURED),
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
        Figure(
            name="distance",
            title="Score of the later version by distance",
            x="places between the versions",
            y="score, % of points",
            curves=tuple(
                Curve(label, tuple((places, _apart(places, what)) for places in range(1, len(VERSIONS))))
                for what, label in ((MEASURED, "measured"), (PREDICTED, "predicted by the partial ratings"))
            ),
        ),
    ),
    notes=(
        "The thesis rates versions up to 60,000 steps apart, which is at most 24 opponents each, and shows plots only. "
        "Here both ratings come from the same games, so they differ only by the pairs that are left out. The partial "
        "round robin meets opponents at most two places apart, and its ratings add up these differences, as Elo's "
        "model expects. The scores by distance show that they do not add up: the more places apart, the more the "
        "stronger version scores below the prediction. So the partial ratings spread further than the full ones.",
    ),
)
