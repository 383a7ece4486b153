"""The programs of a schedule are compiled ahead, the first stage before the first iteration, and only once."""

from __future__ import annotations

import threading

import jax
import pytest

from tabia.networks.presets import any_size
from tabia.training import Training, compiling, iteration, pace, progress
from tabia.training import state as states
from tabia.training.compiling import CompileAhead
from tabia.training.pace import Clock
from tabia.training.plan import Plan
from tabia.training.run.directory import RunDirectory

from .conftest import TINY

# Numbers that no other test uses, so that nothing is compiled already.
STAGED = TINY.changed({"replay.min_positions": 1, "learner.weight_decay": 0.0123}).changed(
    {
        "schedule": (
            ("search.simulations", ((0.0, 3), (0.5, 5))),
            ("targets.search_value_weight", ((0.0, 0.11), (0.7, 0.13))),
        )
    }
)


@pytest.fixture
def compiled():
    """The names of the programs compiled during a test."""
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


def compile_all(plan: Plan, state: states.State, progress: float = 0.0) -> None:
    with CompileAhead(plan, state, progress) as ahead:
        for stage in plan.stages_from(progress):
            ahead.wait(stage)


class Program:
    """Takes until `finish` to compile."""

    def __init__(self, *, finished: bool):
        self.started, self.finish = threading.Event(), threading.Event()
        if finished:
            self.finish.set()

    def compile(self) -> None:
        self.started.set()
        assert self.finish.wait(timeout=120)


@pytest.fixture
def programs(monkeypatch):
    """A program per stage: the first compiles at once, the others when the test lets them."""
    made: dict[object, Program] = {}

    def lowered(plan, stages, state, parts):
        return {stage.selfplay: made.setdefault(stage.selfplay, Program(finished=not made)) for stage in stages}

    monkeypatch.setattr(compiling, "_lowered", lowered)
    return made


def test_a_run_waits_for_its_first_stage_alone(programs):
    first, *_, last = Plan(STAGED).stages
    phases: list[str] = []
    with CompileAhead(Plan(STAGED), state=None) as ahead:
        ahead.wait(first, phases.append)
        assert phases == []
        later = programs[last.selfplay]
        assert later.started.wait(timeout=120), "the others compile in the background"
        threading.Timer(0.05, later.finish.set).start()
        ahead.wait(last, phases.append)
        assert phases == ["compiling"]


def test_a_stopped_run_compiles_no_further_stage(programs):
    with CompileAhead(Plan(STAGED), state=None, stopped=lambda: True) as ahead:
        ahead.wait(Plan(STAGED).stages[-1])  # not compiled, so there is nothing to wait for
    assert [program.started.is_set() for program in programs.values()] == [True, False]


def test_a_failed_compilation_fails_the_stage_that_needs_it(programs, monkeypatch):
    monkeypatch.setattr(Program, "compile", lambda self: 1 / (self.finish.is_set()))
    first, *_, last = Plan(STAGED).stages
    with CompileAhead(Plan(STAGED), state=None) as ahead:
        ahead.wait(first)
        with pytest.raises(ZeroDivisionError):
            ahead.wait(last)


@pytest.mark.long
def test_a_schedule_is_compiled_ahead(compiled):
    plan = Plan(STAGED)
    state = states.begin(plan)
    compile_all(plan, state)
    assert len(of_a_run(compiled)) == 4, "two numbers of simulations, two weights of the search value"
    compiled.clear()
    for number, at in enumerate((0.0, 0.1, 0.5, 0.8)):
        state, result = iteration.run(Plan(STAGED.at(at)), state, number, at)
    assert result.losses is not None
    assert of_a_run(compiled) == []


@pytest.mark.long
def test_only_later_stages_are_compiled(compiled):
    plan = Plan(STAGED.changed({"learner.weight_decay": 0.0124, "selfplay.epsilon": 0.0125}))
    compile_all(plan, states.begin(plan), progress=0.9)
    assert of_a_run(compiled) == ["jit(_play)", "jit(learn_step)"]


@pytest.mark.long
def test_every_board_has_its_own_programs(compiled):
    plan = Plan(
        TINY.changed(
            {
                "game": "connect:rows=3,columns=4,line=3",
                "other_boards": ("connect:rows=3,columns=5,line=3",),
                "network": any_size(4, 1, policy="columns"),
                "learner.weight_decay": 0.0126,
            }
        )
    )
    compile_all(plan, states.begin(plan))
    assert of_a_run(compiled) == ["jit(_play)"] * 2 + ["jit(learn_step)"] * 2


def test_compiling_is_part_of_the_time_but_not_of_the_schedule(tmp_path, monkeypatch):
    """Of one minute, compiling takes three quarters, and the schedule gets the rest."""
    training = Training.begin(RunDirectory(tmp_path / "run"), STAGED.changed({"minutes": 1.0}))
    monkeypatch.setattr(progress, "CompileAhead", lambda *args, **kwargs: None)
    started, now = 100.0, 145.0
    monkeypatch.setattr(pace.time, "monotonic", lambda: now)
    clock = Clock(0.0, started)
    progress.compile_ahead(training, clock)
    assert training.counters.compile_seconds == training.counters.seconds == 45.0
    assert training.progress == 0.0
    training.counters.seconds = 52.5
    assert training.progress == pytest.approx(0.5)
    now = 155.0
    clock.count_compiling(training.counters, since=52.5)  # for a later stage
    assert (training.counters.seconds, training.counters.compile_seconds) == (55.0, 47.5)
    assert training.progress == pytest.approx(7.5 / 12.5)
    training.counters.seconds = 60.0
    assert training.progress == 1.0
