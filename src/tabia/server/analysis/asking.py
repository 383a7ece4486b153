"""Players asked for moves and analyses: the only module that calls them.

Moves of several games come from one call, padded to a given size. An analysis is asked for alone, through the same
compiled program as `tabia analyze`, because a larger batch can differ in the last bit and so in a visit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tabia.games.boards.board import on_host
from tabia.games.game import State
from tabia.games.moves import legal_names
from tabia.games.session import Session
from tabia.players import Analysis, Player
from tabia.players.analysis import analyze_batch, analyze_position


def analyze_one(player: Player, state: State, ply: int) -> Analysis:
    """What `tabia analyze` says about a position."""
    return analyze_position(player, state, jax.random.key(0), ply)


def action(session: Session, move: str) -> int:
    """The legal action with this name; unlike the game's own parser it runs no rules."""
    return next(
        number for number, name in legal_names(session.game, session.legal, on_host(session)).items() if name == move
    )


def to_dict(analysis: Analysis) -> dict[str, Any]:
    """An analysis as `tabia analyze --json` prints it."""
    return analysis.to_dict()


def choose_batch(
    player: Player, states: Sequence[State], plies: Sequence[int], *, size: int, seed: int
) -> list[Analysis]:
    """The moves a player makes in positions, asked in one call of `size` rows; the rows left over repeat the first."""
    rows = [*range(len(states)), *[0] * (size - len(states))]
    batch: State = jax.tree.map(lambda *leaves: _stacked([leaves[row] for row in rows]), *states)
    ply = np.array(plies, np.int32)[rows]
    return analyze_batch(player, batch, jax.random.key(seed), ply, count=len(states))


def _stacked(leaves: list[jax.Array]) -> jax.Array:
    """The leaves [B] on the host, where no shape needs a program of its own; random keys stay on the device."""
    if jnp.issubdtype(leaves[0].dtype, jax.dtypes.prng_key):
        return jnp.stack(leaves)
    return jax.device_put(np.stack([np.asarray(leaf) for leaf in leaves]))
