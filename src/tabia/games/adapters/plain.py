"""Reads the objects of a plain Python class as positions of a game, and checks them.

Everything here is NumPy and Python. A mistake in the user's class is a GameError with the file, the class, the method
and the moves; one that shows only in some positions is a RulesError.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from tabia.games.adapters import equality
from tabia.games.adapters.source import line_of
from tabia.games.errors import GameError, RulesError
from tabia.games.game import Symmetry

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
"""What a class needs; it may also have name, version, goal, score_range, observation_shape with observe(seat),
position(), symmetries, move_name(move), draw() and heuristic()."""
_NUMBERS = ("num_players", "num_actions", "max_moves")
NO_CHANCE = "a plain Python class cannot use chance; write a game of chance as array rules, a subclass of Game"
_TOO_LONG = "raise max_moves, or end the game by then"
Moves = tuple[int, ...]


class Facts(NamedTuple):
    """What a class says about one position; batch axes may come first."""

    legal: Any  # bool[A], all False once over
    mover: Any  # int32
    over: Any  # bool
    scores: Any  # float32[P], zeros before the end
    views: Any  # float32[P, H, W, C], the board as each seat sees it
    words: Any  # uint32[4], equal for equal positions


class Plain:
    """A user's class with its parameters and declarations."""

    def __init__(self, rules: type, path: str = "", parameters: Mapping[str, Any] | None = None) -> None:
        self.rules, self._file = rules, getattr(sys.modules.get(rules.__module__), "__file__", None)
        self.parameters = dict(parameters or {})
        self.place = f"{path}, class {rules.__name__}" if path else f"class {rules.__name__}"
        self.first = self.start()  # the numbers may depend on parameters, so they are read from an object
        self._refuse_gaps()
        self.num_players = self._whole("num_players")
        self.num_actions = self._whole("num_actions")
        self.max_moves = self._whole("max_moves")
        self.observes = hasattr(rules, "observe")
        self.shape = self._shape()
        self.incomparable = self._incomparable()

    def start(self) -> Any:
        """A new object, at the start of a game."""
        return self.call(self, (), "_new")

    def _new(self) -> Any:
        return self.rules(**self.parameters)

    def call(self, owner: Any, moves: Moves, method: str, *given: Any, into: Callable[[Any], Any] | None = None) -> Any:
        """Call a method after `moves` and convert the result; anything it raises becomes a RulesError."""
        try:
            result = getattr(owner, method)(*given)
            return result if into is None else into(result)
        except Exception as error:
            asked = f"{'__init__' if owner is self else method}({', '.join(map(repr, given))})"
            line = line_of(error, self._file)
            where = f" at line {line}" if line else ""
            raise self.fault(asked, moves, f"raised {type(error).__name__}{where} ({error})") from None

    def text(self, position: Any, moves: Moves, method: str, *given: Any) -> str:
        """Call a method that returns text."""
        found = self.call(position, moves, method, *given)
        if not isinstance(found, str):
            asked = f"{method}({', '.join(map(repr, given))})"
            raise self.fault(asked, moves, f"returned {found!r}; it must return text")
        return found

    def apply(self, position: Any, moves: Moves, move: int) -> None:
        """Play a move on a position, in place."""
        returned = self.call(position, moves, "apply", move)
        if isinstance(returned, self.rules) and returned is not position:
            found = "returned a new object; it must play the move on self, in place, and return nothing"
            raise self.fault(f"apply({move})", moves, found)

    def read(self, position: Any, moves: Moves, seats: Moves) -> Facts:
        """The facts of a position after `moves`, which `seats` played."""
        over = bool(self.call(position, moves, "is_over"))
        if over and not moves and not self._whole_numbers(self.call(position, moves, "legal_moves"), moves):
            raise self.fault("is_over()", moves, "is True before the first move, and legal_moves() is empty")
        view = self._view if self.observes else self._default_view
        mover = 0 if over else self._mover(position, moves)  # any seat will do after the end
        scores = self._scores(position, moves) if over else np.zeros(self.num_players, np.float32)
        return Facts(
            legal=np.zeros(self.num_actions, bool) if over else self._legal(position, moves),
            mover=np.int32(mover),
            over=np.bool_(over),
            scores=scores,
            views=np.stack([view(position, moves, seats, seat) for seat in range(self.num_players)]),
            words=self._words(position, moves, scores if over else mover),
        )

    def heuristic(self, position: Any, moves: Moves) -> np.ndarray:
        """float32[P]: the class's heuristic."""
        values = self.call(position, moves, "heuristic", into=_floats)
        if values.shape != (self.num_players,):
            raise self.fault("heuristic()", moves, f"returned {values.tolist()}, not {self.num_players} numbers")
        return values

    def fault(self, call: str, moves: Moves, found: str) -> RulesError:
        """The error for a mistake in the class."""
        after = f"after moves {' '.join(map(str, moves))}" if moves else "at the start"
        return RulesError(f"{self.place}: {call} {found}, {after}.")

    def _legal(self, position: Any, moves: Moves) -> np.ndarray:
        if len(moves) >= self.max_moves:
            raise self.fault("is_over()", moves, f"is False after max_moves = {self.max_moves} moves: {_TOO_LONG}")
        legal = self._whole_numbers(self.call(position, moves, "legal_moves"), moves)
        wrong = [move for move in legal if not 0 <= move < self.num_actions]
        if wrong or not legal:
            found = f"has {wrong[0]}, not 0 to {self.num_actions - 1}" if wrong else "is empty, but is_over() is False"
            raise self.fault("legal_moves()", moves, found)
        mask = np.zeros(self.num_actions, bool)
        mask[legal] = True
        return mask

    def _whole_numbers(self, returned: Any, moves: Moves) -> list[int]:
        try:
            listed = list(returned)
        except TypeError:
            raise self.fault("legal_moves()", moves, f"is {returned!r}, not a list of action numbers") from None
        numbers = []
        for move in listed:
            if isinstance(move, bool | np.bool_):
                raise self.fault("legal_moves()", moves, f"has {move}: list the legal action numbers, not a mask")
            try:
                numbers.append(operator.index(move))
            except TypeError:
                raise self.fault(
                    "legal_moves()",
                    moves,
                    f"has {move!r}, a {type(move).__name__}, but a move is a number from 0 to {self.num_actions - 1}: "
                    "put all moves of the game into a list and return their indices",
                ) from None
        return numbers

    def _words(self, position: Any, moves: Moves, outcome: Any) -> np.ndarray:
        """uint32[4]: equal for positions with the same outcome that are equal to the class.

        They are compared by position(), or else by attributes, or else by moves. The outcome is the mover, or the
        scores once the game is over, so position() need not include the turn.
        """
        if self.compares:
            value = self.call(position, moves, "position")
            try:
                return equality.words((outcome, value))
            except equality.Incomparable as error:
                allowed = "numbers, text, and lists, tuples, sets, dictionaries or arrays of them"
                raise self.fault("position()", moves, f"holds {error}; it may hold {allowed}") from None
        if self.incomparable:
            return equality.words(moves)
        try:
            return equality.words((outcome, equality.of_attributes(position).tobytes()))
        except equality.Incomparable as error:
            found = f"made objects that cannot be compared: {error}. Define position(), which distinguishes them"
            raise self.fault("apply(move)", moves, found) from None

    @property
    def compares(self) -> bool:
        """Whether the class defines position()."""
        return hasattr(self.rules, "position")

    def _incomparable(self) -> str:
        """Why objects of the class cannot be compared by their attributes; empty if they can."""
        try:
            equality.of_attributes(self.first)
        except equality.Incomparable as error:
            return str(error)
        return ""

    def symmetries(self) -> list[Symmetry]:
        """The symmetries of the class, without the identity."""
        listed = getattr(self.first, "symmetries", ())
        return [self._symmetry(entry) for entry in (listed() if callable(listed) else listed)]

    def _symmetry(self, entry: Any) -> Symmetry:
        if not self.observes:  # the default view has one cell for each action
            actions = _permutation(entry)
            return Symmetry(np.argsort(actions), actions)
        try:
            cells, actions = map(_permutation, entry)
        except (TypeError, ValueError):
            raise GameError(f"{self.place}: a symmetry is a pair of lists, (cells, actions), not {entry!r}.") from None
        return Symmetry(cells, actions)

    def _mover(self, position: Any, moves: Moves) -> int:
        mover = self.call(position, moves, "mover")
        if mover not in range(self.num_players):
            raise self.fault("mover()", moves, f"is {mover!r}, not a seat from 0 to {self.num_players - 1}")
        return int(mover)

    def _scores(self, position: Any, moves: Moves) -> np.ndarray:
        returned, scores = self.call(position, moves, "scores", into=lambda found: (found, _floats(found)))
        if scores.shape != (self.num_players,) or not np.isfinite(scores).all():
            raise self.fault("scores()", moves, f"is {returned!r}, not {self.num_players} finite numbers")
        return scores

    def _view(self, position: Any, moves: Moves, seats: Moves, seat: int) -> np.ndarray:
        planes = self.call(position, moves, "observe", seat, into=_floats)
        if planes.shape != self.shape:
            raise self.fault(f"observe({seat})", moves, f"has shape {planes.shape}, not observation_shape {self.shape}")
        return planes

    def _default_view(self, position: Any, moves: Moves, seats: Moves, seat: int) -> np.ndarray:
        """How often each seat played each move, me first, and how recently (1, 1/2, 1/3, ...)."""
        view = np.zeros(self.shape, np.float32)
        for number, (move, by) in enumerate(zip(moves, seats, strict=True)):
            view[0, move, (by - seat) % self.num_players] += 1
            view[0, move, -1] = 1 / (len(moves) - number)
        return view

    def _refuse_gaps(self) -> None:
        has = {name: hasattr(self.first if name in _NUMBERS else self.rules, name) for name in REQUIRED}
        missing = [text for name, text in REQUIRED.items() if not has[name]]
        if missing:
            listed = "\n".join(f"    {text}" for text in missing)
            raise GameError(f"{self.place}: a game also needs\n{listed}")
        if getattr(self.first, "chance", False):
            raise GameError(f"{self.place}: {NO_CHANCE}.")
        goal = getattr(self.first, "goal", "")
        if not isinstance(goal, str):
            raise GameError(f"{self.place}: goal is {goal!r}; it must be text, one sentence for all seats.")
        if hasattr(self.rules, "observe") != hasattr(self.first, "observation_shape"):
            raise GameError(
                f"{self.place}: observe(seat) and observation_shape belong together; one of them is missing."
            )

    def _whole(self, name: str) -> int:
        number = getattr(self.first, name)
        if not isinstance(number, int | np.integer) or number < 1:
            raise GameError(f"{self.place}: {name} is {number!r}; expected a whole number of at least 1.")
        return int(number)

    def _shape(self) -> tuple[int, int, int]:
        if not self.observes:
            return (1, self.num_actions, self.num_players + 1)
        shape = tuple(self.first.observation_shape)
        if len(shape) != 3:
            raise GameError(f"{self.place}: observation_shape is {shape}; it needs height, width and planes.")
        return (int(shape[0]), int(shape[1]), int(shape[2]))


def _permutation(entry: Any) -> np.ndarray:
    return np.array([operator.index(number) for number in entry])


def _floats(values: Any) -> np.ndarray:
    return np.asarray(values, np.float32)
