"""Clocks: time is used by the seat to move only, increments come after a turn, and nothing is lost before a start."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabia.games import make
from tabia.games.session import Session
from tabia.server.play import live, state
from tabia.server.play.clocks import Clocks, TimeControl
from tabia.server.play.live import LiveGame
from tabia.server.play.seats import Seat

ANN, BEN = Seat("human", person="a", name="Ann"), Seat("human", person="b", name="Ben")
AGENT = Seat("agent", "level:club")


def game(*seats: Seat, initial: int = 60, increment: int = 0, id: str = "tictactoe") -> LiveGame:
    session = Session.start(make(id))
    clock = TimeControl(initial, increment)
    return live.start(session, seats or (ANN, BEN), id="x", created="now", now=100.0, clock=clock)


def left(game: LiveGame, now: float) -> list[int | None]:
    return state.personal(game, now=now)["clocks"]


def test_only_the_seat_to_move_uses_time_and_the_increment_comes_after_its_turn() -> None:
    first = game(increment=2)
    assert left(first, 100.0) == [60_000, 60_000] and left(first, 107.5) == [52_500, 60_000]
    second = live.move(first, 0, 4, now=110.0, person="a")
    assert left(second, 110.0) == [52_000, 60_000]  # 10 s used, 2 s added
    third = live.move(second, 1, 0, now=111.0, person="b")
    assert left(third, 121.0) == [42_000, 61_000]


def test_a_game_is_lost_when_the_clock_reaches_zero_and_not_before() -> None:
    first = game(initial=10)
    assert first.clocks is not None and first.clocks.deadline == 110.0
    assert live.check_time(first, now=109.999) is first
    over = live.check_time(first, now=110.0)
    assert (over.ended_by, over.lost, over.winner, over.scores) == ("time", 0, 1, (-1.0, 1.0))
    shown = state.state(over, {}, now=500.0, person="b")
    assert shown["result"]["text"] == "Ann ran out of time" and shown["status"] == "over"
    assert shown["clocks"] == [0, 10_000] and shown["running"] is None and shown["position"]["legal"] == []
    assert live.check_time(over, now=600.0) is over


def test_agents_have_no_clock_and_people_none_while_an_agent_thinks() -> None:
    asked = live.move(game(ANN, AGENT), 0, 4, now=105.0, person="a")
    assert left(asked, 900.0) == [55_000, None] and live.check_time(asked, now=900.0) is asked
    assert asked.wanted is not None
    back = live.answer(asked, asked.wanted, 0, now=1000.0)
    assert left(back, 1001.0) == [54_000, None]


def test_clocks_start_once_everybody_is_there() -> None:
    waiting = game(ANN, Seat("open"))
    assert waiting.status == "waiting" and left(waiting, 5000.0) == [60_000, 60_000]
    joined = live.join(waiting, person="b", name="Ben", now=5000.0)
    assert left(joined, 5001.0) == [59_000, 60_000]


def test_a_clock_that_starts_later_loses_nothing_before() -> None:
    paused = Clocks(TimeControl(60), (60_000, 60_000), running=0, since=130.0)
    assert paused.at(100.0) == (60_000, 60_000) and paused.at(131.0) == (59_000, 60_000)


def test_in_a_game_for_three_the_others_share_the_win() -> None:
    third = Seat("human", person="c", name="Cat")
    over = live.check_time(game(ANN, BEN, third, initial=5, id="chinese-checkers"), now=200.0)
    low, high = over.session.game.score_range
    assert over.over and over.scores == (low, high, high) and over.winner is None and over.wanted is None
    shown = state.state(over, {}, now=200.0, person="b")
    assert shown["position"]["over"] and shown["position"]["legal"] == []
    assert shown["result"]["text"] == "Ann ran out of time" and shown["ended_by"] == "time"


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 5_000)), max_size=12),
    st.integers(1, 20),
    st.integers(0, 3),
)
def test_time_is_conserved(turns: list[tuple[int, int]], initial: int, increment: int) -> None:
    """What a seat has left is what it had, plus its increments, minus exactly the time of its turns."""
    clocks = Clocks.new(TimeControl(initial, increment), (True, True)).start(0, 0.0)
    expected, running, now = [1000 * initial] * 2, 0, 0
    for seat, ms in turns:
        now += ms
        expected[running] = max(0, expected[running] - ms)
        if seat != running:
            expected[running] += 1000 * increment
        clocks, running = clocks.start(seat, now / 1000), seat
    assert list(clocks.remaining) == pytest.approx(expected, abs=len(turns))  # each turn is rounded to a ms
