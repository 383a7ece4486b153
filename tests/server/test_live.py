"""A live game without a server: events in, games and wanted searches out."""

from __future__ import annotations

import pytest

from tabia.games import make
from tabia.games.session import Session
from tabia.server.errors import Refused, Stale
from tabia.server.play import live
from tabia.server.play.live import Card, LiveGame, Search, Seat

PERSON, CLUB = Seat("human"), Seat("agent", "level:club")


def game(*seats: Seat, moves: str = "", id: str = "tictactoe") -> LiveGame:
    session = Session.from_moves(make(id), moves)
    return live.start(session, seats or (PERSON, CLUB), id="x", created="now", now=10.0)


def test_an_agents_turn_wants_a_search_and_its_answer_is_played() -> None:
    first = game()
    assert first.wanted is None and first.status == "your move"
    asked = live.move(first, 0, 4, now=11.0)
    assert asked.status == "thinking" and asked.wanted == Search(1, "level:club", asked.version)
    shown = live.state(asked, {"level:club": Card("Club", elo=1000)}, now=11.25)
    assert shown["thinking"] == {"seat": 1, "since_ms": 250, "limit_ms": 5000}
    answered = live.answer(asked, asked.wanted, 0, now=12.0)
    assert answered.session.actions == (4, 0) and answered.wanted is None


def test_an_answer_to_an_older_version_is_dropped() -> None:
    asked = live.move(game(), 0, 4, now=0.0)
    search = asked.wanted
    assert search is not None
    changed = live.change_agent(asked, 1, "level:other", now=1.0)
    assert live.answer(changed, search, 0, now=2.0) is changed
    back = live.undo(asked, 1, now=1.0)
    assert live.answer(back, search, 0, now=2.0) is back
    again = live.move(back, 0, 4, now=3.0)
    assert live.answer(again, search, 0, now=4.0) is again  # the same position, but another request


def test_versions_only_rise() -> None:
    games = [game()]
    games.append(live.move(games[-1], 0, 4, now=0.0))
    games.append(live.undo(games[-1], 1, now=0.0))
    games.append(live.resign(games[-1], 0, 0, now=0.0))
    games.append(live.undo(games[-1], 0, now=0.0))
    versions = [found.version for found in games]
    assert versions == sorted(set(versions))


def test_events_out_of_turn_are_refused() -> None:
    asked = live.move(game(), 0, 4, now=0.0)
    with pytest.raises(Stale, match="at move 1, not 0"):
        live.move(asked, 0, 0, now=0.0)
    with pytest.raises(Refused, match="Wait for the other seat"):
        live.move(asked, 1, 0, now=0.0)
    with pytest.raises(Refused, match="not a person's"):
        live.resign(asked, 1, 1, now=0.0)
    over = game(PERSON, PERSON, moves="b2 a2 a1 c1 c3")
    with pytest.raises(Refused, match="The game is over"):
        live.move(over, 5, 0, now=0.0)


def test_two_people_take_back_one_move_each() -> None:
    played = live.move(live.move(game(PERSON, PERSON), 0, 4, now=0.0), 1, 0, now=0.0)
    once = live.undo(played, 2, now=0.0)
    assert once.session.actions == (4,) and live.undo(once, 1, now=0.0).session.actions == ()


def test_people_are_you_or_the_name_of_their_seat() -> None:
    cards = {"level:club": Card("Club")}
    assert live.seat_names(game(), cards) == ["You", "Club"]
    assert live.seat_names(game(PERSON, PERSON), cards) == ["X", "O"]
    assert live.seat_names(game(CLUB, CLUB), cards) == ["Club (X)", "Club (O)"]
    assert live.seat_names(game(PERSON, Seat("agent", "run:gone@5")), cards) == ["You", "run:gone@5"]


@pytest.mark.parametrize(
    ("moves", "text"),
    [
        ("b2 a2 a1 c1 c3", "You won with three in a row"),
        ("a2 b2 c1 a1 a3 c3", "Club won with three in a row"),
        ("b2 a1 a3 c1 b1 b3 c2 a2 c3", "Drawn: the board is full"),
    ],
)
def test_results_are_sentences_with_names_and_reasons(moves: str, text: str) -> None:
    shown = live.state(game(moves=moves), {"level:club": Card("Club")}, now=0.0)
    assert shown["result"]["text"] == text and shown["can"] == {"undo": False, "hint": False, "resign": False}


def test_a_rematch_starts_from_the_opening() -> None:
    played = live.move(game(moves="b2 a1"), 2, 8, now=0.0)
    new = live.rematch(played, swap=True, id="y", created="later", seed=3, now=5.0)
    assert new.session.actions == (4, 6) and new.seats == (CLUB, PERSON) and new.wanted is not None
