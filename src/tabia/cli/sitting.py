"""A game with people and players at its seats: where it stands, how it came there, and how to take moves back."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import jax
import jax.numpy as jnp
import numpy as np

from tabia.evaluation import records
from tabia.evaluation.records import HUMAN, Record
from tabia.games import Game, State, make
from tabia.games.errors import TabiaError
from tabia.games.moves import keys
from tabia.players import Player
from tabia.players import make as make_player


@dataclass
class Sitting:
    """Some seats, people and players on them, and the game they play."""

    game: Game
    seats: list[Player | None]  # None: a person
    begun: Record  # as it was when they sat down
    states: list[State] = field(default_factory=list)
    played: list[int] = field(default_factory=list)
    keys: list[jax.Array] = field(default_factory=list)  # of the start, then of each move

    @classmethod
    def at(cls, record: Record, game: Game | None = None) -> Sitting:
        """Sit down at a game, as far as it has been played; `game` is the record's game if it is made already."""
        game = make(record.game) if game is None else game
        if len(record.players) != game.num_players:
            raise TabiaError(f"{game.id} has {game.num_players} seats; {len(record.players)} are taken.")
        seats = [None if spec == HUMAN or record.view_only else make_player(spec, game) for spec in record.players]
        sitting = cls(game, seats, record)
        sitting._extend()
        for action in records.actions(game, record):
            sitting.step(action)
        return sitting

    @property
    def state(self) -> State:
        return self.states[-1]

    @property
    def over(self) -> bool:
        return bool(self.game.over(self.state))

    @property
    def mover(self) -> int:
        return int(self.game.mover(self.state))

    @property
    def people(self) -> bool:
        """Whether a person sits here."""
        return HUMAN in self.begun.players

    @property
    def only_person(self) -> int | None:
        """The seat of the only person here; None if there are several, or none."""
        people = [seat for seat, spec in enumerate(self.begun.players) if spec == HUMAN]
        return people[0] if len(people) == 1 else None

    @property
    def scores(self) -> list[float]:
        """How it ended, by the rules or because someone gave up."""
        return [float(s) for s in np.asarray(self.game.scores(self.state))] if self.over else list(self.begun.scores)

    def legal(self) -> list[str]:
        """The names of the legal moves."""
        actions = np.flatnonzero(np.asarray(self.game.legal(self.state)))
        return [self.game.move_name(int(action), self.state) for action in actions]

    def key(self) -> jax.Array:
        """What the players draw from: the same seed gives the same game."""
        return jax.random.fold_in(jax.random.key(self.begun.seed), len(self.played))

    def choice(self, player: Player) -> int:
        """What a player does here."""
        states = jax.tree.map(lambda leaf: leaf[None], self.state)
        return int(player.choose(states, self.key(), jnp.array([len(self.played)])).actions[0])

    def step(self, action: int) -> None:
        self.played.append(action)
        self._extend()

    def undo(self) -> bool:
        """Go back to where a person last had the move; False if there is no such place."""
        back = len(self.played) - 1
        while back >= 0 and self.seats[int(self.game.mover(self.states[back]))] is not None:
            back -= 1
        if back < 0:
            return False
        del self.played[back:], self.states[back + 1 :]
        return True

    def record(self) -> Record:
        """The game as it stands."""
        words = [records.move_word(self.game, a, state) for a, state in zip(self.played, self.states, strict=False)]
        scores = tuple(float(score) for score in np.asarray(self.game.scores(self.state)))
        return replace(self.begun, moves=tuple(words), scores=scores, end="over" if self.over else "unfinished")

    def _extend(self) -> None:
        """The position after all that has been played, with the key this move has whenever it is replayed."""
        ply = len(self.played)
        if len(self.keys) <= ply:
            drawn = keys(self.begun.seed)
            self.keys = [next(drawn) for _ in range(2 * ply + 8)]
        if ply == 0:
            self.states = [self.game.init(self.keys[0])]
        else:
            self.states.append(jax.jit(self.game.step)(self.state, jnp.int32(self.played[-1]), self.keys[ply]))
