"""All outputs of an analysis agree: text, JSON, the picture of the tree, files of positions, and hints."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import jax
import numpy as np
import pytest
from typer.testing import CliRunner

from tabia import games, players
from tabia.cli.main import app
from tabia.games.session import Session
from tabia.players.analysis import analyze_position
from tabia.search import picture

MAIN = "#d1495b"  # the color of boxes on the main line
THREE_SEATS = "connect:rows=4,columns=5,line=3,players=3"

SEARCHES = [
    ("connect3", "mcts:simulations=24"),
    ("connect3", "mcts:simulations=24,final=value"),
    ("connect3", "mcts:simulations=24,final=robust"),
    ("connect3", "mcts:simulations=24,final=secure"),
    ("connect3", "mcts:simulations=24,temperature=2"),
    ("connect3", "mcts:simulations=24,epsilon=1"),
    ("connect3", "mcts:simulations=24,final=value,random_moves=9"),
    pytest.param("connect3", "mcts:simulations=24,leaves=4", marks=pytest.mark.long),
    ("connect3", "az:connect3,simulations=24"),
    ("connect3", "az:connect3,simulations=24,temperature=1"),
    pytest.param("connect3", "az:connect3,simulations=24,rule=puct,symmetries=true", marks=pytest.mark.long),
    pytest.param(THREE_SEATS, "mcts:simulations=24", marks=pytest.mark.long),
    (THREE_SEATS, "az:untrained,simulations=24,considered_actions=4,gumbel_scale=1"),
]
OTHERS = [
    ("connect3", "perfect"),
    ("connect3", "perfect:epsilon=1"),
    ("connect3", "minimax:depth=2"),
    ("connect3", "network:connect3"),
    ("connect3", "network:connect3,temperature=1"),
]


class Box(NamedTuple):
    """One node of the picture."""

    move: str
    visits: int
    value: str
    main: bool


def ask(game: str, spec: str, moves: str, *words: str) -> str:
    result = CliRunner().invoke(app, ["analyze", game, "--player", spec, "--moves", moves, *words])
    assert result.exit_code == 0, result.stderr
    return result.stdout


@cache
def positions(game_id: str, count: int = 3) -> list[str]:
    """Random unfinished positions as moves; the first is the start."""
    game, rng, found = games.make(game_id), np.random.default_rng(5), [""]
    while len(found) < count:
        state, played = game.init(jax.random.key(0)), list[int]()
        for _ in range(int(rng.integers(1, 7))):
            played.append(int(rng.choice(np.flatnonzero(np.asarray(game.legal(state))))))
            state = game.step(state, np.int32(played[-1]))
            if bool(game.over(state)):
                break
        if not bool(game.over(state)):
            found.append(Session.replay(game, played).text)
    return found


def boxes(path: Path) -> list[list[Box]]:
    """The boxes of the picture by level."""
    levels: dict[str, list[Box]] = {}
    texts: dict[float, list[str]] = {}
    place = (0.0, "")
    for element in ElementTree.parse(path).getroot():
        kind = element.tag.split("}")[1]
        if kind == "rect" and "rx" in element.attrib:
            place = (float(element.attrib["y"]), element.attrib["stroke"])
            texts[place[0]] = []
        elif kind == "text" and texts and element.attrib.get("text-anchor") == "middle":
            texts[place[0]].append(element.text or "")
            if len(texts[place[0]]) == 2:
                move, numbers = texts.pop(place[0])
                visits, value = numbers.split()
                levels.setdefault(f"{place[0]:09.1f}", []).append(Box(move, int(visits), value, place[1] == MAIN))
    return [levels[level] for level in sorted(levels)]


def check_text(text: str, found: dict[str, Any]) -> None:
    """The text agrees with the JSON."""
    plays = re.search(r" plays (\S+?)(?:, drawn at random; it recommends (\S+))?\.$", text, re.M)
    assert plays is not None and plays.groups() == (found["move"], found.get("recommended"))
    shapes = {"policy": ("policy", "{:.1%}"), "visits": ("visits", "{:,}"), "value": ("values", "{:+.3f}")}
    shapes["score"] = ("scores", "{:+d}")
    lines = text.splitlines()
    heading = next(number for number, line in enumerate(lines) if line.split()[:1] == ["move"])
    columns = lines[heading].split()[1:]
    rows = [line.split() for line in lines[heading + 1 :] if not line.startswith(("Expected: ", "Main line: "))]
    for move, *cells in rows:
        for column, cell in zip(columns, cells, strict=True):
            key, shape = shapes[column]
            assert cell == (shape.format(found[key][move]) if move in found[key] else "-"), (move, column)
    assert sorted(row[0] for row in rows) == sorted(found["policy"])
    expected = ", ".join(f"seat {seat} {value:+.3f}" for seat, value in enumerate(found["expected"], start=1))
    assert f"Expected: {expected}" in lines and f"Main line: {' '.join(found['line'])}" in lines


def check_move(game_id: str, moves: str, found: dict[str, Any]) -> None:
    """The main line starts with the move and is legal; only randomized players deviate from their recommendation."""
    assert found["line"][0] == found["move"]
    session = Session.from_moves(games.make(game_id), " ".join([moves, *found["line"]]))
    assert session.ply == len(moves.split()) + len(found["line"])
    assert sum(found["policy"].values()) == pytest.approx(1, abs=1e-3)
    if not any(word in found["player"] for word in ("epsilon", "temperature", "random_moves")):
        assert "recommended" not in found and found["policy"][found["move"]] > 0
    assert found.get("recommended") != found["move"]


def check_tree(tree: list[list[Box]], found: dict[str, Any]) -> None:
    """The root has the value of the analysis, the moves have their visits and values, and the chosen move is marked."""
    (root,), children = tree[0], tree[1]
    assert root.move == f"seat {found['mover'] + 1} to move" and root.main
    assert root.visits == sum(found["visits"].values())
    assert root.value == f"{found['expected'][found['mover']]:+.3f}"
    for box in children:
        assert box.visits == found["visits"][box.move]
        assert box.value == (f"{found['values'][box.move]:+.3f}" if box.visits else "-")
        assert box.main == (box.move == found["move"])
    main = [box.move for level in tree[1:] for box in level if box.main]
    assert main == found["line"][: len(main)] and main[0] == found["move"]


@pytest.mark.parametrize(("game_id", "spec"), SEARCHES)
def test_all_outputs_of_a_search_agree(game_id: str, spec: str, tmp_path: Path) -> None:
    path = tmp_path / "tree.svg"
    for moves in positions(game_id):
        found = json.loads(ask(game_id, spec, moves, "--json", "--tree", str(path)))
        check_move(game_id, moves, found)
        check_text(ask(game_id, spec, moves), found)
        check_tree(boxes(path), found)


@pytest.mark.parametrize(("game_id", "spec"), OTHERS)
def test_all_outputs_of_other_players_agree(game_id: str, spec: str) -> None:
    for moves in positions(game_id, 2):
        found = json.loads(ask(game_id, spec, moves, "--json"))
        check_move(game_id, moves, found)
        check_text(ask(game_id, spec, moves), found)


def test_text_and_dot_show_the_same_tree() -> None:
    game = games.make("connect3")
    state = Session.from_moves(game, "1 2").state
    found = analyze_position(players.make("mcts:simulations=24,final=value", game), state, jax.random.key(0), 2)
    assert found.tree is not None and found.line is not None and found.expected is not None
    shown = picture.text(found.tree).splitlines()
    assert shown[1].split()[-3:-1] == ["24", f"{found.expected[0]:+.3f}"]
    marked = [line.split()[1] for line in shown[2:] if line.split()[0] == "*"]
    bold = re.findall(r'root_\S+ \[label="(\S+?)\\n[^"]*", penwidth=3', picture.dot(found.tree))
    assert marked == bold == found.line[: len(bold)] and found.line[0] == found.move
    drawn = [picture.render(found.tree, suffix) for suffix in (".txt", ".dot", ".svg")]
    assert drawn == [draw(found.tree) for draw in (picture.text, picture.dot, picture.svg)]


def test_a_random_move_is_reported_with_the_recommended_one() -> None:
    # With epsilon=1 every move is random; the analysis is the one without epsilon.
    for seed in range(3):
        plain, at_random = (
            json.loads(ask("connect3", spec, "1 2", "--json", "--seed", str(seed)))
            for spec in ("perfect", "perfect:epsilon=1")
        )
        assert at_random["scores"] == plain["scores"]
        best = {move for move, odds in plain["policy"].items() if odds > 0}
        assert at_random.get("recommended", at_random["move"]) in best


def test_a_file_of_positions_agrees_with_single_positions(tmp_path: Path) -> None:
    file = tmp_path / "positions.txt"
    asked = positions("connect3", 4)
    file.write_text("\n".join(asked) + "\n")
    for spec in ("az:connect3,simulations=24", "minimax:depth=2"):
        words = ["analyze", "connect3", "--player", spec, "--positions", str(file), "--json"]
        answers = [json.loads(line) for line in CliRunner().invoke(app, words).stdout.splitlines()]
        for number, (moves, answer) in enumerate(zip(asked, answers, strict=True), start=1):
            found = json.loads(ask("connect3", spec, moves, "--json"))
            assert (answer.pop("line"), answer.pop("moves")) == (number, moves)
            assert answer["expected"] == pytest.approx(found["expected"], abs=1e-3)
            assert answer["policy"] == pytest.approx(found["policy"], abs=1e-3)
            assert answer.get("visits") == found.get("visits")


@pytest.mark.parametrize("spec", ["az:connect3,simulations=24", "az:connect3,simulations=24,epsilon=1", "perfect"])
def test_hints_agree_with_the_analysis(spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    words = ["play", "connect3", "--terminal", "--against", "human", "--hint", spec]
    text = CliRunner().invoke(app, words, input="1\n2\nhint\nquit\n").stdout.replace("\n", " ")
    hint = re.search(r"suggests (\S+) \(worth (\S+) to you\) and expects ([^.]*)\.", text)
    assert hint is not None, text
    found = json.loads(ask("connect3", spec.removesuffix(",epsilon=1"), "1 2", "--json"))
    move, worth, line = hint.groups()
    assert line.split()[0] == move
    assert worth == f"{found['values'][move]:+.2f}"
    if spec != "perfect":  # perfect picks a random one of its best moves
        assert move == found["move"] and line.split() == found["line"][:8]


@pytest.mark.long
def test_chinese_checkers_of_three_seats(tmp_path: Path) -> None:
    # After three moves, the choice of the search differs from its most visited move.
    path, moves = tmp_path / "tree.svg", "c5-d5 e1-e2 f6-f4"
    found = json.loads(ask("chinese-checkers", "az:chinese-checkers", moves, "--json", "--tree", str(path)))
    check_move("chinese-checkers", moves, found)
    check_text(ask("chinese-checkers", "az:chinese-checkers", moves), found)
    check_tree(boxes(path), found)
