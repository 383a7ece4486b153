"""What the routes of ratings and agents answer."""

from __future__ import annotations

from tabia.server.web.answers import Answer


class RankAnswer(Answer):
    """A person in the leaderboard; `best` and `worst` are the places that the 95% intervals allow."""

    rank: int | None
    best: int | None
    worst: int | None
    name: str
    rating: float
    deviation: float
    error: float
    provisional: bool
    games: int
    you: bool


class RatedAgentAnswer(Answer):
    """An agent with a fixed rating; `error` is half of its 95% interval."""

    id: str
    name: str
    rating: float
    error: float


class LeaderboardAnswer(Answer):
    """People by rating, and the agents on the same scale."""

    game: str
    people: list[RankAnswer]
    agents: list[RatedAgentAnswer]


class PlacementAnswer(Answer):
    """How many games of a placement are played, and how many it has at least and at most."""

    played: int
    at_least: int
    of: int


class NextAnswer(Answer):
    """The opponent of the next rated game, and why."""

    agent: str
    name: str
    rating: float
    deviation: float
    why: str


class OwnRatingAnswer(Answer):
    """One's own rating in a game; `rating` and `deviation` are null before the first game."""

    game: str
    rating: float | None
    deviation: float | None
    provisional: bool
    games: int
    placement: PlacementAnswer | None
    next: NextAnswer


class OwnRatingsAnswer(Answer):
    """One's own ratings, for every game that is rated."""

    ratings: list[OwnRatingAnswer]


class RatingAnswer(Answer):
    """A rating in a game."""

    game: str
    rating: float
    deviation: float
    provisional: bool
    games: int


class OpponentAnswer(Answer):
    """Somebody met in a rated game, with the rating at that time."""

    name: str
    rating: float


class RatedGameAnswer(Answer):
    """A finished rated game; `score` is from 0 to 1."""

    id: str
    game: str
    finished_at: str | None
    seat: int
    opponents: list[OpponentAnswer]
    score: float
    change: int
    rating: float


class ProfileAnswer(Answer):
    """What everybody may see of a player."""

    name: str
    role: str
    created: str
    ratings: list[RatingAnswer]
    games: list[RatedGameAnswer]
