"""What the routes of games answer, for the description of the API; tests check every answer against it.

The answers themselves are made by the hub and sent as they are, because checking each would take longer than a move.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict


class Answer(BaseModel):
    """A message of the server."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class LevelAnswer(Answer):
    """An agent that can be chosen."""

    id: str
    name: str
    about: str
    technical: str
    elo: float | None
    error: float | None
    group: str
    default: bool
    ready: bool


class OpeningAnswer(Answer):
    """An opening by its name."""

    name: str
    moves: str


class GameAnswer(Answer):
    """A game of the catalog; `board` has its cells, or only a kind where it is a drawing. One goal per seat."""

    id: str
    name: str
    seats: int
    seat_names: list[str]
    board: dict[str, Any]
    goals: list[str]
    note: str | None
    levels: list[LevelAnswer]
    exact: bool
    openings: list[OpeningAnswer]
    analyst: str
    chance: bool


class CatalogAnswer(Answer):
    """What can be played here."""

    version: str
    games: list[GameAnswer]
    default: str
    mode: Literal["local", "shared"]
    runs_allowed: bool
    sign_up: Literal["open", "invite"] | None


class ClockAnswer(Answer):
    """How much time people have."""

    initial_s: int
    increment_s: int


class ResultAnswer(Answer):
    """How a game ended."""

    scores: list[float]
    winner: int | None
    text: str
    reason: str


class LegalAnswer(Answer):
    """A legal move: the cells it touches in order, and those a click on which means it."""

    action: int
    move: str
    path: list[int]
    targets: list[int]


class PositionAnswer(Answer):
    """A position: pieces on cells, or an SVG picture; `text` is there if the picture shows only text."""

    pieces: list[int] | None = None
    kings: list[int] | None = None
    flipped: list[int] | None = None
    svg: str | None = None
    text: str | None = None
    legal: list[LegalAnswer]
    last: list[int] | None
    line: list[int] | None
    mover: int
    ply: int
    over: bool
    result: ResultAnswer | None


class MoveAnswer(Answer):
    """A move that was made."""

    move: str
    action: int
    seat: int


class SeatAnswer(Answer):
    """Who has a seat; `elo` is the rating of an agent or a person, `error` its uncertainty."""

    kind: Literal["human", "agent", "open"]
    name: str
    agent: str | None
    elo: float | None
    error: float | None
    color: str
    about: str


class ThinkingAnswer(Answer):
    """The search under way."""

    seat: int
    since_ms: int
    limit_ms: int


class CanAnswer(Answer):
    """What the one who asks may do now."""

    undo: bool
    hint: bool
    resign: bool
    draw: bool
    rematch: bool


class JoinAnswer(Answer):
    """The secret link to the open seat."""

    code: str
    path: str


class RatingChangeAnswer(Answer):
    """What a rated game did to a rating."""

    before: int
    after: int
    deviation: int
    change: int


EndedBy = Literal["rules", "resignation", "time", "abandonment", "agreement", "canceled"] | None


class StateAnswer(Answer):
    """A game as the one who asks sees it."""

    id: str
    game: str
    created: str
    seats: list[SeatAnswer]
    moves: list[MoveAnswer]
    position: PositionAnswer
    version: int
    result: ResultAnswer | None
    opening_plies: int
    rated: bool
    visibility: Literal["private", "link"]
    clock: ClockAnswer | None
    running: int | None
    ended_by: EndedBy
    draw_offer: int | None
    you: list[int]
    status: Literal["your move", "their move", "thinking", "waiting", "over"]
    thinking: ThinkingAnswer | None
    clocks: list[int | None] | None
    can: CanAnswer
    presence: list[bool | None]
    away_ms: list[int | None]
    problem: str | None
    rematch: str | None
    rating_change: list[RatingChangeAnswer | None] | None
    waiting: str | None
    join: JoinAnswer | None


class SummarySeatAnswer(Answer):
    """Who had a seat."""

    kind: Literal["human", "agent", "open"]
    agent: str | None
    name: str


class SummaryAnswer(Answer):
    """A game in a list."""

    id: str
    game: str
    created: str
    seats: list[SummarySeatAnswer]
    plies: int
    result: ResultAnswer | None
    rated: bool
    ended_by: EndedBy
    you: list[int]


class ListAnswer(Answer):
    """Games, newest first."""

    games: list[SummaryAnswer]


class InvitationAnswer(Answer):
    """What a secret link leads to."""

    game: str
    by: str
    clock: ClockAnswer | None
    rated: bool
    seat: int


class HintAnswer(Answer):
    """A good move and why."""

    move: str
    action: int
    path: list[int]
    text: str
    line: list[str]


class LineAnswer(Answer):
    """A game and its moves."""

    game: str
    moves: str
