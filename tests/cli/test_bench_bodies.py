"""`tabia bench bodies`: the same steps for every body, positions held out, bodies of equal cost, and errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from typer.testing import CliRunner

from tabia.benchmarks import bodies as benchmark
from tabia.benchmarks import recorded as recorded_self_play
from tabia.benchmarks.recorded import Recorded, candidates, load, make_bodies
from tabia.cli import printing
from tabia.cli.main import app
from tabia.games import make
from tabia.networks import Network
from tabia.networks.config import TOWERS
from tabia.networks.presets import any_size, mlp, tower
from tabia.networks.summary import counts
from tabia.training.config.schema import (
    Config,
    EvaluationSettings,
    LearnerSettings,
    ReplaySettings,
    SearchSettings,
    SelfPlaySettings,
)
from tabia.training.errors import TrainingError
from tabia.training.learning.losses import compute_losses
from tabia.training.loop import train
from tabia.training.plan import Plan
from tabia.training.run.directory import RunDirectory
from tabia.training.selfplay import replay
from tabia.training.training import Training

SMALL = Config(
    game="tictactoe",
    iterations=4,
    network=tower(8, 1),
    search=SearchSettings(simulations=4, considered_actions=4),
    selfplay=SelfPlaySettings(games=20, plies=8, opening_moves=4),
    replay=ReplaySettings(positions=640, min_positions=64),
    learner=LearnerSettings(steps=2, batch_size=32, learning_rate=0.01, ema_decay=0.5, warmup_steps=0),
    evaluation=EvaluationSettings(games=0),
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "small"
    train(Training.begin(path, SMALL), [])
    return path


@pytest.fixture(scope="module")
def recorded(run: Path) -> Recorded:
    return load(run, held_out=0.2)


def test_every_body_takes_the_same_steps(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bars: list[tuple[str, int | None, list[int]]] = []

    class Bar(list[int]):
        def __call__(self, done: int) -> None:
            self.append(done)

        hidden = staticmethod(nullcontext)

    @contextmanager
    def progress(what: str, total: int | None = None) -> Iterator[Bar]:
        bar = Bar()
        bars.append((what, total, bar))
        yield bar

    monkeypatch.setattr(printing, "progress", progress)
    body, out = "kind=bottleneck,filters=12,inner_blocks=1", tmp_path / "report.json"
    words = ["--steps", "5", "--seeds", "2", "--batch", "16", "--positions", "30", "--json", "--out", str(out)]
    result = CliRunner().invoke(app, ["bench", "bodies", str(run), "--body", body, *words])
    assert result.exit_code == 0, result.output
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert [row["body"] for row in rows] == ["as in the run", body]
    game = make("tictactoe")
    own, other = tower(8, 1), tower(12, 1).changed(kind="bottleneck", inner_blocks=1)
    for row, config in zip(rows, (own, other), strict=True):
        size = counts(Network.of(config, game))
        assert (row["trainable"], row["multiplications"]) == (size.trainable, size.multiplications)
        assert row["ratio"] == pytest.approx(row["evaluations"] / rows[0]["evaluations"])
        assert (row["batch"], row["steps"], row["batch_size"]) == (16, 5, 32) and row["step_seconds"] > 0
        assert [one["seed"] for one in row["results"]] == [0, 1]
        assert all(0 <= one["agreement"] <= 1 and one["held_out_policy"] > 0 for one in row["results"])
    report = json.loads(out.read_text())
    assert report["rows"] == rows and {"command", "date", "commit", "device", "method"} < report.keys()
    ((what, total, seen),) = bars
    assert (what, total) == ("optimizer steps", 2 * 2 * 5)
    assert seen == list(range(1, 21))  # one step per call of the learner


def test_bodies_learn_and_the_table_shows_it(recorded: Recorded) -> None:
    (own,) = make_bodies(recorded, ["blocks=1"])[:1]
    (short,), (long,) = (benchmark.Bench(recorded, steps, batch=8, positions=0).run([own]) for steps in (1, 60))
    before, after = short.results[0], long.results[0]
    assert after.held_out_policy < before.held_out_policy and after.held_out_value < before.held_out_value
    assert (
        before.agreement is None
        and short.speed_cells[-1] == "-"
        and short.learned_cells[-1] == "-"
        and short.step_seconds is None
    )
    two = replace(long, results=(after, replace(after, seed=1, policy=after.policy + 0.2)))
    assert two.learned_cells[0] == f"{after.policy + 0.1:.4f} ± 0.1000"
    assert replace(two, results=(after, replace(after, policy=None))).learned_cells[0] == "-"


def test_held_out_losses_are_those_of_all_positions(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    learner = Plan(recorded.config).learner
    variables = learner.network.init(jax.random.key(3))
    batch = learner.make_batch(recorded.held_out, jax.random.key(0), symmetries=False)
    outputs, _ = jax.jit(learner.network.apply)(variables, batch.observations)
    expected = compute_losses(learner.terms, outputs, batch).terms
    monkeypatch.setattr(benchmark, "CHUNK", 50)
    found = benchmark._losses_on(learner, variables, recorded.held_out)
    assert found == pytest.approx({name: float(expected[name]) for name in ("policy", "value")}, rel=1e-5)


def test_no_game_is_both_learned_from_and_held_out(run: Path, recorded: Recorded) -> None:
    buffer = Training.resume(run).state.boards[0].buffer
    lanes = jnp.broadcast_to(jnp.arange(20), buffer.ready.shape)
    marked = buffer._replace(plies=buffer.plies._replace(opening=lanes))
    parts = [recorded_self_play._lanes(marked, part) for part in (slice(16), slice(16, None))]
    for part, expected in zip(parts, (range(16), range(16, 20)), strict=True):
        samples = replay.sample(part, jax.random.key(0), 2000, 100)
        assert set(np.asarray(samples.plies.opening).tolist()) == set(expected)
    assert recorded.training.ready.shape == (buffer.ready.shape[0], 16)
    held = int(replay.ready_positions(parts[1], Plan(recorded.config).window))
    assert int(recorded.held_out.weight.sum()) == held > 0


@pytest.mark.parametrize("kind", TOWERS)
def test_default_bodies_cost_about_as_much_as_the_network_of_the_run(kind: str) -> None:
    config = Config(game="connect4", network=tower(64, 5).changed(kind=kind))
    wanted = counts(Plan(config).network).multiplications
    texts = candidates(config)
    assert len(texts) == (7 if kind in ("residual", "bottleneck") else 8)
    assert {text.split(",")[0] for text in texts} == {f"kind={each}" for each in TOWERS}
    for text in texts:
        network = recorded_self_play._body(config, text).network
        one_more = network.config.changed(blocks=network.config.blocks + 1)
        cost, more = (counts(Network.of(each, make("connect4"))).multiplications for each in (network.config, one_more))
        assert abs(cost - wanted) <= 0.5 * (more - cost)


def test_default_bodies_of_several_boards_fit_any_size() -> None:
    boards = {"game": "connect:rows=4,columns=4,line=3", "other_boards": ("connect:rows=4,columns=5,line=3",)}
    texts = candidates(Config(**boards, network=any_size(16, 3, policy="columns")))
    assert {text.split(",")[0] for text in texts} == {"kind=residual", "kind=bottleneck", "kind=gated"}


def test_bodies_are_settings_of_the_network() -> None:
    config = Config(game="tictactoe", network=tower(8, 1))
    for text, expected in {
        "blocks=3, activation=leaky_relu": tower(8, 3).changed(activation="leaky_relu"),
        "preset=mlp,units=[16,12],batch_norm=false": mlp(16, 12, batch_norm=False),
    }.items():
        assert recorded_self_play._body(config, text).network.config == expected
    with pytest.raises(TrainingError, match=r"no blocks to vary: name the bodies, as in --body blocks=3\.$"):
        candidates(replace(config, network=mlp(16)))


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("filter=64", "There is no setting 'network.filter'. Did you mean network.filters "),
        ("blocks", "'blocks' is no body: expected settings of a network, such as blocks=5,filters=128."),
        ("blocks=-1", "network.blocks is a whole number from 0 to 256; got -1."),
        ("policy=columns", "one action per column"),
    ],
)
def test_an_unknown_body_is_refused(run: Path, body: str, sentence: str) -> None:
    result = CliRunner().invoke(app, ["bench", "bodies", str(run), "--body", body])
    assert result.exit_code == 2 and sentence in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_run_without_a_replay_buffer_is_refused(tmp_path: Path) -> None:
    RunDirectory(tmp_path / "new").create(SMALL)
    for name, sentence in (("new", "has no checkpoint yet, and so no replay buffer"), ("none", "holds no run")):
        result = CliRunner().invoke(app, ["bench", "bodies", str(tmp_path / name)])
        assert result.exit_code == 2 and sentence in result.stderr and len(result.stderr.splitlines()) == 1


def test_the_tables_have_one_line_per_body(run: Path) -> None:
    words = ["--body", "blocks=0", "--steps", "1", "--batch", "8", "--positions", "0"]
    result = CliRunner().invoke(app, ["bench", "bodies", str(run), *words])
    assert result.exit_code == 0, result.output
    lines = [line.split()[0] for line in result.stdout.splitlines() if line.strip()]
    assert lines == ["body", "as", "blocks=0", "body", "as", "blocks=0"]
