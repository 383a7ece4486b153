"""Records of games: the format is lossless, and damage is reported by line."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabia.evaluation import records
from tabia.evaluation.records import Record, RecordError, RecordFile
from tabia.games import make
from tabia.games.session import Session

from ..games.playthrough import random_game

_letters = st.characters(exclude_categories=("Z", "C"))  # no spaces of any kind, no control characters
_words = st.text(_letters, min_size=1, max_size=8)
_lines = st.lists(_words, min_size=1, max_size=3).map(" ".join)
_headers = st.dictionaries(_words.filter(lambda word: ":" not in word), _lines, max_size=3)
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
@given(_headers, st.lists(some_records(), max_size=4))
def test_the_format_is_lossless(header: dict[str, str], games: list[Record]) -> None:
    content = records.text(RecordFile(header, games))
    file = records.parse(content)
    assert (file.header, file.records) == (header, games)
    assert [np.signbit(game.scores).tolist() for game in file.records] == [np.signbit(g.scores).tolist() for g in games]
    assert records.text(file) == content


@pytest.mark.parametrize("game_id", ["tictactoe", "connect4", "checkers", "othello:size=4", "spiel:amazons"])
def test_a_record_replays_its_game(game_id: str, tmp_path: Path) -> None:
    game = make(game_id)
    played = random_game(game, seed=3)[:40]
    session = Session.replay(game, played, seed=3)
    seats = ("random",) * game.num_players
    record = Record(game.id, game.version, seats, session.moves, tuple(map(float, session.scores)), seed=3)
    records.save(tmp_path / "games.txt", RecordFile({}, [record, record]))
    assert [path.name for path in tmp_path.iterdir()] == ["games.txt"]
    again = list(records.load_games([tmp_path / "games.txt"]))
    assert again == [record, record]
    assert list(records.replay(game, again[0]).actions) == played
    assert records.duplicates(again) == [False, True]


GAME = Record("connect4", 1, ("random", "greedy"), ("4", "4", "5"), (1.0, -1.0), opening=2, seed=7, round=1)


def _content() -> list[str]:
    """Line 3 is the game, 4 the version, 5 and 6 the seats, 7 round, 8 opening, 9 seed, 10 moves, 11 scores, 12 end."""
    return records.text(RecordFile({}, [GAME])).splitlines()


@pytest.mark.parametrize(
    ("line", "damaged", "expected"),
    [
        (1, "PGN", "expected 'tabia games 1'"),
        (3, "gmae: connect4", "`game: ...`"),
        (4, "version: one", "`version: ` and a whole number"),
        (6, "seat 3: greedy", "`seat 2: ...`"),
        (8, "opening: 4", "at least the 4 moves of the opening"),
        (9, "moves: 4 4 5", "`seed: ...`"),
        (11, "scores: 1", "`scores: ` and 2 numbers"),
        (11, "scores: 1 nan", "`scores: ` and 2 numbers"),
        (12, "end: later", "`end: ` and over, resigned, forfeited, excluded or unfinished"),
        (12, "", "expected `end: ...`, but the record ends here"),
        (13, "more: of it", "a blank line"),
    ],
)
def test_damage_is_reported_by_line(line: int, damaged: str, expected: str) -> None:
    lines = _content()
    lines[line - 1 : line] = [damaged]
    reported = 10 if line == 8 else line  # only the moves, on line 10, show that the opening is too long
    with pytest.raises(RecordError, match=f"games.txt, line {reported}: ") as refusal:
        records.parse("\n".join(lines), "games.txt")
    assert expected in str(refusal.value)


def test_a_truncated_file_is_refused_or_has_fewer_games() -> None:
    content = records.text(RecordFile({"match": "{}"}, [GAME, GAME]))
    for length in range(len(content) - 1):
        try:
            file = records.parse(content[:length])
        except RecordError as error:
            assert "line" in str(error)
        else:
            assert file.records == [GAME] * len(file.records)


def test_an_illegal_move_is_refused() -> None:
    game = make("connect4")
    with pytest.raises(RecordError, match="Move 3: '9' is not legal here"):
        records.replay(game, dataclasses.replace(GAME, moves=("4", "4", "9")))
    with pytest.raises(RecordError, match="The record is of connect4, version 1; connect3"):
        records.replay(make("connect3"), GAME)


def test_invalid_records_are_refused() -> None:
    for change in ({"players": ("a\nb", "c")}, {"moves": ("a b",)}, {"scores": (1.0,)}, {"end": "won"}, {"game": " x"}):
        with pytest.raises(RecordError):
            records.record_text(dataclasses.replace(GAME, **change))


def test_a_missing_or_binary_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="cannot be read"):
        records.load(tmp_path / "none.txt")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RecordError, match="it is not UTF-8 text"):
        records.load(tmp_path / "bytes")
