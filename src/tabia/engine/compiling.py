"""Compiles what searches will run, before a clock does.

A program that is compiled during a search is lost time: seconds, and much more than a fast game allows.
"""

from __future__ import annotations

from tabia.engine.thinking import OWN, Bounds, Thinking
from tabia.games.game import Game
from tabia.games.protocols import fen
from tabia.games.protocols.notation import Notation
from tabia.games.session import Session
from tabia.players import Player

_STEPS = 2  # the second one continues a tree, as all later ones do


def searches(player: Player, notation: Notation, *bounds: Bounds) -> None:
    """Compile the player's own search, those within these bounds, and the rules of the game."""
    session = Session.start(notation.game)
    for each in (OWN, *bounds):
        thinking = Thinking(player, session, each)
        for _ in range(_STEPS):
            if not thinking.step():
                break
        thought = thinking.thought()
        if not thinking.has_tree:  # it answers within any bounds in the same way
            break
    notation.text(thought.action, session.state)
    session.play(thought.action)


def positions(game: Game) -> None:
    """Compile the reader of positions, and the rules for what it returns."""
    for text in fen.EXAMPLES.get(game.id, ()):
        session = Session.from_state(game, fen.state_from_fen(game, text))
        session.play(int(session.legal.argmax()))
