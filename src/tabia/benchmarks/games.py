"""Steps per second of random play in one compiled loop, with our rules and with those of pgx.

Both sides run the same loop: pick a random legal action, step, restart finished games. After every step both hold
what a learner reads: legal actions, observation, scores, and whether the game is over. pgx stores these in its state;
ours are computed and stored next to it, so that neither side skips work.

Axis letters: B games side by side, A actions.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.games import GameError, ids, make
from tabia.games.game import Game
from tabia.search.evaluators import xorshift

PGX = {"tictactoe": "tic_tac_toe", "connect4": "connect_four", "othello": "othello"}
"""Our games that pgx also has, with its names."""
BATCH = 1024
_ROUND = 64  # steps in one compiled call

Loop = Callable[[Any], Any]  # compiled random play: takes a batch and returns it


@dataclass(frozen=True)
class Effort:
    """The duration of a measurement: the median of `repeats` runs of at least `seconds` each."""

    repeats: int = 9
    seconds: float = 0.5

    def __str__(self) -> str:
        return f"median of {self.repeats} runs of {self.seconds:g} s per side, the sides taking turns"


THOROUGH, QUICK = Effort(), Effort(repeats=3, seconds=0.1)


@dataclass(frozen=True)
class GameSpeed:
    """The result of one game, in steps per second over the whole batch."""

    game: str
    ours: float
    pgx: float | None
    ratio: float | None
    batch: int
    device: str

    def to_dict(self) -> dict[str, Any]:
        """The result as a JSON object."""
        return asdict(self)


class _Rules(NamedTuple):
    """The rules of one library; a snapshot is a state with everything a learner reads."""

    start: Callable[[Array], Any]  # key -> snapshot
    step: Callable[[Any, Array], Any]  # snapshot, action -> snapshot
    legal: Callable[[Any], Array]
    over: Callable[[Any], Array]


class _Snapshot(NamedTuple):
    state: Any
    legal: Array
    observation: Array
    scores: Array
    over: Array


def run(games: list[str] | None = None, *, batch: int = BATCH, effort: Effort = THOROUGH) -> Iterator[GameSpeed]:
    """Measure these games; by default all. Yields a row as soon as it is known."""
    for name in games or ids():
        yield measure(make(name), batch=batch, effort=effort)


def measure(game: Game, *, batch: int = BATCH, effort: Effort = THOROUGH) -> GameSpeed:
    """Measure one game, and the one of pgx if there is one."""
    if batch < 1:
        raise GameError(f"The batch must have at least 1 game, not {batch}.")
    sides = [_ours(game)]
    if game.id in PGX:
        sides += _pgx(PGX[game.id])
    speeds = _speeds([_compiled(rules, batch) for rules in sides], batch, effort)
    ours, theirs = speeds[0], speeds[1] if len(speeds) > 1 else None
    ratio = ours / theirs if theirs else None
    return GameSpeed(game=game.id, ours=ours, pgx=theirs, ratio=ratio, batch=batch, device=jax.devices()[0].device_kind)


def _speeds(sides: list[tuple[Loop, Any]], batch: int, effort: Effort) -> list[float]:
    """Medians of runs that alternate between the sides, so that other load affects all of them."""
    calls = [_calls_needed(loop, carry, effort.seconds) for loop, carry in sides]
    seen: list[list[float]] = [[] for _ in sides]
    for _ in range(effort.repeats):
        for side, (loop, carry) in enumerate(sides):
            seen[side].append(calls[side] * _ROUND * batch / _seconds(loop, carry, calls[side]))
    return [statistics.median(rates) for rates in seen]


def _calls_needed(loop: Loop, carry: Any, seconds: float) -> int:
    _seconds(loop, carry, 1)  # compiles
    calls = 1
    while (took := _seconds(loop, carry, calls)) < seconds / 4:
        calls *= 2
    return max(1, round(calls * seconds / took))


def _seconds(loop: Loop, carry: Any, calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        carry = loop(carry)
    jax.block_until_ready(carry)
    return time.perf_counter() - start


def _compiled(rules: _Rules, batch: int) -> tuple[Loop, Any]:
    """The compiled loop of one side and its first batch."""
    start = rules.start(jax.random.key(0))
    snapshots = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (batch, *jnp.shape(leaf))), start)
    seeds = jax.random.bits(jax.random.key(1), (batch,)) | 1  # xorshift must not start at zero

    def one(snapshot: Any, seed: Array) -> tuple[Any, Array]:
        # Finished games restart before the next move, not after their last. Right after the step, XLA would fuse the
        # computation of `over` into every cell, which makes Othello on a CPU about 100 times slower.
        over = rules.over(snapshot)
        snapshot = jax.tree.map(lambda new, old: jnp.where(over, new, old), start, snapshot)
        seed = xorshift(seed)
        return rules.step(snapshot, _pick(rules.legal(snapshot), seed)), seed

    def loop(carry: Any) -> Any:
        return jax.lax.scan(lambda c, _: (jax.vmap(one)(*c), None), carry, length=_ROUND)[0]

    return jax.jit(loop), (snapshots, seeds)


def _pick(legal: Array, seed: Array) -> Array:
    """A uniformly random legal action [A] -> (): the one with the highest random number."""
    draws = (seed + np.arange(legal.shape[0], dtype=np.uint32) * np.uint32(0x9E3779B9)) * np.uint32(0x85EBCA6B)
    draws = (draws ^ draws >> 15) * np.uint32(0xC2B2AE35)  # the mixing steps of MurmurHash3
    return jnp.argmax(jnp.where(legal, draws | 1, 0)).astype(jnp.int32)


def _ours(game: Game) -> _Rules:
    def snapshot(state: Any) -> _Snapshot:
        return _Snapshot(state, game.legal(state), game.observe(state), game.scores(state), game.over(state))

    return _Rules(
        start=lambda key: snapshot(game.init(key)),
        step=lambda now, action: snapshot(game.step(now.state, action)),
        legal=lambda now: now.legal,
        over=lambda now: now.over,
    )


def _pgx(name: str) -> list[_Rules]:
    """The pgx side; empty if pgx is not installed."""
    try:
        import pgx
    except ImportError:
        return []
    env = pgx.make(name)
    return [_Rules(env.init, env.step, lambda state: state.legal_action_mask, lambda state: state.terminated)]
