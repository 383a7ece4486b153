"""Games of the OpenSpiel library: `spiel:breakthrough`, `spiel:connect_four:rows=5`.

Each becomes a plain Python class for the host adapter. Supported are games of perfect information without chance for
two or more seats that move in turn; OpenSpiel has many others.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, ClassVar

import numpy as np

from tabia.core.errors import did_you_mean
from tabia.core.text import quote
from tabia.games.adapters.host import HostGame
from tabia.games.errors import GameError
from tabia.games.game import Game


def make(name: str, parameters: dict[str, Any] | None = None) -> Game:
    """OpenSpiel's game of this name; GameError if there is none or Tabia cannot play it.

    >>> make("connect_four", {"rows": 5}).max_moves
    35
    """
    return SpielGame(_rules(name, tuple(sorted((parameters or {}).items()))))


@dataclass(frozen=True)
class SpielGame(HostGame):
    """A game of the OpenSpiel library."""

    @property
    def position_note(self) -> str:
        return "Move sequences were counted, because OpenSpiel does not say when two positions are equal."


@cache
def _rules(name: str, parameters: tuple[tuple[str, Any], ...]) -> type:
    full = f"spiel:{name}" + (":" + ",".join(f"{key}={value}" for key, value in parameters) if parameters else "")
    game = _load(name, dict(parameters), full)
    _refuse(game, full)
    members: dict[str, Any] = {
        "__doc__": f"{game.get_type().long_name} from OpenSpiel.",
        "name": full,
        "game": game,
        "num_players": game.num_players(),
        "num_actions": game.num_distinct_actions(),
        "max_moves": game.max_game_length(),
        "score_range": (min(game.min_utility(), 0.0), max(game.max_utility(), 0.0)),  # scores are 0 before the end
    }
    if not game.get_type().provides_observation_tensor:
        return type(full, (_Spiel,), members)
    height, width, planes = _shown(game)
    return type(full, (_Observed,), {**members, "observation_shape": (height, width, planes + game.num_players())})


class _Spiel:
    """An OpenSpiel state as a plain Python game."""

    game: ClassVar[Any]

    def __init__(self) -> None:
        self.state = self.game.new_initial_state()

    def __deepcopy__(self, memo: Any) -> _Spiel:
        copy = object.__new__(type(self))
        copy.state = self.state.clone()
        return copy

    def legal_moves(self) -> list[int]:
        return list(self.state.legal_actions())

    def apply(self, move: int) -> None:
        self.state.apply_action(move)

    def mover(self) -> int:
        return int(self.state.current_player())

    def is_over(self) -> bool:
        return bool(self.state.is_terminal())

    def scores(self) -> list[float]:
        return list(self.state.returns())

    def move_name(self, move: int) -> str:
        """OpenSpiel's own name as one word, followed by the action's number if two legal moves share it."""
        return self._names.get(move, f"#{move}")

    @cached_property
    def _names(self) -> dict[int, str]:
        words = {move: self._word(move) for move in self.legal_moves()}
        uses = Counter(word.lower() for word in words.values())
        return {move: word if uses[word.lower()] == 1 else f"{word}#{move}" for move, word in words.items()}

    def draw(self) -> str:
        """OpenSpiel's own drawing; some games draw nothing at the start."""
        return str(self.state).rstrip() or "-"

    def _word(self, move: int) -> str:
        text = self.state.action_to_string(self.mover(), move)
        return re.sub(r"\s+", "", text.strip().replace(",", "-")) or "-"


class _Observed(_Spiel):
    """With OpenSpiel's observation tensor and planes for the seat, because its boards often are not rotated."""

    observation_shape: ClassVar[tuple[int, int, int]]
    num_players: ClassVar[int]

    def observe(self, seat: int) -> np.ndarray:
        height, width, _ = self.observation_shape
        shown = np.array(self.state.observation_tensor(seat), np.float32).reshape(-1, height, width)
        view = np.zeros(self.observation_shape, np.float32)
        view[:, :, : len(shown)] = shown.transpose(1, 2, 0)
        view[:, :, len(shown) + seat] = 1
        return view


def _load(name: str, parameters: dict[str, Any], id: str) -> Any:
    try:
        import pyspiel
    except ImportError as error:
        raise GameError(f"{id} needs the OpenSpiel library ({error}): install tabia[spiel].") from None
    known = pyspiel.registered_names()
    if name not in known:
        raise GameError(f"OpenSpiel has no game {name!r}. {did_you_mean(name, known)}")
    allowed = next(kind for kind in pyspiel.registered_games() if kind.short_name == name).parameter_specification
    for key in parameters:
        if key not in allowed:
            takes = did_you_mean(key, allowed) if allowed else "It takes none."
            raise GameError(f"spiel:{name} takes no parameter {quote(key)}. {takes}")
    try:
        return pyspiel.load_game(name, parameters)
    except Exception as error:  # OpenSpiel raises many kinds
        raise GameError(f"OpenSpiel cannot make {id}: {str(error).strip()}") from None


def _refuse(game: Any, id: str) -> None:
    kind = game.get_type()
    reasons = {
        "its seats move at the same time": kind.dynamics.name != "SEQUENTIAL",
        "it has hidden information": kind.information.name != "PERFECT_INFORMATION",
        "it has a single player": game.num_players() < 2,
        "it has chance, which this adapter does not support (for backgammon use pgx:backgammon)": (
            kind.chance_mode.name != "DETERMINISTIC"
        ),
    }
    found = [reason for reason, holds in reasons.items() if holds]
    if found:
        raise GameError(f"Tabia cannot play {id}: {'; '.join(found)}.")


def _shown(game: Any) -> tuple[int, int, int]:
    """Height, width and planes of OpenSpiel's observation tensor, whose order is planes, height, width."""
    shape = [1, 1, *game.observation_tensor_shape()]
    shape = shape[min(2, len(shape) - 3) :]
    return (int(np.prod(shape[1:-1])), int(shape[-1]), int(shape[0]))
