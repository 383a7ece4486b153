"""The search of Goldberg & Ishay's code, all games at once, against the same search of one game written out."""

from __future__ import annotations

from math import inf, log, sqrt
from pathlib import Path

import numpy as np
import pytest

from tabia.games import make
from tabia.studies.part import NoControl, Place, part_seed
from tabia.studies.parts.listing import (
    TREE_C,
    Searched,
    Side,
    Table,
    choose,
    decisive_moves,
    play_match,
    search,
    tabulate,
)
from tabia.studies.parts.listing_matches import CodeMatch, of_labels, wins_and_draws


@pytest.fixture(scope="module")
def table() -> Table:
    return tabulate(make("tictactoe"))


def after(table: Table, *actions: int) -> int:
    position = 0
    for action in actions:
        position = int(table.child[position, action])
        assert position >= 0
    return position


class Node:
    """A node of the search written out."""

    def __init__(self, table: Table, position: int) -> None:
        self.position, self.visits, self.sum = position, 0, 0.0
        self.legal = [int(action) for action in np.flatnonzero(table.child[position] >= 0)]
        self.children: dict[int, Node] = {}


def written_out(table: Table, position: int, budget: int, random: np.random.Generator) -> Node:
    """One game: every node counts results for the player who searches."""
    root, player = Node(table, position), table.mover[position]
    for _ in range(budget):
        path = [root]
        while path[-1].legal:
            node = path[-1]
            untried = [action for action in node.legal if action not in node.children]
            if untried:
                node.children[untried[0]] = Node(table, int(table.child[node.position, untried[0]]))
                path.append(node.children[untried[0]])
                break
            path.append(max((node.children[action] for action in node.legal), key=lambda one: score(one, path[-1])))
        end = path[-1].position
        while (moves := table.child[end]).max() >= 0:
            end = int(moves[np.argmax(np.where(moves >= 0, random.random(len(moves)), -1.0))])
        for node in path:
            node.visits += 1
            node.sum += table.scores[end, player]
    return root


def score(node: Node, parent: Node) -> float:
    return node.sum / node.visits + TREE_C * sqrt(log(parent.visits) / node.visits)


@pytest.mark.parametrize("moves", [(), (4,), (0, 4, 8), (0, 3, 1, 4)], ids=str)
def test_the_search_is_that_of_one_game_written_out(table: Table, moves: tuple[int, ...]) -> None:
    position = after(table, *moves)
    found = search(table, np.array([position]), 120, np.random.default_rng(5))
    root = written_out(table, position, 120, np.random.default_rng(5))
    assert found.total.tolist() == [120]
    for action in range(9):
        child = root.children.get(action)
        assert found.visits[0, action] == (child.visits if child else 0)
        assert found.means[0, action] == pytest.approx(child.sum / child.visits if child else 0.0)


def test_games_are_searched_independently(table: Table) -> None:
    positions = np.array([0, after(table, 4), after(table, 0, 3, 1, 4)])
    found = search(table, positions, 60, np.random.default_rng(0))
    assert (found.total == 60).all() and (found.visits.sum(axis=1) == 60).all()
    assert ((found.visits > 0) == (table.child[positions] >= 0)).all()


def test_the_final_choice_adds_exploration_and_the_favorite() -> None:
    found = Searched(np.array([[90.0, 9.0, 1.0]]), np.array([[0.5, 0.4, 0.0]]), np.array([100.0]))
    here = np.array([0])
    assert choose(Side(0.0), found, here) == [0]
    assert choose(Side(sqrt(2.0)), found, here) == [2]  # 0 + sqrt(2 ln 100) is the highest
    assert choose(Side(0.0, 2.0, np.array([1])), found, here) == [1]  # 0.4 + 2 / 10
    assert choose(Side(0.0, 0.5, np.array([1])), found, here) == [0]  # 0.4 + 0.5 / 10
    unvisited = found._replace(visits=np.array([[90.0, 10.0, 0.0]]))
    assert choose(Side(sqrt(2.0)), unvisited, here) == [1]


def test_a_player_that_only_exploits_wins_at_once(table: Table) -> None:
    position = np.array([after(table, 0, 3, 1, 4)] * 8)
    found = search(table, position, 100, np.random.default_rng(1))
    assert (choose(Side(0.0), found, position) == 2).all()


def test_every_game_ends_with_a_score(table: Table) -> None:
    scores = play_match(table, (Side(0.0), Side(sqrt(2.0))), 16, 20, 3)
    assert scores.shape == (16,) and set(scores.tolist()) <= {-1.0, 0.0, 1.0}
    assert (play_match(table, (Side(0.0), Side(sqrt(2.0))), 16, 20, 3) == scores).all()


def test_wins_and_draws_are_counted_by_seat() -> None:
    found = wins_and_draws("row", np.array([1.0, 0.0, 0.0, -1.0]), np.array([-1.0, -1.0, 0.0, -1.0]))
    assert {one.key: (one.value, one.trials) for one in found} == {
        "row: wins": (12.5, 8),
        "row: draws": (37.5, 8),
        "row, first: wins": (25.0, 4),
        "row, first: draws": (50.0, 4),
        "row, second: wins": (0.0, 4),
        "row, second: draws": (25.0, 4),
    }


def test_a_match_counts_its_games_for_mini_alphago_in_both_seats(table: Table, tmp_path: Path) -> None:
    """Compared with the same games, counted by hand; c1 = 0 leaves UCT its sqrt 2."""
    match = CodeMatch("tictactoe", "match", "row", 40, 20, 0.0, 1.0, of_labels, lambda repeat: ())
    part = match.part(seed=5, repeat=1)
    found = {one.key: one.value for one in part.run(Place(tmp_path, NoControl())).estimates}
    mini, uct, seed = Side(0.0, 1.0, decisive_moves(table)), Side(sqrt(2.0)), part_seed(5, 1, "match")
    first = play_match(table, (mini, uct), 20, 20, seed).tolist()
    second = play_match(table, (uct, mini), 20, 20, seed + 1).tolist()
    assert set(found) == set(part.keys)
    assert found["row, first: wins"] == 5.0 * first.count(1.0) and found["row, first: draws"] == 5.0 * first.count(0.0)
    assert found["row, second: wins"] == 5.0 * second.count(-1.0)
    assert found["row, second: draws"] == 5.0 * second.count(0.0)
    both = first + [-score for score in second]
    assert (found["row: wins"], found["row: draws"]) == (2.5 * both.count(1.0), 2.5 * both.count(0.0))
    assert 0.0 in both and 1.0 in both and -1.0 in both  # so that each count is tested


def test_the_learned_moves_are_those_after_which_most_lines_have_a_winner(table: Table) -> None:
    """Compared with a walk through all lines from positions late in the game."""

    def lines(position: int) -> tuple[int, int]:
        children = [int(child) for child in table.child[position] if child >= 0]
        if not children:
            return int(table.scores[position, 0] != 0), 1
        parts = [lines(child) for child in children]
        return sum(part[0] for part in parts), sum(part[1] for part in parts)

    found = decisive_moves(table)
    for moves in ((0, 1, 2, 4), (4, 0, 8, 1, 2), (0, 4, 8, 1)):
        position = after(table, *moves)
        shares = {
            action: lines(int(child))[0] / lines(int(child))[1]
            for action, child in enumerate(table.child[position])
            if child >= 0
        }
        assert shares[int(found[position])] == max(shares.values(), default=-inf)
    assert (found[table.over] == 9).all()
