"""Trained networks where they lie: in a run directory, in a file of weights, or among the agents shipped with Tabia.

runs/connect4/                      a run, as in az:runs/connect4@best
    config.toml
    best                            the step of the best checkpoint, as text
    checkpoints/<step>/weights.safetensors
somewhere/weights.safetensors       one file, or the folder it lies in
connect4                            an agent in the package's folder `agents`
untrained                           first weights of the default network, for any game
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import jax

import tabia
from tabia.core import files
from tabia.core.errors import did_you_mean
from tabia.core.text import plain, quote
from tabia.core.trust import names_code
from tabia.games import identity, registry
from tabia.games.errors import GameError
from tabia.games.game import Game
from tabia.networks import Network, Variables, presets, weights
from tabia.players.spec import Options, PlayerError, Spec

WEIGHTS = "weights.safetensors"
UNTRAINED = "untrained"
SHIPPED = Path(tabia.__file__).parent / "agents"
_STEP = re.compile("[0-9]{1,12}")
_LARGEST_BEST = 64  # bytes


@dataclass(frozen=True, eq=False)
class Agent:
    """A network and its weights, folded for play."""

    network: Network
    parameters: Any
    path: Path | None = None


def find(game: Game, spec: Spec, options: Options) -> Agent:
    """The agent a spec speaks of; PlayerError says what is missing, or which game a run holds."""
    if spec.what is None:
        raise PlayerError(
            f"{spec.name} needs to know which network: {spec.name}:RUN@best with a run directory or a file of weights, "
            f"{spec.name}:NAME with a shipped agent ({_shipped_in_words()}), or {spec.name}:{UNTRAINED}."
        )
    if spec.what == UNTRAINED:
        if spec.version is not None:
            raise PlayerError(f"{plain(str(spec))}: {UNTRAINED} has no versions; try {spec.name}:{UNTRAINED},seed=1.")
        return untrained(game, options.whole("seed", 0, low=0, high=2**31 - 1))
    options.only_with("seed", f"{spec.name}:{UNTRAINED}")
    place = _place(spec.what)
    within = place if (place / "checkpoints").is_dir() and not place.is_relative_to(SHIPPED) else None
    return load(game, weights_file(spec.what, spec.version), within=within)


@lru_cache(maxsize=8)
def untrained(game: Game, seed: int = 0) -> Agent:
    """First weights of the network Tabia trains by default, a tower of 5 blocks with 64 filters."""
    network = Network(presets.tower(), game.observation_shape, game.num_actions, game.num_players)
    return Agent(network, _fold(network, network.init(jax.random.key(seed))))


def load(game: Game, path: Path, *, within: Path | None = None) -> Agent:
    """The agent in a file of weights, if it is one for this game; `within` is the run directory it must lie in."""
    loaded = weights.load(path, within=within)
    network = _fitting(game, loaded.network, loaded.metadata, path)
    holds = loaded.weights
    return Agent(network, _fold(network, holds) if isinstance(holds, Variables) else holds, path)


_fold = jax.jit(Network.fold, static_argnums=0)  # one program instead of fifty small ones, in a quarter of the time


def weights_file(what: str, version: str | None = None) -> Path:
    """The file that `what@version` means."""
    place = _place(what)
    if place.is_file() or (place / WEIGHTS).is_file():
        if version is not None:
            raise PlayerError(f"{place} holds one network, so it has no version {quote(version)}; leave it out.")
        return place if place.is_file() else place / WEIGHTS
    return place / "checkpoints" / _folder(place, version or "best") / WEIGHTS


def steps(run: Path) -> dict[int, str]:
    """The steps a run has checkpoints of, in order, and the folder of each."""
    folders = [path.parent.name for path in (run / "checkpoints").glob(f"*/{WEIGHTS}")]
    return {int(name): name for name in sorted((name for name in folders if _STEP.fullmatch(name)), key=int)}


def shipped() -> list[str]:
    """The names of the agents that come with Tabia; pgx:hex lies in pgx/hex."""
    held = {path.parent for path in SHIPPED.rglob(WEIGHTS)}
    whole = {folder.parent.parent if folder.parent.name == "checkpoints" else folder for folder in held}
    return sorted(":".join(folder.relative_to(SHIPPED).parts) for folder in whole)


def shipped_folder(name: str) -> Path:
    """Where an agent that comes with Tabia lies."""
    return SHIPPED.joinpath(*name.split(":"))


def _place(what: str) -> Path:
    """The run directory, folder or file that is meant; what lies there goes before what is shipped."""
    path = _path(what)
    if path is not None and (path.is_file() or (path / WEIGHTS).is_file() or (path / "checkpoints").is_dir()):
        return path
    if what in shipped():
        return shipped_folder(what)
    if path is not None and path.is_dir():
        raise PlayerError(f"{plain(what)} is no run: it has neither checkpoints nor {WEIGHTS}.")
    hint = f" {did_you_mean(what, shipped())}" if shipped() else ""
    raise PlayerError(
        f"There is no run {quote(what)}: no such directory or file, and no shipped agent of that name "
        f"({_shipped_in_words()}).{hint}"
    )


def _path(what: str) -> Path | None:
    """The path a text means; None if no file can have that name."""
    try:
        path = Path(what).expanduser()
        path.lstat()
    except FileNotFoundError:
        return path
    except (OSError, RuntimeError, ValueError):  # too long, of a user who does not exist, with a NUL byte
        return None
    return path


def _shipped_in_words() -> str:
    known = shipped()
    return f"shipped: {', '.join(known)}" if known else "none is shipped yet"


def _folder(run: Path, version: str) -> str:
    known = steps(run)
    if not known:
        raise PlayerError(f"The run {run} has no checkpoint yet.")
    if version == "latest":
        return known[max(known)]
    if version == "best":
        return _best(run, known)
    if _STEP.fullmatch(version) and int(version) in known:
        return known[int(version)]
    shown = list(known) if len(known) <= 8 else [*list(known)[:3], "...", *list(known)[-3:]]
    raise PlayerError(
        f"The run {run} has no version {quote(version)}. It has best, latest and the steps "
        f"{', '.join(map(str, shown))}."
    )


def _best(run: Path, known: dict[int, str]) -> str:
    """What the file `best` names; the latest where there is none, or where its checkpoint is gone."""
    try:
        named = files.read_text(run / "best", _LARGEST_BEST).strip()
    except OSError:
        named = ""
    return known[int(named)] if _STEP.fullmatch(named) and int(named) in known else known[max(known)]


def _fitting(game: Game, network: Network, metadata: dict[str, Any], path: Path) -> Network:
    """The network, for this game's board; refused if it was trained for another game."""
    held, version = metadata.get("game"), metadata.get("game_version")
    if isinstance(held, str) and not _is_same(game, held, metadata):
        if not network.config.any_size or not _is_same_on_another_board(game, held):
            raise PlayerError(f"{path} holds a network for {plain(held)}, not for {game.id}.")
        network = network.at(game.observation_shape, game.num_actions)
    if version is not None and version != game.version:
        raise PlayerError(
            f"{path} was trained on version {quote(version)} of {game.id}; the rules are now at version {game.version}."
        )
    wanted = (game.observation_shape, game.num_actions, game.num_players)
    if (network.observation_shape, network.num_actions, network.num_players) != wanted:
        rows, columns, planes = network.observation_shape
        raise PlayerError(
            f"{path} holds a network for boards of {rows} x {columns} x {planes} with {network.num_actions} actions "
            f"and {network.num_players} seats, which {game.id} is not."
        )
    identity.warn_of_change(game, metadata.get("game_definition"), str(path))
    return network


def _is_same(game: Game, held: str, metadata: dict[str, Any]) -> bool:
    definition = metadata.get("game_definition")
    if identity.is_same(game, held, definition if isinstance(definition, str) else ""):
        return True
    other = _game(held)
    return other is not None and other.id == game.id


def _is_same_on_another_board(game: Game, held: str) -> bool:
    other = _game(held)
    return identity.is_same_class(game, held) if other is None else other.name == game.name


def _game(id: str) -> Game | None:
    """The game a file says it is for; never one in a file of Python, because reading weights must not run code."""
    if names_code(id):
        return None
    try:
        return registry.make(id)
    except GameError:
        return None
