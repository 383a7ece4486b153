"""Two people by link: who may see, join and move, clocks and absence on the server, restarts, rematches."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql
from starlette.websockets import WebSocketDisconnect

from tabia.server.database.store import Saved, Store
from tabia.server.database.writer import Writer
from tabia.server.errors import Unavailable
from tests.server.club import AGENT, ME, OPEN, Club, pair
from tests.server.conftest import wait


@pytest.fixture(scope="module")
def club(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Club]:
    with Club(tmp_path_factory.mktemp("club")).running() as found:
        yield found


def test_two_people_play_by_link_and_each_sees_the_own_side(club: Club) -> None:
    ann, ben = club.person(), club.person()
    state = ann.start(ME, OPEN)
    code = state["join"]["code"]
    assert state["status"] == "waiting" and state["waiting"] == "Waiting for an opponent." and state["you"] == [0]
    assert state["join"]["path"] == f"/#/play?join={code}"
    found = ben.get("games/join", code=code).json()
    assert found == {"game": "tictactoe", "by": state["seats"][0]["name"], "clock": None, "rated": False, "seat": 1}
    assert "tabia" not in ben.client.cookies  # looking does not make a guest
    assert ann.move(state["id"], 0, 4).status_code == 422

    joined = ben.state("games/join", code=code)
    assert joined["you"] == [1] and joined["status"] == "their move" and joined["join"] is None
    assert ben.state("games/join", code=code) == joined  # a repeat
    assert ben.move(state["id"], 0, 4).status_code == 422
    mine = ann.move(state["id"], 0, 4).json()
    assert mine["status"] == "their move" and ben.see(state["id"])["status"] == "your move"
    assert ann.move(state["id"], 0, 4).json() == mine  # its answer was lost
    stale = ann.move(state["id"], 0, 5)
    assert stale.status_code == 409 and stale.json()["state"] == mine
    for action, who in ((3, ben), (0, ann), (5, ben), (8, ann)):
        last = who.move(state["id"], len(who.see(state["id"])["moves"]), action)
        assert last.status_code == 200, last.text
    assert last.json()["result"]["winner"] == 0 and last.json()["ended_by"] == "rules"


def test_a_private_game_does_not_exist_for_others(club: Club) -> None:
    ann, ben, game = pair(club)
    watched = pair(club, visibility="link")[2]
    cat, stranger = club.person(), club.person()
    own = cat.start(ME, ME)
    attempts: list[tuple[str, dict[str, Any]]] = [
        ("moves", {"ply": 0, "action": 0}),
        ("undo", {"ply": 0}),
        ("resign", {"ply": 0}),
        ("draw", {"ply": 0}),
        ("rematch", {}),
        ("level", {"seat": 0, "agent": "classical:random"}),
        ("now", {"ply": 0}),
    ]
    before, seen = ann.see(game), club.person().see(watched)
    assert seen["you"] == [] and seen["status"] == "their move" and not any(seen["can"].values())
    nothing = cat.get("games/nothing").json()
    for who in (cat, stranger):
        for path in (f"games/{game}", f"games/{game}/hint?ply=0", f"games/{game}/record", f"games/{game}/stream"):
            answer = who.get(path)
            assert answer.status_code == 404 and answer.json() == nothing, path
        for path, body in attempts:
            known = 401 if who is stranger else 404
            assert who.post(f"games/{game}/{path}", **body).status_code in (404, known), path
            assert who.post(f"games/{watched}/{path}", **body).status_code in (401, 403, 422), path
        with pytest.raises(WebSocketDisconnect) as closed, who.screen(game):
            pass
        assert closed.value.code == 4404
    assert ann.see(game) == before and club.person().see(watched) == seen
    assert [found["id"] for found in cat.get("games").json()["games"]] == [own["id"]]
    assert stranger.get("games").json() == {"games": []}
    assert game in [found["id"] for found in ben.get("games").json()["games"]]


def test_a_link_is_dead_once_it_is_used_up_canceled_or_wrong(club: Club) -> None:
    ann, ben, cat = club.person(), club.person(), club.person()
    state = ann.start(ME, OPEN)
    code = state["join"]["code"]
    assert cat.post("games/join", code="x" * 22).status_code == 404
    assert cat.get("games/join", code="nothing").status_code == 404
    assert "tabia" not in cat.client.cookies
    ben.state("games/join", code=code)
    assert cat.post("games/join", code=code).status_code == 404 and cat.get("games/join", code=code).status_code == 404
    other = ann.start(ME, OPEN)
    canceled = ann.state(f"games/{other['id']}/resign", ply=0)
    assert canceled["ended_by"] == "canceled" and canceled["result"]["text"] == "Canceled"
    assert cat.post("games/join", code=other["join"]["code"]).status_code == 404
    assert ann.post("games/join", code=state["join"]["code"] if state["join"] else "x").status_code == 200


def test_a_link_and_a_game_survive_a_restart(club: Club) -> None:
    ann, ben = club.person(), club.person()
    state = ann.start(ME, OPEN, clock={"initial_s": 60, "increment_s": 0})
    club.restart()
    assert ann.see(state["id"])["join"] == state["join"]
    ben.state("games/join", code=state["join"]["code"])
    club.clock.advance(10)
    moved = ann.move(state["id"], 0, 4).json()
    assert moved["clocks"] == [50_000, 60_000] and moved["running"] == 1
    club.clock.advance(20)
    club.restart()
    club.clock.advance(10_000)  # the server was down
    after = ben.see(state["id"])
    assert after["clocks"] == [50_000, 60_000] and after["status"] == "your move" and after["seats"] == moved["seats"]
    club.advance(30)  # the grace period
    assert ben.see(state["id"])["clocks"] == [50_000, 60_000]
    club.advance(59)
    assert ben.see(state["id"])["status"] == "your move" and ann.see(state["id"])["clocks"] == [50_000, 1000]
    club.advance(2)
    assert ben.see(state["id"])["ended_by"] == "time" and ben.see(state["id"])["result"]["winner"] == 0


def test_the_clock_ends_a_game_and_a_late_move_is_refused(club: Club) -> None:
    ann, ben, game = pair(club, clock={"initial_s": 30, "increment_s": 2})
    with ann.screen(game) as screen, ben.screen(game):
        while not all(screen.receive_json()["state"]["presence"]):
            pass
        club.clock.advance(31)  # no timer has fired yet
        late = ann.move(game, 0, 4)
        assert late.status_code == 422 and "over" in late.json()["detail"]
        over = screen.receive_json()["state"]
    assert over["ended_by"] == "time" and over["clocks"] == [0, 30_000] and over["result"]["winner"] == 1


def test_who_is_away_for_a_minute_loses_and_who_is_there_does_not(club: Club) -> None:
    ann, ben, game = pair(club)
    with ann.screen(game) as screen:
        with ben.screen(game):
            club.advance(600)
            assert ann.see(game)["status"] == "your move"
        state = screen.receive_json()["state"]
        while state["presence"] != [True, False]:
            state = screen.receive_json()["state"]
        assert state["away_ms"] == [None, 60_000]
        club.advance(59)
        assert ann.see(game)["status"] == "your move" and ann.see(game)["away_ms"] == [None, 1000]
        club.advance(1)
        over = ann.see(game)
        assert (over["ended_by"], over["result"]["winner"]) == ("abandonment", 0)
        assert over["result"]["text"] == f"{over['seats'][1]['name']} left the game"


def test_requests_count_as_being_there_and_a_game_against_an_agent_waits_forever(club: Club) -> None:
    ann, ben, game = pair(club)
    casual = ann.start(ME, AGENT)
    for ply, (who, action) in enumerate(((ann, 4), (ben, 0), (ann, 8))):
        club.advance(50)
        ann.see(game), ben.see(game)
        assert who.move(game, ply, action).status_code == 200
    club.advance(100_000)
    assert ann.see(casual["id"])["status"] == "your move" and ann.see(game)["ended_by"] == "abandonment"


def test_nobody_loses_because_the_server_was_down(club: Club) -> None:
    ann, ben, game = pair(club)
    club.restart()
    club.clock.advance(86_400)
    assert ann.see(game)["status"] == "your move"
    club.advance(89)  # the grace period and a minute, less a second
    assert ann.see(game)["status"] == "your move" and ben.see(game)["status"] == "their move"


def test_people_agree_on_a_draw_and_then_on_a_rematch(club: Club) -> None:
    ann, ben, game = pair(club)
    assert ann.state(f"games/{game}/draw", ply=0)["draw_offer"] == 0
    assert ann.post(f"games/{game}/rematch").status_code == 422
    with ben.screen(game) as screen:
        assert screen.receive_json()["state"]["draw_offer"] == 0
        assert ben.state(f"games/{game}/draw", ply=0)["ended_by"] == "agreement"
        offered = ann.state(f"games/{game}/rematch", 201, swap=True)
        assert offered["status"] == "waiting" and offered["you"] == [1]
        assert offered["waiting"] == f"Waiting for {offered['seats'][0]['name']}."
        states = [screen.receive_json()["state"] for _ in range(2)]
        assert states[-1]["rematch"] == offered["id"]
    accepted = ben.state(f"games/{game}/rematch", 201, swap=True)
    assert accepted["id"] == offered["id"] and accepted["you"] == [0] and accepted["status"] == "your move"
    assert ann.state(f"games/{game}/rematch", 201)["id"] == offered["id"]


def test_nobody_takes_back_or_gets_hints_against_a_person(club: Club) -> None:
    ann, ben, game = pair(club)
    assert ann.move(game, 0, 4).status_code == 200
    assert ann.post(f"games/{game}/undo", ply=1).status_code == 422
    assert ben.get(f"games/{game}/hint", ply=1).status_code == 422
    assert ben.post(f"games/{game}/now", ply=1).status_code == 422


def test_rated_games_need_a_ladder_and_an_agent_that_fits(club: Club) -> None:
    ann = club.person()
    level = {"kind": "agent", "agent": "level:first-steps"}
    for name, seats, more in (
        ("tictactoe", [ME, OPEN], {}),  # no ladder
        ("connect4", [ME, level], {}),  # chosen by the person
        ("connect4", [ME, ME], {}),
        ("connect4", [ME, OPEN], {"moves": "4"}),
        ("connect4", [level, level], {"rated": False}),  # nobody plays
        ("connect4", [{"kind": "human", "name": "Ben"}, OPEN], {"rated": False}),
    ):
        body = {"game": name, "seats": seats, "rated": True, **more}
        assert ann.post("games", **body).status_code == 422, body
    rated = ann.start(ME, OPEN, game="connect4", rated=True)
    assert rated["rated"] and rated["visibility"] == "link"


def test_a_person_and_an_agent_play_on_a_shared_server(club: Club) -> None:
    ann = club.person()
    state = ann.start(ME, AGENT)
    assert state["seats"][0]["name"].startswith("Guest") and state["you"] == [0]
    assert ann.move(state["id"], 0, 4).status_code == 200
    answered = wait(ann.client, state["id"])
    assert len(answered["moves"]) == 2 and answered["can"]["undo"] and answered["can"]["hint"]
    assert ann.state(f"games/{state['id']}/undo", ply=2)["moves"] == []


def test_a_move_whose_save_failed_is_not_acknowledged_and_can_be_sent_again(
    club: Club, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, _, game = pair(club)

    def fail(*arguments: Any) -> Any:
        raise Unavailable("The database does not answer.")

    with monkeypatch.context() as failing:
        failing.setattr(club.parts.store, "write", fail)
        assert ann.move(game, 0, 4).status_code == 503
    assert ann.see(game)["moves"] == []
    assert ann.move(game, 0, 4).status_code == 200
    assert _stored(club, game).actions == (4,)


@contextmanager
def _without_acknowledgment(club: Club) -> Iterator[None]:
    """The database takes what games write, but the server does not hear of it."""
    database = club.parts.store.database
    real = database.transaction

    @contextmanager
    def lost() -> Iterator[sql.Connection]:
        with real() as connection:
            yield connection
        if threading.current_thread().name == "writer":
            raise Unavailable("The connection was lost.")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(database, "transaction", lost)
        yield


def _stored(club: Club, game: str) -> Saved:
    saved = club.parts.store.load(game)
    assert saved is not None
    return saved


def test_a_stored_move_without_acknowledgment_is_repeated_and_all_screens_show_it(club: Club) -> None:
    ann, ben, game = pair(club)
    with ben.screen(game) as screen:
        screen.receive_json()
        with _without_acknowledgment(club):
            assert ann.move(game, 0, 4).status_code == 503
        again = ann.move(game, 0, 4)
        assert again.status_code == 200 and [move["action"] for move in again.json()["moves"]] == [4]
        ben.state(f"games/{game}/resign", ply=1)
        shown = screen.receive_json()["state"]
        assert shown["moves"] == again.json()["moves"] and shown["status"] == "your move"
    assert _stored(club, game).actions == (4,)


def test_an_agent_answers_a_stored_move_without_acknowledgment(club: Club) -> None:
    ann = club.person()
    game = ann.start(ME, AGENT)["id"]
    with _without_acknowledgment(club):
        assert ann.move(game, 0, 4).status_code == 503
    assert ann.move(game, 0, 4).json()["status"] == "thinking"
    until = time.monotonic() + 60
    while len(_stored(club, game).actions) < 2:  # nobody looks at the game, which would ask the agent again
        assert time.monotonic() < until, "The agent did not move."
        time.sleep(0.01)


def test_a_clock_that_ran_out_does_not_overwrite_a_stored_move_without_acknowledgment(club: Club) -> None:
    ann, ben, game = pair(club, clock={"initial_s": 30, "increment_s": 0})
    with ben.screen(game) as screen:
        screen.receive_json()
        with _without_acknowledgment(club):
            assert ann.move(game, 0, 4).status_code == 503
        club.advance(31)
        assert (_stored(club, game).actions, _stored(club, game).ended_by) == ((4,), None)
        shown = screen.receive_json()["state"]
        assert [move["action"] for move in shown["moves"]] == [4] and shown["running"] == 1


def test_a_rated_game_that_ended_without_acknowledgment_shows_its_ratings(club: Club) -> None:
    ann, ben, game = pair(club, game="connect4", rated=True)
    with _without_acknowledgment(club):
        assert ann.post(f"games/{game}/resign", ply=0).status_code == 503
    club.advance(61)  # both are away, but the game is over already
    over = ben.see(game)
    assert (over["ended_by"], over["result"]["winner"]) == ("resignation", 1)
    loser, winner = over["rating_change"]
    assert winner["change"] > 0 > loser["change"] and over["seats"][1]["elo"] == winner["after"]


def test_a_rated_game_ends_with_the_new_ratings_which_a_restart_keeps(club: Club) -> None:
    ann, ben, game = pair(club, game="connect4", rated=True, clock={"initial_s": 300, "increment_s": 3})
    assert ann.post(f"games/{game}/undo", ply=0).status_code == 422
    assert ann.get(f"games/{game}/hint", ply=0).status_code == 422
    assert ann.move(game, 0, 3).status_code == 200
    over = ben.state(f"games/{game}/resign", ply=1)
    winner, loser = over["rating_change"]
    assert winner["change"] > 0 > loser["change"] and winner["after"] == winner["before"] + winner["change"]
    assert [seat["elo"] for seat in over["seats"]] == [winner["after"], loser["after"]]
    assert over["seats"][0]["error"] == winner["deviation"]
    club.restart()
    again = ann.see(game)
    assert again["rating_change"] == over["rating_change"] and again["seats"] == over["seats"]
    saved = club.parts.store.load(game)
    assert saved is not None and saved.finished is not None and saved.ended_by == "resignation"


def test_a_canceled_game_is_not_rated(club: Club) -> None:
    ann = club.person()
    state = ann.start(ME, OPEN, game="connect4", rated=True)
    canceled = ann.state(f"games/{state['id']}/resign", ply=0)
    assert canceled["rated"] is False and canceled["rating_change"] is None


def test_games_that_wait_for_the_disk_share_one_commit(tmp_path: Path) -> None:
    """All of them are stored, each with its own number; one that cannot be stored does not spoil the others."""
    store = Store(tmp_path)
    commits, real, queued = [], store.database.transaction, threading.Event()

    @contextmanager
    def slow() -> Iterator[sql.Connection]:
        with real() as connection:
            yield connection
        commits.append(1)
        assert queued.wait(60)  # a slow disk: all others ask before the first commit has ended

    store.database.transaction = slow  # type: ignore[method-assign]
    writer = Writer(store)
    games = [
        Saved(
            id=str(number),
            game="tictactoe",
            rules=1,
            seed=number,
            seats=[{"kind": "human", "agent": None}] * 2,
            opening=0,
            created="2026-11-16T12:00:00.000+00:00",
            version=1,
            resigned=0,
            actions=(number % 9,),
            result={"text": "over"},
        )
        for number in range(60)
    ]
    futures = [writer.save(game) for game in games]
    queued.set()
    numbers = [future.result(120).finished for future in futures]
    assert sorted(numbers) == list(range(1, 61)) and len(commits) <= 10

    def fail(connection: sql.Connection, saved: Saved) -> None:
        raise RuntimeError("bad")

    bad, good = writer.save(games[0], fail), [writer.save(game) for game in games[1:5]]
    assert all(future.result(120).id for future in good)
    with pytest.raises(RuntimeError, match="bad"):
        bad.result(120)
    writer.close()
    assert {saved.id for saved in store.listed(limit=100)} == {game.id for game in games}
    with pytest.raises(Unavailable, match="stopping"):
        writer.save(games[0])
    store.close()
