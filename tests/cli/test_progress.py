"""Progress bars: only on the stderr of a terminal, removed at the end, never mixed with results."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tabia.cli import printing
from tabia.cli.main import app


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def run_bar(monkeypatch: pytest.MonkeyPatch, stderr: io.StringIO) -> str:
    """The stderr output of a bar of three, with a line of results in between."""
    monkeypatch.setattr(sys, "stderr", stderr)
    monkeypatch.setenv("TERM", "xterm-256color")
    with printing.progress("positions", 3) as bar:
        bar(1)
        with bar.hidden():
            shown = stderr.getvalue()
            print("a result")
            assert stderr.getvalue() == shown
        bar(3)
    return stderr.getvalue()


def test_a_bar_on_a_terminal_is_removed_and_leaves_stdout_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written = run_bar(monkeypatch, Terminal())
    assert "positions" in written and "3/3" in written
    assert written.rstrip().endswith("\x1b[2K")  # its line is erased at the end
    assert capsys.readouterr().out == "a result\n"


def test_no_bar_outside_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_bar(monkeypatch, io.StringIO()) == ""


def test_no_color_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in run_bar(monkeypatch, Terminal())  # no foreground color


@pytest.mark.parametrize(
    ("words", "bars"),
    [
        (["prove", "tictactoe", "perfect"], [("plies", 18)]),
        (["accuracy", "connect3", "random", "--positions", "20"], [("positions", 20)]),
        (
            ["accuracy", "connect3", "random", "--positions", "20", "--losable", "0.5"],
            [("positions", 40), ("positions", 20)],
        ),
        (["analyze", "connect3", "--player", "random", "--batch", "2", "--positions", "-"], [("positions", 5)]),
    ],
)
def test_long_commands_count_to_the_end(
    words: list[str], bars: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, int | None, list[int]]] = []

    class Recorder(list[int]):
        def __call__(self, done: int, total: int | None = None) -> None:
            self.append(done)

        hidden = staticmethod(nullcontext)

    @contextmanager
    def record(what: str, total: int | None = None) -> Iterator[Recorder]:
        counts = Recorder()
        seen.append((what, total, counts))
        yield counts

    monkeypatch.setattr(printing, "progress", record)
    result = CliRunner().invoke(app, words, input="1\n2\n3\n4\n12\n")
    assert result.exit_code in (0, 1), result.output
    assert [(what, total) for what, total, _ in seen] == bars
    for _, total, counts in seen:
        assert counts == sorted(counts) and counts[-1] == total


def test_results_of_a_file_are_one_line_each_with_a_bar_on_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "positions.txt"
    file.write_text("1\n2\n3\n4\n12\n")
    monkeypatch.setattr(sys, "stderr", Terminal())
    words = ["analyze", "connect3", "--player", "random", "--positions", str(file), "--json", "--batch", "2"]
    with pytest.raises(SystemExit) as left:
        app(words)
    assert left.value.code == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [answer["line"] for answer in answers] == [1, 2, 3, 4, 5]
