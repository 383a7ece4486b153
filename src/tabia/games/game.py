"""The protocol every game speaks: rules as pure functions over one state.

A game is a frozen, hashable object; a state is a pytree of arrays with fixed shapes. Rules are written
for one state, without a batch axis, and callers `vmap` them. Axis letters: A actions, P seats, H x W x C
the planes of an observation.
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
Cell = tuple[int, int]  # row and column of a board as it is drawn, row 0 on top


@dataclasses.dataclass(frozen=True, eq=False)
class Symmetry:
    """A turning of the board that the rules cannot tell from the original.

    The turned observation shows at cell i what the original showed at `cells[i]`; the turned game plays
    `actions[a]` where the original plays a.
    """

    cells: np.ndarray  # [H * W]
    actions: np.ndarray  # [A]

    def observation(self, planes: Array) -> Array:
        """Turn an observation [H, W, C]."""
        height, width, channels = planes.shape
        return planes.reshape(height * width, channels)[self.cells].reshape(planes.shape)

    def policy(self, policy: Array) -> Array:
        """Turn anything indexed by action, such as a policy or a legal mask [A]."""
        return jnp.zeros_like(policy).at[self.actions].set(policy)


class Game(abc.ABC):
    """The rules of one game.

    Subclasses are frozen dataclasses whose fields are the game's parameters. Laws every game obeys are
    listed, and checked for any game, by `tabia.games.laws.check`.
    """

    # What the game is. Games with fixed numbers set class attributes; others compute properties.

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """The first part of the id, as users type it."""

    @property
    def version(self) -> int:
        """Raised whenever rules, actions or observations change, so that old records are never misread."""
        return 1

    @property
    @abc.abstractmethod
    def num_players(self) -> int: ...

    @property
    @abc.abstractmethod
    def num_actions(self) -> int: ...

    @property
    @abc.abstractmethod
    def observation_shape(self) -> tuple[int, int, int]:
        """Height, width and planes of an observation."""

    @property
    @abc.abstractmethod
    def max_moves(self) -> int:
        """No game is longer than this many steps."""

    @property
    def score_range(self) -> tuple[float, float]:
        """The lowest and the highest score a seat can end with."""
        return (-1.0, 1.0)

    @property
    def chance(self) -> bool:
        """Whether `init` or `step` draws from its key."""
        return False

    @property
    def id(self) -> str:
        """The text that `tabia.games.make` turns back into this game: the name and what differs from the defaults."""
        parameters = ",".join(
            f"{field.name}={getattr(self, field.name)}"
            for field in dataclasses.fields(self)  # type: ignore[arg-type]
            if getattr(self, field.name) != field.default
        )
        return f"{self.name}:{parameters}" if parameters else self.name

    @property
    def definition(self) -> str:
        """A digest of the code of a game from a user's file; empty for other games, whose `version` is enough."""
        return ""

    @property
    def title(self) -> str:
        """One line for people."""
        return (type(self).__doc__ or self.name).strip().splitlines()[0]

    # The rules.

    @abc.abstractmethod
    def init(self, key: Key) -> State:
        """The start of a game."""

    @abc.abstractmethod
    def step(self, state: State, action: Array, key: Key | None = None) -> State:
        """Play `action` for the mover. An illegal action, or any action after the end, changes nothing."""

    @abc.abstractmethod
    def legal(self, state: State) -> Array:
        """bool[A]: the actions open to the mover; none once the game is over."""

    @abc.abstractmethod
    def mover(self, state: State) -> Array:
        """int32: the seat to move, 0 to P - 1. A seat may move several times running."""

    @abc.abstractmethod
    def over(self, state: State) -> Array:
        """bool: whether the game has ended."""

    @abc.abstractmethod
    def scores(self, state: State) -> Array:
        """float32[P]: each seat's result. Before the end a seat has 0 unless its score is already settled."""

    @abc.abstractmethod
    def observe(self, state: State, seat: Array | None = None) -> Array:
        """float32[H, W, C]: the board as `seat` (the mover, if not given) sees it: me, next, next after."""

    # What people read.

    def move_name(self, action: int, state: State | None = None) -> str:
        """Human notation. With a state the name may depend on it (whose move, which capture)."""
        return str(int(action))

    def parse_move(self, text: str, state: State | None = None) -> int:
        """The inverse of `move_name`; raises IllegalMove, quoting the text, if no action has that name."""
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
        """How `draw` marks a seat's pieces, such as X; empty where nobody has said."""
        return ""

    def goal(self, seat: int) -> str:
        """What a seat has to do to win, in one sentence."""
        return "Finish with a higher score than the others."

    def ending(self, state: State) -> str:
        """Why a game that is over has ended, in a few words; empty where nobody has said."""
        return ""

    def winning_line(self, state: State) -> tuple[Cell, ...]:
        """The cells of the lines that won, in order; empty before that, and for games without such lines."""
        return ()

    def moves_left(self, state: State) -> int | None:
        """How many more moves, of all seats together, a limit allows; None for games without a limit."""
        return None

    # What search and training may use.

    @cached_property
    def symmetries(self) -> tuple[Symmetry, ...]:
        """All symmetries, the identity first."""
        return (self.identity,)

    @cached_property
    def identity(self) -> Symmetry:
        height, width, _ = self.observation_shape
        return Symmetry(np.arange(height * width), np.arange(self.num_actions))

    def position(self, state: State) -> Array:
        """uint32[K]: words that are equal only where two states have the same future."""
        leaves = [jnp.atleast_1d(jnp.asarray(leaf)).reshape(-1) for leaf in jax.tree.leaves(state)]
        return jnp.concatenate([_words(leaf) for leaf in leaves])

    @property
    def position_note(self) -> str:
        """What a user should know about `position` if too many positions are found; usually nothing."""
        return ""

    def heuristic(self, state: State) -> Array:
        """float32[P] in [-1, 1]: the game's own rough judgment for each seat, where it has one."""
        raise GameError(f"{self.id} has no heuristic of its own; games with one: see `tabia games`.")

    @property
    def has_heuristic(self) -> bool:
        return type(self).heuristic is not Game.heuristic

    def scale(self, scores: Array) -> Array:
        """Scores on the game's own scale, brought to [-1, 1], where search and networks work."""
        low, high = self.score_range
        return (scores - low) * (2.0 / (high - low)) - 1.0


def _words(leaf: Array) -> Array:
    if leaf.dtype == jnp.float32:
        return jax.lax.bitcast_convert_type(leaf, jnp.uint32)
    return leaf.astype(jnp.uint32)


def square_symmetries(size: int, action_of_cell: Callable[[np.ndarray], np.ndarray]) -> tuple[Symmetry, ...]:
    """The eight turns and mirrors of a size x size board, the identity first.

    `action_of_cell` makes the action permutation from the cell permutation (where each cell goes).
    """
    board = np.arange(size * size).reshape(size, size)
    turned = [np.rot90(side, quarter).reshape(-1) for side in (board, board.T) for quarter in range(4)]
    return tuple(Symmetry(cells, action_of_cell(np.argsort(cells))) for cells in turned)
