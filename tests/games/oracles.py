"""Random games compared with pgx and OpenSpiel, and positions counted breadth first.

Axis letters: B games, T plies.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest


class Record(NamedTuple):
    """Random games: the position before each action, and the action; finished games repeat their last position."""

    legal: np.ndarray  # bool[B, T, A]
    mover: np.ndarray  # int32[B, T]
    over: np.ndarray  # bool[B, T]
    scores: np.ndarray  # float32[B, T, P]
    observation: np.ndarray  # float32[B, T, H, W, C]
    action: np.ndarray  # int32[B, T]


def random_games(game, count: int, seed: int = 0) -> Record:
    """Whole random games, one ply more than the longest may have."""

    def ply(state, key):
        legal = game.legal(state)
        action = jax.random.categorical(key, jnp.where(legal, 0.0, -jnp.inf)).astype(jnp.int32)
        seen = Record(legal, game.mover(state), game.over(state), game.scores(state), game.observe(state), action)
        return game.step(state, action), seen

    def play(key):
        return jax.lax.scan(ply, game.init(key), jax.random.split(key, game.max_moves + 1))[1]

    record = jax.device_get(jax.jit(jax.vmap(play))(jax.random.split(jax.random.key(seed), count)))
    assert record.over[:, -1].all(), "every game ends within max_moves"
    return record


def assert_pgx_agrees(record: Record, name: str) -> None:
    """Legal moves, mover, end and scores of every position, as pgx has them."""
    oracle = pytest.importorskip("pgx").make(name)

    def ply(state, action):
        over = state.terminated | state.truncated
        stepped = oracle.step(state, action)
        after = jax.tree.map(lambda new, old: jnp.where(over, old, new), stepped, state)
        return after, (state.legal_action_mask & ~over, state.current_player, over, state.rewards)

    def play(key, actions):
        start = oracle.init(key)
        return start.current_player, jax.lax.scan(ply, start, actions)[1]

    keys = jax.random.split(jax.random.key(0), len(record.action))
    with jax.numpy_rank_promotion("allow"):
        first, (legal, player, over, rewards) = jax.device_get(jax.jit(jax.vmap(play))(keys, record.action))
    first = first[:, None]  # pgx draws who begins
    np.testing.assert_array_equal(record.legal, legal)
    np.testing.assert_array_equal(record.over, over)
    np.testing.assert_array_equal(np.where(over, 0, record.mover), np.where(over, 0, (player - first) % 2))
    np.testing.assert_array_equal(record.scores, np.where(first[..., None] == 0, rewards, rewards[..., ::-1]))


def assert_openspiel_agrees(record: Record, name: str) -> None:
    """Legal moves, mover, end and scores of every position, as OpenSpiel has them."""
    oracle = pytest.importorskip("pyspiel").load_game(name)
    for legal, mover, over, scores, actions in zip(
        record.legal, record.mover, record.over, record.scores, record.action, strict=True
    ):
        state = oracle.new_initial_state()
        for ply, action in enumerate(actions.tolist()):
            assert over[ply] == state.is_terminal()
            if over[ply]:
                assert scores[ply].tolist() == state.returns()
                break
            assert np.flatnonzero(legal[ply]).tolist() == state.legal_actions()
            assert mover[ply] == state.current_player()
            assert not scores[ply].any()
            state.apply_action(action)


def count_by_ply(game, plies: int, width: int) -> tuple[list[int], list[int]]:
    """Distinct positions at each ply from 0, and the games that end there; `width` bounds the positions expanded."""
    expand = jax.jit(jax.vmap(lambda s: jax.vmap(lambda a: game.step(s, a))(jnp.arange(game.num_actions))))
    words_of = jax.jit(jax.vmap(jax.vmap(game.position)))
    oracle = jax.jit(jax.vmap(lambda s: (game.legal(s), game.over(s))))
    states = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (width, *leaf.shape)), game.init(jax.random.key(0)))
    paths = np.ones(1, np.int64)  # ways to reach each position
    positions, ended = [1], [0]
    for _ in range(plies):
        legal, _ = (np.asarray(part)[: len(paths)] for part in oracle(states))
        parents, actions = np.nonzero(legal)
        children = expand(states)
        words = np.asarray(words_of(children))[parents, actions]
        packed = np.ascontiguousarray(words).view(np.dtype((np.void, words.shape[1] * words.itemsize))).reshape(-1)
        _, first, same = np.unique(packed, return_index=True, return_inverse=True)
        paths = np.bincount(same, weights=paths[parents]).astype(np.int64)
        positions.append(len(first))
        if len(first) > width:  # only the last ply may be wider: it is counted, not expanded
            break
        rows, columns = (np.pad(index[first], (0, width - len(first))) for index in (parents, actions))
        states = jax.tree.map(lambda leaf, rows=rows, columns=columns: leaf[rows, columns], children)
        over = np.asarray(oracle(states)[1])[: len(paths)]
        ended.append(int(paths[over].sum()))
    return positions, ended
