"""Plain Python classes through the host adapter: compared with their own objects, in batches, and broken ones."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tabia.games import GameError, laws
from tabia.games.adapters import objects
from tabia.games.adapters.host import HostGame
from tabia.games.adapters.objects import Objects
from tabia.games.adapters.plain import Plain
from tabia.games.errors import unwrap_errors
from tabia.games.history import History


class Pick:
    """Three seats take cards 0 to 5 in turn, and again after taking card 0; the highest sum wins."""

    num_players = 3
    num_actions = 6
    max_moves = 6
    score_range = (-2, 2)

    def __init__(self):
        self.taken = [[], [], []]
        self.turn = 0

    def legal_moves(self):
        return [card for card in range(6) if not any(card in hand for hand in self.taken)]

    def apply(self, move):
        self.taken[self.turn].append(move)
        self.turn = self.turn if move == 0 else (self.turn + 1) % 3

    def mover(self):
        return self.turn

    def is_over(self):
        return sum(map(len, self.taken)) == 6

    def scores(self):
        sums = [sum(hand) for hand in self.taken]
        return [2 if total == max(sums) else -1 for total in sums]

    def heuristic(self):
        return [sum(hand) / 15 for hand in self.taken]

    def move_name(self, move):
        return f"card{move}"


@pytest.fixture(scope="module")
def pick() -> HostGame:
    return HostGame(Pick)


def play_all(game: HostGame, actions: jnp.ndarray):
    """Every state along each row of actions [B, T], compiled and batched: leaves [B, T + 1, ...]."""

    def one(row):
        start = game.init(jax.random.key(0))
        _, later = jax.lax.scan(lambda state, action: (game.step(state, action),) * 2, start, row)
        return jax.tree.map(lambda first, rest: jnp.concatenate([first[None], rest]), start, later)

    return jax.jit(jax.vmap(one))(actions)


def test_every_game_agrees_with_the_objects_themselves(pick):
    orders = np.array(list(itertools.permutations(range(6))), np.int32)  # all 720 games
    states = play_all(pick, jnp.asarray(orders))
    for row, order in enumerate(orders[::7]):
        position = Pick()
        for ply in range(7):
            facts = jax.tree.map(lambda leaf, at=(row * 7, ply): np.asarray(leaf)[at], states.facts)
            assert facts.legal.nonzero()[0].tolist() == ([] if ply == 6 else position.legal_moves())
            assert facts.over == position.is_over()
            assert facts.over or facts.mover == position.mover()
            assert facts.scores.tolist() == (position.scores() if ply == 6 else [0, 0, 0])
            if ply < 6:
                position.apply(int(order[ply]))


def test_a_class_without_observe_sees_who_played_what(pick):
    state = pick.init(jax.random.key(0))
    for action in (4, 0, 2):  # seats 0, 1 and 1 again
        state = pick.step(state, jnp.int32(action))
    mine = np.asarray(pick.observe(state, jnp.int32(1)))
    assert mine.shape == pick.observation_shape == (1, 6, 4)
    np.testing.assert_array_equal(mine[0, :, 0], [1, 0, 1, 0, 0, 0])  # seat 1 itself
    np.testing.assert_array_equal(mine[0, :, 2], [0, 0, 0, 0, 1, 0])  # seat 0, two after seat 1
    np.testing.assert_allclose(mine[0, :, 3], [1 / 2, 0, 1, 0, 1 / 3, 0])  # how lately
    np.testing.assert_array_equal(pick.observe(state), pick.observe(state, pick.mover(state)))


def test_keeps_the_laws(pick):
    assert [verdict for verdict in laws.check(pick, games=4) if not verdict.holds] == []


def test_shows_its_past(pick):
    game = History(pick, 3)
    state = game.init(jax.random.key(0))
    step, observe = jax.jit(game.step), jax.jit(game.observe)
    for action in (4, 3):
        state = step(state, jnp.int32(action))
    planes = np.asarray(observe(state))
    assert planes.shape == (1, 6, 12)
    assert [planes[0, :, 4 * back : 4 * back + 3].sum() for back in range(3)] == [2, 1, 0]


def test_heuristic_and_names_come_from_the_class(pick):
    state = pick.step(pick.init(jax.random.key(0)), jnp.int32(5))
    np.testing.assert_allclose(jax.jit(pick.heuristic)(state), [5 / 15, 0, 0], rtol=1e-6)
    assert pick.move_name(3, state) == "card3"
    assert pick.parse_move("card3", state) == 3
    assert pick.move_name(3) == "3"  # without a position a move is its number


def test_a_position_dropped_from_the_cache_is_replayed(monkeypatch):
    monkeypatch.setattr(objects, "_MEMORY", 0)  # the least that is ever kept: 256 positions
    small, whole = Objects(Plain(Pick)), HostGame(Pick)
    orders = np.array(list(itertools.permutations(range(6))), np.int32)
    for count in (6, 3, 5):
        asked = (orders, np.full(len(orders), count, np.int32))
        assert len(small._kept) <= 256
        jax.tree.map(np.testing.assert_array_equal, small.facts(*asked), whole.objects.facts(*asked))


def test_one_call_to_the_host_for_a_whole_batch(pick, monkeypatch):
    calls = []
    game = HostGame(Pick)
    answer = game.objects.facts
    monkeypatch.setattr(game.objects, "facts", lambda *asked: calls.append(np.shape(asked[1])) or answer(*asked))
    states = jax.vmap(lambda _: game.init(jax.random.key(0)))(jnp.arange(32))
    calls.clear()
    jax.block_until_ready(jax.jit(jax.vmap(game.step))(states, jnp.arange(32, dtype=jnp.int32) % 6))
    assert calls == [(32,)]


def with_(**changed) -> type:
    """The same game with something wrong in it."""
    return type("Wrong", (Pick,), changed)


def _play_at_random(self, move, lots=iter(range(10**6))):  # noqa: B008  (shared on purpose)
    self.taken[self.turn].append(move)
    self.turn = next(lots) % 3


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"apply": lambda self, move: 1 / 0},
            r"class Wrong: apply\(\d\) raised ZeroDivisionError at line \d+ .* the start",
        ),
        ({"apply": lambda self: None}, r"apply\(\d\) raised TypeError .*positional argument"),
        ({"__init__": lambda self: {}[1]}, r"__init__\(\) raised KeyError at line \d+"),
        ({"legal_moves": lambda self: [6]}, r"legal_moves\(\) has 6, not 0 to 5"),
        ({"legal_moves": lambda self: []}, r"legal_moves\(\) is empty, but is_over\(\) is False, at the start"),
        (
            {"legal_moves": lambda self: None, "is_over": lambda self: not self.legal_moves()},
            r"legal_moves\(\) is None, not a list of action numbers, at the start",
        ),
        (
            {"legal_moves": lambda self: [], "is_over": lambda self: not self.legal_moves()},
            r"is_over\(\) is True before the first move, and legal_moves\(\) is empty, at the start",
        ),
        ({"legal_moves": lambda self: ["a"]}, r"legal_moves\(\) has 'a', a str, but a move is a number from 0 to 5"),
        (
            {"legal_moves": lambda self: [True] * 6},
            r"legal_moves\(\) has True: list the legal action numbers",
        ),
        ({"legal_moves": lambda self: np.ones(6, bool)}, r"legal_moves\(\) has True: list the legal action numbers"),
        ({"apply": lambda self, move: type(self)()}, r"apply\(\d\) returned a new object; it must .* at the start"),
        ({"mover": lambda self: 3}, r"mover\(\) is 3, not a seat from 0 to 2"),
        ({"mover": lambda self: None}, r"mover\(\) is None, not a seat"),
        ({"scores": lambda self: [1, 2]}, r"scores\(\) is \[1, 2\], not 3 finite numbers, after moves"),
        ({"scores": lambda self: None}, r"scores\(\) is None, not 3 finite numbers, after moves"),
        ({"scores": lambda self: "win"}, r"scores\(\) raised ValueError"),
        ({"goal": lambda self: "take the most"}, "goal is .* it must be text"),
        ({"max_moves": 5}, r"is_over\(\) is False after max_moves = 5 moves: raise max_moves, or end"),
        ({"observe": lambda self, seat: [[1.0]], "observation_shape": (1, 1, 1)}, r"observe\(0\) has shape \(1, 1\)"),
        ({"observe": lambda self, seat: [[1.0]]}, "observation_shape belong together"),
        ({"num_actions": 0}, "num_actions is 0; expected a whole number of at least 1"),
        ({"chance": True}, "cannot use chance"),
        ({"apply": _play_at_random}, "two different positions when played twice"),
        ({"taken": [[], [], []], "__init__": lambda self: setattr(self, "turn", 0)}, "share state"),
    ],
)
def test_mistakes_in_a_class_are_explained(changed, message):
    with pytest.raises(GameError, match=message):
        HostGame(with_(**changed))


def test_drawings_and_names_of_moves_are_text():
    game = HostGame(with_(draw=lambda self: None, move_name=lambda self, move: move))
    state = game.init(jax.random.key(0))
    with pytest.raises(GameError, match=r"draw\(\) returned None; it must return text, at the start"):
        game.draw(state)
    with pytest.raises(GameError, match=r"move_name\(2\) returned 2; it must return text"):
        game.move_name(2, state)


def test_numbers_of_numpy_are_numbers():
    game = HostGame(with_(num_players=np.int64(3), num_actions=np.prod([2, 3])))
    assert (game.num_players, game.num_actions) == (3, 6) and type(game.num_players) is int


def test_everything_missing_is_listed():
    class Empty:
        num_players = 2

        def apply(self, move):
            pass

    with pytest.raises(GameError) as refusal:
        HostGame(Empty)
    missing = [line.split("(")[0].split("=")[0].strip() for line in str(refusal.value).splitlines()[1:]]
    assert missing == ["num_actions", "max_moves", "def legal_moves", "def mover", "def is_over", "def scores"]


def test_errors_inside_compiled_code_are_unwrapped(caplog):
    game = HostGame(with_(apply=_fail_late))
    state = game.init(jax.random.key(0))
    game.objects._kept.clear()  # as if forgotten
    _fail_late.fails = True
    try:
        with pytest.raises(GameError, match=r"apply\(5\) raised ValueError at line \d+ \(late\), at the start"):
            game.step(state, jnp.int32(5))
        with pytest.raises(GameError, match=r"^class Wrong: apply\(4\) raised ValueError"), unwrap_errors():
            jax.block_until_ready(jax.jit(game.step)(state, jnp.int32(4)))
        assert caplog.records == [], "JAX's own traceback adds nothing"
    finally:
        _fail_late.fails = False


def _fail_late(self, move):
    if _fail_late.fails and len(self.legal_moves()) == 6:
        raise ValueError("late")
    Pick.apply(self, move)


_fail_late.fails = False
