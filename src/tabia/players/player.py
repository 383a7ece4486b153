"""The interface of players: what matches, gates, studies, the command line and the server use.

Axis letters: B positions, A actions, P seats.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

from jax import Array

from tabia.games.game import Game, State


class Choice(NamedTuple):
    """The actions chosen for a batch of positions, and what the player knows about them."""

    actions: Array  # int32[B]
    policy: Array | None = None  # float32[B, A] the probabilities of the actions
    visits: Array | None = None  # float32[B, A]
    means: Array | None = None  # float32[B, A] the mover's value of each action, in [-1, 1]; NaN if unknown
    values: Array | None = None  # float32[B, P] the value for each seat, in [-1, 1]
    proven: Array | None = None  # float32[B, A] the mover's exact values, as far as a search proved them; NaN if not
    scores: Array | None = None  # int32[B, A] exact scores for the mover, by distance to the end; 0 if illegal
    recommended: Array | None = None  # int32[B] the actions it would play without modifiers


class Player(Protocol):
    """Chooses actions for whole batches of positions of one game; a thousand games advance in one call.

    Finished games get an arbitrary action, which callers ignore. The same key gives the same actions on a CPU. Each
    batch size is compiled separately, so callers use few sizes.
    """

    @property
    def spec(self) -> str:
        """The text that `tabia.players.make` turns back into an equal player, or a name given to it."""

    @property
    def game(self) -> Game: ...

    def choose(self, states: State, key: Array, ply: Array | None = None) -> Choice:
        """Actions for the positions [B]; `ply` [B] is the number of moves played in each game, if known."""


@runtime_checkable
class Sized(Protocol):
    """A player whose memory grows with the batch."""

    def check_batch(self, batch: int) -> None:
        """Raise PlayerError if a batch needs more memory than the limit; the message says what would fit."""
