"""Groups of lanes: their number, their order, and that they are computed at the same time."""

from __future__ import annotations

import threading
import time

import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from tabia.core import devices, groups

LANES = jnp.arange(12.0).reshape(6, 2)


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "cores", lambda: 2)
    monkeypatch.setattr(groups, "_called", set())


@pytest.mark.parametrize("lanes", range(1, 300))
def test_groups_are_of_equal_size_and_not_too_small(lanes: int) -> None:
    count = groups.number(lanes)
    assert lanes % count == 0
    assert count == 1 or lanes // count >= (groups.LANES if count > 2 else groups.FEWEST)


def test_lanes_come_back_in_order() -> None:
    parts = groups.split({"lanes": LANES}, 3)
    assert [part["lanes"].tolist() for part in parts] == [LANES[index : index + 2].tolist() for index in (0, 2, 4)]
    assert (groups.joined(parts)["lanes"] == LANES).all()
    assert groups.joined([part["lanes"] for part in parts], axis=1).shape == (2, 6)
    assert groups.joined(groups.split(LANES, 1)) is LANES


def test_every_group_is_computed_once() -> None:
    found = groups.each(lambda group, part: group + part, groups.split(LANES, 3), "sum")
    assert (groups.joined(found) == LANES + np.repeat(np.arange(3.0), 2)[:, None]).all()


def at_once(program: str) -> int:
    """The most groups that are computed at the same time, each as long as there might be another one."""
    change, computing, most = threading.Condition(), 0, 0

    def count(group: int, part: Array) -> Array:
        nonlocal computing, most
        with change:
            computing += 1
            most = max(most, computing)
            change.notify_all()
            change.wait_for(lambda: most > 1, timeout=0.2)
            computing -= 1
        return part

    groups.each(count, groups.split(LANES, 3), program)
    return most


@pytest.mark.parametrize("cores", [1, 2])
def test_there_are_as_many_at_once_as_cores(monkeypatch: pytest.MonkeyPatch, cores: int) -> None:
    monkeypatch.setattr(devices, "cores", lambda: cores)
    assert at_once("count") == cores


def test_the_first_group_of_a_program_is_computed_alone() -> None:
    order: list[int] = []

    def record(group: int, part: Array) -> Array:
        if group:
            assert 0 in order
        order.append(group)
        return part

    groups.each(record, groups.split(LANES, 3), "record")
    assert order[0] == 0 and sorted(order) == [0, 1, 2]


def test_a_mistake_in_a_group_reaches_the_caller() -> None:
    def fail(group: int, part: Array) -> Array:
        if group == 1:
            raise ValueError("group 1")
        return part

    for _ in range(2):
        with pytest.raises(ValueError, match="group 1"):
            groups.each(fail, groups.split(LANES, 3), "fail")


def test_after_a_mistake_the_other_groups_are_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "cores", lambda: 1)
    computed: list[int] = []

    def fail(group: int, part: Array) -> Array:
        computed.append(group)
        if group == 1:
            raise ValueError("group 1")
        time.sleep(0.01)  # longer than it takes to notice
        return part

    with pytest.raises(ValueError, match="group 1"):
        groups.each(fail, groups.split(jnp.arange(64), 64), "fail early")
    assert len(computed) < 64
