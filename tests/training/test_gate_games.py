"""The games of the gate: openings and sampled first moves, and best moves after them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tabia.evaluation.match import Match, play
from tabia.evaluation.records import Record, replay
from tabia.games import make
from tabia.games.game import Game
from tabia.players.player import Choice
from tabia.training import arena
from tabia.training.config import recipes
from tabia.training.config.schema import GateSettings
from tabia.training.errors import TrainingError
from tabia.training.plan import Plan
from tabia.training.state import Counters, State

from .conftest import TINY

GAME = make("tictactoe")
GATE = GateSettings(kind="score", games=16, simulations=2)


@dataclass(frozen=True)
class FirstMove:
    """Plays the first legal move; its policy gives all legal moves the same probability."""

    spec: str
    game: Game = GAME

    def choose(self, states, key, ply=None) -> Choice:
        legal = jax.vmap(self.game.legal)(states)
        return Choice(jnp.argmax(legal, axis=-1).astype(jnp.int32), legal / legal.sum(axis=-1, keepdims=True))


def plan(*, by: str = "ply", **gate: int) -> Plan:
    return Plan(replace(TINY, gate=replace(GATE, **gate)).changed({"selfplay.temperature_by": by}))


def games(found: Plan, seed: int = 3) -> list[Record]:
    return arena.play_match(found, FirstMove("one"), FirstMove("other"), seed=seed).records


def actions(record: Record) -> list[int]:
    return list(map(int, replay(GAME, record).actions))


def first_legal(record: Record) -> list[bool]:
    """For each move of a game, whether it is the first legal one."""
    free, found = set(range(9)), []
    for action in actions(record):
        found.append(action == min(free))
        free.remove(action)
    return found


def test_without_the_settings_the_games_are_those_of_a_match() -> None:
    """The default of a match: openings of at least four moves, one per round, and best moves after them."""
    players = FirstMove("one"), FirstMove("other")
    truth = play(Match(GAME, players, 16, seed=3, batch=arena.TOGETHER)).records
    found = games(plan())
    assert found == truth and {record.opening for record in found} == {4}
    assert len({record.moves[:4] for record in found}) > 4
    assert all(all(first_legal(record)[4:]) for record in found)


def test_without_openings_and_sampling_every_round_is_the_same() -> None:
    found = games(plan(opening_moves=0))
    assert len(found) == 16 and len({(record.players, record.moves) for record in found}) == 2
    assert {record.opening for record in found} == {0}


@pytest.mark.parametrize(("by", "plies"), [("ply", 3), ("seat", 6)])
def test_the_first_moves_are_sampled_and_the_others_are_the_best(by: str, plies: int) -> None:
    """Three moves of the game, or three of each seat."""
    found = games(plan(by=by, opening_moves=0, temperature_moves=3, games=60))
    assert len({record.moves for record in found}) > 20
    best = [first_legal(record) for record in found]
    assert all(all(game[plies:]) for game in best)
    sampled = [[game[ply] for game in best if len(game) > ply] for ply in range(plies)]
    assert all(0 < sum(ply) < len(ply) for ply in sampled)


def test_the_opening_counts_as_sampled_moves() -> None:
    found = games(plan(opening_moves=2, temperature_moves=3, games=60))
    best = [first_legal(record) for record in found]
    assert {record.opening for record in found} == {2}
    assert all(all(game[3:]) for game in best) and 0 < sum(game[2] for game in best) < len(best)


def test_moves_are_sampled_from_the_policy() -> None:
    """4,000 moves at three ages: in the first two, the nine moves are equally likely; in the third, the first is best.

    Within four standard errors.
    """
    states = jax.vmap(GAME.init)(jax.random.split(jax.random.key(0), 4000))
    player = arena.with_sampling(plan(temperature_moves=2), FirstMove("one"))
    for ply in range(3):
        chosen = player.choose(states, jax.random.key(ply), jnp.full(4000, ply, jnp.int32))
        counts = Counter(np.asarray(chosen.actions).tolist())
        expected = [4000 / 9] * 9 if ply < 2 else [4000.0] + [0.0] * 8
        spread = 4 * np.sqrt(4000 * (1 / 9) * (8 / 9))
        assert [counts[action] for action in range(9)] == pytest.approx(expected, abs=spread if ply < 2 else 0.0)


def test_the_gate_of_a_run_samples() -> None:
    """A network against itself: two different games without sampling, more with it."""
    variables = plan().network.init(jax.random.key(0))
    state = State((), type("TrainState", (), {"ema": variables})(), variables)
    counted = {
        moves: arena.run_gate(plan(opening_moves=0, temperature_moves=moves), state, Counters(iteration=1))[1].games
        for moves in (0, 4)
    }
    assert counted[0] == 2 and counted[4] > 4


def test_settings_that_leave_nothing_to_play_are_refused() -> None:
    with pytest.raises(TrainingError, match=r"gate\.opening_moves=9: games of tictactoe have at most 9 moves"):
        plan(opening_moves=9).check()
    with pytest.raises(TrainingError, match=r"gate\.temperature_moves=3 samples no move, because the first 3"):
        plan(opening_moves=3, temperature_moves=3).check()
    plan(by="seat", opening_moves=3, temperature_moves=2).check()


def test_the_gates_of_the_theses() -> None:
    """Schulte 2021, chapter 6: five steps of each of three players; Wandhoven 2022: as in self-play."""
    schulte, wandhoven = (
        Plan(recipes.load(f"{name}").config()) for name in ("schulte-chinese-checkers", "wandhoven-connect4")
    )
    assert schulte.gate_plies == 15
    assert wandhoven.gate_plies == wandhoven.config.selfplay.temperature_moves
