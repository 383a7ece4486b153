"""Following games: streams of bots, events of people, and WebSockets that flood, sleep, read slowly or log out."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from tabia.server.accounts.visitor import owner
from tabia.server.database.store import Saved
from tabia.server.errors import Unavailable
from tabia.server.play.watching import EVENTS, SLOW, STATES, Follower
from tabia.server.web.routes import events
from tests.server.club import AGENT, ME, OPEN, Club, Person, lines, pair
from tests.server.conftest import HOST, play, start
from tests.server.running import run


@pytest.fixture(scope="module")
def club(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Club]:
    with Club(tmp_path_factory.mktemp("club")).running() as found:
        yield found


class Reading:
    """A stream that is read in a thread until it ends."""

    def __init__(self, person: Person, path: str) -> None:
        self.text = ""
        self._thread = threading.Thread(target=self._read, args=(person, path), daemon=True)
        self._thread.start()

    def _read(self, person: Person, path: str) -> None:
        self.text = person.client.get(f"/api/v1/{path}").text  # the test client returns a stream once it has ended

    def ended(self) -> str:
        self._thread.join(120)
        assert not self._thread.is_alive()
        return self.text


def _named(text: str) -> list[tuple[str, dict[str, Any]]]:
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if fields:
            found.append((fields["event"], json.loads(fields["data"])))
    return found


def _following(club: Club) -> int:
    return len(club.parts.hub.games.connections._open)


def _until(condition: Any) -> None:
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until, "It did not happen."
        time.sleep(0.01)


def test_a_stream_has_the_whole_game_first_and_ends_with_it(club: Club) -> None:
    ann, ben, game = pair(club)
    reading = Reading(ben, f"games/{game}/stream")
    _until(lambda: ann.see(game)["presence"] == [False, True])  # a stream counts as being there
    for ply, (who, action) in enumerate(((ann, 4), (ben, 3), (ann, 0), (ben, 5), (ann, 8))):
        assert who.move(game, ply, action).status_code == 200
    first, *rest = lines(reading.ended())
    assert first["type"] == "gameFull" and first["you"] == [1] and first["state"]["your_move"] is False
    assert all(message["type"] == "gameState" for message in rest)
    versions = [first["state"]["version"], *(message["version"] for message in rest)]
    assert versions == sorted(versions)
    assert [message["your_move"] for message in rest if message["ply"] == 1] == [True]
    last = rest[-1]
    assert last["actions"] == [4, 3, 0, 5, 8] and last["moves"].split()[0] == "b2"
    assert last["result"]["winner"] == 0 and last["legal"] == [] and last["status"] == "over"
    with_move = next(message for message in rest if message["ply"] == 1)
    assert {"move": "b2", "action": 4} not in with_move["legal"] and len(with_move["legal"]) == 8
    _until(lambda: ann.see(game)["presence"] == [False, False])


def test_events_say_when_games_start_and_end(club: Club) -> None:
    ann, ben = club.person(), club.person()
    state = ann.start(ME, OPEN, clock={"initial_s": 60, "increment_s": 0})
    ben.start(ME, ME)  # so that Ben is somebody
    before = _following(club)
    reading = Reading(ann, "events")
    _until(lambda: _following(club) == before + 1)
    ben.state("games/join", code=state["join"]["code"])
    ben.state(f"games/{state['id']}/resign", ply=0)
    club.call(lambda: club.parts.hub.disconnect(person=_person(club, state["id"], 0)))
    found = _named(reading.ended())
    assert [name for name, _ in found] == ["gameStart", "gameFinish"]
    for _, event in found:
        assert event["id"] == state["id"] and event["seat"] == 0 and len(event["opponents"]) == 1
        assert event["clock"] == {"initial_s": 60, "increment_s": 0}
    assert found[1][1]["ended_by"] == "resignation" and found[1][1]["result"]["winner"] == 0
    assert _following(club) == before


def test_events_begin_with_the_games_under_way_and_the_challenges(club: Club) -> None:
    ann, ben, game = pair(club)
    other = pair(club)[2]
    ann.state(f"games/{game}/resign", ply=0)
    offered = ann.state(f"games/{game}/rematch", 201)
    before = _following(club)
    reading = Reading(ben, "events")
    _until(lambda: _following(club) == before + 1)
    ben.state(f"games/{game}/rematch", 201)
    club.call(lambda: club.parts.hub.disconnect(person=_person(club, game, 1)))
    found = _named(reading.ended())
    assert [(name, event["id"]) for name, event in found] == [
        ("challenge", offered["id"]),
        ("gameStart", offered["id"]),
    ]
    assert found[0][1]["code"] == offered["join"]["code"] and other not in str(found)


@pytest.mark.parametrize("is_listed", [True, False])
def test_a_game_that_changes_while_events_open_is_reported_once(
    club: Club, monkeypatch: pytest.MonkeyPatch, is_listed: bool
) -> None:
    """Whether the list of games is read after the change or before it; no game starts after it has ended."""
    ann, _, old = pair(club)
    running, real, created = ann.start(ME, AGENT)["id"], club.parts.store.listed, list[str]()

    def change() -> None:
        created.append(ann.start(ME, ME)["id"])
        ann.state(f"games/{old}/resign", ply=0)

    def listed(**query: Any) -> list[Saved]:
        if is_listed:
            change()
        found = real(**query)
        if not is_listed:
            change()
        return found

    monkeypatch.setattr(club.parts.store, "listed", listed)
    assert club.parts.accounts is not None
    visitor = club.call(club.parts.accounts.visitor, dict(ann.client.cookies), None, "")
    follower = club.call(club.parts.hub.follow, visitor)
    found = [club.call(follower.get) for _ in range(follower._messages.qsize())]
    club.call(club.parts.hub.unfollow, follower)
    assert [(event["event"], event["data"]["id"], event["data"]["seat"]) for event in found] == [
        ("gameStart", running, 0),
        ("gameStart", created[0], 0),
        ("gameStart", created[0], 1),
        ("gameFinish", old, 0),
    ]


def test_events_that_cannot_be_opened_are_forgotten(club: Club, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**query: Any) -> list[Saved]:
        raise Unavailable("The database does not answer.")

    ann, before = pair(club)[0], _following(club)
    monkeypatch.setattr(club.parts.store, "listed", fail)
    assert ann.get("events").status_code == 503
    assert _following(club) == before


def _person(club: Club, game: str, seat: int) -> str:
    return str(club.parts.hub.games.memory.games[game].live.seats[seat].person)


def test_the_owner_of_this_computer_has_events_and_streams_too(client: TestClient, game: dict[str, Any]) -> None:
    assert [seat["name"] for seat in game["seats"]] == ["X", "O"]
    over = play(client, game, "b2", "a2", "a1", "c1", "c3")
    found = lines(client.get(f"/api/v1/games/{game['id']}/stream").text)
    assert len(found) == 1 and found[0]["state"]["result"] == over["result"] and found[0]["you"] == [0, 1]


def test_sockets_of_a_session_that_ends_are_closed(club: Club) -> None:
    ann, ben, game = pair(club)
    with ann.screen(game) as screen, ben.screen(game) as other:
        screen.receive_json()
        session = next(
            follower.visitor.session
            for follower in club.parts.hub.games.memory.games[game].followers
            if follower.visitor.person == _person(club, game, 0)
        )
        club.call(lambda: club.parts.hub.disconnect(session=session))
        with pytest.raises(WebSocketDisconnect) as closed:
            while True:
                screen.receive_json()
        assert closed.value.code == 4401
        assert ann.move(game, 0, 4).status_code == 200  # the game continues
        while not other.receive_json()["state"]["moves"]:
            pass


def test_a_screen_that_leaves_during_the_handshake_is_forgotten(club: Club) -> None:
    ann, _, game = pair(club)
    before = _following(club)
    cookie = f"tabia={ann.client.cookies['tabia']}"
    scope = {
        "type": "websocket",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "scheme": "ws",
        "path": f"/api/v1/games/{game}/live",
        "query_string": b"",
        "headers": [(b"host", HOST.encode()), (b"cookie", cookie.encode())],
        "client": ("192.0.2.1", 50000),
        "subprotocols": [],
    }

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def send(message: dict[str, Any]) -> None:
        assert message["type"] == "websocket.accept"
        raise OSError("The client has gone.")  # as uvicorn does

    with suppress(OSError):
        club.call(club.app, scope, receive, send)
    assert _following(club) == before and ann.see(game)["presence"] == [False, False]


def test_a_socket_that_floods_or_sleeps_is_closed(
    client: TestClient, game: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"/api/v1/games/{game['id']}/live"
    with client.websocket_connect(address) as socket:
        socket.receive_json()
        for _ in range(events.BURST):
            socket.send_text("ping")
        after = play(client, game, "b2")
        assert socket.receive_json()["state"] == after  # a burst is allowed
        for _ in range(2 * events.BURST):
            socket.send_text("ping")
        with pytest.raises(WebSocketDisconnect) as closed:
            socket.receive_json()
        assert closed.value.code == 4429
    monkeypatch.setattr(events, "IDLE_SECONDS", 0.05)
    with client.websocket_connect(address) as socket:
        socket.receive_json()
        with pytest.raises(WebSocketDisconnect) as closed:
            socket.receive_json()
        assert closed.value.code == 4408


def test_streams_say_that_they_are_alive(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "KEEP_ALIVE_SECONDS", 0.02)
    state = start(client)
    reading = Reading(Person(client), f"games/{state['id']}/stream")
    threading.Event().wait(0.2)
    client.post(f"/api/v1/games/{state['id']}/resign", json={"ply": 0, "seat": 0})
    assert "\n\n" in reading.ended()


def test_a_slow_reader_gets_the_newest_state_and_holds_up_nobody() -> None:
    async def check() -> None:
        slow = Follower(owner(), STATES)
        for version in range(1000):
            slow.put({"version": version})
        found = []
        while not slow._messages.empty():
            message = await slow.get()
            assert message is not None
            found.append(message["version"])
        assert found[-1] == 999 and len(found) <= STATES.waiting and found == sorted(found)
        listener = Follower(owner(), EVENTS)
        for number in range(EVENTS.waiting + 1):
            listener.put({"event": number})
        assert listener.closed == SLOW and await listener.get() is None

    run(check())


def test_a_member_is_challenged_by_name_and_signing_out_closes_the_screens(club: Club) -> None:
    ann, ben, cat = club.person(), club.person(), club.person()
    for person, name in ((ann, "Ann"), (ben, "Ben")):
        answer = person.post("account", name=name, password="violet anchor sings twice")
        assert answer.status_code == 201, answer.text
    assert ann.post("games", game="tictactoe", seats=[ME, OPEN | {"name": "Nobody"}]).status_code == 404
    assert ann.post("games", game="tictactoe", seats=[ME, OPEN | {"name": "ANN"}]).status_code == 422
    offered = ann.start(ME, OPEN | {"name": "bEN"})
    assert offered["waiting"] == "Waiting for Ben." and offered["seats"][1]["name"] == "Ben"
    code = offered["join"]["code"]
    assert cat.post("games/join", code=code).status_code == 404  # it is kept for Ben
    before = _following(club)
    reading = Reading(ben, "events")
    _until(lambda: _following(club) == before + 1)
    joined = ben.state("games/join", code=code)
    assert joined["you"] == [1] and [seat["name"] for seat in joined["seats"]] == ["Ann", "Ben"]
    with ben.screen(offered["id"]) as screen:
        screen.receive_json()
        assert ben.post("logout").status_code == 204
        with pytest.raises(WebSocketDisconnect) as closed:
            while True:
                screen.receive_json()
        assert closed.value.code == 4401
    found = _named(reading.ended())  # its session has ended too
    assert [name for name, _ in found] == ["challenge", "gameStart"] and found[0][1]["opponents"] == ["Ann"]
    assert ben.move(offered["id"], 0, 4).status_code == 401
