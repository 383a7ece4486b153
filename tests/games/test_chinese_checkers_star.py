"""The star of 121 fields against OpenSpiel, whose rules it plays."""

from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tabia.games.chinese_checkers import ChineseCheckers, State

STAND_STILL = 726  # OpenSpiel's action that ends a ladder, or passes
FIELDS = [
    f"{letter}{place}"
    for letter, length in zip(
        "qponmlkjihgfedcba", (1, 2, 3, 4, 13, 12, 11, 10, 9, 10, 11, 12, 13, 4, 3, 2, 1), strict=True
    )
    for place in range(1, length + 1)
]


def random_games(game: ChineseCheckers, count: int, *, lean: int, seed: int) -> tuple[State, np.ndarray]:
    """Whole games [B, T + 1] and their actions [B, T]; each row upwards makes a move `lean` times as likely."""
    return jax.device_get(player(game, count, lean)(jax.random.key(seed)))


@cache
def player(game: ChineseCheckers, count: int, lean: int) -> Callable[[jax.Array], tuple[State, jax.Array]]:
    weights = jnp.int32(lean) ** (jnp.clip(rows_gained(game), -2, 4) + 2)

    def choose(legal: jax.Array, key: jax.Array) -> jax.Array:
        below = jnp.cumsum(jnp.where(legal, weights, 0))
        return jnp.searchsorted(below, jax.random.randint(key, (), 0, below[-1]), side="right")

    def turn(state: State, key: jax.Array) -> tuple[State, tuple[State, jax.Array]]:
        action = jax.vmap(choose)(jax.vmap(game.legal)(state), jax.random.split(key, count))
        return jax.vmap(game.step)(state, action), (state, action)

    def play(key: jax.Array) -> tuple[State, jax.Array]:
        start = jax.vmap(game.init)(jax.random.split(key, count))
        last, (states, actions) = jax.lax.scan(turn, start, jax.random.split(key, game.max_moves))
        states = jax.tree.map(lambda path, end: jnp.concatenate([path, end[None]]).swapaxes(0, 1), states, last)
        return states, actions.swapaxes(0, 1)

    return jax.jit(play)


@cache
def pairs_by_seat(game: ChineseCheckers) -> np.ndarray:
    """[P, A] origin and target of every action as one number, field numbers as OpenSpiel counts them; -1 for the pass.

    OpenSpiel's first seat sits at the top where ours sits at the bottom, so its board is ours upside down.
    """
    start = game.init(jax.random.key(0))
    number = {name: 120 - field for field, name in enumerate(FIELDS)}
    pairs = np.full((game.players, game.num_actions), -1)
    for seat in range(game.players):
        state = start._replace(moves=jnp.int32(seat))
        for action in range(game.num_actions - 1):
            origin, target = game.move_name(action, state).split("-", 1)
            pairs[seat, action] = number[origin] * 121 + number.get(target, number[origin])
    return pairs


@cache
def rows_gained(game: ChineseCheckers) -> jax.Array:
    ends = [game.move_name(action).split("-")[:2] for action in range(game.num_actions - 1)]
    return jnp.array([ord(end[0]) - ord(start[0]) if end != "off" else 0 for start, end in ends] + [0])


def moves_of(state: Any) -> dict[int, list[int]]:
    """Every move OpenSpiel allows, as origin and target in one number, with the actions that make it."""
    found: dict[int, list[int]] = {}
    for action in state.legal_actions():
        if action == STAND_STILL:
            return {-1: [action]}
        if "=>" in state.action_to_string(action):
            follow_ladder(state, action, found)
        else:
            origin, target = state.action_to_string(action).split("->")
            found[int(origin) * 121 + int(target)] = [action]
    return found


def follow_ladder(
    state: Any, jump: int, found: dict[int, list[int]], origin: int = -1, path: tuple[int, ...] = ()
) -> None:
    """Follow a ladder jump by jump, undoing each."""
    start, landing = map(int, state.action_to_string(jump).split("=>"))
    origin = start if origin < 0 else origin
    if origin * 121 + landing in found:
        return
    path = (*path, jump)
    found[origin * 121 + landing] = list(path)
    seat = state.current_player()
    state.apply_action(jump)
    if state.current_player() == seat:  # it can go on
        for action in state.legal_actions()[:-1]:
            follow_ladder(state, action, found, origin, path)
    state.undo_action(seat, jump)


def compare(game: ChineseCheckers, states: State, actions: np.ndarray) -> Counter[tuple[float, ...]]:
    """Replay the games in OpenSpiel; each way of ending and how often it came."""
    pyspiel = pytest.importorskip("pyspiel")
    oracle = pyspiel.load_game("chinese_checkers", {"players": game.players, "max_moves": game.max_moves})
    pairs, endings = pairs_by_seat(game), Counter()
    over = np.asarray(jax.vmap(jax.vmap(game.over))(states))
    legal = partial(np.unpackbits, axis=-1, count=game.num_actions)  # a mask at a time: all games' take gigabytes
    for number in range(len(actions)):
        state = oracle.new_initial_state()
        for ply in range(game.max_moves + 1):
            assert state.is_terminal() == over[number, ply]
            assert state.returns() == states.settled[number, ply].tolist()
            if state.is_terminal():
                break
            seat = states.moves[number, ply] % game.players
            assert state.current_player() == seat
            allowed = moves_of(state)
            assert set(pairs[seat, legal(states.legal[number, ply]) > 0].tolist()) == allowed.keys()
            for action in allowed[pairs[seat, actions[number, ply]]]:
                state.apply_action(action)
            if state.current_player() == seat:
                state.apply_action(STAND_STILL)
        assert not states.legal[number, ply:].any()
        endings[tuple(state.returns())] += 1
    return endings


@pytest.mark.long
@pytest.mark.parametrize("players", [2, 3])
def test_short_games_agree_with_openspiel(players: int) -> None:
    game = ChineseCheckers(121, players, moves_each=12)
    endings = compare(game, *random_games(game, 2_000, lean=2, seed=players))
    assert endings == {(0.0,) * players: 2_000}  # cut off, and both say when


@pytest.mark.parametrize("players", [3, *(pytest.param(count, marks=pytest.mark.long) for count in (2, 4, 6))])
def test_full_games_agree_with_openspiel(players: int) -> None:
    game = ChineseCheckers(121, players, moves_each=90)
    endings = compare(game, *random_games(game, 12, lean=8, seed=players))
    assert max(max(scores) for scores in endings) == players - 1, endings


@pytest.mark.long
@pytest.mark.parametrize("players", [2, 3])
def test_2000_full_games_agree_with_openspiel(players: int) -> None:
    game = ChineseCheckers(121, players, moves_each=100)
    endings = sum((compare(game, *random_games(game, 50, lean=8, seed=seed)) for seed in range(40)), Counter())
    assert len(endings) == players + 1  # every seat won, and some games were cut off


def test_two_seats_can_be_mirrored() -> None:
    game = ChineseCheckers(121, 2)
    identity, mirror = game.symmetries
    state = game.init(jax.random.key(0))
    for move in ("c1-e7", "o3-m7", "e7-f6", "n4-m8"):
        state = game.step(state, jnp.int32(game.parse_move(move, state)))
    other = game.init(jax.random.key(0))
    for move in ("c3-e7", "o1-m7", "e7-f7", "n1-m6"):
        other = game.step(other, jnp.int32(game.parse_move(move, other)))
    assert (mirror.observation(game.observe(state)) == game.observe(other)).all()
    assert (mirror.policy(game.legal(state)) == game.legal(other)).all()
    assert (identity.policy(game.legal(state)) == game.legal(state)).all()
    assert all(len(ChineseCheckers(121, players).symmetries) == 1 for players in (3, 4, 6))
