"""Equality, parameters and symmetries of plain Python classes, compared with closed forms and with Python itself."""

from __future__ import annotations

import functools
import itertools
from collections import deque
from pathlib import Path

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabia.games import GameError, laws, make
from tabia.games.adapters import equality
from tabia.games.adapters.host import HostGame
from tabia.solvers.enumeration import positions_by_ply
from tabia.solvers.errors import TooLarge
from tabia.solvers.exact import solve

EXAMPLES = Path(__file__).parents[2] / "examples"
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)


def positions(game):
    """Every position that is not over, by its own object."""
    starts = jax.tree.map(lambda leaf: leaf[None], game.init(jax.random.key(0)))
    for states in positions_by_ply(game, starts, limit=10_000):
        count = len(jax.tree.leaves(states)[0])
        yield from ((jax.tree.map(lambda leaf, row=row: leaf[row], states)) for row in range(count))


@settings(max_examples=25)
@given(VALUES, VALUES)
def test_words_are_equal_exactly_for_equal_values(one, other):
    check_words(one, other)


@pytest.mark.long
@given(VALUES, VALUES)
def test_words_are_equal_exactly_for_many_equal_values(one, other):
    check_words(one, other)


def check_words(one, other):
    assert np.array_equal(equality.words(one), equality.words(other)) == (one == other)
    assert np.array_equal(equality.words([one, other]), equality.words((one, other)))


def test_words_of_arrays_sets_and_objects():
    class Stone:
        def __init__(self, at):
            self.at = at

    same = [
        (np.arange(6).reshape(2, 3), [[0, 1, 2], [3, 4, 5]]),
        ({3, 1, 2}, frozenset([2, 3, 1])),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (deque([1, 2]), [1, 2]),
        (Stone([1]), Stone((1,))),
        (np.int8(3), 3),
    ]
    for one, other in same:
        assert np.array_equal(equality.words(one), equality.words(other)), (one, other)
    every = [equality.words(value).tobytes() for value in ([[1], 2], [1, [2]], [1, 2], "12", b"12", 12, Stone(12))]
    assert len(set(every)) == len(every)


@pytest.mark.parametrize("value", [iter([1]), lambda: 1, __import__("random").Random(0), np.random.default_rng(0)])
def test_what_hides_its_state_is_incomparable(value):
    with pytest.raises(equality.Incomparable):
        equality.words([value])


def test_nim_is_solved_as_bouton_says():
    """The heaps and the mover are the position; the mover wins exactly where the nim-sum of the heaps is not 0."""
    game = make(f"{EXAMPLES}/nim.py:Nim")
    solution = solve(game)
    states = list(positions(game))
    objects = [game.object(state) for state in states]
    batch = jax.tree.map(lambda *leaves: np.stack(leaves), *states)
    values = solution.values(batch)
    for position, value in zip(objects, values, strict=True):
        a, b, c = position.heaps
        assert value[position.turn] == (1 if a ^ b ^ c else -1)
        assert value[1 - position.turn] == -value[position.turn]
    reached = {((3, 4, 5), 0)}
    for _ in range(12):
        for (heaps, turn), heap in itertools.product(set(reached), range(3)):
            reached |= {((*heaps[:heap], left, *heaps[heap + 1 :]), 1 - turn) for left in range(heaps[heap])}
    going = {(heaps, turn) for heaps, turn in reached if any(heaps)}
    assert {(tuple(position.heaps), position.turn) for position in objects} == going
    assert len(objects) == len(going), "every position counts once"
    assert len(solution) == len(reached), "the end, won by either seat, included"


def test_kayles_is_solved_as_its_grundy_numbers_say():
    """Guy and Smith, 1956: a row of pins is worth 0, 1, 2, 3, 1, 4, 3, 2, ...; rows add up as in Nim."""
    grundy = [0, 1, 2, 3, 1, 4, 3, 2]
    game = make(f"{EXAMPLES}/kayles.py:Kayles:pins=6")
    solution, states = solve(game), list(positions(game))
    values = solution.values(jax.tree.map(lambda *leaves: np.stack(leaves), *states))
    for state, value in zip(states, values, strict=True):
        position = game.object(state)
        rows = [len(row) for row in "".join("!" if pin else " " for pin in position.standing).split()]
        total = functools.reduce(int.__xor__, (grundy[row] for row in rows))
        assert value[position.turn] == (1 if total else -1)


def test_kayles_keeps_the_laws_with_its_symmetry():
    game = make(f"{EXAMPLES}/kayles.py:Kayles:pins=4")
    assert (game.num_actions, game.max_moves, game.observation_shape) == (7, 4, (1, 4, 1))
    assert len(game.symmetries) == 2
    assert [verdict for verdict in laws.check(game, games=8) if not verdict.holds] == []


class Pairs:
    """Take a number from 0 to 5; after three moves the larger sum wins."""

    num_players, num_actions, max_moves = 2, 6, 4

    def __init__(self):
        self.taken = [[], []]

    def legal_moves(self):
        return [move for move in range(6) if move not in self.taken[0] + self.taken[1]]

    def apply(self, move):
        self.taken[self.mover()].append(move)

    def mover(self):
        return len(self.taken[0]) - len(self.taken[1])

    def is_over(self):
        return len(self.taken[1]) == 2

    def scores(self):
        ahead = sum(self.taken[0]) - sum(self.taken[1])
        return [1, -1] if ahead > 0 else [-1, 1] if ahead < 0 else [0, 0]


def with_(**changed) -> type:
    return type("Pairs", (Pairs,), changed)


def test_mirrored_actions_are_enough_without_observe():
    swapped = [4, 5, 2, 3, 0, 1]  # changes sums, so it is not a symmetry of this game
    assert [turn.actions.tolist() for turn in HostGame(with_(symmetries=[swapped])).symmetries] == [
        [*range(6)],
        swapped,
    ]
    broken = {
        verdict.law for verdict in laws.check(HostGame(with_(symmetries=[swapped])), games=8) if not verdict.holds
    }
    assert broken == {
        "A game played under a symmetry shows the transformed board and moves, and the same mover, end and scores."
    }


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"position": lambda self: None}, r"class Pairs: position\(\) is the same as .*, but legal_moves\(\)"),
        (
            {"position": lambda self: sorted(self.taken[0] + self.taken[1])},
            r"position\(\) is the same as after moves .*, but the positions after move \d are not the same",
        ),
        ({"position": lambda self: object}, r"position\(\) holds a type; it may hold numbers, text"),
        ({"position": lambda self: 1 / 0}, r"position\(\) raised ZeroDivisionError"),
        (
            {"legal_moves": lambda self: [(0, 1)]},
            r"legal_moves\(\) has \(0, 1\), a tuple, but a move is a number from 0",
        ),
        ({"legal_moves": lambda self: None}, r"legal_moves\(\) is None, not a list of action numbers"),
        ({"legal_moves": lambda self: [1.0]}, r"legal_moves\(\) has 1.0, a float"),
    ],
)
def test_mistakes_are_explained(changed, message):
    with pytest.raises(GameError, match=message):
        HostGame(with_(**changed))


def _keep_generator(self):
    Pairs.__init__(self)
    self.source = __import__("threading").local  # nothing that could be compared


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({}, r"compared by all attributes \(taken\)\. If .* define position\(\)"),
        (
            {"__init__": _keep_generator},
            r"Move sequences were counted, .* attribute 'source' holds a type. Define position\(\)",
        ),
        ({"position": lambda self: self.taken}, r"^Pairs has more than 20 positions, too many to solve exactly\.$"),
    ],
)
def test_too_many_positions_come_with_advice(changed, message):
    with pytest.raises(TooLarge, match=message) as refusal:
        solve(HostGame(with_(**changed)), limit=20)
    assert "limit" not in str(refusal.value)


def test_a_class_that_cannot_be_compared_is_still_played():
    """Without equality every order of moves is a position of its own: 6 * 5 * 4 * 3 games, and all before them."""
    assert len(solve(HostGame(with_(__init__=_keep_generator)))) == 1 + 6 + 30 + 120 + 360
