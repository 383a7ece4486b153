"""A whole game analyzed: every position, and the moves that mattered most, with the better move and why.

All numbers are those of `tabia analyze`; values go from -1 to 1, one per seat.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tabia.games.boards import view
from tabia.games.session import Session
from tabia.players import Analysis
from tabia.server.analysis import asking, exact
from tabia.server.play.lines import player_name

if TYPE_CHECKING:
    from tabia.server.web.context import Context

MATTERED = 3
LEAST_LOSS = 0.15
"""Smaller losses are within what a search of this size can tell."""
_AHEAD = 8  # positions asked for before the first is answered
Event = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Turn:
    """A move of the game, what was thought before and after it, and the truth where a solver knows it."""

    ply: int
    seat: int
    played: str
    before: Analysis
    after: Analysis
    truth: Analysis | None = None

    @property
    def loss(self) -> float:
        """What the move cost its seat, from 0 to 2; nothing if the analyst would have played it too."""
        if self.played == (self.before.recommended or self.before.move):
            return 0.0
        return max(_value(self.before, self.seat) - _value(self.after, self.seat), 0.0)

    @property
    def matters(self) -> bool:
        """Whether the move gave away a result or, where no solver knows, cost more than a search's noise."""
        return self.loss >= LEAST_LOSS if self.truth is None else self.rank[0] > 0

    @property
    def rank(self) -> tuple[int, float]:
        """Moves that gave away a result first, then by loss."""
        return (0 if self.truth is None else exact.drop(self.truth, self.played), self.loss)


async def _freely() -> None:
    return


async def review(
    parts: Context, session: Session, spec: str, *, afford: Callable[[], Awaitable[None]] = _freely
) -> AsyncIterator[Event]:
    """The events of a review: every position, the summary, the end; `afford` is awaited before each search."""
    name = player_name(session.game.id, spec)
    found: list[Analysis] = []
    pending: list[asyncio.Future[Analysis]] = []
    plies = session.ply + 1
    try:
        for ply in range(plies):
            while len(pending) < min(_AHEAD, plies - ply):
                await afford()
                pending.append(asyncio.wrap_future(parts.worker.analyze(name, session.at(ply + len(pending)))))
            found.append(await pending.pop(0))
            yield "position", {"ply": ply, "expected": expected(found[-1]), "analysis": asking.to_dict(found[-1])}
    finally:
        for future in pending:
            future.cancel()
    truths = await _truths(parts, session)
    turns = [_turn(session, ply, found, truths) for ply in range(session.ply)]
    yield "summary", {"mattered": [_described(session, turn) for turn in mattered(turns)]}
    yield "end", {}


def mattered(turns: list[Turn], most: int = MATTERED) -> list[Turn]:
    """The turns that cost most, in the order of the game."""
    costly = [turn for turn in turns if turn.matters]
    return sorted(sorted(costly, key=lambda turn: turn.rank, reverse=True)[:most], key=lambda turn: turn.ply)


def expected(found: Analysis) -> list[float] | None:
    """What each seat expects: the search's values, or the final result."""
    if found.final is not None:
        high, low = max(found.final), min(found.final)
        return [0.0 if high == low else 2 * (score - low) / (high - low) - 1 for score in found.final]
    return found.expected


async def _truths(parts: Context, session: Session) -> list[Analysis] | None:
    """The solver's word on every position before a move, where it is quick."""
    if not parts.catalog.game(session.game.id).is_exact or not session.ply:
        return None
    name = player_name(session.game.id, exact.PERFECT)
    asked = [parts.worker.evaluate(name, session.at(ply)) for ply in range(session.ply)]
    return [await asyncio.wrap_future(future) for future in asked]


def _turn(session: Session, ply: int, found: list[Analysis], truths: list[Analysis] | None) -> Turn:
    position = session.positions[ply]
    return Turn(
        ply=ply,
        seat=int(position.mover),
        played=session.game.move_name(session.actions[ply], position.state),
        before=found[ply],
        after=found[ply + 1],
        truth=None if truths is None else truths[ply],
    )


def _value(found: Analysis, seat: int) -> float:
    values = expected(found)
    return 0.0 if values is None else values[seat]


def _described(session: Session, turn: Turn) -> dict[str, Any]:
    before, after = _value(turn.before, turn.seat), _value(turn.after, turn.seat)
    change = None if turn.truth is None else exact.change(turn.truth, turn.played)
    better, line = _better(turn)
    seat = view(session.game).seat_names[turn.seat]
    figures = f"{_percent(before)} before, {_percent(after)} after"
    text = f"{seat} played {turn.played}; {better} was better ({figures})."
    return {
        "ply": turn.ply,
        "seat": turn.seat,
        "played": turn.played,
        "better": better,
        "before": round(before, 4),
        "after": round(after, 4),
        "loss": round(turn.loss, 4),
        "text": text if change is None else f"{change}. {text}",
        "line": line,
        "exact": change,
    }


def _better(turn: Turn) -> tuple[str, list[str]]:
    """The better move and the line that shows why: the analyst's, or the solver's where the analyst errs too."""
    move = turn.before.move or ""
    if turn.truth is not None and (move == turn.played or exact.drop(turn.truth, move)):
        truth = turn.truth.move or ""
        return truth, [truth]
    return move, turn.before.line or [move]


def _percent(value: float) -> str:
    return f"{round(50 * (value + 1))}%"
