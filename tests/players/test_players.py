"""Every player plays legal moves in whole batches, and the same moves for the same key."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tabia import games, players
from tabia.games.session import Session
from tabia.players import modifiers
from tabia.players.modifiers import with_temperature

from .playing import play, starts, step

SMALL = [
    "random",
    "greedy",
    "initialize",
    "minimax:depth=2",
    "mcts:simulations=8",
    pytest.param("mcts:simulations=8,rule=omc,final=value", marks=pytest.mark.long),
    "mcts:simulations=8,rule=pbbm,final=secure",
    pytest.param("mcts:simulations=8,rule=puct,rollouts=2,rollout_moves=3,final=robust", marks=pytest.mark.long),
    pytest.param("mcts:simulations=8,heuristic_weight=1", marks=pytest.mark.long),
    "mcts:simulations=8,heuristic_weight=0.5,until_agreed=true",
    "network:untrained",
    pytest.param("network:untrained,symmetries=true", marks=pytest.mark.long),
    pytest.param("az:untrained,simulations=4,considered_actions=4", marks=pytest.mark.long),
    "az:untrained,simulations=4,symmetries=true",
    "az:untrained,simulations=4,rule=mini-alphago,rollout_weight=0.5",
    pytest.param("az:untrained,simulations=8,rule=puct,c=2,leaves=2,dirichlet_fraction=0.25", marks=pytest.mark.long),
    "perfect",
    "perfect:fastest=false,epsilon=0.2",
    "random:random_moves=2,epsilon=0.5,temperature=0.5",
    pytest.param("minimax:depth=1,temperature=1", marks=pytest.mark.long),
]


@pytest.mark.parametrize("text", SMALL)
def test_moves_are_legal_and_reproducible(text: str) -> None:
    player = players.make(text, games.make("connect3"))
    ends, played = play(player, 16, seed=3)
    assert np.asarray(jax.vmap(player.game.over)(ends)).all()
    again = play(players.make(text, games.make("connect3")), 16, seed=3)[1]
    assert np.array_equal(played, again)


@pytest.mark.parametrize(
    "game_id",
    [
        name if name in ("tictactoe", "chinese-checkers") else pytest.param(name, marks=pytest.mark.long)
        for name in games.ids()
    ],
)
def test_untrained_network_with_search_plays_every_game(game_id: str) -> None:
    game = games.make(game_id)
    ends, _ = play(players.make("az:untrained,simulations=2,winning_moves_first=false", game), 2)
    assert np.asarray(jax.vmap(game.over)(ends)).all()


def test_a_thousand_games_advance_in_one_call() -> None:
    player = players.make("mcts:simulations=16", games.make("connect4"))
    choice = player.choose(starts(player.game, 1000), jax.random.key(0))
    assert choice.actions.shape == (1000,) and len(np.unique(np.asarray(choice.actions))) > 1


SANZ_VILLANUEVA_OPPONENTS = [
    "minimax:depth=5",
    "minimax:depth=6",
    *(f"mcts:simulations={count}" for count in (400, 800, 1200)),
]


@pytest.mark.parametrize("text", SANZ_VILLANUEVA_OPPONENTS)
def test_opponents_of_sanz_villanueva_exist(text: str) -> None:
    assert players.make(text, games.make("connect4")).spec == text


@pytest.mark.parametrize(
    "text", ["minimax:depth=2", "mcts:simulations=128", "mcts:simulations=128,seconds=60", "az:untrained,rule=puct"]
)
def test_searching_players_take_a_win(text: str) -> None:
    game = games.make("connect4")
    state = Session.from_moves(game, "172737").state  # X has 1 2 3 in the lowest row: 4 wins
    batch = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (4, *leaf.shape)), state)
    choice = players.make(text, game).choose(batch, jax.random.key(0))
    assert set(np.asarray(choice.actions)) == {3}


def test_batches_may_contain_finished_games() -> None:
    game = games.make("connect3")
    over = Session.from_moves(game, "1 2 1 2 1").state
    assert bool(game.over(over))
    both = jax.tree.map(lambda a, b: jnp.stack([a, b]), over, game.init(jax.random.key(0)))
    for text in ("mcts:simulations=8,seconds=0.01", "mcts:simulations=8", "perfect", "network:untrained", "greedy"):
        assert players.make(text, game).choose(both, jax.random.key(0)).actions.shape == (2,)


# Schulte's agents on its own game, against names such as c3-d3, whose letters are the rows seat 0 climbs.


def _rows_gained(name: str) -> int:
    return 0 if name == "pass" else ord(name.split("-")[1][0]) - ord(name[0])


@pytest.fixture(scope="module")
def climbing() -> tuple[games.Game, object]:
    """A batch of positions of Chinese checkers with seat 0 to move."""
    game = games.make("chinese-checkers")
    states, key = starts(game, 16), jax.random.key(1)
    walker = players.make("initialize", game)
    for _ in range(12):
        key, draw = jax.random.split(key)
        states, _, _ = step(game, states, walker.choose(states, draw).actions, draw)
    return game, states


@pytest.mark.parametrize("name", ["greedy", "initialize"])
def test_schulte_agents_by_rows_gained(climbing: tuple[games.Game, object], name: str) -> None:
    game, states = climbing
    policy = np.asarray(players.make(name, game).choose(states, jax.random.key(0)).policy)
    legal = np.asarray(jax.vmap(game.legal)(states))
    for row in range(len(legal)):
        state = jax.tree.map(lambda leaf, row=row: leaf[row], states)
        assert int(game.mover(state)) == 0
        gains = np.array(
            [_rows_gained(game.move_name(a, state)) if legal[row, a] else -99 for a in range(legal.shape[1])]
        )
        if name == "greedy":
            weights = (gains == gains.max()).astype(float)
        else:
            weights = np.where(gains > 0, 4.0, np.where(gains < 0, 1.0, 2.0)) * legal[row]
        np.testing.assert_allclose(policy[row], weights / weights.sum(), atol=1e-6)


def test_initialize_samples_4_to_2_to_1() -> None:
    game = games.make("chinese-checkers")
    start = starts(game, 1)
    player = players.make("initialize", game)
    policy = np.asarray(player.choose(start, jax.random.key(0)).policy)[0]
    many = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (1000, *leaf.shape[1:])), start)
    drawn = np.bincount(np.asarray(player.choose(many, jax.random.key(5)).actions), minlength=game.num_actions) / 1000
    assert np.all(np.abs(drawn - policy) <= 4 * np.sqrt(policy * (1 - policy) / 1000))
    assert np.all(drawn[policy == 0] == 0)


# Modifiers.


def test_temperature_formula() -> None:
    policy = jnp.array([[0.5, 0.3, 0.2, 0.0]])
    for temperature in (0.5, 1.0, 2.0):
        expected = np.array([0.5, 0.3, 0.2, 0.0]) ** (1 / temperature)
        np.testing.assert_allclose(with_temperature(policy, temperature)[0], expected / expected.sum(), atol=1e-6)


def test_players_that_differ_only_in_their_modifiers_share_one_program() -> None:
    game = games.make("connect3")
    states = starts(game, 16)
    players.make("random:epsilon=0.5", game).choose(states, jax.random.key(0))
    programs = modifiers._modify._cache_size()
    for text in ("random:epsilon=0.1", "random:temperature=2", "random:temperature=0.3,epsilon=0.2"):
        players.make(text, game).choose(states, jax.random.key(0))
    assert modifiers._modify._cache_size() == programs


def test_only_the_first_plies_are_sampled() -> None:
    """64 empty boards at two plies: before the limit the moves differ, from it on they are the best one."""
    game = games.make("tictactoe")
    states = starts(game, 64)
    plain, first = (
        players.make(f"network:untrained{options}", game) for options in ("", ",temperature=1,sampled_plies=3")
    )
    best = plain.choose(states, jax.random.key(1)).actions
    early, late = (first.choose(states, jax.random.key(1), jnp.full(64, ply, jnp.int32)) for ply in (2, 3))
    assert len(set(np.asarray(early.actions).tolist())) > 4
    assert (late.actions == best).all()
    with pytest.raises(players.PlayerError, match="the number of moves played"):
        first.choose(states, jax.random.key(1))


def test_epsilon_and_random_moves() -> None:
    game = games.make("connect3")
    states = starts(game, 4000)
    own = np.asarray(players.make("network:untrained", game).choose(states, jax.random.key(0)).actions)
    assert len(np.unique(own)) == 1
    erring = players.make("network:untrained,epsilon=0.4", game).choose(states, jax.random.key(0)).actions
    # A random move is the player's own one time in four.
    assert abs(np.mean(np.asarray(erring) != own) - 0.4 * 0.75) < 5 * np.sqrt(0.25 / 4000)
    opening = players.make("network:untrained,random_moves=1", game)
    ply = jnp.arange(4000) % 4  # two seats: the first of each is ply 0 or 1
    actions = np.asarray(opening.choose(states, jax.random.key(0), ply).actions)
    assert np.array_equal(actions[ply >= 2], own[ply >= 2])
    assert abs(np.mean(actions[ply < 2] != own[ply < 2]) - 0.75) < 5 * np.sqrt(0.25 / 2000)
    with pytest.raises(players.PlayerError, match="the number of moves played"):
        opening.choose(states, jax.random.key(0))


def test_equal_networks_share_their_programs() -> None:
    game = games.make("connect3")
    one, two = (players.make(f"az:untrained,simulations=4,seed={seed}", game) for seed in (1, 2))
    assert one.search == two.search and hash(one.search) == hash(two.search)  # type: ignore[attr-defined]
