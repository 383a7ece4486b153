"""A small study of a game that needs no compilation of a search: random and greedy players at tic-tac-toe."""

from __future__ import annotations

from collections.abc import Sequence

from tabia.evaluation import Record
from tabia.games.game import Game
from tabia.studies.estimates import exact, percentage
from tabia.studies.matches import MatchPart, Tally, spec
from tabia.studies.part import Measurement, Outcome, Part, Place, part_seed
from tabia.studies.plots import Curve, Figure
from tabia.studies.study import Scale, Source, Study
from tabia.studies.verdicts import Published, ordering

GAMES = 8


def _measure(game: Game, records: Sequence[Record], names: Sequence[str]) -> Outcome:
    tally = Tally(records, names[0], 0)
    return Outcome((percentage("wins", tally.wins, tally.games),))


def _twice(place: Place) -> Outcome:
    before = {one.key: one for one in place.outcome_of("match-0").estimates}
    return Outcome((exact("twice", 2 * before["wins"].value),))


def _parts(scale: Scale, seed: int) -> Sequence[Part]:
    return [
        Measurement(name="first", keys=("one",), measure=lambda place: Outcome((exact("one", 1),))),
        MatchPart(
            name="match-0",
            keys=("wins",),
            game="tictactoe",
            players=(spec("random:epsilon=0.5"), spec("random")),
            games=GAMES,
            batch=4,
            measure=_measure,
            match_seed=part_seed(seed, 0, "match"),
        ),
        Measurement(name="last", keys=("twice",), measure=_twice, needs=("match-0",)),
    ]


STUDY = Study(
    name="toy",
    version=3,
    question="Does random win?",
    source=Source("Nobody 2000", "section 1"),
    scales=tuple(Scale(name=name, about="a toy", values=True, trends=True) for name in ("tiny", "quick", "full")),
    parts=_parts,
    published=(Published("wins", 50.0, "table 1"),),
    claims=(ordering("Wins are more than one", "table 1", higher="wins", lower="one"),),
    figures=(
        Figure(name="wins", title="Wins", x="player", y="wins, % of games", curves=(Curve("a", (("x", "wins"),)),)),
    ),
)
