"""Players on their way to other machines: specs, with the weights of networks beside them.

A network travels as its file of weights, so no node needs the run directory. A player or a game in a Python file does
not travel: the file must be at the same path on every node, with the same content. Nor does an outside engine: its
command must run on every node.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tabia.cluster.errors import ClusterError
from tabia.core import files
from tabia.games import make as make_game
from tabia.games.game import Game
from tabia.networks import weights
from tabia.players import make as make_player
from tabia.players import runs
from tabia.players.player import Player
from tabia.players.spec import COMMANDS, is_file, parse


@dataclass(frozen=True)
class SentPlayer:
    """What makes a player on another machine."""

    spec: str
    weights: bytes | None = None  # the content of its file of weights
    digest: str = ""  # of its Python file


@dataclass(frozen=True)
class Lineup:
    """A game and the players of one or more matches."""

    game: str
    players: tuple[SentPlayer, ...]


def make_lineup(game: Game, specs: Sequence[str]) -> Lineup:
    """The lineup of these players, with the weights that their specs name now."""
    return Lineup(located(game.id), tuple(map(_sent, specs)))


def located(text: str) -> str:
    """A game's id or a player's spec with the absolute path of its Python file, if it has one."""
    if not is_file(text):
        return text
    path, _, rest = text.partition(".py:")
    return f"{Path(f'{path}.py').expanduser().absolute()}:{rest}"


def _sent(text: str) -> SentPlayer:
    spec = parse(text)
    if is_file(text):
        name = located(spec.name)
        return SentPlayer(str(replace(spec, name=name)), digest=_digest(_file(name)))
    if spec.what is None or spec.what == runs.UNTRAINED or spec.name in COMMANDS:
        return SentPlayer(text)
    content = files.read_bytes(runs.weights_file(spec.what, spec.version), weights.LIMIT)
    return SentPlayer(text, weights=content)


@contextmanager
def received(lineup: Lineup) -> Iterator[tuple[Game, list[Player]]]:
    """The game and the players of a lineup; their weights are in files that are removed after the block."""
    game = make_game(lineup.game)
    with tempfile.TemporaryDirectory(prefix="tabia-players-") as folder:
        yield game, [_make(sent, game, Path(folder)) for sent in lineup.players]


def _make(sent: SentPlayer, game: Game, folder: Path) -> Player:
    spec = parse(sent.spec)
    if sent.digest and _digest(_file(spec.name)) != sent.digest:
        raise ClusterError(f"{_file(spec.name)} is missing, or differs from the file that the match was started with")
    if sent.weights is not None:
        # The same weights are the same file, so that players who differ in options share compiled programs.
        path = folder / f"{hashlib.sha256(sent.weights).hexdigest()}.safetensors"
        path.write_bytes(sent.weights)
        spec = replace(spec, what=str(path), version=None)
    return make_player(str(spec), game)


def _file(name: str) -> Path:
    return Path(name.rpartition(":")[0])


def _digest(path: Path) -> str:
    """A digest of a Python file; empty if there is none."""
    try:
        return hashlib.sha256(files.read_bytes(path, files.MEGABYTE)).hexdigest()
    except OSError:
        return ""
