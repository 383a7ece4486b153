"""What clients may send: strict types, bounded lengths, no unknown fields."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from tabia.server.catalog.agents import SIMULATIONS
from tabia.server.play.lines import LONGEST_MOVES

GameId = Annotated[str, Field(min_length=1, max_length=400)]
AgentId = Annotated[str, Field(min_length=1, max_length=200)]
Moves = Annotated[str, Field(max_length=LONGEST_MOVES)]
Ply = Annotated[int, Field(ge=0, le=1_000_000)]
SeatNumber = Annotated[int, Field(ge=0, le=63)]
Code = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_-]+$")]
RunName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$")]


class Body(BaseModel):
    """A message from a client."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class SeatBody(Body):
    """The one who asks (`human`), an agent, or a seat for somebody else: anyone by link, or the member with a name."""

    kind: Literal["human", "agent", "open"]
    agent: AgentId | None = None
    name: Annotated[str, Field(min_length=1, max_length=40)] | None = None


class ClockBody(Body):
    """How much time people have: at first, and after every turn."""

    initial_s: Annotated[int, Field(ge=10, le=10_800)]
    increment_s: Annotated[int, Field(ge=0, le=180)] = 0


class NewGame(Body):
    """A game to start; `moves` is its opening."""

    game: GameId
    seats: Annotated[list[SeatBody], Field(min_length=1, max_length=64)]
    moves: Moves = ""
    rated: bool = False
    clock: ClockBody | None = None
    visibility: Literal["private", "link"] | None = None


class JoinBody(Body):
    """The code of a secret link."""

    code: Code


class MoveBody(Body):
    """A person's move."""

    ply: Ply
    action: Annotated[int, Field(ge=0, le=10_000_000)]


class PlyBody(Body):
    """The ply that a screen shows."""

    ply: Ply


class ResignBody(Body):
    """A person who gives up; without a seat, the one who asks."""

    ply: Ply
    seat: SeatNumber | None = None


class RematchBody(Body):
    """A new game of the same seats."""

    swap: bool = False


class LevelBody(Body):
    """Another agent for a seat."""

    seat: SeatNumber
    agent: AgentId


class RatedBody(Body):
    """The next rated game."""

    game: GameId


class EngineBody(Body):
    """A position and the agent that is asked about it; without one, the game's strongest."""

    game: GameId
    moves: Moves = ""
    agent: AgentId | None = None
    version: Annotated[str, Field(min_length=1, max_length=40)] | None = None
    simulations: Annotated[int, Field(ge=1, le=SIMULATIONS[-1])] | None = None


class ChooseBody(EngineBody):
    """A position in which an agent moves."""


class AnalyzeBody(EngineBody):
    """A line and the turns of it that are analyzed, the last one if none are given; the names are KataGo's."""

    id: Annotated[str, Field(max_length=80)] = ""
    turns: Annotated[list[Ply], Field(min_length=1, max_length=200)] | None = Field(None, alias="analyzeTurns")
    during_search: bool = Field(False, alias="reportDuringSearch")


class ImportBody(Body):
    """A record or a line of moves; the game is needed where the text does not name it."""

    text: Annotated[str, Field(min_length=1, max_length=200_000)]
    game: GameId | None = None


class NewRun(Body):
    """A training run to start."""

    game: GameId
    recipe: Annotated[str, Field(min_length=1, max_length=100)]
    minutes: Annotated[float, Field(gt=0, le=10_000)] | None = None
    seed: Annotated[int, Field(ge=0, lt=2**31)] | None = None
    name: RunName | None = None


class ResumeBody(Body):
    """How much longer to train; nothing for what is left."""

    minutes: Annotated[float, Field(gt=0, le=10_000)] | None = None
