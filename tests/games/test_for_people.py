"""What games tell people beside the board: pieces, goals, endings, winning lines, moves left, coordinates."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tabia.games import Game, State, ids, make
from tabia.games.session import Session

LINES = ["tictactoe", "connect3", "connect4", "connect:rows=5,columns=6,line=3,players=3", "connect4:history=2"]
EVERYTHING = [*ids(), "chinese-checkers:fields=121,players=6", "pgx:hex", "pgx:chess", "connect4:history=2"]


def last_states(game: Game, count: int, seed: int = 0) -> list[State]:
    """How `count` random games ended."""
    dice, states = np.random.default_rng(seed), []
    step, legal, over = jax.jit(game.step), jax.jit(game.legal), jax.jit(game.over)
    for _ in range(count):
        state = game.init(jax.random.key(0))
        while not bool(over(state)):
            state = step(state, jnp.int32(dice.choice(np.flatnonzero(np.asarray(legal(state))))))
        states.append(state)
    return states


def plain(board: str) -> list[list[str]]:
    """The cells of a drawing, without brackets, labels and captions."""
    rows = [re.sub(r"[\[\]]", " ", line).split() for line in board.splitlines()]
    rows = [[cell for cell in row if cell in ".XO+#"] for row in rows]
    return [row for row in rows if row]


def lines_by_hand(cells: list[list[str]], mark: str, length: int) -> set[tuple[int, int]]:
    """Every cell of every straight line of `length` marks, looked for from every cell in all eight directions."""
    found = set()
    for row, column in np.ndindex(len(cells), len(cells[0])):
        for down, right in [(y, x) for y in (-1, 0, 1) for x in (-1, 0, 1) if (y, x) != (0, 0)]:
            line = [(row + step * down, column + step * right) for step in range(length)]
            on_board = all(0 <= y < len(cells) and 0 <= x < len(cells[0]) for y, x in line)
            if on_board and all(cells[y][x] == mark for y, x in line):
                found.update(line)
    return found


@pytest.mark.parametrize("game_id", LINES)
def test_the_winning_line_is_every_line_found_by_brute_force_and_is_marked(game_id: str) -> None:
    game = make(game_id)
    length = int(re.sub(r"\D*(\d).*", r"\1", game.title.partition(":")[0])) if "onnect" in game.title else 3
    start = game.init(jax.random.key(0))
    assert game.winning_line(start) == () and "[" not in game.draw(start)
    for state in last_states(game, 40):
        scores, board = np.asarray(game.scores(state)), game.draw(state)
        winner = int(scores.argmax()) if scores.any() else None
        expected = set() if winner is None else lines_by_hand(plain(board), game.piece(winner), length)
        assert set(game.winning_line(state)) == expected
        assert (winner is None) == (not expected) == ("[" not in board)
        assert (winner is None) == (game.ending(state) == "the board is full")
        marked = sum(len(run.split()) for run in re.findall(r"\[([^\]]*)\]", board))
        assert marked == len(expected)


@pytest.mark.parametrize("game_id", EVERYTHING)
def test_every_game_says_what_you_play_and_what_for(game_id: str) -> None:
    game = make(game_id)
    pieces = [game.piece(seat) for seat in range(game.num_players)]
    assert all(pieces) and len(set(pieces)) == game.num_players
    goals = [game.goal(seat) for seat in range(game.num_players)]
    assert all(goal.endswith(".") and goal != Game.goal(game, 0) for goal in goals)
    mark = pieces[0].partition(",")[0]
    assert (
        len(mark) > 1 or game_id in {"tictactoe", *LINES, "pgx:hex"} or mark in game.draw(game.init(jax.random.key(0)))
    )


@pytest.mark.parametrize(
    "game_id", ["chinese-checkers", "chinese-checkers:fields=121", "checkers:limit=40,no_progress=9"]
)
def test_a_limit_is_reached_exactly_when_no_moves_are_left(game_id: str) -> None:
    game, dice = make(game_id), np.random.default_rng(0)
    step, state = jax.jit(game.step), game.init(jax.random.key(0))
    for _ in range(60):
        left = game.moves_left(state)
        assert left is not None and 0 <= left <= game.max_moves
        if bool(game.over(state)):
            assert left == 0 or np.asarray(game.scores(state)).any()
            return
        assert left > 0
        state = step(state, jnp.int32(dice.choice(np.flatnonzero(np.asarray(game.legal(state))))))
    assert game_id != "checkers:limit=40,no_progress=9"


@pytest.mark.parametrize("players", [2, 3, 4, 6])
def test_chinese_checkers_names_its_rows_and_each_seats_corner(players: int) -> None:
    """The goal names exactly the fields of the end zone, its outermost field first among them."""
    game = make(f"chinese-checkers:fields=121,players={players}")
    state = game.init(jax.random.key(0))
    board = game.draw(state)
    for height, width in zip(
        "abcdefghijklmnopq", [1, 2, 3, 4, 13, 12, 11, 10, 9, 10, 11, 12, 13, 4, 3, 2, 1], strict=True
    ):
        last = f" {height}{width}$" if width > 1 else "$"
        assert re.search(rf"^ *{height}1 [^ ](   [^ ]){{{width - 1}}}{last}", board, re.MULTILINE)
    for seat in range(players):
        zone = game.goal(seat).partition(": ")[2].rstrip(".").split()
        ends = [name for name, end in zip(game._star.names, game._seating.ends[seat], strict=True) if end]
        assert zone == ends and len(zone) == 10
        corner = re.search(r"corner at (\w+)", game.goal(seat)).group(1)  # type: ignore[union-attr]
        assert corner in {"a1", "q1", "e1", "e13", "m1", "m13"} and f"{game.piece(seat)} {corner}" in board


@pytest.mark.parametrize("game_id", ["othello", "othello:size=6"])
def test_othello_ends_with_the_number_of_discs(game_id: str) -> None:
    game = make(game_id)
    for state in last_states(game, 5):
        counts = sorted((game.draw(state).count("X"), game.draw(state).count("O")), reverse=True)
        same = f"{counts[0]} discs each"
        assert game.ending(state) == (same if counts[0] == counts[1] else f"{counts[0]} discs to {counts[1]}")


def test_checkers_says_who_cannot_move_and_which_limit_came() -> None:
    seen = set()
    for game_id in ("checkers", "checkers:limit=30", "checkers:no_progress=5"):
        game = make(game_id)
        for state in last_states(game, 3):
            drawn = not np.asarray(game.scores(state)).any()
            loser = "br"[int(np.asarray(game.scores(state)).argmin())]
            assert ("limit" in game.ending(state) or "in a row" in game.ending(state)) == drawn
            assert drawn or game.ending(state) == f"{loser} has no moves left"
            seen.add(game.ending(state))
    assert "the limit of 30 moves" in seen and "5 moves in a row without a capture or a man's move" in seen


def test_chinese_checkers_says_who_was_home_or_that_nobody_was() -> None:
    game = make("chinese-checkers:moves_each=2")
    assert game.ending(last_states(game, 1)[0]) == "nobody was home within 2 moves each"
    assert Session.from_moves(game, "").state is not None
