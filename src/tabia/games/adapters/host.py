"""Any plain Python class as a game: its objects live on the host, and a state is the list of moves played.

A class needs three numbers and five methods (`plain.REQUIRED`), and no JAX. Each `step` makes one host callback for a
whole batch of move lists: the host finds the object before the move, copies it, plays the move and reads what the
class says about it. Objects are cached; a missing one is replayed from its moves. Chance is not supported: the same
moves must lead to the same position.

Parameters are the arguments of `__init__`. Two positions are equal if position() of the class returns equal values or,
without that method, if all attributes of the objects are equal.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.games import drawing
from tabia.games.adapters.objects import Objects
from tabia.games.adapters.plain import Facts, Moves, Plain
from tabia.games.adapters.source import parameters_text
from tabia.games.game import Game, Key, Symmetry


class State(NamedTuple):
    """The moves played, and what the class says about the position."""

    played: Array  # int32[max_moves], padded with -1
    length: Array  # int32, the number of moves
    facts: Facts


@dataclass(frozen=True)
class HostGame(Game):
    """A game written as a plain Python class."""

    rules: type
    path: str = ""  # its file, as in the id
    parameters: tuple[tuple[str, Any], ...] = ()  # those that are not defaults
    code: str = ""  # a digest of the code in the file
    plain: Plain = field(init=False, repr=False, compare=False)
    objects: Objects = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "plain", Plain(self.rules, self.path, dict(self.parameters)))
        object.__setattr__(self, "objects", Objects(self.plain))
        self.objects.try_out()

    @property
    def name(self) -> str:
        return f"{self.path}:{self.rules.__name__}" if self.path else getattr(self.rules, "name", self.rules.__name__)

    @property
    def id(self) -> str:
        return f"{self.name}:{parameters_text(dict(self.parameters))}" if self.parameters else self.name

    @property
    def definition(self) -> str:
        return self.code

    @property
    def title(self) -> str:
        written = (self.rules.__doc__ or "").strip()
        return written.splitlines()[0] if written else self.rules.__name__

    @property
    def version(self) -> int:
        return int(getattr(self.plain.first, "version", 1))

    @property
    def num_players(self) -> int:
        return self.plain.num_players

    @property
    def num_actions(self) -> int:
        return self.plain.num_actions

    @property
    def max_moves(self) -> int:
        return self.plain.max_moves

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        return self.plain.shape

    @property
    def score_range(self) -> tuple[float, float]:
        low, high = getattr(self.plain.first, "score_range", (-1.0, 1.0))
        return (float(low), float(high))

    @property
    def calls_python(self) -> bool:
        return True

    @property
    def has_heuristic(self) -> bool:
        return hasattr(self.rules, "heuristic")

    def init(self, key: Key) -> State:
        played = jnp.full(self.max_moves, -1, jnp.int32)
        return State(played, jnp.int32(0), jax.tree.map(jnp.asarray, self._start))

    def step(self, state: State, action: Array, key: Key | None = None) -> State:
        action = jnp.asarray(action, jnp.int32)
        moved = jnp.any((jnp.arange(self.num_actions) == action) & state.facts.legal)
        # An illegal action asks for the same position again, so the user's class never sees it.
        here = (jnp.arange(self.max_moves) == state.length) & moved
        played, length = jnp.where(here, action, state.played), state.length + moved
        return State(played, length, self._ask(self.objects.facts, self._start, played, length))

    def legal(self, state: State) -> Array:
        return state.facts.legal

    def mover(self, state: State) -> Array:
        return state.facts.mover

    def over(self, state: State) -> Array:
        return state.facts.over

    def scores(self, state: State) -> Array:
        return state.facts.scores

    def observe(self, state: State, seat: Array | None = None) -> Array:
        return state.facts.views[state.facts.mover if seat is None else seat]

    def heuristic(self, state: State) -> Array:
        if not self.has_heuristic:
            return super().heuristic(state)
        return self._ask(self.objects.heuristics, np.zeros(self.num_players, np.float32), state.played, state.length)

    def position(self, state: State) -> Array:
        """uint32[4]: equal for equal positions."""
        return state.facts.words

    @property
    def position_note(self) -> str:
        if self.plain.compares:
            return ""
        named, define = self.rules.__name__, "Define position(), which returns what distinguishes positions"
        if self.plain.incomparable:
            why = f"objects of {named} cannot be compared: {self.plain.incomparable}"
            return f"Move sequences were counted, because {why}. {define}."
        held = ", ".join(vars(self.plain.first))
        return (
            f"Positions of {named} were compared by all attributes ({held}). If one of them does not matter for the "
            f"rest of the game, such as a log of moves: {define[0].lower()}{define[1:]}."
        )

    @cached_property
    def symmetries(self) -> tuple[Symmetry, ...]:
        return (self.identity, *self.plain.symmetries())

    def object(self, state: State) -> Any:
        """A copy of the class's own object for one position."""
        return self.objects.copy(self._moves(state))

    def move_name(self, action: int, state: State | None = None) -> str:
        """The class's own `move_name` in a position; otherwise the action's number."""
        if state is None or not hasattr(self.rules, "move_name"):
            return str(int(action))
        return self.objects.text(self._moves(state), "move_name", int(action))

    def draw(self, state: State) -> str:
        moves = self._moves(state)
        if hasattr(self.rules, "draw"):
            return self.objects.text(moves, "draw")
        listed = " ".join(str(move) for move in moves) or "none"
        return f"moves played: {listed}\n{self._caption(state)}"

    def svg(self, state: State) -> str:
        return drawing.text_svg(self.draw(state))

    def goal(self, seat: int) -> str:
        """The class's own `goal`, one sentence for all seats, if it has one."""
        return getattr(self.plain.first, "goal", "") or super().goal(seat)

    def _caption(self, state: State) -> str:
        if bool(state.facts.over):
            return "over, scores " + " ".join(f"{score:g}" for score in np.asarray(state.facts.scores))
        return f"seat {int(state.facts.mover) + 1} to move"

    def _ask(self, question: Any, answer: Any, played: Array, length: Array) -> Any:
        """Call the host once, for one position or a batch of them."""
        if not isinstance(played, jax.core.Tracer):  # the caller then gets the errors of the user's class directly
            return jax.tree.map(jnp.asarray, question(np.asarray(played), np.asarray(length)))
        shapes = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), answer)
        return jax.pure_callback(question, shapes, played, length, vmap_method="broadcast_all")

    def _moves(self, state: State) -> Moves:
        return tuple(int(move) for move in np.asarray(state.played)[: int(state.length)])

    @cached_property
    def _start(self) -> Facts:
        return self.objects.facts(np.full(self.max_moves, -1, np.int32), np.int32(0))
