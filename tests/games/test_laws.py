"""The laws catch games broken on purpose, and hold for every game there is."""

from __future__ import annotations

import jax.numpy as jnp
import pytest

from tabia import games
from tabia.games import laws
from tabia.games.game import Game

from .broken_games import BROKEN, Broken, Crashing, Endless, OneMover, OpenChance

MORE = [
    "connect:rows=5,columns=4,line=3,players=3",
    "connect4:history=2",
]
IN_MORE = ("connect3", "connect4")  # the rules of games in MORE
LONG = [
    "chinese-checkers:fields=121,players=6,moves_each=10",
    *(f"chinese-checkers:fields=121,players={players}" for players in (2, 3, 4, 6)),
    *(f"chinese-checkers:fields=121,players={players},rules=people" for players in (2, 3, 4, 6)),
    "connect:rows=1,columns=9,line=2,players=4",
    "connect:rows=32,columns=2,line=5",
    "connect:rows=32,columns=32,line=32,players=4",
    "othello:size=4",
    "othello:size=6,history=4",
    "tictactoe:history=3",
    "checkers:history=8",
    "chinese-checkers:history=2",
]


def broken_laws(game: Game, games: int) -> dict[str, str]:
    return {verdict.law: verdict.detail for verdict in laws.check(game, games=games) if not verdict.holds}


@pytest.mark.parametrize(("game", "expected"), BROKEN, ids=[type(game).__name__ for game, _ in BROKEN])
def test_a_broken_game_breaks_its_laws_and_no_other(game: Game, expected: set[laws.Law]) -> None:
    found = broken_laws(game, games=16)
    assert set(found) == {laws.text(law) for law in expected}
    assert all(found.values())  # each says what it found


def test_every_law_is_broken_by_some_game() -> None:
    assert set().union(*(expected for _, expected in BROKEN)) == set(laws.LAWS)


def test_the_broken_games_would_be_whole_without_their_fault() -> None:
    assert broken_laws(Broken(), games=16) == {}
    assert broken_laws(OpenChance(), games=16) == {}


def test_a_game_that_raises_is_reported_and_unchecked_laws_do_not_hold() -> None:
    verdicts = laws.check(Crashing(), games=4)
    assert len(verdicts) == len(laws.LAWS)
    in_play = verdicts[len(laws.ABOUT_GAMES) :]
    assert not any(verdict.holds for verdict in in_play)
    assert all(verdict.detail.endswith("ZeroDivisionError: nobody knows") for verdict in in_play)


def test_details_say_where_so_that_the_game_can_be_played_again() -> None:
    game, law = next((game, law) for game, (law, *_) in BROKEN if type(game).__name__ == "LegalAfterTheEnd")
    detail = broken_laws(game, games=16)[laws.text(law)]
    actions, seed = detail.partition("after actions [")[2].rstrip(".").split("] with seed ")
    state = game.init(None)
    for action in map(int, actions.split(", ")):
        assert not game.over(state)
        state = game.step(state, jnp.int32(action))
    assert game.over(state)
    assert game.legal(state).any()
    assert int(seed) < 16


def test_a_seat_that_never_moves_is_noted() -> None:
    """The rules of a game of patience for two are no mistake; a forgotten change of turns looks the same."""
    found = {verdict.law: verdict for verdict in laws.check(OneMover(), games=4)}
    mover = found[laws.text(laws.rules.mover_is_a_seat)]
    assert mover.holds and mover.detail == "Seat 2 never moves in 4 random games."


def test_games_that_are_too_long_to_check_are_reported() -> None:
    found = {verdict.law: verdict for verdict in laws.check(Endless(), games=1)}
    ends = found[laws.text(laws.rules.ends_in_time)]
    assert ends.holds
    assert "5000 of 1000000 moves" in ends.detail


@pytest.mark.parametrize(
    "id", [*(pytest.param(name, marks=pytest.mark.long) if name in IN_MORE else name for name in games.ids()), *MORE]
)
def test_the_laws_hold(id: str) -> None:
    assert broken_laws(games.make(id), games=24) == {}


@pytest.mark.long
@pytest.mark.parametrize("id", [*games.ids(), *MORE, *LONG])
def test_the_laws_hold_on_many_games(id: str) -> None:
    verdicts = laws.check(games.make(id), seed=1000, games=512)
    assert [verdict for verdict in verdicts if not verdict.holds] == []
