"""The command as a whole: help, version, start-up without JAX, errors and bugs."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise

import pytest
import typer
from typer.testing import CliRunner

from tabia import __version__
from tabia.cli.groups import CommandGroup
from tabia.cli.main import app
from tabia.core.errors import TabiaError


def test_version() -> None:
    assert CliRunner().invoke(app, ["--version"]).stdout == f"tabia {__version__}\n"


@pytest.mark.parametrize(
    "words", [[], ["games"], ["show"], ["check"], ["play"], ["analyze"], ["bench"], ["bench", "games"]]
)
def test_help_explains_every_option(words: list[str]) -> None:
    result = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "200"})
    assert result.exit_code == 0
    assert "Usage:" in result.stdout
    options = [line for line in result.stdout.splitlines() if line.lstrip("│* ").startswith("--")]
    assert options and all(len(line.strip("│ ").split()) > 3 for line in options)
    if words and words != ["bench"]:
        assert "Examples:" in result.stdout


@pytest.mark.parametrize("words", [[], ["play"], ["analyze"], ["train"], ["serve"]])
def test_help_fits_80_columns(words: list[str]) -> None:
    """Paragraphs are filled: no line has room for the next word. Flags show no type."""
    text = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "80"}).stdout
    assert "<bool>" not in text
    lines = [line.removeprefix(" ").rstrip() for line in text.partition("╭")[0].partition(" Examples:")[0].splitlines()]
    for line, following in pairwise(lines):
        assert not line or not following or len(f"{line} {following.split()[0]}") > 78, (line, following)


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["--version"],
        ["check", "--help"],
        ["play", "--help"],
        ["analyze", "--help"],
        ["bench", "games", "--help"],
    ],
)
def test_help_and_version_do_not_import_jax(words: list[str]) -> None:
    lines = ["import sys", "from tabia.cli.main import app"]
    lines += [f"app({words}, standalone_mode=False)", "sys.exit('jax' in sys.modules)"]
    assert subprocess.run([sys.executable, "-c", "; ".join(lines)], capture_output=True, check=False).returncode == 0


def test_an_unknown_command_or_option_is_answered_with_the_nearest() -> None:
    for words, nearest in [(["gmaes"], "games"), (["bench", "serach"], "search"), (["games", "--jsn"], "--json")]:
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 2 and nearest in result.stderr


def test_commands_are_grouped_and_the_old_name_of_analyze_works() -> None:
    text = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "100"}).stdout
    panels = [text.index(panel) for panel in ("Play and analyze", "Measure", "Train", "Games and agents")]
    assert panels == sorted(panels)
    assert "analyse" not in text and CliRunner().invoke(app, ["analyse", "--help"]).exit_code == 0


def _app_raising(error: Exception) -> typer.Typer:
    made = typer.Typer(cls=CommandGroup)
    nested = typer.Typer()

    @made.callback()
    def main() -> None: ...

    @nested.command("go")
    def go() -> None:
        raise error

    @nested.command("stay")
    def stay() -> None: ...

    made.add_typer(nested, name="deep")
    return made


def test_an_error_in_any_command_is_one_sentence_with_exit_code_two() -> None:
    result = CliRunner().invoke(_app_raising(TabiaError("No such thing.")), ["deep", "go"])
    assert (result.exit_code, result.stderr, result.stdout) == (2, "tabia: No such thing.\n", "")


def test_a_bug_keeps_its_traceback() -> None:
    bug = ZeroDivisionError("ours")
    assert CliRunner().invoke(_app_raising(bug), ["deep", "go"]).exception is bug


def _piped(*words: str, **settings: str) -> bytes:
    command = [sys.executable, "-c", "from tabia.cli.main import run; run()", *words]
    return subprocess.run(command, capture_output=True, check=True, env={**os.environ, **settings}).stdout


def test_piped_output_is_plain_and_does_not_wrap() -> None:
    output = _piped("games", COLUMNS="40")
    assert b"\x1b" not in output
    assert any(line.startswith(b"othello ") and b"most stones win" in line for line in output.splitlines())


def test_output_without_a_tick_uses_words() -> None:
    output = _piped("check", "connect3", "--games", "1", PYTHONIOENCODING="ascii")
    assert b"\nholds There are legal moves exactly until the game is over." in output
    assert output.strip().endswith(b"laws.")
