"""What the routes of analyses answer, for the description of the API; values go from -1 to 1, seats count from 0."""

from __future__ import annotations

from typing import Any, Literal

from tabia.server.web.answers import Answer, MoveAnswer, PositionAnswer

Outcome = Literal["win", "draw", "loss"]


class PositionOfLineAnswer(Answer):
    """A position of any line; `board` has its cells, or only a kind where it is a drawing."""

    board: dict[str, Any]
    position: PositionAnswer
    moves: list[MoveAnswer]


class ExactAnswer(Answer):
    """What a solver knows about every move: its score by distance to the end, and its outcome."""

    scores: dict[str, int] | None
    outcome: dict[str, Outcome]


class AnalysisAnswer(Answer):
    """What `tabia analyze --json` prints; what a player does not know is left out."""

    move: str | None
    mover: int | None = None
    recommended: str | None = None
    policy: dict[str, float] | None = None
    visits: dict[str, int] | None = None
    values: dict[str, float] | None = None
    scores: dict[str, int] | None = None
    expected: list[float] | None = None
    final: list[float] | None = None
    line: list[str] | None = None
    exact: ExactAnswer | None = None


class SolvedAnswer(AnalysisAnswer):
    """A solver's analysis, with the outcome of every move."""

    outcome: dict[str, Outcome]


class BranchAnswer(Answer):
    """A move in a search tree and its replies; the root has no action."""

    move: str
    action: int | None
    visits: int
    value: float | None
    prior: float
    main: bool
    children: list[BranchAnswer]


class PlaneAnswer(Answer):
    """One plane of what the network sees, by rows."""

    name: str
    values: list[list[float]]


class ExplanationAnswer(Answer):
    """One position three ways, with the tree and the planes."""

    network: AnalysisAnswer | None
    search: AnalysisAnswer
    exact: SolvedAnswer | None
    tree: BranchAnswer | None
    planes: list[PlaneAnswer]
    simulations: int
