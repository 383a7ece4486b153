"""Positions to judge a player by: drawn at random, as many of every length of game, all there are, or read from a file.

Axis letters: N positions, T plies, G random games.
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

from tabia.core import files
from tabia.core.errors import TabiaError
from tabia.core.text import quote
from tabia.evaluation.openings import begin, game_seed, proceed
from tabia.games.errors import GameError
from tabia.games.game import Game, State
from tabia.games.session import Session
from tabia.players.perfect import LIMIT
from tabia.search.evaluators import random_actions
from tabia.solvers.enumeration import TooLarge, positions_by_ply

_LARGEST = 64 * files.MEGABYTE
_TOGETHER = 512
_CALLS = 40


@dataclass(frozen=True)
class Positions:
    """Positions that are not over, and how many moves led to each."""

    states: State  # [N, ...]
    plies: np.ndarray  # int[N]
    refused: tuple[str, ...] = ()  # what is wrong with lines that lead to none

    def __len__(self) -> int:
        return len(self.plies)

    def part(self, rows: np.ndarray) -> State:
        return jax.tree.map(lambda leaf: leaf[rows], self.states)


def draw(game: Game, count: int, *, plies: tuple[int, int] | None = None, seed: int = 0) -> Positions:
    """`count` distinct positions of random games, evenly spread over the plies given (first and last), none over.

    Where a ply has too few, the others have more; if all have, there are fewer.
    """
    first, last = plies or (0, default_last_ply(game))
    if not 0 <= first <= last < game.max_moves:
        raise TabiaError(f"Plies {first} to {last}: games of {game.id} have positions after 0 to {game.max_moves - 1}.")
    pools: list[dict[bytes, State]] = [{} for _ in range(first, last + 1)]
    enough = -(-count // len(pools))
    for call in range(_CALLS):
        _fill(game, pools, first, last, seed=game_seed(seed, call), most=max(enough * 2, 64))
        full = [len(pool) >= enough for pool in pools]
        if sum(map(len, pools)) >= count and (all(full) or call >= _CALLS // 4):
            break
    chosen = _deal(pools, count)
    if not chosen:
        raise TabiaError(f"No random game of {game.id} came to plies {first} to {last}.")
    states = jax.tree.map(lambda *leaves: np.stack(leaves), *(state for _, state in chosen))
    return Positions(states, np.array([first + place for place, _ in chosen]))


def every(game: Game, *, limit: int = LIMIT) -> Positions:
    """Every position of a small game that is not over, each at the ply where it is first met."""
    if game.chance:
        raise TabiaError(f"{game.id} has chance in it, so its positions cannot be counted out.")
    starts = jax.tree.map(lambda leaf: leaf[None], game.init(jax.random.key(0)))
    try:
        by_ply = list(positions_by_ply(game, starts, limit=limit))
    except TooLarge as error:
        raise TabiaError(f"{game.id} is too large to look at every position: {error}") from None
    plies = [np.full(len(jax.tree.leaves(states)[0]), ply) for ply, states in enumerate(by_ply)]
    return Positions(jax.tree.map(lambda *leaves: np.concatenate(leaves), *by_ply), np.concatenate(plies))


def with_share(asked: Positions, losable: np.ndarray, count: int, share: float) -> Positions:
    """`count` of these positions, a `share` of them losable, spread over the plies as they are; fewer if too few."""
    risky, safe = np.flatnonzero(losable), np.flatnonzero(~losable)
    whole = min(
        count, *(int(len(rows) / part + 1e-9) for rows, part in ((risky, share), (safe, 1 - share)) if part > 0)
    )
    if not whole:
        raise TabiaError(f"None of {len(asked)} positions will do for a share of {share:g} that are losable.")
    wanted = min(round(whole * share), len(risky))
    rows = np.sort(np.concatenate([_spread(risky, wanted), _spread(safe, whole - wanted)]))
    return Positions(asked.part(rows), asked.plies[rows], asked.refused)


def _spread(rows: np.ndarray, count: int) -> np.ndarray:
    """`count` of the rows, at even distances."""
    return rows[np.arange(count) * len(rows) // max(count, 1)]


def default_last_ply(game: Game) -> int:
    """Four fifths of the longest game: 34 in Connect 4, after which hardly anything is left to decide."""
    return max(0, min(int(game.max_moves * 0.82), game.max_moves - 1))


def read(game: Game, path: Path) -> Positions:
    """One position a line, as the moves that lead to it; an empty line is the start."""
    try:
        lines = files.read_text(path, _LARGEST).splitlines()
    except OSError as error:
        raise TabiaError(f"{path} cannot be read: {error.strerror or error}.") from None
    return of_lines(game, lines, str(path))


def of_lines(game: Game, lines: Sequence[str], source: str = "text") -> Positions:
    """The positions that lines of moves lead to; lines that lead to none are refused, the others still count."""
    found, plies, refused = [], [], []
    for number, line in enumerate(lines, start=1):
        try:
            states = Session.from_moves(game, line).states
        except GameError as error:
            refused.append(f"{source}, line {number}, {quote(line)}: {error}")
            continue
        if bool(game.over(states[-1])):
            refused.append(f"{source}, line {number}, {quote(line)}: the game is over there, so no move can be judged.")
            continue
        found.append(jax.device_get(states[-1]))
        plies.append(len(states) - 1)
    if not found:
        raise TabiaError("\n".join([f"{source} holds no position to judge.", *refused]))
    return Positions(jax.tree.map(lambda *leaves: np.stack(leaves), *found), np.array(plies), tuple(refused))


def _fill(game: Game, pools: list[dict[bytes, State]], first: int, last: int, *, seed: int, most: int) -> None:
    states, over, prints = jax.device_get(_random_games(game, last, jnp.int32(seed)))
    for ply, pool in enumerate(pools, start=first):
        for row in np.flatnonzero(~over[ply]):
            if len(pool) >= most:
                break
            pool.setdefault(prints[ply, row].tobytes(), jax.tree.map(lambda leaf, at=(ply, row): leaf[at], states))


def _deal(pools: list[dict[bytes, State]], count: int) -> list[tuple[int, State]]:
    """Positions taken from every pool in turn until there are enough."""
    left = [list(pool.values()) for pool in pools]
    chosen: list[tuple[int, State]] = []
    for turn in range(max(map(len, left))):
        chosen += [(place, pool[turn]) for place, pool in enumerate(left) if turn < len(pool)]
        if len(chosen) >= count:
            break
    return sorted(chosen[:count], key=lambda pair: pair[0])


@partial(jax.jit, static_argnums=(0, 1))
def _random_games(game: Game, last: int, seed: Array) -> tuple[State, Array, Array]:
    """Every position up to ply `last` of random games [T, G, ...], whether it is over, and its words."""
    root, dice = jax.random.split(jax.random.key(seed))
    keys, states = begin(game, jax.random.split(root, _TOGETHER))

    def move(carry: tuple[Array, State], die: Array) -> tuple[tuple[Array, State], tuple[State, Array, Array]]:
        keys, states = carry
        seen = states, jax.vmap(game.over)(states), jax.vmap(game.position)(states)
        return proceed(game, keys, states, random_actions(die, jax.vmap(game.legal)(states))), seen

    return jax.lax.scan(move, (keys, states), jax.random.split(dice, last + 1))[1]
