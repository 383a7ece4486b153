"""Exact solving agrees with published counts, with closed forms and with plain recursion on every position."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise, product
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from tabia import games
from tabia.games.game import Game, Key, State
from tabia.players.perfect import SolutionEvaluator
from tabia.search import Search
from tabia.solvers import Endless, Solution, SolverError, TooLarge, solve

from ..search import alphabeta_reference as reference
from ..search.positions import random_positions
from ..search.toy_games import Dice, Race, RingGame

KEY = jax.random.key(0)
TICTACTOE, CONNECT3, CONNECT4 = (games.make(name) for name in ("tictactoe", "connect3", "connect4"))
FOUR_BY_FOUR = games.make("connect:rows=4,columns=4,line=4")


class NimState(NamedTuple):
    piles: Array  # int32[3]
    mover: Array  # int32


@dataclass(frozen=True)
class Nim(Game):
    """Three piles; take any number from one; whoever takes the last wins. Positions recur at many plies."""

    name = "nim"
    num_players = 2
    num_actions = 15  # action 5 p + n takes n + 1 from pile p
    observation_shape = (1, 1, 3)
    max_moves = 12

    def init(self, key: Key) -> NimState:
        return NimState(jnp.array([3, 4, 5]), jnp.int32(0))

    def step(self, state: NimState, action: Array, key: Key | None = None) -> NimState:
        played = self.legal(state)[action]
        piles = state.piles.at[action // 5].add(-(action % 5 + 1))
        return NimState(jnp.where(played, piles, state.piles), jnp.where(played, 1 - state.mover, state.mover))

    def legal(self, state: NimState) -> Array:
        return (state.piles[:, None] > jnp.arange(5)[None, :]).reshape(-1)

    def mover(self, state: NimState) -> Array:
        return state.mover

    def over(self, state: NimState) -> Array:
        return jnp.all(state.piles == 0)

    def scores(self, state: NimState) -> Array:
        return jnp.where(self.over(state), jnp.where(jnp.arange(2) == state.mover, -1.0, 1.0), 0.0)

    def observe(self, state: NimState, seat: Array | None = None) -> Array:
        return state.piles[None, None, :].astype(jnp.float32)


@cache
def solved(game: Game) -> Solution:
    return solve(game)


@cache
def solved_by_recursion(game: Game) -> list[reference.Solved]:
    """Every position, solved by plain recursion."""
    known: dict[bytes, reference.Solved] = {}
    reference.solve(game, reference.root(game, game.init(KEY)), known)
    return list(known.values())


def batch(states: list[State]) -> State:
    return jax.tree.map(lambda *leaves: np.stack(leaves), *states)


def marks(game: Game, chosen: list[list[int]]) -> np.ndarray:
    """Lists of actions as bool[B, A]."""
    return np.array([[action in actions for action in range(game.num_actions)] for actions in chosen])


@pytest.mark.parametrize(
    "game",
    [TICTACTOE, pytest.param(CONNECT3, marks=pytest.mark.long), Race(), Nim()],
    ids=["tictactoe", "connect3", "race", "nim"],
)
def test_solution_matches_plain_recursion_on_every_position(game: Game) -> None:
    solution, wanted = solved(game), solved_by_recursion(game)
    states = batch([position.state for position in wanted])
    assert len(solution) == len(wanted)
    np.testing.assert_array_equal(solution.values(states), np.float32([position.values for position in wanted]))
    np.testing.assert_array_equal(solution.best(states), marks(game, [position.best for position in wanted]))
    np.testing.assert_array_equal(solution.distance(states), [position.distance for position in wanted])
    np.testing.assert_array_equal(solution.fastest(states), marks(game, [position.fastest for position in wanted]))


def test_tictactoe_has_5478_positions_of_which_958_are_over() -> None:
    solution = solved(TICTACTOE)
    states = batch([position.state for position in solved_by_recursion(TICTACTOE)])
    finished = solution.distance(states) == 0
    results = solution.values(states)[finished, 0].tolist()
    # 626 won by the first seat, 316 by the second, 16 drawn: the numbers in every textbook.
    assert [len(solution), results.count(1.0), results.count(-1.0), results.count(0.0)] == [5478, 626, 316, 16]
    assert solution.values(batch([TICTACTOE.init(KEY)])).tolist() == [[0.0, 0.0]]


def test_connect_on_4_by_4_has_tromps_161029_positions_and_is_a_draw() -> None:
    solution = solved(FOUR_BY_FOUR)
    assert len(solution) == 161_029
    assert solution.values(batch([FOUR_BY_FOUR.init(KEY)])).tolist() == [[0.0, 0.0]]


def test_othello_on_4_by_4_is_won_by_the_second_seat_as_published() -> None:
    game = games.make("othello:size=4")  # a game with passes
    assert solve(game).values(batch([game.init(KEY)])).tolist() == [[-1.0, 1.0]]


@pytest.mark.long
@pytest.mark.parametrize(("rows", "columns", "positions"), [(5, 4, 1_706_255), (4, 5, 3_945_711)])
def test_connect_on_larger_boards_has_tromps_number_of_positions(rows: int, columns: int, positions: int) -> None:
    assert len(solve(games.make(f"connect:rows={rows},columns={columns},line=4"))) == positions


def test_connect4_has_the_published_positions_per_ply_up_to_the_limit() -> None:
    met: list[tuple[int, int]] = []
    with pytest.raises(TooLarge, match="connect4 has more than 80,000 positions"):
        solve(CONNECT4, limit=80_000, progress=lambda ply, positions: met.append((ply, positions)))
    # OEIS A212693, positions by ply.
    assert [ply for ply, _ in met] == list(range(8))
    assert [1, *(after - before for before, after in pairwise(count for _, count in met))] == [
        1,
        7,
        49,
        238,
        1120,
        4263,
        16422,
        54859,
    ]


def test_nim_is_won_iff_the_nim_sum_is_not_zero() -> None:
    game, piles = Nim(), np.array(list(product(range(4), range(5), range(4))))
    states = NimState(piles.astype(np.int32), np.ones(len(piles), np.int32))  # all reachable by one first move or more
    cancel = np.bitwise_xor.reduce(piles, axis=1)
    won = solved(game).values(states)[:, 1]
    np.testing.assert_array_equal(won, np.where(cancel != 0, 1.0, -1.0))
    for pile, best in zip(piles, solved(game).best(states), strict=True):
        after = [pile - (action % 5 + 1) * (np.arange(3) == action // 5) for action in range(15)]
        canceling = [bool((left >= 0).all()) and np.bitwise_xor.reduce(left) == 0 for left in after]
        if np.bitwise_xor.reduce(pile) != 0:
            np.testing.assert_array_equal(best, canceling)


def test_endgames_of_a_large_game_are_solved_from_given_starts() -> None:
    states = random_positions(CONNECT4, 4000, seed=3, most_moves=36)
    late = np.flatnonzero(np.asarray(states.moves) >= 30)[:12]
    assert len(late) == 12
    starts = jax.tree.map(lambda leaf: leaf[late], states)
    solution = solve(CONNECT4, starts=starts)
    wanted = [
        reference.alpha_beta(CONNECT4, reference.root(CONNECT4, jax.tree.map(lambda leaf, i=i: leaf[i], starts)), 12)
        for i in range(12)
    ]
    assert len(set(wanted)) > 1
    np.testing.assert_array_equal(solution.values(starts)[:, 0], wanted)


@partial(jax.jit, static_argnums=0)
def positions_after(game: Game, state: State, lines: Array) -> Array:
    """The words [n, K] after playing each line of actions [n, T]."""
    return jax.vmap(lambda line: game.position(jax.lax.scan(lambda s, a: (game.step(s, a), None), state, line)[0]))(
        lines
    )


def test_game_with_repeating_positions_is_refused_with_an_example() -> None:
    game = RingGame()
    with pytest.raises(Endless, match="ring cannot be solved from its ends because positions can repeat") as refusal:
        solve(game)
    found = re.search(r"after (no move|[\d ]+) can repeat (\d+) moves later", str(refusal.value))
    assert found is not None
    state, length = game.init(KEY), int(found[2])
    for move in re.findall(r"\d+", found[1]):
        state = game.step(state, jnp.int32(int(move)))
    lines = jnp.array(list(product(range(3), repeat=length)))
    words = game.position(state)
    assert bool(jnp.all(positions_after(game, state, lines) == words[None], axis=1).any())


def test_unsolvable_games_are_refused() -> None:
    with pytest.raises(SolverError, match="dice has chance"):
        solve(Dice())
    with pytest.raises(SolverError, match="limit=0"):
        solve(TICTACTOE, limit=0)


def unreachable() -> State:
    """A batch whose second position has five stones of one seat and none of the other."""
    start = TICTACTOE.init(KEY)
    return batch([start, start._replace(stones=jnp.array([0b11111, 0], jnp.uint32))])


def test_unreachable_positions_are_reported() -> None:
    with pytest.raises(SolverError, match="Position 1 of the batch is not one of the 5,478 reachable positions"):
        solved(TICTACTOE).values(unreachable())


def test_evaluator_is_exact_and_returns_nan_for_unreachable_positions() -> None:
    solution = solved(CONNECT3)
    states = batch([position.state for position in solved_by_recursion(CONNECT3)])
    evaluation = jax.jit(SolutionEvaluator.of(solution, gap=3.0))(solution.table, states, KEY)
    np.testing.assert_array_equal(evaluation.values, solution.values(states))
    np.testing.assert_array_equal(evaluation.logits, np.where(solution.best(states), 0.0, -3.0))
    known = solved(TICTACTOE)
    assert np.isnan(SolutionEvaluator.of(known)(known.table, unreachable(), KEY).values).tolist() == [
        [False] * 2,
        [True] * 2,
    ]


def test_search_with_exact_evaluator_keeps_every_value() -> None:
    solution = solved(FOUR_BY_FOUR)
    states = random_positions(FOUR_BY_FOUR, 2000, seed=11, most_moves=14)
    search = Search(FOUR_BY_FOUR, SolutionEvaluator.of(solution), simulations=16)
    action = np.asarray(search.run(solution.table, states, KEY).action)
    assert solution.best(states)[np.arange(2000), action].all()
