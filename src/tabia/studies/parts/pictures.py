"""Boards as a network sees them: its policy on the cells and its values as bars."""

from __future__ import annotations

from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np

from tabia.games.boards.picture import policy_svg
from tabia.games.session import Session
from tabia.players import Player


def board_pictures(player: Player, boards: Mapping[str, Session]) -> dict[str, str]:
    """An SVG for each position, by its caption."""
    policies, values = evaluate(player, boards)
    found = {}
    for row, (caption, session) in enumerate(boards.items()):
        legal = {int(action): float(policies[row, action]) for action in np.flatnonzero(session.legal)}
        found[caption] = policy_svg(session, legal, list(map(float, values[row])), caption=caption)
    return found


def evaluate(player: Player, boards: Mapping[str, Session]) -> tuple[np.ndarray, np.ndarray]:
    """The policies [B, A] and values [B, P] of a network at some positions."""
    states = jax.tree.map(lambda *leaves: jnp.stack(leaves), *(session.state for session in boards.values()))
    choice = player.choose(states, jax.random.key(0))
    assert choice.policy is not None and choice.values is not None
    return np.asarray(choice.policy), np.asarray(choice.values)
