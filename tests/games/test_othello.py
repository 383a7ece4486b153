"""Othello: published counts, pgx, OpenSpiel, and a slow reference for the small boards."""

from xml.etree import ElementTree

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tabia import games
from tabia.games import GameError, IllegalMove
from tabia.games.game import square_symmetries
from tabia.games.othello import Othello
from tabia.games.session import Session

# Aart Bik, "Perft for Reversi", 2009: depth 1 to 9; the ninth has the first passes.
PERFT = (4, 12, 56, 244, 1_396, 8_200, 55_092, 390_216, 3_005_288)


def random_games(game, count, seed):
    """Whole random games, [T, B, ...]: each position and its action; finished games repeat their last position."""

    def move(states, key):
        legal = jax.vmap(game.legal)(states)
        actions = jax.random.categorical(key, jnp.where(legal, 0.0, -jnp.inf)).astype(jnp.int32)
        before = (legal, jax.vmap(game.mover)(states), jax.vmap(game.over)(states), jax.vmap(game.scores)(states))
        return jax.vmap(game.step)(states, actions), (*before, actions)

    keys = jax.random.split(jax.random.key(seed), game.max_moves + 1)
    starts = jax.vmap(game.init)(jax.random.split(keys[0], count))
    return [np.asarray(column) for column in jax.jit(lambda s: jax.lax.scan(move, s, keys)[1])(starts)]


def test_perft_is_the_published_one():
    game = Othello()
    width = PERFT[-2]  # one shape, one compilation
    advance = jax.jit(
        lambda states, rows, actions: jax.vmap(game.step)(jax.tree.map(lambda x: x[rows], states), actions)
    )
    legal_of = jax.jit(jax.vmap(game.legal))
    states = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (width, *leaf.shape)), game.init(jax.random.key(0)))
    size, counts = 1, []
    for _ in PERFT:
        parents, actions = np.nonzero(np.asarray(legal_of(states))[:size])
        size = len(parents)
        counts.append(size)
        if size <= width:
            padded = (np.pad(column, (0, width - size)) for column in (parents, actions))
            states = advance(states, *(jnp.asarray(column, jnp.int32) for column in padded))
    assert tuple(counts) == PERFT


@pytest.mark.parametrize("count", [200, pytest.param(2_000, marks=pytest.mark.long)])
def test_agrees_with_pgx_over_many_games(count):
    pgx = pytest.importorskip("pgx")
    game, oracle = Othello(), pgx.make("othello")

    def move(carry, key):
        ours, theirs, rewards = carry
        legal, over = jax.vmap(game.legal)(ours), jax.vmap(game.over)(ours)
        seats = jax.vmap(game.mover)(ours)
        # pgx ends a board that is not full only after two passes: they are played for it, and nothing else is open.
        expected = jnp.where(over[:, None], jnp.arange(65)[None, :] == 64, legal)
        running = ~theirs.terminated
        same = (
            jnp.all((expected == theirs.legal_action_mask) | ~running[:, None]),
            jnp.all((seats == (theirs.current_player ^ first)) | over),
            jnp.all(running | over),
        )
        actions = jax.random.categorical(key, jnp.where(expected, 0.0, -jnp.inf)).astype(jnp.int32)
        theirs = jax.vmap(oracle.step)(theirs, actions)
        ours = jax.vmap(game.step)(ours, actions)
        return (ours, theirs, rewards + theirs.rewards), (jnp.stack(same), (actions == 64) & ~over)

    keys = jax.random.split(jax.random.key(1), game.max_moves + 3)
    ours = jax.vmap(game.init)(jax.random.split(keys[0], count))
    theirs = jax.jit(jax.vmap(oracle.init))(jax.random.split(keys[0], count))
    first = theirs.current_player  # pgx draws who starts
    (ours, theirs, rewards), (same, passes) = jax.jit(lambda carry: jax.lax.scan(move, carry, keys))(
        (ours, theirs, jnp.zeros((count, 2)))
    )
    assert np.asarray(same).all(axis=0).tolist() == [True, True, True]
    assert np.asarray(passes).any()  # otherwise passing was not compared
    assert theirs.terminated.all() and jax.vmap(game.over)(ours).all()
    by_seat = jnp.where((first == 0)[:, None], rewards, rewards[:, ::-1])
    np.testing.assert_array_equal(jax.vmap(game.scores)(ours), by_seat)


@pytest.mark.parametrize("count", [200, pytest.param(2_000, marks=pytest.mark.long)])
def test_agrees_with_openspiel_over_many_games(count):
    pyspiel = pytest.importorskip("pyspiel")
    oracle = pyspiel.load_game("othello")
    legal, movers, overs, scores, actions = random_games(Othello(), count, seed=2)
    passes = 0
    for b in range(count):
        state = oracle.new_initial_state()
        for t in range(len(actions)):
            assert state.is_terminal() == overs[t, b]
            if state.is_terminal():
                break
            assert state.legal_actions() == np.flatnonzero(legal[t, b]).tolist()
            assert state.current_player() == movers[t, b]
            assert state.returns() == scores[t, b].tolist() == [0, 0]
            passes += actions[t, b] == 64
            state.apply_action(int(actions[t, b]))
        assert state.is_terminal()
        assert state.returns() == scores[t, b].tolist()
    assert passes > 0


class Reference:
    """Othello of any size from the rule book, field by field."""

    def __init__(self, size):
        low, high = size // 2 - 1, size // 2
        self.size, self.seat = size, 0
        self.stones = {(low, high): 0, (high, low): 0, (low, low): 1, (high, high): 1}

    def closed(self, row, column, seat):
        """The rival stones that a stone of `seat` would flip."""
        found = []
        for down, right in ((a, b) for a in (-1, 0, 1) for b in (-1, 0, 1) if a or b):
            line, place = [], (row + down, column + right)
            while self.stones.get(place) == 1 - seat:
                line.append(place)
                place = (place[0] + down, place[1] + right)
            found += line if self.stones.get(place) == seat else []
        return found

    def fields(self, seat):
        every = ((row, column) for row in range(self.size) for column in range(self.size))
        return [r * self.size + c for r, c in every if (r, c) not in self.stones and self.closed(r, c, seat)]

    def legal(self):
        return self.fields(self.seat) or ([] if self.over() else [self.size**2])

    def over(self):
        return not self.fields(0) and not self.fields(1)

    def play(self, action):
        if action != self.size**2:
            place = divmod(action, self.size)
            turned = self.closed(*place, self.seat)
            self.stones.update(dict.fromkeys([place, *turned], self.seat))
        self.seat = 1 - self.seat

    def scores(self):
        lead = sum(1 if seat == 0 else -1 for seat in self.stones.values())
        return [float(np.sign(lead)), float(-np.sign(lead))]


@pytest.mark.parametrize(("size", "count"), [(4, 400), (6, 150)])
def test_small_boards_agree_with_the_reference(size, count):
    legal, movers, overs, scores, actions = random_games(Othello(size), count, seed=size)
    for b in range(count):
        reference = Reference(size)
        for t in range(len(actions)):
            assert np.flatnonzero(legal[t, b]).tolist() == reference.legal()
            assert overs[t, b] == (not reference.legal())
            if overs[t, b]:
                break
            assert movers[t, b] == reference.seat
            reference.play(int(actions[t, b]))
        assert overs[t, b]
        assert scores[t, b].tolist() == reference.scores()


def test_the_start_opens_d3_c4_f5_e6_to_black():
    game = games.make("othello")
    start = game.init(jax.random.key(0))
    assert [game.move_name(a) for a in np.flatnonzero(game.legal(start))] == ["d3", "c4", "f5", "e6"]
    assert game.draw(start).splitlines()[3] == "4 . . . O X . . ."


@pytest.mark.parametrize("size", [4, 6, 8])
def test_symmetries_are_those_of_the_start(size):
    game = Othello(size)
    planes = game.observe(game.init(jax.random.key(0)))
    every = square_symmetries(size, lambda goes_to: goes_to)
    keeping = [turn.cells.tolist() for turn in every if np.array_equal(turn.observation(planes), planes)]
    assert [turn.cells.tolist() for turn in game.symmetries] == keeping
    assert len(keeping) == 4


def test_a_wiped_out_rival_ends_the_game():
    # The shortest game there is: after nine stones no white one is left.
    game = Othello()
    end = Session.from_moves(game, "e6 f4 e3 f6 g5 d6 e7 f5 c5").state
    assert game.over(end)
    assert game.scores(end).tolist() == [1.0, -1.0]
    assert not game.legal(end).any()
    np.testing.assert_array_equal(game.heuristic(end), np.float32([13 / 64, -13 / 64]))
    assert game.observe(end, jnp.int32(0))[..., 0].sum() == 13
    assert game.observe(end, jnp.int32(1))[..., 0].sum() == 0
    assert len(ElementTree.fromstring(game.svg(end)).findall("{*}circle")) == 13


@pytest.mark.parametrize("size", [4, 6, 8])
def test_names_round_trip_and_unknown_ones_are_refused(size):
    game = Othello(size)
    assert all(game.parse_move(game.move_name(a)) == a for a in range(game.num_actions))
    with pytest.raises(IllegalMove, match="d9"):
        game.parse_move("d9")


@pytest.mark.parametrize("action", [-1, 0, 27, 64, 65])
def test_an_illegal_action_changes_nothing(action):
    game = Othello()
    start = game.init(jax.random.key(0))
    after = jax.jit(game.step)(start, jnp.int32(action))
    assert all(np.array_equal(a, b) for a, b in zip(jax.tree.leaves(start), jax.tree.leaves(after), strict=True))


@pytest.mark.parametrize("size", [0, 2, 5, 10])
def test_impossible_sizes_say_what_is_allowed(size):
    with pytest.raises(GameError, match="4, 6 or 8"):
        games.make(f"othello:size={size}")
