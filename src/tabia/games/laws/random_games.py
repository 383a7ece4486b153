"""Plays a batch of random games and records what the laws check.

Each ply is one compiled call over all games. Besides the move itself it tries the same move again, the move with
another key, an illegal action, and the transformed move on the board under every symmetry. Axis letters as in
`trials.py`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.games.fingerprint import hash_words
from tabia.games.game import Game, State, Symmetry
from tabia.games.laws.trials import Kept, Look, Ply, Trials

_BUDGET, _LONGEST = 20_000, 5_000  # positions of one check; plies of one game
_SHORT = 150  # moves; for shorter games compilation takes most of the time
_KEPT, _SHOWN = 4, 24  # games whose states are kept, and about how many plies of them


class Draw(NamedTuple):
    """The random input of a ply."""

    used: Array  # the key the step is given
    other: Array  # another key, which must not matter without chance
    luck: Array  # float32[A]: the legal action with the highest number is played, the highest illegal one tried


class Symmetries(NamedTuple):
    """All symmetries as arrays."""

    cells: Array  # int32[S, H * W]
    actions: Array  # int32[S, A]


def play(game: Game, *, seed: int, games: int, symmetries: tuple[Symmetry, ...]) -> Trials:
    """Play random games to their ends; fewer of them if they may be long."""
    games = max(1, min(games, _BUDGET // game.max_moves))
    dice = np.random.default_rng(seed)
    keys, used, other = _split(jax.vmap(jax.random.key)(seed + jnp.arange(games)))
    state, turned, *differ = _jit(game, jax.vmap(lambda *keys: _start(game, len(symmetries), *keys)))(used, other)
    ply, plies, kept = compile_ply(game, symmetries), [], {}
    for number in range(min(game.max_moves, _LONGEST) + 1):  # one more than allowed, to act after the end
        keys, used, other = _split(keys)
        draw = Draw(used, other, jax.device_put(dice.random((games, game.num_actions), np.float32)))
        record, whole, state, turned = ply(draw, state, turned)
        plies.append(record)
        all_over = bool(np.asarray(record.over).all())
        if number % max(1, game.max_moves // _SHOWN) == 0 or all_over:
            kept[number] = whole
        if all_over:
            break
    record = jax.tree.map(lambda *leaves: np.stack([np.asarray(leaf) for leaf in leaves]), *plies)
    return Trials(game, seed, record, kept, (bool(differ[0].any()), bool(differ[1].any())))


def compile_ply(game: Game, symmetries: tuple[Symmetry, ...]) -> Callable[..., Any]:
    """One ply of all games: (draw [G], states [G], turned states [G, S]) -> record, states kept, next states."""
    cells = np.stack([turn.cells for turn in symmetries])
    actions = np.stack([turn.actions for turn in symmetries])
    turns = Symmetries(*jax.device_put((cells.astype(np.int32), actions.astype(np.int32))))

    def ply(draw: Draw, state: State, turned: State) -> tuple[Ply, Kept, State, State]:
        record, whole, turned = jax.vmap(functools.partial(_ply, game, turns))(draw, state, turned)
        return record, jax.tree.map(lambda leaf: leaf[:_KEPT], whole), whole.following, turned

    return _jit(game, ply)


@jax.jit
def _split(keys: Array) -> tuple[Array, Array, Array]:
    """Each game's next key, the key for its step, and another one."""
    pairs = jax.vmap(jax.random.split)(keys)
    return pairs[:, 0], pairs[:, 1], jax.vmap(lambda key: jax.random.fold_in(key, 2))(pairs[:, 1])


def _jit(game: Game, function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile without optimization for short games."""
    return jax.jit(
        function, compiler_options={"xla_backend_optimization_level": 0} if game.max_moves <= _SHORT else None
    )


def look(game: Game, state: State) -> Look:
    """Everything the game says about a state."""
    return Look(
        legal=game.legal(state),
        mover=game.mover(state),
        over=game.over(state),
        scores=game.scores(state),
        observation=game.observe(state),
        position=game.position(state),
    )


def _start(game: Game, turns: int, used: Array, other: Array) -> tuple[State, State, Array, Array]:
    """A start, alone and `turns` times, and whether the starts from the same key and from another key differ."""
    starts = jax.vmap(game.init)(jnp.stack([used, used, other]))
    state, again, otherwise = (_row(starts, i) for i in range(3))
    turned = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (turns, *leaf.shape)), state)
    return state, turned, ~same(state, again), ~same(state, otherwise)


def _ply(game: Game, turns: Symmetries, draw: Draw, state: State, turned: State) -> tuple[Ply, Kept, State]:
    looks = jax.vmap(lambda s: look(game, s))(_join(state, 1, turned))
    now, seen_turned = _row(looks, 0), jax.tree.map(lambda leaf: leaf[1:], looks)
    action = jnp.argmax(jnp.where(now.legal, draw.luck, -1.0)).astype(jnp.int32)
    tried = jnp.argmax(jnp.where(now.legal, -1.0, draw.luck)).astype(jnp.int32)

    played = jnp.concatenate([jnp.stack([action, action, action, tried]), turns.actions[:, action]])
    keys = jnp.stack([draw.used, draw.used, draw.other, *[draw.used] * (1 + len(turns.actions))])
    after = jax.vmap(game.step)(_join(state, 4, turned), played, keys)
    following, repeated, otherwise, refused = (_row(after, i) for i in range(4))

    views = jax.vmap(lambda seat: game.observe(state, seat))(jnp.arange(game.num_players, dtype=jnp.int32))
    record = Ply(
        action=action,
        mover=now.mover,
        over=now.over,
        scores=now.scores,
        choices=now.legal.sum(dtype=jnp.int32),
        position=hash_words(now.position),
        face=hash_words(_face(now)),
        unchanged=same(state, following),
        tried=jnp.where(now.legal.all(), -1, tried),
        illegal_changed=~now.legal.all() & ~same(state, refused),
        repeat_differs=~same(following, repeated),
        key_differs=~same(following, otherwise),
        observation_finite=jnp.isfinite(views).all() & jnp.isfinite(now.observation).all(),
        seat_differs=~_near(now.observation, views[now.mover]),
        heuristic=game.heuristic(state) if game.has_heuristic else jnp.zeros(game.num_players),
        turned_differs=jax.vmap(_turned_differs, (None, 0, 0))(now, seen_turned, turns),
    )
    return record, Kept(state, now, draw.used, following), jax.tree.map(lambda leaf: leaf[4:], after)


def _turned_differs(now: Look, seen: Look, arrays: Symmetries) -> Array:
    """bool[5]: the ASPECTS in which the game under a symmetry differs from the transformed game."""
    turn = Symmetry(*arrays)  # type: ignore[arg-type]
    agrees = (
        _near(turn.observation(now.observation), seen.observation),
        (turn.policy(now.legal) == seen.legal).all(),
        now.mover == seen.mover,
        now.over == seen.over,
        _near(now.scores, seen.scores),
    )
    return ~jnp.stack(agrees)


def same(one: State, other: State) -> Array:
    """Whether two states agree in every leaf."""
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return jnp.stack([_same_leaf(jnp.asarray(a), jnp.asarray(b)) for a, b in pairs]).all()


def _same_leaf(one: Array, other: Array) -> Array:
    equal = one == other
    if jnp.issubdtype(one.dtype, jnp.inexact):
        equal = equal | (jnp.isnan(one) & jnp.isnan(other))
    return equal.all()


def _near(one: Array, other: Array) -> Array:
    return jnp.isclose(one, other, rtol=1e-5, atol=1e-6, equal_nan=True).all()


def _row(tree: Any, index: int) -> Any:
    return jax.tree.map(lambda leaf: leaf[index], tree)


def _join(state: State, copies: int, turned: State) -> State:
    """`copies` of the state, then the turned states, in one leading axis."""
    return jax.tree.map(lambda leaf, more: jnp.concatenate([*[leaf[None]] * copies, more]), state, turned)


def _face(now: Look) -> Array:
    scores = jax.lax.bitcast_convert_type(now.scores.astype(jnp.float32), jnp.uint32)
    return jnp.concatenate([now.legal.astype(jnp.uint32), jnp.stack([now.mover, now.over]).astype(jnp.uint32), scores])
