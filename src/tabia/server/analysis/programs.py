"""The players of the search worker: made, compiled in a thread of their own, and dropped.

A program of a player answers a batch of moves of one size, or an analysis. A player's smallest size is compiled when
the player is first chosen, a larger one once several positions have waited for it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

from tabia.games.errors import RulesError, refusal_in, unwrap_errors
from tabia.games.game import State
from tabia.games.session import Session
from tabia.players import Analysis, Player
from tabia.server import faults
from tabia.server.analysis import asking

SIZES = (1, 4, 16, 32)
PLAYERS = 48
"""The most players kept; an idle one is dropped for a new one and made again when it is needed."""
_log = logging.getLogger("tabia.server")
_NEWEST = 0.3  # the weight of the newest search in the average


class Kind(Enum):
    """What a position is searched for."""

    MOVE = "move"  # in one batch with others, so what is drawn depends on them
    CHOICE = "choice"  # a move too, but alone
    ANALYSIS = "analysis"  # what `tabia analyze` says, alone


Program = int | Literal[Kind.ANALYSIS]
"""What is compiled for a player: a size of a batch of moves, or the analysis."""


@dataclass(eq=False)
class CompiledPlayer:
    """A player, its programs, and how long they take."""

    player: Future[Player] = field(default_factory=Future)
    programs: dict[Program, Future[None]] = field(default_factory=dict)
    seconds: float = 0.0  # its slowest answer since it was warm
    averages: dict[Program, float] = field(default_factory=dict)  # of the latest answers

    def is_warm(self, program: Program) -> bool:
        """Whether a program is compiled, or known to be broken."""
        return program in self.programs and self.programs[program].done()

    @property
    def is_idle(self) -> bool:
        """Whether nothing of it is left to compile."""
        return all(program.done() for program in self.programs.values())

    @property
    def average(self) -> float:
        """The time of an answer, whatever the program."""
        return sum(self.averages.values()) / len(self.averages) if self.averages else 0.0

    def run(self, program: Program, states: Sequence[State], plies: Sequence[int], *, seed: int = 0) -> list[Analysis]:
        """What a program says about positions; `seed` is that of moves that are drawn."""
        player = self.player.result()
        if program is Kind.ANALYSIS:
            return [asking.analyze_one(player, state, ply) for state, ply in zip(states, plies, strict=True)]
        return asking.choose_batch(player, states, plies, size=program, seed=seed)

    def took(self, program: Program, seconds: float) -> None:
        """Remember how long an answer took."""
        self.seconds = max(self.seconds, seconds)
        before = self.averages.get(program, seconds)
        self.averages[program] = before + (seconds - before) * _NEWEST

    def best_size(self, waiting: int) -> int:
        """The compiled size that answers so many positions best."""
        return best_size(waiting, self._sizes() or SIZES[:1], self.averages)

    def smallest_size(self, positions: int) -> int:
        """The smallest compiled size that holds so many positions."""
        return min(size for size in self._sizes() if size >= positions)

    def _sizes(self) -> list[int]:
        return [program for program in self.programs if program is not Kind.ANALYSIS and self.is_warm(program)]


class Programs:
    """Players by name, and the thread that compiles them.

    `wanted` lists the programs of positions that wait or are being searched: they are compiled first, and their
    players are never dropped. Callers hold `changed`, except for `get` and `compile`.
    """

    def __init__(
        self,
        make: Callable[[str], Player],
        wanted: Callable[[], Collection[tuple[str, Program]]],
        changed: threading.Condition,
        *,
        sizes: tuple[int, ...] = SIZES,
        players: int = PLAYERS,
    ) -> None:
        self._make, self._wanted, self._changed = make, wanted, changed
        self._sizes, self._players = sizes, players
        self._compiled: dict[str, CompiledPlayer] = {}  # the latest is last
        self._cold: list[tuple[str, Program]] = []  # to compile, in this order
        self._closed = False

    def __getitem__(self, name: str) -> CompiledPlayer:
        """A player that somebody waits for."""
        return self._compiled[name]

    def get(self, name: str) -> CompiledPlayer | None:
        """A player, if it is kept; from any thread."""
        return self._compiled.get(name)

    def prepare(self, name: str, program: Program) -> Future[None]:
        """A program of a player, done once it is compiled; it is queued where it is new or has failed."""
        self._drop_idle(name)
        compiled = self._compiled[name] = self._compiled.pop(name, CompiledPlayer())
        found = compiled.programs.get(program)
        if found is None or (found.done() and found.exception() is not None):
            if compiled.player.done() and compiled.player.exception() is not None:
                compiled.player = Future()
            found = compiled.programs[program] = Future()
            self._cold.append((name, program))
            self._changed.notify_all()
        return found

    def prepare_sizes(self, name: str, waiting: int) -> None:
        """Prepare the sizes up to the first that holds all moves that wait for a player."""
        for size in self._sizes:
            self.prepare(name, size)
            if size >= waiting:
                return

    def close(self) -> None:
        """Compile nothing more."""
        self._closed = True
        self._changed.notify_all()

    def compile(self) -> None:
        """Compile what is queued, until closed: the compile thread."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or self._cold)
                if self._closed:
                    return
                name, program = self._coldest()
                compiled = self._compiled[name]
                found = compiled.programs[program]
            self._compile(name, program, compiled, found)
            with self._changed:
                self._changed.notify_all()

    def _compile(self, name: str, program: Program, compiled: CompiledPlayer, found: Future[None]) -> None:
        try:
            if not compiled.player.done():
                compiled.player.set_result(self._make(name))
            _exercise(compiled, program)
        except Exception as error:
            error = reported(error, f"{name} cannot play")
            found.set_exception(error)
            if not compiled.player.done():
                compiled.player.set_exception(error)
        else:
            found.set_result(None)

    def _coldest(self) -> tuple[str, Program]:
        """The next program to compile: one that somebody waits for, otherwise the one queued first."""
        wanted = self._wanted()
        chosen = next((cold for cold in self._cold if cold in wanted), self._cold[0])
        self._cold.remove(chosen)
        return chosen

    def _drop_idle(self, name: str) -> None:
        """Make room for a player by dropping the one that was asked least recently and is idle."""
        if name in self._compiled or len(self._compiled) < self._players:
            return
        busy = {player for player, _ in self._wanted()}
        idle = (other for other, compiled in self._compiled.items() if other not in busy and compiled.is_idle)
        oldest = next(idle, None)
        if oldest is not None:
            del self._compiled[oldest]


def best_size(waiting: int, sizes: Iterable[int], seconds: Mapping[Program, float]) -> int:
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


def reported(error: Exception, problem: str) -> Exception:
    """The error that those who wait get; it is logged."""
    error = refusal_in(error) or error
    if isinstance(error, RulesError):
        faults.report(error)
    else:
        _log.warning("%s: %s", problem, error)
    return error


def _exercise(compiled: CompiledPlayer, program: Program) -> None:
    """Run a program on two positions, so that nothing in it is left to compile.

    A mistake in the rules belongs to a position that a search met; the program may still answer in others.
    """
    game = compiled.player.result().game
    start = Session.start(game)
    first = next(action for action, legal in enumerate(start.legal) if legal)
    for moves in ([], [first]):
        try:
            session = Session.replay(game, moves)
            with unwrap_errors():
                compiled.run(program, [session.state], [session.ply])
        except RulesError as error:
            faults.report(error)
