"""Recorded playthroughs: a game that plays, names or shows anything differently differs from its record.

A record is changed only by `pytest tests/games/test_golden.py --update-golden`, and read before it is committed.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tabia import games
from tabia.games.session import Session

from .playthrough import playthrough

FOLDER = Path(__file__).parent.parent / "golden"
RECORDED = [
    *games.ids(),
    "chinese-checkers:fields=121,players=6,moves_each=8",
    "chinese-checkers:fields=121,moves_each=8,rules=people",
    "connect:rows=4,columns=5,line=3,players=3",
    "connect4:history=2",
    "othello:size=6",
]


def golden(id: str) -> Path:
    return FOLDER / (re.sub(r"[^a-z0-9-]+", "_", id) + ".txt")


@pytest.mark.parametrize("id", RECORDED)
def test_a_game_plays_as_recorded(id: str, request: pytest.FixtureRequest) -> None:
    record = playthrough(games.make(id), seed=7)
    if request.config.getoption("--update-golden"):
        FOLDER.mkdir(exist_ok=True)
        golden(id).write_text(record, encoding="utf-8")
    assert golden(id).exists(), f"{id} has no record; read what --update-golden writes, then commit it."
    assert record == golden(id).read_text(encoding="utf-8")
    assert len(record) < 40_000


@pytest.mark.parametrize("id", RECORDED)
def test_the_moves_of_a_record_lead_to_its_end(id: str) -> None:
    record = golden(id).read_text(encoding="utf-8")
    game, seed = games.make(field(record, "game")), int(field(record, "seed"))
    played = re.findall(r"^move: (\S+) \(action (\d+)\)$", record, re.MULTILINE)
    session = Session.from_moves(game, " ".join(name for name, _ in played), seed=seed)
    assert list(session.actions) == [int(action) for _, action in played]
    assert session.over
    assert " ".join(f"{float(score):.4g}" for score in session.scores) == field(record, "scores", last=True)


def test_every_record_belongs_to_a_game() -> None:
    assert set(FOLDER.glob("*")) == set(map(golden, RECORDED))


def field(record: str, name: str, *, last: bool = False) -> str:
    return re.findall(rf"^{name}: (.*)$", record, re.MULTILINE)[-1 if last else 0]
