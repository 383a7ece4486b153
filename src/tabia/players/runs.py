"""Where trained networks are found: in a run directory, in a file of weights, or among the shipped agents.

runs/connect4/                      a run, as in az:runs/connect4@best
    config.toml
    best                            the step of the best checkpoint, as text
    checkpoints/<step>/weights.safetensors
somewhere/weights.safetensors       one file, or its folder
connect4                            an agent in the package's folder `agents`
untrained                           initial weights of the default network, for any game
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

import tabia
from tabia.core import devices, files
from tabia.core.errors import did_you_mean, nearest
from tabia.core.text import plain, quote
from tabia.core.trust import names_code
from tabia.games import identity, registry
from tabia.games.errors import GameError
from tabia.games.game import Game
from tabia.networks import Folded, Network, Variables, inference_type, presets, weights
from tabia.players.spec import Options, PlayerError, Spec

WEIGHTS = "weights.safetensors"
UNTRAINED = "untrained"
SHIPPED = Path(tabia.__file__).parent / "agents"
_STEP = re.compile("[0-9]{1,12}")
_LARGEST_BEST = 64  # bytes


@dataclass(frozen=True, eq=False)
class Agent:
    """A network and its weights, folded for play.

    Agents are equal if they share their weights or were loaded from the same file.
    """

    network: Network
    parameters: Folded = field(repr=False)
    source: str = ""  # what finds it again, as in a spec: "runs/connect4@best"
    seed: int | None = None  # of untrained weights
    path: Path | None = None  # the file of weights

    @cached_property
    def playing(self) -> Folded:
        """The weights that players compute with: in half precision on GPUs, where it is twice as fast."""
        dtype = inference_type()
        return self.parameters if dtype == jnp.float32 else _cast(self.network, self.parameters, dtype)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Agent):
            return NotImplemented
        same = self.parameters is other.parameters or (self.path is not None and self.path == other.path)
        return same and self.network == other.network

    def __hash__(self) -> int:
        return hash((self.network, self.path))


def from_spec(game: Game, spec: Spec, options: Options) -> Agent:
    """The agent of a spec; PlayerError says what is missing, or which game a run is for."""
    if spec.what is None:
        raise PlayerError(
            f"{spec.name} needs a network: {spec.name}:RUN@best with a run directory or a file of weights, "
            f"{spec.name}:NAME with a shipped agent ({_shipped_text()}), or {spec.name}:{UNTRAINED}."
        )
    if spec.what == UNTRAINED:
        if spec.version is not None:
            raise PlayerError(f"{plain(str(spec))}: {UNTRAINED} has no versions; try {spec.name}:{UNTRAINED},seed=1.")
        return untrained(game, options.whole("seed", 0, low=0, high=2**31 - 1))
    options.only_with("seed", f"{spec.name}:{UNTRAINED}")
    return _find(game, spec.what, spec.version)


def find_agent(game: Game, source: str | Path | Agent) -> Agent:
    """The agent of a source such as "connect4", "runs/connect4@best", a path or "untrained"."""
    if isinstance(source, Agent):
        return source
    if source == UNTRAINED:
        return untrained(game)
    what, at, version = str(source).rpartition("@")
    return _find(game, what, version) if at else _find(game, str(source), None)


def _find(game: Game, what: str, version: str | None) -> Agent:
    place = _place(what)
    within = place if (place / "checkpoints").is_dir() and not place.is_relative_to(SHIPPED) else None
    agent = load(game, weights_file(what, version), within=within)
    return replace(agent, source=f"{what}@{version}" if version else what)


def untrained(game: Game, seed: int = 0) -> Agent:
    """Initial weights of the default network, a tower of 5 blocks with 64 filters."""
    return _untrained(game, seed)


@lru_cache(maxsize=8)
def _untrained(game: Game, seed: int) -> Agent:
    network = Network.of(presets.tower(), game)
    return Agent(network, _fold(network, network.init(jax.random.key(seed))), source=UNTRAINED, seed=seed or None)


def load(game: Game, path: Path, *, within: Path | None = None) -> Agent:
    """The agent in a file of weights for this game; `within` is the run directory that must contain it."""
    loaded = weights.load(path, within=within)
    network = _fitting(game, loaded.network, loaded.metadata, path)
    held = loaded.weights
    return Agent(
        network, devices.copied((_fold if isinstance(held, Variables) else _prepare)(network, held)), path=path
    )


# One program instead of fifty small ones takes a quarter of the time.
_prepare = jax.jit(Network.prepare, static_argnums=0)
_fold = jax.jit(lambda network, variables: network.prepare(network.fold(variables)), static_argnums=0)
_cast = jax.jit(Network.cast, static_argnums=(0, 2))


def weights_file(what: str, version: str | None = None) -> Path:
    """The file of weights of `what@version`."""
    place = _place(what)
    if place.is_file() or (place / WEIGHTS).is_file():
        if version is not None:
            raise PlayerError(f"{place} contains one network and has no version {quote(version)}; omit the version.")
        return place if place.is_file() else place / WEIGHTS
    return place / "checkpoints" / _folder(place, version or "best") / WEIGHTS


def steps(run: Path) -> dict[int, str]:
    """The steps of a run's checkpoints, in order, and the folder of each."""
    folders = [path.parent.name for path in (run / "checkpoints").glob(f"*/{WEIGHTS}")]
    return {int(name): name for name in sorted((name for name in folders if _STEP.fullmatch(name)), key=int)}


def shipped() -> list[str]:
    """The names of the shipped agents; pgx:hex is in the folder pgx/hex."""
    held = {path.parent for path in SHIPPED.rglob(WEIGHTS)}
    whole = {folder.parent.parent if folder.parent.name == "checkpoints" else folder for folder in held}
    return sorted(":".join(folder.relative_to(SHIPPED).parts) for folder in whole)


def shipped_folder(name: str) -> Path:
    """The folder of a shipped agent."""
    return SHIPPED.joinpath(*name.split(":"))


def _place(what: str) -> Path:
    """The run directory, folder or file; an existing path takes precedence over a shipped agent."""
    path = _path(what)
    if path is not None and (path.is_file() or (path / WEIGHTS).is_file() or (path / "checkpoints").is_dir()):
        return path
    if what in shipped():
        return shipped_folder(what)
    if path is not None and path.is_dir():
        raise PlayerError(f"{plain(what)} is not a run: it has neither checkpoints nor {WEIGHTS}.")
    if path is not None and path.exists():
        raise PlayerError(f"{plain(what)} is not a run: it is neither a directory nor a regular file.")
    hint = f" {did_you_mean(what, shipped())}" if nearest(what, shipped()) else ""
    raise PlayerError(
        f"There is no run {quote(what)}: no such directory or file, and no shipped agent of that name "
        f"({_shipped_text()}).{hint}"
    )


def _path(what: str) -> Path | None:
    """The path of a text; None if no file can have that name."""
    try:
        path = Path(what).expanduser()
        path.lstat()
    except FileNotFoundError:
        return path
    except (OSError, RuntimeError, ValueError):  # too long, an unknown user, a NUL byte
        return None
    return path


def _shipped_text() -> str:
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
    """The checkpoint that the file `best` names; the latest if there is no such file or checkpoint."""
    try:
        named = files.read_text(run / "best", _LARGEST_BEST).strip()
    except OSError:
        named = ""
    return known[int(named)] if _STEP.fullmatch(named) and int(named) in known else known[max(known)]


def _fitting(game: Game, network: Network, metadata: dict[str, Any], path: Path) -> Network:
    """The network for this game's board; raises PlayerError if it was trained for another game."""
    held, version = metadata.get("game"), metadata.get("game_version")
    if isinstance(held, str) and not _is_same(game, held, metadata):
        if not network.config.any_size or not _is_same_on_another_board(game, held):
            raise PlayerError(f"{path} contains a network for {plain(held)}, not for {game.id}.")
        network = network.on(game)
    if version is not None and version != game.version:
        raise PlayerError(
            f"{path} was trained on version {quote(version)} of {game.id}; the rules are now at version {game.version}."
        )
    if not network.fits(game):
        rows, columns, planes = network.observation_shape
        raise PlayerError(
            f"{path} contains a network for boards of {rows} x {columns} x {planes} with {network.num_actions} actions "
            f"and {network.num_players} seats, which does not fit {game.id}."
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
    """The game of a file of weights; never one in a Python file, because reading weights must not run code."""
    if names_code(id):
        return None
    try:
        return registry.make(id)
    except GameError:
        return None
