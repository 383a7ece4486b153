"""Lines of moves from clients, and the names under which the worker knows players."""

from __future__ import annotations

from tabia.core.errors import TabiaError
from tabia.games.errors import RulesError
from tabia.games.session import Session
from tabia.server.catalog.catalog import Catalog
from tabia.server.errors import Refused

LONGEST_MOVES = 8000
"""The most characters of a line of moves."""


def player_name(game: str, spec: str) -> str:
    """A player of a game, as the worker names it; a tab is in no id."""
    return f"{game}\t{spec}"


def line(catalog: Catalog, game_id: str, moves: str, *, seed: int = 0) -> Session:
    """The game that a client's text of moves records."""
    game = catalog.game(game_id).game
    if len(moves) > LONGEST_MOVES or not moves.isprintable():
        raise Refused(f"Moves are at most {LONGEST_MOVES:,} printable characters.")
    try:
        return Session.from_moves(game, moves, seed=seed)
    except RulesError:
        raise
    except TabiaError as error:
        raise Refused(str(error)) from None
