"""Planes: what a network reads of a position, by the setting `network.planes`.

`mover` is the game's own observation: the mover's pieces first, then the next seat's. `colors` has fixed colors, the
first seat's pieces first whoever moves, and says who moves in planes of its own (Sanz & Villanueva 2021, Glimmerfors
2022). `signed` is a single plane (Goldberg & Ishay 2017). Self-play, the learner, players and measurements all use
`Network.observe`, so they cannot disagree. Axis letters: H rows, W columns, C planes, P seats.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import jax.numpy as jnp
from jax import Array

from tabia.games.game import Game, State
from tabia.networks.errors import NetworkError


class Planes(ABC):
    """A way to turn a position into planes."""

    @abstractmethod
    def shape(self, game: Game) -> tuple[int, int, int]:
        """H, W and C of the planes."""

    @abstractmethod
    def names(self, game: Game) -> tuple[str, ...]:
        """What each plane shows."""

    @abstractmethod
    def observe(self, game: Game, state: State) -> Array:
        """float32[H, W, C]"""


class MoverPlanes(Planes):
    """The game's own observation, from the mover's seat."""

    def shape(self, game: Game) -> tuple[int, int, int]:
        return game.observation_shape

    def names(self, game: Game) -> tuple[str, ...]:
        return game.plane_names

    def observe(self, game: Game, state: State) -> Array:
        return game.observe(state)


class ColorPlanes(Planes):
    """The observation of the first seat, whoever moves, and P - 1 planes that are 1 where that seat is to move.

    With two seats this is one plane: 1 if the first seat is to move, 0 if the second is.
    """

    def shape(self, game: Game) -> tuple[int, int, int]:
        height, width, planes = game.observation_shape
        return height, width, planes + game.num_players - 1

    def names(self, game: Game) -> tuple[str, ...]:
        turns = (f"1 if seat {seat + 1} is to move" for seat in range(game.num_players - 1))
        return (*(name.replace("the mover", "seat 1") for name in game.plane_names), *turns)

    def observe(self, game: Game, state: State) -> Array:
        height, width, _ = game.observation_shape
        turn = (jnp.arange(game.num_players - 1) == game.mover(state)).astype(jnp.float32)
        colors = game.observe(state, jnp.int32(0))
        return jnp.concatenate([colors, jnp.broadcast_to(turn[None, None], (height, width, turn.size))], axis=-1)


class SignedPlanes(Planes):
    """One plane, 1 where the mover's observation has its first plane and -1 where it has its second, for two seats."""

    def shape(self, game: Game) -> tuple[int, int, int]:
        height, width, planes = game.observation_shape
        if game.num_players != 2 or planes != 2:
            raise NetworkError(
                f"planes='signed' is for two seats with one kind of piece each; {game.id} has {game.num_players} seats "
                f"and {planes} planes: use planes='mover'."
            )
        return height, width, 1

    def names(self, game: Game) -> tuple[str, ...]:
        own, other = game.plane_names
        return (f"1: {own}, -1: {other}",)

    def observe(self, game: Game, state: State) -> Array:
        planes = game.observe(state)
        return planes[..., :1] - planes[..., 1:]


PLANES: dict[str, Planes] = {"mover": MoverPlanes(), "colors": ColorPlanes(), "signed": SignedPlanes()}
"""By the names of `network.planes`."""
