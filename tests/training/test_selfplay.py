"""Self-play: the scan equals a loop of plies, games follow the rules, and every setting does what it says."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tabia.core import devices, groups
from tabia.games import make
from tabia.search import Gumbel, Puct
from tabia.search.evaluators import WinningMovesFirst
from tabia.search.rules.puct import as_loss
from tabia.training.config.schema import SearchSettings, SelfPlaySettings
from tabia.training.errors import TrainingError
from tabia.training.iteration import summarize
from tabia.training.learning import make_batch
from tabia.training.plan import Plan
from tabia.training.selfplay import openings, replay
from tabia.training.selfplay import play as selfplay
from tabia.training.selfplay.openings import Lanes, Track
from tabia.training.selfplay.play import Plies, Searched, SelfPlay

from .conftest import TINY
from .outcome_reference import Game, Ply

LIVELY = TINY.changed(
    {
        "selfplay.epsilon": 0.15,
        "selfplay.resign_threshold": 0.5,
        "selfplay.resign_disabled_fraction": 0.5,
        "selfplay.temperature_moves": 3,
        "selfplay.temperature_switch": "random",
    }
)
CHUNKS = 6


@cache
def plan() -> Plan:
    return Plan(LIVELY)


@pytest.fixture(scope="module")
def variables():
    """An untrained network with large values, so that some games are resigned."""
    made = plan().network.init(jax.random.key(5))
    made.params["value.out"]["linear"]["kernel"] = jax.random.normal(jax.random.key(6), (16, 2))
    return made


@pytest.fixture(scope="module")
def played(variables) -> tuple[list[Lanes], list[Plies]]:
    """Several calls in a row: the lanes before each and after the last, and the plies."""
    lanes, plies = [plan().selfplay.begin(jax.random.key(1))], []
    for number in range(CHUNKS):
        after, left = plan().selfplay.play(variables, lanes[-1], jax.random.fold_in(jax.random.key(2), number))
        lanes.append(after)
        plies.append(left)
    return lanes, plies


@pytest.fixture(scope="module")
def rows(played) -> Plies:
    """All plies [T, B] as NumPy arrays."""
    return jax.tree.map(lambda *leaves: np.concatenate([np.asarray(leaf) for leaf in leaves]), *played[1])


def test_a_call_equals_its_plies_one_by_one(variables, played) -> None:
    """Each group of lanes has its own key."""
    one = jax.jit(selfplay.play_ply, static_argnums=0)
    whole, game, count = plan().selfplay, plan().game, groups.number(LIVELY.selfplay.games)
    assert count == 2
    parts = replace(whole, settings=replace(whole.settings, games=whole.settings.games // count))
    weights = parts.network.fold(variables, jnp.float32)
    for number, group in itertools.product(range(2), range(count)):
        key = jax.random.fold_in(jax.random.fold_in(jax.random.key(2), number), group)
        pool_key, play_key = jax.random.split(key)
        before, after = (groups.split(lanes, count)[group] for lanes in played[0][number : number + 2])
        pool, lanes = openings.new_games(parts, pool_key), before
        own = slice(group * parts.settings.games, (group + 1) * parts.settings.games)
        for ply in range(LIVELY.selfplay.plies):
            lanes = openings.restart(game, lanes, pool, jnp.int32(ply))
            lanes, left = one(parts, weights, lanes, jax.random.fold_in(play_key, ply))
            _same(left, jax.tree.map(lambda leaf, ply=ply, own=own: leaf[ply, own], played[1][number]))
        _same(lanes, after)


def test_games_do_not_depend_on_the_number_of_cores(monkeypatch, variables, played) -> None:
    for cores in (1, 3):
        monkeypatch.setattr(devices, "cores", lambda cores=cores: cores)
        lanes, plies = plan().selfplay.play(variables, played[0][0], jax.random.fold_in(jax.random.key(2), 0))
        for mine, other in zip(
            jax.tree.leaves((lanes, plies)), jax.tree.leaves((played[0][1], played[1][0])), strict=True
        ):
            np.testing.assert_array_equal(mine, other)


def test_rules_in_plain_python_are_not_called_by_several_threads(monkeypatch) -> None:
    parts = plan().selfplay
    assert parts._groups == 2
    monkeypatch.setattr(type(parts.game), "calls_python", True)
    assert parts._groups == 1 and parts._group is parts


def _same(one, other) -> None:
    """Integers and booleans are equal, floats up to rounding."""
    for mine, theirs in zip(
        *([np.asarray(leaf) for leaf in jax.tree.leaves(tree)] for tree in (one, other)), strict=True
    ):
        if mine.dtype in (np.float32, np.float16):
            assert mine == pytest.approx(theirs, abs=1e-5 if mine.dtype == np.float32 else 2e-3)
        else:
            assert (mine == theirs).all()


def test_plies_follow_the_rules(rows: Plies) -> None:
    game = plan().game
    count = rows.ended.shape
    states = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), rows.states)
    legal, over = jax.vmap(game.legal)(states), jax.vmap(game.over)(states)
    assert np.take_along_axis(np.asarray(legal), rows.action.reshape(-1, 1), 1).all() and not over.any()
    assert (np.where(np.asarray(legal), 0, rows.policy.reshape(len(legal), -1)) == 0).all()
    assert rows.policy.astype(np.float32).sum(-1) == pytest.approx(1, abs=1e-2)
    after = jax.vmap(game.step)(states, jnp.asarray(rows.action.reshape(-1)))
    ended = np.asarray(jax.vmap(game.over)(after)).reshape(count)
    assert (rows.ended == (ended | rows.resigned)).all() and rows.resigned.any() and ended.any()
    scores = np.asarray(game.scale(jax.vmap(game.scores)(after))).reshape(*count, 2)
    finished = ended & ~rows.resigned
    assert (rows.scores[finished] == scores[finished]).all()
    after = jax.tree.map(lambda leaf: np.asarray(leaf).reshape(*count, *leaf.shape[1:]), after)
    going = ~rows.ended[:-1]
    for now, then in zip(jax.tree.leaves(rows.states), jax.tree.leaves(after), strict=True):
        assert (now[1:][going] == then[:-1][going]).all()
    assert (rows.ply[1:][going] == rows.ply[:-1][going] + 1).all()
    assert (rows.opening[1:][going] == rows.opening[:-1][going]).all()


def test_a_new_game_follows_every_game_that_ends(rows: Plies) -> None:
    first = rows.ply == rows.opening
    assert first[0].all()  # the first ply of a lane is the first of a game
    assert (first[1:] == rows.ended[:-1]).all()
    assert rows.ended[:-1].sum() > 50


def test_a_resigned_game_is_lost_unless_resigning_is_disabled(rows: Plies, played) -> None:
    mover = np.asarray(jax.vmap(jax.vmap(plan().game.mover))(rows.states))
    own = np.take_along_axis(rows.values, mover[..., None], -1)[..., 0]
    given_up = rows.scores[rows.resigned]
    assert (np.take_along_axis(given_up, mover[rows.resigned][:, None], 1) == -1).all()
    assert (given_up.sum(1) == 0).all() and (own[rows.resigned] < -LIVELY.selfplay.resign_threshold).all()
    beaten = (own < -LIVELY.selfplay.resign_threshold) & ~rows.resigned
    assert beaten.any() and rows.resigned.any() and not (rows.resigned & rows.explored).any()


def test_the_moves_of_games_are_counted_without_one_where_a_player_resigned(rows: Plies) -> None:
    moves = first_moves = 0
    for lane in range(rows.ended.shape[1]):
        made = 0
        for row in range(rows.ended.shape[0]):
            made = int(rows.opening[row, lane]) if row == 0 or rows.ended[row - 1, lane] else made
            made += int(not rows.resigned[row, lane])
            first_moves += made == 1 and not rows.resigned[row, lane]
            moves += made if rows.ended[row, lane] else 0
    summary = summarize(rows, plan().game.num_actions)
    assert summary.moves == moves and summary.first_moves.sum() == first_moves


def test_outcomes_of_real_games_match_the_reference(rows: Plies, played) -> None:
    """No game is dropped: all positions of finished games are ready, and of other games those before random moves."""
    buffer = replay.make_buffer(played[1][0], len(rows.ended))
    for plies in played[1]:
        buffer = replay.add(buffer, plies, reach=plan().reach)
    ready, outcome, left = np.asarray(buffer.ready), np.asarray(buffer.outcome), np.asarray(buffer.left)
    games, ended = 0, 0
    for lane in range(rows.ended.shape[1]):
        game, first = Game(), 0
        for row in range(len(rows.ended)):
            scores = rows.scores[row, lane] if rows.ended[row, lane] else None
            given_up = bool(rows.resigned[row, lane])
            game.plies.append(Ply(rows.values[row, lane], rows.explored[row, lane], scores, resigned=given_up))
            if game.over or row == len(rows.ended) - 1:
                for index in range(len(game.plies)):
                    place, expected = (first + index, lane), game.outcome(index, 1.0)
                    assert ready[place] == (expected is not None) and (ready[place] or not game.over)
                    assert expected is None or outcome[place] == pytest.approx(expected, abs=1e-6)
                    assert left[place] == game.left(index)
                games, ended = games + 1, ended + game.over
                game, first = Game(), row + 1
    assert ended == rows.ended.sum() and games - ended <= rows.ended.shape[1]
    assert rows.explored.mean() == pytest.approx(LIVELY.selfplay.epsilon, abs=0.05)


@partial(jax.jit, static_argnums=(0, 2))
def _games(parts: SelfPlay, key, all_opened: bool = False) -> Lanes:
    return openings.new_games(parts, key, all_opened=all_opened)


def _new(**settings) -> Lanes:
    wanted = SelfPlaySettings(games=4000, **settings)
    return jax.tree.map(np.asarray, _games(replace(plan().selfplay, settings=wanted), jax.random.key(0)))


def test_openings_have_the_requested_fraction_and_lengths() -> None:
    lanes = _new(opening_fraction=0.3, opening_moves=4, temperature_moves=5, temperature_switch="random")
    counts = np.bincount(lanes.ply, minlength=5)
    assert len(counts) == 5 and (lanes.opening == lanes.ply).all()
    assert counts[0] / 4000 == pytest.approx(0.7, abs=4 * np.sqrt(0.21 / 4000))
    assert counts[1:] == pytest.approx(300, abs=4 * np.sqrt(300))
    assert np.bincount(lanes.until) == pytest.approx(4000 / 6, abs=4 * np.sqrt(4000 / 6))
    assert lanes.never_resign.mean() == pytest.approx(0.1, abs=0.02)
    stones = np.asarray(jax.vmap(make("tictactoe").observe)(lanes.states)).reshape(4000, 9, -1)[..., :2].sum((1, 2))
    assert (stones == lanes.ply).all()


def test_an_opening_that_would_end_the_game_is_not_played() -> None:
    lanes = _new(opening_fraction=1.0, opening_moves=8)
    game = make("tictactoe")
    assert not np.asarray(jax.vmap(game.over)(lanes.states)).any()
    stones = np.asarray(jax.vmap(game.observe)(lanes.states)).reshape(4000, 9, -1)[..., :2].sum((1, 2))
    assert (stones == lanes.ply).all() and lanes.ply.max() == 8 and (lanes.ply == 0).any()


def test_the_most_balanced_of_several_openings_is_played(variables) -> None:
    """Openings keep their lengths, and their balance has the distribution of the best of n draws."""
    parts, tries = plan().selfplay, 8
    weights = parts.network.fold(variables, jnp.float32)

    def apart(among: int) -> np.ndarray:
        wanted = SelfPlaySettings(games=500, opening_fraction=1.0, opening_moves=3, opening_candidates=among)
        lanes = openings.new_games(replace(parts, settings=wanted), jax.random.key(0), weights)
        boards = jax.vmap(plan().game.observe)(lanes.states)
        assert (np.asarray(boards.sum((1, 2, 3))) == lanes.ply).all() and len(np.unique(lanes.ply)) == 3
        return np.ptp(np.asarray(parts.network.forward(weights, boards)[1]), axis=-1)

    # The smallest of n uniform numbers has the mean 1 / (n + 1).
    order = np.searchsorted(np.sort(apart(1)), apart(tries)) / 500
    assert order.mean() == pytest.approx(1 / (tries + 1), abs=0.05)


def test_no_openings() -> None:
    assert not _new(opening_fraction=1.0, opening_moves=0).ply.any()
    assert not _new(opening_fraction=0.0, opening_moves=4).ply.any()


def _chosen(ply, **settings):
    """The moves chosen in 4000 lanes where the search plays 2 and recommends 0, 1, 2 at 20, 30, 50 percent."""
    lanes, policy = 4000, jnp.broadcast_to(jnp.array([0.2, 0.3, 0.5, 0.0]), (4000, 4))
    legal = jnp.broadcast_to(jnp.array([True, True, True, False]), (lanes, 4))
    searched = Searched(jnp.full((lanes,), 2, jnp.int32), policy, jnp.zeros((lanes, 2)), policy, legal)
    parts = replace(plan().selfplay, settings=SelfPlaySettings(games=lanes, **settings))
    counted = Lanes(None, jnp.full((lanes,), ply), None, jnp.full((lanes,), 3), None)
    action, wild = selfplay.choose(parts, searched, counted, jax.random.key(3))
    return np.bincount(np.asarray(action), minlength=4) / lanes, np.asarray(wild)


def test_moves_are_sampled_at_the_temperature() -> None:
    hot = {"temperature": 1.0, "temperature_end": 0.0}
    assert _chosen(2, **hot)[0] == pytest.approx([0.2, 0.3, 0.5, 0], abs=0.03)
    assert _chosen(3, **hot)[0].tolist() == [0, 0, 1, 0]  # at 0 it is the move of the search
    sharp = np.array([0.2, 0.3, 0.5, 0]) ** 2
    assert _chosen(0, temperature=0.5)[0] == pytest.approx(sharp / sharp.sum(), abs=0.03)


def test_the_temperature_may_count_the_moves_of_each_seat() -> None:
    """Six lanes in the same position, whose mover has made 0 to 5 moves; the first three are sampled."""
    lanes, policy = 6, jnp.broadcast_to(jnp.array([0.5, 0.5] + [0.0] * 7), (6, 9))
    searched = Searched(jnp.full((lanes,), 8, jnp.int32), policy, jnp.zeros((lanes, 2)), policy, policy > 0)
    parts = replace(plan().selfplay, settings=SelfPlaySettings(games=lanes, temperature_by="seat"))
    states = jax.vmap(parts.game.init)(jax.random.split(jax.random.key(0), lanes))
    moves = jnp.stack([jnp.arange(lanes), jnp.full(lanes, 7)], axis=1)
    counted = Lanes(states, jnp.full((lanes,), 50), None, jnp.full((lanes,), 3), None, Track(moves=moves))
    action, _ = selfplay.choose(parts, searched, counted, jax.random.key(3))
    assert ((np.asarray(action) < 2) == [True, True, True, False, False, False]).all()


def test_moves_by_seat_are_those_of_the_games(variables) -> None:
    """In tic-tac-toe the seats alternate, so of n moves the first seat has made (n + 1) // 2."""
    parts = replace(plan().selfplay, settings=replace(LIVELY.selfplay, temperature_by="seat"))
    lanes, _ = parts.play(variables, parts.begin(jax.random.key(0)), jax.random.key(1))
    going, ply = np.asarray(lanes.ply) >= 0, np.asarray(lanes.ply)
    expected = np.stack([(ply + 1) // 2, ply // 2], axis=1)
    assert (np.asarray(lanes.track.moves)[going] == expected[going]).all() and len(np.unique(ply)) > 3


def test_random_moves_have_the_requested_frequency_and_are_marked() -> None:
    shares, wild = _chosen(5, epsilon=0.3)
    assert wild.mean() == pytest.approx(0.3, abs=0.03)
    assert shares == pytest.approx([0.1, 0.1, 0.8, 0], abs=0.03)
    assert not _chosen(5)[1].any()


def test_the_policy_target_is_the_one_in_the_settings(variables) -> None:
    """With Gumbel the two differ: visits come in whole simulations."""
    lanes, key = plan().selfplay.begin(jax.random.key(0)), jax.random.key(4)
    weights = plan().network.fold(variables)
    found = plan().selfplay
    search = selfplay.make_search(found.game, found.network, found.search, found.search.simulations)
    truth = search.run_unchecked(weights, lanes.states, key)
    for target, policy in (("improved", truth.policy), ("visits", truth.visits / found.search.simulations)):
        searched, full = selfplay.search(replace(found, target=target), weights, lanes, key)
        assert searched.policy == pytest.approx(np.asarray(policy), abs=1e-5) and bool(full)
    assert np.abs(np.asarray(truth.policy - truth.visits / found.search.simulations)).max() > 0.05


def test_the_search_is_the_one_in_the_settings() -> None:
    found = plan().selfplay
    settings = SearchSettings(
        considered_actions=3, value_scale=0.5, maxvisit_init=7.0, gumbel_scale=0.25, winning_moves_first=True
    )
    search = selfplay.make_search(found.game, found.network, settings, 9)
    assert search.rule == Gumbel(considered_actions=3, gumbel_scale=0.25, value_scale=0.5, maxvisit_init=7.0)
    assert isinstance(search.evaluate, WinningMovesFirst) and search.simulations == 9
    settings = SearchSettings(rule="puct", c=10.0, dirichlet_fraction=0.0, untried_value="lowest", own_visit=False)
    schulte = Puct(c=10.0, untried_value=as_loss, own_visit=False)  # Schulte 2021, equation 3.2.4
    assert selfplay.make_search(found.game, found.network, settings, 9).rule == schulte
    default = selfplay.make_search(found.game, found.network, SearchSettings(rule="puct"), 9).rule
    assert default == Puct(dirichlet_fraction=0.25)


def test_fast_searches_are_played_but_not_learned(variables) -> None:
    """Each ply is a full or a fast search in all lanes alike."""
    settings = SearchSettings(simulations=4, considered_actions=4, fast_simulations=1, full_search_fraction=0.5)
    parts = replace(plan().selfplay, search=settings, settings=replace(TINY.selfplay, games=4, plies=32))
    plies = parts.play(variables, parts.begin(jax.random.key(0)), jax.random.key(1))[1]
    full_search = np.asarray(plies.full_search)
    assert (full_search == full_search[:, :1]).all() and 8 <= full_search[:, 0].sum() <= 24
    buffer = replay.add(replay.make_buffer(plies, 64), plies, reach=64)
    assert (np.asarray(buffer.ready)[:32] & ~full_search).any()  # their outcomes are still learned


def test_whole_games_are_played_once_per_call_and_lane(variables) -> None:
    config = LIVELY.changed({"selfplay.whole_games": True, "selfplay.plies": 9, "selfplay.opening_fraction": 0.0})
    chosen = Plan(config)
    lanes, buffer = chosen.selfplay.begin(jax.random.key(1)), None
    for number in range(3):
        lanes, plies = chosen.selfplay.play(variables, lanes, jax.random.fold_in(jax.random.key(2), number))
        buffer = replay.make_buffer(plies, chosen.rows) if buffer is None else buffer
        buffer = replay.add(buffer, plies, reach=chosen.reach)
        idle, ended = np.asarray(plies.idle), np.asarray(plies.ended)
        last = ended.argmax(axis=0)
        assert (ended.sum(axis=0) == 1).all(), "each lane plays one game"
        assert (idle == (np.arange(9)[:, None] > last)).all(), "a lane is idle after the end of its game"
        assert (np.asarray(plies.ply)[~idle] == np.broadcast_to(np.arange(9)[:, None], idle.shape)[~idle]).all()
        if number == 0:
            assert (np.asarray(plies.opening) == 0).all()
        summary = summarize(plies, chosen.game.num_actions)
        assert (int(summary.games), int(summary.positions)) == (config.selfplay.games, int((~idle).sum()))
        rows = slice(9 * number, 9 * number + 9)
        assert (np.asarray(buffer.ready)[rows] == ~idle).all(), "the positions of whole games can be learned from"
        scores = np.take_along_axis(np.asarray(plies.scores), last[None, :, None], axis=0)
        learned = np.asarray(buffer.outcome)[rows]
        explored = np.asarray(plies.explored)
        followed = np.flip(np.logical_or.accumulate(np.flip(explored, axis=0), axis=0), axis=0)  # by a random move
        exact = ~idle & ~followed
        assert exact.any() and (learned == np.broadcast_to(scores, learned.shape))[exact].all()


def test_whole_games_need_enough_plies() -> None:
    with pytest.raises(TrainingError, match=r"can take 9 moves, more than selfplay\.plies=8\. Set selfplay\.plies=9"):
        Plan(LIVELY.changed({"selfplay.whole_games": True, "selfplay.plies": 8})).check()


def test_a_teacher_plays_instead_of_the_network(variables) -> None:
    """The policy target is the teacher's own: uniform over legal moves."""
    parts = replace(plan().selfplay, settings=replace(TINY.selfplay, teacher="random"))
    plies = jax.tree.map(np.asarray, parts.play(variables, parts.begin(jax.random.key(0)), jax.random.key(1))[1])
    legal = np.asarray(jax.vmap(jax.vmap(plan().game.legal))(plies.states))
    assert plies.policy.astype(np.float32) == pytest.approx(legal / legal.sum(-1, keepdims=True), abs=1e-3)
    assert np.take_along_axis(legal, plies.action[..., None], -1).all() and plies.full_search.all()
    assert not plies.valued.any(), "a teacher gives no values"
    buffer = replay.add(replay.make_buffer(plies, 64), plies, reach=64)
    samples = replay.sample(buffer, jax.random.key(2), 32, 64)
    batch = make_batch(plan().game, samples, jax.random.key(3), symmetries=True)
    assert (batch.search_values == batch.outcome).all() and np.isfinite(batch.outcome).all()
