"""One network for several boards: they are played in turn, the run resumes, and the weights play yet another board."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest

from tabia.games import make
from tabia.networks.presets import any_size
from tabia.players import make as make_player
from tabia.training import state as states
from tabia.training.errors import TrainingError
from tabia.training.loop import train
from tabia.training.observers import BaseObserver
from tabia.training.plan import Plan
from tabia.training.run.directory import RunDirectory
from tabia.training.training import Training
from tests.training.conftest import TINY

SMALL, WIDE, UNSEEN = (f"connect:rows=3,columns={columns},line=3" for columns in (4, 5, 6))
BOARDS = replace(
    TINY.changed({"evaluation.every": 0, "replay.min_positions": 20}),
    game=SMALL,
    other_boards=(WIDE,),
    iterations=6,
    network=any_size(4, 1, policy="columns"),
)


class _Lines(BaseObserver):
    def __init__(self) -> None:
        self.first_moves, self.learned = [], []

    def on_iteration(self, training, result):
        self.first_moves.append(result.selfplay.first_moves.shape[0])
        self.learned.append(result.losses is not None)
        return {}


@pytest.mark.long
def test_boards_are_played_in_turn_and_the_weights_play_one_never_seen(tmp_path: Path) -> None:
    run, lines = RunDirectory(tmp_path / "run"), _Lines()
    training = Training.begin(run, BOARDS)
    before = [np.asarray(board.buffer.rows) for board in training.state.boards]
    train(training, [lines])
    assert before == [0, 0] and [int(board.buffer.rows) for board in training.state.boards] == [24, 24]
    assert lines.first_moves == [4, 5, 4, 5, 4, 5] and all(lines.learned[-2:])
    resumed = Training.resume(run)
    mine, theirs = (states.to_arrays(each.state) for each in (training, resumed))
    assert all((mine[name] == theirs[name]).all() for name in mine)
    for board in (SMALL, WIDE, UNSEEN):
        game = make(board)
        start = jax.tree.map(lambda leaf: leaf[None], game.init(jax.random.key(0)))
        choice = make_player(f"network:{run.path}", game).choose(start, jax.random.key(0))
        assert 0 <= int(choice.actions[0]) < game.columns


def test_boards_that_do_not_share_a_network_are_refused() -> None:
    with pytest.raises(TrainingError, match="any size"):
        replace(TINY, other_boards=(WIDE,))
    with pytest.raises(TrainingError, match=r"not connect.* on another board"):
        Plan(replace(BOARDS, other_boards=("tictactoe",))).check()
    with pytest.raises(TrainingError, match="twice"):
        Plan(replace(BOARDS, other_boards=(WIDE, WIDE))).check()
    with pytest.raises(TrainingError, match="list of strings"):
        replace(BOARDS, other_boards=WIDE)
    with pytest.raises(TrainingError, match="before learning begins: 1 iterations"):
        Plan(replace(BOARDS.changed({"replay.min_positions": 200}), iterations=2)).check()
