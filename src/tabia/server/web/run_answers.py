"""What the routes of training runs answer, for the description of the API."""

from __future__ import annotations

from typing import Any, Literal

from tabia.server.web.answers import Answer

Setting = bool | int | float | str | None


class _RunHead(Answer):
    """What a summary and the details of a run share; one that is only being started has no games and positions yet."""

    name: str
    game: str
    recipe: str
    state: Literal["starting", "training", "stopped", "finished", "damaged"]
    problem: str | None
    iteration: int
    progress: float
    minutes: float
    games: int | None = None
    positions: int | None = None
    agreement: float | None


class RunAnswer(_RunHead):
    """A run in the list."""

    checkpoints: int


class RunsAnswer(Answer):
    """All runs, newest first."""

    runs: list[RunAnswer]


class CurveAnswer(Answer):
    """A metric by iteration; matches also have their intervals."""

    x: list[float]
    seconds: list[float]
    y: list[float]
    low: list[float] | None = None
    high: list[float] | None = None


class CheckpointAnswer(Answer):
    """A checkpoint and the agent that plays it."""

    iteration: int
    seconds: float | None
    agent: str


class StrengthAnswer(Answer):
    """The newest match against an opponent."""

    opponent: str
    iteration: int
    score: float
    low: float
    high: float
    games: int


class RunDetailAnswer(_RunHead):
    """Everything about a run."""

    settings: dict[str, Setting]
    series: dict[str, CurveAnswer]
    checkpoints: list[CheckpointAnswer]
    strength: list[StrengthAnswer]


class DifferenceAnswer(Answer):
    """A setting that differs between two runs."""

    key: str
    a: Setting
    b: Setting


class SeriesOfTwoAnswer(Answer):
    """The curves of two runs."""

    a: dict[str, CurveAnswer]
    b: dict[str, CurveAnswer]


class ComparisonAnswer(Answer):
    """What differs between two runs."""

    settings: list[DifferenceAnswer]
    a: RunAnswer
    b: RunAnswer
    series: SeriesOfTwoAnswer


class StoredGameAnswer(Answer):
    """A game of self-play."""

    moves: str
    scores: list[float]


class StoredGamesAnswer(Answer):
    """Games of self-play of a checkpoint, and the checkpoints that have some."""

    games: list[StoredGameAnswer]
    checkpoint: int | None
    checkpoints: list[int]
    game: str | None = None


class EstimateAnswer(Answer):
    """How long a training would take here; further members are what `tabia train --estimate --json` prints."""

    model_config = Answer.model_config | {"extra": "allow"}

    minutes: float
    positions: int
    text: str


class ProofAnswer(Answer):
    """Whether any line of moves beats a network; `seats` is what `tabia prove --json` prints."""

    proved: bool
    seats: list[dict[str, Any]]
    text: str


class RecipeAnswer(Answer):
    """A training configuration."""

    name: str
    about: str
    expect: str
    device: str
    minutes: float | None
