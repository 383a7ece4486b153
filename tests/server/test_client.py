"""The Python client against a live server: games, ratings, the engine, a bot; and a server that misbehaves."""

from __future__ import annotations

import json
import random
import re
import socket
import threading
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from tabia.client import ApiError, Client, Turn, run_bot
from tabia.core.errors import TabiaError
from tabia.evaluation.records import parse as parse_records
from tabia.server.accounts import invites
from tabia.server.accounts.accounts import AccountOptions
from tabia.server.catalog.catalog import Allowed
from tabia.server.launch import Server
from tabia.server.web import rating_answers
from tabia.server.web.app import create_app
from tabia.server.web.context import Context, make_context
from tests.server.conftest import make_page
from tests.server.shared import CHEAP, PASSWORD

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorials" / "client.md"
AGENTS = ("level:first-steps", "level:hobby", "classical:random", "exact:perfect", "shipped:*")


class Live:
    """A shared server in a thread."""

    def __init__(self, folder: Path) -> None:
        self.parts: Context = make_context(
            ("connect4", "tictactoe"),
            data=folder / "data",
            runs=folder / "runs",
            sizes=(1,),
            people=AccountOptions(secure=False, hashing=CHEAP),
            allowed=Allowed(shown=False, agents=AGENTS),
        )
        app = create_app(self.parts, page=make_page(folder / "page"))
        self.server = Server(uvicorn.Config(app, log_level="error", access_log=False, ws="websockets-sansio"))
        listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [listening]}, daemon=True)
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)

    def member(self, name: str) -> Client:
        """Somebody who has signed up, with a token for everything."""
        cookie, _ = self.send("account", {"name": name, "password": PASSWORD, "invite": self.invite()})
        wanted = {"label": "test", "scopes": ["read", "play", "analyze"]}
        return Client(self.url, token=self.send("account/tokens", wanted, cookie)[1]["token"])

    def bot(self, owner: str, name: str) -> Client:
        """A bot of a new member."""
        cookie, _ = self.send("account", {"name": owner, "password": PASSWORD, "invite": self.invite()})
        return Client(self.url, token=self.send("account/bots", {"name": name}, cookie)[1]["token"])

    def invite(self) -> str:
        """An invitation: it takes the place of the quota of an address."""
        with self.parts.store.database.transaction() as connection:
            return invites.create(connection, self.parts.clock)

    def send(self, path: str, body: dict[str, Any], cookie: str = "") -> tuple[str, Any]:
        headers = {"content-type": "application/json", "cookie": cookie}
        request = urllib.request.Request(f"{self.url}/api/v1/{path}", json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=120) as answer:
            found = [value.partition(";")[0] for value in answer.headers.get_all("set-cookie", [])]
            return "; ".join(found), json.load(answer)

    def close(self) -> None:
        self.server.should_exit = True
        self.thread.join()
        self.parts.worker.join()


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    found = Live(tmp_path_factory.mktemp("live"))
    yield found
    found.close()


def test_rated_games_change_the_rating_and_the_leaderboard(live: Live) -> None:
    """Three placement games of random play: the opponent follows from the results, and everything agrees."""
    client, dice = live.member("Ada"), random.Random(1)
    assert [own["placement"]["played"] for own in client.my_ratings()] == [0]
    for number in range(3):
        (before,) = client.my_ratings()
        game = client.play_rated("connect4")
        assert client.play_rated("connect4").id == game.id  # one at a time
        assert game.state["rated"] and not game.state["can"]["undo"] and not game.state["can"]["hint"]
        other = next(seat for seat in game.state["seats"] if seat["kind"] == "agent")
        assert other["name"] == before["next"]["name"] and "Placement game" in before["next"]["why"]
        game.wait()
        while not game.over:
            game.move(dice.choice(game.legal))
        (own,) = client.my_ratings()
        change = game.state["rating_change"][game.state["you"][0]]
        assert own["games"] == number + 1 and change["after"] == round(own["rating"])
        assert own["placement"] is None or own["placement"]["played"] == number + 1
    table, profile = client.ratings("connect4"), client.person("ADA")
    answers = (rating_answers.LeaderboardAnswer, table), (rating_answers.ProfileAnswer, profile)
    for model, answer in (*answers, (rating_answers.OwnRatingAnswer, own)):
        model.model_validate(answer)
    assert [(row["name"], row["you"], row["games"]) for row in table["people"]] == [("Ada", True, 3)]
    assert [agent["rating"] for agent in table["agents"]] == [0, 422]
    assert profile["ratings"][0]["rating"] == table["people"][0]["rating"]
    assert [game["opponents"][0]["name"] for game in profile["games"]][::-1][0] in ("First steps", "Hobby")
    assert sum(game["change"] for game in profile["games"]) == round(own["rating"]) - 211
    assert parse_records(client.record(game.id)).records[0].moves == tuple(game.moves.split())


def test_requests_at_once_start_one_rated_game(live: Live) -> None:
    """As a client does that sends its request again because the answer was lost; no lock stays behind."""
    client, other = live.member("Gus"), live.member("Hal")
    with ThreadPoolExecutor(5) as pool:
        games = list(pool.map(lambda player: player.play_rated("connect4").id, [client] * 4 + [other]))
    assert len(set(games[:4])) == 1 and games[4] != games[0]
    assert client.play_rated("connect4").id == games[0]
    assert not live.parts.hub.rated_locks


def test_the_engine_answers_in_the_versions_it_has(live: Live) -> None:
    client = live.member("Ben")
    assert client.choose("tictactoe", "a1 b2 a2", agent="exact:perfect")["move"] == "a3"
    assert client.closest("connect4", 1)["rating"] == 422
    assert [version["version"] for version in client.versions("connect4", "shipped:connect4-laptop")][-1] == "740"
    assert {agent["id"] for agent in client.agents("tictactoe")} >= {"exact:perfect", "shipped:tictactoe"}
    found = list(client.analyze("tictactoe", "a1 b1", agent="exact:perfect", turns=[2, 0]))
    assert [line["turnNumber"] for line in found] == [2, 0]


def test_a_bot_accepts_a_challenge_and_plays(live: Live) -> None:
    """The bot takes the first legal move, so the game is known in advance."""
    client, bot, over = live.member("Cleo"), live.bot("Dora", "Robby"), threading.Event()

    def choose(turn: Turn) -> str:
        assert (turn.game, turn.seat) == ("tictactoe", 1) and len(turn.legal) == 9 - turn.ply
        return turn.legal[0]

    thread = threading.Thread(target=run_bot, args=(bot, choose), kwargs={"until": over.is_set}, daemon=True)
    thread.start()
    game = client.challenge("Robby", "tictactoe")
    for move in ("a2", "b2", "c2"):  # a row, while the bot fills another
        game.wait().move(move)
    assert game.over and game.result is not None and game.result["scores"] == [1.0, -1.0]
    over.set()  # the end of the game is the event after which the bot looks
    client.challenge("Robby", "tictactoe").resign()
    thread.join(120)
    assert not thread.is_alive()


def test_refusals_are_exceptions_with_the_servers_sentence(live: Live) -> None:
    client = Client(live.url, patience=0)
    with pytest.raises(ApiError, match="no game") as caught:
        client.choose("none")
    assert caught.value.status == 404
    with pytest.raises(ApiError, match="not legal") as caught:
        client.choose("tictactoe", "a1 a1")
    assert caught.value.status == 422
    with pytest.raises(ApiError, match="token is not valid") as caught:
        Client(live.url, token="tabia_wrong").my_ratings()
    assert caught.value.status == 401
    with pytest.raises(ApiError, match="nobody with this name"):
        client.person("a b?c")


def test_a_stale_move_is_refused_and_a_repeat_is_not(live: Live) -> None:
    client = live.member("Emil")
    game = client.play("tictactoe", "classical:random")
    first = {entry["move"]: entry["action"] for entry in game.state["position"]["legal"]}
    state = client.move(game.id, 0, first["b2"])
    assert client.move(game.id, 0, first["b2"])["moves"][0] == state["moves"][0]
    with pytest.raises(ApiError) as caught:
        client.move(game.id, 0, first["a1"])
    assert caught.value.status == 409 and caught.value.problem["state"]["moves"][0]["move"] == "b2"
    with pytest.raises(ApiError, match="not legal here"):
        client.game(game.id).wait().move("b2")


def test_a_token_is_sent_by_https_or_to_this_computer_only() -> None:
    for url in ("http://games.example.org", "http://192.0.2.7:8765"):
        with pytest.raises(TabiaError, match="https:// only"):
            Client(url, token="tabia_secret")
    for url in ("games.example.org", "ftp://games.example.org", ""):
        with pytest.raises(TabiaError, match="address is like"):
            Client(url)
    Client("https://games.example.org", token="tabia_secret")


@pytest.fixture
def moody() -> Iterator[tuple[str, list[Any]]]:
    """A server that answers with the statuses of a list, in order; 0 is a connection that breaks."""
    statuses: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status = statuses.pop(0)
            if status == 0:
                self.connection.close()
                return
            self.send_response(status)
            self.send_header("Retry-After", "0")
            self.send_header("Location", "http://192.0.2.1/steal")
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.do_GET()

        def log_message(self, *_: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", statuses
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_client_waits_when_asked_to_and_repeats_what_is_safe(moody: tuple[str, list[Any]]) -> None:
    url, statuses = moody
    client = Client(url, token="tabia_secret", patience=5)
    statuses += [429, 503, 200]
    assert client.catalog() == {}
    statuses += [0, 200]
    assert client.move("id", 0, 1) == {} and statuses == []
    statuses += [0, 200]
    with pytest.raises(ApiError, match="does not answer"):
        client.resign("id", 0, 0)  # not sent twice
    assert statuses == [200]


def test_a_redirect_does_not_take_the_token_along(moody: tuple[str, list[Any]]) -> None:
    url, statuses = moody
    statuses += [302]
    with pytest.raises(ApiError, match="status 302"):
        Client(url, token="tabia_secret", patience=0).catalog()


def test_the_tutorial_runs_as_it_is_written(live: Live, capsys: pytest.CaptureFixture[str]) -> None:
    """Its blocks in order, on this server, except for the bot, which would not end."""
    blocks = re.findall(r"```python\n(.*?)```", TUTORIAL.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 5 and "run_bot" in blocks[-1]
    names: dict[str, Any] = {"found": live.member("Fay")}
    for block in blocks[:-1]:
        exec(block.replace('Client("http://127.0.0.1:8765")', "found"), names)
    printed = capsys.readouterr().out
    assert "level:hobby" in printed and "660" in printed and ("won" in printed or "draw" in printed.lower())
