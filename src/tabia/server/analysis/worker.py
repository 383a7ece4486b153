"""The search worker: one thread that answers waiting positions of one player in one batch.

Batches are padded to a few sizes, each a compiled program (`programs`). The search thread uses only what is compiled,
so it never waits for compilation, and after the warm-up nothing compiles. A search cannot be interrupted: players bound
their simulations beforehand, and the queue has a limit. What nobody waits for any more (its future was canceled) is
dropped before it is searched.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass
from enum import IntEnum

from tabia.games.game import State
from tabia.games.session import Session
from tabia.players import Analysis, Player
from tabia.server.analysis.programs import PLAYERS, SIZES, CompiledPlayer, Kind, Program, Programs, reported
from tabia.server.errors import Busy

LIMIT = 256
"""The most positions that wait at once; hints and analyses may fill half of it, so that games go on."""


class Priority(IntEnum):
    """Who is served first."""

    RATED = 0
    MOVE = 1
    HINT = 2
    ANALYSIS = 3


@dataclass(frozen=True)
class Place:
    """What a game that waits for a move can say about it."""

    searches: int  # that come first
    seconds: float  # until the answer, as far as is known


@dataclass(eq=False)
class _Request:
    """A position that waits for a player."""

    kind: Kind
    player: str
    state: State
    ply: int
    seed: int  # of a move that may be drawn
    number: int  # smaller is served first
    priority: Priority
    owner: str | None
    future: Future[Analysis]

    @property
    def program(self) -> Program:
        """The smallest program that can answer it."""
        return Kind.ANALYSIS if self.kind is Kind.ANALYSIS else SIZES[0]

    @property
    def order(self) -> tuple[int, int]:
        """By priority, then as they came."""
        return (self.priority, self.number)


class Worker:
    """The queue of positions, the thread that searches them, and the one that compiles their players."""

    def __init__(
        self,
        make: Callable[[str], Player],
        *,
        sizes: tuple[int, ...] = SIZES,
        limit: int = LIMIT,
        players: int = PLAYERS,
    ) -> None:
        self._limit = limit
        self._waiting: list[_Request] = []
        self._running: list[_Request] = []  # being answered
        self._started = 0.0
        self._numbers = itertools.count()
        self._changed = threading.Condition()
        self._closed = False
        self._programs = Programs(make, self._wanted, self._changed, sizes=sizes, players=players)
        work = {"search": self._search, "compile": self._programs.compile}
        self._threads = [threading.Thread(target=work[name], name=name, daemon=True) for name in work]
        for thread in self._threads:
            thread.start()

    # From any thread.

    def warm(self, name: str, programs: tuple[Program, ...] = (SIZES[0],)) -> list[Future[None]]:
        """Compile a player; each future is done once its program answers."""
        with self._changed:
            return [self._programs.prepare(name, program) for program in programs]

    def is_ready(self, name: str, program: Program = SIZES[0]) -> bool:
        """Whether a player answers without compiling anything."""
        compiled = self._programs.get(name)
        return compiled is not None and compiled.is_warm(program) and compiled.programs[program].exception() is None

    def seconds(self, name: str) -> float:
        """The longest that a player has taken for an answer."""
        compiled = self._programs.get(name)
        return 0.0 if compiled is None else compiled.seconds

    def choose(
        self, name: str, session: Session, *, owner: str, priority: Priority = Priority.MOVE
    ) -> Future[Analysis]:
        """The move a player makes in a game; a game has one such request, a newer one replaces it."""
        return self._submit(Kind.MOVE, name, session, priority, seed=session.seed, owner=owner)

    def choose_alone(self, name: str, session: Session, *, priority: Priority = Priority.HINT) -> Future[Analysis]:
        """The move a player makes in a position: always the same one, whatever else waits."""
        return self._submit(Kind.CHOICE, name, session, priority, seed=session.seed)

    def analyze(self, name: str, session: Session, *, priority: Priority = Priority.ANALYSIS) -> Future[Analysis]:
        """What `tabia analyze` says about a position."""
        return self._submit(Kind.ANALYSIS, name, session, priority)

    def evaluate(self, name: str, session: Session, *, priority: Priority = Priority.ANALYSIS) -> Future[Analysis]:
        """The choice and the scores of a player that knows the truth, many positions in one call, without lines."""
        return self._submit(Kind.MOVE, name, session, priority)

    def position(self, owner: str) -> Place | None:
        """Where a game's request stands; None if it has none."""
        with self._changed:
            left = sorted(self._waiting, key=lambda request: request.order)
            searches, seconds = (1, self._remaining()) if self._running else (0, 0.0)
            if any(request.owner == owner for request in self._running):
                return Place(0, seconds)
            if all(request.owner != owner for request in left):
                return None
            while True:
                batch = self._together(left[0], left)
                seconds += self._programs[batch[0].player].average
                if any(request.owner == owner for request in batch):
                    return Place(searches, seconds)
                searches += 1
                left = [request for request in left if request not in batch]

    def hurry(self, owner: str) -> None:
        """Serve a game's request next."""
        with self._changed:
            for request in self._waiting:
                if request.owner == owner:
                    request.number = -1

    def close(self) -> None:
        """Serve nothing more; a search under way is not waited for."""
        with self._changed:
            self._closed = True
            for request in self._waiting:
                request.future.cancel()
            self._waiting.clear()
            self._programs.close()
            self._changed.notify_all()

    def join(self) -> None:
        """Wait for the threads of a closed worker; Python must not exit while one of them is in compiled code."""
        for thread in self._threads:
            thread.join()

    def _remaining(self) -> float:
        average = self._programs[self._running[0].player].average
        return max(self._started + average - time.monotonic(), 0.0)

    def _submit(
        self, kind: Kind, name: str, session: Session, priority: Priority, *, seed: int = 0, owner: str | None = None
    ) -> Future[Analysis]:
        request = _Request(
            kind=kind,
            player=name,
            state=session.state,
            ply=session.ply,
            seed=(seed * 1009 + session.ply) % 2**31,  # another one for every move
            number=next(self._numbers),
            priority=priority,
            owner=owner,
            future=Future(),
        )
        with self._changed:
            for old in [other for other in self._waiting if owner is not None and other.owner == owner]:
                self._waiting.remove(old)
                old.future.cancel()
            self._check_capacity(priority)
            self._waiting.append(request)
            self._prepare(request)
            self._changed.notify_all()
        return request.future

    def _check_capacity(self, priority: Priority) -> None:
        most = self._limit if priority <= Priority.MOVE else max(self._limit // 2, 1)
        if len(self._waiting) >= most:
            raise Busy(f"{len(self._waiting)} positions are waiting for a search already; try again in a few seconds.")

    def _prepare(self, request: _Request) -> None:
        """Compile what a request needs, and a larger size where more moves wait than the largest one holds."""
        self._programs.prepare(request.player, request.program)
        alike = [other for other in self._waiting if other.player == request.player and other.kind is Kind.MOVE]
        self._programs.prepare_sizes(request.player, len(alike))

    def _wanted(self) -> list[tuple[str, Program]]:
        """The programs of the positions that wait or are being searched."""
        return [(request.player, request.program) for request in [*self._running, *self._waiting]]

    # The search thread.

    def _search(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or self._servable())
                if self._closed:
                    return
                first = min(self._servable(), key=lambda request: request.order)
                compiled, batch = self._programs[first.player], self._take(first)
                program = compiled.smallest_size(len(batch)) if first.kind is Kind.MOVE else first.program
                self._running, self._started = batch, time.monotonic()
            if batch:
                self._answer(compiled, program, batch)

    def _servable(self) -> list[_Request]:
        self._waiting = [request for request in self._waiting if not request.future.cancelled()]
        return [request for request in self._waiting if self._programs[request.player].is_warm(request.program)]

    def _take(self, first: _Request) -> list[_Request]:
        """Take the requests that are answered together with the first from the queue."""
        taken = self._together(first, sorted(self._waiting, key=lambda request: request.order))
        self._waiting = [request for request in self._waiting if request not in taken]
        return [request for request in taken if request.future.set_running_or_notify_cancel()]

    def _together(self, first: _Request, ordered: list[_Request]) -> list[_Request]:
        """The requests answered together with the first: moves of games up to the best size, all else alone."""
        if first.kind is not Kind.MOVE:
            return [first]
        alike = [request for request in ordered if request.player == first.player and request.kind is Kind.MOVE]
        return alike[: self._programs[first.player].best_size(len(alike))]

    def _answer(self, compiled: CompiledPlayer, program: Program, batch: list[_Request]) -> None:
        try:
            compiled.programs[batch[0].program].result()  # raises what the compiler met
            states, plies = [request.state for request in batch], [request.ply for request in batch]
            found = compiled.run(program, states, plies, seed=batch[0].seed)
        except Exception as error:  # the requests get it; the worker continues
            error = reported(error, f"{batch[0].player} did not answer")
            for request in batch:
                _settle(request.future, error)
            return
        finally:
            with self._changed:
                self._running = []
        compiled.took(program, time.monotonic() - self._started)
        for request, analysis in zip(batch, found, strict=True):
            _settle(request.future, analysis)


def _settle(future: Future[Analysis], found: Analysis | Exception) -> None:
    try:
        if isinstance(found, Exception):
            future.set_exception(found)
        else:
            future.set_result(found)
    except InvalidStateError:  # cancelled meanwhile
        return
