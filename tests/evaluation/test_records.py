"""Records of games: what is written reads back exactly, and damage is named by line."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabia.evaluation import records
from tabia.evaluation.records import Book, Record, RecordError
from tabia.games import make
from tabia.games.session import Session

from ..games.playthrough import random_game

_letters = st.characters(exclude_categories=("Z", "C"))  # no spaces of any kind, no control characters
_words = st.text(_letters, min_size=1, max_size=8)
_lines = st.lists(_words, min_size=1, max_size=3).map(" ".join)
_abouts = st.dictionaries(_words.filter(lambda word: ":" not in word), _lines, max_size=3)
_scores = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def some_records(draw: st.DrawFn) -> Record:
    players = draw(st.lists(_lines, min_size=1, max_size=6))
    moves = draw(st.lists(_words, max_size=12))
    return Record(
        game=draw(_lines),
        version=draw(st.integers(0, 99)),
        players=tuple(players),
        moves=tuple(moves),
        scores=tuple(draw(st.lists(_scores, min_size=len(players), max_size=len(players)))),
        opening=draw(st.integers(0, len(moves))),
        seed=draw(st.integers(-5, 2**40)),
        round=draw(st.integers(0, 10**6)),
        end=draw(st.sampled_from(records.ENDS)),
    )


@settings(deadline=None, max_examples=200)
@given(
    st.dictionaries(_words.filter(lambda word: ":" not in word), _lines, max_size=3),
    st.lists(some_records(), max_size=4),
)
def test_what_is_written_reads_back_exactly(about: dict[str, str], games: list[Record]) -> None:
    content = records.text(Book(about, games))
    book = records.parse(content)
    assert (book.about, book.records) == (about, games)
    assert [np.signbit(game.scores).tolist() for game in book.records] == [np.signbit(g.scores).tolist() for g in games]
    assert records.text(book) == content


@pytest.mark.parametrize("game_id", ["tictactoe", "connect4", "checkers", "othello:size=4", "spiel:amazons"])
def test_a_played_game_is_replayed_from_its_record(game_id: str, tmp_path: Path) -> None:
    game = make(game_id)
    played = random_game(game, seed=3)[:40]
    session = Session.replay(game, played, seed=3)
    seats = ("random",) * game.num_players
    record = Record(game.id, game.version, seats, session.moves, tuple(map(float, session.scores)), seed=3)
    records.save(tmp_path / "games.txt", Book({}, [record, record]))
    assert [path.name for path in tmp_path.iterdir()] == ["games.txt"]
    again = list(records.iterate([tmp_path / "games.txt"]))
    assert again == [record, record]
    assert list(records.replay(game, again[0]).actions) == played
    assert records.duplicates(again) == [False, True]


GAME = Record("connect4", 1, ("random", "greedy"), ("4", "4", "5"), (1.0, -1.0), opening=2, seed=7, round=1)


def _content() -> list[str]:
    """Line 3 is the game, 4 the version, 5 and 6 the seats, 7 round, 8 opening, 9 seed, 10 moves, 11 scores, 12 end."""
    return records.text(Book({}, [GAME])).splitlines()


@pytest.mark.parametrize(
    ("line", "damaged", "expected"),
    [
        (1, "PGN", "'tabia games 1' was expected"),
        (3, "gmae: connect4", "`game: ...`"),
        (4, "version: one", "`version: ` and a whole number"),
        (6, "seat 3: greedy", "`seat 2: ...`"),
        (8, "opening: 4", "at least the 4 moves of the opening"),
        (9, "moves: 4 4 5", "`seed: ...`"),
        (11, "scores: 1", "`scores: ` and 2 numbers"),
        (11, "scores: 1 nan", "`scores: ` and 2 numbers"),
        (12, "end: later", "`end: ` and over, resigned or unfinished"),
        (12, "", "`end: ...` was expected, but the game's record ends here"),
        (13, "more: of it", "a blank line"),
    ],
)
def test_damage_is_named(line: int, damaged: str, expected: str) -> None:
    lines = _content()
    lines[line - 1 : line] = [damaged]
    named = 10 if line == 8 else line  # an opening is too long for the moves, which come later
    with pytest.raises(RecordError, match=f"games.txt, line {named}: ") as refusal:
        records.parse("\n".join(lines), "games.txt")
    assert expected in str(refusal.value)


def test_every_cut_of_a_file_is_noticed_or_reads_as_fewer_games() -> None:
    content = records.text(Book({"match": "{}"}, [GAME, GAME]))
    for length in range(len(content) - 1):
        try:
            book = records.parse(content[:length])
        except RecordError as error:
            assert "line" in str(error)
        else:
            assert book.records == [GAME] * len(book.records)


def test_a_move_that_is_not_legal_is_refused() -> None:
    game = make("connect4")
    with pytest.raises(RecordError, match="Move 3: '9' is not legal here"):
        records.replay(game, dataclasses.replace(GAME, moves=("4", "4", "9")))
    with pytest.raises(RecordError, match="The record is of connect4, version 1; connect3"):
        records.replay(make("connect3"), GAME)


def test_what_cannot_be_recorded_is_refused() -> None:
    for change in ({"players": ("a\nb", "c")}, {"moves": ("a b",)}, {"scores": (1.0,)}, {"end": "won"}, {"game": " x"}):
        with pytest.raises(RecordError):
            records.record_text(dataclasses.replace(GAME, **change))


def test_a_file_that_is_not_there_or_not_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="cannot be read"):
        records.read(tmp_path / "none.txt")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RecordError, match="it is not UTF-8 text"):
        records.read(tmp_path / "bytes")
