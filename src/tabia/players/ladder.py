"""Ladders: opponents of known strength for one game, weakest first, measured by `tabia rate ladder`.

ladders/connect4.toml               one file per game, shipped with the package
    game, version                   the rules played
    date, device, seed, command     how it was measured
    advantage                       Elo of each seat over the last in these games; none if it was not kept
    [[rung]]                        name, spec, elo, low, high (the 95% interval) and games; random has 0 Elo

The levels of `tabia play` are rungs of this file. A game without a ladder falls back to players with fixed settings.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import tabia
from tabia.core import files
from tabia.core.errors import TabiaError, did_you_mean
from tabia.core.text import quote
from tabia.core.trust import check_data
from tabia.games.game import Game
from tabia.players import agents
from tabia.players.spec import PlayerError

SHIPPED = Path(tabia.__file__).parent / "ladders"
LEVELS = ("easy", "medium", "hard", "best")
ANCHOR = "random"
"""The player with 0 Elo."""
_SIMULATIONS = {"easy": 10, "medium": 50, "hard": 200, "best": 400}  # of MCTS, for games without a ladder


class LadderError(TabiaError):
    """A ladder file that cannot be read or written."""


@dataclass(frozen=True)
class Rung:
    """One opponent and its measured strength."""

    name: str  # display name
    spec: str  # for `tabia.players.make`
    elo: float
    low: float  # 95% interval of the difference to the anchor
    high: float
    games: int  # played


@dataclass(frozen=True)
class Ladder:
    """Opponents for one game, weakest first, and how they were measured."""

    game: str
    version: int
    rungs: tuple[Rung, ...]
    date: str
    device: str
    seed: int
    command: str
    advantage: tuple[float, ...] = ()  # Elo of each seat but the last over the last; empty if unknown

    def seat_advantage(self, seat: int, other: int) -> float:
        """What one seat is worth over another, in Elo; 0 if unknown."""
        worth = (*self.advantage, 0.0)
        return worth[seat] - worth[other] if self.advantage else 0.0


def shipped_file(game: str) -> Path:
    """The file of a game's shipped ladder.

    >>> shipped_file("chinese-checkers:fields=121,players=2").name
    'chinese-checkers_fields_121_players_2.toml'
    """
    return SHIPPED / f"{re.sub(r'[^A-Za-z0-9-]+', '_', game)}.toml"


def find(game: Game) -> Ladder | None:
    """The shipped ladder of a game; None if there is none for this version of the rules."""
    path = shipped_file(game.id)
    if not path.is_file():
        return None
    found = read(path)
    return found if (found.game, found.version) == (game.id, game.version) else None


def read(path: Path) -> Ladder:
    """Read a ladder file; raises LadderError if it is not valid."""
    try:
        fields = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise LadderError(f"{path} cannot be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise LadderError(f"{path} is not a ladder: {error}. `tabia rate ladder GAME` writes one.") from None
    try:
        rungs = tuple(_rung(entry) for entry in fields["rung"])
        ladder = Ladder(
            game=str(fields["game"]),
            version=int(fields["version"]),
            rungs=rungs,
            date=str(fields["date"]),
            device=str(fields["device"]),
            seed=int(fields["seed"]),
            command=str(fields["command"]),
            advantage=tuple(_finite(value) for value in fields.get("advantage", ())),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise LadderError(f"{path} is not a ladder: {error!r}. `tabia rate ladder GAME` writes one.") from None
    for rung in rungs:
        check_data(rung.spec, source=str(path), fix=f"tabia play {ladder.game} --against {quote(rung.spec)}")
    if not rungs or any(one.elo > other.elo for one, other in pairwise(rungs)):
        raise LadderError(f"{path}: a ladder needs at least one rung, and the weakest rung must come first.")
    return ladder


def text(ladder: Ladder) -> str:
    """A ladder as TOML; the inverse of `read`."""
    lines = [f"{name} = {_value(getattr(ladder, name))}" for name in ("game", "version", "date", "device", "seed")]
    lines.append(f"command = {_value(ladder.command)}")
    if ladder.advantage:
        lines.append(f"advantage = [{', '.join(map(_value, ladder.advantage))}]")
    for rung in ladder.rungs:
        lines += ["", "[[rung]]", *(f"{name} = {_value(value)}" for name, value in vars(rung).items())]
    return "\n".join(lines) + "\n"


def write(path: Path, ladder: Ladder) -> None:
    """Write a ladder file atomically."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write_atomic(path, text(ladder).encode())
    except OSError as error:
        raise LadderError(f"{path} cannot be written: {error.strerror}.") from None


def opponent(game: Game, level: str = "best") -> str:
    """The spec of the opponent of a level.

    `best` is the top rung. The other levels are the rungs nearest to 1/4, 1/2 and 3/4 of its rating, except random.
    Without a ladder, `best` is the shipped agent of the game if there is one, and the others are MCTS players.
    """
    if level not in LEVELS:
        raise PlayerError(f"There is no level {level!r}. {did_you_mean(level, LEVELS)}")
    ladder = find(game)
    return _fallback(game, level) if ladder is None else chosen(ladder, level).spec


def chosen(ladder: Ladder, level: str) -> Rung:
    """The rung of a level."""
    rungs = [rung for rung in ladder.rungs if rung.spec != ANCHOR] or list(ladder.rungs)
    target = rungs[-1].elo * (LEVELS.index(level) + 1) / len(LEVELS)
    return rungs[-1] if level == LEVELS[-1] else min(rungs, key=lambda rung: abs(rung.elo - target))


def _fallback(game: Game, level: str) -> str:
    agent = agents.best(game.id) if level == LEVELS[-1] else None
    return f"mcts:simulations={_SIMULATIONS[level]}" if agent is None else f"az:{agent}"


def _rung(entry: dict[str, Any]) -> Rung:
    numbers = {name: _finite(entry[name]) for name in ("elo", "low", "high")}
    return Rung(name=str(entry["name"]), spec=str(entry["spec"]), games=int(entry["games"]), **numbers)


def _finite(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError("ratings must be finite numbers")
    return number


def _value(value: str | float) -> str:
    """Text or a number as TOML; JSON strings are valid TOML once DEL is escaped."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f") if isinstance(value, str) else f"{value:g}"
