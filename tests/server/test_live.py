"""A live game without a server: events in, games and wanted searches out."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tabia.games import make
from tabia.games.session import Session
from tabia.server.errors import Forbidden, Refused, Stale
from tabia.server.play import live, state
from tabia.server.play.clocks import TimeControl
from tabia.server.play.live import LiveGame, Search
from tabia.server.play.seats import Card, Seat

PERSON, CLUB = Seat("human"), Seat("agent", "level:club")


def game(*seats: Seat, moves: str = "", id: str = "tictactoe") -> LiveGame:
    session = Session.from_moves(make(id), moves)
    return live.start(session, seats or (PERSON, CLUB), id="x", created="now", now=10.0)


def test_an_agents_turn_wants_a_search_and_its_answer_is_played() -> None:
    first = game()
    assert first.wanted is None and first.status == "your move"
    asked = live.move(first, 0, 4, now=11.0)
    assert asked.status == "thinking" and asked.wanted == Search(1, "level:club", asked.version)
    shown = state.state(asked, {"level:club": Card("Club", elo=1000)}, now=11.25)
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
    assert state.seat_names(game(), cards) == ["You", "Club"]
    assert state.seat_names(game(PERSON, PERSON), cards) == ["X", "O"]
    assert state.seat_names(game(CLUB, CLUB), cards) == ["Club (X)", "Club (O)"]
    assert state.seat_names(game(PERSON, Seat("agent", "run:gone@5")), cards) == ["You", "run:gone@5"]


@pytest.mark.parametrize(
    ("moves", "text"),
    [
        ("b2 a2 a1 c1 c3", "You won with three in a row"),
        ("a2 b2 c1 a1 a3 c3", "Club won with three in a row"),
        ("b2 a1 a3 c1 b1 b3 c2 a2 c3", "Drawn: the board is full"),
    ],
)
def test_results_are_sentences_with_names_and_reasons(moves: str, text: str) -> None:
    shown = state.state(game(moves=moves), {"level:club": Card("Club")}, now=0.0)
    assert shown["result"]["text"] == text and shown["can"] == {
        "undo": False,
        "hint": False,
        "resign": False,
        "draw": False,
        "rematch": True,
    }


def test_a_rematch_starts_from_the_opening() -> None:
    played = live.move(game(moves="b2 a1"), 2, 8, now=0.0)
    new = live.rematch(played, swap=True, id="y", created="later", seed=3, now=5.0)
    assert new.session.actions == (4, 6) and new.seats == (CLUB, PERSON) and new.wanted is not None


# People against each other.

ANN, BEN, ASKED = Seat("human", person="a", name="Ann"), Seat("human", person="b", name="Ben"), Seat("open")


def test_a_repeat_of_the_last_move_changes_nothing_even_after_the_agents_answer() -> None:
    asked = live.move(game(), 0, 4, now=0.0)
    assert live.move(asked, 0, 4, now=1.0) is asked
    assert asked.wanted is not None
    answered = live.answer(asked, asked.wanted, 0, now=2.0)
    assert live.move(answered, 0, 4, now=3.0) is answered
    later = live.move(answered, 2, 8, now=4.0)
    with pytest.raises(Stale):  # not the last one any more
        live.move(later, 0, 4, now=5.0)


def test_nobody_repeats_the_opening_or_the_move_of_another() -> None:
    opened = game(ANN, BEN, moves="b2")
    with pytest.raises(Stale):
        live.move(opened, 0, 4, now=0.0, person="a")
    played = live.move(opened, 1, 0, now=0.0, person="b")
    with pytest.raises(Stale):
        live.move(played, 1, 0, now=0.0, person="a")
    assert live.move(played, 1, 0, now=0.0, person="b") is played


def test_two_people_agree_on_a_draw_and_a_move_of_the_other_declines_it() -> None:
    offered = live.draw(game(ANN, BEN), 0, now=0.0, person="a")
    assert offered.draw_offer == 0 and live.draw(offered, 0, now=0.0, person="a") is offered
    moved = live.move(offered, 0, 4, now=0.0, person="a")
    assert moved.draw_offer == 0
    agreed = live.draw(moved, 1, now=0.0, person="b")
    shown = state.state(agreed, {}, now=0.0, person="a")
    assert agreed.scores == (0.0, 0.0) and agreed.winner is None and shown["ended_by"] == "agreement"
    assert shown["result"]["text"] == "Drawn by agreement" and shown["draw_offer"] is None
    assert live.move(moved, 1, 0, now=0.0, person="b").draw_offer is None
    with pytest.raises(Refused, match="agree on a draw"):
        live.draw(game(ANN, CLUB), 0, now=0.0, person="a")


def test_rated_games_have_no_undo_no_hint_and_no_other_agent() -> None:
    session = Session.start(make("tictactoe"))
    rated = live.start(session, (ANN, CLUB), id="x", created="now", now=0.0, rated=True)
    asked = live.move(rated, 0, 4, now=0.0, person="a")
    assert state.personal(rated, now=0.0, person="a")["can"]["hint"] is False
    for event in (
        lambda: live.undo(asked, 1, now=0.0, person="a"),
        lambda: live.change_agent(asked, 1, "level:other", now=0.0, person="a"),
    ):
        with pytest.raises(Refused, match="rated"):
            event()
    left = live.abandon(asked, 0, now=0.0)
    assert (left.ended_by, left.winner) == ("abandonment", 1) and left.wanted is None
    assert state.state(left, {}, now=0.0)["result"]["text"] == "Ann left the game"
    assert live.rematch(left, swap=False, id="y", created="", seed=0, now=0.0, person="a").rated is False


def test_nobody_loses_a_casual_game_by_leaving_it() -> None:
    for casual in (game(), game(PERSON, PERSON), game(ANN, CLUB), game(ANN, ASKED)):
        assert live.abandon(casual, 0, now=0.0) is casual


def test_a_rematch_against_a_person_waits_for_that_person() -> None:
    over = live.resign(game(ANN, BEN), 0, None, now=0.0, person="b")
    assert over.winner == 0
    new = live.rematch(over, swap=True, id="y", created="", seed=0, now=0.0, person="a")
    assert new.status == "waiting" and new.seats == (Seat("open", person="b", name="Ben"), ANN)
    with pytest.raises(Refused, match="Nobody else can join"):
        live.join(new, person="c", name="Cat", now=0.0)
    assert live.join(new, person="b", name="Ben", now=0.0).seats == (BEN, ANN)
    with pytest.raises(Refused, match="Finish this game first"):
        live.rematch(game(ANN, BEN), swap=True, id="y", created="", seed=0, now=0.0, person="a")


LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


class ThreePeople(RuleBasedStateMachine):
    """Ann opens a game on the clock, anyone joins, and all three try everything at any time.

    The model knows tic-tac-toe, who is seated, whose clock runs, and who may do what; it shares no code with the game.
    """

    def __init__(self) -> None:
        super().__init__()
        self.now, self.deadline = 0.0, None
        clock = TimeControl(30)
        session = Session.start(make("tictactoe"))
        self.live = live.start(session, (ANN, ASKED), id="x", created="", now=self.now, clock=clock, rated=True)
        self.seated = ["a"]
        self.left = [30.0, 30.0]
        self.played: list[int] = []
        self.end: tuple[str, int | None] | None = None  # why, and who won
        self.offer: int | None = None

    @property
    def mover(self) -> int:
        return len(self.played) % 2

    def expect(self, event: Callable[[], LiveGame], refusal: type[Exception] | None) -> bool:
        """Whether the event happened, exactly if the model allows it."""
        before = self.live
        if refusal is None:
            self.live = event()
            assert self.live.version == before.version + 1
            return True
        with pytest.raises(refusal):
            event()
        assert self.live is before
        return False

    def refusal(self, person: str, ply: int) -> type[Exception] | None:
        if person not in self.seated:
            return Forbidden
        if ply != len(self.played):
            return Stale
        return Refused if self.end or len(self.seated) < 2 else None

    @rule(person=st.sampled_from("abc"), back=st.integers(-1, 2), action=st.integers(0, 9))
    def move(self, person: str, back: int, action: int) -> None:
        ply = max(0, len(self.played) - back)
        last = max((p for p in range(len(self.played)) if self.seated[p % 2] == person), default=None)
        if person in self.seated and ply == last and self.played[ply] == action:
            assert live.move(self.live, ply, action, now=self.now, person=person) is self.live
            return
        refusal = self.refusal(person, ply)
        if refusal is None and (self.seated[self.mover] != person or action in self.played or action > 8):
            refusal = Refused
        if self.expect(lambda: live.move(self.live, ply, action, now=self.now, person=person), refusal):
            self.offer = self.offer if self.offer == self.mover else None
            self.played.append(action)
            self._check_rules()

    def _check_rules(self) -> None:
        stones = [set(self.played[0::2]), set(self.played[1::2])]
        for seat, own in enumerate(stones):
            if any(own >= set(line) for line in LINES):
                self.end = ("rules", seat)
        if self.end is None and len(self.played) == 9:
            self.end = ("rules", None)

    @rule(person=st.sampled_from("abc"), seat=st.sampled_from([None, 0, 1]))
    def resign(self, person: str, seat: int | None) -> None:
        refusal = self.refusal(person, len(self.played))
        own = self.seated.index(person) if person in self.seated else None
        cancels = person in self.seated and len(self.seated) == 1 and self.end is None
        if refusal is None or cancels:
            refusal = None if seat in (None, own) else Refused
        happened = self.expect(
            lambda: live.resign(self.live, len(self.played), seat, now=self.now, person=person), refusal
        )
        if happened and own is not None:
            self.end = ("canceled", None) if cancels else ("resignation", 1 - own)

    @rule(person=st.sampled_from("abc"))
    def draw(self, person: str) -> None:
        refusal = self.refusal(person, len(self.played))
        own = self.seated.index(person) if person in self.seated else None
        if refusal is None and self.offer == own:
            assert live.draw(self.live, len(self.played), now=self.now, person=person) is self.live
        elif self.expect(lambda: live.draw(self.live, len(self.played), now=self.now, person=person), refusal):
            self.end, self.offer = (("agreement", None), None) if self.offer is not None else (None, own)

    @rule(person=st.sampled_from("abc"))
    def undo(self, person: str) -> None:
        refusal = Forbidden if person not in self.seated else Refused
        self.expect(lambda: live.undo(self.live, len(self.played), now=self.now, person=person), refusal)

    @rule(person=st.sampled_from("abc"))
    def join(self, person: str) -> None:
        if person in self.seated:
            assert live.join(self.live, person=person, name=person, now=self.now) is self.live
        elif self.expect(
            lambda: live.join(self.live, person=person, name=person, now=self.now),
            Refused if len(self.seated) == 2 or self.end else None,
        ):
            self.seated.append(person)

    @rule(seconds=st.integers(0, 20))
    def wait(self, seconds: int) -> None:
        self.now += seconds
        if len(self.seated) == 2 and self.end is None:
            self.left[self.mover] -= seconds
            if self.left[self.mover] <= 0:
                self.left[self.mover] = 0
                self.end = ("time", 1 - self.mover)
        self.live = live.check_time(self.live, now=self.now)

    @rule(seat=st.integers(0, 1))
    def abandon(self, seat: int) -> None:
        before, counts = self.live, self.end is None and len(self.seated) == 2
        self.live = live.abandon(self.live, seat, now=self.now)
        assert (self.live is not before) == counts
        if counts:
            self.end = ("abandonment", 1 - seat)

    @invariant()
    def agrees(self) -> None:
        assert list(self.live.session.actions) == self.played
        assert (self.live.ended_by, self.live.winner) == (self.end or (None, None))
        assert [self.live.seats_of(person) for person in "abc"] == [
            (self.seated.index(person),) if person in self.seated else () for person in "abc"
        ]
        assert self.live.clocks is not None
        assert list(self.live.clocks.at(self.now)) == [round(1000 * seconds) for seconds in self.left]
        for person in "abc":
            shown = state.personal(self.live, now=self.now, person=person)
            moves = self.end is None and len(self.seated) == 2 and self.seated[self.mover] == person
            assert (shown["status"] == "your move") == moves
            assert not shown["can"]["hint"] and not shown["can"]["undo"]


ThreePeople.TestCase.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
TestThreePeople = ThreePeople.TestCase
