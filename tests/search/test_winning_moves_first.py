"""winning_moves_first finds exactly the moves that win at once, and changes nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tabia import games
from tabia.games.connect import Connect
from tabia.games.game import Game, State
from tabia.players import make as make_player
from tabia.players.search import can_search_winning_moves
from tabia.search import Gumbel, Search
from tabia.search.errors import SearchError
from tabia.search.evaluators import Uniform, WinningMovesFirst

from .positions import one, random_network, random_positions, random_weights
from .toy_games import Dice

KEY, COUNT = jax.random.key(0), 24


def winning(game: Game, state: State) -> dict[int, np.ndarray]:
    """The moves that end the game with the best score for the mover, tried one by one, and the scores."""
    found = {}
    for action in np.flatnonzero(np.asarray(game.legal(state))):
        after = game.step(state, jnp.int32(action))
        scores = np.asarray(game.scale(game.scores(after)))
        if bool(game.over(after)) and scores[int(game.mover(state))] == 1.0:
            found[int(action)] = scores
    return found


@pytest.mark.parametrize(
    ("game_id", "moves"),
    [
        ("tictactoe", 8),
        pytest.param("connect4", 24, marks=pytest.mark.long),
        ("connect:rows=4,columns=4,line=3,players=3", 12),
    ],
)
def test_finds_exactly_the_moves_that_win_at_once(game_id: str, moves: int) -> None:
    game = games.make(game_id)
    states = random_positions(game, COUNT, seed=1, most_moves=moves)
    inner, weights = random_network(game), random_weights(game)
    plain, found = (evaluate(weights, states, KEY) for evaluate in (inner, WinningMovesFirst(game, inner)))
    seen = 0
    for index in range(COUNT):
        wins = winning(game, one(states, index))
        if not wins:
            assert (found.logits[index] == plain.logits[index]).all()
            assert (found.values[index] == plain.values[index]).all()
            continue
        seen += 1
        policy = np.asarray(jax.nn.softmax(found.logits[index]))
        assert policy[list(wins)].sum() == pytest.approx(1.0)
        assert np.asarray(found.values[index]) == pytest.approx(wins[min(wins)])
    assert 3 <= seen <= COUNT - 3, "both kinds came up"


def test_a_threat_is_blocked() -> None:
    """Three in a row in the first column: two plies show that only one of seven moves does not lose."""
    game = games.make("connect4")
    state = game.init(KEY)
    for action in (0, 6, 0, 5, 0):
        state = game.step(state, jnp.int32(action))
    batch = jax.tree.map(lambda leaf: leaf[None], state)
    search = Search(game, WinningMovesFirst(game, Uniform(game)), 7, Gumbel(gumbel_scale=0.0))
    result = search.run(None, batch, KEY)
    assert int(result.action[0]) == 0
    assert np.asarray(result.means[0])[1:] == pytest.approx(-1.0)


@dataclass(frozen=True)
class Marathon(Connect):
    """Connect 3 whose winner gets 41 points, which single precision scales to slightly less than 1."""

    score_range = (0.0, 41.0)

    def scores(self, state: State) -> jax.Array:
        return (super().scores(state) + 1.0) * 20.5


def test_best_score_is_recognized_for_any_range() -> None:
    game = Marathon(rows=3, columns=4, line=3)
    state = game.init(KEY)
    for action in (0, 3, 0, 3):
        state = game.step(state, jnp.int32(action))
    found = WinningMovesFirst(game, Uniform(game))(None, jax.tree.map(lambda leaf: leaf[None], state), KEY)
    assert int(jnp.argmax(found.logits[0])) == 0 and float(found.values[0, 0]) == pytest.approx(1.0)


def test_games_with_chance_are_refused() -> None:
    with pytest.raises(SearchError, match="has chance"):
        WinningMovesFirst(Dice(), Uniform(Dice()))


def test_default_is_on_for_own_games_with_few_actions() -> None:
    nim = Path(__file__).parents[2] / "examples" / "nim.py"
    ids = ("othello", "othello:history=2", "chinese-checkers", f"{nim}:Nim")
    assert [can_search_winning_moves(games.make(name)) for name in ids] == [
        True,
        True,
        False,
        False,
    ] and not can_search_winning_moves(Dice())


@pytest.mark.parametrize(("options", "sees"), [("", True), (",winning_moves_first=false", False), (",rule=puct", True)])
def test_player_option(options: str, sees: bool) -> None:
    player = make_player("az:untrained" + options, games.make("connect3"))
    assert isinstance(player.search.evaluate, WinningMovesFirst) == sees
