"""Every exported game passes the checks of the libraries it is exported to, and plays as its rules say."""

from __future__ import annotations

import importlib
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from tabia import games
from tabia.games.errors import GameError, IllegalMove
from tabia.games.exports import gym, zoo
from tabia.games.session import Session

from .broken_games import OpenChance

EXPORTED = [*games.ids(), "connect:rows=4,columns=5,line=3,players=3", "connect3:history=2"]

# PettingZoo's test knows by name which boards may be empty and may come with a mask, and warns about all others.
KNOWN_ONLY_BY_NAME = [
    "ignore:Observation is not a NumPy array",
    "ignore:Observation numpy array is all zeros",
    "ignore:Observation space for each agent probably should be",
    "ignore:Action mask numpy array is all zeros",
]


def allow_known_only_by_name(test):
    for warning in KNOWN_ONLY_BY_NAME:
        test = pytest.mark.filterwarnings(warning)(test)
    return test


@pytest.mark.parametrize("id", EXPORTED)
def test_gymnasium_accepts(id: str) -> None:
    check_env(gymnasium.make(gym.ID, game=id, render_mode="ansi").unwrapped)


@allow_known_only_by_name
@pytest.mark.parametrize("id", EXPORTED)
def test_pettingzoo_accepts(id: str) -> None:
    from pettingzoo.test import api_test, seed_test

    api_test(zoo.env(id, render_mode="ansi"), num_cycles=200)
    seed_test(lambda: zoo.env(id), num_cycles=100)


def test_gym_plays_a_game_to_its_winner() -> None:
    env = gym.GameEnv("connect4")
    env.reset(seed=0)
    for number, action in enumerate((3, 3, 4, 4, 5, 5)):
        assert env.to_play() == number % 2
        assert env.legal_actions() == list(range(7))
        _, reward, ended, _, _ = env.step(action)
        assert (reward, ended, env.winner()) == (0.0, False, None)
    _, reward, ended, truncated, facts = env.step(6)
    assert (reward, ended, truncated, env.winner()) == (1.0, True, False, 0)
    assert facts["scores"].tolist() == [1.0, -1.0]
    assert env.legal_actions() == []
    with pytest.raises(GameError, match="reset"):
        env.step(0)


def test_gym_shows_the_seat_to_move_its_own_view() -> None:
    env = gym.GameEnv("connect4")
    state = Session.from_moves(env.game, "4453").states
    observation, _ = env.reset()
    for action, position in zip((3, 3, 4, 2), state[1:], strict=True):
        observation, *_ = env.step(action)
        np.testing.assert_array_equal(observation, env.game.observe(position))


def test_gym_counts_an_illegal_action_as_lost() -> None:
    env = gym.GameEnv("tictactoe")
    env.reset()
    env.step(4)
    _, reward, ended, _, facts = env.step(4)
    assert (reward, ended, env.winner()) == (-1.0, True, None)
    assert not facts["action_mask"].any()
    assert env.reset()[1]["action_mask"].all()


@pytest.mark.parametrize("action", [-1, 9, 0.5, "b2"])
def test_gym_refuses_what_is_no_action(action: object) -> None:
    env = gym.GameEnv("tictactoe")
    env.reset()
    with pytest.raises(GameError, match="is out of range for tictactoe: expected 0 to 8"):
        env.step(action)


def test_seeds_decide_what_chance_does() -> None:
    def game_of(seed: int) -> list[list[float]]:
        env = gym.GameEnv(OpenChance())
        env.reset(seed=seed)
        return [env.step(env.legal_actions()[0])[0].ravel().tolist() for _ in range(5)]

    assert game_of(1) == game_of(1)
    assert game_of(1) != game_of(2)


def test_gym_draws() -> None:
    text, picture = (gymnasium.make(gym.ID, game="tictactoe", render_mode=mode) for mode in ("ansi", "svg"))
    text.reset(), picture.reset()
    assert text.render() == games.make("tictactoe").draw(Session.from_moves(games.make("tictactoe"), "").states[0])
    assert picture.render().startswith("<svg")
    with pytest.raises(GameError, match="ansi, svg"):
        gym.GameEnv("tictactoe", render_mode="human")


@pytest.mark.parametrize("id", ["connect4", "chinese-checkers"])
def test_rewards_add_up_to_the_scores(id: str) -> None:
    env, dice, played = zoo.env(id), np.random.default_rng(0), []
    env.reset(seed=5)
    total = dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter():
        observation, reward, ended, _, _ = env.last()
        total[agent] += reward
        if not ended:
            played.append(int(dice.choice(np.flatnonzero(observation["action_mask"]))))
        env.step(None if ended else played[-1])
    game = games.make(id)
    end = Session.from_moves(game, Session.replay(game, played).text).state
    assert list(total.values()) == game.scores(end).tolist()


def test_zoo_shows_a_mask_to_the_mover_alone() -> None:
    env = zoo.env("connect4")
    env.reset(seed=0)
    env.step(3)
    assert env.agent_selection == "seat_1"
    assert env.observe("seat_1")["action_mask"].all()
    assert not env.observe("seat_0")["action_mask"].any()
    assert env.observe("seat_0")["observation"][5, 3].tolist() == [1.0, 0.0]
    assert env.observe("seat_1")["observation"][5, 3].tolist() == [0.0, 1.0]


def test_zoo_counts_an_illegal_action_as_lost() -> None:
    env = zoo.env("tictactoe")
    env.reset(seed=0)
    env.step(4)
    env.step(4)
    rewards = {}
    for agent in env.agent_iter():
        _, rewards[agent], ended, _, _ = env.last()
        assert ended
        env.step(None)
    assert rewards == {"seat_0": 0.0, "seat_1": -1.0}


def test_zoo_unwrapped_refuses_an_illegal_action() -> None:
    env = zoo.RawEnv("tictactoe")
    env.reset()
    env.step(4)
    with pytest.raises(IllegalMove, match="'b2' is not legal here"):
        env.step(4)


def test_observations_out_of_bounds_are_refused() -> None:
    env = gym.GameEnv("tictactoe", bounds=(0.0, 0.5))
    env.reset()
    with pytest.raises(GameError, match=r"from 0.0 to 1.0; expected \(0.0, 0.5\)"):
        env.step(0)


@pytest.mark.parametrize(("module", "needs"), [(gym, "gymnasium"), (zoo, "pettingzoo")])
def test_a_missing_extra_is_named(module, needs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, needs, None)
    monkeypatch.delitem(sys.modules, module.__name__)
    with pytest.raises(GameError, match=r"install tabia\[gym\]"):
        importlib.import_module(module.__name__)
