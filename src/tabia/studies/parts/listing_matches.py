"""Parts that play Mini AlphaGo by the authors' published code, to find out where its results come from."""

from __future__ import annotations

from math import sqrt

import jax
import numpy as np

from tabia.games import make
from tabia.games.game import Game
from tabia.studies.estimates import percentage
from tabia.studies.matches import trained
from tabia.studies.part import Measurement, Outcome, Place, part_seed
from tabia.studies.parts.listing import Side, decisive_moves, play_match, tabulate
from tabia.training.supervised import solved

LABELS = "authors' labels that are best moves"


def code_label(label: str) -> str:
    return f"code, {label}"


def code_part(
    game: str, seed: int, repeat: int, *, name: str, label: str, games: int, budget: int, c1: float, c2: float
) -> Measurement:
    """A match of half the games in each seat. UCT has the same constant, or sqrt 2 if it is 0."""
    keys = tuple(f"{code_label(label)}{seat}: wins" for seat in ("", ", first", ", second"))

    def measure(place: Place) -> Outcome:
        table = tabulate(make(game))
        mini = Side(c1, c2, favorites(make(game), f"cnn-{repeat}", place))
        uct, first = Side(c1 or sqrt(2.0)), part_seed(seed, repeat, name)
        half = games // 2
        wins = [
            int((play_match(table, (mini, uct), half, budget, first) > 0).sum()),
            int((play_match(table, (uct, mini), half, budget, first + 1) < 0).sum()),
        ]
        counts = ((sum(wins), 2 * half), (wins[0], half), (wins[1], half))
        return Outcome(tuple(percentage(key, *count) for key, count in zip(keys, counts, strict=True)))

    return Measurement(
        name=f"{name}-{repeat}",
        keys=keys,
        measure=measure,
        seed=repeat,
        needs=(f"cnn-{repeat}",),
        cost=budget / 100,
    )


def favorites(game: Game, part: str, place: Place) -> np.ndarray:
    """The network's move in every position, in the order of `tabulate`."""
    player = trained(part, player="network")(game, place)
    return np.asarray(player.choose(solved(game, "first").states, jax.random.key(0)).actions)


def labels_part(name: str) -> Measurement:
    """How many of the moves that the authors' network learns are best moves."""

    def measure(place: Place) -> Outcome:
        game = make(name)
        found, table = solved(game, "all"), tabulate(game)
        going = np.flatnonzero(~table.over)
        best = found.policy[going, decisive_moves(table)[going]] > 0
        return Outcome((percentage(LABELS, int(best.sum()), len(best), "% of positions"),))

    return Measurement(name="labels", keys=(LABELS,), measure=measure)
