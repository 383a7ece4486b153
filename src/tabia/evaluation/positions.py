"""Positions to test a player on: drawn at random and spread over the plies, all of a small game, or from a file.

Axis letters: N positions, T plies, B random games.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.core import batching, files
from tabia.core.errors import TabiaError
from tabia.core.text import quote
from tabia.evaluation.rounds import game_seed
from tabia.games.errors import GameError, RulesError
from tabia.games.game import Game, State
from tabia.games.session import Session
from tabia.players.perfect import LIMIT
from tabia.search.evaluators import random_actions
from tabia.solvers.enumeration import positions_by_ply
from tabia.solvers.errors import TooLarge

_LARGEST_FILE = 64 * files.MEGABYTE
_BATCH = 512  # random games per call
_CALLS = 40


@dataclass(frozen=True)
class PositionSet:
    """Unfinished positions and the number of moves that led to each."""

    states: State  # [N, ...]
    plies: np.ndarray  # int[N]
    rejected: tuple[str, ...] = ()  # what is wrong with the lines that lead to no such position

    def __len__(self) -> int:
        return len(self.plies)

    def rows(self, rows: np.ndarray) -> State:
        """The states at these rows."""
        return batching.take(self.states, rows)


def draw(game: Game, count: int, *, plies: tuple[int, int] | None = None, seed: int = 0) -> PositionSet:
    """Draw `count` distinct unfinished positions of random games, evenly spread over plies first to last.

    If a ply has too few positions, the other plies have more; if all have too few, there are fewer.
    """
    first, last = plies or (0, default_last_ply(game))
    if not 0 <= first <= last < game.max_moves:
        raise TabiaError(f"Plies {first} to {last}: {game.id} has positions after 0 to {game.max_moves - 1} moves.")
    pools: list[dict[bytes, State]] = [{} for _ in range(first, last + 1)]
    enough = -(-count // len(pools))
    for call in range(_CALLS):
        _fill(game, pools, first, last, seed=game_seed(seed, call), most=max(enough * 2, 64))
        full = [len(pool) >= enough for pool in pools]
        if sum(map(len, pools)) >= count and (all(full) or call >= _CALLS // 4):
            break
    chosen = _select(pools, count)
    if not chosen:
        raise TabiaError(f"No random game of {game.id} reached plies {first} to {last}.")
    states = jax.tree.map(lambda *leaves: np.stack(leaves), *(state for _, state in chosen))
    return PositionSet(states, np.array([first + place for place, _ in chosen]))


def every(game: Game, *, limit: int = LIMIT) -> PositionSet:
    """Every unfinished position of a small game, each at the first ply where it occurs."""
    if game.chance:
        raise TabiaError(f"{game.id} is a game of chance, so its positions cannot be enumerated.")
    starts = jax.tree.map(lambda leaf: leaf[None], game.init(jax.random.key(0)))
    try:
        by_ply = list(positions_by_ply(game, starts, limit=limit))
    except TooLarge as error:
        raise TabiaError(f"{game.id} is too large to enumerate: {error}") from None
    plies = [np.full(len(jax.tree.leaves(states)[0]), ply) for ply, states in enumerate(by_ply)]
    return PositionSet(jax.tree.map(lambda *leaves: np.concatenate(leaves), *by_ply), np.concatenate(plies))


def with_losable(drawn: PositionSet, losable: np.ndarray, count: int, fraction: float) -> PositionSet:
    """Select `count` positions, this fraction of them losable, evenly over those drawn; fewer if there are too few."""
    risky, safe = np.flatnonzero(losable), np.flatnonzero(~losable)
    whole = min(
        count, *(int(len(rows) / part + 1e-9) for rows, part in ((risky, fraction), (safe, 1 - fraction)) if part > 0)
    )
    if not whole:
        raise TabiaError(f"None of the {len(drawn)} positions can be used for a losable fraction of {fraction:g}.")
    wanted = min(round(whole * fraction), len(risky))
    rows = np.sort(np.concatenate([_spread(risky, wanted), _spread(safe, whole - wanted)]))
    return PositionSet(drawn.rows(rows), drawn.plies[rows], drawn.rejected)


def _spread(rows: np.ndarray, count: int) -> np.ndarray:
    """`count` of the rows, evenly spaced."""
    return rows[np.arange(count) * len(rows) // max(count, 1)]


def default_last_ply(game: Game) -> int:
    """82% of the longest game: 34 in Connect 4, where later positions are nearly decided."""
    return max(0, min(int(game.max_moves * 0.82), game.max_moves - 1))


def load(game: Game, path: Path) -> PositionSet:
    """Read one position per line, as the moves that lead to it; an empty line is the initial position."""
    try:
        lines = files.read_text(path, _LARGEST_FILE).splitlines()
    except OSError as error:
        raise TabiaError(f"{path} cannot be read: {error.strerror or error}.") from None
    return from_lines(game, lines, str(path))


def from_lines(game: Game, lines: Sequence[str], source: str = "text") -> PositionSet:
    """The positions that lines of moves lead to; illegal lines and finished games are rejected, the others count."""
    found, plies, rejected = [], [], []
    for number, line in enumerate(lines, start=1):
        try:
            states = Session.from_moves(game, line).states
        except RulesError:
            raise
        except GameError as error:
            rejected.append(f"{source}, line {number}, {quote(line)}: {error}")
            continue
        if bool(game.over(states[-1])):
            rejected.append(f"{source}, line {number}, {quote(line)}: the game is over there.")
            continue
        found.append(jax.device_get(states[-1]))
        plies.append(len(states) - 1)
    if not found:
        raise TabiaError("\n".join([f"{source} has no unfinished position.", *rejected]))
    return PositionSet(jax.tree.map(lambda *leaves: np.stack(leaves), *found), np.array(plies), tuple(rejected))


def _fill(game: Game, pools: list[dict[bytes, State]], first: int, last: int, *, seed: int, most: int) -> None:
    states, over, words = jax.device_get(_random_games(game, last, jnp.int32(seed)))
    for ply, pool in enumerate(pools, start=first):
        for row in np.flatnonzero(~over[ply]):
            if len(pool) >= most:
                break
            pool.setdefault(words[ply, row].tobytes(), jax.tree.map(lambda leaf, at=(ply, row): leaf[at], states))


def _select(pools: list[dict[bytes, State]], count: int) -> list[tuple[int, State]]:
    """Take positions from the pools in turn until there are enough."""
    left = [list(pool.values()) for pool in pools]
    chosen: list[tuple[int, State]] = []
    for turn in range(max(map(len, left))):
        chosen += [(place, pool[turn]) for place, pool in enumerate(left) if turn < len(pool)]
        if len(chosen) >= count:
            break
    return sorted(chosen[:count], key=lambda pair: pair[0])


@partial(jax.jit, static_argnums=(0, 1))
def _random_games(game: Game, last: int, seed: Array) -> tuple[State, Array, Array]:
    """Positions of random games up to ply `last` [T, B, ...], whether each is over, and words that identify it."""
    root, dice = jax.random.split(jax.random.key(seed))
    keys, states = batching.start(game, jax.random.split(root, _BATCH))

    def move(carry: tuple[Array, State], die: Array) -> tuple[tuple[Array, State], tuple[State, Array, Array]]:
        keys, states = carry
        seen = states, jax.vmap(game.over)(states), jax.vmap(game.position)(states)
        return batching.step(game, keys, states, random_actions(die, jax.vmap(game.legal)(states))), seen

    return jax.lax.scan(move, (keys, states), jax.random.split(dice, last + 1))[1]
