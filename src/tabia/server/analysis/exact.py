"""What a solver knows about moves, in words: win, draw or loss, and how soon."""

from __future__ import annotations

from typing import Any

from tabia.games.session import Session
from tabia.players import Analysis

PERFECT = "perfect"
_WORDS = {1: "win", 0: "draw", -1: "loss"}
_CHANGES = {
    ("win", "draw"): "A win became a draw",
    ("win", "loss"): "A win became a loss",
    ("draw", "loss"): "A draw became a loss",
}


def outcomes(truth: Analysis) -> dict[str, str]:
    """Win, draw or loss for the mover after each move."""
    known = truth.scores or truth.values or {}
    return {move: _WORDS[(number > 0) - (number < 0)] for move, number in known.items()}


def fields(truth: Analysis) -> dict[str, Any]:
    """The truth about every move, for JSON."""
    return {"scores": truth.scores, "outcome": outcomes(truth)}


def best(truth: Analysis) -> str:
    """The outcome of the best move."""
    found = outcomes(truth).values()
    return next(word for word in ("win", "draw", "loss") if word in found)


def change(truth: Analysis, played: str) -> str | None:
    """What a move gave away, in words; None where it kept the outcome."""
    return _CHANGES.get((best(truth), outcomes(truth).get(played, best(truth))))


def drop(truth: Analysis, played: str) -> int:
    """How many classes a move gave away: 1 from win to draw, 2 from win to loss."""
    order = ("win", "draw", "loss")
    return order.index(outcomes(truth).get(played, best(truth))) - order.index(best(truth))


def sentence(truth: Analysis, session: Session, move: str) -> str:
    """What a best move is worth."""
    word, moves = outcomes(truth)[move], distance(truth, session, move)
    soon = "" if moves is None else f" in {moves} move{'s' if moves != 1 else ''}"
    if word == "draw":
        return "Keeps the draw."
    if word == "win":
        return f"Wins{soon}." if moves == 1 else f"Keeps the win{soon}."
    return f"Every move loses; this one holds out longest{'' if moves is None else f', {moves} moves'}."


def distance(truth: Analysis, session: Session, move: str) -> int | None:
    """The winner's moves until the end, where scores count them: a win with the last possible stone scores 1."""
    if truth.scores is None or not truth.scores.get(move):
        return None
    left = session.game.max_moves - session.ply
    stones = (left + 1) // 2 if truth.scores[move] > 0 else left // 2
    return stones - abs(truth.scores[move]) + 1
