"""Searches in UCI: the limits of `go`, the lines of `info` and the answer `bestmove`.

A value v for the mover, from -1 to 1, is shown in centipawns as 111.7 tan(1.562 v), the curve of Leela Chess Zero: 0
for an even position, 101 for a value of 0.47, 12,800 for a sure win. Depth is the length of the main line.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from tabia.engine.clock import allot
from tabia.engine.thinking import OWN, Bounds, Thinking, Thought
from tabia.games.protocols.notation import Notation
from tabia.games.protocols.uci import Limits
from tabia.players import Modified, Player
from tabia.players.tree_player import TreeSearchPlayer

SECONDS = 1.0
"""The longest time between two lines of a running search."""
_FIRST, _GROWTH = 64, 2  # simulations before the first line, and of each line relative to the one before


def simulations(player: Player) -> int | None:
    """The simulations of a player with a search tree."""
    inner = player.player if isinstance(player, Modified) else player
    return inner.search.simulations if isinstance(inner, TreeSearchPlayer) else None


def bounds(limits: Limits, mover: int) -> Bounds:
    """The bounds of a search: without limits, or with clocks alone, the player's own simulations."""
    seconds = None if limits.movetime is None else limits.movetime / 1000
    endless = limits.infinite or limits.movetime is not None
    left, increment = (limits.wtime, limits.winc) if mover == 0 else (limits.btime, limits.binc)
    if seconds is None and left is not None and not limits.infinite:
        seconds = allot(left / 1000, increment=(increment or 0) / 1000, moves=limits.movestogo)
    if limits.nodes is None and limits.depth is None and not endless and seconds is None:
        return OWN
    # A search without simulations cannot choose a move.
    nodes = None if limits.nodes is None else max(limits.nodes, 1)
    return Bounds(simulations=nodes, seconds=seconds, depth=limits.depth, endless=endless)


class Shown:
    """The lines of `info` that a running search has shown."""

    def __init__(self, notation: Notation, write: Callable[[str], None], lines: int) -> None:
        self.notation, self.write, self.lines = notation, write, lines
        self._simulations, self._time, self._started = _FIRST, time.perf_counter(), False

    def update(self, thinking: Thinking) -> None:
        """Show what a search thinks, if it has searched twice as much as before, or for a while."""
        if thinking.simulations >= self._simulations or time.perf_counter() - self._time >= SECONDS:
            self.last(thinking)
            self._simulations, self._time = _GROWTH * max(thinking.simulations, _FIRST), time.perf_counter()

    def last(self, thinking: Thinking) -> Thought:
        """Show what a search thinks now."""
        thought = thinking.thought(self.lines)
        for text in infos(self.notation, thought):
            self.write(text)
        return thought


def infos(notation: Notation, thought: Thought) -> list[str]:
    """One line per move, the best first."""
    milliseconds = max(round(thought.seconds * 1000), 1)
    rate = thought.simulations * 1000 // milliseconds
    found = []
    for number, move in enumerate(thought.moves, start=1):
        value = thought.value if move.value is None else move.value
        score = "" if value is None else f" score cp {centipawns(value)}"
        line = " ".join(notation.text(action, state) for action, state in move.line)
        found.append(
            f"info depth {len(move.line)} multipv {number}{score} nodes {thought.simulations} nps {rate} "
            f"time {milliseconds} pv {line}"
        )
    return found


def bestmove(notation: Notation, thought: Thought) -> str:
    """The answer, with the expected reply."""
    (action, state), *replies = thought.moves[0].line
    reply = f" ponder {notation.text(*replies[0])}" if replies else ""
    return f"bestmove {notation.text(action, state)}{reply}"


def centipawns(value: float) -> int:
    """A value as a score.

    >>> centipawns(0.0), centipawns(0.47), centipawns(-1.0)
    (0, 101, -12800)
    """
    return round(111.714640912 * math.tan(1.5620688421 * max(min(value, 1.0), -1.0)))
