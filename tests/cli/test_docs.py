"""The pages are true: commands print what is shown, sessions run, links lead somewhere, lines are short."""

from __future__ import annotations

import ast
import doctest
import importlib.util
import re
import shlex
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from typer.core import TyperGroup
from typer.main import get_command
from typer.testing import CliRunner

from tabia import games, players
from tabia.cli.main import app
from tabia.training.config import recipes

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GAME_PAGES = sorted(page for page in (DOCS / "games").glob("*.md") if page.stem != "index")
# Pages whose console sessions run here; those on own games and players run in tests/games/test_own_game_doc.py.
PAGES = [ROOT / "README.md", DOCS / "reference" / "games.md", DOCS / "tutorials" / "first-hour.md", *GAME_PAGES]
SESSIONS = [*PAGES, *(DOCS / "reference" / name for name in ("search.md", "networks.md", "files.md", "players.md"))]
EVERY = sorted(page for page in [*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *(ROOT / "benchmarks").glob("*.md")])
EVERY = [page for page in EVERY if "_build" not in page.parts]
HEADINGS = ["Rules", "Board and actions", "Observation", "Moves as text", "Scores", "Reference", "Parameters"]
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ (?:\.venv/bin/)?tabia (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
SIMPLE = ("random", "greedy", "initialize", "minimax", "mcts")  # players without files
LINKS = (r"\]\(([^)#\s]+)(#[^)\s]*)?\)", r'src="([^"]+)"()', r"^\[[^\]]+\]: (\S+)()$")


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


pages = pytest.mark.parametrize("page", PAGES, ids=name)
every_page = pytest.mark.parametrize("page", EVERY, ids=name)


def without_code(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


@pages
def test_commands_print_what_the_page_shows(page: Path) -> None:
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        for command, shown in COMMAND.findall(block):
            result = CliRunner().invoke(app, shlex.split(command))
            # Three dots on a line of their own stand for any lines, elsewhere for any text on the line.
            lines = [re.escape(line).replace(r"\.\.\.", ".*") for line in shown.rstrip().splitlines()]
            pattern = "".join(r"(?:.*\n)*?" if line == ".*" else line + r"[ \t]*\n" for line in lines)
            assert re.fullmatch(pattern, result.output.rstrip() + "\n"), f"$ tabia {command}\n{result.output}"
            fails = "tabia: " in shown or " breaks " in shown
            assert (result.exit_code != 0) == fails, f"$ tabia {command}\nexit code {result.exit_code}"


@cache
def whole_command() -> Any:
    return get_command(app)


def shown_commands(page: Path) -> list[list[str]]:
    """The arguments of every `tabia` command in a page's blocks, without comments and redirections."""
    found = []
    for block in re.findall(r"^```(?:console)?\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S):
        for line in re.findall(r"^(?:\$ )?tabia (?!COMMAND|games 1)(.*)$", block.replace("\\\n", " "), re.M):
            arguments = shlex.split(line, comments=True)
            arguments = arguments[: arguments.index(">")] if ">" in arguments else arguments
            if not any(re.fullmatch(r"[A-Z]+", argument) for argument in arguments):  # a placeholder, such as DIR
                found.append(arguments)
    return found


@every_page
def test_shown_commands_are_understood(page: Path) -> None:
    """Commands and options exist, and players that need nothing but the game can be made for it."""
    for arguments in shown_commands(page):
        command: Any = whole_command()
        context = command.make_context("tabia", arguments)
        while isinstance(command, TyperGroup) and (left := [*context._protected_args, *context.args]):
            _, command, rest = command.resolve_command(context, left)
            context = command.make_context(command.name, rest, parent=context)
        values = context.params
        wanted = [values.get("player"), *(values.get("players") or ()), *(values.get("against") or ())]
        for spec in filter(None, wanted):
            if spec.split(":")[0] in SIMPLE and values.get("game", "") in games.ids() and "1e9" not in spec:
                players.make(spec, games.make(values["game"]))


def test_the_readme_starts_with_two_commands_and_activates_the_environment_before_it_calls_tabia() -> None:
    """Every command works when it is copied, in the order of the page."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = [line[2:] for block in BLOCK.findall(text) for line in block.splitlines() if line.startswith("$ ")]
    assert commands[:3] == ["make play", "make test", "source .venv/bin/activate"]
    assert all(command.startswith("tabia ") for command in commands[3:])
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert all(re.search(rf"^{target}: setup", makefile, re.MULTILINE) for target in ("play", "test"))


@pytest.mark.parametrize("page", SESSIONS, ids=name)
def test_sessions_run(page: Path) -> None:
    failed, _ = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert failed == 0


@every_page
def test_links_lead_somewhere(page: Path) -> None:
    text = without_code(page.read_text(encoding="utf-8"))
    for target, anchor in [found for link in LINKS for found in re.findall(link, text, re.MULTILINE)]:
        if not target.startswith("https://"):
            assert (page.parent / target).exists(), target
            if anchor and target.endswith(".md"):
                assert anchor[1:] in anchors(page.parent / target), target + anchor


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and MyST make them."""
    headings = re.findall(r"^#+ (.*)$", without_code(page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@every_page
def test_lines_are_at_most_120_characters(page: Path) -> None:
    lines = page.read_text(encoding="utf-8").splitlines()
    assert not [f"{number}: {line}" for number, line in enumerate(lines, start=1) if len(line) > 120]


def test_every_page_is_in_the_site() -> None:
    """Each page of docs/ is in a table of contents; Sphinx would otherwise warn."""
    listed = set()
    for page in DOCS.rglob("*.md"):
        for tree in re.findall(r"^```\{toctree\}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S):
            entries = [line for line in tree.splitlines() if line and not line.startswith(":")]
            listed |= {(page.parent / f"{entry}.md").resolve() for entry in entries}
    assert {page.resolve() for page in EVERY if DOCS in page.parents} - listed == {DOCS / "index.md"}


def test_pages_named_in_the_code_exist() -> None:
    """Help, errors and docstrings that refer to a page name one that is there."""
    for file in [*(ROOT / "src").rglob("*.py"), *(ROOT / "src").rglob("*.toml")]:
        for target in re.findall(r"\bdocs/[\w\-/]+\.md", file.read_text(encoding="utf-8")):
            assert (ROOT / target).exists(), f"{file.relative_to(ROOT)}: {target}"


def test_every_game_has_a_page_and_all_pages_have_the_same_headings() -> None:
    page_of = {page.stem for page in GAME_PAGES}
    assert {games.make(known).name for known in games.ids()} == page_of
    for page in GAME_PAGES:
        lines = page.read_text(encoding="utf-8").splitlines()
        assert [line.removeprefix("## ") for line in lines if line.startswith("## ")] == HEADINGS, page


@pytest.fixture(scope="module")
def generated() -> ModuleType:
    """The Sphinx extension that writes the reference tables."""
    spec = importlib.util.spec_from_file_location("generated", DOCS / "_ext" / "generated.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_tables_are_complete(generated: ModuleType) -> None:
    table = generated.recipes()
    for recipe in map(recipes.load, recipes.names()):
        about = " ".join(recipe.about.split())
        assert f"| `{recipe.name}` | `{recipe.game}` | {recipe.device} | {about} |" in table
    settings = generated.settings()
    assert all(f"`{key}`" in settings for key in ("search.simulations", "learner.learning_rate", "gate.kind", "seed"))
    commands = generated.commands()
    assert all(f"## `tabia {command}`" in commands for command in ("train", "play", "analyze", "rate ladder", "match"))
    assert "analyse" not in commands and "`--games`" in commands
    assert all(f"`{preset}(" in generated.presets() for preset in ("tower", "wandhoven", "any_size"))
    assert ".. autoclass:: tabia.games.Game\n" in generated.api()


def test_pages_ask_for_tables_that_exist(generated: ModuleType) -> None:
    asked = [found for page in EVERY for found in generated.PLACE.findall(page.read_text(encoding="utf-8"))]
    assert set(asked) == set(generated.GENERATED)


def test_the_extensions_are_python() -> None:
    for file in [DOCS / "conf.py", *(DOCS / "_ext").glob("*.py")]:
        ast.parse(file.read_text(encoding="utf-8"))


def test_pages_that_load_from_other_hosts_are_found(tmp_path: Path) -> None:
    """`make docs` runs this check on the whole site."""
    spec = importlib.util.spec_from_file_location("offline", DOCS / "_ext" / "offline.py")
    assert spec is not None and spec.loader is not None
    offline = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(offline)
    (tmp_path / "good.html").write_text('<a href="https://example.org">read</a><script src="own.js"></script>')
    assert offline.remote(tmp_path) == []
    (tmp_path / "bad.html").write_text('<script src="https://example.org/x.js"></script>')
    (tmp_path / "bad.css").write_text("@font-face { src: url(//example.org/font.woff2) }")
    assert [found.rpartition(": ")[2] for found in offline.remote(tmp_path)] == [
        "https://example.org/x.js",
        "//example.org/font.woff2",
    ]
