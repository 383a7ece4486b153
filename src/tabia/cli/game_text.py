"""The text around a game: who plays, what the goal is, who won and why."""

from __future__ import annotations

from collections.abc import Sequence

from rich.markup import escape

from tabia.games import Game, Seats, Session, seats
from tabia.games.drawing import SEAT_COLORS
from tabia.players import ladder


def introduction(game: Game, seated: Seats) -> list[str]:
    """The game and its players, for the first screen."""
    players = enumerate(seated.players)
    who = ["you" if seat == seated.only_person else escape(_with_rating(game, spec)) for seat, spec in players]
    return [escape(game.title), *(f"{seat_name(game, seat)}: {player}" for seat, player in enumerate(who))]


def goals(session: Session, seated: Seats) -> list[str]:
    """The goal of every person and how to get help; printed below the first board, where it stays in view."""
    game = session.game
    goals = {game.goal(seat): seat for seat in seated.people}
    lines = [
        f"{'Goal' if len(goals) == 1 else f'Goal of {seat_name(game, seat)}'}: {escape(goal)}"
        for goal, seat in goals.items()
    ]
    moves = session.legal_moves
    example = f"Type a move, such as {escape(moves[len(moves) // 2])}, or" if moves else "Type"
    return [*lines, f"{example} ? for help."]


def ending(game: Game, scores: Sequence[float], reason: str, only_person: int | None) -> list[str]:
    """Who won and why; for a single person, that person's result."""
    names = [seat_name(game, seat) for seat in range(game.num_players)]
    result = seats.outcome(names, scores) if only_person is None else seats.own_outcome(scores, only_person)
    lines = [f"[bold]{result}[/]{f': {escape(reason)}' if reason else ''}."]
    if len(scores) > 2:
        each = ", ".join(f"{name} {score + 0.0:g}" for name, score in zip(names, scores, strict=True))
        lines.append(f"Scores: {each}.")
    return lines


def seat_name(game: Game, seat: int) -> str:
    """A seat and its piece, in the seat's color."""
    return f"[{SEAT_COLORS[seat % len(SEAT_COLORS)]}]{escape(seats.name(game, seat))}[/]"


def moves_left(session: Session) -> str | None:
    """How many moves the game's limit leaves, if it has one."""
    game, left = session.game, session.game.moves_left(session.state)
    if left is None or session.over:
        return None
    # A nearer limit than that on all moves is one on moves without progress, which a capture may reset.
    what = "Moves left" if left >= game.max_moves - session.ply else "Moves left without progress"
    return f"{what}: {left}, {-(-left // game.num_players)} of them by {seat_name(game, session.mover)}."


def _with_rating(game: Game, spec: str) -> str:
    """A player's spec, with its rating on the game's ladder if it has one."""
    found = ladder.find(game)
    elo = next((rung.elo for rung in found.rungs if rung.spec == spec), None) if found else None
    return spec if elo is None else f"{spec} ({elo:.0f} Elo, with random at 0)"
