"""The events of a person's games, for the page and for bots: a game starts, ends, or somebody asks for one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tabia.server.accounts.visitor import Visitor
from tabia.server.database.store import Saved
from tabia.server.play import state
from tabia.server.play.live import LiveGame
from tabia.server.play.seats import HUMAN, OPEN, Card
from tabia.server.play.watching import EVENTS, Connections, Follower

START, FINISH, CHALLENGE = "gameStart", "gameFinish", "challenge"
Code = Callable[[str], str]


class Events:
    """Those who follow the games of one person; the key of the owner of this computer is empty."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._followers: dict[str, set[Follower]] = {}

    def open(self, visitor: Visitor) -> Follower:
        """A new follower; `begin` is called before anyone reads from it."""
        follower = self._connections.open(visitor, EVENTS)
        self._followers.setdefault(visitor.person or "", set()).add(follower)
        return follower

    def begin(self, follower: Follower, games: Iterable[Saved], code: Code) -> None:
        """Send the person's unfinished games and challenges first, the oldest first.

        They were read while the follower was open already, so a game with an event since then is left to its event.
        """
        since = follower.take()
        changed = {message["data"]["id"] for message in since}
        for saved in sorted(games, key=lambda saved: saved.created):
            for message in [] if saved.id in changed else _stored(saved, follower.visitor.person, code):
                follower.put(message)
        for message in since:
            follower.put(message)

    def close(self, follower: Follower) -> None:
        """Forget a follower."""
        self._connections.forget(follower)
        key = follower.visitor.person or ""
        self._followers.get(key, set()).discard(follower)
        if not self._followers.get(key):
            self._followers.pop(key, None)

    def created(self, game: LiveGame, cards: Mapping[str, Card], code: Code) -> None:
        """A game was created: it starts, or waits for those it was offered to."""
        if not game.open_seats:
            self._post_all(START, game, cards, {})
        for seat in game.open_seats:
            if game.seats[seat].person is not None:
                self._post(CHALLENGE, game, seat, cards, {"code": code(game.id)})

    def changed(
        self, before: LiveGame, after: LiveGame, cards: Mapping[str, Card], result: dict[str, Any] | None
    ) -> None:
        """A game changed: it has started when its last seat was taken, or has ended."""
        if before.open_seats and not after.open_seats:
            self._post_all(START, after, cards, {})
        if after.over and not before.over:
            self._post_all(FINISH, after, cards, {"result": result, "ended_by": after.ended_by})

    def _post_all(self, name: str, game: LiveGame, cards: Mapping[str, Card], more: dict[str, Any]) -> None:
        for seat in (*game.people, *(seat for seat in game.open_seats if game.seats[seat].person is not None)):
            self._post(name, game, seat, cards, more)

    def _post(self, name: str, game: LiveGame, seat: int, cards: Mapping[str, Card], more: dict[str, Any]) -> None:
        followers = self._followers.get(game.seats[seat].person or "")
        if not followers:
            return
        names = state.seat_names(game, cards)
        clock = None if game.clocks is None else game.clocks.control.to_dict()
        data = _data(game.id, game.session.game.id, seat, names, rated=game.rated, clock=clock) | more
        for follower in list(followers):
            follower.put({"event": name, "data": data})


def _stored(saved: Saved, person: str | None, code: Code) -> Iterable[dict[str, Any]]:
    """What is said about a stored game that is not over."""
    names = [seat.get("name") or seat["agent"] or "" for seat in saved.seats]
    waits = any(seat["kind"] == OPEN for seat in saved.seats)
    for place, seat in enumerate(saved.seats):
        data = _data(saved.id, saved.game, place, names, rated=saved.rated, clock=saved.clock)
        if seat.get("person") != person:
            continue
        if seat["kind"] == OPEN and person is not None:
            yield {"event": CHALLENGE, "data": data | {"code": code(saved.id)}}
        elif seat["kind"] == HUMAN and not waits:
            yield {"event": START, "data": data}


def _data(
    id: str, game: str, seat: int, names: list[str], *, rated: bool, clock: dict[str, Any] | None
) -> dict[str, Any]:
    opponents = [name for place, name in enumerate(names) if place != seat]
    return {"id": id, "game": game, "seat": seat, "rated": rated, "clock": clock, "opponents": opponents}
