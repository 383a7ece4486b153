"""The interface of players: what matches, gates, studies, the command line and the server use.

Axis letters: B positions, A actions, P seats.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jax import Array

from tabia.core import devices
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


class Line(NamedTuple):
    """A position and the game that led to it."""

    state: State  # one position
    actions: tuple[int, ...]  # from the start of the game


class Reply(NamedTuple):
    """What a player that follows games does in one of them: it plays an action, or ends the game."""

    action: int | None  # None if the game ends
    end: str = ""  # resigned, forfeited or excluded
    reason: str = ""  # in one line
    report: str = ""  # the position and what was said


@runtime_checkable
class FollowsGames(Protocol):
    """A player that must know the moves of a game, such as an outside engine.

    Callers use `follow` instead of `choose`. Such a player may give up a game, lose it by breaking the protocol, or
    find that its rules differ from the game's.
    """

    def follow(self, lines: Sequence[Line]) -> list[Reply]:
        """One reply per game; none of the games is over."""

    def difference(self, line: Line, seed: int) -> str:
        """How the rules of the player's program differ in a finished game; empty if they agree.

        `seed` is that of the game's own chance.
        """


def choose(player: Player, states: State, key: Array, ply: Array | None = None) -> Choice:
    """The player's choice for positions [B] that the devices in use share; padded if they cannot be split evenly."""
    if devices.count() == 1:
        return player.choose(states, key, ply)
    size = jax.tree.leaves(states)[0].shape[0]
    rows = jnp.arange(devices.padded(size)) % size
    states, ply = jax.tree.map(lambda leaf: devices.split(leaf[rows]), (states, ply))
    with devices.active():
        choice: Choice = jax.tree.map(lambda leaf: leaf[:size], player.choose(states, key, ply))
    return choice
