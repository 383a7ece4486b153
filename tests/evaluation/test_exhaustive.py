"""Exhaustive play compared with a plain recursion over all lines, and with known facts about tic-tac-toe."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from typer.testing import CliRunner, Result

from tabia.cli.main import app
from tabia.core.errors import TabiaError
from tabia.evaluation import exhaustive
from tabia.evaluation.exhaustive import play_every_line
from tabia.games import make
from tabia.games.session import Session
from tabia.players import make as make_player
from tabia.players.player import Choice

LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


@dataclass(frozen=True)
class Rule:
    """Plays the first free cell of an order."""

    order: tuple[int, ...]
    spec: str = "rule"

    @property
    def game(self):
        return make("tictactoe")

    def choose(self, states, key, ply=None) -> Choice:
        legal = np.asarray(jax.vmap(self.game.legal)(states))
        rank = np.argsort(np.array(self.order))
        return Choice(jnp.asarray(np.where(legal, -rank[None, :], -99).argmax(axis=1)))


def count_lines(order: tuple[int, ...], seat: int) -> tuple[int, int, int]:
    """Wins, draws and losses of the rule, by recursion over every line on plain sets."""

    @cache
    def lines(one: frozenset[int], other: frozenset[int]) -> tuple[int, int, int]:
        stones, mover = (one, other), (len(one) + len(other)) % 2
        free = [field for field in range(9) if field not in one | other]
        if mover == seat:
            free = [field for field in order if field in free][:1]
        total = np.zeros(3, int)
        for field in free:
            after = [set(held) for held in stones]
            after[mover].add(field)
            if any(set(line) <= after[mover] for line in LINES):
                total += (1, 0, 0) if mover == seat else (0, 0, 1)
            elif len(after[0]) + len(after[1]) == 9:
                total += (0, 1, 0)
            else:
                total += lines(*map(frozenset, after))
        return tuple(map(int, total))

    return lines(frozenset(), frozenset())


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4, 5, 6, 7, 8), (4, 0, 2, 6, 8, 1, 3, 5, 7)])
@pytest.mark.parametrize("seat", [0, 1])
def test_line_counts_equal_a_plain_recursion(order: tuple[int, ...], seat: int) -> None:
    found = play_every_line(Rule(order), seat)
    assert (found.won, found.drawn, found.lost) == count_lines(order, seat)
    assert found.lines == found.won + found.drawn + found.lost and found.positions > 0
    assert (found.moves is None) == (found.lost == 0)
    if found.moves is not None:
        check_lost(found.moves, seat)


def check_lost(moves: Sequence[int], seat: int) -> None:
    """Check that a line ends the game and that the seat loses it."""
    session = Session.start(make("tictactoe"))
    for action in moves:
        assert not session.over
        session = session.play(action)
    assert session.over and session.scores[seat] < session.scores[1 - seat]


@pytest.mark.parametrize("seat", [0, 1])
def test_perfect_play_never_loses_and_random_play_does(seat: int) -> None:
    game = make("tictactoe")
    perfect, at_random = (play_every_line(make_player(spec, game), seat) for spec in ("perfect", "random"))
    assert perfect.lost == 0 and perfect.moves is None and perfect.won > 0
    assert at_random.lost > 0 and at_random.moves is not None
    check_lost(at_random.moves, seat)


def test_games_that_cannot_be_enumerated_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TabiaError, match="game of chance"):
        play_every_line(SimpleNamespace(game=SimpleNamespace(chance=True, id="dice")), 0)
    monkeypatch.setattr(exhaustive, "LIMIT", 20)
    with pytest.raises(TabiaError, match="more than 20 positions after"):
        play_every_line(Rule(tuple(range(9))), 1)


def test_an_illegal_move_is_refused() -> None:
    class Stubborn(Rule):
        def choose(self, states, key, ply=None) -> Choice:
            return Choice(jnp.zeros(jax.tree.leaves(states)[0].shape[0], jnp.int32))

    with pytest.raises(TabiaError, match="not legal"):
        play_every_line(Stubborn((0,)), 0)


def test_prove_reports_who_can_be_beaten() -> None:
    result = command("prove", "tictactoe", "perfect")
    assert result.exit_code == 0 and "Proved: no line of moves beats perfect." in result.stderr
    assert result.stdout.count(" 0 lost") == 2
    result = command("prove", "tictactoe", "random", "--json")
    assert result.exit_code == 1 and "can be beaten" in result.stderr
    assert all(
        counts["lost"] and counts["lines"] == counts["won"] + counts["drawn"] + counts["lost"]
        for counts in json.loads(result.stdout)
    )
    text = command("prove", "tictactoe", "random").stdout
    for seat, line in enumerate(text.splitlines()):
        game = make("tictactoe")
        check_lost([game.parse_move(move) for move in line.partition("one of them: ")[2].split()], seat)


def command(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))
