"""What self-play carries from ply to ply for its search: the positions of the game so far, and the tree."""

from __future__ import annotations

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tabia import games
from tabia.games.fingerprint import fingerprint
from tabia.networks import Network
from tabia.networks.presets import mlp
from tabia.search.reuse import child_of, continue_unchecked
from tabia.search.tree import NO_CHILD
from tabia.solvers import solve
from tabia.training import iteration
from tabia.training import state as states
from tabia.training.config.schema import SearchSettings, SelfPlaySettings
from tabia.training.errors import TrainingError
from tabia.training.plan import Plan
from tabia.training.selfplay import play as selfplay
from tabia.training.selfplay import replay
from tabia.training.selfplay.play import Plies, SelfPlay
from tests.search.toy_games import RingGame
from tests.training.comparing import same
from tests.training.conftest import TINY

GAME = RingGame(size=6, max_moves=24)
LANES, PLIES = 7, 40  # one group, whose random numbers are those of the whole call
KEY = jax.random.key(2)


def parts(**search: object) -> SelfPlay:
    """Self-play of a game whose positions repeat, with moves drawn at a high temperature."""
    network = Network(mlp(8, batch_norm=False), GAME.observation_shape, GAME.num_actions, GAME.num_players)
    settings = SearchSettings(simulations=24, rule="puct", c=4.0, **search)
    return SelfPlay(
        game=GAME,
        network=network,
        search=settings,
        settings=SelfPlaySettings(
            games=LANES, plies=PLIES, opening_moves=3, temperature_moves=24, temperature=2.0, epsilon=0.1
        ),
    )


@cache
def played(how: SelfPlay) -> tuple[Plies, jax.Array | None]:
    """The plies of one call, and the past of the lanes after it."""
    variables = how.network.init(jax.random.key(1))
    lanes, plies = how.play(variables, how.begin(jax.random.key(0)), KEY)
    return plies, lanes.track.past


def history_before(plies: Plies, row: int, lane: int) -> np.ndarray:
    """Fingerprints of the positions of a lane's game before a row, in the order of play; the opening is left out."""
    first = row - int(plies.ply[row, lane] - plies.opening[row, lane])
    return prints()[first:row, lane]


@cache
def prints() -> np.ndarray:
    """The fingerprints [T, B, 2] of all positions."""
    every = jax.jit(jax.vmap(jax.vmap(lambda state: fingerprint(GAME, state))))
    return np.asarray(every(played(HISTORY)[0].states))


@pytest.mark.long
@pytest.mark.parametrize("target", ["improved", "visits"])
def test_proven_positions_have_exact_targets(target: str) -> None:
    game = games.make("connect3")
    network = Network(mlp(8, batch_norm=False), game.observation_shape, game.num_actions, game.num_players)
    how = SelfPlay(
        game=game,
        network=network,
        search=SearchSettings(simulations=24, proven_values=True),
        settings=SelfPlaySettings(games=LANES, plies=PLIES, opening_moves=3, epsilon=0.1),
        target=target,
    )
    plies, _ = played(how)
    assert plies.proven is not None
    proven = np.asarray(plies.proven)
    assert 0.1 < proven.mean() < 0.9
    buffer = replay.add(replay.make_buffer(plies, PLIES), plies, reach=PLIES)
    states, solution = jax.tree.map(lambda leaf: leaf[proven], plies.states), solve(game)
    truth = solution.values(states)
    np.testing.assert_array_equal(np.asarray(plies.values)[proven], truth)
    np.testing.assert_array_equal(np.asarray(buffer.outcome)[proven], truth)
    assert np.asarray(buffer.ready)[proven].all()
    assert (np.asarray(plies.policy)[proven] * ~solution.best(states)).max() == 0


HISTORY = parts(cut_loops=True, cut_loops_history=True)


def test_the_past_holds_every_position_of_the_game() -> None:
    plies, past = played(HISTORY)
    repeated = 0
    for lane in range(LANES):
        row = PLIES - 1
        if plies.ended[row, lane]:
            continue
        ply, opening = int(plies.ply[row, lane]), int(plies.opening[row, lane])
        expected = history_before(plies, row, lane)
        assert np.array_equal(np.asarray(past)[lane, opening:ply], expected)
        assert np.asarray(past)[lane, :ply].any(axis=1).all(), "the positions of the opening are known, too"
        assert not np.asarray(past)[lane, ply + 1 :].any(), "a new game starts without a past"
        repeated += len(np.unique(expected, axis=0)) < len(expected)
    assert repeated, "no game repeated a position, so nothing was tested"


def test_the_search_of_self_play_gets_the_past() -> None:
    """The search values of a ply are those of a search that is given the positions before it."""
    plies, _ = played(HISTORY)
    weights = HISTORY.network.fold(HISTORY.network.init(jax.random.key(1)))
    search = selfplay.make_search(GAME, HISTORY.network, HISTORY.search, HISTORY.search.simulations)
    _, play_key = jax.random.split(KEY)
    changed = 0
    for row in range(4, PLIES, 8):
        key = jax.random.split(jax.random.fold_in(play_key, row), 3)[0]
        states = jax.tree.map(lambda leaf, row=row: leaf[row], plies.states)
        before = [history_before(plies, row, lane) for lane in range(LANES)]
        past = np.zeros((LANES, GAME.max_moves, 2), np.uint32)
        for lane, found in enumerate(before):
            past[lane, : len(found)] = found
        with_past = search.run(weights, states, key, past=jnp.asarray(past))
        without = search.run(weights, states, key)
        opened = np.asarray(plies.opening[row]) > 0
        values = np.asarray(plies.values[row])
        assert values[~opened] == pytest.approx(np.asarray(with_past.values)[~opened], abs=1e-5)
        changed += int((np.abs(np.asarray(without.values) - values).max(axis=1) > 1e-3)[~opened].sum())
    assert changed, "the past changed no search, so nothing was tested"


REUSE = parts(reuse_tree=True, dirichlet_fraction=0.0)


def test_the_tree_is_kept_while_a_game_lasts() -> None:
    """Every ply continues the search of the ply before it; the first ply of a game or of a call starts anew."""
    plies, _ = played(REUSE)
    weights = REUSE.network.fold(REUSE.network.init(jax.random.key(1)))
    search = selfplay.make_search(GAME, REUSE.network, REUSE.search, REUSE.search.simulations)
    _, play_key = jax.random.split(KEY)
    tree, kept = None, 0
    for row in range(PLIES):
        key = jax.random.split(jax.random.fold_in(play_key, row), 3)[0]
        states = jax.tree.map(lambda leaf, row=row: leaf[row], plies.states)
        afresh = search.run(weights, states, key)
        new = np.ones(LANES, bool) if row == 0 else np.asarray(plies.ended[row - 1])
        values, visits = np.asarray(afresh.values), np.asarray(afresh.visits)
        onward = afresh
        if tree is not None:
            nodes = jnp.where(new, NO_CHILD, child_of(tree, plies.action[row - 1]))
            onward = continue_unchecked(search, weights, tree, nodes, states, key)
            kept += (np.asarray(onward.visits).sum(axis=1) > visits.sum(axis=1)).sum()
            values, visits = np.asarray(onward.values), np.asarray(onward.visits)
        assert np.asarray(plies.values[row]) == pytest.approx(values, abs=1e-5), row
        policy = visits / visits.sum(axis=1, keepdims=True)
        assert np.asarray(plies.policy[row]).astype(np.float32) == pytest.approx(policy, abs=1e-3), row
        assert (visits.sum(axis=1)[new] == REUSE.search.simulations).all()
        tree = onward.tree
    assert kept > LANES * PLIES // 4


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"search.rule": "gumbel"}, r"search\.reuse_tree does not work with rule='gumbel'"),
        ({"search.rule": "puct", "search.fast_simulations": 2}, "searches of one size"),
    ],
)
def test_searches_that_cannot_keep_their_tree_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(TrainingError, match=message):
        TINY.changed({"search.reuse_tree": True, **changes})


def test_the_history_needs_loop_cutting() -> None:
    with pytest.raises(TrainingError, match=r"search\.cut_loops_history needs search\.cut_loops"):
        TINY.changed({"search.cut_loops_history": True})


def test_a_run_with_all_of_it_resumes_bit_for_bit() -> None:
    """What the lanes record is part of the state; the trees are not, because every iteration starts with new ones."""
    changes = {
        "search.rule": "puct",
        "search.cut_loops": True,
        "search.cut_loops_history": True,
        "search.reuse_tree": True,
        "search.untried_value": "lowest",
        "selfplay.temperature_by": "seat",
        "network": TINY.network.changed(planes="colors"),
    }
    plan = Plan(TINY.changed(changes))
    state, _ = iteration.run(plan, states.begin(plan), 0, 0.0)
    arrays = states.to_arrays(state)
    assert {name for name in arrays if "track" in name} == {
        ".boards[0].lanes.track.past",
        ".boards[0].lanes.track.moves",
    }
    assert not any("kept" in name for name in arrays)
    resumed, _ = iteration.run(plan, states.from_arrays(plan, arrays), 1, 0.25)
    assert same(resumed, iteration.run(plan, states.from_arrays(plan, arrays), 1, 0.25)[0])
    plain = states.to_arrays(states.begin(Plan(TINY)))
    assert not any("track" in name or "kept" in name for name in plain), "the default records nothing"
