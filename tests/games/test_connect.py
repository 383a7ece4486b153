"""Connect: published counts, pgx and OpenSpiel over 2,000 games, a slow reference for every other board."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tabia.games import GameError, make
from tabia.games.connect import Connect
from tabia.games.session import Session

from . import oracles

A212693 = [1, 7, 49, 238, 1_120, 4_263, 16_422, 54_859, 184_275]  # positions of Connect 4 by ply, from the empty board


class Reference:
    """Connect in plain Python: a dictionary of stones, and lines followed field by field."""

    directions = ((0, 1), (1, 0), (1, 1), (1, -1))

    def __init__(self, rows: int, columns: int, line: int, players: int = 2) -> None:
        self.rows, self.columns, self.line, self.players = rows, columns, line, players
        self.stones: dict[tuple[int, int], int] = {}  # (column, row from below): seat
        self.winner: int | None = None

    def mover(self) -> int:
        return len(self.stones) % self.players

    def is_over(self) -> bool:
        return self.winner is not None or len(self.stones) == self.rows * self.columns

    def legal_moves(self) -> list[int]:
        return [] if self.is_over() else [c for c in range(self.columns) if (c, self.rows - 1) not in self.stones]

    def apply(self, column: int) -> None:
        row = sum((column, r) in self.stones for r in range(self.rows))
        seat = self.stones.setdefault((column, row), self.mover())
        for right, up in self.directions:
            ahead, behind = self._run(column, row, right, up), self._run(column, row, -right, -up)
            if ahead + behind - 1 >= self.line:
                self.winner = seat

    def _run(self, column: int, row: int, right: int, up: int) -> int:
        seat, length = self.stones[column, row], 1
        while self.stones.get((column + right * length, row + up * length)) == seat:
            length += 1
        return length

    def scores(self) -> list[int]:
        return [0 if self.winner is None else 1 if seat == self.winner else -1 for seat in range(self.players)]

    def planes(self) -> np.ndarray:
        planes = np.zeros((self.rows, self.columns, self.players), np.float32)
        for (column, row), seat in self.stones.items():
            planes[self.rows - 1 - row, column, (seat - self.mover()) % self.players] = 1
        return planes

    def open_pairs(self, seat: int) -> int:
        """Open pairs of a seat (Sanz & Villanueva 2021, section 4.2)."""
        pairs = 0
        for (column, row), owner in self.stones.items():
            for right, up in self.directions:
                if owner == seat == self.stones.get((column + right, row + up)):
                    ends = ((column - right, row - up), (column + 2 * right, row + 2 * up))
                    pairs += any(self._free(end, seat) for end in ends)
        return pairs

    def _free(self, field: tuple[int, int], seat: int) -> bool:
        inside = 0 <= field[0] < self.columns and 0 <= field[1] < self.rows
        return inside and self.stones.get(field, seat) == seat


@pytest.fixture(scope="module")
def record() -> oracles.Record:
    return oracles.random_games(make("connect4"), 2000)


def test_positions_by_ply_are_as_published():
    positions, ended = oracles.count_by_ply(make("connect4"), 8, A212693[-2])
    assert positions == A212693
    assert ended[:7] == [0] * 7  # nobody wins before the seventh stone


def test_agrees_with_pgx_over_2000_games(record):
    oracles.assert_pgx_agrees(record, "connect_four")


def test_agrees_with_openspiel_over_2000_games(record):
    oracles.assert_openspiel_agrees(record, "connect_four")


@pytest.mark.parametrize(
    ("rows", "columns", "line", "players"),
    [
        (6, 7, 4, 2),
        (3, 4, 3, 2),  # connect3, Goldberg & Ishay's board
        (6, 7, 4, 3),
        (5, 6, 3, 4),
        (6, 9, 5, 2),
        (9, 4, 5, 3),
        (4, 32, 4, 2),
        (32, 4, 6, 2),
        (2, 5, 5, 2),
        (1, 6, 2, 4),
        (5, 1, 2, 2),
    ],
)
def test_every_board_agrees_with_the_reference(rows, columns, line, players):
    games = 40
    record = oracles.random_games(Connect(rows, columns, line, players), games, seed=rows * columns)
    for game in range(games):
        reference = Reference(rows, columns, line, players)
        for ply in range(rows * columns + 1):
            assert np.flatnonzero(record.legal[game, ply]).tolist() == reference.legal_moves()
            assert record.over[game, ply] == reference.is_over()
            assert record.scores[game, ply].tolist() == reference.scores()
            if reference.is_over():
                break
            assert record.mover[game, ply] == reference.mover()
            np.testing.assert_array_equal(record.observation[game, ply], reference.planes())
            reference.apply(int(record.action[game, ply]))


@pytest.mark.parametrize("game", [Connect(), Connect(5, 6, 4, 3), Connect(32, 3, 4, 2)], ids=lambda game: game.id)
def test_the_heuristic_counts_open_pairs(game):
    lots, references, actions = np.random.default_rng(5), [], []
    for length in range(0, 40, 2):  # boards with stones, won or not
        reference, played = Reference(game.rows, game.columns, game.line, game.players), []
        while len(played) < length and not reference.is_over():
            played.append(int(lots.choice(reference.legal_moves())))
            reference.apply(played[-1])
        references.append(reference)
        actions.append([*played, *[-1] * (40 - len(played))])

    def oracle(row):
        def ply(state, action):
            after = game.step(state, action)
            return jax.tree.map(lambda new, old: jnp.where(action < 0, old, new), after, state), None

        return game.heuristic(jax.lax.scan(ply, game.init(jax.random.key(0)), row)[0])

    estimates = np.asarray(jax.jit(jax.vmap(oracle))(jnp.array(actions, jnp.int32)))
    for values, reference in zip(estimates, references, strict=True):
        pairs = [reference.open_pairs(seat) for seat in range(game.players)]
        for seat, value in enumerate(values):
            rivals = max(pairs[:seat] + pairs[seat + 1 :])
            assert value == pytest.approx((pairs[seat] - rivals) / game.max_moves)


def test_the_heuristic_of_figure_4_2():
    """Sanz & Villanueva 2021, figure 4.2: red has five open pairs and yellow two.

    Red's vertical pair has an edge and a rival at its ends.

    The thesis names the pairs, not the fields; this board has just those. Stones 1 to 5 of red:
        . . . . . . .
        . 4 . Y . . .
        . Y 1 2 3 . .
        . Y Y 5 Y . .
    """
    game = make("connect4")
    state = Session.from_moves(game, "4335524224").state
    assert game.draw(state).splitlines()[3:6] == [". X . O . . .", ". O X X X . .", ". O O X O . ."]
    assert np.asarray(game.heuristic(state)) == pytest.approx([3 / 42, -3 / 42])


def test_reads_and_draws_wide_boards():
    game = make("connect:rows=4,columns=32,line=4")
    state = Session.from_moves(game, "32 1 12 2").state
    assert game.draw(state).splitlines()[3].split() == ["O", "O", *["."] * 9, "X", *["."] * 19, "X"]
    assert game.id == "connect:rows=4,columns=32,line=4"
    assert make(game.id) == game


@pytest.mark.parametrize(
    ("id", "message"),
    [
        ("connect:line=8", "line=8 is impossible on 6 x 7 fields: expected 2 to 7"),
        ("connect:columns=33", "1 to 32 rows and columns"),
        ("connect:players=5", "2 to 4 players"),
        ("connect:colums=9", "Did you mean columns"),
    ],
)
def test_refuses_impossible_boards(id, message):
    with pytest.raises(GameError, match=message):
        make(id)
