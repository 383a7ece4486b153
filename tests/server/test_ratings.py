"""Ratings of people: scoring, matching and the leaderboard as pure functions; the book and the recount."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import sqlalchemy as sql
from typer.testing import CliRunner

from tabia.cli.main import app
from tabia.core.elo import expected_score
from tabia.evaluation.glicko import Rating, Result
from tabia.server.accounts import privacy
from tabia.server.catalog.catalog import Catalog
from tabia.server.clock import ManualClock
from tabia.server.database.schema import people, ratings, results
from tabia.server.database.store import Saved, Store
from tabia.server.ratings import matching, scoring
from tabia.server.ratings.book import Change, Ratings
from tabia.server.ratings.leaderboard import Standing, leaderboard
from tabia.server.ratings.matching import Opponent, PlayedGame
from tabia.server.ratings.recount import recount

STEPS = (0, 196, 422, 650, 832, 996, 1156, 1401)  # the ladder of Connect 4
LADDER = [Opponent(f"level:{number}", str(number), float(elo)) for number, elo in enumerate(STEPS)]
START = scoring.newcomer(STEPS)


def test_a_game_counts_once_for_each_seat() -> None:
    """Weights of a seat add up to 1; the two sides of a pair add up to one point; equal scores are draws."""
    for scores in ([1.0, -1.0], [0.0, 0.0], [3.0, 1.0, 0.0], [1.0, 1.0, 0.0, 3.0]):
        found = scoring.pairings(scores)
        for seat in range(len(scores)):
            assert sum(pair.weight for pair in found if pair.seat == seat) == pytest.approx(1)
        both = {(pair.seat, pair.opponent): pair.score for pair in found}
        for (one, other), score in both.items():
            assert score + both[other, one] == 1
            assert (score > 0.5, score == 0.5) == (scores[one] > scores[other], scores[one] == scores[other])


def test_a_newcomers_interval_covers_the_ladder() -> None:
    for ladder in (STEPS, (0, 2000), (0, 100)):
        start = scoring.newcomer(ladder)
        assert start.rating - start.error <= min(ladder) and max(ladder) <= start.rating + start.error
        assert start.deviation >= 350


# Matching.


def test_placement_bisects_the_ladder_in_three_to_five_games() -> None:
    """For every strength, against opponents who lose to stronger people: the interval ends around the strength."""
    for size in (1, 2, 3, 5, 8, 12, 20, 31):
        ladder = [Opponent(f"level:{n}", str(n), 100.0 * n) for n in range(size)]
        for strength in range(-50, 100 * size + 50, 50):
            played: list[PlayedGame] = []
            while not matching.placement(ladder, played).done:
                found = matching.next_match(ladder, 50.0 * size, played, seats=2, draw=lambda n: 0)
                score = 0.5 * (1 + (strength > found.opponent.elo) - (strength < found.opponent.elo))
                played.append(PlayedGame(found.opponent.elo, score))
                assert found.why.startswith(f"Placement game {len(played)} of 3 to 5: ")
            state = matching.placement(ladder, played)
            assert 3 <= len(played) <= 5 and state.low <= strength <= state.high
            inside = [one for one in ladder if state.low < one.elo < state.high]
            assert not inside  # 31 agents need five games, as 2^5 - 1 = 31


def test_after_the_placement_comes_the_closest_higher_agent() -> None:
    done = [PlayedGame(650, 1), PlayedGame(996, 0), PlayedGame(832, 0)]
    for rating, elo in ((-20, 0), (0, 0), (650, 650), (650.1, 832), (1400.9, 1401), (1401.5, 1401), (2500, 1401)):
        found = matching.next_match(LADDER, rating, done, seats=2, draw=lambda n: n - 1)
        assert found.opponent.elo == elo and found.seat == 1
        assert ("strongest" in found.why) == (rating > 1401)


def test_every_seat_is_drawn() -> None:
    dice = random.Random(0)
    seats = [matching.next_match(LADDER, 0, [], seats=3, draw=dice.randrange).seat for _ in range(300)]
    assert all(70 <= seats.count(seat) <= 130 for seat in range(3))


def test_matched_people_are_rated_within_their_intervals() -> None:
    """Placement and 20 matched games for 1,000 simulated people: 93% to 97% of the intervals cover the strength."""
    dice, covered = random.Random(4), 0
    for _ in range(1000):
        strength, own, played = dice.gauss(START.rating, 404), START, list[PlayedGame]()
        for _ in range(20):
            found = matching.next_match(LADDER, own.rating, played, seats=2, draw=dice.randrange)
            advantage = 40.0 if found.seat == 0 else -40.0
            score = float(dice.random() < expected_score(strength - found.opponent.elo + advantage))
            result = Result(Rating(found.opponent.elo, 20), score, advantage=advantage)
            own = scoring.rate(own, result, elapsed=0.0)
            played.append(PlayedGame(found.opponent.elo, score))
        covered += abs(own.rating - strength) <= own.error
    assert 930 <= covered <= 970, covered


# The daily cap.


def test_a_farmer_gains_no_more_than_the_cap_per_day_from_one_opponent() -> None:
    """An accomplice loses 60 games in a day, at every certainty; and the interval does not shrink for nothing."""
    for deviation in (45.0, 90.0, 420.0):
        own, other, gained = Rating(700, deviation), Rating(1400, 60), 0.0
        for _ in range(60):
            result = Result(other, 1.0)
            weight = scoring.fair_weight(own, result, elapsed=0.0, gained=gained)
            after = scoring.rate(own, replace(result, weight=weight), elapsed=0.0)
            gained, own = gained + after.rating - own.rating, after
        assert gained == pytest.approx(scoring.DAILY_CAP, abs=0.01) and gained < scoring.DAILY_CAP + 1e-4
    fresh = Rating(700, 420)
    whole = scoring.rate(fresh, Result(other, 1.0), elapsed=0.0)
    weight = scoring.fair_weight(fresh, Result(other, 1.0), elapsed=0.0, gained=0.0)
    part = scoring.rate(fresh, Result(other, 1.0, weight), elapsed=0.0)
    assert whole.deviation < part.deviation < fresh.deviation


def test_the_cap_does_not_touch_games_below_it_nor_the_way_back() -> None:
    own, other = Rating(700, 60), Rating(720, 60)
    for score, gained in ((1.0, 0.0), (1.0, -100.0), (0.0, 100.0), (0.0, 250.0), (0.5, 0.0)):
        assert scoring.fair_weight(own, Result(other, score), elapsed=0.1, gained=gained) == 1.0
    assert scoring.fair_weight(own, Result(other, 0.0), elapsed=0.1, gained=-100.0) < 1e-6


def test_ratings_grow_uncertain_by_the_week() -> None:
    day, later = "2026-11-01T12:00:00.000+00:00", "2026-11-15T12:00:00.000+00:00"
    assert scoring.weeks_between(day, later) == 2 and scoring.weeks_between(later, day) == 0
    now = scoring.at(Rating(700, 50), day, later)
    assert now.rating == 700 and 50 < now.deviation < 53
    assert scoring.at(Rating(700, 50), day, "2126-11-01T12:00:00.000+00:00").deviation == 350


# The leaderboard.


def test_places_and_what_the_uncertainty_leaves_open() -> None:
    """Two clear leaders, two who cannot be told apart, and a newcomer without a place."""
    people = [("ann", 1400, 20), ("bob", 1200, 20), ("cat", 900, 60), ("dan", 950, 60), ("eve", 2000, 300)]
    found = leaderboard([Standing(name, Rating(rating, deviation), 30) for name, rating, deviation in people])
    shown = [(row.standing.name, row.place, row.best, row.worst) for row in found]
    assert shown == [("ann", 1, 1, 1), ("bob", 2, 2, 2), ("dan", 3, 3, 4), ("cat", 4, 3, 4), ("eve", None, None, None)]


def test_equal_ratings_share_a_place() -> None:
    found = leaderboard([Standing(name, Rating(rating, 50), 9) for name, rating in (("a", 5), ("b", 7), ("c", 7))])
    assert [(row.standing.name, row.place) for row in found] == [("b", 1), ("c", 1), ("a", 3)]


# The book and the recount.


class Club:
    """A store with four members, and finished games as the hub saves them."""

    def __init__(self, database: Path | str, catalog: Catalog) -> None:
        self.store, self.clock = Store(database), ManualClock()
        self.catalog, self.ratings = catalog, Ratings(catalog, self.store.database)
        self.count = 0
        members = [
            {"id": name, "name": name, "name_key": name, "role": "member", "created": self.clock.stamp()}
            for name in "abcd"
        ]
        with self.store.database.transaction() as connection:
            connection.execute(people.insert(), members)

    def play(self, game: str, *players: str, scores: tuple[float, ...] = (1.0, -1.0)) -> list[Change | None]:
        """A finished rated game of people by id and agents by theirs."""
        self.count += 1
        saved = Saved(
            id=f"game{self.count}",
            game=game,
            rules=1,
            seed=0,
            seats=[_seat(player) for player in players],
            opening=0,
            created=self.clock.stamp(),
            version=1,
            resigned=None,
            actions=(),
            result={"scores": list(scores)},
            rated=True,
            finished_at=self.clock.stamp(),
        )
        changes: list[Change | None] = []
        for _ in range(2):  # a commit whose acknowledgment was lost is tried again
            self.store.save(saved, partial(self._finish, changes))
        return changes

    def _finish(self, changes: list[Change | None], connection: sql.Connection, saved: Saved) -> None:
        changes[:] = self.ratings.finish(connection, saved)

    def rating(self, person: str, game: str = "connect4") -> tuple[float, float]:
        found = self.ratings.of(person, game)
        assert found is not None
        return found

    def delete(self, person: str) -> None:
        with self.store.database.transaction() as connection:
            privacy.delete(connection, person)


def _seat(player: str) -> dict[str, str | None]:
    if ":" in player:
        return {"kind": "agent", "agent": player}
    return {"kind": "human", "agent": None, "person": player, "name": player}


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return Catalog()


@pytest.fixture
def club(database: Path | str, catalog: Catalog) -> Iterator[Club]:
    found = Club(database, catalog)
    yield found
    found.store.close()


def test_a_game_with_an_agent_changes_the_persons_rating_only(club: Club) -> None:
    """By the formula, from the ladder of Connect 4: Regular stands at 832 with an interval of 45 points."""
    agent = next(agent for agent in club.catalog.game("connect4").agents.values() if agent.elo == 832)
    changes = club.play("connect4", "a", agent.id)
    opponent = Rating(832, (agent.error or 0) / 1.959964)
    wanted = scoring.rate(START_OF_CONNECT4, Result(opponent, 1.0), elapsed=0.0)
    assert changes == [Change(START_OF_CONNECT4.rating, wanted.rating, wanted.deviation), None]
    assert club.rating("a") == (wanted.rating, wanted.deviation) and club.ratings.of("a", "othello") is None
    assert club.ratings.changes("game1") == changes and club.ratings.changes("none") is None
    club.clock.advance(30 * 86_400)
    club.play("connect4", agent.id, "a", scores=(0.0, 0.0))
    weeks = 30 / 7
    again = scoring.rate(wanted, Result(opponent, 0.5), elapsed=weeks)
    assert club.rating("a") == (again.rating, again.deviation)


START_OF_CONNECT4 = scoring.newcomer([0.0, 1401.0])


def test_games_between_people_change_both_and_are_capped(club: Club) -> None:
    for _ in range(8):
        club.play("connect4", "a", "b")
    won, lost = club.rating("a")[0] - START_OF_CONNECT4.rating, club.rating("b")[0] - START_OF_CONNECT4.rating
    assert won == pytest.approx(scoring.DAILY_CAP, abs=0.01) and lost == pytest.approx(-won, abs=0.02)
    club.clock.advance(86_400)
    club.play("connect4", "a", "b")
    assert club.rating("a")[0] > START_OF_CONNECT4.rating + won + 10
    assert not recount(club.catalog, club.store.database).differences


def test_new_accounts_do_not_get_around_the_cap(club: Club) -> None:
    """All people with a provisional rating together move a rating by no more than the cap."""
    for opponent in "bcdbcd":
        club.play("connect4", "a", opponent)
    assert club.rating("a")[0] - START_OF_CONNECT4.rating == pytest.approx(scoring.DAILY_CAP, abs=0.01)
    assert not recount(club.catalog, club.store.database).differences


def test_three_seats_give_two_results_of_half_weight(club: Club) -> None:
    changes = club.play("chinese-checkers", "a", "level:summit", "b", scores=(1.0, 3.0, 0.0))
    assert [change is None for change in changes] == [False, True, False]
    with club.store.database.transaction() as connection:
        rows = connection.execute(sql.select(results).order_by(results.c.id)).all()
    assert [(row.person_id, row.opponent_seat, row.score) for row in rows] == [
        ("a", 1, 0.0),
        ("a", 2, 1.0),
        ("b", 0, 0.0),
        ("b", 1, 0.0),
    ]
    assert [row.moved_first for row in rows] == [True, True, False, False]
    assert rows[0].weight == rows[3].weight == 0.5
    assert rows[0].rating_after == rows[1].rating_before  # pairs follow one another


def test_games_that_are_not_rated_change_nothing(club: Club) -> None:
    assert club.play("tictactoe", "a", "b") == []  # no ladder
    assert club.play("connect4", "a", "classical:random") == [None, None]  # an agent without a rating
    with club.store.database.transaction() as connection:
        assert connection.execute(sql.select(ratings)).first() is None


def test_a_recount_equals_the_stored_rows_after_any_history(club: Club) -> None:
    """People, agents, two and three seats, days and weeks between games, and an account that is deleted on the way."""
    dice = random.Random(7)
    agents = {game: [a.id for a in club.catalog.game(game).agents.values() if a.elo is not None] for game in GAMES}
    members = list("abcd")
    for number in range(30):
        game = dice.choice(GAMES)
        count = 2 if game == "connect4" else 3
        players = [dice.choice(members)] + [dice.choice(agents[game]) for _ in range(count - 1)]
        other = dice.choice(members)
        if other not in players and dice.random() < 0.6:
            players[1] = other
        dice.shuffle(players)
        club.play(
            game, *players, scores=tuple(dice.choice([(1.0, -1.0, 0.0), (0.0, 0.0, 3.0), (0.0, 1.0, 1.0)])[:count])
        )
        club.clock.advance(dice.choice([60, 3600, 86_400, 20 * 86_400]))
        if number == 20:
            club.delete("d")
            members.remove("d")
    found = recount(club.catalog, club.store.database)
    assert found.games == 30 and len(found.computed) > 30 and found.computed == found.stored
    assert not found.differences


def test_a_recount_finds_and_repairs_what_was_changed_by_hand(club: Club) -> None:
    for score in (1.0, 0.0, 1.0):
        club.play("connect4", "a", "level:summit", scores=(score, -score))
    before = club.rating("a")
    with club.store.database.transaction() as connection:
        connection.execute(ratings.update().values(rating=2000.0))
        connection.execute(results.delete().where(results.c.game_id == "game2"))
        connection.execute(ratings.insert().values(**_lonely_rating("b")))
    found = recount(club.catalog, club.store.database, write=True)
    assert set(found.differences) == {
        ("rating", "a", "connect4"),
        ("rating", "b", "connect4"),
        ("result", "game2", 0, 1),
    }
    assert not recount(club.catalog, club.store.database).differences
    assert club.rating("a") == before and club.ratings.of("b", "connect4") is None


def test_the_command_says_what_differs_and_corrects_it(tmp_path: Path, catalog: Catalog) -> None:
    def run(*options: str) -> tuple[int, str]:
        answer = CliRunner().invoke(app, ["serve", "recount", "--data", str(tmp_path), *options])
        return answer.exit_code, answer.output

    assert run()[0] == 2 and not list(tmp_path.iterdir())  # nothing is created
    club = Club(tmp_path, catalog)
    club.play("connect4", "a", "level:summit")
    assert run() == (0, "1 rated games, 2 ratings and results.\nAll equal.\n")
    with club.store.database.transaction() as connection:
        connection.execute(ratings.update().values(games=7))
    code, text = run()
    assert code == 1 and "differs: rating a connect4" in text and "--write" in text
    assert run("--write")[0] == 0 and run()[0] == 0
    club.store.close()


def _lonely_rating(person: str) -> dict[str, object]:
    number = {"rating": 1.0, "deviation": 1.0, "volatility": 0.06, "games": 1, "updated": "2026-01-01T00:00:00+00:00"}
    return {"person_id": person, "game": "connect4", **number}


GAMES = ("connect4", "chinese-checkers")
