"""The OpenSpiel adapter, compared with OpenSpiel itself and the laws."""

from __future__ import annotations

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tabia.games import GameError, laws, make
from tabia.games.adapters import spiel
from tabia.games.session import Session

pyspiel = pytest.importorskip("pyspiel")


def random_games(game, count: int, plies: int, seed: int = 0):
    """(actions, facts) of random games played compiled and side by side: [B, T, ...]."""

    def ply(state, key):
        action = jax.random.categorical(key, jnp.where(game.legal(state), 0.0, -jnp.inf)).astype(jnp.int32)
        return game.step(state, action), (action, state.facts)

    def play(key):
        return jax.lax.scan(ply, game.init(key), jax.random.split(key, plies))[1]

    return jax.device_get(jax.jit(jax.vmap(play))(jax.random.split(jax.random.key(seed), count)))


@pytest.mark.parametrize(
    "id",
    ["spiel:tic_tac_toe", "spiel:connect_four:rows=5", "spiel:dots_and_boxes", "spiel:breakthrough", "spiel:chess"],
)
def test_plays_as_openspiel_does(id):
    game, count = make(id), 3 if id == "spiel:chess" else 8
    plies = min(game.max_moves + 1, 80)
    actions, facts = random_games(game, count, plies)
    theirs = pyspiel.load_game(id.split(":")[1], {"rows": 5} if "rows" in id else {})
    for row in range(count):
        state = theirs.new_initial_state()
        for ply in range(plies):
            assert facts.over[row, ply] == state.is_terminal()
            if state.is_terminal():
                assert facts.scores[row, ply].tolist() == state.returns()
                break
            assert np.flatnonzero(facts.legal[row, ply]).tolist() == state.legal_actions()
            assert facts.mover[row, ply] == state.current_player()
            shown = np.reshape(state.observation_tensor(0), theirs.observation_tensor_shape())
            np.testing.assert_array_equal(facts.views[row, ply, 0][..., : shown.shape[0]], shown.transpose(1, 2, 0))
            state.apply_action(int(actions[row, ply]))


@pytest.mark.parametrize("id", ["spiel:connect_four:rows=5", pytest.param("spiel:checkers", marks=pytest.mark.long)])
def test_keeps_the_laws(id):
    assert [verdict for verdict in laws.check(make(id), games=8) if not verdict.holds] == []


def test_moves_are_single_words():
    game = make("spiel:tic_tac_toe")
    state = Session.from_moves(game, "x(1-1) o(0-0)").state
    assert game.draw(state) == "o..\n.x.\n..."
    assert [game.move_name(int(a), state) for a in np.flatnonzero(game.legal(state))][:2] == ["x(0-1)", "x(0-2)"]


def test_moves_that_differ_only_in_case_get_their_numbers():
    game = make("spiel:chess")
    # The pawn on b2 and the bishop on d2 can both take on c3.
    state = Session.from_moves(game, "d4 e6 Bd2 Bb4 a3 Bc3").state
    takes = [name for a in np.flatnonzero(game.legal(state)) if "xc3" in (name := game.move_name(int(a), state))]
    assert sorted(name.partition("#")[0] for name in takes) == ["Bxc3", "Nxc3", "bxc3"]
    assert len({name.lower() for name in takes}) == 3
    assert {game.parse_move(name, state) for name in takes} <= set(np.flatnonzero(game.legal(state)).tolist())


@pytest.mark.parametrize(
    ("id", "message"),
    [
        ("spiel:conect_four", "Did you mean connect_four"),
        ("spiel:connect_four:row=5", "takes no parameter 'row'. Did you mean rows"),
        ("spiel:tic_tac_toe:rows=5", "takes no parameter 'rows'. It takes none."),
        ("spiel:connect_four:rows=0", "spiel:connect_four:rows=0: max_moves is 0"),
        ("spiel:kuhn_poker", "has hidden information"),
        ("spiel:matrix_pd", "at the same time"),
        ("spiel:catch", "single player"),
        ("spiel:backgammon", "use pgx:backgammon"),
        ("spiel:misere", "Missing parameter game"),
    ],
)
def test_refuses_what_it_cannot_play(id, message):
    with pytest.raises(GameError) as refusal:
        make(id)
    assert message in str(refusal.value)


def test_ids_round_trip():
    for name in ("spiel:tic_tac_toe", "spiel:connect_four:rows=5", "spiel:connect_four:columns=8,rows=5"):
        assert make(name).id == name
        assert make(name) == make(name)
    assert make("spiel:connect_four:rows=5,history=2").observation_shape == (5, 7, 10)


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    spiel._rules.cache_clear()
    with pytest.raises(GameError, match=r"install tabia\[spiel\]"):
        make("spiel:tic_tac_toe")
