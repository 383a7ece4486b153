"""Agents with versions: shipped networks and training runs, whose versions are their checkpoints.

    shipped:connect4-laptop@114     a version of a shipped network
    run:first@40                    a checkpoint of a run
    shipped:connect4-laptop, run:first      the best version

All search with 64 simulations, unless another number is asked for. Other agents have one version, that of Tabia. An
unknown version stands for the best one, as in Wandhoven 2022.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from tabia import __version__
from tabia.games import Game
from tabia.players import agents as shipped_agents
from tabia.players import runs as networks
from tabia.players.agents import Shipped
from tabia.server.catalog.agents import Agent

SHIPPED = "shipped"
_SIMULATIONS = 64


@dataclass(frozen=True)
class Version:
    """A version of an agent; its rating is among the versions."""

    version: str
    agent: str  # the id by which it can be chosen
    best: bool
    elo: float | None = None
    error: float | None = None


@dataclass(frozen=True)
class Chosen:
    """The agent that answers, its version, and a sentence if it is not the one that was asked for."""

    agent: Agent
    version: str
    note: str | None = None


def shipped(game: Game) -> list[Agent]:
    """The shipped networks of a game, each in its best version."""
    return [_agent(found, None) for found in _shipped() if found.game == game.id]


def find(game: Game, id: str) -> Agent | None:
    """A shipped network by an id such as `shipped:connect4-laptop` or `shipped:connect4-laptop@114`."""
    group, _, named = id.partition(":")
    name, at, version = named.partition("@")
    known = next((found for found in _shipped() if (found.name, found.game) == (name, game.id)), None)
    if group != SHIPPED or known is None or (at and version not in _steps(known)):
        return None
    return _agent(known, version or None)


def of_shipped(game: Game, id: str) -> list[Version]:
    """The versions of a shipped network."""
    known = next(found for found in _shipped() if f"{SHIPPED}:{found.name}" == id and found.game == game.id)
    rated = {version.version: version for version in known.versions}
    best = _best(known)
    return [
        Version(
            version=step,
            agent=f"{id}@{step}" if _steps(known) else id,
            best=step == best,
            elo=rated[step].elo if step in rated else None,
            error=rated[step].error if step in rated else None,
        )
        for step in _steps(known) or [best]
    ]


def of_run(family: str, checkpoints: Sequence[Agent], best: str) -> list[Version]:
    """The versions of a run, from its checkpoints as agents."""
    steps = [agent.id.rpartition("@")[2] for agent in checkpoints]
    return [Version(step, f"{family}@{step}", best=step == best) for step in steps]


def of_tabia(id: str) -> list[Version]:
    """The only version of an agent that is made by Tabia's code and ladders."""
    return [Version(__version__, id, best=True)]


def family(id: str) -> str:
    """An agent's id without the version.

    >>> family("run:first@40"), family("level:club")
    ('run:first', 'level:club')
    """
    return id.rpartition("@")[0] if "@" in id else id


def choose(versions: Sequence[Version], wanted: str | None) -> tuple[Version, str | None]:
    """The version that was asked for; otherwise the best, with a sentence if it was asked for another."""
    best = next((version for version in versions if version.best), versions[-1])
    if wanted is None:
        return best, None
    found = next((version for version in versions if version.version == wanted), None)
    if found is not None:
        return found, None
    return best, f"There is no such version, so the best one answered: {best.version}."


@cache
def _shipped() -> tuple[Shipped, ...]:
    return tuple(shipped_agents.agents())


def _steps(known: Shipped) -> tuple[str, ...]:
    """The checkpoints of a shipped agent; none if it is one network."""
    return _steps_of(known.name)


@cache
def _steps_of(name: str) -> tuple[str, ...]:
    """Read once, because every move of an agent asks for it and the package does not change."""
    return tuple(networks.steps(networks.shipped_folder(name)).values())


def _best(known: Shipped) -> str:
    """The best version; one network is known by the day on which it was trained."""
    return networks.weights_file(known.name).parent.name if _steps(known) else known.date


def _agent(known: Shipped, version: str | None) -> Agent:
    at = "" if version is None else f"@{version}"
    return Agent(
        id=f"{SHIPPED}:{known.name}{at}",
        spec=f"az:{known.name}{at},simulations={_SIMULATIONS}",
        name=f"{known.name}{at}",
        about=known.about,
        group="networks",
    )
