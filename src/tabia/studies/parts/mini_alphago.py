"""Mini AlphaGo against UCT: the network, matches by budget and constants, and convergence (Goldberg & Ishay 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from tabia.evaluation import Record
from tabia.evaluation.convergence import Trace, trace
from tabia.evaluation.significance import Z95
from tabia.games import make
from tabia.games.game import Game
from tabia.studies.estimates import Estimate, average, exact, percentage
from tabia.studies.matches import MatchPart, Tally, spec, trained
from tabia.studies.part import Measurement, Outcome, Part, Place, Series, part_seed
from tabia.studies.parts.listing_matches import (
    CodeMatch,
    code_label,
    code_labels_label,
    draws_key,
    labels_part,
    of_labels,
    of_network,
    wins_key,
)
from tabia.studies.study import Scale
from tabia.studies.trainings import TINY, TINY_RECIPE, Lines, TrainingPart
from tabia.training.supervised import solved

ROOT2 = sqrt(2.0)
BUDGETS = {
    25: (68.7, 4.9),
    50: (69.8, 5.6),
    100: (69.5, 8.0),
    300: (72.2, 6.4),
    500: (77.5, 6.0),
    1000: (80.8, 6.8),
    3000: (81.4, 6.5),
    5000: (82.3, 6.1),
}
"""The published percentages of wins and ties by budget. UCT won the rest."""
BY_C1 = {0.0: (94.6, 0.5), 1.0: (69.5, 8.0), 4.0: (64.1, 9.6), 10.0: (66.5, 10.0), 50.0: (64.9, 5.8)}
"""By c1, in units of sqrt 2, with c2 = sqrt 2."""
BY_C2 = {1 / ROOT2: (94.0, 0.9), 1.0: (94.6, 0.5), 4.0: (93.3, 1.1), 10.0: (92.8, 1.3), 50.0: (92.8, 2.7)}
"""By c2, in units of sqrt 2, with c1 = 0."""
NODES, POSITIONS = "nodes of the game tree", "distinct positions"
MINI, UCT = "Mini AlphaGo", "UCT"
ACCURACY, METRIC, RECIPE = "accuracy of the network", "accuracy", "goldberg-ishay-connect3"


@dataclass(frozen=True, kw_only=True)
class MiniScale(Scale):
    """Sizes of the study."""

    games: int  # per row and seed
    budgets: tuple[int, ...] = tuple(BUDGETS)
    c1: tuple[float, ...] = tuple(BY_C1)
    c2: tuple[float, ...] = tuple(BY_C2)
    budget: int = 100  # of table 2
    searches: int = 64  # of the convergence plot
    tiny: bool = False

    @property
    def game(self) -> str:
        """The game that is played."""
        return "tictactoe" if self.tiny else "connect3"


def budget_label(budget: int) -> str:
    """The row of a budget in iterations."""
    return f"{budget} iterations"


def c1_label(c: float) -> str:
    """The row of a c1, in units of sqrt 2."""
    return f"c1 = {c:g} sqrt 2"


def listing_label(c: float) -> str:
    """The row of a c1, by the rule of the listing."""
    return f"as listed, c1 = {c:g} sqrt 2"


def c2_label(c: float) -> str:
    """The row of a c2, in units of sqrt 2, with c1 = 0."""
    return "c1 = 0, c2 = 1" if c == 1 / ROOT2 else f"c1 = 0, c2 = {c:g} sqrt 2"


def code_first(label: str) -> str:
    """The row by the authors' code, moving first."""
    return f"{code_label(label)}, first"


def converged_key(player: str) -> str:
    """The value of the first position for the first player, who wins it, after the last iteration."""
    return f"{player}: value of the root at the end"


def count_nodes(game: Game) -> tuple[int, int]:
    """The nodes of the game tree, one per line of moves, and the distinct positions."""
    nodes = solved(game, "first").nodes
    return int(nodes.sum()), len(nodes)


def _rule(c1: float, c2: float, *, listing: bool = False) -> str:
    """The rule of the text, in every node, or that of the listing, in the final choice only."""
    constants = f"c1={c1:.6g},c2={c2:.6g},final_only={str(listing).lower()}"
    return f"rule=mini-alphago,{constants},rollout_weight=1,untried_first=true,winning_moves_first=false"


def _cnn(scale: MiniScale, seed: int, repeat: int) -> TrainingPart:
    """The policy network, trained on solved positions until it names 90% of the best moves."""
    metric = "agreement" if scale.tiny else METRIC

    def accuracy(lines: Lines) -> tuple[Estimate, ...]:
        return (exact(ACCURACY, 100 * [line[metric] for line in lines if metric in line][-1], "%"),)

    return TrainingPart(
        name=f"cnn-{repeat}",
        recipe=TINY_RECIPE if scale.tiny else RECIPE,
        run_seed=part_seed(seed, repeat, "cnn"),
        changes=TINY if scale.tiny else (),
        curves=(metric,),
        by="iteration",
        keys=(ACCURACY,),
        measure=accuracy,
        seed=repeat,
        cost=5.0,
    )


def _convergence(scale: MiniScale, seed: int, repeat: int) -> Measurement:
    """The root's value for the first player by iteration, averaged over searches of the first position."""
    name, budget = f"convergence-{repeat}", max(scale.budgets, default=scale.budget)
    every = max(budget // 200, 1)
    players = {
        MINI: trained(f"cnn-{repeat}", f"simulations={budget},{_rule(ROOT2, ROOT2)}"),
        UCT: spec(f"mcts:simulations={budget},c={ROOT2:.6g}"),
    }

    def measure(place: Place) -> Outcome:
        game = make(scale.game)
        first = game.init(jax.random.key(0))
        states = jax.tree.map(lambda leaf: jnp.repeat(jnp.asarray(leaf)[None], scale.searches, axis=0), first)
        series, found = {}, []
        for label, made in players.items():
            traced = trace(made(game, place), states, jax.random.key(part_seed(seed, repeat, label)), every=every)
            series[label] = _mean_curve(traced)
            found.append(average(converged_key(label), traced.values[-1, :, 0], "value"))
        return Outcome(tuple(found), series)

    return Measurement(
        name=name,
        keys=tuple(map(converged_key, players)),
        measure=measure,
        seed=repeat,
        needs=(f"cnn-{repeat}",),
        cost=5.0,
    )


def _mean_curve(traced: Trace) -> Series:
    own = traced.values[:, :, 0]
    mean, half = own.mean(axis=1), Z95 * own.std(axis=1, ddof=1) / np.sqrt(own.shape[1])
    rows = (traced.simulations, mean, mean - half, mean + half)
    x, y, low, high = (tuple(map(float, row)) for row in rows)
    return Series(x, y, low, high)


class Row(NamedTuple):
    """A row of a table: one match of Mini AlphaGo against UCT with the same budget."""

    name: str
    label: str
    budget: int
    c1: float
    c2: float


def by_budget(scale: MiniScale) -> list[Row]:
    """Table 1."""
    return [Row(f"budget-{budget}", budget_label(budget), budget, ROOT2, ROOT2) for budget in scale.budgets]


def by_c1(scale: MiniScale) -> list[Row]:
    """The first half of table 2."""
    return [Row(f"c1-{c:g}", c1_label(c), scale.budget, c * ROOT2, ROOT2) for c in scale.c1]


def as_listed(scale: MiniScale) -> list[Row]:
    """The same, by the rule of the listing."""
    return [Row(f"listing-{c:g}", listing_label(c), scale.budget, c * ROOT2, ROOT2) for c in scale.c1]


def by_c2(scale: MiniScale) -> list[Row]:
    """The second half of table 2."""
    return [Row(f"c2-{c:.2g}", c2_label(c), scale.budget, 0.0, c * ROOT2) for c in scale.c2]


def mini_parts(scale: MiniScale, seed: int) -> Sequence[Part]:
    """All parts of the study."""
    found: list[Part] = [_enumeration(scale)]
    for repeat in range(scale.seeds):
        found += [_cnn(scale, seed, repeat), _convergence(scale, seed, repeat)]
        found += [_match(scale, seed, repeat, row) for row in by_budget(scale)]
        for row, listed in zip(by_c1(scale), as_listed(scale), strict=True):
            found += [_match(scale, seed, repeat, row), _match(scale, seed, repeat, listed, listing=True)]
        found += [_match(scale, seed, repeat, row) for row in by_c2(scale)]
        found += _by_code(scale, seed, repeat)
    return found


def _enumeration(scale: MiniScale) -> Measurement:
    def measure(place: Place) -> Outcome:
        nodes, positions = count_nodes(make(scale.game))
        return Outcome((exact(NODES, nodes, "nodes"), exact(POSITIONS, positions, "positions")))

    return Measurement(name="enumeration", keys=(NODES, POSITIONS), measure=measure)


def _match(scale: MiniScale, seed: int, repeat: int, row: Row, *, listing: bool = False) -> MatchPart:
    keys = (wins_key(row.label), draws_key(row.label))

    def measure(game: Game, records: Sequence[Record], names: Sequence[str]) -> Outcome:
        tally = Tally(records, names[0])
        return Outcome((percentage(keys[0], tally.wins, tally.games), percentage(keys[1], tally.draws, tally.games)))

    return MatchPart(
        name=f"{row.name}-{repeat}",
        keys=keys,
        game=scale.game,
        players=(
            trained(f"cnn-{repeat}", f"simulations={row.budget},{_rule(row.c1, row.c2, listing=listing)}"),
            spec(f"mcts:simulations={row.budget},c={row.c1 or ROOT2:.6g}"),
        ),
        games=scale.games,
        measure=measure,
        match_seed=part_seed(seed, repeat, row.name),
        seed=repeat,
        needs=(f"cnn-{repeat}",),
        cost=row.budget / 100,
    )


def _by_code(scale: MiniScale, seed: int, repeat: int) -> list[Part]:
    """The rows of both tables by the authors' published code, and those of table 1 with their labels."""
    rows = [*by_budget(scale), *by_c1(scale), *by_c2(scale)]
    found: list[Part] = [labels_part(scale.game)] if rows and repeat == 0 else []
    for row in rows:
        match = CodeMatch(
            game=scale.game,
            name=f"code-{row.name}",
            label=code_label(row.label),
            games=scale.games,
            budget=row.budget,
            c1=row.c1,
            c2=row.c2,
            favorites=of_network,
            needs=lambda repeat: (f"cnn-{repeat}",),
        )
        found.append(match.part(seed, repeat))
        if row in by_budget(scale):
            label = code_labels_label(row.label)
            labeled = replace(
                match, name=f"labels-{row.name}", label=label, favorites=of_labels, needs=lambda repeat: ()
            )
            found.append(labeled.part(seed, repeat))
    return found
