"""Outside engines as players: a pool of processes, each following one game at a time.

With at least as many processes as games played side by side, each game keeps its process. Otherwise the games share
them, and a process is sent a game from its start whenever it changes.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NoReturn

from jax import Array

from tabia.games.game import Game, State
from tabia.players.engines.engine import Engine, Factory, RulesDiffer
from tabia.players.engines.process import EngineEnded, EngineFault
from tabia.players.player import Line, Reply
from tabia.players.spec import PlayerError

PROCESSES = 32
"""The default for the most processes of one player."""
_PATIENCE = 3  # new processes in a row that fail before their first move


class EnginePlayer:
    """A player whose moves come from an outside program.

    An engine that crashes is started again and asked once more. One that plays an illegal move, breaks its protocol
    or does not answer in time loses the game, and its process is replaced. The first process is started at once, so
    that a program that cannot play is refused here.
    """

    def __init__(self, game: Game, spec: str, make: Factory, *, processes: int = PROCESSES) -> None:
        self.game = game
        self.spec = spec
        self._make, self._processes = make, processes
        self._failed = 0  # processes in a row that failed before their first move
        self._counting = threading.Lock()
        try:
            self._engines: list[Engine] = [make()]
        except EngineFault as fault:
            raise PlayerError(f"{spec}: {fault.sentence}") from None
        self.identity = self._engines[0].identity
        atexit.register(self.close)

    def choose(self, states: State, key: Array, ply: Array | None = None) -> NoReturn:
        raise PlayerError(f"{self.spec} needs the moves of a game; it plays in match, tournament, play and analyze.")

    def follow(self, lines: Sequence[Line]) -> list[Reply]:
        """One reply per game; games run in parallel on the machine's cores."""
        queues = self._assign(lines)
        replies: dict[int, Reply] = {}

        def work(place: int) -> None:
            for index in queues[place]:
                replies[index] = self._reply(place, lines[index])

        with ThreadPoolExecutor(min(len(queues), os.cpu_count() or 1)) as workers:
            list(workers.map(work, queues))
        return [replies[index] for index in range(len(lines))]

    def difference(self, line: Line, seed: int) -> str:
        """How the engine's rules differ in a finished game, as far as the engine can tell."""
        place = self._assign([line]).popitem()[0]
        try:
            return self._engines[place].difference(line)
        except RulesDiffer as difference:
            return str(difference)
        except EngineFault as fault:
            self._replace(place)
            return f"{fault} at the end of the game"

    def close(self) -> None:
        """End all processes."""
        for engine in self._engines:
            engine.process.close()
        self._engines = []
        atexit.unregister(self.close)

    def _assign(self, lines: Sequence[Line]) -> dict[int, list[int]]:
        """The games of each process: where possible, the one that it has been following."""
        queues: dict[int, list[int]] = {}
        waiting = []
        for index, line in enumerate(lines):
            fitting = [place for place, engine in enumerate(self._engines) if engine.continues(line)]
            longest = max(
                (place for place in fitting if place not in queues),
                key=lambda place: len(self._engines[place].actions),
                default=None,
            )
            if longest is None or not self._engines[longest].actions:
                waiting.append(index)
            else:
                queues[longest] = [index]
        for index in waiting:
            queues.setdefault(self._least_busy(queues), []).append(index)
        return queues

    def _least_busy(self, queues: dict[int, list[int]]) -> int:
        """A process for one more game, started if there may be another one."""
        least = min(range(len(self._engines)), key=lambda place: len(queues.get(place, ())), default=None)
        if least is not None and (least not in queues or len(self._engines) >= self._processes):
            return least
        self._engines.append(self._start())
        return len(self._engines) - 1

    def _reply(self, place: int, line: Line, *, again: bool = True) -> Reply:
        engine = self._engines[place]
        try:
            return engine.reply(line)
        except RulesDiffer as difference:
            return Reply(None, "excluded", str(difference), engine.report())
        except EngineEnded as fault:
            lost = self._lost(engine, fault)
        except EngineFault as fault:
            lost, again = self._lost(engine, fault), False
        self._count(engine)
        self._replace(place)
        return self._reply(place, line, again=False) if again else lost

    def _lost(self, engine: Engine, fault: EngineFault) -> Reply:
        return Reply(None, "forfeited", str(fault), engine.report())

    def _count(self, engine: Engine) -> None:
        """Count a failure, and give up on an engine that never gets to play."""
        with self._counting:
            self._failed = self._failed + 1 if engine.fresh else 0
            if self._failed >= 2 * _PATIENCE:
                raise PlayerError(f"{self.spec} has failed before its first move {self._failed} times.")

    def _replace(self, place: int) -> None:
        self._engines[place].process.kill()
        self._engines[place] = self._start()

    def _start(self) -> Engine:
        """A new process; a few are tried, because a machine may be short of memory for a moment."""
        for attempt in range(_PATIENCE):
            try:
                return self._make()
            except EngineFault as fault:
                if attempt == _PATIENCE - 1:
                    raise PlayerError(f"{self.spec} cannot be started again: {fault.sentence}") from None
        raise AssertionError
