"""Anyone who can choose a move: what matches, gates, studies, the command line and the server know of a player.

Axis letters: B positions, A actions, P seats.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

from jax import Array

from tabia.games.game import Game, State


class Choice(NamedTuple):
    """The moves chosen for a batch of positions, and what led to them, as far as the player knows it."""

    actions: Array  # int32[B]
    policy: Array | None = None  # float32[B, A] the odds the move was chosen by, or the player's own policy
    visits: Array | None = None  # float32[B, A]
    means: Array | None = None  # float32[B, A] the mover's value of each action, in [-1, 1]; NaN where nothing is known
    values: Array | None = None  # float32[B, P] what each seat may expect, in [-1, 1]
    scores: Array | None = None  # int32[B, A] exact scores for the mover by distance to the end; 0 where illegal
    recommended: Array | None = None  # int32[B] the moves it would play without modifiers, which may draw others


class Player(Protocol):
    """Chooses moves for whole batches of positions of one game; a thousand games advance in one call.

    Positions that are already over get any action; callers ignore it. The same key gives the same moves on a CPU.
    Every size of batch is compiled anew, so callers keep to few sizes.
    """

    @property
    def spec(self) -> str:
        """The text that `tabia.players.make` turns back into this player."""

    @property
    def game(self) -> Game: ...

    def choose(self, states: State, key: Array, ply: Array | None = None) -> Choice:
        """Moves for the positions [B]; `ply` [B] says how many moves each game has seen, where the caller knows."""


@runtime_checkable
class Sized(Protocol):
    """A player that needs memory in proportion to the batch, and knows how much."""

    def check_batch(self, batch: int) -> None:
        """Refuse a batch that needs more memory than the limit, with a PlayerError that says what would fit."""
