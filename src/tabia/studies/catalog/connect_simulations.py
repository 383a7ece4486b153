"""One trained agent with 1 to 512 simulations per move (Glimmerfors 2022, section 5.5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from tabia.evaluation import Record
from tabia.games.game import Game
from tabia.studies.catalog.tictactoe_mcts import BEST, their_uct  # the tiny scale shares programs
from tabia.studies.estimates import around, percentage
from tabia.studies.matches import MatchPart, Tally, TournamentPart, lineup, rate_all, spec
from tabia.studies.part import Outcome, Part, part_seed
from tabia.studies.plots import Curve, Figure
from tabia.studies.study import Scale, Source, Study
from tabia.studies.verdicts import Published, ordering, trend

SIMULATIONS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
FEW, TIES = (2, 4), ("random", "first")
GAIN = "gain from 1 to 512 simulations"
ALPHA = 10 / 7  # of the Dirichlet noise: 10 divided by the width of the board


def player(agent: str, simulations: int, ties: str) -> str:
    """The agent as the thesis rates it: PUCT with noise at the root, and a move with the most visits."""
    noise = f"rule=puct,dirichlet_fraction=0.25,dirichlet_alpha={ALPHA:.4f}"
    return f"az:{agent},simulations={simulations},{noise},winning_moves_first=false,ties={ties}"


@dataclass(frozen=True, kw_only=True)
class SimulationsScale(Scale):
    """Sizes of the study."""

    player: Callable[[int, str], str]  # its spec, from simulations and how ties are broken
    game: str
    games: int  # per pair and seed
    simulations: tuple[int, ...]
    few: tuple[int, ...] = FEW  # simulations for which ways to break ties are compared


SCALES = (
    SimulationsScale(
        name="tiny",
        about="MCTS without a network at tic-tac-toe, 4 games per pair",
        player=lambda simulations, ties: f"mcts:simulations={simulations},{their_uct(BEST)}",
        game="tictactoe",
        games=4,
        simulations=(1, 4),
        few=(),
    ),
    SimulationsScale(
        name="quick",
        about="agent connect4-laptop, 1 to 64 simulations, 100 games per seed and pair; 1,000 in the thesis",
        player=partial(player, "connect4-laptop"),
        game="connect4",
        games=100,
        simulations=SIMULATIONS[:7],
        seeds=2,
        trends=True,
    ),
    SimulationsScale(
        name="full",
        about="the shipped agent connect4, 1,000 games per seed and pair",
        player=partial(player, "connect4"),
        game="connect4",
        games=1000,
        simulations=SIMULATIONS,
        seeds=2,
        values=True,
        trends=True,
    ),
)


def _key(simulations: int) -> str:
    return f"{simulations} simulation{'' if simulations == 1 else 's'}: rating"


def _ties_key(simulations: int, ties: str) -> str:
    return f"{simulations} against 1, {ties} tie: score"


def _parts(scale: SimulationsScale, seed: int) -> Sequence[Part]:
    found: list[Part] = []
    for repeat in range(scale.seeds):
        found.append(_tournament(scale, seed, repeat))
        found += [_against_one(scale, seed, repeat, number, ties) for number in scale.few for ties in TIES]
    return found


def _tournament(scale: SimulationsScale, seed: int, repeat: int) -> TournamentPart:
    def measure(game: Game, records: Sequence[Record], names: Sequence[str]) -> Outcome:
        ratings = rate_all(records, names)
        found = [
            around(_key(number), float(ratings.elo[row]), float(ratings.error[row]), "Elo")
            for row, number in enumerate(scale.simulations)
        ]
        return Outcome((*found, around(GAIN, *ratings.difference(len(names) - 1, 0), "Elo")))

    return TournamentPart(
        name=f"tournament-{repeat}",
        keys=(*map(_key, scale.simulations), GAIN),
        game=scale.game,
        players=lineup(*(spec(scale.player(number, "random")) for number in scale.simulations)),
        games=scale.games,
        measure=measure,
        match_seed=part_seed(seed, repeat, "tournament"),
        opening_moves=0,
        seed=repeat,
        cost=20.0,
    )


def _against_one(scale: SimulationsScale, seed: int, repeat: int, number: int, ties: str) -> MatchPart:
    """A few simulations against one, with ties between moves broken in one of two ways."""
    key = _ties_key(number, ties)

    def measure(game: Game, records: Sequence[Record], names: Sequence[str]) -> Outcome:
        tally = Tally(records, names[0])
        return Outcome((percentage(key, tally.points, tally.games, "% of points"),))

    return MatchPart(
        name=f"ties-{ties}-{number}-{repeat}",
        keys=(key,),
        game=scale.game,
        players=(spec(scale.player(number, ties)), spec(scale.player(1, "random"))),
        games=scale.games,
        measure=measure,
        match_seed=part_seed(seed, repeat, f"ties-{ties}-{number}"),
        seed=repeat,
    )


STUDY = Study(
    name="connect-simulations",
    version=1,
    question="How much stronger is a trained agent with more simulations, and are 2 and 4 worse than 1?",
    source=Source("Glimmerfors 2022", "section 5.5"),
    scales=SCALES,
    parts=_parts,
    published=(Published(GAIN, 250.0, "figure 5.21", 225.0, 275.0),),
    claims=(
        ordering("2 simulations are worse than 1", "figure 5.21", higher=_key(1), lower=_key(2)),
        ordering("4 simulations are worse than 1", "figure 5.21", higher=_key(1), lower=_key(4)),
        ordering(
            "2 simulations are worse if ties are broken at random",
            "section 5.5",
            higher=_ties_key(2, "first"),
            lower=_ties_key(2, "random"),
        ),
        trend("From 4 simulations on, more are better", "figure 5.21", keys=[_key(n) for n in SIMULATIONS[2:7]]),
    ),
    figures=(
        Figure(
            name="simulations",
            title="Rating of one agent by simulations per move (figure 5.21)",
            x="simulations per move",
            y="rating, Elo; 1 simulation is 0",
            curves=(Curve("rating", tuple((number, _key(number)) for number in SIMULATIONS)),),
            log_x=True,
        ),
        Figure(
            name="ties",
            title="Few simulations against one, by how ties are broken",
            x="simulations per move",
            y="score, % of points; 50 is no difference",
            curves=tuple(
                Curve(f"{ties} of the most visited moves", tuple((f"{n}", _ties_key(n, ties)) for n in FEW))
                for ties in TIES
            ),
            joined=False,
        ),
        Figure(
            name="gain",
            title="Gain from the fewest to the most simulations",
            x="",
            y="rating difference, Elo",
            curves=(Curve("gain", (("512 against 1", GAIN),)),),
            joined=False,
        ),
    ),
    notes=(
        "The published gain is read from the figure, hence its interval. The thesis explains the weakness of 2 and 4 "
        "simulations by ties: two moves with equal visits are played with equal probability, although the network "
        "prefers one of them. The matches of few simulations against one, with ties broken at random or by the first "
        "move, test that.",
    ),
)
