"""What the routes of agents and of the engine answer."""

from __future__ import annotations

from pydantic import Field

from tabia.server.web.answers import Answer


class AgentAnswer(Answer):
    """An agent; `elo` is its rating on the ladder."""

    id: str
    name: str
    about: str
    technical: str
    elo: float | None
    error: float | None
    group: str


class AgentsAnswer(Answer):
    """The agents of a game."""

    game: str
    agents: list[AgentAnswer]


class VersionAnswer(Answer):
    """A version of an agent; `agent` is the id by which it can be chosen, `elo` its rating among the versions."""

    version: str
    agent: str
    best: bool
    elo: float | None
    error: float | None


class VersionsAnswer(Answer):
    """The versions of an agent, oldest first."""

    game: str
    agent: str
    versions: list[VersionAnswer]


class ClosestAnswer(Answer):
    """The agent with the smallest rating at or above the one asked for; `higher` is false if it is the strongest."""

    game: str
    agent: str
    name: str
    rating: float
    higher: bool


class ChoiceAnswer(Answer):
    """The move that an agent chose, the version that chose it, and a note if that is not the one asked for."""

    move: str
    action: int
    agent: str
    version: str
    note: str | None
    winrate: float | None


class AnalyzedMove(Answer):
    """A move of an analysis; `scoreLead` is there for agents that know exact scores."""

    move: str
    order: int
    visits: int
    winrate: float | None
    prior: float | None
    policy: float | None
    pv: list[str]
    score_lead: int | None = Field(None, alias="scoreLead")


class AnalyzedPosition(Answer):
    """The position of an analysis; `expected` is by seat, from -1 to 1."""

    current_player: int | None = Field(alias="currentPlayer")
    visits: int
    winrate: float | None
    expected: list[float] | None
    over: bool


class AnalysisLine(Answer):
    """One line of a streamed analysis; a stream that fails ends with a line of `id` and `error`."""

    id: str
    turn_number: int = Field(alias="turnNumber")
    during_search: bool = Field(alias="isDuringSearch")
    moves: list[AnalyzedMove] = Field(alias="moveInfos")
    position: AnalyzedPosition = Field(alias="rootInfo")
