"""Chinese checkers: Schulte's game for three seats on 37 fields, and games on the star of 121 fields.

                 i1                 Three seats on 37 fields: seat 0 starts on the six fields c3 c4 c5 b1 b2 a1 and
               h1  h2               goes up to g3 g4 g5 h1 h2 i1; seat 1 starts at the upper left (g1), seat 2 at
     g1  g2  g3  g4  g5  g6  g7     the upper right (g7). Each goes to the opposite corner; turns go clockwise.
       f1  f2  f3  f4  f5  f6
         e1  e2  e3  e4  e5         The mover always sees the board rotated so that it plays upward, and its actions
       d1  d2  d3  d4  d5  d6       are those of a seat at the bottom (`jumps` counts them: 320 here). A chain of
     c1  c2  c3  c4  c5  c6  c7     jumps of any length is one action. Names such as c3-d3 always refer to the board
               b1  b2               as drawn here. `star` has the numbers of the fields.
                 a1

On 37 fields (Schulte 2021, sections 2 and 7) a piece steps to a free neighbor, or jumps over any piece to the free
field behind it, and on from there. It may not enter the points of the star that are neither its start nor its end
zone, and may not leave the end zone; this holds for every landing of a chain of jumps. A seat passes only if it has no
other move. First place, 3 points: all own pieces are in the end zone. After that, second place, 1 point: the end zone
is full, with anyone's pieces; two seats may share it. Then the game ends, or after 40 moves per seat.

On 121 fields, for 2, 3, 4 or 6 seats of ten pieces, the rules are OpenSpiel's: all fields are open to all, pieces may
leave the end zone, the first seat to fill it with its own pieces wins P - 1 points and the others lose 1 each; after
`moves_each` moves per seat all have 0. One difference: OpenSpiel plays a chain jump by jump. `rules=people` changes
three things: pieces do not leave the end zone, a full end zone with one own piece is enough, and play continues for
places, without the seats that have finished. `rules` has all three rule sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.core.text import plain
from tabia.games import drawing
from tabia.games.chinese_checkers.jumps import Moves, find_legal, mirrored, moves, shortest_jumps
from tabia.games.chinese_checkers.rules import OpenSpiel, People, Rules, Schulte, pieces
from tabia.games.chinese_checkers.star import CORNERS, DIRECTIONS, Seating, Star, seating, star
from tabia.games.errors import GameError
from tabia.games.game import Game, Key, Symmetry, relative_seat

_SEATS = {37: (3,), 121: tuple(CORNERS)}
_MOVES_EACH = {37: 40, 121: 200}
_COLORS = ("red", "amber", "green", "blue", "violet", "black")  # of drawing.SEAT_COLORS


class State(NamedTuple):
    """The board, and what follows from it."""

    board: Array  # int8[F] the seat on each field, -1 where it is free
    moves: Array  # int32, turns so far, including passes and the skipped turns of seats that have finished
    settled: Array  # float32[P] the final scores, 0 for seats without one
    legal: Array  # uint8[A / 8] the legal actions, eight per byte: searches and replay buffers hold many states


@dataclass(frozen=True)
class ChineseCheckers(Game):
    """Chinese checkers on a star of 37 or 121 fields."""

    name = "chinese-checkers"
    fields: int = 37
    players: int = 3
    moves_each: int | None = None  # 40 on 37 fields, 200 on 121
    rules: str | None = None  # Schulte's on 37 fields, OpenSpiel's on 121, or "people"

    def __post_init__(self) -> None:
        if self.fields not in _SEATS:
            raise GameError(f"chinese-checkers needs fields=37 or 121, not {self.fields}.")
        if self.players not in _SEATS[self.fields]:
            allowed = "; ".join(f"{', '.join(map(str, seats))} with fields={size}" for size, seats in _SEATS.items())
            raise GameError(f"players={self.players} with fields={self.fields}: expected {allowed}.")
        if self.moves_each is not None and not 1 <= self.moves_each <= 100_000:
            raise GameError(f"moves_each={self.moves_each}: expected 1 to 100,000 moves per seat.")
        if self.rules not in (None, "people"):
            raise GameError(f"rules={plain(self.rules)}: expected rules=people, or no rules for the default.")
        if self.rules and self.fields != 121:
            raise GameError(f"rules={self.rules} with fields={self.fields}: these rules need fields=121.")
        if self.moves_each == _MOVES_EACH[self.fields]:
            object.__setattr__(self, "moves_each", None)  # the same game has the same id

    @property
    def title(self) -> str:
        rules = ", the rules people play" if self.rules else ""
        return f"Chinese checkers on {self.fields} fields, {self.players} seats{rules}."

    @property
    def num_players(self) -> int:
        return self.players

    @property
    def num_actions(self) -> int:
        return len(self._moves.origins)

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        finished = self.players if self._rules.skips_finished else 0
        return (self._star.size, self._star.size, self.players + (3 if self.players == 4 else 2) + finished)

    @property
    def max_moves(self) -> int:
        return self.players * (self.moves_each or _MOVES_EACH[self.fields])

    @property
    def score_range(self) -> tuple[float, float]:
        return self._rules.score_range

    def init(self, key: Key) -> State:
        return self.arrange(jnp.asarray(self._start_board, jnp.int32), jnp.int32(0))

    @partial(jax.jit, static_argnums=0)  # for callers that play single moves without compiling
    def arrange(self, board: Array, moves: Array, settled: Array | None = None) -> State:
        """The state with these pieces (int32[F], -1 where free) after `moves` moves; seat `moves` mod P is next."""
        settled = jnp.zeros(self.players) if settled is None else settled
        settled = self._rules.settle(board, self._seating.ends, settled)
        moves = self._skip_finished(moves, settled)
        over = self._is_over(moves, settled)
        seat = moves % self.players
        turned = jnp.asarray(self._seating.turned)[seat]
        seen = jnp.append(board, self.players)[turned]  # the missing field is not free
        legal = find_legal(self._moves, seen == seat, seen < 0)
        return State(board.astype(jnp.int8), moves, settled, jnp.packbits(legal & ~over))

    def step(self, state: State, action: Array, key: Key | None = None) -> State:
        played = self.legal(state)[action]
        seat = self.mover(state)
        turned = jnp.asarray(self._seating.turned)[seat]
        origin = turned[jnp.asarray(self._moves.origins)[action]]
        target = turned[jnp.asarray(self._moves.targets)[action]]
        field = jnp.arange(self.fields)
        board = jnp.where(field == target, seat, jnp.where(field == origin, -1, state.board))
        after = self.arrange(board, state.moves + 1, state.settled)
        return State(*(jnp.where(played, new, old) for new, old in zip(after, state, strict=True)))

    def legal(self, state: State) -> Array:
        return jnp.unpackbits(state.legal, count=self.num_actions).astype(bool)

    def mover(self, state: State) -> Array:
        return state.moves % self.players

    def over(self, state: State) -> Array:
        return self._is_over(state.moves, state.settled)

    def scores(self, state: State) -> Array:
        return state.settled

    @property
    def plane_names(self) -> tuple[str, ...]:
        sides = [relative_seat(seat) for seat in range(self.players)]
        ends = [f"end zone of {side}" for side in sides[: 2 if self.players == 4 else 1]]
        finished = [f"1 if {side} has finished" for side in sides] if self._rules.skips_finished else []
        return (*(f"pieces of {side}" for side in sides), "fields of the board", *ends, *finished)

    def observe(self, state: State, seat: Array | None = None) -> Array:
        """The pieces of each seat, me first, then the fields, my end zone and, with four seats, the next seat's.

        Four seats sit at uneven distances: only the last plane shows which neighbor is near. If play continues for
        places, P more planes are 1 for the seats that have finished, me first.
        """
        seat = self.mover(state) if seat is None else seat
        owners = (seat + jnp.arange(self.players)) % self.players
        ends = jnp.asarray(self._seating.ends)[owners[: 2 if self.players == 4 else 1]]
        planes = [state.board[:, None] == owners[None, :], jnp.ones((self.fields, 1), bool), ends.T]
        if self._rules.skips_finished:
            finished = self._rules.finished(state.settled)[owners]
            planes.append(jnp.broadcast_to(finished, (self.fields, self.players)))
        fields = jnp.pad(jnp.concatenate(planes, axis=1), ((0, 1), (0, 0)))  # cells without a field are empty
        seen = jnp.asarray(self._seating.turned)[seat][self._star.places]
        return fields[seen].astype(jnp.float32).reshape(self.observation_shape)

    def position(self, state: State) -> Array:
        """The pieces, ten fields per word, the mover and whether the game is over (Schulte 2021, section 7.1).

        The number of moves is left out. If play continues for places, the scores so far are included: other seats may
        leave a zone that was full.
        """
        digits = jnp.pad((state.board + 1).astype(jnp.uint32), (0, -self.fields % 10)).reshape(-1, 10)
        words = (digits << (3 * jnp.arange(10, dtype=jnp.uint32))[None, :]).sum(axis=1, dtype=jnp.uint32)
        words = jnp.append(words, (self.mover(state) * 2 + self.over(state)).astype(jnp.uint32))
        return jnp.append(words, state.settled.astype(jnp.uint32)) if self._rules.skips_finished else words

    def heuristic(self, state: State) -> Array:
        """How far each seat's pieces have advanced: -1 at the start, 1 with all of them in the end zone.

        The Greedy player (Schulte 2021, section 4.2) takes the move that increases its own number most. Under
        `rules=people` a seat that has finished has 1, wherever its other pieces are.
        """
        rows = jnp.where(pieces(state.board, self.players), jnp.asarray(self._seating.heights), 0).sum(axis=1)
        low = self._seating.heights[0][self._seating.starts[0]].sum()
        high = self._seating.heights[0][self._seating.ends[0]].sum()
        advance = ((rows - low) * (2.0 / (high - low)) - 1.0).astype(jnp.float32)
        return jnp.where(self._rules.finished(state.settled), 1.0, advance) if self.rules else advance

    def move_name(self, action: int, state: State | None = None) -> str:
        if int(action) == self.num_actions - 1:
            return "pass"
        turned = self._seating.turned[0 if state is None else int(state.moves) % self.players]
        origin, target = (turned[field] for field in (self._moves.origins[action], self._moves.targets[action]))
        off = "off-" + list(DIRECTIONS)[action % 6].replace(" ", "-")  # a step off the board, never legal
        return f"{self._star.names[origin]}-{self._star.names[target] if target < self.fields else off}"

    def is_jump(self, action: int) -> bool:
        """Whether an action is a chain of jumps, neither a step nor the pass."""
        return self._moves.landings.size <= int(action) < self.num_actions - 1

    def hops(self, state: State, action: int) -> tuple[int, ...]:
        """The fields a legal action touches, as the board is drawn: start, every landing, end; none for the pass."""
        if int(action) == self.num_actions - 1:
            return ()
        turned = self._seating.turned[int(state.moves) % self.players]
        origin, target = int(self._moves.origins[action]), int(self._moves.targets[action])
        free = np.append(np.asarray(state.board), self.players)[turned] < 0
        path = shortest_jumps(self._moves, free, origin, target) if self.is_jump(action) else [origin, target]
        return tuple(int(turned[field]) for field in path)

    def draw(self, state: State) -> str:
        """The board with the names of the first and last field of each row, then each seat's goal."""
        left, rows = self._star.points[:, 0].min(), dict[str, list[int]]()
        for field, name in enumerate(self._star.names):
            rows.setdefault(name[0], []).append(field)
        marks = ["." if seat < 0 else drawing.SEAT_MARKS[seat] for seat in np.asarray(state.board)]
        lines = []
        for fields in rows.values():
            first, last = self._star.names[fields[0]], self._star.names[fields[-1]]
            before = " " * round(4 * (self._star.points[fields[0], 0] - left)) + f"{first:>3} "
            after = f" {last}" if last != first else ""
            lines.append(before + "   ".join(marks[field] for field in fields) + after)
        goals = ", ".join(f"{self.piece(seat)} {self._star.names[self._tip(seat)]}" for seat in range(self.players))
        return "\n".join([*lines, f"goals: {goals}", self._caption(state, drawing.SEAT_MARKS)])

    def piece(self, seat: int) -> str:
        return drawing.SEAT_MARKS[seat]

    def goal(self, seat: int) -> str:
        names, ends = np.array(self._star.names), self._seating.ends[seat]
        return (
            f"Be the first to bring all your pieces to the corner at {names[self._tip(seat)]}: {' '.join(names[ends])}."
        )

    def ending(self, state: State) -> str:
        if not np.asarray(state.settled).any():
            return f"nobody was home within {self.max_moves // self.players} moves each"
        winner = int(np.asarray(state.settled).argmax())
        return f"{self.piece(winner)} was home first"

    def moves_left(self, state: State) -> int:
        return self.max_moves - int(state.moves)

    def read(self, picture: str, *, moves: int = 0) -> State:
        """The position in a drawing such as `draw` makes, after `moves` moves; everything but its marks is ignored."""
        marks = drawing.SEAT_MARKS[: self.players]
        seats = [marks.find(mark) for mark in picture if mark in "." + marks][: self.fields]
        if len(seats) < self.fields:
            raise GameError(f"A drawing of {self.id} has {self.fields} fields, not {len(seats)}:\n{picture}")
        return self.arrange(jnp.array(seats, jnp.int32), jnp.int32(moves))

    def svg(self, state: State) -> str:
        caption = self._caption(state, _COLORS)
        board, zones = np.asarray(state.board), self._start_board
        return drawing.points_svg(self._star.points, board, names=self._star.names, zones=zones, caption=caption)

    @cached_property
    def symmetries(self) -> tuple[Symmetry, ...]:
        """With two seats left and right can be exchanged; with more, that would reverse the order of play."""
        if self.players != 2:
            return (self.identity,)
        board = self._star
        cells = np.arange(board.size**2)
        cells[board.cells] = board.cells[board.mirrored[:-1]]
        return (self.identity, Symmetry(cells, mirrored(board, self._moves)))

    def _tip(self, seat: int) -> int:
        """The outermost field of a seat's end zone."""
        return int(self._seating.heights[seat].argmax())

    def _skip_finished(self, moves: Array, settled: Array) -> Array:
        """The turn of the next seat that has not finished; skipped turns count as moves."""
        if not self._rules.skips_finished:
            return moves
        ahead = moves + jnp.arange(self.players)
        return ahead[jnp.argmin(self._rules.finished(settled)[ahead % self.players])]

    def _is_over(self, moves: Array, settled: Array) -> Array:
        return self._rules.decided(settled) | (moves >= self.max_moves)

    def _caption(self, state: State, marks: Sequence[str]) -> str:
        if bool(self.over(state)):
            return "over, scores " + " ".join(f"{score:g}" for score in np.asarray(state.settled))
        seat = int(self.mover(state))
        return f"seat {seat + 1} ({marks[seat]}) to move"

    @property
    def _start_board(self) -> np.ndarray:
        starts = self._seating.starts
        return np.where(starts.any(axis=0), starts.argmax(axis=0), -1)

    @cached_property
    def _rules(self) -> Rules:
        return (People if self.rules else Schulte if self.fields == 37 else OpenSpiel)(self.players)

    @property
    def _star(self) -> Star:
        return star(2 if self.fields == 37 else 4)

    @property
    def _seating(self) -> Seating:
        return seating(2 if self.fields == 37 else 4, self.players, 6 if self.fields == 37 else 10)

    @cached_property
    def _moves(self) -> Moves:
        board, end = self._star, self._seating.ends[0]
        ground = board.middle | self._seating.starts[0] | end if self._rules.keeps_to_own_points else np.ones_like(end)
        return moves(board, ground, end if self._rules.keeps_end_zone else np.zeros_like(end))
