"""Matches: reproducible, resumable without a difference, and no game is counted twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from tabia.evaluation.match import Match, PlayedMatch, play
from tabia.evaluation.recorder import Recorder
from tabia.evaluation.records import Record
from tabia.evaluation.results import match_result
from tabia.evaluation.rounds import MatchError, draw_openings, seatings
from tabia.evaluation.significance import score_interval, wilson_interval
from tabia.evaluation.tournament import Tournament, pairings, play_tournament
from tabia.games import Game, State, make
from tabia.games.session import Session
from tabia.players.player import Choice
from tabia.players.simple import GreedyPlayer, RandomPlayer

CONNECT3 = make("connect3")
STEP = jax.jit(CONNECT3.step)
RANDOM, GREEDY = RandomPlayer(CONNECT3), GreedyPlayer(CONNECT3)


@dataclass(frozen=True)
class First:
    """Plays the first legal move, and notes the batch sizes and plies of its calls."""

    game: Game
    spec: str = "first"

    def choose(self, states: State, key: Array, ply: Array | None = None) -> Choice:
        legal = jax.vmap(self.game.legal)(states)
        assert ply is not None
        ASKED.append((legal.shape[0], int(ply[0])))
        return Choice(jnp.argmax(legal, axis=-1).astype(jnp.int32))


ASKED: list[tuple[int, int]] = []


def _match(**changes: object) -> Match:
    return replace(Match(CONNECT3, (RANDOM, GREEDY), games=24, seed=5, batch=10), **changes)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def played() -> PlayedMatch:
    return play(_match())


def test_a_match_with_enough_games_is_the_first_batches_of_the_whole_match(played: PlayedMatch) -> None:
    """Batches of ten games are played to the end: stopping within one would favor short games."""
    fewer = play(_match(), enough=lambda records: len(records) >= 12)
    assert fewer.records == played.records[:20] and fewer.rounds == 10


def test_every_opening_is_played_in_both_seatings_and_by_the_rules(played: PlayedMatch) -> None:
    assert len(played.records) == 24 and played.rounds == 12
    for one, other in zip(played.records[::2], played.records[1::2], strict=True):
        assert one.players == other.players[::-1] and one.round == other.round
        assert one.moves[: one.opening] == other.moves[: other.opening] and one.seed == other.seed
    assert len({record.moves[: record.opening] for record in played.records}) == 12
    for record in played.records[:6]:
        last = Session.from_moves(CONNECT3, " ".join(record.moves), seed=record.seed).state
        assert bool(CONNECT3.over(last)) and record.end == "over"
        assert tuple(map(float, CONNECT3.scores(last))) == record.scores


def test_equal_seeds_give_equal_games(played: PlayedMatch) -> None:
    assert play(_match()).records == played.records
    assert play(_match(seed=6)).records != played.records


@pytest.mark.parametrize("steps", [1, 4, 7, 12])
def test_a_resumed_match_equals_an_uninterrupted_one(played: PlayedMatch, steps: int, tmp_path: Path) -> None:
    match, path = _match(), tmp_path / "games.txt"
    with pytest.raises(KeyboardInterrupt), Recorder(path, "match", match.settings) as recorder:
        play(match, watch=_stop_after(steps, recorder))
    with Recorder(path, "match", match.settings) as again:
        assert again.records == recorder.records
    assert play(match, done=again.records).records == played.records
    with pytest.raises(MatchError, match="seed was 5, not 6"), Recorder(path, "match", _match(seed=6).settings):
        pass


def _stop_after(steps: int, recorder: Recorder):  # type: ignore[no-untyped-def]
    seen: list[int] = []

    def watch(now: Sequence[Record]) -> None:
        recorder.update(now, save=True)
        seen.append(len(now))
        if len(seen) == steps:
            raise KeyboardInterrupt

    return watch


def test_players_get_few_batch_sizes_and_the_ply() -> None:
    ASKED.clear()
    played = play(_match(players=(First(CONNECT3), RANDOM), opening_moves=2, batch=24))
    assert {size for size, _ in ASKED} <= {8, 16, 32}
    plies = [ply for _, ply in ASKED]
    assert plies[0] == 2 and plies == sorted(plies) and max(plies) < max(len(record.moves) for record in played.records)


def test_a_larger_smallest_batch_leaves_one_size() -> None:
    ASKED.clear()
    play(_match(players=(First(CONNECT3), RANDOM), opening_moves=2, batch=24, smallest=32))
    assert {size for size, _ in ASKED} == {32}


def test_duplicates_are_not_counted() -> None:
    first = First(CONNECT3)
    # A deterministic player against itself in eight rounds from two openings: two games, each played four times.
    result = match_result(CONNECT3, play(_match(players=(first, first), games=8, openings=2)).records)
    assert (result.games, result.duplicates) == (2, 6)
    assert sum(one.games for one in result.seats) == 4


def test_every_game_is_counted_if_asked() -> None:
    first = First(CONNECT3)
    records = play(_match(players=(first, first), games=8, openings=2)).records
    result = match_result(CONNECT3, records, unique=False)
    assert (result.games, result.duplicates, sum(one.games for one in result.seats)) == (8, 6, 16)
    # Equal games decide a sequential test only if they are counted: greedy wins the same game 40 times.
    against = _match(players=(GREEDY, First(CONNECT3)), games=80, openings=1, test=(0.0, 100.0, 0.05, 0.05))
    assert play(against).verdict is None
    assert play(replace(against, unique=False)).rounds < 40
    assert replace(against, unique=False).settings != against.settings == replace(against, unique=True).settings


def _three(players: tuple[str, ...], scores: tuple[float, ...], round_: int) -> Record:
    return Record("chinese-checkers", 1, players, (str(round_),), scores, end="over", round=round_)


def test_places_and_seats_held_with_three_seats() -> None:
    """Four games with points 3, 1, 0 by place, one of them with two seats that share the second place."""
    game = make("chinese-checkers")
    records = [
        _three(("a", "b", "b"), (3.0, 1.0, 0.0), 1),
        _three(("b", "a", "b"), (3.0, 0.0, 1.0), 2),
        _three(("a", "a", "b"), (3.0, 0.0, 0.0), 3),
        _three(("b", "a", "a"), (0.0, 1.0, 3.0), 4),
    ]
    result = match_result(game, records)
    a, b = result.players
    assert (a.places, b.places) == ((3, 2, 1), (1, 3, 2))  # the shared place is the second for both
    assert sum(a.places) == a.games == 6
    (alone, two), (b_alone, b_two) = result.by_seats_held
    assert (alone.name, alone.games, alone.places, alone.points) == ("a in 1 of 3 seats", 2, (1, 0, 1), 1.5)
    assert (two.games, two.places, two.points) == (4, (2, 2, 0), 7 / 4)
    # In the games where a is alone, b has two seats, so their scores add up to all points.
    assert alone.score + b_two.score == pytest.approx(1) and two.score + b_alone.score == pytest.approx(1)
    (first, _, _), _ = result.by_seat
    assert first.name == "a in seat 1" and first.places == (2, 0, 0)
    assert match_result(CONNECT3, []).by_seats_held == ()


def test_points_beyond_a_win_have_an_interval() -> None:
    """Over many rounds it is the normal one of independent rounds; the score counts wins alone."""
    dice, game = np.random.default_rng(0), make("pgx:backgammon")
    points = dice.choice([-2.0, -1.0, 1.0, 3.0], (1000, 2))
    records = [
        Record(
            game.id,
            1,
            ("a", "b") if first else ("b", "a"),
            (f"{number}",),
            (won, -won),
            end="over",
            round=number // 2 + 1,
        )
        for number, (won, first) in enumerate(zip(points.ravel().tolist(), [True, False] * 1000, strict=True))
    ]
    own = points * (1, -1)
    half = 1.96 * own.mean(axis=1).std(ddof=1) / np.sqrt(1000)
    a, b = match_result(game, records).players
    assert a.points == pytest.approx(own.mean()) and b.points == pytest.approx(-a.points)
    assert a.points_high - a.points == pytest.approx(half, rel=0.02)
    assert a.points - a.points_low == pytest.approx(half, rel=0.02)
    assert a.score == pytest.approx((own > 0).mean())


def test_a_player_against_itself_has_one_opening_per_game() -> None:
    match = _match(players=(RANDOM, RANDOM), games=50)
    assert match.rounds == 50 and len(match.drawn) == 50
    result = match_result(CONNECT3, play(match).records)
    assert (result.games, result.duplicates) == (50, 0)


def test_openings_are_distinct_and_long_enough_to_differ() -> None:
    drawn = draw_openings(CONNECT3, 40, moves=3, seed=1)
    finals = [np.asarray(CONNECT3.position(_after(opening.actions))).tobytes() for opening in drawn]
    assert len(set(finals)) == 40 and all(len(opening.actions) == 3 for opening in drawn)
    assert draw_openings(CONNECT3, 40, moves=3, seed=1) == drawn != draw_openings(CONNECT3, 40, moves=3, seed=2)
    assert len(draw_openings(CONNECT3, 100, moves=1)) == 4  # one per column
    unfinished = _unfinished_positions(5)
    assert unfinished[:3] == [1, 4, 16]
    count = unfinished[4] + 20
    assert {len(opening.actions) for opening in draw_openings(CONNECT3, count)} == {5 if unfinished[5] > count else 6}


def _unfinished_positions(moves: int) -> list[int]:
    """The number of unfinished positions after 0, 1, ... moves."""
    level, counts = {b"": Session.from_moves(CONNECT3, "").states[0]}, [1]
    for _ in range(moves):
        after = {}
        for state in level.values():
            for action in np.flatnonzero(np.asarray(CONNECT3.legal(state))):
                child = STEP(state, int(action))
                if not bool(CONNECT3.over(child)):
                    after[np.asarray(CONNECT3.position(child)).tobytes()] = child
        level = after
        counts.append(len(level))
    return counts


def _after(actions: Sequence[int]) -> State:
    return Session.from_moves(CONNECT3, " ".join(CONNECT3.move_name(action) for action in actions)).state


def test_the_sequential_test_stops_early_after_whole_rounds() -> None:
    whole = _match(games=200, batch=40)
    early = play(replace(whole, test=(-100.0, 0.0, 0.05, 0.05)))
    assert early.verdict is False and 2 < len(early.records) < 200
    assert {record.round for record in early.records} == set(range(1, early.rounds + 1))
    assert play(whole).records[: len(early.records)] == early.records
    assert play(replace(whole, test=(-100.0, 0.0, 0.05, 0.05)), done=early.records).records == early.records


def test_three_seats_play_sets_of_six() -> None:
    game = make("connect:rows=4,columns=5,line=3,players=3")
    one, two = RandomPlayer(game, name="one"), RandomPlayer(game, name="two")
    played = play(Match(game, (one, two), games=30, seed=2))
    assert len(played.records) == 30
    for first in range(0, 30, 6):
        seatings_played = Counter(record.players for record in played.records[first : first + 6])
        assert set(seatings_played.values()) == {1} and all(len(set(players)) == 2 for players in seatings_played)
    result = match_result(game, played.records)
    assert [one.games for one in result.players] == [45, 45]  # nine seats per set for each player
    assert sum(one.score for one in result.players) == pytest.approx(1.0)
    seats = [pair for record in played.records for pair in zip(record.players, record.scores, strict=True)]
    points = np.mean([score for player, score in seats if player == "one"])
    assert {one.name: one.points for one in result.players}["one"] == pytest.approx(points)
    assert len(seatings(game, ["a", "b", "c"])) == 3 and len(seatings(game, ["a", "a", "b"])) == 3


def test_impossible_matches_are_refused() -> None:
    with pytest.raises(MatchError, match="connect3 has 2 seats: a match needs 2 players, not 3"):
        play(_match(players=(RANDOM, GREEDY, RANDOM)))
    with pytest.raises(MatchError, match="at most 12 moves"):
        _match(opening_moves=12)
    with pytest.raises(MatchError, match="two different players"):
        _match(players=(RANDOM, RANDOM), test=(0.0, 10.0, 0.05, 0.05))
    with pytest.raises(MatchError, match="wild chose action 99"):
        play(_match(players=(RANDOM, Wild(CONNECT3))))


@dataclass(frozen=True)
class Wild:
    """Chooses an action that does not exist."""

    game: Game
    spec: str = "wild"

    def choose(self, states: State, key: Array, ply: Array | None = None) -> Choice:
        return Choice(jnp.full(jax.tree.leaves(states)[0].shape[0], 99))


def test_intervals_cover_the_truth_for_dependent_pairs() -> None:
    """The two games of a pair share the luck of the opening; coverage of 95%, within the error of 2,000 trials."""
    dice = np.random.default_rng(0)
    for score, count in [(0.5, 30), (0.8, 100), (0.95, 50)]:
        lucky = dice.random((2000, count, 1)) < 0.5  # whether both games of a pair have the same result
        games = dice.random((2000, count, 2)) < score
        pairs = np.where(lucky, games[:, :, :1], games).mean(axis=2)
        covered = [low <= score <= high for _, low, high in (score_interval(own, np.ones(count)) for own in pairs)]
        assert 0.935 <= np.mean(covered) <= 0.99, (score, count, np.mean(covered))


def test_wilson_interval_equals_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    for wins, games in [(0, 10), (7, 10), (33, 40)]:
        theirs = stats.binomtest(wins, games).proportion_ci(method="wilson")
        assert wilson_interval(wins / games, games) == pytest.approx((theirs.low, theirs.high), abs=1e-7)


def test_a_tournament_pairs_the_nearest_and_can_be_resumed() -> None:
    assert len(pairings(6)) == 15 and pairings(4, nearest=2) == [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]
    players = (RANDOM, GREEDY, First(CONNECT3))
    tournament = Tournament(CONNECT3, players, games=8, nearest=1, seed=1)
    whole = play_tournament(tournament)
    met = Counter(frozenset(record.players) for record in whole)
    assert met == {frozenset({"random", "greedy"}): 8, frozenset({"greedy", "first"}): 8}
    steps: list[list[Record]] = []
    play_tournament(tournament, watch=lambda now: steps.append(list(now)))
    for stopped in (steps[2], steps[-3]):
        assert play_tournament(tournament, done=stopped) == whole
    with pytest.raises(MatchError, match="different players"):
        Tournament(CONNECT3, (RANDOM, RANDOM))


def test_pairings_of_a_tournament_are_played_side_by_side() -> None:
    """A player moves in the games of all its pairings at once; openings and seatings are those of single matches."""
    players = (First(CONNECT3), RANDOM, GREEDY)
    tournament = Tournament(CONNECT3, players, games=20, seed=4, batch=60)
    assert [len(pieces) for pieces in tournament.batches] == [3]
    ASKED.clear()
    records = play_tournament(tournament)
    plies = [ply for _, ply in ASKED]
    assert len(set(plies)) == len(plies) and max(size for size, _ in ASKED) > 16  # one call per ply, more than a match
    apart = [replace(tournament, batch=20), replace(tournament, batch=59)]
    assert [[len(pieces) for pieces in one.batches] for one in apart] == [[1, 1, 1], [2, 1]]
    for one in apart:
        assert [_started(record) for record in play_tournament(one)] == [_started(record) for record in records]


def _started(record: Record) -> tuple[object, ...]:
    return record.players, record.round, record.seed, record.moves[: record.opening]
