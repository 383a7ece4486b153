"""What a schedule calls for is compiled before the first cycle, and only once."""

from __future__ import annotations

import jax
import pytest

from tabia.networks.presets import any_size
from tabia.training import Training, cycle, loop
from tabia.training import state as states
from tabia.training.compiling import compile_ahead
from tabia.training.directory import RunDirectory
from tabia.training.plan import Plan

from .conftest import TINY

# Numbers no other test uses, so that nothing here is compiled already.
STAGED = TINY.changed({"replay.start": 1, "learner.weight_decay": 0.0123}).changed(
    {"schedule": (("search.simulations", ((0.0, 3), (0.5, 5))), ("targets.search_share", ((0.0, 0.11), (0.7, 0.13))))}
)


@pytest.fixture
def compiled():
    """Names of the programs compiled from here on."""
    names: list[str] = []
    listening = [True]

    def listen(event: str, _: float, **about: object) -> None:
        if listening[0] and event.endswith("backend_compile_duration"):
            names.append(str(about.get("fun_name")))

    jax.monitoring.register_event_duration_secs_listener(listen)
    yield names
    listening[0] = False


def of_a_run(names: list[str]) -> list[str]:
    return sorted(name for name in names if any(part in name for part in ("_play", "learn_step")))


@pytest.mark.long
def test_a_schedule_is_compiled_ahead(compiled):
    plan = Plan(STAGED)
    state = states.begin(plan)
    compile_ahead(plan, state)
    assert len(of_a_run(compiled)) == 4, "two numbers of simulations, two shares of the search's value"
    compiled.clear()
    for number, progress in enumerate((0.0, 0.1, 0.5, 0.8)):
        state, report = cycle.run(Plan(STAGED.at(progress)), state, number, progress)
    assert report.losses is not None
    assert of_a_run(compiled) == []


@pytest.mark.long
def test_only_what_is_still_to_come(compiled):
    plan = Plan(STAGED.changed({"learner.weight_decay": 0.0124, "selfplay.explore": 0.0125}))
    compile_ahead(plan, states.begin(plan), progress=0.9)
    assert of_a_run(compiled) == ["jit(_play)", "jit(learn_step)"]


@pytest.mark.long
def test_every_board_has_its_own(compiled):
    plan = Plan(TINY.changed({
        "game": "connect:rows=3,columns=4,line=3", "other_boards": ("connect:rows=3,columns=5,line=3",),
        "network": any_size(4, 1, policy="columns"), "learner.weight_decay": 0.0126,
    }))  # fmt: skip
    compile_ahead(plan, states.begin(plan))
    assert of_a_run(compiled) == ["jit(_play)"] * 2 + ["jit(learn_step)"] * 2


def test_compiling_is_part_of_the_time_but_not_of_the_schedule(tmp_path, monkeypatch):
    """A minute, of which compiling takes three quarters: the schedule has the rest."""
    training = Training.begin(RunDirectory(tmp_path / "run"), STAGED.changed({"minutes": 1.0}))
    monkeypatch.setattr(loop, "compile_ahead", lambda *args, **kwargs: None)
    started, now = 100.0, 145.0
    monkeypatch.setattr(loop.time, "monotonic", lambda: now)
    loop._compile(training, loop._Clock(0.0, started))
    assert training.ledger.compiling == training.ledger.seconds == 45.0
    assert training.progress == 0.0
    training.ledger.seconds = 52.5
    assert training.progress == pytest.approx(0.5)
    training.ledger.seconds = 60.0
    assert training.progress == 1.0
