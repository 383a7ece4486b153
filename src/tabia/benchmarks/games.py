"""Random play of a batch of games in one compiled loop: ours, and beside it pgx's own rules of the same game.

Both sides run the same loop: pick a legal action at random, step, restart the games that ended. After every
step both hold what a learner reads: the legal mask, an observation, the scores and whether the game is over;
pgx keeps these in its state, ours are computed and kept beside it, so that neither side skips work.

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
"""Our games that pgx has too."""
BATCH = 1024
_ROUND = 64  # steps in one compiled call

Loop = Callable[[Any], Any]  # a compiled round of random play: the batch goes in and comes out


@dataclass(frozen=True)
class Effort:
    """How long one side is measured: the median of `repeats` stretches of at least `seconds` each."""

    repeats: int = 9
    seconds: float = 0.5

    def __str__(self) -> str:
        return f"median of {self.repeats} stretches of {self.seconds:g} s a side, the sides taking turns"


THOROUGH, QUICK = Effort(), Effort(repeats=3, seconds=0.1)


@dataclass(frozen=True)
class Row:
    """One game's result, in steps per second over the whole batch."""

    game: str
    ours: float
    pgx: float | None
    ratio: float | None
    batch: int
    device: str

    def fields(self) -> dict[str, Any]:
        return asdict(self)


class _Rules(NamedTuple):
    """One library's rules of a game, for one game; a moment is the state and all that a learner reads of it."""

    start: Callable[[Array], Any]  # key -> moment
    step: Callable[[Any, Array], Any]  # moment, action -> moment
    legal: Callable[[Any], Array]
    over: Callable[[Any], Array]


class _Moment(NamedTuple):
    state: Any
    legal: Array
    observation: Array
    scores: Array
    over: Array


def run(games: list[str] | None = None, *, batch: int = BATCH, effort: Effort = THOROUGH) -> Iterator[Row]:
    """Measure each game (all of ours, unless some are named), yielding a row as soon as it is known."""
    for name in games or ids():
        yield measure(make(name), batch=batch, effort=effort)


def measure(game: Game, *, batch: int = BATCH, effort: Effort = THOROUGH) -> Row:
    """Steps per second of one game, beside pgx where pgx has it."""
    if batch < 1:
        raise GameError(f"A batch of {batch} games cannot be played; take 1 or more.")
    sides = [_ours(game)]
    if game.id in PGX:
        sides += _pgx(PGX[game.id])
    speeds = _speeds([_compiled(rules, batch) for rules in sides], batch, effort)
    ours, theirs = speeds[0], speeds[1] if len(speeds) > 1 else None
    ratio = ours / theirs if theirs else None
    return Row(game.id, ours, theirs, ratio, batch, jax.devices()[0].device_kind)


def _speeds(sides: list[tuple[Loop, Any]], batch: int, effort: Effort) -> list[float]:
    """Medians of stretches taken in turns, so that a noisy minute of the machine hits every side."""
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
    begin = time.perf_counter()
    for _ in range(calls):
        carry = loop(carry)
    jax.block_until_ready(carry)
    return time.perf_counter() - begin


def _compiled(rules: _Rules, batch: int) -> tuple[Loop, Any]:
    """The compiled loop of one side, and its first batch."""
    start = rules.start(jax.random.key(0))
    moments = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (batch, *jnp.shape(leaf))), start)
    seeds = jax.random.bits(jax.random.key(1), (batch,)) | 1  # xorshift must not start at zero

    def one(moment: Any, seed: Array) -> tuple[Any, Array]:
        # Ended games restart before the next move, not after their last: there `over` is an array at hand, while right
        # after the step XLA fuses all that leads to it into every cell (on a CPU, Othello gets about 100 times slower).
        over = rules.over(moment)
        moment = jax.tree.map(lambda begun, going: jnp.where(over, begun, going), start, moment)
        seed = xorshift(seed)
        return rules.step(moment, _pick(rules.legal(moment), seed)), seed

    def loop(carry: Any) -> Any:
        return jax.lax.scan(lambda c, _: (jax.vmap(one)(*c), None), carry, length=_ROUND)[0]

    return jax.jit(loop), (moments, seeds)


def _pick(legal: Array, seed: Array) -> Array:
    """A legal action [A] -> (), each as likely as the others: the one that draws the highest lot."""
    lots = (seed + np.arange(legal.shape[0], dtype=np.uint32) * np.uint32(0x9E3779B9)) * np.uint32(0x85EBCA6B)
    lots = (lots ^ lots >> 15) * np.uint32(0xC2B2AE35)  # the mixing steps of MurmurHash3
    return jnp.argmax(jnp.where(legal, lots | 1, 0)).astype(jnp.int32)


def _ours(game: Game) -> _Rules:
    def moment(state: Any) -> _Moment:
        return _Moment(state, game.legal(state), game.observe(state), game.scores(state), game.over(state))

    return _Rules(
        start=lambda key: moment(game.init(key)),
        step=lambda now, action: moment(game.step(now.state, action)),
        legal=lambda now: now.legal,
        over=lambda now: now.over,
    )


def _pgx(name: str) -> list[_Rules]:
    """The pgx side, or nothing where pgx is not installed."""
    try:
        import pgx
    except ImportError:
        return []
    env = pgx.make(name)
    return [_Rules(env.init, env.step, lambda state: state.legal_action_mask, lambda state: state.terminated)]
