"""The pages are true: their commands print what they show, their sessions run, their links lead somewhere."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tabia import games
from tabia.cli.main import app

ROOT = Path(__file__).parents[2]
GAME_PAGES = sorted((ROOT / "docs" / "games").glob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "docs" / "reference" / "games.md", *GAME_PAGES]
HEADINGS = ["Rules", "Board and actions", "Observation", "Moves as text", "Scores", "Reference", "Parameters"]
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ (?:\.venv/bin/)?tabia (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)

pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


@pages
def test_commands_print_what_the_page_shows(page: Path) -> None:
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        for command, shown in COMMAND.findall(block):
            result = CliRunner().invoke(app, shlex.split(command))
            # Three dots on a line of their own stand for any lines, elsewhere for the rest of the line.
            pattern = re.escape(shown.rstrip()).replace("\\.\\.\\.\\\n", r"(?:.*\n)*?").replace(r"\.\.\.", ".*")
            assert re.fullmatch(pattern, result.output.rstrip()), f"$ tabia {command}\n{result.output}"


def test_the_readme_activates_the_environment_before_it_calls_tabia() -> None:
    """Friction 12: every command works as it is copied, in the order of the page."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = [line[2:] for block in BLOCK.findall(text) for line in block.splitlines() if line.startswith("$ ")]
    assert commands[:2] == ["make setup", "source .venv/bin/activate"]
    assert all(command.startswith("tabia ") for command in commands[2:])


@pages
def test_sessions_run(page: Path) -> None:
    failed, _ = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert failed == 0


@pytest.mark.parametrize(
    "page", [*PAGES, *ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")], ids=lambda page: page.stem
)
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text) + re.findall(r'src="([^"]+)"', text):
        assert target.startswith("https://") or (page.parent / target).exists(), target


def test_every_game_has_a_page_and_all_pages_have_the_same_headings() -> None:
    page_of = {page.stem for page in GAME_PAGES}
    assert {games.make(known).name for known in games.ids()} == page_of
    for page in GAME_PAGES:
        lines = page.read_text(encoding="utf-8").splitlines()
        assert [line.removeprefix("## ") for line in lines if line.startswith("## ")] == HEADINGS, page
