"""Limits of players, matches and runs: what is too large is refused at once, with what fits."""

from __future__ import annotations

import re
import time
from dataclasses import replace

import jax
import pytest
from typer.testing import CliRunner

from tabia import games, players
from tabia.cli.main import app
from tabia.evaluation.match import Match, check_batch
from tabia.evaluation.rounds import MatchError
from tabia.evaluation.tournament import Tournament
from tabia.networks.presets import mlp
from tabia.players import PlayerError
from tabia.players.player import Sized
from tabia.players.tree_player import chunk_size
from tabia.search import memory
from tabia.training import limits, pace
from tabia.training import state as states
from tabia.training.config.schema import EvaluationSettings
from tabia.training.errors import TrainingError
from tabia.training.evaluate import opponents
from tabia.training.plan import Plan
from tabia.training.run.directory import RunDirectory
from tabia.training.training import Training
from tests.training.conftest import TINY

GAME = games.make("connect4")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with 400 MB, half of which may be used."""
    for name in ("device_memory", "machine_memory"):
        monkeypatch.setattr(memory, name, lambda: 400_000_000)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("mcts:simulations=1e9", "simulations=1,000,000,000 needs about .* simulations can be at most"),
        ("mcts:simulations=1e300", r"simulations=1\.0e\+300 needs about"),
        ("az:untrained,simulations=1e9", "simulations=1,000,000,000 needs about"),
        ("az:untrained,simulations=1e9,rule=puct,temperature=1", "simulations=1,000,000,000 needs about"),
        ("mcts:simulations=1e9,seconds=1", "simulations=1,000,000,000 needs about"),
        ("mcts:simulations=1e9,leaves=1e9", "leaves=1,000,000,000 needs about"),
        ("mcts:rollouts=1e9", "rollouts=1,000,000,000 needs about .* rollouts can be at most"),
        ("mcts:rollouts=5e5,simulations=4e5", "200,000,000,000 positions per move"),
        ("mcts:rollout_moves=1e300", "at most 2.14748e"),
        ("mcts:seconds=1e9", "at most 86400"),
        ("mcts:c=1e300", "at most 1e"),
        ("minimax:depth=50", "depth can be at most 13"),
        ("minimax:depth=1e300", "depth can be at most 13"),
        ("random:random_moves=1e300", "at most 1e"),
    ],
)
def test_huge_options_are_refused_at_once(spec: str, words: str) -> None:
    started = time.process_time()
    with pytest.raises(PlayerError, match=words) as refusal:
        players.make(spec, GAME)
    assert time.process_time() - started < 5  # about a second on an idle machine
    assert spec in str(refusal.value) and "\n" not in str(refusal.value)


@pytest.mark.parametrize("spec", ["mcts:seconds=1", "az:untrained,seconds=1", "az:untrained,considered_actions=1e9"])
def test_with_only_a_time_limit_many_trees_fit(spec: str) -> None:
    player = players.make(spec, GAME)
    assert isinstance(player, Sized)
    player.check_batch(256)


def test_a_modified_player_has_the_limits_of_its_player() -> None:
    player = players.make("mcts:simulations=1e5,temperature=1", GAME)
    assert isinstance(player, Sized)
    with pytest.raises(PlayerError, match="A batch of 8 would fit"):
        player.check_batch(64)


@pytest.mark.parametrize("leaves", [1, 3, 8, 100])
def test_chunks_by_trying_every_size(leaves: int) -> None:
    for steps in range(1, 200):
        simulations = steps * leaves
        fitting = [size for size in range(leaves, simulations + 1, leaves) if simulations % size == 0]
        assert chunk_size(simulations, leaves) == max((size for size in fitting if size <= 64), default=leaves)
    assert chunk_size(10**18 * leaves, leaves) >= leaves  # at once


def test_match_error_names_a_batch_that_fits() -> None:
    pair = (players.make("mcts:simulations=20000", GAME), players.make("random", GAME))
    with pytest.raises(MatchError, match="for the trees of 128 positions") as refusal:
        Match(GAME, pair, games=100)
    found = re.search(r"A batch of (\d+) would fit\. --batch", str(refusal.value))
    assert found
    Match(GAME, pair, games=100, batch=int(found[1]))
    Match(GAME, pair, games=int(found[1]))  # so few games are a small batch anyway
    with pytest.raises(MatchError):
        Match(GAME, pair, games=100, batch=2 * int(found[1]))
    with pytest.raises(MatchError, match="A batch of"):
        _ = Tournament(GAME, pair, games=100).matches


def test_pairings_join_only_if_their_players_have_memory_for_all_games() -> None:
    tree = players.make("mcts:simulations=20000", GAME)
    others = [players.make(spec, GAME) for spec in ("random", "greedy")]
    fits = next(games for games in range(64, 0, -2) if _has_memory(tree, games))
    small = Tournament(GAME, (tree, *others), games=fits // 4, batch=256)
    large = Tournament(GAME, (tree, *others), games=fits, batch=256)
    assert [len(pieces) for pieces in small.batches] == [3] and len(large.batches) > 1


def _has_memory(player: players.Player, games: int) -> bool:
    try:
        check_batch(player, games)
    except MatchError:
        return False
    return True


def test_matches_with_too_many_games_are_refused() -> None:
    pair = (players.make("random", GAME), players.make("greedy", GAME))
    with pytest.raises(MatchError, match=r"games=1,000,000,000,000 needs about 1\.0 PB.* games can be at most 200,000"):
        Match(GAME, pair, games=10**12)
    with pytest.raises(MatchError, match="games can be at most"):
        Tournament(GAME, pair, games=10**12)
    Match(GAME, pair, games=200_000)


@pytest.mark.parametrize(
    "words",
    [
        ("match", "connect4", "random", "greedy", "--games", "1000000000000"),
        ("match", "connect4", "mcts:simulations=1e9", "greedy"),
        ("analyze", "connect4", "--player", "mcts:simulations=1e9,seconds=1"),
        ("train", "tictactoe", "--set", "search.simulations=1000000"),
        ("train", "tictactoe", "--estimate", "--set", "search.simulations=1000000"),
        ("accuracy", "connect4", "random", "--positions", "1000000000000"),
        ("check", "connect4", "--games", "1000000000000"),
        ("bench", "games", "connect4", "--batch", "1000000000000"),
        ("bench", "networks", "mlp", "--batch", "1000000000000"),
        ("bench", "rollouts", "--batch", "1000000000"),
    ],
    ids=" ".join,
)
def test_commands_refuse_with_exit_code_2(words: tuple[str, ...], tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 2, result.output
    assert any(words in result.stderr for words in ("at most", "less than or equal to"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"search.simulations": 1_000_000}, r"search\.simulations=1,000,000 .* search\.simulations can be at most"),
        ({"search.fast_simulations": 1_000_000}, r"search\.simulations=1,000,000"),
        (
            {"learner.batch_size": 500_000, "replay.positions": 600_000, "network": mlp(256)},
            r"learner\.batch_size=500,000 needs",
        ),
        ({"replay.positions": 10_000_000}, r"The replay buffer needs .* positions would fit: lower replay\.positions"),
        ({"evaluation.simulations": 1_000_000}, r"evaluation\.simulations=1,000,000 needs"),
        ({"gate.kind": "score", "gate.simulations": 1_000_000}, r"gate\.simulations=1,000,000 needs"),
    ],
    ids=["simulations", "fast simulations", "batch", "replay", "evaluation", "gate"],
)
def test_runs_that_do_not_fit_are_refused(changes: dict[str, object], words: str, tmp_path) -> None:
    config = TINY.changed(changes)
    run = RunDirectory(tmp_path / "run")
    with pytest.raises(TrainingError, match=words):
        Training.begin(run, config)
    assert not run.path.exists()
    with pytest.raises(TrainingError, match=words):
        pace.estimate(config)


def test_later_stages_are_checked() -> None:
    plan = Plan(replace(TINY, schedule=(("search.simulations", ((0.0, 4), (0.5, 1_000_000))),)))
    with pytest.raises(TrainingError, match=r"search\.simulations=1,000,000"):
        limits.check_memory(plan)
    limits.check_memory(Plan(TINY))


def test_opponents_that_do_not_fit_are_refused_before_the_run() -> None:
    settings = EvaluationSettings(every=2, games=256, opponents=("mcts:simulations=100000",))
    with pytest.raises(TrainingError, match=r"\[evaluation\] mcts:simulations=100000: .*A batch of"):
        opponents(Plan(replace(TINY, evaluation=settings)))


def test_the_replay_shares_the_device_with_the_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each would fit alone into half of the memory."""
    plan = Plan(TINY)
    buffer = jax.eval_shape(lambda: states.begin(plan).boards[0].buffer)
    buffer_bytes, working = memory.nbytes(buffer), limits.working_bytes(plan)
    for spare, place in ((1, None), (-1, "host")):
        monkeypatch.setattr(memory, "device_memory", lambda spare=spare: 2 * (buffer_bytes + working + spare))
        assert (states._host(plan, [buffer]) is None) == (place is None)
