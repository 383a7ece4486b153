"""Evaluations: with every recipe, bounded in time, abandoned if necessary, and described in words."""

from __future__ import annotations

import copy
import math
from dataclasses import replace

import pytest

from tabia.games import make
from tabia.players import perfect
from tabia.training import evaluate
from tabia.training.config import recipes
from tabia.training.evaluate import Allowance, Evaluate
from tabia.training.plan import Plan
from tabia.training.report import strength
from tabia.training.report.strength import Strength
from tabia.training.run import metrics
from tabia.training.state import Counters
from tabia.training.training import Training


@pytest.mark.parametrize("name", recipes.names())
def test_every_recipe_is_evaluated_against_an_opponent_that_resists(name: str) -> None:
    recipe = recipes.load(name)
    config = recipe.config("othello" if recipe.game == recipes.ANY else recipe.game)
    found = evaluate.opponent_specs(Plan(config))
    assert found and found != ("random",)
    assert [player.spec for player in evaluate.opponents(Plan(config))] == list(found)


@pytest.mark.parametrize("id", ["tictactoe", "connect3", "connect4", "othello", "checkers", "chinese-checkers"])
def test_suitable_opponents_are_those_the_game_allows(id: str) -> None:
    game, found = make(id), evaluate.suitable_opponents(make(id))
    assert found[0] == "random" and ("greedy" in found) == game.has_heuristic
    assert evaluate.MCTS in found or game.has_heuristic


def test_perfect_play_is_used_only_for_quickly_solved_games() -> None:
    for known in ("tictactoe", "connect3", "tictactoe:history=2"):
        game = make(known)
        assert perfect.is_quick(game) and perfect.PerfectPlayer(game).oracle is not None
    for slow in ("othello", "connect:rows=7,columns=8,line=4", "connect:rows=3,columns=3,line=3,players=3"):
        assert not perfect.is_quick(make(slow))


# When, and for how long.


def copied(training: Training, **changes: object) -> Training:
    """A copy of the run without displays."""
    made = copy.copy(training)
    made.config, made.stopping, made.enter = training.config.changed(changes), (), lambda phase: None
    return made


def at(training: Training, seconds: float, whole: float) -> Training:
    """The run after some seconds of its whole length."""
    made = copied(training, **{"evaluation.every": 0, "minutes": whole / 60})
    made.counters = Counters(iteration=int(seconds), seconds=seconds)
    return made


@pytest.mark.parametrize(("whole", "cost"), [(30.0, 2.0), (300.0, 2.0), (300.0, 60.0), (3600.0, 2.0), (3600.0, 60.0)])
def test_evaluations_take_a_small_fraction_of_the_time_and_the_end_is_always_evaluated(
    watched, monkeypatch, whole, cost
) -> None:
    now = 0.0
    monkeypatch.setattr(evaluate.time, "monotonic", lambda: now)
    observer = Evaluate()
    observer.on_start(at(watched.training, 0.0, whole))
    done: list[float] = []

    def measure(training, allowed) -> dict:
        nonlocal now
        done.append(training.counters.seconds)
        observer._cost = cost
        now += cost
        return {}

    monkeypatch.setattr(observer, "measure", measure)
    while now < whole:
        now += 1.0
        observer.on_iteration(at(watched.training, min(now, whole), whole), None)
    assert done[-1] == whole and done.count(whole) == 1 and len(done) <= evaluate.MOST
    # The cost of the first one is not known in advance.
    later = [point for point in done[1:] if point < whole]
    assert cost * len(later) <= evaluate.TIME_FRACTION * whole
    if (whole, cost) == (3600.0, 2.0):
        assert len(done) >= 6
    if whole == 30.0:
        assert done == [30.0]


def test_a_run_that_ends_during_an_evaluation_gets_its_last_one_too(watched, monkeypatch) -> None:
    now, taken = 100.0, []
    monkeypatch.setattr(evaluate.time, "monotonic", lambda: now)
    observer = Evaluate()
    observer.on_start(at(watched.training, 0.0, 120.0))

    def measure(training, allowed) -> dict:
        nonlocal now
        taken.append(allowed)
        now += 30.0  # more than is left, mostly compilation
        return {"number": len(taken)}

    monkeypatch.setattr(observer, "measure", measure)
    found = observer.on_iteration(at(watched.training, 100.0, 120.0), None)
    assert found == {"number": 2} and taken[1] == evaluate.allowance(at(watched.training, 120.0, 120.0), last=True)
    observer._cost, observer._since = 4.0, (0.0, 0.0)
    assert observer.on_iteration(at(watched.training, 117.0, 120.0), None) == {}  # no time for another before the last


def test_the_last_evaluation_may_take_a_tenth_of_the_time(watched) -> None:
    last = evaluate.allowance(at(watched.training, 3600.0, 3600.0), last=True)
    assert (last.games, last.least, last.seconds) == (4, 4, 360.0) and math.isfinite(last.patience)
    assert evaluate.allowance(at(watched.training, 60.0, 60.0), last=True).seconds == 20.0
    fixed = evaluate.allowance(watched.training, last=True)  # every second iteration, however long that takes
    assert fixed == Allowance(4, 4) and fixed.patience == math.inf


def test_a_match_ends_with_its_batch_once_time_is_up(watched) -> None:
    observer, training = Evaluate(), copied(watched.training)
    observer.on_start(training)
    found = observer.measure(training, Allowance(games=64, least=4, seconds=0.0))
    assert found["matches"]["random"]["games"] <= 16  # one batch of sixteen, duplicates not counted


def test_a_match_is_abandoned_if_it_takes_too_long_or_the_run_is_stopped(watched) -> None:
    observer, training = Evaluate(), copied(watched.training)
    observer.on_start(training)
    found = observer.measure(training, Allowance(games=64, least=4, patience=-1.0))
    assert "matches" not in found and "agreement_network" in found
    training.stopping = (2,)
    assert observer.measure(training, Allowance(games=64, least=4)) == {}
    assert observer.on_iteration(training, None) == {}


def test_evaluations_can_be_switched_off(watched) -> None:
    training = copied(watched.training, **{"evaluation.games": 0})
    observer = Evaluate()
    observer.on_start(training)
    assert training.progress == 1.0 and observer.on_iteration(training, None) == {}


# In words.

SIDE = {"score": 0.93, "low": 0.87, "high": 0.97, "games": 100}


def test_strength_in_words(watched) -> None:
    config = watched.training.config.changed({"evaluation.simulations": 64})
    found = Strength(
        312,
        300.0,
        {"random": SIDE | {"score": 1.0, "games": 20}, "mcts:simulations=100": SIDE},
        {"search": 0.973, "network": 0.921},
    )
    assert strength.describe(found, config) == (
        "Strength after 5.0 minutes, iteration 312 (64 simulations per move, random openings)",
        [
            "93% of points against mcts:simulations=100 (87% to 97%, 100 games)",
            "100% of points against random (87% to 97%, 20 games)",
            "moves that keep the value of the position, as perfect play does: 97.3% with search, 92.1% without",
        ],
    )
    heading, results = strength.describe(replace(found, matches={}), config.changed({"evaluation.simulations": 0}))
    assert "network alone" in heading and len(results) == 1


def test_the_newest_evaluation_is_the_one_of_the_metrics(watched) -> None:
    found, line = strength.latest(watched.run), metrics.read(watched.run)[-1]
    assert found == Strength(
        4, line["seconds"], line["matches"], {"search": line["agreement_search"], "network": line["agreement_network"]}
    )
    assert strength.measured([{"iteration": 1, "seconds": 1.0}]) == []


def test_the_command_that_measures_names_the_run_and_the_strongest_opponent(watched) -> None:
    words = strength.command(watched.run, watched.training.config.changed({"evaluation.opponents": ()}))
    assert words == f"tabia match tictactoe network:{watched.run.path}@latest mcts:simulations=100 --games 100"
