"""Games that start where the search was wrong: which positions are chosen, and that games continue from there."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tabia.training import iteration
from tabia.training import state as states
from tabia.training.config.schema import SelfPlaySettings
from tabia.training.plan import Plan
from tabia.training.selfplay import openings
from tabia.training.selfplay.play import Plies
from tabia.training.selfplay.replay import ReplayBuffer

from .conftest import TINY

ROWS, LANES = 12, 400


def buffer(surprise: np.ndarray, *, ready: bool = True, valued: bool = True) -> ReplayBuffer:
    """A full buffer whose outcomes differ this much from the search values; its states are their own places."""
    flags, places = np.zeros((ROWS, LANES), bool), np.arange(ROWS * LANES, dtype=np.int32).reshape(ROWS, LANES)
    values = np.stack([np.zeros_like(surprise), surprise], axis=-1).astype(np.float32)
    plies = Plies(
        states=places,
        action=places,
        policy=np.zeros((ROWS, LANES, 2), np.float16),
        values=values,
        valued=flags | valued,
        prior=values[..., 0],
        agrees=flags,
        scores=values,
        ended=flags,
        resigned=flags,
        explored=flags,
        full_search=flags,
        ply=places % 7,
        opening=places,
    )
    return ReplayBuffer(
        plies=jax.tree.map(jnp.asarray, plies),
        outcome=jnp.zeros((ROWS, LANES, 2)),
        ready=jnp.asarray(flags | ready),
        left=jnp.zeros((ROWS, LANES), jnp.int16),
        rows=jnp.int32(ROWS),
    )


def drawn(found: ReplayBuffer, fraction: float = 1.0, candidates: int = 16, window: int = ROWS):
    settings = SelfPlaySettings(revisit_fraction=fraction, revisit_candidates=candidates)
    return jax.tree.map(np.asarray, openings.draw_revisits(found, jax.random.key(1), settings, window))


def test_more_surprising_positions_are_chosen_more_often() -> None:
    """The mean of the largest of n uniform numbers is n / (n + 1)."""
    surprise = np.random.default_rng(0).permutation(ROWS * LANES).reshape(ROWS, LANES) / (ROWS * LANES) + 1e-3
    for candidates in (1, 4, 16):
        revisits = drawn(buffer(surprise), candidates=candidates)
        spread = (
            np.sqrt(candidates / (candidates + 2)) / (candidates + 1) / np.sqrt(LANES)
        )  # standard error of the mean
        assert surprise.reshape(-1)[revisits.states].mean() == pytest.approx(
            candidates / (candidates + 1), abs=4 * spread + 1e-3
        )
        assert revisits.chosen.all() and (revisits.ply == revisits.states % 7).all()


def test_only_known_positions_of_the_window_are_chosen() -> None:
    surprise = np.ones((ROWS, LANES))
    assert not drawn(buffer(surprise, ready=False)).chosen.any()
    assert not drawn(buffer(surprise, valued=False)).chosen.any(), "a teacher gives no values"
    assert not drawn(buffer(np.zeros((ROWS, LANES)))).chosen.any(), "nothing is surprising"
    assert (drawn(buffer(surprise), window=3).states // LANES >= ROWS - 3).all()


def test_the_fraction_is_the_one_in_the_settings() -> None:
    assert drawn(buffer(np.ones((ROWS, LANES))), fraction=0.3).chosen.mean() == pytest.approx(0.3, abs=0.1)
    assert openings.draw_revisits(buffer(np.ones((ROWS, LANES))), jax.random.key(1), SelfPlaySettings(), ROWS) is None


def test_games_start_at_the_positions_drawn_and_follow_the_rules() -> None:
    plan = Plan(TINY.changed({"selfplay.revisit_fraction": 0.6, "selfplay.opening_fraction": 0.0}))
    state, revisited = states.begin(plan), 0
    rules = jax.jit(jax.vmap(jax.vmap(plan.game.step)))
    for number in range(4):
        known, held = state.boards[0].buffer, []
        for leaf in jax.tree.leaves(known.plies.states):
            held.append(np.asarray(leaf).reshape(-1, *leaf.shape[2:]))
        state, _ = iteration.run(plan, state, number, 0.0)
        plies = jax.tree.map(np.asarray, newest(state.boards[0].buffer, TINY.selfplay.plies))
        going = ~plies.ended[:-1]
        after = rules(plies.states, plies.action)
        for now, then in zip(jax.tree.leaves(plies.states), jax.tree.leaves(after), strict=True):
            assert (now[1:][going] == np.asarray(then)[:-1][going]).all(), "by the rules"
        first = np.vstack([np.zeros((1, plies.ended.shape[1]), bool), plies.ended[:-1]])
        later = first & (plies.ply > 0)
        assert (plies.opening[later] == plies.ply[later]).all(), "earlier moves belong to another game"
        for row, lane in zip(*np.nonzero(later), strict=True):
            mine = [leaf[row, lane] for leaf in jax.tree.leaves(plies.states)]
            same = [(leaf == value).reshape(len(leaf), -1).all(1) for leaf, value in zip(held, mine, strict=True)]
            assert np.logical_and.reduce(same).any(), "a position of the replay buffer"
        revisited += later.sum()
    assert revisited > 10, "without openings, only revisits start after the initial position"


def test_a_revisited_game_is_never_resigned() -> None:
    """Otherwise the seat that wrongly expected to lose would resign again without a move."""
    plan = Plan(
        TINY.changed(
            {"selfplay.revisit_fraction": 1.0, "selfplay.opening_fraction": 0.0, "selfplay.resign_threshold": 1e-6}
        )
    )
    state, resigned = states.begin(plan), 0
    for number in range(8):
        state, _ = iteration.run(plan, state, number, 0.0)
        plies = newest(state.boards[0].buffer, TINY.selfplay.plies)
        assert number == 0 or not (plies.resigned & (plies.opening > 0))[TINY.selfplay.plies // 2 :].any()
        resigned += int(plies.resigned.sum())
    assert resigned > 0, "other games are"


def newest(found: ReplayBuffer, count: int) -> Plies:
    rows = (int(found.rows) - count + np.arange(count)) % found.ready.shape[0]
    return jax.tree.map(lambda leaf: leaf[rows], found.plies)
