"""The agents that come with Tabia: what each plays, how it was made and how strong it is.

agents/connect4/
    agent.toml                             what is known of it beyond its weights, written by hand
    weights.safetensors                    one network, or
    checkpoints/<step>/weights.safetensors several versions of it, by training step, and
    best                                   the step that `az:NAME` plays
agents/pgx/hex/                            likewise, of `az:pgx:hex`
"""

from __future__ import annotations

import tomllib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tabia.networks import weights
from tabia.networks.summary import trunk
from tabia.players import runs


@dataclass(frozen=True)
class Strength:
    """One measurement, with the command that repeats it."""

    what: str
    figure: str
    interval: str
    command: str


@dataclass(frozen=True)
class Version:
    """One checkpoint of an agent that ships several, rated among them when it was trained."""

    version: str
    elo: float
    error: float  # half the width of the 95% interval


@dataclass(frozen=True)
class Shipped:
    """An agent in the package."""

    name: str
    game: str
    about: str
    network: str
    bytes: int  # of the weights it plays with
    recipe: str
    seed: int
    minutes: float  # of training by the clock
    device: str
    date: str
    card: str  # where docs tell more
    strength: tuple[Strength, ...]
    versions: tuple[Version, ...]

    def fields(self) -> dict[str, Any]:
        return asdict(self)


def pack(source: str, name: str) -> Path:
    """Put the weights of `RUN@VERSION` among the agents, in half precision; a name with @ is a version."""
    run, _, version = source.partition("@")
    name, _, step = name.partition("@")
    folder = runs.shipped_folder(name)
    folder = folder / "checkpoints" / step if step else folder
    folder.mkdir(parents=True, exist_ok=True)
    held = weights.load(runs.weights_file(run, version or None))
    weights.save(folder / runs.WEIGHTS, held.network, held.weights, held.metadata, store="float16")
    return folder


def agents() -> list[Shipped]:
    """All of them, by name."""
    return [read(name) for name in runs.shipped()]


def read(name: str) -> Shipped:
    """One of them."""
    folder = runs.shipped_folder(name)
    path = runs.weights_file(str(folder))
    manifest, told = weights.read_manifest(path), _told(folder)
    noted = manifest.metadata
    strength = tuple(Strength(**entry) for entry in told.get("strength", []))
    versions = tuple(Version(**entry) for entry in told.get("versions", []))
    return Shipped(
        name=name,
        game=str(noted["game"]),
        about=told["about"],
        network=trunk(manifest.network.config),
        bytes=path.stat().st_size,
        recipe=str(noted["recipe"]),
        seed=int(noted["seed"]),
        minutes=float(noted["minutes"]),
        device=told["device"],
        date=told["date"],
        card=told["card"],
        strength=strength,
        versions=versions,
    )


def best(game: str) -> str | None:
    """The agent to play a game with, by its name: the one with the largest network; None if none is shipped."""
    fitting = [agent for agent in agents() if agent.game == game]
    return max(fitting, key=lambda agent: agent.bytes).name if fitting else None


def _told(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "agent.toml").read_text(encoding="utf-8"))
