"""The games and agents that the operator allows: everything a client may name is looked up here.

Games are those with shipped agents and those named on the command line. An agent's id is `level:club` (a rung of the
game's ladder), `classical:mcts-400`, `exact:perfect` or `run:NAME@ITERATION`; only this module turns ids into specs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from tabia.core.errors import TabiaError
from tabia.core.text import quote
from tabia.core.trust import names_code
from tabia.games import Game, make
from tabia.games.boards import view
from tabia.players import ladder, parse, perfect
from tabia.server.errors import NotFound
from tabia.server.live import Card

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
SIMULATIONS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 800)
"""The sizes of search that a client may ask for."""
_FEW_ACTIONS, _SHORT_GAME = 128, 300  # beyond them minimax and random playouts take too long for a page
_LEVEL_NAMES = (
    "First steps",
    "Beginner",
    "Learner",
    "Casual",
    "Hobby",
    "Regular",
    "Improver",
    "Club",
    "Skilled",
    "Advanced",
    "Strong",
    "Expert",
    "Master",
    "Champion",
    "Summit",
)
_NAMES = {
    "connect4": "Connect 4",
    "connect3": "Connect 3",
    "tictactoe": "Tic-tac-toe",
    "othello": "Othello",
    "checkers": "Checkers",
    "chinese-checkers": "Chinese checkers",
    "chinese-checkers:fields=121": "Chinese checkers, large star",
    "chinese-checkers:fields=121,players=2": "Chinese checkers for two",
    "pgx:hex": "Hex",
}
_SENTENCES = {
    "random": "Plays any legal move.",
    "greedy": "Takes what looks best at once and never looks ahead.",
    "initialize": "Knows the direction, not the plan.",
    "minimax": "Looks a few moves ahead and counts.",
    "mcts": "Plays many random games in its head before each move.",
    "network": "A trained network that plays by intuition, without looking ahead.",
    "az": "A trained network that looks ahead: the full AlphaZero.",
    "perfect": "Never makes a mistake; a solver plays.",
}
_HOT = 4.0  # a temperature at which even bad moves are played
_NOTES = {
    "connect4": "With perfect play the first player wins.",
    "connect3": "With perfect play the first player wins.",
    "tictactoe": "With perfect play the game is drawn.",
}
_OPENINGS: dict[str, tuple[tuple[str, str], ...]] = {
    "connect4": (("Center", "4"), ("Next to the center", "3"), ("Edge", "1"), ("Both in the center", "4 4")),
    "tictactoe": (("Center", "b2"), ("Corner", "a1"), ("Edge", "b1")),
    "othello": (("Diagonal", "f5 f6"), ("Perpendicular", "f5 d6"), ("Parallel", "f5 f4")),
}


@dataclass(frozen=True)
class Agent:
    """An opponent that a client may choose."""

    id: str
    spec: str
    name: str
    about: str
    group: str  # levels, classical, exact or runs
    elo: float | None = None
    error: float | None = None

    @property
    def technical(self) -> str:
        """The spec in words, such as `az:connect4, 64 simulations`."""
        parsed = parse(self.spec)
        head = str(replace(parsed, options={}))
        options = parsed.options.items()
        return ", ".join([head, *(f"{v} {k}" if k == "simulations" else f"{k} {v}" for k, v in options)])

    @property
    def card(self) -> Card:
        """What people read at its seat."""
        return Card(name=self.name, about=self.technical, elo=self.elo, error=self.error)

    def to_dict(self, *, default: bool, ready: bool) -> dict[str, Any]:
        """A level for JSON."""
        return {
            "id": self.id,
            "name": self.name,
            "about": self.about,
            "technical": self.technical,
            "elo": self.elo,
            "error": self.error,
            "group": self.group,
            "default": default,
            "ready": ready,
        }


class Entry:
    """A game with its agents."""

    def __init__(self, game: Game) -> None:
        self.game = game

    @cached_property
    def agents(self) -> dict[str, Agent]:
        """The agents that do not come from runs, by id."""
        return {agent.id: agent for agent in (*_levels(self.game), *_classical(self.game), *_exact(self.game))}

    @cached_property
    def default(self) -> str:
        """The agent a newcomer meets: the middle of the ladder."""
        levels = [agent.id for agent in self.agents.values() if agent.group == "levels"]
        return levels[(len(levels) - 1) // 2]

    @cached_property
    def analyst(self) -> str:
        """The agent that gives hints and reviews: the strongest level, unless that draws its moves by chance."""
        levels = [agent for agent in self.agents.values() if agent.group == "levels"]
        steady = [agent for agent in levels if parse(agent.spec).name == "az" and "temperature" not in agent.spec]
        return (steady or levels)[-1].id

    @property
    def is_exact(self) -> bool:
        """Whether perfect play is known within moments."""
        return perfect.is_quick(self.game)

    def to_dict(self, agents: Sequence[Agent], ready: Callable[[str], bool]) -> dict[str, Any]:
        """The game for JSON."""
        game, board = self.game, view(self.game)
        openings = [("Empty board" if board.board.cells else "Start", ""), *_OPENINGS.get(game.id, ())]
        return {
            "id": game.id,
            "name": _NAMES.get(game.id) or _short_title(game),
            "seats": game.num_players,
            "seat_names": list(board.seat_names),
            "board": board.board_dict(),
            "goal": game.goal(0),
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


class Catalog:
    """All allowed games and agents."""

    def __init__(self, named: Sequence[str] = (), *, runs: Checkpoints | None = None) -> None:
        self._runs = runs
        self.entries: dict[str, Entry] = {}
        for name in named:
            entry = Entry(make(name))
            self.entries[entry.game.id] = entry
        for name in SHOWN:
            if name not in self.entries:
                self._add(name)
        self.default = next(iter(self.entries))

    def _add(self, id: str) -> None:
        try:
            self.entries[id] = Entry(make(id))
        except TabiaError:  # the library that it needs is not installed
            return

    def game(self, id: str) -> Entry:
        """A game by its id."""
        if id not in self.entries:
            raise NotFound(f"There is no game {quote(id)} here; start `tabia play` with it.")
        return self.entries[id]

    def agents(self, game: Game) -> list[Agent]:
        """All agents of a game, own runs last."""
        own = [] if self._runs is None else self._runs.agents(game)
        return [*self.entries[game.id].agents.values(), *own]

    def agent(self, game: Game, id: str) -> Agent:
        """An agent by its id."""
        found = self.entries[game.id].agents.get(id)
        if found is None and self._runs is not None:
            found = self._runs.agent(game, id)
        if found is None:
            raise NotFound(f"There is no agent {quote(id)} for {game.id}; choose one of the list.")
        return found

    def cards(self, game: Game, ids: Iterable[str | None]) -> dict[str, Card]:
        """What people read about agents; those that have gone are left out."""
        found = {}
        for agent in filter(None, ids):
            with suppress(NotFound):
                found[agent] = self.agent(game, agent).card
        return found

    def to_dict(self, ready: Callable[[Game, str], bool]) -> list[dict[str, Any]]:
        """The games for JSON."""
        return [
            entry.to_dict(self.agents(entry.game), lambda spec, game=entry.game: ready(game, spec))  # type: ignore[misc]
            for entry in self.entries.values()
        ]


def _short_title(game: Game) -> str:
    """A few words for people: the class of a user's own game, or how its title begins."""
    return game.id.rpartition(":")[2] if names_code(game.id) else re.split("[:,.]", game.title)[0]


def with_simulations(spec: str, simulations: int) -> str:
    """The same player with another size of search; refused where it does not search."""
    parsed = parse(spec)
    if parsed.name not in ("az", "mcts"):
        raise NotFound(f"{spec} does not search, so it has no number of simulations.")
    return str(replace(parsed, options=parsed.options | {"simulations": str(simulations)}))


def network_of(spec: str) -> str | None:
    """The spec of the network that a player searches with."""
    parsed = parse(spec)
    return str(replace(parsed, name="network", options={})) if parsed.name == "az" else None


def _levels(game: Game) -> list[Agent]:
    found = ladder.find(game)
    if found is None:
        return _fallback_levels(game)
    places = np.linspace(0, len(_LEVEL_NAMES) - 1, len(found.rungs)).round().astype(int)
    names = [_LEVEL_NAMES[place] for place in places]
    return [
        Agent(
            id=_id("level", name),
            spec=rung.spec,
            name=name,
            about=_sentence(rung.spec),
            group="levels",
            elo=round(rung.elo),
            error=round((rung.high - rung.low) / 2),
        )
        for name, rung in zip(names, found.rungs, strict=True)
    ]


def _fallback_levels(game: Game) -> list[Agent]:
    """The levels of a game without a ladder, whose strength is not measured."""
    specs = {level.capitalize(): ladder.opponent(game, level) for level in ladder.LEVELS}
    return [
        Agent(id=_id("level", name), spec=spec, name=name, about=_sentence(spec), group="levels")
        for name, spec in specs.items()
    ]


def _classical(game: Game) -> list[Agent]:
    specs = {"Random": "random"}
    if game.has_heuristic:
        specs["Greedy"] = "greedy"
    if game.has_heuristic and game.num_actions <= _FEW_ACTIONS:
        specs["Minimax, depth 3"] = "minimax:depth=3"
    if game.max_moves <= _SHORT_GAME:
        specs |= {f"MCTS, {size}": f"mcts:simulations={size}" for size in (100, 400)}
    return [
        Agent(id=_id("classical", name), spec=spec, name=name, about=_sentence(spec), group="classical")
        for name, spec in specs.items()
    ]


def _exact(game: Game) -> list[Agent]:
    if not perfect.is_quick(game):
        return []
    return [Agent(id="exact:perfect", spec="perfect", name="Perfect", about=_sentence("perfect"), group="exact")]


def _sentence(spec: str) -> str:
    """What a player is like, for people."""
    parsed = parse(spec)
    heat = float(parsed.options.get("temperature", 0))
    if parsed.name == "greedy" and "epsilon" in parsed.options:
        return "Takes what looks best at once, and often something else."
    if parsed.name == "network" and heat > 0:
        wanders = heat >= _HOT
        return f"A trained network that {'lets its attention wander' if wanders else 'varies its play'}."
    if parsed.name == "az" and heat > 0:
        return "A trained network that looks ahead, with a taste for variety."
    return _SENTENCES.get(parsed.name, "A player of your own.")


def _id(group: str, name: str) -> str:
    return f"{group}:{re.sub('[^a-z0-9]+', '-', name.lower()).strip('-')}"
