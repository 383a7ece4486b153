"""Matches: the same seed gives the same games, stopping and continuing changes nothing, nothing is counted twice."""

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

from tabia.evaluation.keeping import Keeper
from tabia.evaluation.match import Match, Played, play
from tabia.evaluation.openings import draw
from tabia.evaluation.records import Record
from tabia.evaluation.seating import MatchError, seatings
from tabia.evaluation.tally import interval, tally, wilson
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
    """Always the first legal move; knows which sizes and plies it was asked for."""

    game: Game
    spec: str = "first"

    def choose(self, states: State, key: Array, ply: Array | None = None) -> Choice:
        legal = jax.vmap(self.game.legal)(states)
        assert ply is not None
        ASKED.append((legal.shape[0], int(ply[0])))
        return Choice(jnp.argmax(legal, axis=-1).astype(jnp.int32))


ASKED: list[tuple[int, int]] = []


def _match(**changes: object) -> Match:
    return replace(Match(CONNECT3, (RANDOM, GREEDY), games=24, seed=5, together=10), **changes)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def played() -> Played:
    return play(_match())


def test_a_match_that_has_enough_games_is_the_first_waves_of_the_whole(played: Played) -> None:
    """Whole waves of ten games: stopping within one would favor short games."""
    fewer = play(_match(), enough=lambda records: len(records) >= 12)
    assert fewer.records == played.records[:20] and fewer.rounds == 10


def test_every_opening_is_played_in_both_colors_and_by_the_rules(played: Played) -> None:
    assert len(played.records) == 24 and played.rounds == 12
    for one, other in zip(played.records[::2], played.records[1::2], strict=True):
        assert one.players == other.players[::-1] and one.round == other.round
        assert one.moves[: one.opening] == other.moves[: other.opening] and one.seed == other.seed
    assert len({record.moves[: record.opening] for record in played.records}) == 12
    for record in played.records[:6]:
        last = Session.from_moves(CONNECT3, " ".join(record.moves), seed=record.seed).state
        assert bool(CONNECT3.over(last)) and record.end == "over"
        assert tuple(map(float, CONNECT3.scores(last))) == record.scores


def test_the_same_seed_gives_the_same_games_and_another_gives_others(played: Played) -> None:
    assert play(_match()).records == played.records
    assert play(_match(seed=6)).records != played.records


@pytest.mark.parametrize("steps", [1, 4, 7, 12])
def test_a_match_that_is_stopped_and_continued_equals_one_in_one_go(played: Played, steps: int, tmp_path: Path) -> None:
    match, path = _match(), tmp_path / "games.txt"
    with pytest.raises(KeyboardInterrupt), Keeper(path, "match", match.settings) as keeper:
        play(match, watch=_stop_after(steps, keeper))
    with Keeper(path, "match", match.settings) as again:
        assert again.records == keeper.records
    assert play(match, done=again.records).records == played.records
    with pytest.raises(MatchError, match="seed was 5, not 6"), Keeper(path, "match", _match(seed=6).settings):
        pass


def _stop_after(steps: int, keeper: Keeper):  # type: ignore[no-untyped-def]
    seen: list[int] = []

    def watch(now: Sequence[Record]) -> None:
        keeper.keep(now, at_once=True)
        seen.append(len(now))
        if len(seen) == steps:
            raise KeyboardInterrupt

    return watch


def test_players_are_asked_in_few_sizes_and_told_the_ply() -> None:
    ASKED.clear()
    played = play(_match(players=(First(CONNECT3), RANDOM), opening_moves=2, together=24))
    assert {size for size, _ in ASKED} <= {8, 16, 32}
    plies = [ply for _, ply in ASKED]
    assert plies[0] == 2 and plies == sorted(plies) and max(plies) < max(len(record.moves) for record in played.records)


def test_a_smallest_batch_leaves_one_size() -> None:
    ASKED.clear()
    play(_match(players=(First(CONNECT3), RANDOM), opening_moves=2, together=24, smallest=32))
    assert {size for size, _ in ASKED} == {32}


def test_duplicates_are_found_and_not_counted() -> None:
    first = First(CONNECT3)
    # Two openings for eight rounds of a deterministic player against itself: two games, each four times.
    result = tally(CONNECT3, play(_match(players=(first, first), games=8, openings=2)).records)
    assert (result.games, result.duplicates) == (2, 6)
    assert sum(side.games for side in result.seats) == 4


def test_a_player_against_itself_has_an_opening_a_game() -> None:
    match = _match(players=(RANDOM, RANDOM), games=50)
    assert match.rounds == 50 and len(match.drawn) == 50
    result = tally(CONNECT3, play(match).records)
    assert (result.games, result.duplicates) == (50, 0)


def test_openings_are_distinct_positions_and_grow_until_there_are_enough() -> None:
    drawn = draw(CONNECT3, 40, moves=3, seed=1)
    finals = [np.asarray(CONNECT3.position(_after(opening.actions))).tobytes() for opening in drawn]
    assert len(set(finals)) == 40 and all(len(opening.actions) == 3 for opening in drawn)
    assert draw(CONNECT3, 40, moves=3, seed=1) == drawn != draw(CONNECT3, 40, moves=3, seed=2)
    assert len(draw(CONNECT3, 100, moves=1)) == 4  # columns: there are no more
    going = _positions_going_on(5)
    assert going[:3] == [1, 4, 16]
    assert {len(opening.actions) for opening in draw(CONNECT3, going[4] + 20)} == {5 if going[5] > going[4] + 20 else 6}


def _positions_going_on(moves: int) -> list[int]:
    """How many positions there are after 0, 1, ... moves that are not over."""
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


def test_the_sequential_test_stops_early_in_the_order_of_rounds() -> None:
    whole = _match(games=200, together=40)
    early = play(replace(whole, test=(-100.0, 0.0, 0.05, 0.05)))
    assert early.verdict is False and 2 < len(early.records) < 200
    assert {record.round for record in early.records} == set(range(1, early.rounds + 1))
    assert play(whole).records[: len(early.records)] == early.records
    assert play(replace(whole, test=(-100.0, 0.0, 0.05, 0.05)), done=early.records).records == early.records


def test_three_seats_play_sets_of_six() -> None:
    game = make("connect:rows=4,columns=5,line=3,players=3")
    one, two = RandomPlayer(game, "one"), RandomPlayer(game, "two")
    played = play(Match(game, (one, two), games=30, seed=2))
    assert len(played.records) == 30
    for first in range(0, 30, 6):
        seats = Counter(record.players for record in played.records[first : first + 6])
        assert set(seats.values()) == {1} and all(len(set(players)) == 2 for players in seats)
    result = tally(game, played.records)
    assert [side.games for side in result.players] == [45, 45]  # a set has nine seats for each
    assert sum(side.share for side in result.players) == pytest.approx(1.0)
    raw = [
        score
        for record in played.records
        for player, score in zip(record.players, record.scores, strict=True)
        if player == "one"
    ]
    assert result.players[[side.name for side in result.players].index("one")].points == pytest.approx(np.mean(raw))
    assert len(seatings(game, ["a", "b", "c"])) == 3 and len(seatings(game, ["a", "a", "b"])) == 3


def test_what_cannot_be_played_is_refused() -> None:
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
    """Chooses what does not exist."""

    game: Game
    spec: str = "wild"

    def choose(self, states: State, key: Array, ply: Array | None = None) -> Choice:
        return Choice(jnp.full(jax.tree.leaves(states)[0].shape[0], 99))


def test_intervals_cover_the_truth_with_pairs_that_hang_together() -> None:
    """Pairs whose two games share the luck of the opening; 95% within the error of 2,000 trials."""
    dice = np.random.default_rng(0)
    for share, count in [(0.5, 30), (0.8, 100), (0.95, 50)]:
        lucky = dice.random((2000, count, 1)) < 0.5  # whether both games of a pair go the same way
        games = dice.random((2000, count, 2)) < share
        pairs = np.where(lucky, games[:, :, :1], games).mean(axis=2)
        covered = [low <= share <= high for _, low, high in (interval(own, np.ones(count)) for own in pairs)]
        assert 0.935 <= np.mean(covered) <= 0.99, (share, count, np.mean(covered))


def test_wilson_is_scipys() -> None:
    stats = pytest.importorskip("scipy.stats")
    for wins, games in [(0, 10), (7, 10), (33, 40)]:
        theirs = stats.binomtest(wins, games).proportion_ci(method="wilson")
        assert wilson(wins / games, games) == pytest.approx((theirs.low, theirs.high), abs=1e-7)


def test_a_tournament_pairs_the_nearest_and_continues() -> None:
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
