"""Positions of pgx's chess games as FEN: pieces by rank from the top, the side to move, castling, en passant, counters.

    rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1

The text is checked here, because pgx accepts only what is right.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache
from typing import NamedTuple

import jax
import jax.numpy as jnp

from tabia.core.text import quote
from tabia.games.adapters.pgx import stored
from tabia.games.game import Game, State
from tabia.games.protocols.notation import ProtocolError

_FIELDS = re.compile(
    r"(?P<board>\S+) (?P<side>[wb]) (?P<castling>-|K?Q?k?q?) (?P<passant>-|[a-h][36]) "
    r"(?P<idle>\d{1,3}) (?P<move>\d{1,3})",
    re.ASCII,
)
_ROWS = {"pgx:chess": 8, "pgx:gardner_chess": 5}
EXAMPLES = {
    "pgx:chess": (
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
        "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1",
    ),
    "pgx:gardner_chess": ("rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1", "rnbqk/ppppp/P4/1PPPP/RNBQK b - - 0 1"),
}
"""Positions of each game that take every branch of its reader."""


class _Fen(NamedTuple):
    board: str
    side: str
    castling: str
    passant: str
    idle: str
    move: str


@lru_cache(maxsize=16)
def state_from_fen(game: Game, text: str) -> State:
    """The state of a FEN; ProtocolError if it is not one, or if the game has none."""
    if game.id not in _ROWS:
        raise ProtocolError(f"{game.id} has no FEN here; set up positions by moves from the start.")
    fen = _parse(" ".join(text.split()), _ROWS[game.id])
    with jax.numpy_rank_promotion("allow"):
        state = _readers()[game.id](" ".join(fen))
    seat = jnp.int32(fen.side == "b")
    order = {"_player_order": jnp.arange(2, dtype=jnp.int32)} if hasattr(state, "_player_order") else {}
    state = stored(state.replace(current_player=seat, **order))
    start = jax.eval_shape(game.init, jax.random.key(0))
    return jax.tree.map(lambda leaf, like: jnp.asarray(leaf, like.dtype), state, start)


@cache
def _readers() -> dict[str, Callable[[str], State]]:
    from pgx.experimental import chess
    from pgx.gardner_chess import _from_fen

    # The reader compiles these methods for each FEN, because a bound method is a new object each time; attributes stay.
    for name in ("is_terminal", "rewards", "observe"):
        setattr(chess.game, name, getattr(chess.game, name))
    from_fen = chess.from_fen
    return {"pgx:chess": from_fen, "pgx:gardner_chess": _from_fen}


def _parse(text: str, size: int) -> _Fen:
    words = text.split()
    found = _FIELDS.fullmatch(" ".join([*words, *["0", "1"][len(words) - 4 :]]) if len(words) >= 4 else text)
    if found is None or not found["castling"]:
        raise ProtocolError(f"expected a FEN such as `... w KQkq - 0 1`, not {quote(text[:100])}")
    ranks = found["board"].split("/")
    squares = "".join(re.sub(r"[1-8]", lambda empty: "." * int(empty[0]), rank) for rank in ranks)
    is_right = len(ranks) == size and len(squares) == size * size and re.fullmatch(r"[pnbrqkPNBRQK.]+", squares)
    is_even = all(len(re.sub(r"[1-8]", lambda empty: "." * int(empty[0]), rank)) == size for rank in ranks)
    if not is_right or not is_even or squares.count("K") != 1 or squares.count("k") != 1:
        raise ProtocolError(f"expected {size} ranks of {size} squares and one king per side, not {quote(text[:100])}")
    return _Fen(**found.groupdict())
