"""The games and agents that the operator allows: everything a client may name is looked up here.

Games are those with shipped agents and those named on the command line. A faulty one is left out with a warning that
names it, so that the others can be played. Only this module turns an agent's id into a player's spec.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Protocol

from tabia.core.errors import TabiaError
from tabia.core.text import quote
from tabia.games import Game, make
from tabia.games.boards import view
from tabia.players import parse, perfect
from tabia.server.catalog import versions
from tabia.server.catalog.agents import Agent, agents_of
from tabia.server.catalog.names import name_of, names_of
from tabia.server.catalog.versions import Chosen, Version
from tabia.server.errors import NotFound
from tabia.server.play.seats import Card

_log = logging.getLogger("tabia.server")
SHOWN = (
    "connect4",
    "tictactoe",
    "othello",
    "chinese-checkers",
    "checkers",
    "pgx:hex",
    "chinese-checkers:fields=121,players=2",
    "chinese-checkers:fields=121",
    "connect3",
)
"""The games of the page, beside those named on the command line; one whose library is missing is left out."""
_NOTES = {
    "connect4": "With perfect play the first player wins.",
    "connect3": "With perfect play the first player wins.",
    "tictactoe": "With perfect play the game is drawn.",
    "pgx:hex": "After the first move the second player may swap: "
    "the stone becomes blue and moves to the mirrored cell, such as from c2 to b3.",
}
_OPENINGS: dict[str, tuple[tuple[str, str], ...]] = {
    "connect4": (("Center", "4"), ("Next to the center", "3"), ("Edge", "1"), ("Both in the center", "4 4")),
    "tictactoe": (("Center", "b2"), ("Corner", "a1"), ("Edge", "b1")),
    "othello": (("Diagonal", "f5 f6"), ("Perpendicular", "f5 d6"), ("Parallel", "f5 f4")),
}


@dataclass(frozen=True)
class Allowed:
    """What an operator allows beside the games named: the games of the page or none, and agents by patterns."""

    shown: bool = True
    agents: tuple[str, ...] = ("*",)

    def agent(self, id: str) -> bool:
        """Whether an agent may be named; a pattern such as `level:*` stands for many.

        >>> levels = Allowed(agents=("level:*",))
        >>> levels.agent("level:club"), levels.agent("run:a@1")
        (True, False)
        """
        return any(fnmatchcase(id, pattern) for pattern in self.agents)


EVERYTHING = Allowed()


class Entry:
    """A game with its agents."""

    def __init__(self, game: Game, allowed: Allowed = EVERYTHING) -> None:
        self.game, self._allowed = game, allowed

    @cached_property
    def agents(self) -> dict[str, Agent]:
        """The agents that do not come from runs, by id."""
        found = {agent.id: agent for agent in agents_of(self.game) if self._allowed.agent(agent.id)}
        if not found:
            raise TabiaError(f"--agents leaves {self.game.id} without an agent; allow one, such as level:*.")
        return found

    @cached_property
    def default(self) -> str:
        """The agent a newcomer meets: the middle of the ladder."""
        return self._levels[(len(self._levels) - 1) // 2].id

    @cached_property
    def analyst(self) -> str:
        """The agent that gives hints and reviews: the strongest level, unless that draws its moves by chance."""
        levels = self._levels
        steady = [agent for agent in levels if parse(agent.spec).name == "az" and "temperature" not in agent.spec]
        return (steady or levels)[-1].id

    @property
    def _levels(self) -> list[Agent]:
        """The levels, weakest first; where none is allowed, all agents."""
        return [agent for agent in self.agents.values() if agent.group == "levels"] or list(self.agents.values())

    @property
    def is_exact(self) -> bool:
        """Whether perfect play is known within moments."""
        return perfect.is_quick(self.game)

    def to_dict(self, name: str, agents: Sequence[Agent], ready: Callable[[str], bool]) -> dict[str, Any]:
        """The game for JSON, by its name among all games."""
        game, board = self.game, view(self.game)
        openings = [("Empty board" if board.board.cells else "Start", ""), *_OPENINGS.get(game.id, ())]
        return {
            "id": game.id,
            "name": name,
            "seats": game.num_players,
            "seat_names": list(board.seat_names),
            "board": board.board_dict(),
            "goals": [game.goal(seat) for seat in range(game.num_players)],
            "note": _NOTES.get(game.id),
            "levels": [agent.to_dict(default=agent.id == self.default, ready=ready(agent.spec)) for agent in agents],
            "exact": self.is_exact,
            "openings": [{"name": name, "moves": moves} for name, moves in openings],
            "analyst": self.analyst,
            "chance": game.chance,
        }


class Checkpoints(Protocol):
    """The agents that training runs bring."""

    def agents(self, game: Game) -> list[Agent]:
        """All of them for a game."""

    def agent(self, game: Game, id: str) -> Agent | None:
        """One by its id, without a look at the others."""

    def best(self, family: str) -> str:
        """The best checkpoint of a run, such as `run:first`."""


class Catalog:
    """All allowed games and agents."""

    def __init__(
        self, named: Sequence[str] = (), *, runs: Checkpoints | None = None, allowed: Allowed = EVERYTHING
    ) -> None:
        self._runs, self._allowed = runs, allowed
        self.entries: dict[str, Entry] = {}
        self._faults: dict[str, str] = {}  # why games are left out, by id
        for name in named:
            self._add(make(name))
        if named and not self.entries:  # the page would show only games that nobody asked for
            raise TabiaError(" ".join(f"{game} cannot be played here: {why}" for game, why in self._faults.items()))
        for name in SHOWN if allowed.shown or not named else ():
            if name not in self.entries:
                self._add_shown(name)
        for game, why in self._faults.items():
            _log.warning("%s is left out: %s", game, why)
        if not self.entries:
            raise TabiaError("There is no game to play here; the lines above say why.")
        self.default = next(iter(self.entries))

    def _add(self, game: Game) -> None:
        """Add a game if all that the page asks about it can be answered."""
        entry = Entry(game, self._allowed)
        try:
            entry.to_dict(name_of(game), list(entry.agents.values()), lambda spec: False)
        except Exception as error:
            self._faults[game.id] = _reason(error)
        else:
            self.entries[game.id] = entry

    def _add_shown(self, id: str) -> None:
        try:
            self._add(make(id))
        except TabiaError:  # the library that it needs is not installed
            return
        except Exception as error:
            self._faults[id] = _reason(error)

    def game(self, id: str) -> Entry:
        """A game by its id."""
        if id not in self.entries:
            raise NotFound(f"There is no game {quote(id)} here; start `tabia play` with it.")
        return self.entries[id]

    def agents(self, game: Game) -> list[Agent]:
        """All agents of a game, own runs last."""
        own = [] if self._runs is None else self._runs.agents(game)
        return [*self.entries[game.id].agents.values(), *(agent for agent in own if self._allowed.agent(agent.id))]

    def agent(self, game: Game, id: str) -> Agent:
        """An agent by its id."""
        found = self.entries[game.id].agents.get(id)
        if found is None and self._allowed.agent(id):
            found = versions.find(game, id) or (None if self._runs is None else self._runs.agent(game, id))
        if found is None:
            raise NotFound(f"There is no agent {quote(id)} for {game.id}; choose one of the list.")
        return found

    def families(self, game: Game) -> list[Agent]:
        """All agents of a game without their versions: a run is listed once, as its newest one."""
        own = {} if self._runs is None else {versions.family(agent.id): agent for agent in self._runs.agents(game)}
        found = [*versions.shipped(game), *(replace(agent, id=family) for family, agent in own.items())]
        return [*self.entries[game.id].agents.values(), *(agent for agent in found if self._allowed.agent(agent.id))]

    def versions(self, game: Game, id: str) -> list[Version]:
        """The versions of an agent, oldest first; the id may name one of them."""
        family = versions.family(id)
        if family in self.entries[game.id].agents:
            return versions.of_tabia(family)
        if versions.find(game, family) is not None and self._allowed.agent(family):
            return versions.of_shipped(game, family)
        checkpoints = [] if self._runs is None else self._runs.agents(game)
        mine = [agent for agent in checkpoints if versions.family(agent.id) == family]
        if self._runs is None or not mine or not self._allowed.agent(family):
            raise NotFound(f"There is no agent {quote(id)} for {game.id}; choose one of the list.")
        return versions.of_run(family, mine, self._runs.best(family))

    def choose(self, game: Game, id: str, version: str | None) -> Chosen:
        """The agent that answers for an id and a version; an unknown version stands for the best one."""
        given = id.rpartition("@")[2] if "@" in id else None
        found, note = versions.choose(self.versions(game, id), given if version is None else version)
        return Chosen(self.agent(game, found.agent), found.version, note)

    def cards(self, game: Game, ids: Iterable[str | None]) -> dict[str, Card]:
        """What people read about agents; those that have gone are left out."""
        found = {}
        for agent in filter(None, ids):
            with suppress(NotFound):
                found[agent] = self.agent(game, agent).card
        return found

    def to_dict(self, ready: Callable[[Game, str], bool]) -> list[dict[str, Any]]:
        """The games for JSON."""
        found, names = [], names_of(entry.game for entry in self.entries.values())
        for entry in self.entries.values():
            try:
                found.append(entry.to_dict(names[entry.game.id], self.agents(entry.game), partial(ready, entry.game)))
            except Exception as error:
                if entry.game.id not in self._faults:  # the page asks often
                    self._faults[entry.game.id] = _reason(error)
                    _log.warning("%s is left out: %s", entry.game.id, _reason(error))
        return found


def _reason(error: Exception) -> str:
    """Why a game cannot be shown; for an error that Tabia does not know, with the line that raised it.

    >>> _reason(TabiaError("It has no moves."))
    'It has no moves.'
    """
    if isinstance(error, TabiaError):
        return str(error)
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{where}."
