"""The agents of a game as people choose them: levels of its ladder, classical players, the solver.

An agent's id is `level:club`, `classical:mcts-400`, `exact:perfect` or `run:NAME@ITERATION`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tabia.games import Game
from tabia.players import ladder, parse, perfect
from tabia.server.errors import NotFound
from tabia.server.play.seats import Card

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


def with_simulations(spec: str, simulations: int) -> str:
    """The same player with another size of search; refused where it does not search."""
    parsed = parse(spec)
    if parsed.name not in ("az", "mcts"):
        raise NotFound(f"{spec} does not search, so it has no number of simulations.")
    return str(replace(parsed, options=parsed.options | {"simulations": str(simulations)}))


def simulations_of(spec: str) -> int:
    """What a search by a player costs; a player that does not search counts as one simulation.

    >>> simulations_of("az:connect4,simulations=64"), simulations_of("network:connect4")
    (64, 1)
    """
    parsed = parse(spec)
    if parsed.name not in ("az", "mcts"):
        return 1
    given = parsed.options.get("simulations", "")
    return int(given) if given.isdecimal() else SIMULATIONS[-1]


def network_of(spec: str) -> str | None:
    """The spec of the network that a player searches with."""
    parsed = parse(spec)
    return str(replace(parsed, name="network", options={})) if parsed.name == "az" else None


def agents_of(game: Game) -> list[Agent]:
    """The agents that come with Tabia, weakest level first."""
    return [*_levels(game), *_classical(game), *_exact(game)]


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
