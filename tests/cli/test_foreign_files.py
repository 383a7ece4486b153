"""Untrusted records, runs, weights and move files: they run no code, do not hang, and print no escape sequences."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tabia.cli.main import app

SECONDS = 60  # far more than any test needs

EVIL = """
from pathlib import Path
Path({proof!r}).write_text("the file was run")
class Evil:
    pass
"""

RECORD = """tabia games 1

game: {game}
version: 1
seat 1: {one}
seat 2: {two}
round: 0
opening: 0
seed: 0
moves: {moves}
scores: 0 0
end: {end}
"""

CONFIG = """game = {game}
iterations = 4
[network]
preset = "mlp"
[selfplay]
games = 16
[learner]
batch_size = 16
{more}
"""


@pytest.fixture(autouse=True)
def _nothing_hangs() -> Iterator[None]:
    def late(number: int, frame: object) -> None:
        raise TimeoutError(f"not answered in {SECONDS} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def proof(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that exists once the code in evil.py, in the working directory, has run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    found = tmp_path / "proof"
    (tmp_path / "evil.py").write_text(EVIL.format(proof=str(found)))
    return found


def tabia(*words: object, says: str = "") -> Result:
    return CliRunner().invoke(app, [str(word) for word in words], input=says)


def refused(result: Result, *parts: str) -> None:
    """Check for one line on stderr, exit code 2, no traceback and no escape sequences."""
    assert result.exit_code == 2, (result.output, result.exception)
    assert isinstance(result.exception, SystemExit)
    message = result.stderr.strip()
    assert message.count("\n") == 0 and len(message) < 1000, message
    assert "\x1b" not in message
    for part in parts:
        assert part in message


def record(path: Path, *, game="tictactoe", one="human", two="random", moves="", end="unfinished") -> Path:  # type: ignore[no-untyped-def]
    path.write_text(RECORD.format(game=game, one=one, two=two, moves=moves, end=end))
    return path


def run_directory(path: Path, *, game: str = "tictactoe", more: str = "") -> Path:
    (path / "checkpoints").mkdir(parents=True)
    (path / "config.toml").write_text(CONFIG.format(game=json.dumps(game), more=more))
    return path


# Code in names of games and players.


@pytest.mark.parametrize("game", ["evil.py:Evil", "./evil.py:Evil", "evil.py:Evil:history=2"])
def test_a_record_cannot_choose_code_as_its_game(proof: Path, game: str) -> None:
    path = record(proof.parent / "game.txt", game=game)
    refused(tabia("play", "--terminal", "--load", path), "would run Python code", f"tabia play '{game}'")
    assert not proof.exists()


def test_a_record_cannot_choose_code_as_its_player(proof: Path) -> None:
    path = record(proof.parent / "game.txt", two="evil.py:Evil")
    refused(tabia("play", "--terminal", "--load", path), "would run Python code", "--against 'evil.py:Evil'")
    assert not proof.exists()


def test_a_game_file_runs_if_the_user_names_it(proof: Path) -> None:
    """The class is invalid, but the file was run."""
    path = record(proof.parent / "game.txt", game="evil.py:Evil")
    tabia("play", "evil.py:Evil", "--terminal", "--load", path)
    assert proof.exists()


def test_a_saved_game_of_a_python_file_continues_with_the_printed_command(proof: Path) -> None:
    shutil.copy(Path(__file__).parents[2] / "examples" / "nim.py", proof.parent)
    first = tabia("play", "nim.py:Nim", "--terminal", "--against", "human", says="a1\nquit\n")
    command = first.stdout.rpartition("Continue with: ")[2].strip()
    again = tabia(*shlex.split(command)[1:], says="quit\n")
    assert again.exit_code == 0 and command in again.stdout
    refused(tabia("play", "--terminal", "--load", command.split()[-1]), "would run Python code")


def test_the_named_game_must_be_the_game_of_the_record(proof: Path) -> None:
    path = record(proof.parent / "game.txt", game="evil.py:Evil")
    refused(tabia("play", "connect4", "--terminal", "--load", path), "'evil.py:Evil', not of connect4")
    refused(tabia("play", "--terminal", "--load", path, "--against", "random"), "would run Python code")
    assert not proof.exists()


def test_a_built_in_game_may_be_named_too(proof: Path) -> None:
    path = record(proof.parent / "game.txt", two="human", moves="b2")
    result = tabia("play", "tictactoe", "--terminal", "--load", path, says="quit\n")
    assert result.exit_code == 0 and "Continue with" in result.stdout


@pytest.mark.parametrize("command", ["report", "resume"])
def test_a_configuration_cannot_choose_code_as_its_game(proof: Path, command: str) -> None:
    path = run_directory(proof.parent / "run", game="evil.py:Evil")
    refused(tabia(command, path), "would run Python code", f"tabia {command} {path} --game 'evil.py:Evil'")
    assert not proof.exists()
    tabia(command, path, "--game", "evil.py:Evil")
    assert proof.exists()


@pytest.mark.parametrize(
    "more",
    [
        '[evaluation]\nopponents = ["random", "evil.py:Evil"]',
        "[selfplay.x]",
        'other_boards = ["evil.py:Evil"]',
    ],
)
def test_a_configuration_cannot_choose_code_elsewhere(proof: Path, more: str) -> None:
    path = run_directory(proof.parent / "run")
    text = (path / "config.toml").read_text()
    (path / "config.toml").write_text(more + "\n" + text if more.startswith("other") else text + more)
    assert tabia("resume", path).exit_code == 2
    assert not proof.exists()


def test_a_configuration_cannot_choose_code_as_its_teacher(proof: Path) -> None:
    path = run_directory(proof.parent / "run")
    text = (path / "config.toml").read_text()
    (path / "config.toml").write_text(text.replace("games = 16", 'games = 16\nteacher = "evil.py:Evil"'))
    refused(tabia("resume", path), "teach")
    assert not proof.exists()


# Links, FIFOs and devices.


def test_a_lock_that_is_a_link_is_refused(proof: Path) -> None:
    path, target = run_directory(proof.parent / "run"), proof.parent / "precious.txt"
    target.write_text("precious")
    (path / ".lock").symlink_to(target)
    refused(tabia("resume", path), ".lock is a symbolic link")
    assert target.read_text() == "precious"


@pytest.mark.parametrize("name", [".report.md.aside", "report.md"])
def test_the_report_does_not_follow_links(proof: Path, name: str) -> None:
    path, target = run_directory(proof.parent / "run"), proof.parent / "precious.txt"
    target.write_text("precious")
    (path / name).symlink_to(target)
    assert tabia("report", path, "--no-rate").exit_code == 0
    assert target.read_text() == "precious"
    assert (path / "report.md").read_text().startswith("# A run of tictactoe") and not (path / "report.md").is_symlink()


def test_figures_are_not_written_outside_the_run(proof: Path) -> None:
    path, elsewhere = run_directory(proof.parent / "run"), proof.parent / "elsewhere"
    elsewhere.mkdir()
    (path / "figures").symlink_to(elsewhere)
    (path / "metrics.jsonl").write_text('{"iteration": 1, "entropy": 1.5, "length": 7}\n')
    refused(tabia("report", path, "--no-rate"), "a symbolic link leads out of")
    assert not list(elsewhere.iterdir())


def test_a_configuration_is_not_read_through_a_link(proof: Path) -> None:
    path, secret = run_directory(proof.parent / "run"), proof.parent / "secret.txt"
    secret.write_text("password = 5")
    (path / "config.toml").unlink()
    (path / "config.toml").symlink_to(secret)
    result = tabia("report", path)
    refused(result, "a symbolic link leads out of")
    assert "password" not in result.stderr


@pytest.mark.parametrize("name", ["/dev/zero", "../../../../etc/passwd", "weights\0x", "a" * 5000])
def test_a_manifest_cannot_name_other_files(proof: Path, name: str) -> None:
    path = run_directory(proof.parent / "run")
    place = path / "checkpoints" / "4"
    place.mkdir()
    (place / "weights.safetensors").write_bytes(b"")
    files = {name: "0", "weights.safetensors": "0"}
    (place / "manifest.json").write_text(json.dumps({"format": "tabia checkpoint 5", "files": files}))
    refused(tabia("resume", path), "which is not a file of a checkpoint")


@pytest.mark.parametrize("content", ["[" * 100_000, '{"a":' * 100_000, "\0", "1" * 6000, ""])
def test_a_manifest_that_is_not_json(proof: Path, content: str) -> None:
    path = run_directory(proof.parent / "run")
    (path / "checkpoints" / "4").mkdir()
    (path / "checkpoints" / "4" / "manifest.json").write_text(content)
    refused(tabia("resume", path), "is damaged")


def test_a_fifo_is_refused_at_once(proof: Path) -> None:
    place = proof.parent / "agent"
    place.mkdir()
    os.mkfifo(place / "weights.safetensors")
    refused(tabia("match", "tictactoe", f"network:{place / 'weights.safetensors'}", "random"), "is not a run")
    run = run_directory(proof.parent / "run")
    (run / "checkpoints" / "4").mkdir()
    os.mkfifo(run / "checkpoints" / "4" / "weights.safetensors")
    refused(tabia("match", "tictactoe", f"network:{run}", "random"), "a FIFO, not a regular file")
    os.mkfifo(proof.parent / "games.txt")
    refused(tabia("play", "--terminal", "--load", proof.parent / "games.txt"), "a FIFO, not a regular file")
    refused(tabia("rate", proof.parent / "games.txt"), "a FIFO, not a regular file")
    refused(tabia("accuracy", "tictactoe", "random", "--file", proof.parent / "games.txt"), "a FIFO")
    refused(tabia("analyze", "tictactoe", "--player", "random", "--positions", proof.parent / "games.txt"), "a FIFO")
    (run / "config.toml").unlink()
    os.mkfifo(run / "config.toml")
    refused(tabia("report", run), "a FIFO, not a regular file")


@pytest.mark.parametrize(
    "words",
    [
        ["rate"],
        ["play", "--terminal", "--load"],
        ["analyze", "tictactoe", "--player", "random", "--positions"],
        ["accuracy", "tictactoe", "random", "--file"],
    ],
)
def test_devices_are_refused(words: list[str]) -> None:
    refused(tabia(*words, "/dev/zero"), "it is a device, not a regular file")


@pytest.mark.parametrize("words", [["rate"], ["analyze", "tictactoe", "--player", "random", "--positions"]])
def test_huge_files_are_refused_without_reading(tmp_path: Path, words: list[str]) -> None:
    path = tmp_path / "huge.txt"
    with path.open("wb") as file:
        file.truncate(2**40)  # a sparse file
    refused(tabia(*words, path), "bytes allowed")


def test_weights_behind_a_link_out_of_the_run_are_refused(proof: Path) -> None:
    path = run_directory(proof.parent / "run")
    (path / "checkpoints" / "4").mkdir()
    (proof.parent / "elsewhere").write_bytes(b"secret")
    (path / "checkpoints" / "4" / "weights.safetensors").symlink_to(proof.parent / "elsewhere")
    refused(tabia("match", "tictactoe", f"network:{path}", "random"), "a symbolic link leads out of")


# Malformed texts.


@pytest.mark.parametrize("more", ["network = 5", "schedule = 5", "network = {preset = 5}", "network = {units = 5}"])
def test_settings_of_the_wrong_type(proof: Path, more: str) -> None:
    path = run_directory(proof.parent / "run")
    (path / "config.toml").write_text(f'game = "tictactoe"\n{more}\n')
    refused(tabia("report", path), "config.toml")


def test_deeply_nested_settings(proof: Path) -> None:
    path = run_directory(proof.parent / "run")
    (path / "config.toml").write_text(f"game = {'[' * 50_000}")
    refused(tabia("report", path), "is not valid TOML")


@pytest.mark.parametrize("spec", ["az:" + "x" * 5000, "az:a\0b", "network:~nobody-of-this-name/x", "x" * 5000])
def test_players_that_cannot_be_file_names(spec: str) -> None:
    refused(tabia("match", "tictactoe", spec, "random"), "There is no")


def test_numbers_with_thousands_of_digits(proof: Path) -> None:
    path = record(proof.parent / "game.txt")
    path.write_text(path.read_text().replace("round: 0", f"round: {'7' * 6000}"))
    refused(tabia("rate", path), "line 7", "a whole number")
    refused(tabia("show", f"othello:size={'8' * 6000}"), "a whole number")


@pytest.mark.parametrize("seed", ["12345678901234567890", "-1"])
@pytest.mark.parametrize("words", [["show", "tictactoe"], ["match", "tictactoe", "random", "minimax"]])
def test_seeds_out_of_range(words: list[str], seed: str) -> None:
    result = tabia(*words, "--seed", seed)
    assert result.exit_code == 2 and isinstance(result.exception, SystemExit)
    assert "Invalid value" in result.stderr and "Traceback" not in result.output


@pytest.mark.parametrize(
    ("id", "words"),
    [
        ("chinese-checkers:moves_each=1000000000", "of at most 9 digits"),
        ("chinese-checkers:moves_each=999999999", "expected 1 to 100,000 moves"),
        ("checkers:limit=999999999", "limit from 1 to 100,000"),
    ],
)
def test_games_beyond_the_longest_length(id: str, words: str) -> None:
    refused(tabia("show", id), words)


def test_an_error_quotes_only_part_of_its_input() -> None:
    refused(tabia("show", "x" * 100_000), "There is no game")
    result = tabia("show", "tictactoe", "--moves", "q" * 100_000)
    assert result.exit_code == 2 and len(result.stderr) < 600 and "q" * 60 in result.stderr


ESCAPE = "\x1b]0;owned\x07\x1b[31m"


def test_escape_sequences_in_records_are_refused(proof: Path) -> None:
    path = record(proof.parent / "game.txt", one=f"random{ESCAPE}", moves="b2", end="over")
    refused(tabia("rate", path), "control characters")
    refused(tabia("play", "--terminal", "--load", path), "control characters")


def test_a_configuration_has_no_control_characters(proof: Path) -> None:
    for key in ("recipe", "game", "other_boards"):
        path = run_directory(proof.parent / key)
        value = json.dumps([ESCAPE] if key == "other_boards" else ESCAPE)
        game = "" if key == "game" else 'game = "tictactoe"\n'
        (path / "config.toml").write_text(f"{game}{key} = {value}\n")
        refused(tabia("resume", path), f"{key} contains control characters")


def test_escape_sequences_in_move_files_are_not_printed(tmp_path: Path) -> None:
    path = tmp_path / "positions.txt"
    path.write_text(f"b2\n{ESCAPE}\n\x9b31m\n")
    for more in ([], ["--json"]):
        result = tabia("analyze", "tictactoe", "--player", "random", "--positions", path, *more)
        assert result.exit_code == 1 and not set(result.output) & set("\x1b\x07\x9b")
    result = tabia("accuracy", "tictactoe", "random", "--file", path)
    assert not set(result.output) & set("\x1b\x07\x9b")


def test_settings_in_records_that_are_not_json(proof: Path) -> None:
    words = ("match", "tictactoe", "random", "minimax", "--games", "2", "--out", proof.parent / "games.txt")
    for settings in ("not json", "[]", "[" * 100_000, "5"):
        (proof.parent / "games.txt").write_text(f"tabia games 1\nmatch: {settings}\n")
        refused(tabia(*words), "give another file")
