"""A game in progress, from ordinary Python: the terminal, the exports, records and players all use it.

A `Session` never changes; `play`, `undo`, `at` and `resign` return another one. The rules are compiled once per game.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.core.text import is_printable
from tabia.games import identity, seats
from tabia.games.errors import GameError, IllegalMove, RulesError, unwrap_errors
from tabia.games.game import Game, Key, State
from tabia.games.moves import NUMBERED, legal_names, next_move


class _Position(NamedTuple):
    """One position of a session. Axis letters: A actions, P seats."""

    key: Key  # of everything random that follows
    state: State
    legal: np.ndarray  # bool[A]
    mover: np.ndarray  # int32
    over: np.ndarray  # bool
    scores: np.ndarray  # float32[P]


@dataclass(frozen=True, eq=False)
class Session:
    """One game with its moves and all its positions; make it with `start`, `from_moves` or `replay`.

    Random events depend only on the seed and the number of moves, so the seed and the moves determine the game.

    >>> from tabia.games import make
    >>> session = Session.from_moves(make("connect4"), "4453")
    >>> session.mover, session.ply, session.moves
    (0, 4, ('4', '4', '5', '3'))
    >>> session.play("6").undo(2).text
    '4 4 5'
    """

    game: Game
    seed: int
    actions: tuple[int, ...]
    positions: tuple[_Position, ...]  # the start first, one more than there are actions
    resigned: int | None = None  # the seat that gave up

    @classmethod
    def start(cls, game: Game, *, seed: int = 0) -> Session:
        """A new game."""
        first, _ = _compiled(game)
        with unwrap_errors():
            return cls(game, seed, (), (_on_host(first(jax.random.key(seed))),))

    @classmethod
    def from_state(cls, game: Game, state: State, *, seed: int = 0) -> Session:
        """A game that begins in any position; its seed and moves alone do not determine it."""
        key, _ = jax.random.split(jax.random.key(seed))
        return cls(game, seed, (), (_on_host(_position(game)(key, state)),))

    @classmethod
    def from_moves(cls, game: Game, text: str, *, seed: int = 0) -> Session:
        """The game that a text records; GameError gives the number of a move that cannot be played.

        Spaces or commas separate moves. Without them each move is the longest legal name that fits.
        """
        session = cls.start(game, seed=seed)
        for word in text.replace(",", " ").split():
            rest = word
            while rest:
                action, rest = next_move(game, rest, session.state, session.ply + 1, session.legal)
                session = session.play(action)
        return session

    @classmethod
    def replay(cls, game: Game, moves: Iterable[int | str], *, seed: int = 0) -> Session:
        """The game with these moves: actions, or words as in `moves`; GameError gives the number of a bad one."""
        session = cls.start(game, seed=seed)
        for number, move in enumerate(moves, start=1):
            numbered = NUMBERED.fullmatch(move) if isinstance(move, str) else None
            try:
                session = session.play(int(numbered[1]) if numbered else move)
            except RulesError:
                raise
            except GameError as error:
                raise GameError(f"Move {number}: {error}") from None
        return session

    @classmethod
    def from_dict(cls, game: Game, fields: Mapping[str, Any]) -> Session:
        """The inverse of `to_dict`; GameError if the fields are of another game or damaged."""
        name, version, seed = fields.get("game"), fields.get("version"), fields.get("seed")
        moves, resigned = fields.get("moves"), fields.get("resigned")
        if not isinstance(name, str) or not identity.is_same(game, name) or version != game.version:
            found = f"{name!r}, version {version!r}"
            raise GameError(f"Expected a saved game of {game.id}, version {game.version}, not of {found}.")
        if type(seed) is not int or not isinstance(moves, list) or not all(isinstance(word, str) for word in moves):
            raise GameError(f"A saved game of {game.id} needs a whole number `seed` and a list of texts `moves`.")
        session = cls.replay(game, moves, seed=seed)
        return session if resigned is None else session.resign(resigned)

    def to_dict(self) -> dict[str, Any]:
        """Everything needed to restore the session, ready for JSON."""
        return {
            "game": self.game.id,
            "version": self.game.version,
            "seed": self.seed,
            "moves": list(self.moves),
            "resigned": self.resigned,
        }

    # Moving.

    def play(self, move: int | str) -> Session:
        """Play an action, or a move by its name; IllegalMove shows the position and lists its legal moves.

        RulesError says what is wrong with the rules of a plain Python game.
        """
        if self.resigned is not None:
            raise GameError(f"Seat {self.resigned + 1} has resigned; the game is over.")
        action = self.game.parse_move(move, self.state) if isinstance(move, str) else int(move)
        check_action(self.game, action)
        if not self.legal[action]:
            raise IllegalMove(self.game, self.game.move_name(action), self.state)
        _, following = _compiled(self.game)
        with unwrap_errors():
            position = _on_host(following(self._now.key, self.state, jnp.int32(action)))
        return replace(self, actions=(*self.actions, action), positions=(*self.positions, position))

    def at(self, ply: int) -> Session:
        """The session after its first `ply` moves."""
        if not 0 <= ply <= self.ply:
            raise GameError(f"The game has {self.ply} moves; expected a ply from 0 to {self.ply}, not {ply}.")
        return replace(self, actions=self.actions[:ply], positions=self.positions[: ply + 1], resigned=None)

    def undo(self, plies: int = 1) -> Session:
        """Take back the last moves."""
        if not 0 <= plies <= self.ply:
            raise GameError(f"The game has {self.ply} moves; {plies} cannot be taken back.")
        return self.at(self.ply - plies)

    def undo_to_turn(self, seats: Collection[int]) -> Session | None:
        """Go back to the last move of one of these seats, which then can choose again; None if they have not moved."""
        turns = [ply for ply in range(self.ply) if int(self.positions[ply].mover) in seats]
        return self.at(turns[-1]) if turns else None

    def resign(self, seat: int) -> Session:
        """Give up: `seat` gets the lowest score and its opponent the highest; only for two seats."""
        if self.over:
            raise GameError("The game is over; it is too late to resign.")
        if self.game.num_players != 2 or seat not in (0, 1):
            raise GameError(f"Seat {seat} of {self.game.id} cannot resign: expected seat 0 or 1 of a game for two.")
        return replace(self, resigned=seat)

    # The position.

    @property
    def _now(self) -> _Position:
        return self.positions[-1]

    @property
    def state(self) -> State:
        """The state of the rules."""
        return self._now.state

    @property
    def states(self) -> list[State]:
        """Every state so far, the start first."""
        return [position.state for position in self.positions]

    @property
    def ply(self) -> int:
        """The number of moves made."""
        return len(self.actions)

    @property
    def mover(self) -> int:
        """The seat to move."""
        return int(self._now.mover)

    @property
    def legal(self) -> np.ndarray:
        """bool[A]: the mover's actions."""
        return self._now.legal if self.resigned is None else np.zeros_like(self._now.legal)

    @property
    def legal_moves(self) -> list[str]:
        """The names of the mover's actions."""
        return list(legal_names(self.game, self.legal, self.state).values())

    def observe(self, seat: int) -> np.ndarray:
        """float32[H, W, C]: the position as a seat sees it."""
        return np.array(_observe(self.game)(self.state, jnp.int32(seat)))

    @property
    def key(self) -> Key:
        """The key for a player's choice in this position: the same seed gives the same game."""
        return jax.random.fold_in(jax.random.key(self.seed), self.ply)

    # The end.

    @property
    def over(self) -> bool:
        """Whether the game has ended, by its rules or by resignation."""
        return self.resigned is not None or bool(self._now.over)

    @property
    def scores(self) -> np.ndarray:
        """float32[P]: the score of each seat."""
        if self.resigned is None:
            return self._now.scores
        low, high = self.game.score_range
        return np.array([low if seat == self.resigned else high for seat in (0, 1)], np.float32)

    @property
    def winner(self) -> int | None:
        """The seat with the best score once the game is over; None before the end and after a shared first place."""
        best = np.flatnonzero(self.scores == self.scores.max())
        return int(best[0]) if self.over and len(best) == 1 else None

    @property
    def reason(self) -> str:
        """Why the game ended, where the game knows it; empty before the end."""
        if self.resigned is not None:
            return f"{seats.name(self.game, self.resigned)} resigned"
        return self.game.ending(self.state) if self.over else ""

    @property
    def result(self) -> str:
        """Who won and why, such as `Seat 1 (X) won: X has a line of 4`; empty before the end."""
        names = [seats.name(self.game, seat) for seat in range(self.game.num_players)]
        return seats.outcome(names, self.scores.tolist(), self.reason) if self.over else ""

    # Notation and drawing.

    @property
    def moves(self) -> tuple[str, ...]:
        """Every move as one word, as `replay` reads it."""
        played = zip(self.actions, self.states[:-1], strict=True)
        return tuple(move_word(self.game, action, state) for action, state in played)

    @property
    def text(self) -> str:
        """The moves separated by spaces, as `from_moves` reads them."""
        return " ".join(self.moves)

    @property
    def last_move(self) -> str | None:
        """The name of the last move."""
        return self.game.move_name(self.actions[-1], self.positions[-2].state) if self.actions else None

    def draw(self) -> str:
        """The position as text."""
        return self.game.draw(self.state)

    def svg(self) -> str:
        """The position as an SVG document."""
        return self.game.svg(self.state)

    def __str__(self) -> str:
        return self.draw()


def move_word(game: Game, action: int, state: State) -> str:
    """A move as one word: its name, or `#` and the action where the name is not a single word."""
    name = game.move_name(action, state)
    is_word = is_printable(name) and name.split() == [name] and not name.startswith("#") and "," not in name
    return name if is_word else f"#{action}"


def check_action(game: Game, action: int) -> None:
    """Refuse a number outside the game's actions."""
    if not 0 <= action < game.num_actions:
        raise GameError(f"Action {action} is out of range for {game.id}: expected 0 to {game.num_actions - 1}.")


def _on_host(position: _Position) -> _Position:
    """What Python reads of a position, as NumPy arrays; state and key stay on the device."""
    key, state, *facts = position
    return _Position(key, state, *map(np.asarray, facts))


@functools.lru_cache(maxsize=64)
def _position(game: Game) -> Callable[..., _Position]:
    """The position of a key and a state."""

    def position(key: Array, state: State) -> _Position:
        facts = (game.legal(state), game.mover(state), game.over(state), game.scores(state))
        return _Position(key, state, *facts)  # type: ignore[arg-type]

    return jax.jit(position)


@functools.lru_cache(maxsize=64)
def _compiled(game: Game) -> tuple[Callable[..., _Position], Callable[..., _Position]]:
    """The first position from a key, and the next from key, state and action."""
    position = _position(game)

    def first(key: Array) -> _Position:
        key, used = jax.random.split(key)
        return position(key, game.init(used))

    def following(key: Array, state: State, action: Array) -> _Position:
        key, used = jax.random.split(key)
        return position(key, game.step(state, action, used))

    return jax.jit(first), jax.jit(following)


@functools.lru_cache(maxsize=64)
def _observe(game: Game) -> Callable[..., Array]:
    return jax.jit(game.observe)
