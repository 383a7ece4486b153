"""Players that compute on the CPU, whatever device the rest of the match uses.

Minimax walks through its lines in blocks of the size of a core's cache, one after the other. A GPU gains nothing from
that, and waits for each block to start.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
from jax import Array

from tabia.games.game import Game, State
from tabia.players import Player
from tabia.players.player import Choice
from tabia.studies.matches import MakePlayer


@dataclass(frozen=True)
class OnCpu:
    """A player with its own positions and programs on the CPU; its moves are the same."""

    player: Player

    @property
    def spec(self) -> str:
        return self.player.spec

    @property
    def game(self) -> Game:
        return self.player.game

    def choose(self, states: State, key: Array, ply: Array | None = None) -> Choice:
        cpu = jax.devices("cpu")[0]
        with jax.default_device(cpu):
            return self.player.choose(*jax.device_put((states, key, ply), cpu))


def on_cpu(make: MakePlayer) -> MakePlayer:
    """The same player on the CPU."""
    return lambda game, place: OnCpu(make(game, place))
