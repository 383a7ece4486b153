"""AlphaZero at tic-tac-toe: losses, checkpoints and iterations (Sanz & Villanueva 2021, section 5.1.3).

As in the thesis, a player moves second against minimax, which cannot lose, and draws are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import jax
import jax.numpy as jnp
import numpy as np

from tabia.evaluation import Record
from tabia.games import make
from tabia.games.game import Game
from tabia.games.session import Session
from tabia.players import PerfectPlayer
from tabia.studies.catalog.tictactoe_mcts import their_uct
from tabia.studies.estimates import Estimate, average, exact, percentage, spanning
from tabia.studies.matches import MakePlayer, MatchPart, Tally, spec, trained
from tabia.studies.part import Measurement, Outcome, Part, Place, part_seed
from tabia.studies.parts.pictures import board_pictures, evaluate
from tabia.studies.plots import PERCENT, Curve, Figure, SeriesCurve
from tabia.studies.study import Scale, Source, Study
from tabia.studies.trainings import TINY, Lines, TrainingPart
from tabia.studies.verdicts import Published, ordering, published_count, trend

RECIPE, GAMES_PER_ITERATION = "sanz-villanueva-tictactoe", 50
BY_GAMES = {
    0: 22,
    100: 68,
    200: 100,
    300: 97,
    400: 92,
    500: 100,
    600: 100,
    700: 100,
    800: 92,
    900: 94,
    1000: 100,
}
BY_ITERATIONS = {1: (0, 87), 20: (17, 92), 100: (53, 100), 200: (68, 100)}  # MCTS and AlphaZero
LOSS, VALUE_LOSS = "total loss at the end", "value loss at the end"
HALVES = "total loss at the end, both weighted by one half"
MINUTES = "minutes of training"
LAST = 5  # iterations that make up the end
PERFECT = "perfect:fastest=false"  # plays as minimax to the end of the game does
SEARCH = "rule=puct,c=1,winning_moves_first=false"  # as the run searches, without noise


@dataclass(frozen=True, kw_only=True)
class TrainingScale(Scale):
    """Sizes of the study."""

    games: int  # per match and seed
    tiny: bool = False
    by_games: tuple[int, ...] = tuple(BY_GAMES)
    by_iterations: tuple[int, ...] = tuple(BY_ITERATIONS)


SCALES = (
    TrainingScale(
        name="tiny",
        about="two iterations, 4 games per match",
        games=4,
        tiny=True,
        by_games=(100,),
        by_iterations=(),
    ),
    TrainingScale(
        name="quick",
        about="100 games per match and seed",
        games=100,
        seeds=2,
        values=True,
        trends=True,
    ),
    TrainingScale(
        name="full",
        about="500 games per match and seed",
        games=500,
        seeds=5,
        values=True,
        trends=True,
    ),
)


def _after(games: int) -> str:
    return f"after {games} games: draws"


def _count(iterations: int) -> str:
    return f"{iterations} iteration{'' if iterations == 1 else 's'}"


def _mcts(iterations: int) -> str:
    return f"MCTS, {_count(iterations)}: draws"


def _az(iterations: int) -> str:
    return f"AlphaZero, {_count(iterations)}: draws"


def measured(lines: Lines) -> tuple[Estimate, ...]:
    """The losses at the end, and the minutes of the run."""
    return *end_losses(lines), exact(MINUTES, lines[-1]["seconds"] / 60, "minutes")


def end_losses(lines: Lines) -> tuple[Estimate, ...]:
    """The losses of the last iterations; the policy loss is the cross-entropy, as in the thesis."""
    last = [line for line in lines if "loss_policy" in line][-LAST:]
    last = last * 2 if len(last) == 1 else last
    totals = [line["loss_policy"] + line["target_entropy"] + line["loss_value"] for line in last]
    values = [line["loss_value"] for line in last]
    return average(LOSS, totals, "loss"), average(VALUE_LOSS, values, "squared error")


def _halves(run: str, repeat: int) -> Measurement:
    """The total as the authors' published code computes it: half of each loss, and a penalty, which is left out."""

    def measure(place: Place) -> Outcome:
        total = next(one for one in place.outcome_of(run).estimates if one.key == LOSS)
        return Outcome((Estimate(HALVES, total.value / 2, total.low / 2, total.high / 2, total.unit),))

    return Measurement(name=f"halves-{repeat}", keys=(HALVES,), measure=measure, seed=repeat, needs=(run,), cost=0.1)


BEST = "probability of the best moves"
BOARDS = {
    "the empty board": "",
    "X wins with the center": "a3 b3",
    "X wins at the bottom right": "a3 b3 b2 c3",
    "O wins at the bottom left": "a3 b2 b3 c3 a2",
    "O wins at the bottom left, again": "b3 a3 c3 a2 b2",
    "O saves the game at the bottom left": "a3 b2 c3 b3 b1 c1 a2",
    "O must take a corner": "b2",
}
"""Positions of the kinds that figure 5.3 shows, by moves; its own are only drawn."""


def best_share(policies: np.ndarray, best: np.ndarray) -> Estimate:
    """The probability of the best moves, the mean over the boards; they are chosen, so it varies by run only."""
    return exact(BEST, 100 * float(np.where(best, policies, 0.0).sum(axis=1).mean()), "%")


def _boards(run: str, name: str, repeat: int) -> Measurement:
    """The network's view of hand-made boards, and the probability that it gives to moves that keep the value."""

    def measure(place: Place) -> Outcome:
        game = make("tictactoe")
        boards = {caption: Session.from_moves(game, moves) for caption, moves in BOARDS.items()}
        player = trained(run, player="network")(game, place)
        policies, _ = evaluate(player, boards)
        states = jax.tree.map(lambda *leaves: jnp.stack(leaves), *(one.state for one in boards.values()))
        best = PerfectPlayer(game).oracle.truth(states).best
        kept = best_share(policies[1:], best[1:])  # any move keeps the value of the empty board
        return Outcome((kept,), pictures=board_pictures(player, boards))

    return Measurement(name=f"{name}-{repeat}", keys=(BEST,), measure=measure, seed=repeat, needs=(run,))


def match(
    scale: TrainingScale,
    seed: int,
    repeat: int,
    *,
    name: str,
    key: str,
    player: MakePlayer,
    needs: tuple[str, ...] = (),
) -> MatchPart:
    """A match against perfect play, in which draws as second player count."""

    def measure(game: Game, records: Sequence[Record], names: Sequence[str]) -> Outcome:
        tally = Tally(records, names[0], 1)
        return Outcome((percentage(key, tally.draws, tally.games),))

    return MatchPart(
        name=f"{name}-{repeat}",
        keys=(key,),
        game="tictactoe",
        players=(player, spec(PERFECT)),
        games=2 * scale.games,
        measure=measure,
        match_seed=part_seed(seed, repeat, name),
        seed=repeat,
        needs=needs,
    )


def _parts(scale: TrainingScale, seed: int) -> Sequence[Part]:
    found: list[Part] = []
    for repeat in range(scale.seeds):
        run = f"train-{repeat}"
        found.append(
            TrainingPart(
                name=run,
                recipe=RECIPE,
                run_seed=part_seed(seed, repeat, "train"),
                changes=TINY if scale.tiny else (),
                keys=(LOSS, VALUE_LOSS, MINUTES),
                measure=measured,
                seed=repeat,
                cost=3.0,
            )
        )
        found += [_halves(run, repeat), _boards(run, "boards", repeat)]
        for games in scale.by_games:
            step = str(1 if scale.tiny else games // GAMES_PER_ITERATION)
            player = trained(run, f"simulations={4 if scale.tiny else 100},{SEARCH}", step=step)
            found.append(
                match(scale, seed, repeat, name=f"after-{games}", key=_after(games), player=player, needs=(run,))
            )
        for n in scale.by_iterations:
            player = trained(run, f"simulations={n},{SEARCH}")
            found.append(match(scale, seed, repeat, name=f"az-{n}", key=_az(n), player=player, needs=(run,)))
            uct = spec(f"mcts:simulations={n},{their_uct(sqrt(2.0))}")
            found.append(match(scale, seed, repeat, name=f"mcts-{n}", key=_mcts(n), player=uct))
    return found


STUDY = Study(
    name="tictactoe-training",
    version=4,
    question="How fast does AlphaZero learn tic-tac-toe, and how much better than MCTS does it play?",
    source=Source("Sanz & Villanueva 2021", "section 5.1.3"),
    scales=SCALES,
    parts=_parts,
    combine=spanning,
    published=(
        Published(HALVES, 0.36, "section 5.1.3"),
        Published(VALUE_LOSS, 0.05, "section 5.1.3", 0.0, 0.1),  # "below 0.1"
        Published(MINUTES, 3 + 20 / 60, "section 5.1.3, time"),  # "about 3:20 minutes"
        *(published_count(_after(games), count, 100, "figure 5.4a") for games, count in BY_GAMES.items()),
        *(published_count(_mcts(n), counts[0], 100, "figure 5.4b") for n, counts in BY_ITERATIONS.items()),
        *(published_count(_az(n), counts[1], 100, "figure 5.4b") for n, counts in BY_ITERATIONS.items()),
    ),
    claims=(
        trend("Draws rise over training", "figure 5.4a", keys=[_after(games) for games in BY_GAMES]),
        *(
            ordering(f"With {_count(n)}, AlphaZero draws more than MCTS", "figure 5.4b", higher=_az(n), lower=_mcts(n))
            for n in BY_ITERATIONS
        ),
    ),
    figures=(
        Figure(
            name="losses",
            title="Losses (figure 5.2)",
            x="games of self-play",
            y="policy: KL divergence, nats; value: squared error",
            series=tuple(SeriesCurve(f"{kind} loss", f"train-0/loss_{kind}") for kind in ("policy", "value")),
        ),
        Figure(
            name="loss",
            title="Losses at the end of training",
            x="",
            y="loss",
            curves=(Curve("loss", (("sum", LOSS), ("half of the sum", HALVES), ("value", VALUE_LOSS))),),
            joined=False,
        ),
        Figure(
            name="minutes",
            title="Time of training",
            x="",
            y="minutes",
            curves=(Curve("training", (("1,000 games", MINUTES),)),),
            joined=False,
        ),
        Figure(
            name="training",
            title="Draws against minimax, moving second, 100 iterations (figure 5.4a)",
            x="games of self-play",
            y="draws, % of games",
            curves=(Curve("AlphaZero", tuple((games, _after(games)) for games in BY_GAMES)),),
            y_range=PERCENT,
        ),
        Figure(
            name="iterations",
            title="Draws against minimax, moving second (figure 5.4b)",
            x="iterations per move",
            y="draws, % of games",
            curves=(
                Curve("AlphaZero", tuple((n, _az(n)) for n in BY_ITERATIONS)),
                Curve("MCTS", tuple((n, _mcts(n)) for n in BY_ITERATIONS)),
            ),
            log_x=True,
            y_range=PERCENT,
        ),
    ),
    notes=(
        "Published counts are those of the authors' published code. The intervals of several runs span those of each. "
        "The authors' code weights both losses by one half, so the published total is compared with half of the sum of "
        "ours, which leaves out the penalty on weights. Losses are those of the last of five epochs, as Keras reports "
        "them. Minutes compare machines and programs, not algorithms.",
        "The thesis measures one run. Runs differ: after 200 games, the five of this study draw 77% to 97%. In five "
        "earlier runs, games continued from one update to the next, so that the first update saw no game of nine "
        "moves and about 950 games ended in all. Their value loss at the end was 0.129 (0.089 to 0.192), which "
        "differed; with 50 whole games per update it holds.",
    ),
)
