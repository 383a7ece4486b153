"""The search worker: batches, order, limits, failures, and that a warm player compiles nothing."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

import jax
import jax.monitoring
import jax.numpy as jnp
import pytest

from tabia.games import Game, make
from tabia.games.session import Session
from tabia.players import Player, PlayerError
from tabia.players import make as make_player
from tabia.server.analysis import asking
from tabia.server.analysis.programs import SIZES, Kind, Program
from tabia.server.analysis.worker import Place, Priority, Worker
from tabia.server.errors import Busy

GAME = make("tictactoe")
SPEC = "az:tictactoe,simulations=8"


@contextmanager
def working(**options: Any) -> Iterator[Worker]:
    worker = Worker(lambda spec: make_player(spec, GAME), **options)
    try:
        yield worker
    finally:
        worker.close()
        worker.join()


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Positions and rows of every batch that is asked for."""
    found: list[tuple[int, int]] = []
    ask = asking.choose_batch

    def counted(player: Player, states: Any, plies: Any, *, size: int, seed: int) -> Any:
        found.append((len(states), size))
        return ask(player, states, plies, size=size, seed=seed)

    monkeypatch.setattr(asking, "choose_batch", counted)
    return found


@contextmanager
def searching(worker: Worker, spec: str, owner: str) -> Iterator[None]:
    """A search for a game that takes as long as the block."""
    started, over = threading.Event(), threading.Event()
    ask = asking.choose_batch

    def slow(*positions: Any, **options: Any) -> Any:
        if threading.current_thread().name == "search":
            started.set()
            over.wait(timeout=60)
        return ask(*positions, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asking, "choose_batch", slow)
        asked = worker.choose(spec, Session.start(GAME), owner=owner)
        assert started.wait(timeout=60)
        try:
            yield
        finally:
            over.set()
            asked.result(timeout=60)


@contextmanager
def held(worker: Worker) -> Iterator[None]:
    """Requests gather while the worker waits."""
    with worker._changed:
        yield


def warmed(worker: Worker, spec: str, *programs: Program) -> None:
    for future in worker.warm(spec, programs):
        future.result(timeout=300)


def test_waiting_positions_share_a_padded_batch(calls: list[tuple[int, int]]) -> None:
    with working(sizes=(1, 4)) as worker:
        warmed(worker, "random", 1, 4)
        calls.clear()
        with held(worker):
            futures = [worker.choose("random", Session.start(GAME, seed=seed), owner=str(seed)) for seed in range(6)]
        moves = {future.result(timeout=300).move for future in futures}
        assert moves <= set(Session.start(GAME).legal_moves)
        assert calls == [(4, 4), (2, 4)]


def test_a_larger_size_is_compiled_once_several_positions_have_waited(calls: list[tuple[int, int]]) -> None:
    with working(sizes=(1, 4)) as worker:
        warmed(worker, "random", 1)
        assert not worker.is_ready("random", 4)
        with held(worker):
            futures = [worker.choose("random", Session.start(GAME), owner=str(number)) for number in range(3)]
        for future in futures:
            future.result(timeout=300)
        worker.warm("random", (4,))[0].result(timeout=300)
        assert worker.is_ready("random", 4)


@pytest.mark.parametrize("spec", ["random", "minimax:depth=1"])
def test_a_move_chosen_alone_is_the_same_whatever_else_waits(calls: list[tuple[int, int]], spec: str) -> None:
    """All moves of the position are equally good for both players, so another seed gives another move."""
    position = Session.start(GAME)
    with working(sizes=(1, 4)) as worker:
        warmed(worker, spec, 1, 4)
        alone = worker.choose_alone(spec, position).result(timeout=300)
        calls.clear()
        for seed in range(10):
            with held(worker):
                games = [worker.choose(spec, Session.start(GAME, seed=seed), owner=str(game)) for game in range(2)]
                chosen = [worker.choose_alone(spec, position) for _ in range(2)]
            assert [future.result(timeout=300) for future in chosen] == [alone] * 2
            assert all(future.result(timeout=300).move is not None for future in games)
        assert calls.count((1, 1)) >= 20  # the choices; once a batch is slow, the games are asked one by one too


def test_a_game_has_one_request_and_a_newer_one_replaces_it() -> None:
    with working() as worker:
        warmed(worker, "random", 1)
        with held(worker):
            old = worker.choose("random", Session.start(GAME), owner="game")
            new = worker.choose("random", Session.start(GAME), owner="game")
        assert new.result(timeout=300).move is not None
        assert old.cancelled()


def test_rated_moves_come_first_then_moves_hints_and_analyses() -> None:
    order: list[Priority] = []
    with working(sizes=(1,)) as worker:
        warmed(worker, "random", 1, Kind.ANALYSIS)
        start = Session.start(GAME)
        with held(worker):
            asked = {
                Priority.ANALYSIS: worker.analyze("random", start),
                Priority.HINT: worker.analyze("random", start, priority=Priority.HINT),
                Priority.MOVE: worker.choose("random", start, owner="casual"),
                Priority.RATED: worker.choose("random", start, owner="rated", priority=Priority.RATED),
            }
            for priority, future in asked.items():
                future.add_done_callback(lambda _, priority=priority: order.append(priority))
        for future in asked.values():
            future.result(timeout=300)
    assert order == sorted(Priority)


def test_a_rated_move_takes_the_casual_moves_of_its_player_along(calls: list[tuple[int, int]]) -> None:
    with working(sizes=(1, 4)) as worker:
        warmed(worker, "random", 1, 4)
        calls.clear()
        with held(worker):
            futures = [worker.choose("random", Session.start(GAME), owner=str(number)) for number in range(3)]
            futures.append(worker.choose("random", Session.start(GAME), owner="rated", priority=Priority.RATED))
        for future in futures:
            future.result(timeout=300)
        assert calls == [(4, 4)]


def test_a_game_knows_its_place_in_the_queue() -> None:
    with working(sizes=(1, 4)) as worker:
        for spec in ("random", "random:epsilon=1"):
            warmed(worker, spec, 1, 4)
            worker.choose(spec, Session.start(GAME), owner="before").result(timeout=300)
        with held(worker):
            start = Session.start(GAME)
            futures = [worker.choose("random", start, owner=str(number)) for number in range(6)]
            futures.append(worker.choose("random:epsilon=1", start, owner="other", priority=Priority.RATED))
            places = {owner: worker.position(owner) for owner in ("other", "0", "3", "4", "nobody")}
        for future in futures:
            future.result(timeout=300)
        assert worker.position("0") is None
    assert {owner: place and place.searches for owner, place in places.items()} == {
        "other": 0,
        "0": 1,
        "3": 1,  # in one batch with the first
        "4": 2,
        "nobody": None,
    }
    assert places["other"].seconds < places["3"].seconds < places["4"].seconds  # type: ignore[union-attr]


def test_a_game_whose_player_is_not_compiled_yet_has_a_place_too() -> None:
    with working(sizes=(1, 4)) as worker, held(worker):
        futures = [worker.choose("random", Session.start(GAME), owner=owner) for owner in ("first", "second")]
        assert worker.position("second") == Place(searches=1, seconds=0.0)
        for future in futures:
            future.cancel()


def test_what_nobody_waits_for_is_not_searched(calls: list[tuple[int, int]]) -> None:
    with working(sizes=(1, 4)) as worker:
        warmed(worker, "random", 1, 4)
        calls.clear()
        with held(worker):
            left = [worker.choose("random", Session.start(GAME), owner=str(number)) for number in range(3)]
            stays = worker.choose("random", Session.start(GAME), owner="stays")
            for future in left:
                future.cancel()
        assert stays.result(timeout=300).move is not None
    assert calls == [(1, 1)]


def test_moves_come_before_analyses_and_a_hurried_game_first(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    with working(sizes=(1,)) as worker:
        warmed(worker, "random", 1, Kind.ANALYSIS)
        with held(worker):
            start = Session.start(GAME)
            named = {
                "analysis": worker.analyze("random", start),
                "first": worker.choose("random", start, owner="first"),
                "second": worker.choose("random", start, owner="second"),
            }
            for name, future in named.items():
                future.add_done_callback(lambda _, name=name: order.append(name))
            worker.hurry("second")
        for future in named.values():
            future.result(timeout=300)
    assert order == ["second", "first", "analysis"]


def test_the_queue_has_a_limit() -> None:
    with working(limit=2) as worker, held(worker):
        for number in range(2):
            worker.choose("random", Session.start(GAME), owner=str(number))
        with pytest.raises(Busy, match="2 positions are waiting"):
            worker.choose("random", Session.start(GAME), owner="one too many")


def test_analyses_leave_half_of_the_queue_to_games() -> None:
    with working(limit=4) as worker, held(worker):
        for _ in range(2):
            worker.analyze("random", Session.start(GAME))
        with pytest.raises(Busy):
            worker.analyze("random", Session.start(GAME))
        worker.choose("random", Session.start(GAME), owner="game")


def test_a_player_that_cannot_be_made_fails_its_requests_alone() -> None:
    with working() as worker:
        broken = worker.choose("az:/no/such/run", Session.start(GAME), owner="one")
        sound = worker.choose("random", Session.start(GAME), owner="other")
        with pytest.raises(PlayerError, match="no run"):
            broken.result(timeout=300)
        assert sound.result(timeout=300).move is not None
        again: Future[Any] = worker.choose("az:/no/such/run", Session.start(GAME), owner="one")
        with pytest.raises(PlayerError):
            again.result(timeout=300)


def test_the_player_asked_least_recently_is_dropped() -> None:
    with working(sizes=(1,), players=2) as worker:
        for spec in ("random", "random:epsilon=1", "random", "random:epsilon=0.5"):
            assert worker.choose(spec, Session.start(GAME), owner="game").result(timeout=300).move is not None
        assert worker.is_ready("random") and worker.is_ready("random:epsilon=0.5")
        assert not worker.is_ready("random:epsilon=1")


def test_a_player_is_not_dropped_during_its_search() -> None:
    with working(sizes=(1,), players=2) as worker:
        warmed(worker, "random", 1)
        with searching(worker, "random", "game"):
            for spec in ("random:epsilon=1", "random:epsilon=0.5"):
                warmed(worker, spec, 1)
                assert worker.position("game") == Place(searches=0, seconds=0.0)
            assert worker.is_ready("random") and not worker.is_ready("random:epsilon=1")
        assert worker.seconds("random") > 0.0


def test_a_closed_worker_cancels_what_waits() -> None:
    worker = Worker(lambda spec: make_player(spec, GAME))
    with held(worker):
        future = worker.choose("random", Session.start(GAME), owner="game")
    worker.close()
    worker.join()
    assert future.cancelled() or future.done()


def test_nothing_compiles_once_a_player_is_warm() -> None:
    """JAX reports every compilation, also one that its cache on disk answers."""
    compiled: list[str] = []

    def listen(event: str, seconds: float, **about: Any) -> None:
        if event.endswith("backend_compile_duration"):
            compiled.append(str(about))

    with working(sizes=(1, 4)) as worker:
        warmed(worker, SPEC, 1, 4, Kind.ANALYSIS)
        warmed(worker, "network:tictactoe,temperature=2", 1)
        session = Session.start(GAME)
        session.play(0)
        jax.monitoring.register_event_duration_secs_listener(listen)
        try:
            while not session.over:
                with held(worker):
                    futures = [worker.choose(SPEC, session, owner=str(number)) for number in range(3)]
                    futures.append(worker.choose("network:tictactoe,temperature=2", session, owner="network"))
                    futures.append(worker.analyze(SPEC, session))
                found = [future.result(timeout=300) for future in futures]
                session = session.play(asking.action(session, found[0].move or ""))
        finally:
            jax.monitoring.unregister_event_duration_listener(listen)
    assert compiled == []


@pytest.mark.long
def test_a_loaded_worker_is_nearly_as_fast_as_its_player() -> None:
    """At batch 32 the worker answers at least 90% of the positions per second that the player alone does.

    Both are timed in turns, because other programs on the machine slow both; the best of each counts.
    """
    game, size, rounds = make("connect4"), 32, 5
    spec = "az:connect4-laptop,simulations=64"
    sessions = [position_after(game, seed) for seed in range(size)]
    worker = Worker(lambda name: make_player(name, game))
    try:
        warmed(worker, spec, *SIZES)
        player = make_player(spec, game)
        batch = jax.tree.map(lambda *leaves: jnp.stack(leaves), *[session.state for session in sessions])
        plies = jnp.array([session.ply for session in sessions], jnp.int32)
        jax.block_until_ready(player.choose(batch, jax.random.key(0), plies))

        def alone() -> float:
            started = time.perf_counter()
            for number in range(rounds):
                jax.block_until_ready(player.choose(batch, jax.random.key(number), plies))
            return time.perf_counter() - started

        def loaded() -> float:
            started = time.perf_counter()
            with held(worker):
                futures = [
                    worker.choose(spec, session, owner=f"{number} {index}")
                    for number in range(rounds)
                    for index, session in enumerate(sessions)
                ]
            for future in futures:
                assert future.result(timeout=600).move is not None
            return time.perf_counter() - started

        times = [(alone(), loaded()) for _ in range(8)]
    finally:
        worker.close()
        worker.join()
    own, served = (min(column) for column in zip(*times, strict=True))
    print(f"player {rounds * size / own:.0f} positions/s, worker {rounds * size / served:.0f} positions/s")
    assert own / served >= 0.9


def position_after(game: Game, seed: int) -> Session:
    """A position after some random moves that is not over."""
    rng, session = random.Random(seed), Session.start(game, seed=seed)
    for _ in range(rng.randint(0, 12)):
        after = session.play(rng.choice([action for action, legal in enumerate(session.legal) if legal]))
        session = session if after.over else after
    return session
