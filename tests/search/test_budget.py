"""Budgets: a time limit, a condition, chunks; chunks give the same result as one search."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest

from tabia import games
from tabia.games.game import State
from tabia.search import Gumbel, Puct, Result, Search, SearchError
from tabia.search import budget as budget_module
from tabia.search.budget import Budget, all_agreed
from tabia.search.result import agreed, best_value, max_robust, most_visits

from .positions import random_network, random_positions, random_weights

GAME = games.make("connect4")
KEY = jax.random.key(0)
LONG = Search(GAME, random_network(GAME), 32_000, Puct())


def positions() -> State:
    return random_positions(GAME, 8, seed=1, most_moves=12)


def run(budget: Budget) -> Result:
    return budget.run(random_weights(GAME), positions(), KEY)


def count(result: Result) -> int:
    """Simulations done, the same in every tree."""
    sums = np.unique(np.asarray(result.visits).sum(axis=1))
    assert len(sums) == 1
    return int(sums[0])


def test_chunks_do_not_change_the_result() -> None:
    whole = Search(GAME, random_network(GAME), 96, Puct()).run(random_weights(GAME), positions(), KEY)
    pieces = run(Budget(Search(GAME, random_network(GAME), 96, Puct()), chunk=32))
    np.testing.assert_array_equal(np.asarray(whole.visits), np.asarray(pieces.visits))
    np.testing.assert_allclose(np.asarray(whole.values), np.asarray(pieces.values), atol=1e-6)
    np.testing.assert_array_equal(np.asarray(whole.action), np.asarray(pieces.action))


def test_time_limit_stops_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compilation does not count, so the first run obeys the limit too. The last chunk may exceed it."""
    now, calls, simulate = 0.0, 0, budget_module._simulate

    def slow(*arguments: Any) -> Any:
        nonlocal now, calls
        now, calls = now + (100.0 if calls == 0 else 0.1), calls + 1
        return simulate(*arguments)

    monkeypatch.setattr(budget_module, "_simulate", slow)
    monkeypatch.setattr(budget_module, "time", SimpleNamespace(perf_counter=lambda: now))
    budget = Budget(Search(GAME, random_network(GAME), 96, Puct()), seconds=0.15, chunk=32)
    assert [count(run(budget)), count(run(budget))] == [64, 64] and calls == 5


@pytest.mark.long
def test_time_limit_in_seconds() -> None:
    """As above, with a real clock."""
    budget = Budget(LONG, seconds=0.3, chunk=320)
    first = run(budget)
    started = time.perf_counter()
    second = run(budget)
    spent = time.perf_counter() - started
    assert 0.3 <= spent < 3.0
    for result in (first, second):
        done = count(result)
        assert 320 <= done < LONG.simulations and done % 320 == 0
    assert count(first) > 320  # otherwise compilation counted


def test_without_time_limit_all_simulations_run() -> None:
    assert count(run(Budget(Search(GAME, random_network(GAME), 96, Puct()), chunk=32))) == 96


def test_condition_is_checked_after_every_chunk() -> None:
    seen: list[int] = []

    def enough(result: Result) -> bool:
        seen.append(count(result))
        return len(seen) == 3

    assert count(run(Budget(LONG, enough=enough, chunk=320))) == 960
    assert seen == [320, 640, 960]


def test_until_agreed() -> None:
    """One action has the most visits and the highest value in every game, unless all simulations are used."""
    result = run(Budget(LONG, enough=all_agreed, chunk=320))
    assert count(result) < LONG.simulations
    assert np.asarray(agreed(result)).all()
    np.testing.assert_array_equal(np.asarray(most_visits(result)), np.asarray(best_value(result)))
    np.testing.assert_array_equal(np.asarray(max_robust(result)), np.asarray(most_visits(result)))
    capped = Budget(Search(GAME, random_network(GAME), 96, Puct()), enough=all_agreed, chunk=32)
    assert count(run(capped)) in (32, 64, 96)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"seconds": 0.0}, "seconds=0.0"),
        ({"seconds": -1.0}, "seconds=-1.0"),
        ({"chunk": 0}, "chunk=0"),
        ({"chunk": 7}, "chunk=7 must divide the 96"),
        ({"chunk": 192}, "chunk=192"),
    ],
)
def test_invalid_budgets_are_refused(options: dict[str, float], words: str) -> None:
    with pytest.raises(SearchError, match=words):
        Budget(Search(GAME, random_network(GAME), 96, Puct()), **options)  # type: ignore[arg-type]


def test_chunks_are_multiples_of_leaves() -> None:
    with pytest.raises(SearchError, match="leaves=8"):
        Budget(Search(GAME, random_network(GAME), 96, Puct(), leaves=8), chunk=4)


def test_gumbel_cannot_stop_early() -> None:
    with pytest.raises(SearchError, match="Gumbel"):
        Budget(Search(GAME, random_network(GAME), 96, Gumbel()), chunk=32)


def test_noise_is_added_once() -> None:
    search = Search(GAME, random_network(GAME), 96, Puct(dirichlet_fraction=0.25))
    one = run(Budget(search, chunk=32, enough=lambda result: True))
    three = run(Budget(search, chunk=32))
    priors = [np.exp(np.asarray(result.tree.records[0, :, :-1, 0])) for result in (one, three)]
    np.testing.assert_array_equal(priors[0], priors[1])
