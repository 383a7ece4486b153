"""The search worker: one thread that answers waiting positions of one player in one batch.

Batches are padded to a few sizes, each a compiled program. A second thread compiles: a player's smallest size when
the player is first chosen, a larger one once several positions have waited for it. The search thread uses only what
is compiled, so it never waits for a compiler, and after the warm-up nothing compiles. A search cannot be interrupted:
players bound their simulations beforehand, and the queue has a limit. What nobody waits for any more (its future was
canceled) is dropped before it is searched.
"""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from enum import IntEnum

from tabia.games.errors import RulesError, refusal_in, unwrap_errors
from tabia.games.game import State
from tabia.games.session import Session
from tabia.players import Analysis, Player
from tabia.server import faults
from tabia.server.analysis import asking
from tabia.server.errors import Busy

SIZES = (1, 4, 16, 32)
LIMIT = 256
"""The most positions that wait at once; hints and analyses may fill half of it, so that games go on."""
PLAYERS = 48
"""The most players kept; one that nothing waits for is dropped for a new one and made again when it is needed."""
LOOK = 0
"""Stands among the sizes for the program of an analysis, which is asked for alone."""
_log = logging.getLogger("tabia.server")
_NEWEST = 0.3  # the weight of the newest search in the average


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

    player: str
    state: State
    ply: int
    seed: int | None  # of a move that may be drawn; None for an analysis
    number: int  # smaller is served first
    priority: Priority
    owner: str | None
    future: Future[Analysis]

    @property
    def program(self) -> int:
        """The smallest program that can answer it."""
        return LOOK if self.seed is None else SIZES[0]

    @property
    def order(self) -> tuple[int, int]:
        """By priority, then as they came."""
        return (self.priority, self.number)


@dataclass(eq=False)
class _Entry:
    """A player and what it is compiled for."""

    player: Future[Player] = field(default_factory=Future)
    programs: dict[int, Future[None]] = field(default_factory=dict)  # by size
    seconds: float = 0.0  # its slowest answer since it was warm
    averages: dict[int, float] = field(default_factory=dict)  # of the latest answers, by size

    def is_warm(self, program: int) -> bool:
        """Whether a program is compiled, or known to be broken."""
        return program in self.programs and self.programs[program].done()

    @property
    def is_idle(self) -> bool:
        """Whether nothing of it is left to compile."""
        return all(program.done() for program in self.programs.values())

    @property
    def average(self) -> float:
        """The time of an answer, whatever its size."""
        return sum(self.averages.values()) / len(self.averages) if self.averages else 0.0

    def took(self, size: int, seconds: float) -> None:
        """Remember how long an answer took."""
        self.seconds = max(self.seconds, seconds)
        before = self.averages.get(size, seconds)
        self.averages[size] = before + (seconds - before) * _NEWEST

    def size(self, waiting: int) -> int:
        """The compiled size that answers so many positions best."""
        warm = [size for size in self.programs if size and self.is_warm(size)]
        return best_size(waiting, warm or SIZES[:1], self.averages)


def best_size(waiting: int, sizes: Iterable[int], seconds: Mapping[int, float]) -> int:
    """The size of a batch that answers most positions per second, as measured; the larger one if that is unknown.

    A CPU takes about as long for a padded row as for a position, so two small batches beat a large one that is nearly
    empty. On an accelerator all sizes take about as long, so one large batch wins.

    >>> cpu, gpu = {1: 0.01, 4: 0.03, 16: 0.1}, {1: 0.01, 4: 0.01, 16: 0.01}
    >>> [best_size(5, (1, 4, 16), measured) for measured in (cpu, gpu, {})]
    [4, 16, 16]
    """
    known = sorted(sizes)
    enough = next((size for size in known if size >= waiting), known[-1])
    full = max((size for size in known if size <= waiting), default=enough)
    if full == enough or full not in seconds or enough not in seconds:
        return enough
    return enough if waiting / seconds[enough] >= full / seconds[full] else full


class Worker:
    """Players by name, the thread that asks them and the thread that compiles them."""

    def __init__(self, make: Callable[[str], Player], *, sizes: tuple[int, ...] = SIZES, limit: int = LIMIT) -> None:
        self._make, self._sizes, self._limit = make, sizes, limit
        self._entries: dict[str, _Entry] = {}
        self._cold: list[tuple[str, int]] = []  # programs to compile, in this order
        self._waiting: list[_Request] = []
        self._running: list[_Request] = []  # being answered
        self._started = 0.0
        self._numbers = itertools.count()
        self._changed = threading.Condition()
        self._closed = False
        work = {"search": self._search, "compile": self._compile}
        self._threads = [threading.Thread(target=work[name], name=name, daemon=True) for name in work]
        for thread in self._threads:
            thread.start()

    # From any thread.

    def warm(self, name: str, programs: tuple[int, ...] = (SIZES[0],)) -> list[Future[None]]:
        """Compile a player; each future is done once the program of that size answers."""
        with self._changed:
            return [self._program(name, program) for program in programs]

    def is_ready(self, name: str, program: int = SIZES[0]) -> bool:
        """Whether a player answers without compiling anything."""
        entry = self._entries.get(name)
        return entry is not None and entry.is_warm(program) and entry.programs[program].exception() is None

    def seconds(self, name: str) -> float:
        """The longest that a player has taken for an answer."""
        entry = self._entries.get(name)
        return 0.0 if entry is None else entry.seconds

    def choose(
        self, name: str, session: Session, *, owner: str, priority: Priority = Priority.MOVE
    ) -> Future[Analysis]:
        """The move a player makes in a game; a game has one such request, a newer one replaces it."""
        return self._submit(name, session, session.seed, owner, priority)

    def analyze(self, name: str, session: Session, *, priority: Priority = Priority.ANALYSIS) -> Future[Analysis]:
        """What `tabia analyze` says about a position."""
        return self._submit(name, session, None, None, priority)

    def evaluate(self, name: str, session: Session, *, priority: Priority = Priority.ANALYSIS) -> Future[Analysis]:
        """The choice and the scores of a player that knows the truth, many positions in one call, without lines."""
        return self._submit(name, session, 0, None, priority)

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
                seconds += self._entries[batch[0].player].average
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
            self._changed.notify_all()

    def join(self) -> None:
        """Wait for the threads of a closed worker; Python must not exit while one of them is in compiled code."""
        for thread in self._threads:
            thread.join()

    def _remaining(self) -> float:
        average = self._entries[self._running[0].player].average
        return max(self._started + average - time.monotonic(), 0.0)

    def _submit(
        self, name: str, session: Session, seed: int | None, owner: str | None, priority: Priority
    ) -> Future[Analysis]:
        request = _Request(
            player=name,
            state=session.state,
            ply=session.ply,
            seed=seed,
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
            self._program(name, request.program)
            self._want_larger(name)
            self._changed.notify_all()
        return request.future

    def _check_capacity(self, priority: Priority) -> None:
        most = self._limit if priority <= Priority.MOVE else max(self._limit // 2, 1)
        if len(self._waiting) >= most:
            raise Busy(f"{len(self._waiting)} positions are waiting for a search already; try again in a few seconds.")

    def _program(self, name: str, program: int) -> Future[None]:
        """A program of a player, queued for compilation where it is new or has failed."""
        self._drop_idle(name)
        entry = self._entries[name] = self._entries.pop(name, _Entry())  # the latest is last
        found = entry.programs.get(program)
        if found is None or (found.done() and found.exception() is not None):
            if entry.player.done() and entry.player.exception() is not None:
                entry.player = Future()
            found = entry.programs[program] = Future()
            self._cold.append((name, program))
            self._changed.notify_all()
        return found

    def _drop_idle(self, name: str) -> None:
        """Make place for a player by dropping the one that was asked least recently and is idle."""
        if name in self._entries or len(self._entries) < PLAYERS:
            return
        busy = {request.player for request in self._waiting}
        idle = (other for other, entry in self._entries.items() if other not in busy and entry.is_idle)
        oldest = next(idle, None)
        if oldest is not None:
            del self._entries[oldest]

    def _want_larger(self, name: str) -> None:
        """Compile a larger size where more positions wait than the largest one holds."""
        waiting = sum(request.player == name and request.seed is not None for request in self._waiting)
        for size in self._sizes:
            self._program(name, size)
            if size >= waiting:
                return

    # The search thread.

    def _search(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or self._servable())
                if self._closed:
                    return
                batch = self._take(min(self._servable(), key=lambda request: request.order))
                entry = self._entries[batch[0].player] if batch else None
                self._running, self._started = batch, time.monotonic()
            if entry is not None:
                self._answer(entry, batch)

    def _servable(self) -> list[_Request]:
        self._waiting = [request for request in self._waiting if not request.future.cancelled()]
        return [request for request in self._waiting if self._entries[request.player].is_warm(request.program)]

    def _take(self, first: _Request) -> list[_Request]:
        """Take the requests that are answered together with the first from the queue."""
        taken = self._together(first, sorted(self._waiting, key=lambda request: request.order))
        self._waiting = [request for request in self._waiting if request not in taken]
        return [request for request in taken if request.future.set_running_or_notify_cancel()]

    def _together(self, first: _Request, ordered: list[_Request]) -> list[_Request]:
        """The requests answered together with the first: an analysis alone, moves up to the largest size compiled."""
        if first.seed is None:
            return [first]
        alike = [request for request in ordered if request.player == first.player and request.seed is not None]
        return alike[: self._entries[first.player].size(len(alike))]

    def _answer(self, entry: _Entry, batch: list[_Request]) -> None:
        try:
            entry.programs[batch[0].program].result()  # raises what the compiler met
            found = self._ask(entry, batch)
        except Exception as error:  # the requests get it; the worker continues
            error = refusal_in(error) or error
            _log_failure("%s did not answer: %s", batch[0].player, error)
            for request in batch:
                _settle(request.future, error)
            return
        finally:
            with self._changed:
                self._running = []
        entry.took(self._size(entry, batch), time.monotonic() - self._started)
        for request, analysis in zip(batch, found, strict=True):
            _settle(request.future, analysis)

    def _ask(self, entry: _Entry, batch: list[_Request]) -> list[Analysis]:
        player, first = entry.player.result(), batch[0]
        if first.seed is None:
            return [asking.analyze_one(player, first.state, first.ply)]
        size = self._size(entry, batch)
        states, plies = [request.state for request in batch], [request.ply for request in batch]
        seed = (first.seed * 1009 + first.ply) % 2**31  # another one for every move
        return asking.choose_batch(player, states, plies, size=size, seed=seed)

    def _size(self, entry: _Entry, batch: list[_Request]) -> int:
        """The smallest program that holds a batch."""
        if batch[0].seed is None:
            return LOOK
        return min(size for size in self._sizes if size >= len(batch) and entry.is_warm(size))

    # The compiler's thread.

    def _compile(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or self._cold)
                if self._closed:
                    return
                name, program = self._coldest()
                entry = self._entries[name]
                found = entry.programs[program]
            try:
                if not entry.player.done():
                    entry.player.set_result(self._make(name))
                _exercise(entry.player.result(), program)
            except Exception as error:
                error = refusal_in(error) or error
                _log_failure("%s cannot play: %s", name, error)
                found.set_exception(error)
                if not entry.player.done():
                    entry.player.set_exception(error)
            else:
                found.set_result(None)
            with self._changed:
                self._changed.notify_all()

    def _coldest(self) -> tuple[str, int]:
        """The next program to compile: one that somebody waits for, otherwise the one wanted first."""
        wanted = [(request.player, request.program) for request in self._waiting]
        chosen = next((cold for cold in self._cold if cold in wanted), self._cold[0])
        self._cold.remove(chosen)
        return chosen


def _log_failure(message: str, name: str, error: Exception) -> None:
    if isinstance(error, RulesError):
        faults.report(error)
    else:
        _log.warning(message, name, error)


def _exercise(player: Player, program: int) -> None:
    """Run a program on two positions, so that nothing in it is left to compile.

    A mistake in the rules belongs to a position that a search met; the program may still answer in others.
    """
    start = Session.start(player.game)
    first = next(action for action, legal in enumerate(start.legal) if legal)
    for moves in ([], [first]):
        try:
            _run(player, program, Session.replay(player.game, moves))
        except RulesError as error:
            faults.report(error)


def _run(player: Player, program: int, session: Session) -> None:
    with unwrap_errors():
        if program == LOOK:
            asking.analyze_one(player, session.state, session.ply)
        else:
            asking.choose_batch(player, [session.state], [session.ply], size=program, seed=0)


def _settle(future: Future[Analysis], found: Analysis | Exception) -> None:
    try:
        if isinstance(found, Exception):
            future.set_exception(found)
        else:
            future.set_result(found)
    except InvalidStateError:  # cancelled meanwhile
        return
