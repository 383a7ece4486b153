"""Options of players with a search: kept trees, ties, final moves, lines; against the search itself and by laws."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from tabia import games, players
from tabia.core import groups
from tabia.core.errors import TabiaError
from tabia.evaluation.match import Match, play
from tabia.games.game import State
from tabia.games.session import Session
from tabia.players.simple import MinimaxPlayer
from tabia.players.tree_player import SearchPlayer, TreeSearchPlayer
from tabia.players.tree_search import MCTSPlayer
from tabia.search import MiniAlphaGo, Puct, Search, Uct
from tabia.search.agreement import UntilAgreed
from tabia.search.evaluators import Evaluation, Heuristic, Mix, Network, Rollout, Uniform, WinningMovesFirst
from tabia.search.result import agreed
from tabia.search.reuse import child_of, continue_unchecked
from tabia.search.rules.puct import as_loss

GAME = games.make("connect3")
KEY = jax.random.key(1)
SIMULATIONS = 24


def starts(count: int = 8) -> State:
    """The positions after each of the four first moves, twice."""
    first = GAME.init(jax.random.key(0))
    return jax.vmap(lambda action: GAME.step(first, action))(jnp.arange(count) % GAME.num_actions)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("mcts:rule=puct,untried_value=lowest,own_visit=false", Puct(c=1.4, untried_value=as_loss, own_visit=False)),
        ("mcts:rule=mini-alphago,c1=0,untried_first=true,final_only=true", MiniAlphaGo(0.0, 2**0.5, True, True)),
    ],
)
def test_rules_by_spec(spec: str, expected: object) -> None:
    player = players.make(spec, GAME)
    assert isinstance(player, MCTSPlayer) and player.rule == expected
    again = players.make(MCTSPlayer(GAME, rule=player.rule).spec, GAME)
    assert isinstance(again, MCTSPlayer) and again.rule == expected


def test_options_reach_the_search() -> None:
    options = "transpositions=true,cut_loops=true,ties=random,reuse_tree=true,proven_values=true"
    for spec in (f"mcts:simulations={SIMULATIONS},{options}", f"az:untrained,simulations={SIMULATIONS},{options}"):
        search = players.make(spec, GAME).search  # type: ignore[attr-defined]
        assert search.transpositions and search.cut_loops and search.random_ties and search.proven_values
        assert search.reuse_nodes == SIMULATIONS and not search.rule.plans_root
    plain = MCTSPlayer(GAME, simulations=SIMULATIONS, ties="random", reuse_tree=True, proven_values=True)
    assert players.make(plain.spec, GAME) == plain


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("az:untrained,rule=gumbel,reuse_tree=true", "cannot continue an earlier tree"),
        ("mcts:reuse_tree=true,seconds=1", "reuse_tree does not work with seconds"),
        ("az:untrained,rule=gumbel,final=max-robust", "cannot search on"),
        ("mcts:final=max-robust,until_agreed=true", "omit seconds, until_agreed and reuse_tree"),
        ("mcts:final=visits,secure_a=2", "secure_a applies only to final=secure"),
        ("mcts:ties=last", "ties=last in mcts:ties=last is not valid"),
        ("minimax:line=4", "lines of connect3 have 1 to 3 stones"),
    ],
)
def test_refusals(spec: str, message: str) -> None:
    with pytest.raises(TabiaError) as refusal:
        players.make(spec, GAME)
    assert message in str(refusal.value)
    with pytest.raises(TabiaError, match="has no heuristic that counts lines"):
        players.make("minimax:line=2", games.make("tictactoe"))


GROUPED = [
    f"mcts:simulations={SIMULATIONS}",
    f"mcts:simulations={SIMULATIONS},ties=random,final=value",
    "az:connect3,simulations=8",
]


@pytest.mark.parametrize("spec", GROUPED)
def test_groups_of_positions_are_searched_as_they_would_be_alone(spec: str) -> None:
    player, states = players.make(spec, GAME), starts(8)
    assert groups.number(8) == 2 and groups.number(4) == 1
    found = player.choose(states, KEY)
    for group in range(2):
        rows = slice(group * 4, (group + 1) * 4)
        alone = player.choose(jax.tree.map(lambda leaf, rows=rows: leaf[rows], states), jax.random.fold_in(KEY, group))
        assert (found.actions[rows] == alone.actions).all()
        np.testing.assert_array_equal(found.visits[rows], alone.visits)
        np.testing.assert_allclose(found.values[rows], alone.values, atol=1e-6)


@pytest.mark.parametrize(
    ("spec", "splits"),
    [
        *((spec, True) for spec in GROUPED),
        ("az:connect4-laptop,int8=true", False),  # calls Python, which shares the positions among the cores
        (f"mcts:simulations={SIMULATIONS},final=max-robust", False),  # stops when all positions agree
    ],
)
def test_what_is_searched_in_groups(spec: str, splits: bool) -> None:
    player = players.make(spec, games.make("connect4") if "connect4" in spec else GAME)
    assert isinstance(player, TreeSearchPlayer) and player.splits == splits


def test_an_evaluator_that_may_call_python_is_not_called_by_several_threads() -> None:
    for evaluate, splits in (
        (Uniform(GAME), True),
        (WinningMovesFirst(GAME, Mix(Rollout(GAME), Heuristic(GAME))), True),
        (WinningMovesFirst(GAME, Mix(Rollout(GAME), Uniform(GAME).__call__)), False),
        (Network(GAME, lambda parameters, observations: (observations, observations)), False),
    ):
        assert SearchPlayer(Search(GAME, evaluate, simulations=8)).splits == splits


@dataclass(frozen=True)
class Broken:
    """NaN for the position after the first move in the last column, otherwise 0."""

    calls_python = False

    def __call__(self, parameters: None, states: State, key: Array) -> Evaluation:
        found = Uniform(GAME)(parameters, states, key)
        stones = jax.vmap(GAME.observe)(states)[..., :2].sum(axis=(1, 3))  # by column
        last = (stones.sum(axis=1) == 1) & (stones[:, -1] == 1)
        return Evaluation(found.logits, jnp.where(last[:, None], jnp.nan, found.values))


def test_a_broken_evaluation_is_named_by_its_place_in_the_whole_batch() -> None:
    player = SearchPlayer(Search(GAME, Broken(), simulations=4))
    first = GAME.init(jax.random.key(0))
    for moves, named in (
        ([0, 1, 2, 0, 1, 3, 0, 0], "position 6 of 8; 1 of 8 searches"),
        ([0, 3, 2, 0, 1, 3, 0, 3], "position 2 of 8; 3 of 8 searches"),
    ):
        states = jax.vmap(lambda action: GAME.step(first, action))(jnp.array(moves))
        with pytest.raises(TabiaError, match=named):
            player.choose(states, KEY)


def test_a_kept_tree_is_the_one_that_the_moves_lead_to() -> None:
    """After the player's own move and a reply, and with games in another order, the search goes on below them."""
    player = players.make(f"mcts:simulations={SIMULATIONS},rule=puct,heuristic_weight=1,reuse_tree=true", GAME)
    search: Search = player.search  # type: ignore[attr-defined]
    states = starts()
    first = search.run_unchecked(None, states, KEY)
    chosen = player.choose(states, KEY)
    assert (np.asarray(chosen.visits) == np.asarray(first.visits)).all()

    replies = jnp.argmax(jax.vmap(GAME.legal)(states), axis=1)
    middle = jax.vmap(GAME.step)(states, chosen.actions)
    after = jax.vmap(GAME.step)(middle, replies)
    own = continue_unchecked(search, None, first.tree, child_of(first.tree, chosen.actions), middle, KEY)
    node = np.asarray(child_of(first.tree, chosen.actions))
    links = np.asarray(first.tree.records)[np.maximum(node, 0), np.arange(8), np.asarray(replies), 3]
    kept = np.where((node >= 0) & (links >= 0), links, -1).astype(np.int32)
    assert (kept >= 0).any() and own.visits.shape == (8, 4)
    expected = continue_unchecked(search, None, first.tree, jnp.asarray(kept), after, jax.random.key(2))

    swapped = jax.tree.map(lambda leaf: leaf[::-1], after)
    found = player.choose(swapped, jax.random.key(2))
    assert (np.asarray(found.visits)[::-1] == np.asarray(expected.visits)).all()
    assert np.asarray(found.values)[::-1] == pytest.approx(np.asarray(expected.values), abs=1e-5)


def test_a_match_of_players_that_keep_their_trees() -> None:
    """Every move has at least the simulations of one search, and both players stay legal to the end."""
    pair = tuple(
        players.make(f"mcts:simulations={size},reuse_tree=true,ties=random", GAME) for size in (SIMULATIONS, 8)
    )
    played = play(Match(GAME, pair, games=8, opening_moves=1))
    assert len(played.records) == 8 and all(record.finished for record in played.records)


def test_max_robust_searches_on_in_each_game() -> None:
    search = MCTSPlayer(GAME, simulations=SIMULATIONS, final="max-robust").search
    until = UntilAgreed(search, SIMULATIONS, 8)
    states = starts(64)
    result = until.run_unchecked(None, states, KEY)
    total = np.asarray(result.visits).sum(axis=1)
    done = np.asarray(agreed(result))
    assert ((total == 4 * SIMULATIONS) | done).all() and done.mean() > 0.5
    assert total.min() == SIMULATIONS < total.max() and ((total - SIMULATIONS) % 8 == 0).all()
    best = np.asarray(result.means) == np.where(np.asarray(result.visits) > 0, result.means, -2).max(axis=1)[:, None]
    choice = MCTSPlayer(GAME, simulations=SIMULATIONS, final="max-robust").choose(states, KEY)
    assert choice.visits is not None
    assert best[np.arange(64), np.asarray(choice.actions)][done].mean() > 0.9  # the player's chunks are other ones
    alone = until.run_unchecked(None, jax.tree.map(lambda leaf: leaf[:1], states), KEY)
    assert np.asarray(alone.visits).sum() in range(SIMULATIONS, 4 * SIMULATIONS + 1, 8)


def test_the_constant_of_the_secure_child() -> None:
    """With a large negative constant it is the most visited action, with a large positive one the least visited."""
    states = starts()
    for a, order in ((-1000.0, 1.0), (1000.0, -1.0)):
        player = players.make(f"mcts:simulations={SIMULATIONS},final=secure,secure_a={a:g}", GAME)
        choice = player.choose(states, KEY)
        visits = np.asarray(choice.visits)
        ranked = np.where(visits > 0, order * visits, -np.inf)
        assert (ranked[np.arange(8), np.asarray(choice.actions)] == ranked.max(axis=1)).all()


def test_minimax_counts_lines_of_the_given_length() -> None:
    """Three stones of X in row 1 of Connect 4 are two pairs and one triple, all open at the right end."""
    game = games.make("connect4")
    state = Session.from_moves(game, "1 1 2 2 3").state
    for length, (own, other) in {1: (3, 2), 2: (2, 1), 3: (1, 0)}.items():
        found = np.asarray(game.line_heuristic(state, length))[0] * 42  # type: ignore[attr-defined]
        if length > 1:
            assert found == pytest.approx(own - other, abs=1e-4), length
    assert np.array_equal(game.heuristic(state), game.line_heuristic(state, 2))  # type: ignore[attr-defined]
    player = players.make("minimax:depth=2,line=3,ties=first", game)
    assert isinstance(player, MinimaxPlayer) and player.minimax.heuristic is not None
    assert players.make(MinimaxPlayer(game, depth=2, line=3, ties="first").spec, game) == player


def test_uct_with_random_ties_varies_the_first_moves() -> None:
    states = jax.vmap(GAME.init)(jax.random.split(jax.random.key(0), 64))
    player = MCTSPlayer(GAME, simulations=4, rule=Uct(), heuristic_weight=1.0, ties="random")
    # Four simulations visit each of four actions once, so all are equally good by visits.
    assert len(np.unique(np.asarray(player.choose(states, KEY).actions))) == 4
