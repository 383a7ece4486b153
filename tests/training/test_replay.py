"""The replay buffer against a reference that keeps whole games, and the samples drawn from it."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tabia.training.selfplay import replay
from tabia.training.selfplay.play import Plies

from .outcome_reference import Game, Ply

LANES, CHUNK, CAPACITY, LONGEST = 6, 4, 24, 12
REACH = LONGEST + CHUNK


class Lane:
    """Made-up games one after the other, as the reference keeps them."""

    def __init__(self, dice: np.random.Generator, seats: int, *, proves: bool = False) -> None:
        self.dice, self.seats, self.proves = dice, seats, proves
        self.games: list[Game] = []
        self.rows: list[tuple[Game, int]] = []  # per row: the game and the index in it
        self.length = 0

    def play(self) -> Ply:
        if not self.games or self.games[-1].over:
            self.games.append(Game())
            self.length = int(self.dice.integers(1, LONGEST + 1))
        game = self.games[-1]
        values = self.dice.uniform(-1, 1, self.seats).astype(np.float32)
        ended = len(game.plies) + 1 == self.length
        scores = self.dice.choice([-1.0, 0.0, 1.0], self.seats).astype(np.float32) if ended else None
        ply = Ply(
            values=values,
            explored=bool(self.dice.random() < 0.15),
            scores=scores,
            valued=bool(self.dice.random() < 0.7),
        )
        ply.proven = self.proves and ply.valued and bool(self.dice.random() < 0.2)
        game.plies.append(ply)
        self.rows.append((game, len(game.plies) - 1))
        return ply


def chunk(lanes: list[Lane], first: int) -> Plies:
    """The next plies of all lanes, as self-play would give them; `action` is the row, the state the place."""
    grid = [[lane.play() for lane in lanes] for _ in range(CHUNK)]
    shape, seats = (CHUNK, len(lanes)), lanes[0].seats
    places = first * len(lanes) + np.arange(CHUNK * len(lanes), dtype=np.int32).reshape(shape)
    none = np.zeros((CHUNK, len(lanes), seats), np.float32)
    for row, line in enumerate(grid):
        for column, ply in enumerate(line):
            # The scores of an unfinished game must never be used.
            none[row, column] = 9.0 if ply.scores is None else ply.scores
    flags = np.zeros(shape, bool)
    plies = Plies(
        states=places,
        policy=np.zeros((*shape, 2), np.float16),
        prior=none[..., 0],
        action=np.broadcast_to(first + np.arange(CHUNK, dtype=np.int32)[:, None], shape),
        values=np.array([[ply.values for ply in line] for line in grid]),
        agrees=flags,
        resigned=flags,
        full_search=flags,
        valued=np.array([[ply.valued for ply in line] for line in grid]),
        scores=none,
        ended=np.array([[ply.scores is not None for ply in line] for line in grid]),
        explored=np.array([[ply.explored for ply in line] for line in grid]),
        ply=np.zeros(shape, np.int32),
        opening=np.zeros(shape, np.int32),
        proven=np.array([[ply.proven for ply in line] for line in grid]) if lanes[0].proves else None,
    )
    return jax.tree.map(jnp.asarray, plies)


@pytest.mark.parametrize(("seats", "td_lambda", "proves"), [(2, 1.0, False), (3, 0.8, False), (2, 0.8, True)])
def test_outcomes_match_the_reference(seats: int, td_lambda: float, proves: bool) -> None:
    """Games span iterations, the buffer is overwritten several times, random moves and a teacher's come anywhere."""
    dice = np.random.default_rng(seats)
    lanes = [Lane(dice, seats, proves=proves) for _ in range(LANES)]
    buffer, became = None, np.zeros((40 * CHUNK, LANES), int)
    before = np.zeros((40 * CHUNK, LANES), bool)
    for number in range(40):
        plies = chunk(lanes, number * CHUNK)
        buffer = replay.make_buffer(plies, CAPACITY) if buffer is None else buffer
        buffer = replay.add(buffer, plies, reach=REACH, td_lambda=td_lambda)
        written = (number + 1) * CHUNK
        ready, outcome, left = np.array(buffer.ready), np.array(buffer.outcome), np.array(buffer.left)
        now = np.zeros_like(before)
        for row in range(max(0, written - CAPACITY), written):
            for column, lane in enumerate(lanes):
                game, index = lane.rows[row]
                expected, place = game.outcome(index, td_lambda), (row % CAPACITY, column)
                now[row, column] = ready[place]
                assert now[row, column] == (expected is not None) and left[place] == game.left(index)
                if expected is not None:
                    assert outcome[place] == pytest.approx(expected, abs=1e-5)
        became += now & ~before
        before |= now
        assert ready.sum() == now.sum()  # nothing else is ready, not even rows never written
        assert int(replay.ready_positions(buffer, 10)) == now[max(0, written - 10) : written].sum()
    known = [[game.outcome(index, td_lambda) is not None for game, index in lane.rows] for lane in lanes]
    assert (became == np.array(known).T).all()  # no position was lost, and each became ready once
    ends = [game.plies[-1] for lane in lanes for game in lane.games if game.over]
    assert any(ply.explored for ply in ends) and sum(map(len, (lane.games for lane in lanes))) > 100


def test_adding_plies_can_be_undone() -> None:
    """The restored buffer equals the buffer before bit for bit, while it fills and once it is full."""
    lanes, buffer = [Lane(np.random.default_rng(lane), 2) for lane in range(LANES)], None
    for number in range(2 * CAPACITY // CHUNK + 1):
        plies = chunk(lanes, number * CHUNK)
        buffer = replay.make_buffer(plies, CAPACITY) if buffer is None else buffer
        expected, before = jax.tree.map(np.array, buffer), replay.overwritten(buffer, count=CHUNK, reach=REACH)
        buffer = replay.add(buffer, plies, reach=REACH, td_lambda=0.8)
        undone = replay.without(buffer, before)
        assert not np.array_equal(buffer.ready, expected.ready) and int(buffer.rows) == (number + 1) * CHUNK
        jax.tree.map(np.testing.assert_array_equal, undone, expected)


@pytest.fixture(scope="module")
def buffer() -> replay.ReplayBuffer:
    """A buffer of 6 x 24 positions that has wrapped around once; `action` is the row of a position."""
    lanes = [Lane(np.random.default_rng(lane), 2) for lane in range(LANES)]
    buffer = None
    for number in range(9):
        plies = chunk(lanes, number * CHUNK)
        buffer = replay.make_buffer(plies, CAPACITY) if buffer is None else buffer
        buffer = replay.add(buffer, plies._replace(prior=plies.prior * 0 + jnp.arange(LANES)[None, :]), reach=REACH)
    assert buffer is not None
    return buffer


@pytest.mark.parametrize("window", [8, 1000])
def test_samples_are_ready_within_the_window_and_uniform(buffer: replay.ReplayBuffer, window: int) -> None:
    count = 40_000
    found = replay.sample(buffer, jax.random.key(1), count, window)
    oldest = 36 - min(window, CAPACITY)
    rows, columns = np.asarray(found.plies.action), np.asarray(found.plies.prior).astype(int)
    kept = np.asarray(found.weight) == 1
    assert kept.mean() > 0.99 and rows.min() >= oldest and rows.max() < 36
    ready = np.asarray(buffer.ready)
    assert ready[rows[kept] % CAPACITY, columns[kept]].all()
    drawn = np.zeros((36, LANES))
    np.add.at(drawn, (rows[kept], columns[kept]), 1)
    places = [(row, lane) for row in range(oldest, 36) for lane in range(LANES) if ready[row % CAPACITY, lane]]
    counts = np.array([drawn[place] for place in places])
    expected = counts.sum() / len(places)
    chi_square, freedom = ((counts - expected) ** 2 / expected).sum(), len(places) - 1
    assert abs(chi_square - freedom) < 4 * np.sqrt(2 * freedom)  # four standard deviations


def test_samples_know_the_final_position_of_their_game() -> None:
    lanes = [Lane(np.random.default_rng(lane), 2) for lane in range(LANES)]
    buffer = replay.make_buffer(chunk(lanes, 0), CAPACITY)
    lanes = [Lane(np.random.default_rng(lane), 2) for lane in range(LANES)]
    for number in range(9):
        buffer = replay.add(buffer, chunk(lanes, number * CHUNK), reach=REACH)
    found = replay.sample(buffer, jax.random.key(1), 500, CAPACITY, last=True)
    assert found.last is not None and found.reached is not None
    for place, last, reached in zip(found.plies.states, found.last, found.reached, strict=True):
        (row, column), (end, same) = divmod(int(place), LANES), divmod(int(last), LANES)
        game, index = lanes[column].rows[row]
        assert same == column and bool(reached) == (game.left(index) >= 0)
        assert not reached or lanes[column].rows[end] == (game, len(game.plies) - 1)
    assert 0 < np.mean(found.reached) < 1


def test_samples_have_no_weight_if_nothing_is_ready(buffer: replay.ReplayBuffer) -> None:
    empty = buffer._replace(ready=jnp.zeros_like(buffer.ready))
    assert not replay.sample(empty, jax.random.key(0), 40_000, 8).weight.any()
    assert int(replay.ready_positions(empty, 24)) == 0
