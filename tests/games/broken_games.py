"""Games that each break one law on purpose. Their titles say how; BROKEN names the laws each must be caught by."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.games.game import Game, Key, Symmetry
from tabia.games.laws import Law, declaration, notation, rules
from tabia.games.tictactoe import State, TicTacToe


@dataclass(frozen=True)
class Broken(TicTacToe):
    """Tic-tac-toe under a name of its own, so far whole."""

    name = "broken"


@dataclass(frozen=True)
class OneMover(Broken):
    """The first seat moves all the time."""

    def mover(self, state: State) -> Array:
        return jnp.int32(0)


class Mutable(Broken):
    """A subclass that forgot @dataclass(frozen=True), so attributes can be set."""


@dataclass(frozen=True)
class Unequal(Broken):
    """Every instance is equal to itself alone."""

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


@dataclass(frozen=True)
class BorrowedId(TicTacToe):
    """Says it is tic-tac-toe, which is another game."""


@dataclass(frozen=True)
class LostId(TicTacToe):
    """Registered, but its id makes nothing."""

    id = "tictactoe:size=3"


@dataclass(frozen=True)
class NoPlaceForZero(Broken):
    """Draws score 0, but scores are declared from 1 to 3."""

    score_range = (1.0, 3.0)

    def scores(self, state: State) -> Array:
        return jnp.where(self.over(state), super().scores(state) + 2, 0)


@dataclass(frozen=True)
class NegativeVersion(Broken):
    """Version 0."""

    version = 0


@dataclass(frozen=True)
class DriftingType(Broken):
    """Starts with an int32 winner and steps to a float32 one."""

    def step(self, state: State, action: Array, key: Key | None = None) -> State:
        stepped = super().step(State(state.stones, state.winner.astype(jnp.int32)), action, key)
        return State(stepped.stones, stepped.winner.astype(jnp.float32))


@dataclass(frozen=True)
class WeakType(Broken):
    """Starts from a Python number, which leaves the type open."""

    def init(self, key: Key) -> State:
        return State(jnp.zeros(2, jnp.uint32), jnp.asarray(-1))


@dataclass(frozen=True)
class NarrowObservation(Broken):
    """Declares two planes and shows one."""

    def observe(self, state: State, seat: Array | None = None) -> Array:
        return super().observe(state, seat)[:, :, :1]


@dataclass(frozen=True)
class WholeScores(Broken):
    """Scores are integers."""

    def scores(self, state: State) -> Array:
        return super().scores(state).astype(jnp.int32)


@dataclass(frozen=True)
class FoldedSymmetry(Broken):
    """A symmetry that sends two cells to one."""

    @cached_property
    def symmetries(self) -> tuple[Symmetry, ...]:
        return (self.identity, Symmetry(np.zeros(9, int), np.arange(9)))


@dataclass(frozen=True)
class WrongSymmetry(Broken):
    """A mirror that forgets to mirror the actions."""

    @cached_property
    def symmetries(self) -> tuple[Symmetry, ...]:
        return (self.identity, Symmetry(np.arange(9).reshape(3, 3)[:, ::-1].reshape(-1), np.arange(9)))


@dataclass(frozen=True)
class MoverOutOfRange(Broken):
    """Seats counted from 1."""

    def mover(self, state: State) -> Array:
        return super().mover(state) + 1

    def step(self, state: State, action: Array, key: Key | None = None) -> State:
        return TicTacToe().step(state, action, key)

    def observe(self, state: State, seat: Array | None = None) -> Array:
        return super().observe(state, jnp.clip(super().mover(state) + 1, 0, 1) if seat is None else seat)


@dataclass(frozen=True)
class EarlyScores(Broken):
    """The seat on move is awarded a point before the end."""

    def scores(self, state: State) -> Array:
        ahead = jnp.where(jnp.arange(2) == self.mover(state), 1.0, 0.0)
        return jnp.where(self.over(state), super().scores(state), ahead)


@dataclass(frozen=True)
class ScoresOutOfRange(Broken):
    """Wins by ten, in a range of -1 to 1."""

    def scores(self, state: State) -> Array:
        return 10 * super().scores(state)


@dataclass(frozen=True)
class LegalAfterTheEnd(Broken):
    """Free fields stay legal after a win."""

    def legal(self, state: State) -> Array:
        return super().legal(State(state.stones, jnp.int32(-1)))


@dataclass(frozen=True)
class OverAtOnce(Broken):
    """Nobody has a move at the start, so the game is over and drawn."""

    def over(self, state: State) -> Array:
        return jnp.ones((), bool)

    def legal(self, state: State) -> Array:
        return jnp.zeros(9, bool)

    def scores(self, state: State) -> Array:
        return jnp.zeros(2)

    def step(self, state: State, action: Array, key: Key | None = None) -> State:
        return state


@dataclass(frozen=True)
class NoMoveLeft(Broken):
    """The center may not be played, so full boards are never reached and nobody can move."""

    def legal(self, state: State) -> Array:
        return super().legal(state) & (jnp.arange(9) != 4)

    def step(self, state: State, action: Array, key: Key | None = None) -> State:
        stepped = super().step(state, action, key)
        return jax.tree.map(lambda new, old: jnp.where(action != 4, new, old), stepped, state)


@dataclass(frozen=True)
class IllegalCounts(Broken):
    """Playing on a taken field passes the field to the mover."""

    def step(self, state: State, action: Array, key: Key | None = None) -> State:
        stepped = super().step(state, action, key)
        taken = (self.over(state) == 0) & ~self.legal(state)[action]
        stone = jnp.where(taken, jnp.uint32(1) << action.astype(jnp.uint32), 0)
        owner = jnp.arange(2) == self.mover(state)
        return State(jnp.where(owner, stepped.stones | stone, stepped.stones & ~stone), stepped.winner)


@dataclass(frozen=True)
class GoesOnAfterTheEnd(Broken):
    """A move after the end changes the winner."""

    def step(self, state: State, action: Array, key: Key | None = None) -> State:
        stepped = super().step(state, action, key)
        return State(stepped.stones, jnp.where(self.over(state), (stepped.winner + 1) % 2, stepped.winner))


@dataclass(frozen=True)
class TooLong(Broken):
    """Says that games last seven moves at most."""

    max_moves = 7


@dataclass(frozen=True)
class IdleMove(Broken):
    """A stone in the center is legal but is never set."""

    def step(self, state: State, action: Array, key: Key | None = None) -> State:
        stepped = super().step(state, action, key)
        return jax.tree.map(lambda new, old: jnp.where(action == 4, old, new), stepped, state)

    @cached_property
    def symmetries(self) -> tuple[Symmetry, ...]:
        return (self.identity,)


@dataclass(frozen=True)
class HiddenChance(Broken):
    """Where the stone lands depends on the key, though no chance is declared."""

    def step(self, state: State, action: Array, key: Key | None = None) -> State:
        legal = self.legal(state)
        chosen = jnp.argmax(jnp.where(legal, jax.random.uniform(key, (9,)), -1.0)) if key is not None else action
        return super().step(state, jnp.where(legal[action], chosen, action).astype(jnp.int32), key)

    @cached_property
    def symmetries(self) -> tuple[Symmetry, ...]:
        return (self.identity,)


@dataclass(frozen=True)
class OpenChance(HiddenChance):
    """The same with chance declared, which makes it whole."""

    chance = True


@dataclass(frozen=True)
class HiddenDice(Broken):
    """The host's own dice deal a number nobody sees, so that no start can be dealt again."""

    def init(self, key: Key) -> State:
        dice = np.random.default_rng(0)
        start, word = super().init(key), jax.ShapeDtypeStruct((), jnp.uint32)
        roll = jax.pure_callback(
            lambda _: np.uint32(dice.integers(2**20) << 9), word, jax.random.key_data(key), vmap_method="sequential"
        )
        return State(start.stones | jnp.stack([roll, roll]), start.winner)

    def mover(self, state: State) -> Array:
        return super().mover(State(state.stones & 511, state.winner))

    def over(self, state: State) -> Array:
        return super().over(State(state.stones & 511, state.winner))


@dataclass(frozen=True)
class OtherwiseCompiled(Broken):
    """Legal moves are cut short as soon as someone compiles."""

    def legal(self, state: State) -> Array:
        legal = super().legal(state)
        compiled = isinstance(state.winner, jax.core.Tracer)
        return legal if compiled else legal & ((jnp.arange(9) > 0) | (legal.sum() == 1))


@dataclass(frozen=True)
class NotANumber(Broken):
    """An empty board is divided by its number of stones."""

    def observe(self, state: State, seat: Array | None = None) -> Array:
        planes = super().observe(state, seat)
        return planes / planes.sum()


@dataclass(frozen=True)
class OneView(Broken):
    """Asked for a seat, it shows the other one."""

    def observe(self, state: State, seat: Array | None = None) -> Array:
        return super().observe(state, None if seat is None else 1 - seat)


@dataclass(frozen=True)
class WildHeuristic(Broken):
    """A heuristic that counts stones instead of staying within -1 to 1."""

    def heuristic(self, state: State) -> Array:
        return jnp.bitwise_count(state.stones).astype(jnp.float32)


@dataclass(frozen=True)
class CollidingWords(Broken):
    """Position words that forget the second seat's stones."""

    def position(self, state: State) -> Array:
        return state.stones[:1]


@dataclass(frozen=True)
class MisreadName(Broken):
    """b2 is read as a3."""

    def parse_move(self, text: str, state: State | None = None) -> int:
        return 0 if text == "b2" else super().parse_move(text, state)


@dataclass(frozen=True)
class OneNameForTwo(Broken):
    """With a position at hand, columns a and b share their names."""

    def move_name(self, action: int, state: State | None = None) -> str:
        name = super().move_name(action, state)
        return name.replace("b", "a") if state is not None else name


@dataclass(frozen=True)
class NameOfTwoWords(Broken):
    """Names like `b 2`."""

    def move_name(self, action: int, state: State | None = None) -> str:
        return " ".join(super().move_name(action, state))


@dataclass(frozen=True)
class ForgetfulNames(Broken):
    """Without a position every action is called `?`."""

    def move_name(self, action: int, state: State | None = None) -> str:
        return "?" if state is None else super().move_name(action, state)


@dataclass(frozen=True)
class Blank(Broken):
    """Draws nothing."""

    def draw(self, state: State) -> str:
        return " \n"


@dataclass(frozen=True)
class UnclosedPicture(Broken):
    """An SVG that is never closed."""

    def svg(self, state: State) -> str:
        return '<svg xmlns="http://www.w3.org/2000/svg"><rect>'


@dataclass(frozen=True)
class WebPage(Broken):
    """A picture that is a web page."""

    def svg(self, state: State) -> str:
        return "<html><body>X O X</body></html>"


@dataclass(frozen=True)
class Crashing(Broken):
    """Raises as soon as it is asked who moves."""

    def mover(self, state: State) -> Array:
        raise ZeroDivisionError("nobody knows\nwho moves")


@dataclass(frozen=True)
class CrashingDrawing(Broken):
    """Plays well, but cannot be drawn."""

    def draw(self, state: State) -> str:
        raise KeyError("no such stone")


class Count(NamedTuple):
    moves: Array  # int32


@dataclass(frozen=True)
class Endless(Game):
    """One field, one action, a million moves: keeps the laws, but no check can wait for its end."""

    name = "endless"
    num_players = 2
    num_actions = 1
    observation_shape = (1, 1, 1)
    max_moves = 1_000_000

    def init(self, key: Key) -> Count:
        return Count(jnp.int32(0))

    def step(self, state: Count, action: Array, key: Key | None = None) -> Count:
        return Count(state.moves + self.legal(state)[action])

    def legal(self, state: Count) -> Array:
        return ~self.over(state)[None]

    def mover(self, state: Count) -> Array:
        return state.moves % 2

    def over(self, state: Count) -> Array:
        return state.moves == self.max_moves

    def scores(self, state: Count) -> Array:
        return jnp.zeros(2)

    def observe(self, state: Count, seat: Array | None = None) -> Array:
        return jnp.zeros((1, 1, 1))


BROKEN: list[tuple[Game, set[Law]]] = [
    (Mutable(), {declaration.is_a_constant}),
    (Unequal(), {declaration.is_a_constant}),
    (BorrowedId(), {declaration.is_made_by_its_id}),
    (LostId(), {declaration.is_made_by_its_id}),
    (NoPlaceForZero(), {declaration.declares_possible_numbers, rules.scores_stay_in_range}),
    (NegativeVersion(), {declaration.declares_possible_numbers}),
    (DriftingType(), {declaration.keeps_shapes}),
    (WeakType(), {declaration.keeps_shapes}),
    (NarrowObservation(), {declaration.answers_in_shape}),
    (WholeScores(), {declaration.answers_in_shape}),
    (FoldedSymmetry(), {declaration.symmetries_are_permutations}),
    (WrongSymmetry(), {rules.symmetric_games_agree}),
    (MoverOutOfRange(), {rules.mover_is_a_seat}),
    (EarlyScores(), {rules.scores_wait}),
    (ScoresOutOfRange(), {rules.scores_stay_in_range}),
    (OverAtOnce(), {rules.a_new_game_is_not_over}),
    (LegalAfterTheEnd(), {rules.moves_exist_until_the_end}),
    (NoMoveLeft(), {rules.moves_exist_until_the_end, rules.ends_in_time}),
    (IllegalCounts(), {rules.illegal_moves_change_nothing}),
    (GoesOnAfterTheEnd(), {rules.nothing_follows_the_end}),
    (TooLong(), {rules.ends_in_time}),
    (IdleMove(), {rules.legal_moves_change_something, rules.ends_in_time}),
    (HiddenChance(), {rules.chance_is_declared, rules.alone_as_in_a_batch, rules.equal_words_mean_one_future}),
    (HiddenDice(), {rules.same_moves_same_game, rules.chance_is_declared}),
    (OtherwiseCompiled(), {rules.alone_as_in_a_batch}),
    (NotANumber(), {rules.observations_are_numbers}),
    (OneView(), {rules.mover_observes_by_default}),
    (WildHeuristic(), {rules.heuristic_is_in_range}),
    (CollidingWords(), {rules.equal_words_mean_one_future}),
    (MisreadName(), {notation.move_names_come_back, notation.names_need_no_position}),
    (OneNameForTwo(), {notation.move_names_come_back, notation.games_come_back_from_text}),
    (NameOfTwoWords(), {notation.names_are_single_words, notation.games_come_back_from_text}),
    (ForgetfulNames(), {notation.names_need_no_position}),
    (Blank(), {notation.drawings_are_text}),
    (UnclosedPicture(), {notation.pictures_are_svg}),
    (WebPage(), {notation.pictures_are_svg}),
    (CrashingDrawing(), {notation.drawings_are_text}),
]
