"""What people read before and after a game: who plays what, what the goal is, who won and why."""

from __future__ import annotations

from collections.abc import Sequence

from rich.markup import escape

from tabia.cli.sitting import Sitting
from tabia.games import Game
from tabia.games.drawing import SEAT_COLORS
from tabia.players import ladder

_PLACES = ("first", "second", "third", "fourth", "fifth", "sixth")


def seats(sitting: Sitting) -> list[str]:
    """The game and who plays it, for the first screen."""
    game = sitting.game
    players = enumerate(sitting.begun.players)
    told = [(seat, "you" if seat == sitting.only_person else escape(_rated(game, spec))) for seat, spec in players]
    return [escape(game.title), *(f"{seat_name(game, seat)}: {who}" for seat, who in told)]


def goals(sitting: Sitting) -> list[str]:
    """What every person has to do and how to get help; below the first board, where it stays in view."""
    game, lines = sitting.game, []
    aims = {game.goal(seat): seat for seat, player in enumerate(sitting.seats) if player is None}
    for goal, seat in aims.items():
        whose = "Goal" if len(aims) == 1 else f"Goal of {seat_name(game, seat)}"
        lines.append(f"{whose}: {escape(goal)}")
    moves = sitting.legal()
    example = f"Type a move, such as {escape(moves[len(moves) // 2])}, or" if moves else "Type"
    return [*lines, f"{example} ? for help."]


def ending(sitting: Sitting) -> list[str]:
    """Who won, who lost and why; for one person that person's result first."""
    game, scores, alone = sitting.game, sitting.scores, sitting.only_person
    reason = game.ending(sitting.state) if sitting.over else "the game was given up"
    result = winner(game, scores) if alone is None else personal(scores, alone)
    told = [f"[bold]{result}[/]{f': {escape(reason)}' if reason else ''}."]
    if len(scores) > 2:
        each = ", ".join(f"{seat_name(game, seat)} {score + 0.0:g}" for seat, score in enumerate(scores))
        told.append(f"Scores: {each}.")
    return told


def personal(scores: Sequence[float], seat: int) -> str:
    """One seat's result.

    >>> personal([3.0, 1.0, 0.0], 1), personal([1.0, -1.0], 1), personal([2.0, -1.0, -1.0], 1)
    ('You came second', 'You lost', 'You lost')
    """
    own = scores[seat]
    above, level = sum(score > own for score in scores), sum(score == own for score in scores) - 1
    if level + 1 == len(scores):
        return "Draw"
    if above == 0:
        return "You share first place" if level else "You won"
    below = len(scores) - 1 - above - level
    if len(scores) == 2 or (level and not below):
        return "You lost"
    return f"You {'share' if level else 'came'} {_PLACES[above]}{' place' if level else ''}"


def winner(game: Game, scores: Sequence[float]) -> str:
    """The result as it looks to everybody."""
    best = [seat for seat, score in enumerate(scores) if score == max(scores)]
    if len(best) == len(scores):
        return "Draw"
    names = " and ".join(seat_name(game, seat) for seat in best)
    return f"{names} {'won' if len(best) == 1 else 'share first place'}"


def seat_name(game: Game, seat: int) -> str:
    """A seat and its piece, in the seat's color."""
    piece = f" ({escape(game.piece(seat))})" if game.piece(seat) else ""
    return f"[{SEAT_COLORS[seat % len(SEAT_COLORS)]}]Seat {seat + 1}{piece}[/]"


def moves_left(sitting: Sitting) -> str | None:
    """How soon a limit ends the game, if it has one."""
    left, seats = sitting.game.moves_left(sitting.state), sitting.game.num_players
    if left is None or sitting.over:
        return None
    return f"Moves left: {left}, {-(-left // seats)} of them by {seat_name(sitting.game, sitting.mover)}."


def _rated(game: Game, spec: str) -> str:
    """A player's spec and, where the game's ladder knows it, its rating."""
    found = ladder.find(game)
    elo = next((rung.elo for rung in found.rungs if rung.spec == spec), None) if found else None
    return spec if elo is None else f"{spec} ({elo:.0f} Elo, where random has 0)"
