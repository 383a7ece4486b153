"""Perfect play never loses a position that is not lost, its scores match plain negamax, and large games are refused."""

from __future__ import annotations

import subprocess
import sys
from functools import cache

import jax
import numpy as np
import pytest

from tabia import games, players
from tabia.games.connect import Connect
from tabia.games.session import Session
from tabia.players import perfect
from tabia.players.analysis import analyze_position
from tabia.players.player import Choice
from tabia.solvers.connect.solver import Solver

from .playing import play, starts

LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


@cache
def negamax(own: frozenset[int], other: frozenset[int]) -> int:
    """The mover's score in tic-tac-toe: 1 for a win with its last possible stone, 1 more per stone earlier."""
    if any(set(line) <= other for line in LINES):
        return -((9 + 2 - len(own) - len(other)) // 2)
    free = set(range(9)) - own - other
    return max((-negamax(other, own | {field}) for field in free), default=0)


@pytest.mark.parametrize("against", ["random", "mcts:simulations=32", "perfect"])
def test_tictactoe_is_never_lost(against: str) -> None:
    game = games.make("tictactoe")
    best, other = players.make("perfect", game), players.make(against, game)
    for seat, order in ((0, [best, other]), (1, [other, best])):
        ends, _ = play(order, 64, seed=seat)
        scores = np.asarray(jax.vmap(game.scores)(ends))[:, seat]
        assert scores.min() >= 0
        if against == "random":
            assert scores.mean() > 0.5
        if against == "perfect":
            assert np.all(scores == 0)


def test_scores_agree_with_negamax_on_random_positions() -> None:
    game = games.make("tictactoe")
    player = players.make("perfect", game)
    states, key = starts(game, 64), jax.random.key(2)
    for _ in range(5):
        choice = player.choose(states, key)
        _agree(game, states, choice)
        key, draw = jax.random.split(key)
        actions = players.make("random", game).choose(states, draw).actions
        states = jax.vmap(game.step)(states, actions)


def _agree(game: games.Game, states: games.State, choice: Choice) -> None:
    assert choice.scores is not None and choice.policy is not None
    stones = np.asarray(states.stones)
    for row, mover in enumerate(np.asarray(jax.vmap(game.mover)(states))):
        if bool(jax.vmap(game.over)(states)[row]):
            continue
        own, other = (frozenset(f for f in range(9) if stones[row, s] >> f & 1) for s in (mover, 1 - mover))
        free = [field for field in range(9) if field not in own | other]
        expected = [-negamax(other, own | {field}) for field in free]
        assert list(np.asarray(choice.scores[row])[free]) == expected
        chosen = {field for field in free if choice.policy[row, field] > 0}
        assert chosen == {field for field, score in zip(free, expected, strict=True) if score == max(expected)}


def test_first_seat_wins_connect3_against_any_play() -> None:
    game = games.make("connect3")
    ends, _ = play([players.make("perfect", game), players.make("mcts:simulations=32", game)], 32)
    assert np.all(np.asarray(jax.vmap(game.scores)(ends))[:, 0] == 1)


def test_all_best_moves_are_played_and_the_fastest_are_among_them() -> None:
    game = games.make("tictactoe")
    states = starts(game, 500)
    actions = np.asarray(players.make("perfect", game).choose(states, jax.random.key(0)).actions)
    assert len(np.unique(actions)) == 9  # every first move draws
    state = Session.from_moves(game, "b2 a2").state
    batch = jax.tree.map(lambda leaf: leaf[None], state)
    quick = np.asarray(players.make("perfect", game).choose(batch, jax.random.key(0)).policy)[0] > 0
    any_win = np.asarray(players.make("perfect:fastest=false", game).choose(batch, jax.random.key(0)).policy)[0] > 0
    assert np.all(any_win | ~quick)


class SlowSolver:
    """Negamax over the bitboards of the Connect solver, by the rules alone."""

    def __init__(self, rows: int, columns: int, line: int) -> None:
        self.rows, self.columns, self.line = rows, columns, line
        self.score = cache(self.score)  # type: ignore[method-assign]

    def scores(self, positions: np.ndarray) -> np.ndarray:
        found = np.full((len(positions), self.columns), -128, np.int8)
        for row, (mover, taken) in enumerate(positions.tolist()):
            for column in self.open_columns(taken):
                stone = taken + (1 << column * (self.rows + 1)) & ~taken
                found[row, column] = -self.score(taken ^ mover, taken | stone)
        return found

    def open_columns(self, taken: int) -> list[int]:
        return [c for c in range(self.columns) if not taken >> (c * (self.rows + 1) + self.rows - 1) & 1]

    def score(self, mover: int, taken: int) -> int:
        stones, cells = taken.bit_count(), self.rows * self.columns
        for step in (1, self.rows, self.rows + 1, self.rows + 2):
            line = other = mover ^ taken
            for distance in range(1, self.line):
                line &= other >> step * distance
            if line:
                return -((cells + 2 - stones) // 2)
        moves = (taken + (1 << column * (self.rows + 1)) & ~taken for column in self.open_columns(taken))
        return max((-self.score(taken ^ mover, taken | stone) for stone in moves), default=0)


@pytest.mark.parametrize("solver_class", [SlowSolver, Solver])
def test_solver_and_table_agree_on_connect3(solver_class: type[Solver]) -> None:
    game = games.make("connect3")
    assert isinstance(game, Connect)
    table, solver = perfect.PerfectPlayer(game).oracle, perfect.SolverOracle(game, solver_class(3, 4, 3))
    states, key = starts(game, 64), jax.random.key(4)
    for _ in range(7):
        known, found = table.truth(states), solver.truth(states)
        going = ~np.asarray(jax.vmap(game.over)(states))
        for name, one, two in zip(known._fields, known, found, strict=True):
            assert np.array_equal(one[going], two[going], equal_nan=name == "means"), name
        key, draw = jax.random.split(key)
        states = jax.vmap(game.step)(states, players.make("random", game).choose(states, draw).actions)


def test_the_first_move_of_connect4_has_the_published_scores() -> None:
    game = games.make("connect4")
    choice = players.make("perfect", game).choose(starts(game, 3), jax.random.key(0))
    assert choice.scores is not None and choice.values is not None
    assert np.asarray(choice.scores).tolist() == [[-2, -1, 0, 1, 0, -1, -2]] * 3  # Pons
    assert np.asarray(choice.actions).tolist() == [3] * 3 and np.asarray(choice.values).tolist() == [[1, -1]] * 3


@pytest.mark.parametrize("count", [2, pytest.param(8, marks=pytest.mark.long)])
@pytest.mark.parametrize("against", ["mcts:simulations=32", "perfect"])
def test_first_seat_wins_connect4_against_any_play(against: str, count: int) -> None:
    game = games.make("connect4")
    ends, played = play([players.make("perfect", game), players.make(against, game)], count)
    assert np.all(np.asarray(jax.vmap(game.scores)(ends))[:, 0] == 1)
    if against == "perfect":
        assert len(played) == 41  # a score of 1: with the first seat's last stone


def test_boards_beyond_63_bits_are_refused() -> None:
    with pytest.raises(players.PlayerError, match=r"rows=9,columns=9.* 9 x 9 takes 90"):
        players.make("perfect", games.make("connect:rows=9,columns=9,line=4"))


def test_missing_numba_is_reported_with_the_install_command() -> None:
    program = """
import sys; sys.modules["numba"] = None
from tabia import games, players
assert players.make("perfect", games.make("connect3")).spec == "perfect"
players.make("perfect", games.make("connect4"))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    last = done.stderr.splitlines()[-1]
    assert "PlayerError: Perfect play of connect4 is not available" in last and "pip install 'tabia[solver]'" in last


def test_history_does_not_change_perfect_play() -> None:
    game = games.make("tictactoe:history=2")
    state = Session.from_moves(game, "b2 a2").state
    found = analyze_position(players.make("perfect", game), state, jax.random.key(0), 2)
    assert found.scores is not None and found.scores["c2"] == 0 and found.scores["a3"] == 2
    assert found.tree is None and found.line is not None
    assert len(found.line) == 5 and found.line[0] == found.move  # the third of X's stones after these two wins


@pytest.mark.parametrize("game_id", ["chinese-checkers", "checkers", "othello"])
def test_games_too_large_are_refused(game_id: str) -> None:
    with pytest.raises(players.PlayerError, match="too large for perfect play"):
        players.make("perfect", games.make(game_id))
