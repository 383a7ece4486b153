"""Games that can be rated: those with a ladder, whose agents have fixed ratings."""

from __future__ import annotations

from dataclasses import dataclass

from tabia.evaluation.glicko import Rating
from tabia.evaluation.significance import Z95
from tabia.players import ladder
from tabia.players.ladder import Ladder
from tabia.server.catalog.agents import Agent
from tabia.server.catalog.catalog import Catalog
from tabia.server.errors import Refused
from tabia.server.ratings import scoring
from tabia.server.ratings.matching import Opponent


@dataclass(frozen=True)
class RatedGame:
    """A game with a ladder."""

    id: str
    seats: int
    agents: tuple[Agent, ...]  # those with a rating, weakest first
    ladder: Ladder

    @property
    def opponents(self) -> list[Opponent]:
        """The agents that people are matched with."""
        return [Opponent(agent.id, agent.name, agent.elo or 0.0) for agent in self.agents]

    @property
    def start(self) -> Rating:
        """The rating of a newcomer."""
        return scoring.newcomer([opponent.elo for opponent in self.opponents])

    def agent_rating(self, id: str) -> Rating | None:
        """The fixed rating of an agent; its measured interval is the deviation."""
        found = next((agent for agent in self.agents if agent.id == id), None)
        return None if found is None else Rating(found.elo or 0.0, (found.error or 0.0) / Z95)


def find(catalog: Catalog, game_id: str) -> RatedGame | None:
    """A game by its id; None if it is not rated here."""
    entry = catalog.entries.get(game_id)
    found = None if entry is None else ladder.find(entry.game)
    if entry is None or found is None:
        return None
    agents = tuple(agent for agent in entry.agents.values() if agent.elo is not None)
    return RatedGame(id=entry.game.id, seats=entry.game.num_players, agents=agents, ladder=found)


def get(catalog: Catalog, game_id: str) -> RatedGame:
    """A game by its id; refused if it is not rated."""
    entry = catalog.game(game_id)
    found = find(catalog, entry.game.id)
    if found is None:
        raise Refused(f"{entry.game.id} has no ladder of agents, so its games are not rated.")
    return found
