"""The protocol of games: rules as pure functions of one state.

A game is a frozen, hashable object; a state is a pytree of arrays with fixed shapes. Rules are written for one state,
without a batch axis; callers `vmap` them. Axis letters: A actions, P seats, H x W x C the planes of an observation.
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.games import drawing
from tabia.games.errors import GameError, IllegalMove

State = Any  # a pytree of arrays; each game defines its own
Key = Array  # a JAX random key
Cell = tuple[int, int]  # row and column of a drawn board, row 0 on top


@dataclasses.dataclass(frozen=True, eq=False)
class Symmetry:
    """A rotation or reflection of the board that leaves the rules unchanged.

    The transformed observation shows at cell i what the original shows at `cells[i]`; the transformed game plays
    `actions[a]` where the original plays a.
    """

    cells: np.ndarray  # [H * W]
    actions: np.ndarray  # [A]

    def observation(self, planes: Array) -> Array:
        """Transform an observation [H, W, C]."""
        height, width, channels = planes.shape
        return planes.reshape(height * width, channels)[self.cells].reshape(planes.shape)

    def policy(self, policy: Array) -> Array:
        """Transform anything indexed by action, such as a policy or a legal mask [A]."""
        return jnp.zeros_like(policy).at[self.actions].set(policy)


class Game(abc.ABC):
    """The rules of one game.

    Subclasses are frozen dataclasses whose fields are the game's parameters. `tabia.games.laws.check` lists the laws
    that every game obeys and checks them on any game.
    """

    # Declarations. Games with fixed numbers set class attributes; others compute properties.

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """The first part of the id."""

    @property
    def version(self) -> int:
        """Increased whenever rules, actions or observations change, so that old records are not misread."""
        return 1

    @property
    @abc.abstractmethod
    def num_players(self) -> int:
        """The number of seats."""

    @property
    @abc.abstractmethod
    def num_actions(self) -> int:
        """The number of actions, legal or not."""

    @property
    @abc.abstractmethod
    def observation_shape(self) -> tuple[int, int, int]:
        """Height, width and planes of an observation."""

    @property
    def plane_names(self) -> tuple[str, ...]:
        """What each plane of an observation shows; numbers where the game does not say."""
        planes = self.observation_shape[2]
        if planes == self.num_players:
            return tuple(f"pieces of {relative_seat(seat)}" for seat in range(planes))
        return tuple(f"plane {number} of {planes}" for number in range(1, planes + 1))

    @property
    @abc.abstractmethod
    def max_moves(self) -> int:
        """The most steps that a game can have."""

    @property
    def score_range(self) -> tuple[float, float]:
        """The lowest and the highest score a seat can end with."""
        return (-1.0, 1.0)

    @property
    def chance(self) -> bool:
        """Whether `init` or `step` uses its key."""
        return False

    @property
    def calls_python(self) -> bool:
        """Whether compiled rules call ordinary Python; their searches then run in one thread."""
        return False

    def certain(self, state: State) -> Array:
        """Whether no move of this position uses its key; a search then samples no outcomes. False if unknown."""
        return jnp.bool_(not self.chance)

    @property
    def id(self) -> str:
        """The text from which `tabia.games.make` makes this game: its name and the parameters that are not defaults."""
        parameters = ",".join(
            f"{field.name}={getattr(self, field.name)}"
            for field in dataclasses.fields(self)  # type: ignore[arg-type]
            if getattr(self, field.name) != field.default
        )
        return f"{self.name}:{parameters}" if parameters else self.name

    @property
    def definition(self) -> str:
        """A digest of the code, for a game from a user's file; empty for others, which have a `version`."""
        return ""

    @property
    def title(self) -> str:
        """A one-line description."""
        return (type(self).__doc__ or self.name).strip().splitlines()[0]

    # The rules.

    @abc.abstractmethod
    def init(self, key: Key) -> State:
        """The start of a game."""

    @abc.abstractmethod
    def step(self, state: State, action: Array, key: Key | None = None) -> State:
        """Play `action` for the mover; an illegal action, or any action after the end, changes nothing."""

    @abc.abstractmethod
    def legal(self, state: State) -> Array:
        """bool[A]: the mover's legal actions; none once the game is over."""

    @abc.abstractmethod
    def mover(self, state: State) -> Array:
        """int32: the seat to move, 0 to P - 1. A seat may move several times in a row."""

    @abc.abstractmethod
    def over(self, state: State) -> Array:
        """bool: whether the game has ended."""

    @abc.abstractmethod
    def scores(self, state: State) -> Array:
        """float32[P]: each seat's result; 0 before the end, unless a seat's score is already final."""

    @abc.abstractmethod
    def observe(self, state: State, seat: Array | None = None) -> Array:
        """float32[H, W, C]: the board as `seat` (default: the mover) sees it: its own pieces first, then the next's."""

    # Notation and drawing.

    def move_name(self, action: int, state: State | None = None) -> str:
        """The name of a move; with a state it may depend on the position, such as the mover or a capture."""
        return str(int(action))

    def parse_move(self, text: str, state: State | None = None) -> int:
        """The inverse of `move_name`; IllegalMove if no action, or with a state no legal one, has that name."""
        wanted = text.strip().lower()
        for action in self._actions_of_interest(state):
            if self.move_name(action, state).lower() == wanted:
                return int(action)
        raise IllegalMove(self, text, state)

    def _actions_of_interest(self, state: State | None) -> np.ndarray:
        return np.arange(self.num_actions) if state is None else np.flatnonzero(np.asarray(self.legal(state)))

    def draw(self, state: State) -> str:
        """The position as text."""
        return drawing.planes_text(np.asarray(self.observe(state)), f"seat {int(self.mover(state)) + 1} to move")

    def svg(self, state: State) -> str:
        """The position as an SVG document."""
        return drawing.text_svg(self.draw(state))

    def piece(self, seat: int) -> str:
        """How `draw` marks a seat's pieces, such as X; empty if unknown."""
        return ""

    def goal(self, seat: int) -> str:
        """How a seat wins, in one sentence."""
        return "Finish with a higher score than the others."

    def ending(self, state: State) -> str:
        """Why the game ended, in a few words; empty if unknown."""
        return ""

    def winning_line(self, state: State) -> tuple[Cell, ...]:
        """The cells of all winning lines, in order; empty before the end and for games without lines."""
        return ()

    def moves_left(self, state: State) -> int | None:
        """The number of moves, of all seats together, before a move limit ends the game; None without a limit."""
        return None

    # For search and training.

    @cached_property
    def symmetries(self) -> tuple[Symmetry, ...]:
        """All symmetries, the identity first."""
        return (self.identity,)

    @cached_property
    def identity(self) -> Symmetry:
        """The symmetry that changes nothing."""
        height, width, _ = self.observation_shape
        return Symmetry(np.arange(height * width), np.arange(self.num_actions))

    def position(self, state: State) -> Array:
        """uint32[K]: words that are equal only for states with the same future."""
        leaves = [jnp.atleast_1d(jnp.asarray(leaf)).reshape(-1) for leaf in jax.tree.leaves(state)]
        return jnp.concatenate([_words(leaf) for leaf in leaves])

    @property
    def position_note(self) -> str:
        """A note for a user whose game has too many positions; usually empty."""
        return ""

    def heuristic(self, state: State) -> Array:
        """float32[P] in [-1, 1]: a rough estimate of each seat's result, if the game has one."""
        raise GameError(f"{self.id} has no heuristic; `tabia games --json` shows the games that have one.")

    @property
    def has_heuristic(self) -> bool:
        """Whether the game has a heuristic."""
        return type(self).heuristic is not Game.heuristic

    def scale(self, scores: Array) -> Array:
        """Scores scaled to [-1, 1], the range of search and networks."""
        low, high = self.score_range
        return (scores - low) * (2.0 / (high - low)) - 1.0


def relative_seat(distance: int) -> str:
    """The seat this many places after the mover, in words.

    >>> [relative_seat(distance) for distance in range(3)]
    ['the mover', 'the next seat', 'the seat 2 after the mover']
    """
    return ("the mover", "the next seat")[distance] if distance < 2 else f"the seat {distance} after the mover"


def _words(leaf: Array) -> Array:
    if leaf.dtype == jnp.float32:
        return jax.lax.bitcast_convert_type(leaf, jnp.uint32)
    return leaf.astype(jnp.uint32)


def square_symmetries(size: int, action_of_cell: Callable[[np.ndarray], np.ndarray]) -> tuple[Symmetry, ...]:
    """The eight rotations and reflections of a size x size board, the identity first.

    `action_of_cell` turns the permutation of cells (where each cell goes) into that of actions.
    """
    board = np.arange(size * size).reshape(size, size)
    turned = [np.rot90(side, quarter).reshape(-1) for side in (board, board.T) for quarter in range(4)]
    return tuple(Symmetry(cells, action_of_cell(np.argsort(cells))) for cells in turned)


def result_types(game: Game) -> dict[str, str]:
    """The dtype and shape that each method must return, such as `bool[7]`.

    >>> from tabia.games import make
    >>> result_types(make("connect3"))["scores"]
    'float32[2]'
    """
    seats = [game.num_players]
    return {
        "legal": f"bool{[game.num_actions]}",
        "mover": "int32[]",
        "over": "bool[]",
        "scores": f"float32{seats}",
        "observe": f"float32{[*game.observation_shape]}",
        **({"heuristic": f"float32{seats}"} if game.has_heuristic else {}),
    }
