"""Which devices are used, what is refused, and what each device must hold; the tests have one device."""

from __future__ import annotations

import jax
import pytest
from typer.testing import CliRunner

from tabia.cli.main import app
from tabia.core import devices, lanes
from tabia.core.devices import DeviceError
from tabia.search import memory
from tabia.training import limits
from tabia.training.config import recipes
from tabia.training.plan import Plan


@pytest.mark.parametrize("wanted", [None, 1, "1", "all"])
def test_one_device_changes_nothing(wanted: str | int | None) -> None:
    key, array = jax.random.key(0), jax.numpy.arange(3)
    with devices.using(wanted):
        assert devices.count() == 1 and devices.splitting() is None and devices.copying() is None
        assert devices.split(array) is array and devices.copied(array) is array and lanes.constrain(array) is array
        with devices.active():
            assert not lanes.are_split()
        assert (lanes.draw(jax.random.bits, key, (3,)) == jax.random.bits(key, (3,))).all()


@pytest.mark.parametrize("wanted", ["2", 3, "0", "-1", "none", "1.5", "²", ""])
def test_other_devices_are_refused_in_one_line(wanted: str | int) -> None:
    with pytest.raises(DeviceError) as refused, devices.using(wanted):
        pass
    assert "\n" not in str(refused.value) and f"--devices {wanted}" in str(refused.value)
    assert devices.count() == 1


@pytest.mark.parametrize(
    "words",
    [
        ["train", "tictactoe"],
        ["resume", "nowhere"],
        ["match", "tictactoe", "random", "random"],
        ["tournament", "tictactoe", "random", "greedy"],
        ["rate", "nowhere"],
        ["accuracy", "tictactoe", "random"],
        ["analyze", "tictactoe"],
    ],
)
def test_commands_refuse_them_before_anything_else(words: list[str]) -> None:
    done = CliRunner().invoke(app, [*words, "--devices", "64"])
    assert done.exit_code == 2 and done.stderr.count("\n") == 1
    assert "JAX finds 1 here" in done.stderr


@pytest.mark.parametrize(
    ("amount", "said"),
    [(100, "96 or 104, or use --devices 5"), (5, "8, or use --devices 5"), (7, "8, or use --devices 7")],
)
def test_lanes_that_cannot_be_split_are_refused(monkeypatch, amount: int, said: str) -> None:
    monkeypatch.setattr(devices, "count", lambda: 8)
    with pytest.raises(DeviceError, match=said):
        devices.check_divisible("selfplay.games", amount)
    devices.check_divisible("selfplay.games", 64)


@pytest.mark.parametrize("setting", ["selfplay.games", "learner.batch_size"])
def test_a_run_whose_games_or_batches_cannot_be_split_is_refused(monkeypatch, setting: str) -> None:
    monkeypatch.setattr(devices, "count", lambda: 4)
    config = recipes.default("tictactoe").config("tictactoe")
    limits.check_devices(Plan(config))
    with pytest.raises(DeviceError, match=rf"{setting}=510 .* Set {setting} to 508 or 512, or use --devices 3"):
        limits.check_devices(Plan(config.changed({setting: 510})))


def test_each_device_needs_memory_for_its_lanes_and_all_weights(monkeypatch) -> None:
    plan = Plan(recipes.default("tictactoe").config("tictactoe"))
    alone = limits.selfplay_needs(plan), limits.learner_needs(plan)
    monkeypatch.setattr(devices, "count", lambda: 4)
    for before, after in zip(alone, (limits.selfplay_needs(plan), limits.learner_needs(plan)), strict=True):
        for one, four in zip(before, after, strict=True):
            assert four.amount == one.amount  # errors name the setting of the whole run
            assert four.bytes == (
                one.bytes if one.setting in ("weights", "learner.sample_positions") else one.bytes / 4
            )


def test_devices_on_the_cpu_have_equal_parts_of_the_machine(monkeypatch) -> None:
    alone = memory.device_limit()
    monkeypatch.setattr(devices, "count", lambda: 4)
    assert memory.device_limit().bytes == alone.bytes // 4 and "1/4" in str(memory.device_limit())


@pytest.mark.parametrize(("limit", "fewer"), [("1", True), ("0", True), ("100000", False), ("", False), ("all", False)])
def test_a_limit_of_threads_is_one_of_cores(monkeypatch, limit: str, fewer: bool) -> None:
    monkeypatch.delenv("NPROC", raising=False)
    present = devices.cores()
    monkeypatch.setenv("NPROC", limit)
    assert devices.cores() == (1 if fewer else present)
