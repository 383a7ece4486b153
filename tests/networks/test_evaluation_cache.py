"""The cache of evaluations: the rows of the function behind it, each computed once while it is kept."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabia.networks.evaluation_cache import EvaluationCache

WIDTH = 2
BYTES = 256 + 4 * WIDTH  # of one evaluation


class Counted:
    """Evaluates a position, a number here, as its square and its negative; remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def __call__(self, observations: np.ndarray) -> np.ndarray:
        numbers = observations[:, 0, 0, 0]
        self.asked += numbers.astype(int).tolist()
        return np.stack([numbers**2, -numbers], axis=-1)


def boards(numbers: list[int]) -> np.ndarray:
    return np.array(numbers, np.float32)[:, None, None, None] * np.ones((1, 1, 2, 1), np.float32)


def least_recently_used(batches: list[list[int]], capacity: int) -> tuple[list[int], int]:
    """What a cache of that capacity evaluates and how often it finds a row, with a plain list: oldest first."""
    kept: list[int] = []
    asked: list[int] = []
    hits = 0
    for batch in batches:
        found = [number for number in dict.fromkeys(batch) if number in kept]
        new = [number for number in dict.fromkeys(batch) if number not in kept]
        hits += sum(number in found for number in batch)
        asked += new
        kept = ([number for number in kept if number not in found] + found + new)[-capacity:] if capacity else []
    return asked, hits


@given(st.lists(st.lists(st.integers(0, 7), min_size=1, max_size=5), max_size=12), st.integers(0, 6))
def test_rows_are_those_of_the_function_and_the_least_recently_used_are_dropped(
    batches: list[list[int]], capacity: int
) -> None:
    cache, run = EvaluationCache(WIDTH, max_bytes=capacity * BYTES), Counted()
    assert cache.capacity == capacity
    for batch in batches:
        rows = cache.evaluate(boards(batch), run)
        np.testing.assert_array_equal(rows, [[number**2, -number] for number in batch])
        assert len(cache) <= capacity
    asked, hits = least_recently_used(batches, capacity)
    assert run.asked == asked and cache.hits == hits and cache.lookups == sum(map(len, batches))


def test_nothing_is_kept_after_clearing() -> None:
    cache, run = EvaluationCache(WIDTH), Counted()
    for _ in range(2):
        cache.evaluate(boards([1, 2]), run)
        cache.clear()
    assert run.asked == [1, 2, 1, 2] and len(cache) == cache.hits == cache.lookups == 0


def test_a_failed_evaluation_keeps_nothing() -> None:
    def fail(observations: np.ndarray) -> np.ndarray:
        raise FloatingPointError

    cache = EvaluationCache(WIDTH)
    with pytest.raises(FloatingPointError):
        cache.evaluate(boards([1]), fail)
    assert len(cache) == 0


def test_what_is_kept_does_not_share_memory_with_a_batch() -> None:
    cache, run = EvaluationCache(WIDTH), Counted()
    first = cache.evaluate(boards([3]), run)
    first[:] = 0.0
    np.testing.assert_array_equal(cache.evaluate(boards([3]), run), [[9.0, -3.0]])
