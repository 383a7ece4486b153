"""The record of random games on which laws are checked.

Axis letters: T plies, G games, S symmetries, A actions, P seats, H x W x C the planes of an observation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import Array

from tabia.games.game import Game, State

ASPECTS = ("observation", "legal", "mover", "over", "scores")
"""What a game under a symmetry must agree on, in the order of `Ply.turned_differs`."""

Recorded = Any  # a JAX array while games are played, a NumPy array in the record


class Look(NamedTuple):
    """Everything the game says about one state."""

    legal: Array  # bool[A]
    mover: Array  # int32
    over: Array  # bool
    scores: Array  # float32[P]
    observation: Array  # float32[H, W, C]
    position: Array  # uint32[K]


class Ply(NamedTuple):
    """One position of every game, its move, and the results of the trials; in the record all [T, G, ...]."""

    action: Recorded  # int32, a legal one where there is one
    mover: Recorded  # int32
    over: Recorded  # bool
    scores: Recorded  # float32[P]
    choices: Recorded  # int32, how many actions are legal
    position: Recorded  # uint32[2], a digest of the position's words
    face: Recorded  # uint32[2], a digest of mover, legal, over and scores
    unchanged: Recorded  # bool, the move changed no leaf
    tried: Recorded  # int32, the illegal action tried, -1 if all are legal
    illegal_changed: Recorded  # bool, it changed some leaf
    repeat_differs: Recorded  # bool, the same move with the same key led elsewhere
    key_differs: Recorded  # bool, the same move with another key led elsewhere
    observation_finite: Recorded  # bool, for every seat
    seat_differs: Recorded  # bool, observe(state) is not observe(state, mover)
    heuristic: Recorded  # float32[P], zeros where the game has none
    turned_differs: Recorded  # bool[S, 5]


class Kept(NamedTuple):
    """Full states of the first games at one ply; leading axis: game."""

    state: State
    look: Look
    key: Array  # the key the step was given
    following: State


@dataclass(frozen=True)
class Trials:
    """The record of random games; game g used the keys of a session with seed `seed + g`."""

    game: Game
    seed: int
    plies: Ply
    kept: dict[int, Kept]
    starts_differ: tuple[bool, bool]  # whether a start differs when made again with the same key, with another key

    @property
    def lengths(self) -> np.ndarray:
        """[G]: the plies before the end, or all plies if the game did not end."""
        over = np.asarray(self.plies.over)
        return np.where(over.any(axis=0), over.argmax(axis=0), len(over))

    @property
    def before_end(self) -> np.ndarray:
        """bool[T, G]: the positions before the end."""
        return np.arange(len(self.plies.over))[:, None] < self.lengths[None, :]

    @property
    def reached(self) -> np.ndarray:
        """bool[T, G]: the positions up to and including the end."""
        return np.arange(len(self.plies.over))[:, None] <= self.lengths[None, :]

    def first(self, wrong: np.ndarray, describe: Callable[[tuple[int, int]], str]) -> str | None:
        """Describe the first place where `wrong` [T, G] holds; None if there is none."""
        if not wrong.any():
            return None
        ply, game = (int(index) for index in np.unravel_index(wrong.argmax(), wrong.shape))
        return f"{describe((ply, game))} {self.place(ply, game)}."

    def states(self, most: int) -> list[tuple[int, int, State]]:
        """Up to `most` (ply, game, state), spread evenly over the games kept."""
        found = [(ply, g) for ply in self.kept for g in range(len(self.kept[ply].look.over)) if ply <= self.lengths[g]]
        chosen = [found[i] for i in np.unique(np.linspace(0, len(found) - 1, most).astype(int))]
        return [(ply, g, jax.tree.map(lambda leaf, g=g: leaf[g], self.kept[ply].state)) for ply, g in chosen]

    def place(self, ply: int, game: int) -> str:
        """How to reach a position again."""
        played = [int(action) for action in self.plies.action[:ply, game]]
        listed = f"actions {played}" if len(played) <= 60 else f"{len(played)} actions ending in {played[-20:]}"
        return (
            f"after {listed} with seed {self.seed + game}" if played else f"at the start with seed {self.seed + game}"
        )
