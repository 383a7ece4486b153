"""Positions of Chinese checkers that the study shows."""

from __future__ import annotations

import random

import numpy as np

from tabia.games.chinese_checkers import ChineseCheckers
from tabia.games.session import Session
from tabia.studies.parts.checkers_positions import examples, others_jumps

GAME = ChineseCheckers()


def test_the_jumps_of_the_start() -> None:
    """The two pieces of the second row jump over the three in front of them; those step."""
    start = Session.start(GAME)
    named = {
        GAME.move_name(int(action), start.state): GAME.is_jump(int(action)) for action in np.flatnonzero(start.legal)
    }
    assert {name for name, jump in named.items() if jump} == {"b1-d2", "b1-d4", "b2-d3", "b2-d5"}
    assert {name[0] for name, jump in named.items() if not jump} == {"c"}
    assert not GAME.is_jump(GAME.num_actions - 1)  # the pass


def test_the_examples_are_the_middle_and_a_jump_of_the_last_seat() -> None:
    games = []
    for seed in range(2):
        chance, session = random.Random(seed), Session.start(GAME)
        while session.ply < 45:
            session = session.play(int(chance.choice(np.flatnonzero(session.legal))))
        games.append(session)
    (first, middle), (second, last) = examples(games, GAME.is_jump).items()
    assert first == "Example 1: after 22 moves" and middle.text == games[0].at(22).text
    assert last.mover == 2 and any(GAME.is_jump(int(action)) for action in np.flatnonzero(last.legal))
    counts = [others_jumps(session, ply, GAME.is_jump) for session in games for ply in range(15, 30)]
    least = min(count for count in counts if count is not None)
    assert others_jumps(last, last.ply, GAME.is_jump) == least and (str(least) in second) == (least > 0)
