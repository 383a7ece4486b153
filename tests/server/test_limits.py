"""Limits of a shared server: token buckets against their closed form, who shares one, and recovery."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from tabia.server.clock import ManualClock
from tabia.server.errors import Busy
from tabia.server.web.limits import Buckets, Limits, NoLimits, Rate, Rates, network
from tests.server.running import run


@dataclass(frozen=True)
class Somebody:
    person: str | None = None
    address: str = "192.0.2.1"


GUEST, STRANGER = Somebody("guest"), Somebody()
SMALL = Rates(
    stranger=Rate(30, 2),
    person=Rate(60, 3),
    address=Rate(120, 5),
    simulations=Rate(600, 100),
    sockets=2,
    sockets_of_address=3,
)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def limits(clock: ManualClock) -> Limits:
    return Limits(SMALL, clock=clock.monotonic)


@settings(max_examples=40, deadline=None)
@given(steps=some.lists(some.tuples(some.floats(0, 100), some.integers(1, 8)), max_size=30))
def test_a_bucket_never_gives_more_than_burst_and_rate_allow(steps: list[tuple[float, int]]) -> None:
    """Over any stretch that starts full, what is given is at most burst + rate * time."""
    clock, rate = ManualClock(), Rate(per_minute=60, burst=5)
    buckets, given_tokens = Buckets(rate, clock.monotonic), 0.0
    for seconds, tokens in steps:
        clock.advance(seconds)
        if not buckets.take("key", tokens):
            given_tokens += min(tokens, rate.burst)
    assert given_tokens <= rate.burst + clock.monotonic() * rate.per_minute / 60 + 1e-6


@settings(max_examples=40, deadline=None)
@given(taken=some.integers(0, 5), wanted=some.integers(1, 5))
def test_the_wait_is_exactly_as_long_as_needed(taken: int, wanted: int) -> None:
    clock = ManualClock()
    buckets = Buckets(Rate(per_minute=30, burst=5), clock.monotonic)
    for _ in range(taken):
        assert buckets.take("key") == 0
    wait = buckets.take("key", wanted)
    assert wait == pytest.approx(max(taken + wanted - 5, 0) * 2)  # half a token per second
    if wait:
        clock.advance(wait - 0.01)
        assert buckets.take("key", wanted) > 0
        clock.advance(0.02)
        assert buckets.take("key", wanted) == 0


def test_a_person_is_refused_then_served_again(limits: Limits, clock: ManualClock) -> None:
    for _ in range(3):
        limits.request(GUEST)
    with pytest.raises(Busy, match="try again in 1 second") as refused:
        limits.request(GUEST)
    assert refused.value.retry_after == pytest.approx(1.0)
    limits.request(Somebody("other"))  # nobody else notices
    clock.advance(1.0)
    limits.request(GUEST)


def test_strangers_share_the_bucket_of_their_address(limits: Limits) -> None:
    limits.request(STRANGER)
    limits.request(Somebody())
    with pytest.raises(Busy):
        limits.request(STRANGER)
    limits.request(Somebody(address="192.0.2.2"))


def test_new_cookies_do_not_help_against_the_limit_of_the_address(limits: Limits) -> None:
    assert [limits.from_address(f"2001:db8::{number:x}") == 0 for number in range(7)] == [True] * 5 + [False] * 2


def test_simulations_are_counted_and_streams_wait_for_them(limits: Limits, clock: ManualClock) -> None:
    limits.simulations(GUEST, 90)
    with pytest.raises(Busy, match="simulations"):
        limits.simulations(GUEST, 20)

    async def afford() -> None:
        waiting = asyncio.create_task(limits.afford(GUEST, 1))
        await asyncio.wait_for(waiting, 60)

    run(afford())
    clock.advance(10)
    limits.simulations(GUEST, 5000)  # more than the bucket holds takes all of it
    with pytest.raises(Busy):
        limits.simulations(GUEST, 1)


def test_one_analysis_at_a_time(limits: Limits, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tabia.server.web.limits._LONGEST_WAIT", 0.05)

    async def scenario() -> None:
        async with limits.analysis(GUEST):
            with pytest.raises(Busy, match="An analysis of yours is running"):
                async with limits.analysis(GUEST):
                    pass
            async with limits.analysis(Somebody("other")):
                pass
        async with limits.analysis(GUEST):
            pass

    run(scenario())
    assert not limits._analyses and not limits._waiting


def test_connections_are_counted_by_person_and_address(limits: Limits) -> None:
    with limits.socket(GUEST), limits.socket(GUEST):
        with pytest.raises(Busy, match="connections are open"), limits.socket(GUEST):
            pass
        with limits.socket(Somebody("other")):
            with pytest.raises(Busy), limits.socket(Somebody("third")):
                pass
            with limits.socket(Somebody("third", "192.0.2.9")):
                pass
    assert not limits._sockets


def test_local_mode_has_no_limits() -> None:
    limits = NoLimits()
    for _ in range(1000):
        limits.request(STRANGER)
        limits.simulations(STRANGER, 10_000)
        assert limits.from_address("192.0.2.1") == 0


def test_an_address_of_version_6_is_its_network() -> None:
    assert network("2001:db8:1:2::5") == network("2001:db8:1:2:ffff::1") != network("2001:db8:1:3::5")
    assert network("testclient") == "testclient"
