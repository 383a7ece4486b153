"""The legal moves of Gardner chess, all at once; pgx plays every candidate on a board of its own, which takes longer.

Squares as pgx numbers them, from the mover's side:

     4  9 14 19 24     A board [25] holds 1 to 6 for the mover's pawn, knight, bishop, rook, queen and king, and
     3  8 13 18 23     negative numbers for the other seat. A word has one bit per square.
     2  7 12 17 22
     1  6 11 16 21     Axis letters: M moves from square to square, S squares, K kinds of pieces, A actions.
     0  5 10 15 20
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

State = Any  # pgx's own state
_KINDS, _PAWN, _KING = range(1, 7), 1, 6
_SQUARES = np.arange(25)
_BITS = np.uint32(1) << _SQUARES.astype(np.uint32)


class Tables(NamedTuple):
    """What the board alone decides."""

    origins: np.ndarray  # [M] the squares between which some piece can move
    targets: np.ndarray  # [M]
    between: np.ndarray  # [M] the word of the squares between
    reach: np.ndarray  # [K, M] whether a piece of the mover can go that way
    straight: np.ndarray  # [M] whether a move stays on its file
    rays: np.ndarray  # [S, S] the word of the squares between
    attacks: np.ndarray  # [K, S, S] whether a piece of the other seat can take there
    moves: np.ndarray  # [A] the move of each action
    exists: np.ndarray  # [A] whether there is one
    promotes: np.ndarray  # [A] whether it is an underpromotion


def step(state: State, action: Array) -> State:
    """The state after a legal action, as pgx makes it."""
    from pgx import gardner_chess as rules

    move = rules.Action._from_label(action)
    state = state.replace(_step_count=state._step_count + 1)
    state = rules._apply_move(rules._update_zobrist_hash(state, move), move)
    state = rules._update_history(rules._flip(state))
    state = rules._check_termination(state.replace(legal_action_mask=legal(state._board)))
    return state.replace(terminated=state.terminated | (state._step_count >= rules.MAX_TERMINATION_STEPS))


def legal(board: Array) -> Array:
    """bool[A]: the legal actions of the mover."""
    moves = tables()
    piece, target = board[moves.origins], board[moves.targets]
    occupied = jnp.where(board != 0, _BITS, 0).sum(dtype=jnp.uint32)
    way = jnp.stack([(piece == kind) & moves.reach[kind - 1] for kind in _KINDS]).any(axis=0)
    way &= (target <= 0) & (moves.between & occupied == 0)
    way &= (piece != _PAWN) | jnp.where(moves.straight, target == 0, target < 0)
    attacked = jax.lax.optimization_barrier(_attacked(board, occupied))  # otherwise computed again for every move
    safe = jnp.where(piece == _KING, ~attacked[moves.targets], ~_exposed(board, occupied))
    found = jax.lax.optimization_barrier(way & safe)[moves.moves] & moves.exists
    return found & (~moves.promotes | (jnp.repeat(board, found.shape[0] // 25) == _PAWN))


def _exposed(board: Array, occupied: Array) -> Array:
    """bool[M]: whether a move of another piece than the king leaves the king attacked."""
    moves, king = tables(), jnp.argmax(board == _KING)
    threats = _by_kind(board, jnp.asarray(moves.attacks)[:, :, king])  # [S]
    rays = jnp.asarray(moves.rays)[:, king]
    after = occupied & ~_BITS[moves.origins] | _BITS[moves.targets]
    exposed = jnp.zeros(after.shape, bool)
    for square in _SQUARES:  # one operation per square on all moves, where a reduction would be several times slower
        exposed |= threats[square] & (moves.targets != square) & (rays[square] & after == 0)
    return exposed


def _attacked(board: Array, occupied: Array) -> Array:
    """bool[S]: whether the king would be attacked on each square."""
    moves = tables()
    threats = _by_kind(board[:, None], moves.attacks)  # [S, S]
    without_king = occupied & ~jnp.where(board == _KING, _BITS, 0).sum(dtype=jnp.uint32)
    return (threats & (moves.rays & without_king == 0)).any(axis=0)


def _by_kind(board: Array, attacks: Any) -> Array:
    """The attacks [K, S, ...] of the kind of piece that the other seat has on each square."""
    return jnp.stack([(board == -kind) & attacks[kind - 1] for kind in _KINDS]).any(axis=0)


@cache
def tables() -> Tables:
    """The tables, from those of pgx."""
    from pgx._src import gardner_chess_utils as pgx

    reach, between, planes, to = (np.asarray(a) for a in (pgx.CAN_MOVE, pgx.BETWEEN, pgx.PLANE_MAP, pgx.TO_MAP))
    goes = (reach[1:, :, :, None] == _SQUARES).any(axis=2)  # [K, S, S]
    straight = _SQUARES[:, None] // 5 == _SQUARES // 5
    rays = np.where(between >= 0, _BITS[between], 0).sum(axis=-1, dtype=np.uint32)
    origins, targets = np.nonzero(goes.any(axis=0))
    number = np.full((25, 25), -1)
    number[origins, targets] = np.arange(len(origins))
    flip = _SQUARES // 5 * 5 + 4 - _SQUARES % 5
    takes = goes & ~(straight & (np.arange(6) == _PAWN - 1)[:, None, None])
    squares, plane = np.divmod(np.arange(to.size), to.shape[1])
    landing = to.reshape(-1)
    found = np.where(landing >= 0, number[squares, landing], -1)
    normal = planes[squares, landing] == plane
    promotes = (plane < 9) & (squares % 5 == 3)
    return Tables(
        origins=origins,
        targets=targets,
        between=rays[origins, targets],
        reach=goes[:, origins, targets],
        straight=straight[origins, targets],
        rays=rays,
        attacks=takes[:, flip][:, :, flip],
        moves=np.maximum(found, 0),
        exists=(found >= 0) & (normal | promotes),
        promotes=promotes,
    )
