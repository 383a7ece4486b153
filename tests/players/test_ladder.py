"""Ladders: files read back as written, levels are rungs, and the shipped ladders are complete."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from tabia import games, players
from tabia.players import ladder
from tabia.players.agents import agents
from tabia.players.ladder import LEVELS, Ladder, LadderError, Rung

NAMES = ("random", "greedy", "minimax:depth=2", "mcts:simulations=50", "perfect")
RUNGS = tuple(Rung(name.title(), name, 200.0 * i, 200.0 * i - 30, 200.0 * i + 30, 400) for i, name in enumerate(NAMES))
MADE = Ladder("connect4", 1, RUNGS, "2026-11-16", 'a "CPU"', 3, "tabia rate ladder connect4 --seed 3")
WITHOUT_LADDER = {"tictactoe", "connect3", "connect:rows=6,columns=6,line=4"}


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(ladder, "SHIPPED", tmp_path)
    return tmp_path


def test_ladder_reads_back_as_written(tmp_path: Path) -> None:
    path = tmp_path / "new" / "ladder.toml"
    ladder.write(path, MADE)
    ladder.write(path, MADE)
    assert ladder.read(path) == MADE
    assert list(path.parent.iterdir()) == [path]
    for advantage in ((35.0,), (60.0, -12.5)):
        ladder.write(path, replace(MADE, advantage=advantage))
        assert ladder.read(path).advantage == advantage


def test_the_advantage_of_a_seat_is_antisymmetric_and_0_if_unknown() -> None:
    three = replace(MADE, advantage=(60.0, 25.0))
    assert [three.seat_advantage(*pair) for pair in ((0, 2), (2, 0), (0, 1), (1, 2))] == [60, -60, 35, 25]
    assert MADE.seat_advantage(0, 1) == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rung = 3", "is not a ladder"),
        ("[[rung", "is not a ladder"),
        (ladder.text(MADE).replace("elo = 400", "elo = nan"), "finite"),
        (ladder.text(MADE).replace("elo = 400", "elo = 700"), "weakest rung must come first"),
        (ladder.text(replace(MADE, rungs=())) + "rung = []", "at least one rung"),
    ],
)
def test_a_damaged_ladder_is_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "ladder.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(LadderError, match=message):
        ladder.read(path)


def test_unreadable_and_unwritable_ladders_are_reported(tmp_path: Path) -> None:
    with pytest.raises(LadderError, match="cannot be written"):
        ladder.write(tmp_path, MADE)
    with pytest.raises(LadderError, match="cannot be read"):
        ladder.read(tmp_path / "none.toml")


def test_levels_are_rungs_of_the_games_own_ladder(shipped: Path) -> None:
    game = games.make("connect4")
    ladder.write(ladder.shipped_file(game.id), MADE)
    # The top has 800 Elo, so the other levels are at 200, 400 and 600.
    assert [ladder.opponent(game, level) for level in LEVELS] == list(NAMES[1:])
    ladder.write(ladder.shipped_file(game.id), replace(MADE, version=game.version + 1))
    assert ladder.find(game) is None


def test_without_a_ladder_best_is_the_agent_or_else_mcts(shipped: Path) -> None:
    assert ladder.opponent(games.make("connect4")) == "az:connect4"
    assert ladder.opponent(games.make("chinese-checkers:fields=121,players=2")) == "az:star2"
    easier = [ladder.opponent(games.make("checkers"), level) for level in LEVELS]
    simulations = [int(spec.removeprefix("mcts:simulations=")) for spec in easier]
    assert simulations == sorted(set(simulations))


def test_an_unknown_level_is_refused() -> None:
    with pytest.raises(players.PlayerError, match="Did you mean medium"):
        ladder.opponent(games.make("connect4"), "medum")


@pytest.mark.parametrize("game_id", sorted({agent.game for agent in agents()} - WITHOUT_LADDER))
def test_every_game_with_an_agent_has_a_ladder_from_random_up(game_id: str) -> None:
    game = games.make(game_id)
    found = ladder.find(game)
    assert found is not None, f"tabia rate ladder {game_id} --ladder {ladder.shipped_file(game_id)}"
    rungs = found.rungs
    assert len(rungs) >= 5
    assert (rungs[0].spec, rungs[0].elo) == ("random", 0)
    assert all(100 <= strong.elo - weak.elo <= 300 for weak, strong in pairwise(rungs))
    assert all(rung.low <= rung.elo <= rung.high and rung.games > 0 for rung in rungs)
    assert len({ladder.chosen(found, level) for level in LEVELS}) == len(LEVELS)
    for rung in rungs:
        assert players.make(rung.spec, game).spec == rung.spec
