"""Players from a user's file: choices, options, error messages, and files that must never run."""

from __future__ import annotations

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from typer.testing import CliRunner

from tabia import games, players
from tabia.cli.main import app
from tabia.core.errors import TabiaError
from tabia.evaluation import records
from tabia.evaluation.records import Record, RecordFile
from tabia.games.session import Session
from tabia.players import PlayerError
from tabia.training.config import toml as settings
from tabia.training.run.directory import RunDirectory
from tabia.training.training import Training

EXAMPLES = Path(__file__).parents[2] / "examples"
GAME = games.make("tictactoe")
SOURCE = """
import jax
import jax.numpy as jnp

class Last:
    def __init__(self, count: int = 1):
        self.count = count
    def choose(self, position):
        return position.legal_moves[-self.count]

class Named:
    def choose(self, position):
        return position.name(position.legal_moves[0]).upper()

class Lots:
    def choose(self, position):
        return position.random.choice(position.legal_moves)

class Ahead:
    def choose(self, position):
        return max(position.legal_moves, key=lambda move: position.after(move).scores[position.mover])

class Looks:
    def choose(self, position):
        assert position.board.shape == position.game.observation_shape
        assert position.action(position.name(0)) == 0
        assert (position.mover, position.is_over, position.scores, position.ply) == (0, False, [0.0, 0.0], 7)
        return 0

class Whole:
    def __init__(self, game, last: bool = False):
        self.game, self.last = game, last
    def choose(self, states, key):
        legal = jax.vmap(self.game.legal)(states)
        return 8 - jnp.argmax(legal[:, ::-1], axis=1) if self.last else jnp.argmax(legal, axis=1)

class Boom:
    def choose(self, position):
        return [][3]

class Illegal:
    def choose(self, position):
        return 9

class Nothing:
    def choose(self, position):
        pass

class WrongBatch:
    def choose(self, states, key, ply):
        return jnp.full(len(ply), 9)

class WrongShape:
    def choose(self, states, key):
        return 3

class Silent:
    pass

class Greedy:
    def choose(self, a, b, c, d):
        pass

class Needs:
    def __init__(self, depth):
        pass
    def choose(self, position):
        return 0

class Hot:
    def __init__(self, temperature=1):
        pass
    def choose(self, position):
        return 0

class Broken:
    def __init__(self):
        self.table = {}[1]
    def choose(self, position):
        return 0
"""


def line(code: str) -> int:
    return next(number for number, text in enumerate(SOURCE.splitlines(), start=1) if code in text)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(SOURCE, encoding="utf-8")
    return tmp_path


def chosen(spec: str, *moves: str) -> list[int]:
    states = [Session.from_moves(GAME, text).state for text in moves]
    batch = jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)
    plies = jnp.full(len(moves), 7)
    return np.asarray(players.make(spec, GAME).choose(batch, jax.random.key(0), plies).actions).tolist()


@pytest.mark.parametrize(
    ("spec", "actions"),
    [
        ("mine.py:Last", [8, 7]),
        ("./mine.py:Last:count=2", [7, 6]),
        ("mine.py:Named", [0, 0]),
        ("mine.py:Looks", [0, 0]),
        ("mine.py:Whole", [0, 0]),
        ("mine.py:Whole:last=true", [8, 7]),
        ("mine.py:Last:random_moves=0,count=3,epsilon=0", [6, 5]),
    ],
)
def test_class_chooses_the_moves(folder, spec, actions):
    assert chosen(spec, "", "c1 b2") == actions  # actions count from the upper left


def test_class_can_search_ahead(folder):
    assert [GAME.move_name(action) for action in chosen("mine.py:Ahead", "a1 a3 b1 b3")] == ["c1"]


def test_finished_games_are_skipped(folder):
    assert chosen("mine.py:Illegal", "a1 a3 b1 b3 c1") == [0]


def test_same_key_gives_same_random_numbers(folder):
    moves = [""] * 30
    assert chosen("mine.py:Lots", *moves) == chosen("mine.py:Lots", *moves)
    assert len(set(chosen("mine.py:Lots", *moves))) > 4


@pytest.mark.parametrize("spelled", ["mine.py:Last:count=2", "./mine.py:Last:count=2", "{}/mine.py:Last:count=2"])
def test_spec_makes_the_same_player(folder, spelled):
    made = players.make(spelled.format(folder), GAME)
    assert made.spec == "mine.py:Last:count=2"
    assert players.make(made.spec, GAME).spec == made.spec


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            "mine.py:Boom",
            rf"mine.py, line {line('return [][3]')}, Boom.choose raised IndexError: list index out of range, in this",
        ),
        (
            "mine.py:Illegal",
            rf"mine.py, line {line('class Illegal') + 1}, Illegal.choose returned 9, which is not legal here.*\nLegal",
        ),
        ("mine.py:Nothing", r"Nothing.choose returned None, a NoneType; expected an action or the name of a move:\n"),
        (
            "mine.py:WrongBatch",
            rf"mine.py, line {line('class WrongBatch') + 1}, WrongBatch.choose returned 9, .*0 \(a3\)",
        ),
        ("mine.py:WrongShape", r"WrongShape.choose returned 3; expected a Choice, or int32\[1\], one action for each"),
        ("mine.py:Silent", r"class Silent: a player needs a method `def choose\(self, position\)"),
        (
            "mine.py:Greedy",
            r"choose takes 4 arguments besides self; expected choose\(self, position\), or choose\(self, st",
        ),
        ("mine.py:Needs", r"class Needs: the parameter 'depth' of __init__ needs a default"),
        ("mine.py:Hot", r"class Hot: the argument 'temperature' has the name of an option of every player; rename it"),
        ("mine.py:Broken", r"mine.py, line \d+, Broken.__init__ raised KeyError: 1"),
        ("mine.py:Last:cuont=2", r"class Last: it has no parameter 'cuont'. Did you mean count"),
        ("mine.py:Last:count=two", r"class Last: count=two: expected an integer"),
        ("mine.py:Last:count", r"'count' in 'mine.py:Last:count' is not an option"),
        ("mine.py:Lats", r"mine.py has no class 'Lats'. Did you mean Lots or Last"),
        ("mien.py:Last", r"There is no file mien.py. Did you mean mine.py"),
        ("mine.py:Last:temperature=1", r"mine.py:Last.* has no policy"),
    ],
)
def test_error_messages(folder, spec, message):
    with pytest.raises(PlayerError, match=f"(?s){message}"):
        chosen(spec, "")


def test_plain_python_game_gives_its_object(folder):
    (folder / "nim.py").write_text((EXAMPLES / "nim.py").read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "bouton.py").write_text(
        "class Bouton:\n"
        "    def choose(self, position):\n"
        "        for move in position.legal_moves:\n"
        "            a, b, c = position.after(move).object.heaps\n"
        "            if not a ^ b ^ c:\n"
        "                return move\n"
        "        return position.legal_moves[0]\n",
        encoding="utf-8",
    )
    result = CliRunner().invoke(app, ["accuracy", "nim.py:Nim", "bouton.py:Bouton", "--positions", "20"])
    assert result.exit_code == 0, result.output
    assert "all                20" in result.output and "100.0%" in result.output.splitlines()[-1]


def test_own_player_plays_in_the_terminal(folder):
    result = CliRunner().invoke(
        app, ["play", "tictactoe", "--terminal", "--against", "mine.py:Last"], input="a1\na2\na3\n"
    )
    assert result.exit_code == 0, result.output
    assert "mine.py:Last" in result.output


# What must not run.


@pytest.fixture
def trap(folder) -> Path:
    """A player's file that creates a file when it runs."""
    (folder / "trap.py").write_text(
        "from pathlib import Path\nPath('sprung').touch()\nclass Trap:\n    def choose(self, position): return 0\n",
        encoding="utf-8",
    )
    return folder / "sprung"


def test_a_record_does_not_run_the_file_it_names(trap, folder):
    record = Record("tictactoe", 1, ("human", "trap.py:Trap"), ("a1",), (0.0, 0.0), end="unfinished")
    records.save(folder / "game.txt", RecordFile({}, [record]))
    result = CliRunner().invoke(app, ["play", "--terminal", "--load", "game.txt"])
    assert result.exit_code == 2 and "would run Python code" in result.output
    assert not trap.exists()


@pytest.mark.parametrize("where", ["evaluation", "selfplay"])
def test_a_configuration_does_not_run_the_file_it_names(trap, folder, where):
    tables = {
        "evaluation": {"evaluation": {"every": 1, "opponents": ["trap.py:Trap"]}},
        "selfplay": {"selfplay": {"teacher": "trap.py:Trap"}},
    }[where]
    (folder / "run").mkdir()
    config = settings.from_tables({"game": "tictactoe", **tables})
    (folder / "run" / "config.toml").write_text(settings.to_toml(config))
    with pytest.raises(TabiaError, match=r"would run Python code|initialize can teach"):
        Training.resume(RunDirectory(folder / "run"))
    assert not trap.exists()
