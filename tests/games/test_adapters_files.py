"""Games from a user's file: both kinds, their ids, and files that are wrong."""

from __future__ import annotations

import sys

import jax
import jax.numpy as jnp
import pytest
from typer.testing import CliRunner

from tabia.cli.main import app
from tabia.games import GameError, make
from tabia.games.laws.law import first_line
from tabia.games.session import Session

PLAIN = """
import beside

class Coin:
    num_players, num_actions, max_moves = 2, 2, 1
    def __init__(self): self.played = []
    def legal_moves(self): return [0, 1]
    def apply(self, move): self.played.append(move)
    def mover(self): return 0
    def is_over(self): return bool(self.played)
    def scores(self): return beside.SCORES[self.played[0]]
"""
ARRAY = """
from __future__ import annotations
from dataclasses import dataclass
from typing import NamedTuple
import jax.numpy as jnp
from tabia.games import Game

class State(NamedTuple):
    done: object

@dataclass(frozen=True)
class One(Game):
    \"\"\"One move and no more.\"\"\"
    size: int = 1
    name, num_players, num_actions, observation_shape, max_moves = "one", 2, 1, (1, 1, 1), 1
    def init(self, key): return State(jnp.bool_(False))
    def step(self, state, action, key=None): return State(state.done | (action == 0))
    def legal(self, state): return ~state.done[None]
    def mover(self, state): return jnp.int32(0)
    def over(self, state): return state.done
    def scores(self, state): return jnp.zeros(2)
    def observe(self, state, seat=None): return state.done.astype(jnp.float32).reshape(1, 1, 1)

class Loose(Game):
    pass

@dataclass(frozen=True)
class Half(Game):
    name = "half"
    num_players = 2
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "beside.py").write_text("SCORES = [[1, -1], [-1, 1]]")
    (tmp_path / "coin.py").write_text(PLAIN)
    (tmp_path / "one.py").write_text(ARRAY)
    yield tmp_path
    sys.modules.pop("beside", None)


@pytest.mark.parametrize("id", ["coin.py:Coin", "one.py:One", "one.py:One:size=3"])
def test_the_id_makes_the_same_game(folder, id):
    game = make(id)
    assert game.id == id
    assert make(game.id) == game
    assert hash(make(game.id)) == hash(game)


def test_array_rules_keep_what_their_author_wrote(folder):
    game = make("one.py:One")
    assert (game.name, game.title, game.num_actions) == ("one", "One move and no more.", 1)
    assert bool(game.over(game.step(game.init(jax.random.key(0)), jnp.int32(0))))


def test_history_works_for_both(folder):
    assert make("coin.py:Coin:history=3").id == "coin.py:Coin:history=3"
    assert make("one.py:One:history=3").observation_shape == (1, 1, 3)


def test_a_changed_file_is_read_again(folder):
    before = make("coin.py:Coin")
    (folder / "coin.py").write_text(PLAIN.replace("[0, 1]", "[1]"))
    after = make("coin.py:Coin")
    assert before.legal(before.init(jax.random.key(0))).tolist() == [True, True]
    assert after.legal(after.init(jax.random.key(0))).tolist() == [False, True]


def test_nothing_is_left_behind(folder):
    paths = list(sys.path)
    make("coin.py:Coin")
    assert sys.path == paths
    assert "coin" not in sys.modules
    assert not (folder / "__pycache__" / "coin.cpython-311.pyc").exists()


@pytest.mark.parametrize(
    ("id", "message"),
    [
        ("con.py:Coin", "There is no file con.py. Did you mean coin.py"),
        ("nowhere/coin.py:Coin", "There is no file nowhere/coin.py"),
        ("coin.py:Con", "coin.py has no class 'Con'. Did you mean Coin?"),
        ("coin.py:", "coin.py has no class ''. Known: Coin"),
        ("coin.py", "'coin.py' is no game: name the file, a colon and the class, as in nim.py:Nim."),
        ("coin.py::Coin", "'coin.py::Coin' is no game: name the file, a colon and the class"),
        ("coin.py:beside", "coin.py has no class 'beside'"),
        ("one.py:Loose", "one.py, line 24, class Loose: a game also needs init, legal"),
        ("one.py:Half", "also needs init, legal, max_moves, mover, num_actions, observation_shape"),
        ("one.py:One:sise=3", "one.py, class One: it has no parameter 'sise'. Did you mean size?"),
        ("one.py:One:size=x", "one.py, class One: size=x: expected an integer."),
        ("one.py:One:size=1.5", "one.py, class One: size=1.5: expected an integer."),
    ],
)
def test_missing_parts_are_named(folder, id, message):
    with pytest.raises(GameError) as refusal:
        make(id)
    assert message in str(refusal.value)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x = 1\nclass A(:\n", "bad.py, line 2: invalid syntax: class A(:"),
        ("import json\n\nimport nothing_\n", "bad.py, line 3: the file could not be imported: ModuleNotFoundError"),
        ("def f():\n    return 1 / 0\nf()\n", "bad.py, line 2: the file could not be imported: ZeroDivisionError"),
        ("raise SystemExit(3)\n", "bad.py, line 1: the file could not be imported: SystemExit: 3"),
        ("x = 1\n", "bad.py has no class 'A'. It defines no class."),
        ("class A:\n    pass\n", "bad.py, class A: a game also needs\n    num_players"),
    ],
)
def test_errors_in_a_file_name_the_line(folder, source, message):
    (folder / "bad.py").write_text(source)
    with pytest.raises(GameError) as refusal:
        make("bad.py:A")
    assert message in str(refusal.value)
    assert refusal.value.__suppress_context__ or refusal.value.__context__ is None  # no traceback of ours


def test_array_rules_must_be_frozen(folder):
    (folder / "thawed.py").write_text(ARRAY.replace("(frozen=True)", ""))
    with pytest.raises(
        GameError, match=r"thawed.py, class One: a game must be immutable; write @dataclass\(frozen=True\)"
    ):
        make("thawed.py:One")


def test_a_rare_mistake_is_reported_without_a_traceback(folder):
    """The random games that test a class cannot find everything; commands and laws still report it in one line."""
    rare = PLAIN.replace("2, 2, 1", "2, 2, 12").replace("bool(self.played)", "len(self.played) == 12")
    late = "self.played.append(move); self.played == [1] * 12 and no_such_name"
    (folder / "rare.py").write_text(rare.replace("self.played.append(move)", late))
    sentence = (
        "rare.py, class Coin: apply(1) raised NameError at line 8 (name 'no_such_name' is not defined), after moves 1"
    )
    shown = CliRunner().invoke(app, ["show", "rare.py:Coin", "--moves", "1" * 12])
    assert shown.output.startswith(f"tabia: {sentence}")
    assert shown.exit_code == 2
    game = make("rare.py:Coin")
    nearly = Session.from_moves(game, "1" * 11).state
    with pytest.raises(jax.errors.JaxRuntimeError) as wrapped:
        jax.block_until_ready(jax.jit(game.step)(nearly, jnp.int32(1)))
    assert first_line(wrapped.value).startswith(f"RulesError: {sentence}")
