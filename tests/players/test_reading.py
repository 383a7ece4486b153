"""Positions read as a batch equal those replayed one by one, and invalid lines get the same errors."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from tabia import games
from tabia.games.errors import GameError
from tabia.games.moves import legal_names, row
from tabia.games.session import Session
from tabia.players.reading import read


def random_lines(game: games.Game, count: int, most: int) -> list[str]:
    """Random games of up to `most` moves, as text; moves separated by spaces or commas."""
    rng, step, legal = np.random.default_rng(3), jax.jit(game.step), jax.jit(game.legal)
    lines = []
    for number in range(count):
        state, played = game.init(jax.random.key(0)), list[int]()
        for _ in range(int(rng.integers(0, most + 1))):
            open_to = np.flatnonzero(np.asarray(legal(state)))
            if not len(open_to):
                break
            played.append(int(rng.choice(open_to)))
            state = step(state, np.int32(played[-1]))
        lines.append(Session.replay(game, played).text.replace(" ", "," if number % 2 else " "))
    return lines


@pytest.mark.parametrize(
    "game_id",
    ["connect3", "tictactoe:history=2", "chinese-checkers"]
    + [pytest.param(name, marks=pytest.mark.long) for name in ("checkers", "othello:size=4")],
)
def test_batch_equals_single_replays(game_id: str) -> None:
    game = games.make(game_id)
    lines = random_lines(game, 6, 12)
    lines += ["", lines[-1] + " nonsense", "nonsense"]
    found = read(game, lines, width=16)
    assert sorted(found.refused) == [len(lines) - 2, len(lines) - 1]
    legal, host = np.asarray(jax.jit(jax.vmap(game.legal))(found.states)), jax.device_get(found.states)
    for index, line in enumerate(lines):
        if index in found.refused:
            with pytest.raises(GameError) as refusal:
                Session.from_moves(game, line)
            assert found.refused[index].reason == str(refusal.value)
            continue
        states = Session.from_moves(game, line).states
        assert found.plies[index] == len(states) - 1
        alone = jax.device_get(states[-1])
        assert jax.tree.all(jax.tree.map(lambda one, two, at=index: np.array_equal(one[at], two), host, alone))
        # A state in the host's memory names moves as the state itself does.
        named = {int(a): game.move_name(int(a), states[-1]) for a in np.flatnonzero(np.asarray(game.legal(states[-1])))}
        assert legal_names(game, legal[index], row(game, host, index)) == named
    before = Session.from_moves(game, lines[5]).state
    assert found.refused[len(lines) - 2].legal == [
        game.move_name(int(action), before) for action in np.flatnonzero(np.asarray(game.legal(before)))
    ]


def test_width_can_be_given() -> None:
    game = games.make("connect3")
    assert read(game, ["1", "2", "3"]).plies.shape == (4,)
    assert read(game, ["1"], width=4).plies.tolist() == [1, 0, 0, 0]
