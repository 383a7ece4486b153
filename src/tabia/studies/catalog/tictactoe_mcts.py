"""MCTS without learning against minimax at tic-tac-toe (Sanz & Villanueva 2021, section 5.1.1).

Minimax cannot lose, so every game that is not drawn is lost by MCTS, and the study counts draws. Beyond the thesis it
compares the other selection rules and final-move rules that section 2.3.2 describes but does not measure, and UCT with
every move tried first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tabia.evaluation import Record
from tabia.games.game import Game
from tabia.studies.estimates import percentage, spread
from tabia.studies.matches import MatchPart, Tally, spec
from tabia.studies.part import Measurement, Outcome, Part, Place, part_seed
from tabia.studies.plots import PERCENT, Curve, Figure
from tabia.studies.study import Scale, Source, Study
from tabia.studies.verdicts import Published, ordering, published_count, trend

CONSTANTS = (0.0, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0)
BLACK, WHITE = (0, 41, 44, 40, 41, 47, 45, 37, 38, 36), (0, *(50,) * 9)  # of 50, from the authors' code
BEST = 1.5  # the constant that the thesis chooses
ITERATIONS, BY_ITERATIONS = (100, 200, 400, 800, 1200), (25, 25, 40, 44, 49)
RULES = ("omc", "pbbm")
FINALS = {"visits": "robust", "value": "max", "max-robust": "max-robust", "secure": "secure"}  # ours: the thesis's name
PUBLISHED_GAMES, DRAWN = 50, 10_000
BEST_OF = "highest of ten constants, 50 games: draws"
SEATS = ("first", "second")  # white and black in the thesis


@dataclass(frozen=True, kw_only=True)
class MctsScale(Scale):
    """Sizes of the study."""

    games: int  # per seat, setting and seed
    iterations: int  # of figure 5.1a
    constants: tuple[float, ...] = CONSTANTS
    tried: tuple[float, ...] = CONSTANTS  # with every move tried first
    by_iterations: tuple[int, ...] = ITERATIONS
    rules: tuple[str, ...] = RULES
    finals: tuple[str, ...] = tuple(FINALS)


SCALES = (
    MctsScale(
        name="tiny",
        about="4 games per seat, 4 iterations, few settings",
        games=4,
        iterations=4,
        constants=(BEST,),
        tried=(),
        by_iterations=(4,),
        rules=(),
        finals=(),
    ),
    MctsScale(
        name="quick",
        about="50 games per seat, setting and seed; 50 in the thesis",
        games=50,
        iterations=500,
        seeds=2,
        values=True,
        trends=True,
    ),
    MctsScale(
        name="full",
        about="500 games per seat, setting and seed; 50 in the thesis",
        games=500,
        iterations=500,
        seeds=2,
        values=True,
        trends=True,
    ),
)


def their_uct(c: float) -> str:
    """The options of UCT as in the authors' published code: an untried move has the lowest value, and n + 1 replaces n.

    Values there are from 0 to 1, here from -1 to 1, so the constant is doubled.
    """
    return f"c={2 * c:.6g},untried_first=false"


def _draws(labels: tuple[str, str]) -> tuple[str, ...]:
    return tuple(f"{label}: draws" for label in labels)


def _constant(c: float) -> tuple[str, str]:
    return f"C = {c:g}, first", f"C = {c:g}, second"


def _tried(c: float) -> tuple[str, str]:
    return f"C = {c:g}, untried first, first", f"C = {c:g}, untried first, second"


def _budget(iterations: int) -> tuple[str, str]:
    return f"{iterations} iterations, first", f"{iterations} iterations, second"


def _rule(rule: str) -> tuple[str, str]:
    return f"{rule.upper()}, first", f"{rule.upper()}, second"


def _final(final: str) -> tuple[str, str]:
    return f"{FINALS[final]} child, first", f"{FINALS[final]} child, second"


def _parts(scale: MctsScale, seed: int) -> Sequence[Part]:
    found: list[Part] = []
    for repeat in range(scale.seeds):
        for name, player, labels, iterations in _settings(scale):
            found.append(_match(scale, seed, repeat, name=name, player=player, labels=labels, cost=iterations / 500))
        if len(scale.constants) > 1:
            found.append(_best_of(scale, seed, repeat))
    return found


def _settings(scale: MctsScale) -> Iterator[tuple[str, str, tuple[str, str], int]]:
    """Name, player, labels and iterations of every setting that is measured."""
    n = scale.iterations
    for c in scale.constants:
        yield f"c-{c:g}", f"mcts:simulations={n},{their_uct(c)}", _constant(c), n
    for c in scale.tried:
        yield f"tried-{c:g}", f"mcts:simulations={n},c={2 * c:g}", _tried(c), n
    for m in scale.by_iterations:
        yield f"iterations-{m}", f"mcts:simulations={m},{their_uct(BEST)}", _budget(m), m
    for rule in scale.rules:
        yield f"rule-{rule}", f"mcts:simulations={n},rule={rule}", _rule(rule), n
    for final in scale.finals:
        yield f"final-{FINALS[final]}", f"mcts:simulations={n},{their_uct(BEST)},final={final}", _final(final), n


def _match(
    scale: MctsScale, seed: int, repeat: int, *, name: str, player: str, labels: tuple[str, str], cost: float
) -> MatchPart:
    """A match against perfect play, in which draws in each seat count."""
    keys = _draws(labels)

    def measure(game: Game, records: Sequence[Record], names: Sequence[str]) -> Outcome:
        tallies = [Tally(records, names[0], seat) for seat in range(2)]
        return Outcome(tuple(percentage(key, one.draws, one.games) for key, one in zip(keys, tallies, strict=True)))

    return MatchPart(
        name=f"{name}-{repeat}",
        keys=keys,
        game="tictactoe",
        players=(spec(player), spec("perfect:fastest=false")),
        games=2 * scale.games,
        measure=measure,
        match_seed=part_seed(seed, repeat, name),
        seed=repeat,
        cost=cost,
    )


def _best_of(scale: MctsScale, seed: int, repeat: int) -> Measurement:
    """The most draws that any constant has in 50 games, expected from the rates measured for all of them.

    The thesis chooses the constant with the most draws, so its count is higher than the rate of that constant.
    """

    def measure(place: Place) -> Outcome:
        names = [f"c-{c:g}-{repeat}" for c in scale.constants]
        rates = [place.outcome_of(name).estimates[1].value / 100 for name in names]
        random = np.random.default_rng(part_seed(seed, repeat, "best-of"))
        most = random.binomial(PUBLISHED_GAMES, rates, (DRAWN, len(rates))).max(axis=1)
        return Outcome((spread(BEST_OF, 100 * most / PUBLISHED_GAMES, "% of games"),))

    needs = tuple(f"c-{c:g}-{repeat}" for c in scale.constants)
    return Measurement(name=f"best-of-{repeat}", keys=(BEST_OF,), measure=measure, seed=repeat, needs=needs, cost=0.1)


def _curves(labels: Mapping[Any, tuple[str, str]], seats: Sequence[int] = (0, 1)) -> tuple[Curve, ...]:
    return tuple(
        Curve(f"MCTS moves {SEATS[seat]}", tuple((x, _draws(both)[seat]) for x, both in labels.items()))
        for seat in seats
    )


STUDY = Study(
    name="tictactoe-mcts",
    version=2,
    question="How often does MCTS without learning draw against perfect play, by exploration constant and iterations?",
    source=Source("Sanz & Villanueva 2021", "section 5.1.1"),
    scales=SCALES,
    parts=_parts,
    published=(
        *(
            published_count(_draws(_constant(c))[seat], n, 50, "figure 5.1a")
            for seat, counts in ((1, BLACK), (0, WHITE))
            for c, n in zip(CONSTANTS, counts, strict=True)
        ),
        *(
            published_count(_draws(_budget(m))[1], n, 50, "figure 5.1b")
            for m, n in zip(ITERATIONS, BY_ITERATIONS, strict=True)
        ),
        Published(BEST_OF, 100 * max(BLACK) / PUBLISHED_GAMES, "figure 5.1a, the best constant"),
    ),
    claims=(
        trend(
            "More iterations draw more often, moving second",
            "figure 5.1b",
            keys=[_draws(_budget(m))[1] for m in ITERATIONS],
        ),
        ordering(
            "C = 1.5 draws more often than C = 3, moving second",
            "figure 5.1a",
            higher=_draws(_constant(1.5))[1],
            lower=_draws(_constant(3.0))[1],
        ),
        ordering(
            "C = 1.5 draws more often than C = 0, moving second",
            "figure 5.1a",
            higher=_draws(_constant(1.5))[1],
            lower=_draws(_constant(0.0))[1],
        ),
        ordering(
            "With C = 0, trying every move first draws more often, moving second",
            "ours",
            higher=_draws(_tried(0.0))[1],
            lower=_draws(_constant(0.0))[1],
        ),
    ),
    figures=(
        Figure(
            name="constant",
            title="Draws against minimax by exploration constant, 500 iterations (figure 5.1a)",
            x="exploration constant C of UCT",
            y="draws, % of games",
            curves=_curves({c: _constant(c) for c in CONSTANTS}),
            y_range=PERCENT,
        ),
        Figure(
            name="best-of",
            title="The most draws of any constant in 50 games, expected and published",
            x="",
            y="draws, % of games",
            curves=(Curve("expected", (("highest of ten", BEST_OF),)),),
            joined=False,
            y_range=PERCENT,
        ),
        Figure(
            name="untried",
            title="Draws against minimax if every move is tried first, 500 iterations",
            x="exploration constant C of UCT",
            y="draws, % of games",
            curves=_curves({c: _tried(c) for c in CONSTANTS}),
            y_range=PERCENT,
        ),
        Figure(
            name="iterations",
            title="Draws against minimax by iterations, C = 1.5 (figure 5.1b)",
            x="iterations per move",
            y="draws, % of games",
            curves=_curves({m: _budget(m) for m in ITERATIONS}, seats=(1, 0)),
            log_x=True,
            y_range=PERCENT,
        ),
        Figure(
            name="rules",
            title="Draws against minimax by selection rule and by final move, 500 iterations",
            x="selection rule, or final move with UCT and C = 1.5",
            y="draws, % of games",
            curves=_curves(
                {rule.upper(): _rule(rule) for rule in RULES} | {FINALS[final]: _final(final) for final in FINALS}
            ),
            joined=False,
            y_range=PERCENT,
        ),
    ),
    notes=(
        "Published counts are those of the authors' published code, and so is the rule of UCT: an untried move has the "
        "lowest value, and n + 1 replaces n. With C = 0 such a search only ever visits the first move. The rows with "
        "untried moves first show what the usual rule, which tries every move once, makes of the same constants. The "
        "constant multiplies values from 0 to 1. Minimax plays any of equally good moves, as in the authors' code. The "
        "opponent here is a solved table, which plays as minimax to the end of the game does.",
        "Two values differ. C = 1.5 is the best of ten constants in the thesis, and the best of ten matches of 50 "
        "games is expected to be that high: see the row of the best constant. With 200 iterations the thesis draws no "
        "more than with 100; of 25 values, one or two differ by chance.",
    ),
)
