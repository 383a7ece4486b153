"""The shipped agents: the game of each, how it was trained and how strong it is.

agents/connect4/
    agent.toml                             its description, written by hand
    weights.safetensors                    one network, or
    checkpoints/<step>/weights.safetensors several versions, by training step, and
    best                                   the step that `az:NAME` uses
agents/pgx/hex/                            the same for `az:pgx:hex`
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
    """One measurement, and the command that reproduces it."""

    what: str
    figure: str
    interval: str
    command: str


@dataclass(frozen=True)
class Version:
    """One checkpoint of an agent with several, and its rating among them."""

    version: str
    elo: float
    error: float  # half the width of the 95% interval


@dataclass(frozen=True)
class Shipped:
    """A shipped agent."""

    name: str
    game: str
    about: str
    network: str
    bytes: int  # of its weights
    recipe: str
    seed: int
    minutes: float  # of training, wall clock
    device: str
    date: str
    card: str  # its page in the documentation
    strength: tuple[Strength, ...]
    versions: tuple[Version, ...]

    def to_dict(self) -> dict[str, Any]:
        """The description as plain values, ready for JSON."""
        return asdict(self)


def pack(source: str, name: str) -> Path:
    """Ship the weights of `RUN@VERSION` in 8 bits as an agent; a name with @ adds a version."""
    run, _, version = source.partition("@")
    name, _, step = name.partition("@")
    folder = runs.shipped_folder(name)
    folder = folder / "checkpoints" / step if step else folder
    folder.mkdir(parents=True, exist_ok=True)
    held = weights.load(runs.weights_file(run, version or None))
    weights.save(folder / runs.WEIGHTS, held.network, held.weights, held.metadata, store="int8")
    return folder


def agents() -> list[Shipped]:
    """All shipped agents, by name."""
    return [read(name) for name in runs.shipped()]


def read(name: str) -> Shipped:
    """The description of a shipped agent."""
    folder = runs.shipped_folder(name)
    path = runs.weights_file(str(folder))
    manifest, described = weights.read_manifest(path), _description(folder)
    metadata = manifest.metadata
    strength = tuple(Strength(**entry) for entry in described.get("strength", []))
    versions = tuple(Version(**entry) for entry in described.get("versions", []))
    return Shipped(
        name=name,
        game=str(metadata["game"]),
        about=described["about"],
        network=trunk(manifest.network.config),
        bytes=path.stat().st_size,
        recipe=str(metadata["recipe"]),
        seed=int(metadata["seed"]),
        minutes=float(metadata["minutes"]),
        device=described["device"],
        date=described["date"],
        card=described["card"],
        strength=strength,
        versions=versions,
    )


def best(game: str) -> str | None:
    """The name of the shipped agent of a game with the largest network; None if there is none."""
    fitting = [agent for agent in agents() if agent.game == game]
    return max(fitting, key=lambda agent: agent.bytes).name if fitting else None


def _description(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "agent.toml").read_text(encoding="utf-8"))
