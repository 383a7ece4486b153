"""The how-to pages on games and players are true: files are the examples, commands print what is shown."""

from __future__ import annotations

import doctest
import functools
import re
import shlex
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import pytest
from typer.testing import CliRunner

from tabia.games import make

pytest.importorskip("pgx")
pytest.importorskip("pyspiel")

ROOT = Path(__file__).parents[2]


class Block(NamedTuple):
    kind: str  # python, console, pycon or diff
    file: str  # the file it writes or changes
    text: str


GAME_PAGES = ["plain-python-game.md", "array-game.md", "library-games.md"]


def blocks(page: str) -> list[Block]:
    text = (ROOT / "docs" / "how-to" / page).read_text(encoding="utf-8")
    every = re.findall(r"^```(\w*) ?(\S*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [Block(*found) for found in every if found[0]]


def agrees(expected: str, printed: str) -> bool:
    """Whether the page shows what was printed; three dots match any text, on a line of their own any lines."""
    lines = [re.escape(line).replace(r"\.\.\.", ".*") for line in expected.rstrip().splitlines()]
    pattern = "".join(r"(?:.*\n)*?" if line == ".*" else line + r"[ \t]*\n" for line in lines)
    return re.fullmatch(pattern, printed.rstrip() + "\n") is not None


def run(block: Block) -> None:
    """Run each command of a console block and compare what it prints."""
    from tabia.cli.main import app

    for session in re.split(r"^\$ tabia ", block.text, flags=re.MULTILINE)[1:]:
        command, _, expected = session.partition("\n")
        result = CliRunner().invoke(app, shlex.split(command))
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        assert agrees(expected, result.output), f"$ tabia {command}\n{result.output}"
        assert (result.exit_code != 0) == ("tabia: " in expected or "breaks" in expected)


@pytest.mark.parametrize("page", [*GAME_PAGES, "write-a-player.md", "analyze.md"])
def test_the_page_is_true(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    changed = None
    for block in blocks(page):
        if block.kind == "python" and block.file:
            assert block.text == (ROOT / "examples" / block.file).read_text(encoding="utf-8")
            Path(block.file).write_text(block.text, encoding="utf-8")
        elif block.kind == "diff":
            changed = Path(block.file)
            whole = changed.read_text(encoding="utf-8")
            before, after = (line[1:] for line in block.text.splitlines())
            assert whole.count(before) == 1
            changed.write_text(whole.replace(before, after), encoding="utf-8")
        elif block.kind in {"pycon", "python"}:
            test = doctest.DocTestParser().get_doctest(block.text, {}, page, None, 0)
            assert doctest.DocTestRunner().run(test).failed == 0
        else:
            run(block)
            if changed:  # the page shows a mistake once, then goes back to the right file
                changed.write_text((ROOT / "examples" / changed.name).read_text(encoding="utf-8"), encoding="utf-8")
                changed = None


def test_the_pages_cover_each_way_to_bring_a_game():
    every = [block for page in GAME_PAGES for block in blocks(page)]
    assert {block.file for block in every if block.kind == "python"} == {"race.py", "nim.py", "kayles.py"}
    commands = "".join(block.text for block in every if block.kind == "console")
    for needed in ("check race.py:Race", "show race.py:Race", "check nim.py:Nim", "show nim.py:Nim", "pgx:", "spiel:"):
        assert needed in commands


@pytest.mark.parametrize("id", ["race.py:Race", "nim.py:Nim", "kayles.py:Kayles"])
def test_the_examples_can_be_played(id, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    from tabia.cli.main import app

    result = CliRunner().invoke(app, ["play", f"{ROOT}/examples/{id}", "--against", "human"], input="quit\n")
    assert result.exit_code == 0 and f"Goal: {make(f'{ROOT}/examples/{id}').goal(0)}" in result.output


def test_race_is_lost_by_the_first_seat():
    """The other seat always completes a multiple of four: 4, 8, 12, 16, 20; then 21 must be said."""
    game = make(f"{ROOT}/examples/race.py:Race")

    @functools.cache
    def wins(total: int, mover: int) -> bool:
        state = type(game.init(jax.random.key(0)))(jnp.int32(total), jnp.int32(mover))
        if game.over(state):
            return bool(game.scores(state)[mover] > 0)
        legal = jnp.flatnonzero(game.legal(state)).tolist()
        return any(not wins(*map(int, game.step(state, jnp.int32(action)))) for action in legal)

    assert [total for total in range(21) if not wins(total, 0)] == [0, 4, 8, 12, 16, 20]


def test_nim_is_decided_by_the_nim_sum():
    """Bouton 1901: the mover loses exactly if the exclusive or of the heaps is zero."""
    rules = make(f"{ROOT}/examples/nim.py:Nim").rules

    @functools.cache
    def wins(heaps: tuple[int, ...]) -> bool:
        moves = []
        for move in at(heaps).legal_moves():
            after = at(heaps)
            after.apply(move)
            moves.append(after)
        return any(after.scores()[0] > 0 if after.is_over() else not wins(tuple(after.heaps)) for after in moves)

    def at(heaps: tuple[int, ...]):
        position = rules()
        position.heaps = list(heaps)
        return position

    for heaps in [(a, b, c) for a in range(4) for b in range(5) for c in range(6) if a + b + c]:
        assert wins(heaps) == (heaps[0] ^ heaps[1] ^ heaps[2] != 0)
