"""What a search refuses, and the messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import Array

from tabia import games
from tabia.games.game import State
from tabia.search import Evaluation, Gumbel, Omc, Pbbm, Puct, Rule, Search, SearchError
from tabia.search.budget import Budget
from tabia.search.evaluators import Uniform
from tabia.search.reuse import continue_search
from tabia.search.tree import VISITS, View

from .positions import one, random_positions
from .toy_games import Dice

GAME = games.make("connect3")
KEY = jax.random.key(0)


def positions() -> State:
    return random_positions(GAME, 4, seed=1, most_moves=4)


def search(**options: Any) -> Search:
    return Search(**{"game": GAME, "evaluate": Uniform(GAME), "simulations": 8, **options})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"simulations": 0}, "simulations=0: at least 1 is needed"),
        ({"simulations": -5}, "simulations=-5"),
        ({"leaves": 0}, "leaves=0"),
        ({"leaves": 3}, "simulations=8 must be a multiple of leaves=3"),
        ({"max_depth": 0}, "max_depth=0"),
        ({"reuse_nodes": -1}, "reuse_nodes=-1"),
        ({"outcomes": 0}, "outcomes=0"),
        ({"rule": Omc(), "leaves": 2}, "Omc measures variance"),
        ({"rule": Pbbm(), "leaves": 2}, "Pbbm measures variance"),
        ({"rule": Gumbel(), "reuse_nodes": 8}, "Gumbel plans all visits of its root"),
        ({"game": Dice(), "transpositions": True}, "dice has chance"),
        ({"game": Dice(), "cut_loops": True}, "dice has chance"),
        ({"game": Dice(), "reuse_nodes": 5}, "dice has chance"),
    ],
)
def test_invalid_settings_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(SearchError, match=words):
        search(**options)


def finished() -> State:
    """The same batch, its third game played to the end."""
    state = one(positions(), 2)
    while not bool(GAME.over(state)):
        state = GAME.step(state, jnp.argmax(GAME.legal(state)).astype(jnp.int32))
    return jax.tree.map(lambda batch, leaf: batch.at[2].set(leaf), positions(), state)


@pytest.mark.parametrize(
    ("states", "words"),
    [
        (finished, "Position 2 of the batch is already over"),
        (
            lambda: random_positions(games.make("tictactoe"), 4),
            "positions of connect3: their states have another structure",
        ),
        (lambda: random_positions(games.make("connect4"), 4), "not positions of connect3: expected a batch of uint32"),
        (
            lambda: one(positions(), 0),
            r"one position of connect3; .* Add a batch axis: jax.tree.map\(lambda x: x\[None\], state\)",
        ),
        (lambda: positions()._replace(moves=positions().moves[:3]), "3 and 4 rows"),
        (lambda: positions()._replace(moves=positions().moves.astype(jnp.float32)), "expected a batch of int32"),
        (lambda: jax.tree.map(lambda leaf: leaf[:0], positions()), "0 rows"),
        (lambda: [positions(), random_positions(games.make("tictactoe"), 4)], "another structure"),
    ],
    ids=["over", "tictactoe", "connect4", "no batch", "ragged", "wrong type", "empty", "two games"],
)
def test_invalid_positions_are_refused(states: Callable[[], State], words: str) -> None:
    with pytest.raises(SearchError, match=words):
        search().run(None, states(), KEY)
    with pytest.raises(SearchError, match=words):
        Budget(search(), chunk=8).run(None, states(), KEY)


def of_shape(logits: tuple[int, ...], values: tuple[int, ...]) -> Any:
    return lambda parameters, states, key: Evaluation(jnp.zeros(logits), jnp.zeros(values))


@pytest.mark.parametrize(
    ("evaluate", "words"),
    [
        (of_shape((4, 5), (4, 2)), r"logits have shape \[4, 5\]; connect3 needs \[4, 4\]"),
        (of_shape((4, 4), (4, 1)), r"values have shape \[4, 1\]; connect3 needs \[4, 2\]"),
        (of_shape((4, 4), (4,)), r"values have shape \[4\]"),
        (of_shape((1, 4), (4, 2)), r"logits have shape \[1, 4\]"),
    ],
)
def test_evaluators_with_wrong_shapes_are_refused(evaluate: Any, words: str) -> None:
    with pytest.raises(SearchError, match=words):
        search(evaluate=evaluate).run(None, positions(), KEY)


def doubtful(bad: Array, states: State, key: Array) -> Evaluation:
    """Goes wrong once the board holds the marked number of stones."""
    answer = Uniform(GAME)(None, states, key)
    stones = states.moves[:, None]
    return Evaluation(
        jnp.where(stones == bad[0], jnp.nan, answer.logits), jnp.where(stones == bad[1], jnp.inf, answer.values)
    )


def test_unusable_evaluations_are_reported_with_the_first_position() -> None:
    """Positions have 0 to 4 stones; eight simulations look at most two stones ahead, and never at a finished game."""
    uneven = random_positions(GAME, 6, seed=2, most_moves=6)
    stones = [int(moves) for moves in uneven.moves]
    most = max(stones)
    first = stones.index(most)
    assert first > 0  # the one with most stones is not the first of the batch
    for bad in (jnp.array([most, 99]), jnp.array([99, most])):
        with pytest.raises(SearchError, match=f"for position {first + 1} of 6; [0-9] of 6 searches") as refusal:
            search(evaluate=doubtful, simulations=1).run(bad, uneven, KEY)
        assert GAME.draw(one(uneven, first)) in str(refusal.value)
    search(evaluate=doubtful, simulations=1).run(jnp.array([99, 99]), uneven, KEY)


def test_continued_searches_are_checked() -> None:
    how = search(reuse_nodes=8)
    tree = how.run(None, positions(), KEY).tree
    with pytest.raises(SearchError, match="already over"):
        continue_search(how, None, tree, jnp.zeros(4, jnp.int32), finished(), KEY)
    with pytest.raises(SearchError, match="not positions of connect3"):
        continue_search(how, None, tree, jnp.zeros(4, jnp.int32), random_positions(games.make("connect4"), 4), KEY)


def test_the_reference_does_not_guess() -> None:
    from tabia.search.reference import Reference

    class Strange(Rule):
        def scores(self, node: View) -> Array:
            return node.visits

    with pytest.raises(TypeError, match="Strange"):
        Reference(GAME, Uniform(GAME), 1, Strange()).run(None, one(positions(), 0))
    with pytest.raises(TypeError, match="for untried actions"):
        Reference(GAME, Uniform(GAME), 1, Puct(untried_value=lambda node: node.visits)).run(None, one(positions(), 0))
    with pytest.raises(SearchError, match="dice has chance"):
        Reference(Dice(), Uniform(Dice()), 1, Puct())


def test_a_refused_batch_costs_nothing() -> None:
    """One game alone is fine: the sentence above is about what was over, not about size."""
    alone = jax.tree.map(lambda leaf: leaf[:1], positions())
    assert float(search().run(None, alone, KEY).tree.records[0, 0, :-1, VISITS].sum()) == 8
