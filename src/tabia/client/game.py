"""One game, played by moves as text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tabia.client.connection import ApiError, Json

if TYPE_CHECKING:
    from tabia.client.client import Client


@dataclass(frozen=True)
class Turn:
    """A position in which it is one's own turn."""

    id: str  # of the game on the server
    game: str  # which rules, such as connect4
    seat: int
    ply: int
    moves: str  # so far, separated by spaces
    legal: tuple[str, ...]
    actions: dict[str, int]  # the number of each legal move
    clocks: tuple[int | None, ...] | None  # milliseconds left, by seat


class Game:
    """A game on a server; `state` is as of the last answer."""

    def __init__(self, client: Client, state: Json) -> None:
        self.client, self.state = client, state

    @property
    def id(self) -> str:
        """The id of the game."""
        return str(self.state["id"])

    @property
    def over(self) -> bool:
        """Whether the game has ended."""
        return bool(self.state["status"] == "over")

    @property
    def result(self) -> Json | None:
        """Scores, winner and text of a finished game."""
        found: Json | None = self.state["result"]
        return found

    @property
    def moves(self) -> str:
        """The moves so far."""
        return " ".join(entry["move"] for entry in self.state["moves"])

    @property
    def legal(self) -> list[str]:
        """The legal moves of the seat to move."""
        return [entry["move"] for entry in self.state["position"]["legal"]]

    def move(self, move: str, *, wait: bool = True) -> Game:
        """Make a move; with `wait`, return when it is one's own turn again or the game is over."""
        position = self.state["position"]
        actions = {entry["move"]: entry["action"] for entry in position["legal"]}
        if move not in actions:
            raise ApiError(422, f"{move!r} is not legal here. Legal moves: {' '.join(actions)}.")
        self.state = self.client.move(self.id, position["ply"], actions[move])
        return self.wait() if wait else self

    def resign(self) -> Game:
        """Give up."""
        self.state = self.client.resign(self.id, self.state["position"]["ply"], self.state["you"][0])
        return self

    def wait(self) -> Game:
        """Wait for one's own turn, or for the end."""
        if self.state["status"] not in ("over", "your move"):
            for state in self._states():
                if state["status"] in ("over", "your move"):
                    break
            self.state = self.client.state(self.id)
        return self

    def turns(self) -> Iterator[Turn]:
        """Every position in which it is one's own turn, until the game is over."""
        seat, last = self.state["you"][0], -1
        for state in self._states():
            if state["your_move"] and state["ply"] != last:  # a state is sent again when clocks or people change
                last = state["ply"]
                yield _turn(self, seat, state)
        self.state = self.client.state(self.id)

    def _states(self) -> Iterator[Json]:
        for message in self.client.stream(self.id):
            yield message["state"] if message["type"] == "gameFull" else message


def _turn(game: Game, seat: int, state: Json) -> Turn:
    actions = {entry["move"]: entry["action"] for entry in state["legal"]}
    return Turn(
        id=game.id,
        game=str(game.state["game"]),
        seat=seat,
        ply=state["ply"],
        moves=state["moves"],
        legal=tuple(actions),
        actions=actions,
        clocks=None if state["clocks"] is None else tuple(state["clocks"]),
    )
