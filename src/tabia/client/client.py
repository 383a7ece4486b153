"""A method per route: games, agents, ratings, the engine and runs. Answers are the server's JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from tabia.client.connection import ApiError, Connection, Json, path
from tabia.client.game import Game


class Client:
    """A Tabia server; a token says who asks, and without one a local server is asked as its owner."""

    def __init__(self, url: str, token: str | None = None, *, timeout: float = 60.0, patience: float = 60.0) -> None:
        self._connection = Connection(url, token, timeout=timeout, patience=patience)

    # Games.

    def catalog(self) -> Json:
        """What can be played here."""
        return self._connection.get("catalog")

    def play(self, game: str, agent: str, *, seat: int = 0, moves: str = "") -> Game:
        """A new game with an agent at all other seats."""
        rules = next((entry for entry in self.catalog()["games"] if entry["id"] == game), None)
        if rules is None:
            raise ApiError(404, f"There is no game {game!r} here; `catalog` lists them.")
        seats = [{"kind": "human"} if at == seat else {"kind": "agent", "agent": agent} for at in range(rules["seats"])]
        return Game(self, self.create(game, seats, moves=moves))

    def play_rated(self, game: str) -> Game:
        """The next rated game, with the opponent that the server chooses."""
        return Game(self, self._connection.post("rated", {"game": game}, again=True))

    def create(
        self,
        game: str,
        seats: Sequence[Json],
        *,
        moves: str = "",
        rated: bool = False,
        clock: Json | None = None,
    ) -> Json:
        """A new game; a seat is `{"kind": "human"}`, `{"kind": "open"}` or `{"kind": "agent", "agent": ID}`."""
        body = {"game": game, "seats": list(seats), "moves": moves, "rated": rated, "clock": clock}
        return self._connection.post("games", body)

    def challenge(self, name: str, game: str, *, seat: int = 0, rated: bool = False, clock: Json | None = None) -> Game:
        """A game of two seats that waits for a person or bot by name."""
        seats = [{"kind": "human"}, {"kind": "open", "name": name}]
        return Game(self, self.create(game, seats if seat == 0 else seats[::-1], rated=rated, clock=clock))

    def join(self, code: str) -> Game:
        """Take the open seat that a secret link or a challenge leads to."""
        return Game(self, self._connection.post("games/join", {"code": code}, again=True))

    def game(self, id: str) -> Game:
        """A game by its id."""
        return Game(self, self.state(id))

    def state(self, id: str) -> Json:
        """A game as it is now."""
        return self._connection.get(path("games", id))

    def games(self, *, finished: bool | None = None, game: str | None = None, limit: int = 50) -> list[Json]:
        """The newest games of one's own."""
        found: list[Json] = self._connection.get("games", finished=finished, game=game, limit=limit)["games"]
        return found

    def move(self, id: str, ply: int, action: int) -> Json:
        """A move at a ply; a repeat gets the same answer, and a ply that has passed is refused with status 409."""
        return self._connection.post(path("games", id, "moves"), {"ply": ply, "action": action}, again=True)

    def resign(self, id: str, ply: int, seat: int) -> Json:
        """Give up."""
        return self._connection.post(path("games", id, "resign"), {"ply": ply, "seat": seat})

    def record(self, id: str) -> str:
        """A game as a text that Tabia reads back."""
        return self._connection.text(path("games", id, "record"))

    # Streams.

    def stream(self, id: str) -> Iterator[Json]:
        """A game as it changes: `gameFull` first, then `gameState`, until it is over."""
        return map(json.loads, self._connection.lines(path("games", id, "stream")))

    def events(self) -> Iterator[tuple[str, Json]]:
        """What happens to one's own games: `gameStart`, `gameFinish` and `challenge`, each with its data."""
        name = ""
        for line in self._connection.lines("events"):
            field, _, value = line.partition(": ")
            if field == "event":
                name = value
            elif field == "data":
                yield name, json.loads(value)

    # Agents and ratings.

    def agents(self, game: str) -> list[Json]:
        """The agents of a game."""
        found: list[Json] = self._connection.get("agents", game=game)["agents"]
        return found

    def versions(self, game: str, agent: str) -> list[Json]:
        """The versions of an agent, oldest first."""
        found: list[Json] = self._connection.get(path("agents", agent, "versions"), game=game)["versions"]
        return found

    def closest(self, game: str, rating: float) -> Json:
        """The agent with the smallest rating at or above a rating."""
        return self._connection.get("agents/closest", game=game, rating=rating)

    def ratings(self, game: str) -> Json:
        """The leaderboard of a game."""
        return self._connection.get("ratings", game=game)

    def my_ratings(self) -> list[Json]:
        """One's own rating in every rated game."""
        found: list[Json] = self._connection.get("ratings/me")["ratings"]
        return found

    def person(self, name: str) -> Json:
        """What everybody may see of a player."""
        return self._connection.get(path("people", name))

    # The engine.

    def choose(
        self,
        game: str,
        moves: str = "",
        *,
        agent: str | None = None,
        version: str | None = None,
        simulations: int | None = None,
    ) -> Json:
        """The move of an agent in a position, and the version that chose it."""
        body = {"game": game, "moves": moves, "agent": agent, "version": version, "simulations": simulations}
        return self._connection.post("choose", body, again=True)

    def analyze(
        self,
        game: str,
        moves: str = "",
        *,
        agent: str | None = None,
        version: str | None = None,
        simulations: int | None = None,
        turns: Sequence[int] | None = None,
        during_search: bool = False,
    ) -> Iterator[Json]:
        """Analyses of a line's last position, or of the turns given, as they come."""
        body = {"game": game, "moves": moves, "agent": agent, "version": version, "simulations": simulations}
        asked = {"analyzeTurns": None if turns is None else list(turns), "reportDuringSearch": during_search}
        for line in self._connection.lines("analyze", body | asked):
            found = json.loads(line)
            if "error" in found:
                raise ApiError(0, found["error"], found)
            yield found

    def runs(self) -> list[Json]:
        """The training runs."""
        found: list[Json] = self._connection.get("runs")["runs"]
        return found
