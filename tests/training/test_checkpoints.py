"""Checkpoints: whatever interrupts a save or damages a file, the newest announced one loads, or the one before it."""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tabia.networks import weights
from tabia.players import runs
from tabia.training import arena, progress
from tabia.training.arena import Verdict
from tabia.training.config.schema import GateSettings
from tabia.training.errors import TrainingError
from tabia.training.evaluate import Evaluate
from tabia.training.iteration import Iteration, IterationResult
from tabia.training.learning.losses import Losses
from tabia.training.loop import train
from tabia.training.plan import Plan
from tabia.training.run import checkpoint
from tabia.training.run.directory import BEST, RunDirectory
from tabia.training.run.metrics import Metrics
from tabia.training.run.stored_games import StoredGames
from tabia.training.state import playing
from tabia.training.training import Training

from .comparing import same, timeless
from .conftest import TINY

STEPS = ("made", "weights", "state", "manifest", "renamed", "synced", "verified", "pruned")


_SAVING = """
import os, signal, sys
from pathlib import Path
from tabia.training.plan import Plan
from tabia.training.run import checkpoint
from tabia.training.run.directory import RunDirectory
from tabia.training.training import Training

root, steps = Path(sys.argv[1]), sys.argv[2:]
training = Training.resume(RunDirectory(root / steps[0]))
training.counters.iteration = 5
for step in steps:
    child = os.fork()
    if not child:
        def watch(done):
            if done == step:
                os.kill(os.getpid(), signal.SIGKILL)
        run, plan = RunDirectory(root / step), Plan(training.config)
        checkpoint.save(run, plan, training.state, training.counters, watch=watch)
        os._exit(3)
    print(step, os.WTERMSIG(os.waitpid(child, 0)[1]))
"""


class Killed(BaseException):
    """An exception that nothing in the package catches, like a kill."""


@pytest.fixture
def run(watched, tmp_path: Path) -> RunDirectory:
    """A copy of the tiny run with its checkpoints of iterations 2 and 4, both resumable."""
    shutil.copytree(watched.run.path, tmp_path / "run")
    return RunDirectory(tmp_path / "run")


def resumed(run: RunDirectory) -> Training:
    return Training.resume(run)


def save(run: RunDirectory, training: Training, iteration: int, watch=None) -> Path:
    """Save the state under another iteration."""
    return checkpoint.save(
        run, Plan(training.config), training.state, replace(training.counters, iteration=iteration), watch=watch
    )


@pytest.mark.parametrize("step", STEPS)
def test_a_save_broken_off_at_any_step_leaves_a_sound_checkpoint(run: RunDirectory, watched, step: str) -> None:
    def watch(done: str) -> None:
        if done == step:
            raise Killed

    with pytest.raises(Killed):
        save(run, watched.training, 5, watch)
    found = resumed(run)
    whole = STEPS.index(step) >= STEPS.index("renamed")
    assert found.counters.iteration == (5 if whole else 4) and not found.notes
    assert same(found.state, watched.training.state)
    save(run, found, 6)
    assert sorted(path.name for path in run.checkpoints.iterdir()) == (
        ["2", "4", "5", "6"] if whole else ["2", "4", "6"]
    )
    assert resumed(run).counters.iteration == 6


def test_killed_at_every_step_of_a_save(watched, tmp_path: Path) -> None:
    for step in STEPS:
        shutil.copytree(watched.run.path, tmp_path / step)
    words = [sys.executable, "-W", "ignore", "-c", _SAVING, str(tmp_path), *STEPS]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=240)
    assert done.stdout.split() == [word for step in STEPS for word in (step, str(int(signal.SIGKILL)))]
    for step in STEPS:
        found = Training.resume(RunDirectory(tmp_path / step))
        whole = STEPS.index(step) >= STEPS.index("renamed")
        assert found.counters.iteration == (5 if whole else 4) and not found.notes
        assert same(found.state, watched.training.state)


def test_only_the_newest_can_be_resumed_and_all_keep_their_weights(run: RunDirectory, watched) -> None:
    for iteration in (6, 8, 10):
        save(run, watched.training, iteration)
    held = {
        iteration: checkpoint.verify(run.checkpoints / str(iteration))["files"]
        for iteration in checkpoint.iterations(run)
    }
    assert {iteration for iteration, files in held.items() if checkpoint.STATE in files} == {8, 10}
    for iteration, files in held.items():
        assert {path.name for path in (run.checkpoints / str(iteration)).iterdir()} == {*files, checkpoint.MANIFEST}
        loaded = weights.load(run.checkpoints / str(iteration) / checkpoint.WEIGHTS)
        assert loaded.network == Plan(watched.training.config).network


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def rewrite(place: Path, **changes) -> None:
    path = place / checkpoint.MANIFEST
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


DAMAGES = {
    "state": (lambda place: flip(place / checkpoint.STATE), "state.safetensors is damaged"),
    "weights": (lambda place: flip(place / checkpoint.WEIGHTS), "weights.safetensors is damaged"),
    "lost": (lambda place: (place / checkpoint.STATE).unlink(), "cannot be read: No such file"),
    "cut": (lambda place: os.truncate(place / checkpoint.MANIFEST, 40), "is damaged"),
    "bytes": (lambda place: (place / checkpoint.MANIFEST).write_bytes(b"\xff\xfe"), "is damaged"),
    "empty": (lambda place: [path.unlink() for path in place.iterdir()], "is not a checkpoint"),
    "foreign": (lambda place: rewrite(place, game="connect4"), "is for connect4, version 1; this run is for tictactoe"),
    "version": (lambda place: rewrite(place, game_version=99), "version 99"),
    "format": (lambda place: rewrite(place, format="another 1"), "not a checkpoint of this version"),
    "counters": (lambda place: rewrite(place, counters={"iterations": 4}), "its counters cannot be read"),
    "moved": (lambda place: rewrite(place, counters={"iteration": 3}), "is a checkpoint of iteration 3, not 4"),
    "files": (lambda place: rewrite(place, files=[]), "does not name weights.safetensors"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_checkpoint_is_skipped_and_the_older_one_used(run: RunDirectory, damage: str) -> None:
    spoil, words = DAMAGES[damage]
    older = {path: path.read_bytes() for path in (run.checkpoints / "2").iterdir()}
    spoil(run.checkpoints / "4")
    found = resumed(run)
    assert found.counters.iteration == 2 and len(found.notes) == 1 and words in found.notes[0]
    assert all(path.read_bytes() == content for path, content in older.items())


def test_another_configurations_state_is_refused_by_name(run: RunDirectory, watched) -> None:
    other = TINY.changed({"selfplay.games": 8})
    (run.path / "config.toml").unlink()
    shutil.rmtree(run.checkpoints)
    elsewhere = RunDirectory(run.path / "inner")
    elsewhere.create(other)
    shutil.copytree(watched.run.checkpoints / "4", elsewhere.checkpoints / "4")
    with pytest.raises(TrainingError, match="does not match this configuration") as refused:
        resumed(elsewhere)
    assert str(elsewhere.checkpoints / "4") in str(refused.value)


def test_without_a_sound_checkpoint_a_run_does_not_start_over(run: RunDirectory) -> None:
    for iteration in (2, 4):
        flip(run.checkpoints / str(iteration) / checkpoint.STATE)
    with pytest.raises(TrainingError, match=r"none of its checkpoints is sound.*4.*damaged.*2.*damaged.*tabia train"):
        resumed(run)


def test_a_skipped_checkpoint_is_kept_but_no_longer_part_of_the_run(run: RunDirectory) -> None:
    """With one resumable checkpoint, a damaged newer one must not count as that one."""
    flip(run.checkpoints / "4" / checkpoint.STATE)
    found = resumed(run)
    found.config = found.config.changed({"checkpoints.resumable": 1})
    save(run, found, 3)
    assert checkpoint.iterations(run) and max(checkpoint.iterations(run)) == 3
    assert (run.checkpoints / "4.skipped" / checkpoint.STATE).exists()
    again = resumed(run)
    assert again.counters.iteration == 3 and not again.notes
    save(run, again, 4)
    assert resumed(run).counters.iteration == 4


def test_with_no_resumable_checkpoints_only_weights_are_saved(run: RunDirectory, watched) -> None:
    found = resumed(run)
    found.config = found.config.changed({"checkpoints.resumable": 0})
    place = save(run, found, 5)
    assert sorted(path.name for path in place.iterdir()) == [checkpoint.MANIFEST, checkpoint.WEIGHTS]
    assert not list(run.checkpoints.glob(f"*/{checkpoint.STATE}"))
    kept = weights.load(place / checkpoint.WEIGHTS).variables
    assert same(kept, playing(watched.training.state))
    with pytest.raises(TrainingError, match=r"cannot be resumed: its checkpoints have only weights"):
        resumed(run)


def test_a_damaged_old_manifest_does_not_stop_a_save(run: RunDirectory, watched) -> None:
    os.truncate(run.checkpoints / "2" / checkpoint.MANIFEST, 10)
    save(run, watched.training, 5)
    save(run, watched.training, 6)
    assert resumed(run).counters.iteration == 6


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("number", range(1, 8))
def test_a_full_disk_leaves_the_older_checkpoint(run: RunDirectory, watched, monkeypatch, number: int) -> None:
    """The disk is full at the n-th sync of a save, of any file or folder."""
    real, count = os.fsync, iter(range(1, 100))
    monkeypatch.setattr(os, "fsync", lambda file: full() if next(count) >= number else real(file))
    with pytest.raises(TrainingError, match=r"iteration 5 could not be saved.*No space left.*tabia resume"):
        save(run, watched.training, 5)
    monkeypatch.undo()
    found = resumed(run)
    assert found.counters.iteration in (4, 5) and not found.notes and same(found.state, watched.training.state)
    assert not list(run.checkpoints.glob(".*"))


@pytest.mark.parametrize("limit", [1_000, 20_000])
def test_a_file_that_is_cut_short_leaves_the_older_checkpoint(run: RunDirectory, watched, limit: int) -> None:
    """The system refuses to write more, in the middle of the weights or of the state."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    sizes = [(run.checkpoints / "4" / name).stat().st_size for name in (checkpoint.WEIGHTS, checkpoint.STATE)]
    assert 1_000 < sizes[0] < 20_000 < sizes[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        with pytest.raises(TrainingError, match=r"iteration 5 could not be saved.*File too large"):
            save(run, watched.training, 5)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert sorted(path.name for path in run.checkpoints.iterdir()) == ["2", "4"]
    assert resumed(run).counters.iteration == 4


def test_a_full_disk_under_the_metrics(run: RunDirectory, watched, monkeypatch) -> None:
    monkeypatch.setattr(os, "fsync", full)
    training = Training(run, TINY, watched.training.state, watched.training.counters, TINY.network)
    with pytest.raises(TrainingError, match=r"metrics.jsonl cannot be written: No space left"):
        Metrics().on_start(training)


def test_a_disk_that_is_really_full_stops_the_metrics(run: RunDirectory, watched) -> None:
    """The system refuses to write more."""
    training = Training(run, TINY, watched.training.state, watched.training.counters, TINY.network)
    result = type("Result", (), {"fields": lambda self: {"games": 1}})()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (run.metrics.stat().st_size, before[1]))
    try:
        with pytest.raises(TrainingError, match=r"File too large.*last checkpoint is sound"):
            Metrics().on_iteration(training, result)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture
def read_only(monkeypatch: pytest.MonkeyPatch):
    """Makes a folder read-only; for root, who could still write, opening and creating files is made to fail."""

    def make(path: Path) -> None:
        if os.geteuid():
            path.chmod(0o555)
            return
        real_open, real_mkdir = os.open, Path.mkdir

        def check(self: Path, flags: int = os.O_CREAT) -> None:
            if path in (self, *self.parents) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                raise OSError(errno.EACCES, os.strerror(errno.EACCES))

        monkeypatch.setattr(
            os,
            "open",
            lambda self, flags, *rest, **more: (check(Path(self), flags), real_open(self, flags, *rest, **more))[1],
        )
        monkeypatch.setattr(
            Path, "mkdir", lambda self, *rest, **more: (check(self), real_mkdir(self, *rest, **more))[1]
        )

    made: list[Path] = []
    yield lambda path: (made.append(path), make(path))
    for path in made:
        path.chmod(0o755)


def test_a_read_only_folder(run: RunDirectory, watched, read_only, tmp_path: Path) -> None:
    read_only(run.checkpoints)
    with pytest.raises(TrainingError, match=r"could not be saved.*Permission denied"):
        save(run, watched.training, 5)
    assert resumed(run).counters.iteration == 4
    read_only(run.path)
    with pytest.raises(TrainingError, match=r"cannot be written: Permission denied"):
        train(resumed(run))
    (tmp_path / "closed").mkdir()
    read_only(tmp_path / "closed")
    with pytest.raises(TrainingError, match=r"cannot be written: Permission denied"):
        Training.begin(RunDirectory(tmp_path / "closed" / "new"), TINY)


def test_a_run_is_trained_by_one_process_at_a_time(run: RunDirectory) -> None:
    """While another thread holds the lock, not even the checkpoint is read."""
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with run.locked():
            held.set()
            done.wait(60)

    other = threading.Thread(target=hold)
    other.start()
    held.wait(60)
    try:
        with pytest.raises(TrainingError, match="being trained by another process"):
            resumed(run)
    finally:
        done.set()
        other.join()
    assert resumed(run).counters.iteration == 4


def test_games_not_written_before_a_kill_are_written_at_the_resume(run: RunDirectory) -> None:
    path = run.games / "4.txt"
    expected = path.read_bytes()
    path.unlink()
    (run.games / ".4.txt.0123456789abcdef.tmp").write_text("half a ga")
    StoredGames().on_start(resumed(run))
    assert path.read_bytes() == expected and not list(run.games.glob(".*"))


# What goes wrong in training itself.


def test_losses_that_are_not_finite_stop_the_run(run: RunDirectory, monkeypatch) -> None:
    """The losses of an iteration are NaN: nothing is saved, and the message says where and what to do."""
    training = resumed_with_more_iterations(run)
    real = Iteration.result.fget

    def spoilt(iteration: Iteration) -> IterationResult:
        result = real(iteration)
        return replace(result, losses=result.losses._replace(terms=result.losses.terms | {"value": np.float32(np.nan)}))

    monkeypatch.setattr(Iteration, "result", property(spoilt))
    with pytest.raises(
        TrainingError,
        match=r"Stopped in iteration 5, by optimizer step \d+: loss_value is nan.*"
        r"last checkpoint is sound.*learner\.learning_rate",
    ):
        train(training)
    monkeypatch.undo()
    assert resumed(run).counters.iteration == 4


def resumed_with_more_iterations(run: RunDirectory) -> Training:
    training = resumed(run)
    training.config = training.config.changed({"iterations": 6, "checkpoints.every": 1})
    return training


def with_losses(losses: Losses | None) -> IterationResult:
    return IterationResult(selfplay=None, losses=losses, buffer_positions=0, learning_rate=0.0)


def test_a_collapsed_policy_stops_the_run() -> None:
    losses = Losses(np.float32(1.0), {"policy": np.float32(1.0)}, {"entropy": np.float32(1e-6)})
    with pytest.raises(TrainingError, match=r"iteration 9, by optimizer step 70: the policy has collapsed"):
        with_losses(losses).check(9, 70)
    with_losses(losses._replace(metrics={"entropy": np.float32(0.5)})).check(9, 70)
    with_losses(None).check(9, 70)


def test_weights_that_are_not_finite_are_not_saved(run: RunDirectory) -> None:
    training = resumed_with_more_iterations(run)
    train_state = training.state.train_state
    spoilt = train_state._replace(ema=jax.tree.map(lambda leaf: leaf * jnp.nan, train_state.ema))
    training.state, training.counters.iteration = training.state._replace(train_state=spoilt), 5
    with pytest.raises(TrainingError, match=r"after iteration 5.*weights are no longer finite numbers"):
        progress.save(training, [])
    assert resumed(run).counters.iteration == 4


def test_a_run_with_too_large_a_learning_rate_stops_and_keeps_its_last_sound_checkpoint(run: RunDirectory) -> None:
    training = resumed_with_more_iterations(run)
    training.config = training.config.changed(
        {
            "iterations": 500,
            "learner.learning_rate": 100.0,
            "learner.learning_rate_schedule": "constant",
            "learner.warmup_steps": 0,
            "checkpoints.every": 50,
        }
    )
    with pytest.raises(TrainingError, match=r"Stopped (in|after) iteration \d+, by optimizer step"):
        train(training)
    found = resumed(run)
    assert found.counters.iteration >= 4 and not found.notes
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(found.state.train_state.ema))


# Resuming.


def test_a_resumed_run_is_the_run_that_never_stopped(run: RunDirectory, watched) -> None:
    """From the checkpoint of iteration 2 to the end: weights, replay buffer, lanes, optimizer, metrics and games."""
    shutil.rmtree(run.checkpoints / "4")
    (run.games / "4.txt").unlink()
    training = resumed(run)
    assert training.counters.iteration == 2
    assert train(training, [Evaluate(), Metrics(), StoredGames()]) == "finished"
    assert same(training.state, watched.training.state)
    mine, theirs = (place.checkpoints / "4" / checkpoint.STATE for place in (run, watched.run))
    assert mine.read_bytes() == theirs.read_bytes()
    assert timeless(run) == timeless(watched.run)
    assert (run.games / "4.txt").read_bytes() == (watched.run.games / "4.txt").read_bytes()


def test_checkpoints_hold_the_champion_and_best_names_the_first_of_it(monkeypatch, tmp_path: Path) -> None:
    """Six iterations, an attempt in each, and the fourth alone passes; a checkpoint every third iteration."""
    learned = {}

    def attempt(plan, state, counters):
        learned[counters.iteration] = jax.tree.map(np.array, state.train_state.ema)
        passed = counters.iteration == 4
        if passed:
            state = state._replace(champion=jax.tree.map(jnp.copy, state.train_state.ema))
        return state, Verdict(passed, 0.6 if passed else 0.4, 10)

    monkeypatch.setattr(arena, "run_gate", attempt)
    config = TINY.changed({"iterations": 6, "evaluation.every": 0, "checkpoints.every": 3})
    run = RunDirectory(tmp_path / "run")
    training = Training.begin(run, replace(config, gate=GateSettings(kind="score", every=1)))
    first = jax.tree.map(np.array, playing(training.state))
    best = []
    monkeypatch.setattr(checkpoint, "_prune", lambda run, *rest: best.append((run.path / BEST).read_text()))
    train(training)
    assert best == ["3\n", "6\n"] and training.counters.champion == 4
    for iteration, expected in ((3, first), (6, learned[4])):
        held = weights.load(run.checkpoints / str(iteration) / checkpoint.WEIGHTS).weights
        assert all(map(np.array_equal, jax.tree.leaves(held), jax.tree.leaves(expected)))
    assert not all(map(np.array_equal, jax.tree.leaves(learned[4]), jax.tree.leaves(learned[6])))
    assert runs.weights_file(str(run.path)) == run.checkpoints / "6" / checkpoint.WEIGHTS
    again = Training.resume(run)
    assert again.counters.champion == 4
    assert all(map(np.array_equal, jax.tree.leaves(playing(again.state)), jax.tree.leaves(learned[4])))
