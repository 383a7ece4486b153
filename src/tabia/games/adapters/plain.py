"""What a plain Python class must have to be a game, and the reading of one of its objects, checked.

Everything here is NumPy and Python. Whatever the user's class does wrong is said as a GameError that names the
file, the class, the method and the moves.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from tabia.games.errors import GameError

REQUIRED = {
    "num_players": "num_players = 2  # how many seats",
    "num_actions": "num_actions = 12  # moves are numbers from 0 to num_actions - 1",
    "max_moves": "max_moves = 12  # no game is longer",
    "legal_moves": "def legal_moves(self) -> list[int]",
    "apply": "def apply(self, move: int) -> None  # plays for the mover, in place",
    "mover": "def mover(self) -> int  # the seat to move, from 0",
    "is_over": "def is_over(self) -> bool",
    "scores": "def scores(self) -> list[float]  # one per seat, asked once the game is over",
}
"""What every class has; it may also have name, version, goal, score_range, observation_shape with observe(seat),
move_name(move), draw() and heuristic()."""
NO_CHANCE = "a plain Python class cannot draw lots; a game of chance is written as array rules, a subclass of Game"
Moves = tuple[int, ...]


class Facts(NamedTuple):
    """What a class says of one position; there may be batch axes in front."""

    legal: Any  # bool[A], all False once over
    mover: Any  # int32
    over: Any  # bool
    scores: Any  # float32[P], zeros before the end
    views: Any  # float32[P, H, W, C], the board as each seat sees it


class Plain:
    """A user's class, with what it declares."""

    def __init__(self, rules: type, path: str = "") -> None:
        self.rules, self._file = rules, getattr(sys.modules.get(rules.__module__), "__file__", None)
        self.place = f"{path}, class {rules.__name__}" if path else f"class {rules.__name__}"
        self._refuse_gaps()
        self.num_players = self._whole("num_players")
        self.num_actions = self._whole("num_actions")
        self.max_moves = self._whole("max_moves")
        self.observes = hasattr(rules, "observe")
        self.shape = self._shape()

    def start(self) -> Any:
        return self.call(self, (), "rules")

    def call(self, owner: Any, moves: Moves, method: str, *given: Any, into: Callable[[Any], Any] | None = None) -> Any:
        """What a method says after `moves`, converted; whatever it raises is said as a sentence."""
        try:
            said = getattr(owner, method)(*given)
            return said if into is None else into(said)
        except Exception as error:
            asked = f"{'__init__' if owner is self else method}({', '.join(map(repr, given))})"
            theirs = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == self._file]
            line = f" at line {theirs[-1].lineno}" if theirs else ""
            raise self.fault(asked, moves, f"raised {type(error).__name__}{line} ({error})") from None

    def read(self, position: Any, moves: Moves, seats: Moves) -> Facts:
        """Everything the class says of a position that `seats` reached by `moves`."""
        over = bool(self.call(position, moves, "is_over"))
        view = self._view if self.observes else self._default_view
        return Facts(
            legal=np.zeros(self.num_actions, bool) if over else self._legal(position, moves),
            mover=np.int32(0 if over else self._mover(position, moves)),  # after the end any seat will do
            over=np.bool_(over),
            scores=self._scores(position, moves) if over else np.zeros(self.num_players, np.float32),
            views=np.stack([view(position, moves, seats, seat) for seat in range(self.num_players)]),
        )

    def heuristic(self, position: Any, moves: Moves) -> np.ndarray:
        judged = self.call(position, moves, "heuristic", into=_floats)
        if judged.shape != (self.num_players,):
            raise self.fault("heuristic()", moves, f"gave {judged.tolist()}, not {self.num_players} numbers")
        return judged

    def fault(self, call: str, moves: Moves, found: str) -> GameError:
        """The sentence for something wrong in the class."""
        after = f"after moves {' '.join(map(str, moves))}" if moves else "at the start"
        return GameError(f"{self.place}: {call} {found}, {after}.")

    def _legal(self, position: Any, moves: Moves) -> np.ndarray:
        if len(moves) >= self.max_moves:
            raise self.fault("is_over()", moves, f"is False after max_moves = {self.max_moves} moves: raise max_moves")
        legal = self.call(position, moves, "legal_moves", into=_whole_numbers)
        wrong = [move for move in legal if not 0 <= move < self.num_actions]
        if wrong or not legal:
            found = f"has {wrong[0]}, not 0 to {self.num_actions - 1}" if wrong else "is empty, but is_over() is False"
            raise self.fault("legal_moves()", moves, found)
        mask = np.zeros(self.num_actions, bool)
        mask[legal] = True
        return mask

    def _mover(self, position: Any, moves: Moves) -> int:
        mover = self.call(position, moves, "mover")
        if mover not in range(self.num_players):
            raise self.fault("mover()", moves, f"is {mover!r}, not a seat from 0 to {self.num_players - 1}")
        return int(mover)

    def _scores(self, position: Any, moves: Moves) -> np.ndarray:
        scores = self.call(position, moves, "scores", into=_floats)
        if scores.shape != (self.num_players,) or not np.isfinite(scores).all():
            raise self.fault("scores()", moves, f"is {scores.tolist()}, not {self.num_players} finite numbers")
        return scores

    def _view(self, position: Any, moves: Moves, seats: Moves, seat: int) -> np.ndarray:
        planes = self.call(position, moves, "observe", seat, into=_floats)
        if planes.shape != self.shape:
            raise self.fault(f"observe({seat})", moves, f"has shape {planes.shape}, not observation_shape {self.shape}")
        return planes

    def _default_view(self, position: Any, moves: Moves, seats: Moves, seat: int) -> np.ndarray:
        """How often each seat played each move, me first, and how lately it was played (1, 1/2, 1/3, ...)."""
        view = np.zeros(self.shape, np.float32)
        for number, (move, by) in enumerate(zip(moves, seats, strict=True)):
            view[0, move, (by - seat) % self.num_players] += 1
            view[0, move, -1] = 1 / (len(moves) - number)
        return view

    def _refuse_gaps(self) -> None:
        missing = [text for name, text in REQUIRED.items() if not hasattr(self.rules, name)]
        if missing:
            listed = "\n".join(f"    {text}" for text in missing)
            raise GameError(f"{self.place}: to be a game it still needs\n{listed}")
        if getattr(self.rules, "chance", False):
            raise GameError(f"{self.place}: {NO_CHANCE}.")
        if hasattr(self.rules, "observe") != hasattr(self.rules, "observation_shape"):
            raise GameError(f"{self.place}: observe(seat) and observation_shape go together; one of them is missing.")

    def _whole(self, name: str) -> int:
        number = getattr(self.rules, name)
        if not isinstance(number, int) or number < 1:
            raise GameError(f"{self.place}: {name} is {number!r}; it must be a whole number from 1, set in the class.")
        return number

    def _shape(self) -> tuple[int, int, int]:
        if not self.observes:
            return (1, self.num_actions, self.num_players + 1)
        shape = tuple(self.rules.observation_shape)  # type: ignore[attr-defined]
        if len(shape) != 3:
            raise GameError(f"{self.place}: observation_shape is {shape}; it needs height, width and planes.")
        return (int(shape[0]), int(shape[1]), int(shape[2]))


def _whole_numbers(said: Iterable[Any]) -> list[int]:
    return [int(move) for move in said]


def _floats(said: Any) -> np.ndarray:
    return np.asarray(said, np.float32)
