"""Ctrl-C and SIGTERM at any moment: exit status in time, one line, work saved, no traceback."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tabia.evaluation import records
from tabia.training.run import checkpoint, metrics
from tabia.training.run.directory import RunDirectory
from tabia.training.training import Training

SECONDS, TRAINING_SECONDS = 2.0, 15.0  # on a machine that does nothing else: the long tests hold commands to it
PATIENCE = 30.0  # what a busy machine gets; every command runs for minutes if it is not interrupted
WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
GAMES = Path("games.txt")
COMMANDS = {  # each runs for minutes
    "match": "match tictactoe mcts:simulations=60 random --games 90000 --openings 9 --out games.txt",
    "accuracy": "accuracy tictactoe mcts:simulations=400000 --positions 2",
    "analyze": "analyze connect4 --player mcts:simulations=400000",
    "prove": "prove tictactoe mcts:simulations=20000",
    "train": "train tictactoe --out run --set iterations=100000 --set evaluation.every=0",
    "tournament": "tournament tictactoe random mcts:simulations=30 mcts:simulations=60 --games 90000 --out games.txt",
    "bench": "bench games",
}


@dataclass(frozen=True)
class Exit:
    """How a process ended after a signal."""

    status: int
    seconds: float
    stdout: str
    stderr: str


class Process:
    """A Python process in its own directory."""

    def __init__(self, *words: str, cwd: Path) -> None:
        command, pipe = [sys.executable, *words], subprocess.PIPE
        self.process = subprocess.Popen(command, cwd=cwd, stdin=pipe, stdout=pipe, stderr=pipe, text=True)

    def wait_until_handled(self) -> None:
        """Wait until the command handles signals; Python itself does not catch SIGTERM."""
        until = time.monotonic() + 300
        while time.monotonic() < until and self.process.poll() is None:
            caught = re.search(r"^SigCgt:\s*(\w+)", Path(f"/proc/{self.process.pid}/status").read_text(), re.MULTILINE)
            if caught and int(caught[1], 16) >> (signal.SIGTERM - 1) & 1:
                return
            time.sleep(0.005)
        raise AssertionError(f"no handler of SIGTERM: {self.process.communicate(timeout=300)}")

    def wait_for(self, text: str) -> None:
        """Wait until the process prints this line."""
        assert self.process.stdout is not None
        assert any(line.strip() == text for line in self.process.stdout), self.process.communicate()[1]

    def end(self, number: int) -> Exit:
        """Send a signal and wait for the end."""
        assert self.process.poll() is None, f"the process ended before the signal: {self.process.communicate()}"
        start = time.monotonic()
        self.process.send_signal(number)
        try:
            self.process.wait(2 * PATIENCE)  # before stdin is closed, which also ends some commands
            stdout, stderr = self.process.communicate()
        except subprocess.TimeoutExpired:
            self.process.kill()
            stdout, stderr = self.process.communicate()
        return Exit(self.process.returncode, time.monotonic() - start, stdout, stderr)


def moments(count: int, last: float) -> Iterator[tuple[str, signal.Signals, float]]:
    """Commands with a signal and the seconds to wait before sending it."""
    dice = random.Random(count)
    for number in range(count):
        command = [*COMMANDS][number % len(COMMANDS)]
        signals = (signal.SIGINT, signal.SIGTERM)
        yield command, signals[(number + number // len(COMMANDS)) % 2], dice.uniform(0.0, last)


def interrupt(command: str, number: signal.Signals, moment: float, cwd: Path) -> Exit:
    """Start a command, send one signal, and check the exit."""
    cwd.mkdir()
    process = Process("-m", "tabia", *COMMANDS[command].split(), cwd=cwd)
    process.wait_until_handled()
    time.sleep(moment)
    ended = process.end(number)
    check(command, number, ended, cwd)
    return ended


def check(command: str, number: signal.Signals, ended: Exit, cwd: Path) -> None:
    """Check status, time and the last line; files are complete and hold what the line says."""
    assert ended.status == 128 + number, ended
    assert ended.seconds < PATIENCE, ended
    assert "Traceback" not in ended.stderr and "Fatal" not in ended.stderr, ended
    *before, line = ended.stderr.splitlines()
    assert line.startswith(f"tabia: {WORDS[number]}."), ended
    assert command == "train" or not before, ended
    assert not [path for path in cwd.rglob(".*") if not path.name.endswith(".lock")], "a partial file is left"
    check_games(cwd / GAMES, line)
    check_run(RunDirectory(cwd / "run"), line)


def check_games(path: Path, line: str) -> None:
    found = re.search(r"has (\d+) finished and (\d+) unfinished games", line)
    assert path.exists() == bool(found), line
    if found:
        finished = [record.finished for record in records.load(path).records]
        assert (sum(finished), len(finished) - sum(finished)) == (int(found[1]), int(found[2]))


def check_run(run: RunDirectory, line: str) -> None:
    found = re.search(r"Saved iteration (\d+)\..* Continue with: tabia resume run$", line)
    assert {int(found[1])} <= set(checkpoint.iterations(run)) if found else not checkpoint.iterations(run)
    for iteration in checkpoint.iterations(run):
        checkpoint.verify(run.checkpoints / str(iteration))


@pytest.mark.parametrize(("command", "number", "moment"), [*moments(7, 3.0)])
def test_a_signal_at_a_random_moment(command: str, number: signal.Signals, moment: float, tmp_path: Path) -> None:
    interrupt(command, number, moment, tmp_path / "here")


@pytest.mark.long
def test_a_hundred_signals_at_random_moments(tmp_path: Path) -> None:
    for index, (command, number, moment) in enumerate(moments(100, 15.0)):
        ended = interrupt(command, number, moment, tmp_path / str(index))
        assert ended.seconds < (TRAINING_SECONDS if command == "train" else SECONDS), ended


SLOW_IMPORT = """
import sys, time

class Finder:
    def find_spec(name, path=None, target=None):
        if name == "tabia.core":
            print("running", flush=True)
            time.sleep(300)

sys.meta_path.insert(0, Finder)
"""


@pytest.mark.parametrize("start", [("-m", "tabia"), (str(Path(sys.executable).with_name("tabia")),)])
def test_ctrl_c_while_the_command_is_imported(
    start: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text(SLOW_IMPORT)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    process = Process(*start, "games", cwd=tmp_path)
    process.wait_for("running")
    ended = process.end(signal.SIGINT)
    assert (ended.status, ended.stdout, ended.stderr) == (130, "", "tabia: interrupted.\n")


LONG_PROGRAM = """
import jax, sys
from tabia.cli import interrupts
interrupts.install()
program = jax.jit(lambda n: jax.lax.fori_loop(0, n, lambda i, x: (x * 5 + i) % 7, 0))
program(2)
print("running", flush=True)
interrupts.run(lambda: program(2**31 - 1).block_until_ready())
"""
SAVING = """
import sys, time
from pathlib import Path
from tabia.cli import interrupts, recording
from tabia.evaluation.recorder import Recorder
from tabia.evaluation.records import Record
interrupts.install()
recorder = Recorder(Path("games.txt"), "match", "{}")
record = Record("tictactoe", 1, ("random", "greedy"), ("b2",), (0.0, 0.0), end="unfinished")
with recording.saving(recorder):
    recorder.update([record])  # held in memory; the next write is due after five seconds
    print("running", flush=True)
    time.sleep(60)
"""
STUCK = """
import time
from tabia.cli import interrupts
interrupts.install()
def save(number):
    print("saving", flush=True)
    time.sleep(300)
with interrupts.on_interrupt(save, seconds=LIMIT, too_late=lambda: "Too late."):
    print("running", flush=True)
    time.sleep(300)
"""


def test_a_signal_ends_one_long_compiled_program(tmp_path: Path) -> None:
    process = Process("-c", LONG_PROGRAM, cwd=tmp_path)
    process.wait_for("running")
    time.sleep(0.5)
    ended = process.end(signal.SIGINT)
    assert (ended.status, ended.stderr) == (130, "tabia: interrupted.\n") and ended.seconds < PATIENCE


def test_games_since_the_last_write_are_saved(tmp_path: Path) -> None:
    process = Process("-c", SAVING, cwd=tmp_path)
    process.wait_for("running")
    assert not (tmp_path / GAMES).exists()
    check("match", signal.SIGINT, process.end(signal.SIGINT), tmp_path)
    assert records.load(tmp_path / GAMES).records[0].moves == ("b2",)


def test_saving_has_a_time_limit(tmp_path: Path) -> None:
    process = Process("-c", STUCK.replace("LIMIT", "1.0"), cwd=tmp_path)
    process.wait_for("running")
    ended = process.end(signal.SIGTERM)
    assert (ended.status, ended.stderr) == (143, "tabia: terminated. Too late.\n") and ended.seconds < PATIENCE


def test_a_second_signal_ends_a_long_save(tmp_path: Path) -> None:
    process = Process("-c", STUCK.replace("LIMIT", "300.0"), cwd=tmp_path)
    process.wait_for("running")
    process.process.send_signal(signal.SIGINT)
    process.wait_for("saving")  # two signals that are pending at once are one
    ended = process.end(signal.SIGINT)
    assert (ended.status, ended.stderr) == (130, "tabia: interrupted. Too late.\n") and ended.seconds < PATIENCE


def test_an_ignored_signal_stays_ignored(tmp_path: Path) -> None:
    """As with `nohup`, or in the background of a shell script."""
    code = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n" + STUCK.replace("LIMIT", "1.0")
    process = Process("-c", code, cwd=tmp_path)
    process.wait_for("running")
    process.process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    assert process.end(signal.SIGTERM).status == 143


def test_a_game_in_the_terminal_is_saved_and_can_be_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    process = Process("-m", "tabia", "play", "tictactoe", "--terminal", "--against", "human", cwd=tmp_path)
    assert process.process.stdin is not None
    process.process.stdin.write("b2\n")
    process.process.stdin.flush()
    saved = tmp_path / "state" / "tabia" / "last-game.txt"
    until = time.monotonic() + 300
    while not saved.exists() and time.monotonic() < until:
        time.sleep(0.02)
    time.sleep(0.5)
    ended = process.end(signal.SIGINT)
    assert ended.status == 130 and ended.seconds < PATIENCE and records.load(saved).records[0].moves == ("b2",)
    assert ended.stderr == (f"tabia: interrupted. The game is saved. Continue with: tabia play --load {saved}\n")


LONG_ITERATIONS = "--set selfplay.plies=120 --set search.simulations=400 --set checkpoints.every=1000"


@pytest.mark.long
@pytest.mark.parametrize("number", WORDS)
def test_training_in_a_long_iteration_is_saved_in_time(number: signal.Signals, tmp_path: Path) -> None:
    """The first iteration is saved; the second, interrupted by the signal, is dropped."""
    run = RunDirectory(tmp_path / "run")
    process = Process("-m", "tabia", *f"{COMMANDS['train']} {LONG_ITERATIONS}".split(), cwd=tmp_path)
    until = time.monotonic() + 400
    while not metrics.read(run) and time.monotonic() < until:
        time.sleep(0.1)
    time.sleep(1.0)
    ended = process.end(number)
    check("train", number, ended, tmp_path)
    assert "stopping" in ended.stderr and Training.resume(run).counters.iteration == 1


# The exit of the interpreter.

REFUSED = """
import sys
import jax
from tabia.games import make
from tabia.solvers import enumeration
game = make(sys.argv[1])
play, number = game.rules.apply, enumeration._Known.number
slow = []

def apply(self, move):
    play(self, move)
    sum(range(400_000)) if slow else None

def refuse(self, prints, words):
    slow.extend([True] * (self.count > 12))  # the third moves, with which there are too many positions
    return number(self, prints, words)

game.rules.apply, enumeration._Known.number = apply, refuse
enumeration.CHUNKS = (8, 64)
try:
    enumeration.enumerate_positions(game, jax.vmap(game.init)(jax.random.split(jax.random.key(0), 1)), limit=200)
except enumeration.TooLarge:
    print("refused")
"""


@pytest.mark.long
def test_python_can_exit_after_a_plain_python_game_was_too_large(tmp_path: Path) -> None:
    """A prefetched chunk must not call back into an interpreter that is finalizing."""
    nim = Path(__file__).parents[2] / "examples" / "nim.py"
    words = [sys.executable, "-c", REFUSED, f"{nim}:Nim"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False)
    assert (done.returncode, done.stdout) == (0, "refused\n"), done.stderr


CONTROL_ECHO = """
import fcntl, sys, termios
from tabia.cli.interrupts import hide_control_echo
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
echoes = lambda: bool(termios.tcgetattr(2)[3] & termios.ECHOCTL)
before = echoes()
echo_again = hide_control_echo()
hidden = echoes()
echo_again()
sys.exit(0 if (before, hidden, echoes()) == (True, False, True) else 1)
"""


def test_hide_control_echo_can_be_undone() -> None:
    master, terminal = os.openpty()
    words = [sys.executable, "-c", CONTROL_ECHO]
    done = subprocess.run(
        words, stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True, timeout=300, check=False
    )
    os.close(master)
    os.close(terminal)
    assert done.returncode == 0
