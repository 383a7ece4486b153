"""Mistakes in array rules: each is one sentence with the file, the line, the method and what to do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tabia.cli.main import app
from tabia.games import GameError, make

RACE = (Path(__file__).parents[2] / "examples" / "race.py").read_text(encoding="utf-8")
RACE = RACE.replace("import jax.numpy as jnp", "import random\nimport numpy as np\nimport jax.numpy as jnp")
ADD = "        total = state.total + jnp.where(played, action + 1, 0)"
MOVER = "        mover = jnp.where(played, 1 - state.mover, state.mover)"
START = "State(total=jnp.int32(0), mover=jnp.int32(0))"
LEGAL = "return state.total + jnp.arange(1, 4) <= self.target"
OVER = "return state.total == self.target"

MISTAKES = {
    # the text replaced, its replacement, the method, a part of the reported line, the message
    "if": (
        ADD,
        "        total = state.total + 1 if played else state.total",
        "step",
        "if played",
        "jnp.where(condition",
    ),
    "and": (OVER, "return state.total > 0 and state.total == self.target", "over", "> 0 and", "&, | and ~"),
    "item": (MOVER, f"{MOVER}\n        t = jnp.zeros(3)\n        t[0] = 1", "step", "t[0] = 1", "x.at[i].set(value)"),
    "field": (
        MOVER,
        f"{MOVER}\n        state.total = total",
        "step",
        "state.total = total",
        "state._replace(field=value)",
    ),
    "int": (OVER, "return jnp.bool_(int(state.total) == self.target)", "over", "int(", "cannot become a Python number"),
    "range": (MOVER, f"{MOVER}\n        list(range(action))", "step", "range(action)", "cannot be a Python index"),
    "numpy": (OVER, "return np.asarray(state.total) == self.target", "over", "np.asarray", "Use jax.numpy"),
    "mask": (OVER, "return jnp.arange(3)[self.legal(state)].sum() == 3", "over", "jnp.arange(3)[", "jnp.where(mask"),
    "name": (OVER, "return stat.total == self.target", "over", "stat.total", "NameError: name 'stat' is not defined"),
    "dtype": (
        LEGAL,
        f"{LEGAL.replace('return ', 'return jnp.float32(')})",
        "legal",
        "def legal",
        "returns float32[3]; expected bool[3]; convert it with .astype(jnp.bool_)",
    ),
    "shape": (LEGAL, LEGAL.replace("(1, 4)", "(1, 3)"), "legal", "def legal", "returns bool[2]; expected bool[3]."),
    "observe": (
        ".reshape(self.observation_shape)",
        "",
        "observe",
        "def observe",
        "float32[22]; expected float32[1, 22, 1]",
    ),
    "state": (
        "State(total, mover)",
        "State(total * 1.0, mover)",
        "step",
        "def step",
        "returns state.total as float32[]; init returned int32[]",
    ),
    "nothing": (
        "return State(total, mover)",
        "State(total, mover)",
        "step",
        "def step",
        "returns None; expected the same as init, a State",
    ),
    "weak": (START, "State(total=0, mover=jnp.int32(0))", "init", "def init", "state.total without a fixed dtype"),
    "random": (
        START,
        START.replace("jnp.int32(0), m", "jnp.int32(random.randint(0, 1)), m"),
        "init",
        "random.randint",
        "Set chance = True and draw from the key",
    ),
    "generator": (
        MOVER,
        f"{MOVER}\n        total = total + np.random.default_rng().integers(1 << 30)",
        "step",
        "np.random",
        "draw from the key",
    ),
    "number": ("num_actions = 3", "num_actions = 3.0", "num_actions", None, "is 3.0; expected an integer of"),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_sentence_with_its_place(folder, mistake):
    before, after, method, at, message = MISTAKES[mistake]
    assert RACE.count(before) == 1
    (folder / "race.py").write_text(RACE.replace(before, after), encoding="utf-8")
    with pytest.raises(GameError) as refusal:
        make("race.py:Race")
    text, lines = str(refusal.value), (folder / "race.py").read_text(encoding="utf-8").splitlines()
    line = next((number for number, code in enumerate(lines, start=1) if at and at in code), None)
    assert text.startswith(f"race.py, line {line}, Race.{method}: " if line else f"race.py, Race.{method}: ")
    assert message in text and "\n" not in text


@pytest.mark.parametrize(
    ("line", "message"),
    {
        "ending: int = 21": "the parameter 'ending' hides Game.ending(); give it another name.",
        "ending: int": "the parameter 'ending' hides Game.ending(); give it another name.",
        'ending = "21 was said."': "'ending' must be a method, def ending(self, state: State) -> str.",
    }.items(),
)
def test_a_method_of_the_protocol_cannot_be_hidden(folder, line, message):
    """Otherwise every law holds, and `tabia play` fails when it calls the method."""
    (folder / "race.py").write_text(RACE.replace("    target: int = 21\n", f"    target: int = 21\n    {line}\n"))
    with pytest.raises(GameError, match=re.escape(f"race.py, class Race: {message}")):
        make("race.py:Race")


def test_every_command_reports_it_once(folder):
    (folder / "race.py").write_text(RACE.replace(*MISTAKES["if"][:2]), encoding="utf-8")
    for command in (["check"], ["show"], ["match", "random", "random"]):
        result = CliRunner().invoke(app, [command[0], "race.py:Race", *command[1:]])
        assert result.exit_code == 2
        assert len(result.output.splitlines()) == 1 and "Race.step" in result.output


def test_tables_filled_on_first_use_may_draw_numbers(folder):
    """Zobrist keys and the like: drawn once, by design."""
    table = "    @functools.cached_property\n    def table(self):\n        return np.random.rand(3)\n"
    source = RACE.replace("import random", "import random, functools").replace(
        "    def init(", f"{table}\n    def init("
    )
    (folder / "race.py").write_text(source.replace(MOVER, f"{MOVER}\n        self.table"), encoding="utf-8")
    assert make("race.py:Race").num_actions == 3


def test_drawing_from_the_key_is_allowed(folder):
    source = RACE.replace("import random", "import jax").replace(
        "    num_actions = 3", "    num_actions = 3\n    chance = True"
    )
    source = source.replace(START, START.replace("jnp.int32(0), m", "jax.random.randint(key, (), 0, 3), m"))
    (folder / "race.py").write_text(source, encoding="utf-8")
    assert make("race.py:Race").chance
