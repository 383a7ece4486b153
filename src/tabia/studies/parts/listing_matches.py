"""Parts that play Mini AlphaGo by the authors' published code, to find out where its results come from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import jax
import numpy as np

from tabia.games import make
from tabia.games.game import Game
from tabia.studies.estimates import Estimate, percentage
from tabia.studies.matches import trained
from tabia.studies.part import Measurement, Outcome, Place, part_seed
from tabia.studies.parts.listing import Side, decisive_moves, play_match, tabulate
from tabia.training.supervised import solved

LABELS = "authors' labels that are best moves"
SEATS = ("", ", first", ", second")
"""What the label of a row ends in: nothing for all games, or the seat of Mini AlphaGo."""
Favorites = Callable[[Game, int, Place], np.ndarray]


def code_label(label: str) -> str:
    """A row by the authors' code."""
    return f"code, {label}"


def code_labels_label(label: str) -> str:
    """A row by the authors' code, with the moves of their labels instead of a network's."""
    return f"code and labels, {label}"


def wins_key(label: str) -> str:
    """How often Mini AlphaGo wins."""
    return f"{label}: wins"


def draws_key(label: str) -> str:
    """How often neither wins."""
    return f"{label}: draws"


def wins_and_draws(label: str, first: np.ndarray, second: np.ndarray) -> tuple[Estimate, ...]:
    """Wins and draws over all games and by seat, from a player's scores [G] moving first and moving second."""
    found: list[Estimate] = []
    for seat, scores in zip(SEATS, (np.concatenate((first, second)), first, second), strict=True):
        found.append(percentage(wins_key(label + seat), int((scores > 0).sum()), len(scores)))
        found.append(percentage(draws_key(label + seat), int((scores == 0).sum()), len(scores)))
    return tuple(found)


@dataclass(frozen=True)
class CodeMatch:
    """A match by the authors' code, half of its games in each seat; UCT has the constant c1 too, or sqrt 2 if it is 0.

    `favorites` gives the move that the second term favors in every position, for a repeat.
    """

    game: str
    name: str
    label: str
    games: int
    budget: int
    c1: float
    c2: float
    favorites: Favorites
    needs: Callable[[int], tuple[str, ...]]

    def part(self, seed: int, repeat: int) -> Measurement:
        """The match as a part of a study."""
        keys = tuple(key(self.label + seat) for seat in SEATS for key in (wins_key, draws_key))

        def measure(place: Place) -> Outcome:
            game, first, half = make(self.game), part_seed(seed, repeat, self.name), self.games // 2
            mini, uct = Side(self.c1, self.c2, self.favorites(game, repeat, place)), Side(self.c1 or sqrt(2.0))
            table = tabulate(game)
            moving_first = play_match(table, (mini, uct), half, self.budget, first)
            moving_second = -play_match(table, (uct, mini), half, self.budget, first + 1)
            return Outcome(wins_and_draws(self.label, moving_first, moving_second))

        return Measurement(
            name=f"{self.name}-{repeat}",
            keys=keys,
            measure=measure,
            seed=repeat,
            needs=self.needs(repeat),
            cost=self.budget / 100,
        )


def of_network(game: Game, repeat: int, place: Place) -> np.ndarray:
    """The network's move in every position, in the order of `tabulate`."""
    player = trained(f"cnn-{repeat}", player="network")(game, place)
    return np.asarray(player.choose(solved(game, "first").states, jax.random.key(0)).actions)


def of_labels(game: Game, repeat: int, place: Place) -> np.ndarray:
    """The move that the authors' network learns, in every position: what it would play without errors."""
    return decisive_moves(tabulate(game))


def labels_part(name: str) -> Measurement:
    """How many of the moves that the authors' network learns are best moves."""

    def measure(place: Place) -> Outcome:
        game = make(name)
        found, table = solved(game, "all"), tabulate(game)
        going = np.flatnonzero(~table.over)
        best = found.policy[going, decisive_moves(table)[going]] > 0
        return Outcome((percentage(LABELS, int(best.sum()), len(best), "% of positions"),))

    return Measurement(name="labels", keys=(LABELS,), measure=measure)
