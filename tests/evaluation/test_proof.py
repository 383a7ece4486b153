"""Proofs against a plain recursion over all lines, and against what is known of tic-tac-toe."""

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
from tabia.evaluation import proof
from tabia.evaluation.proof import prove
from tabia.games import make
from tabia.games.session import Session
from tabia.players import make as make_player
from tabia.players.player import Choice

LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


@dataclass(frozen=True)
class Rule:
    """Plays the first free field of an order."""

    order: tuple[int, ...]
    spec: str = "rule"

    @property
    def game(self):
        return make("tictactoe")

    def choose(self, states, key, ply=None) -> Choice:
        legal = np.asarray(jax.vmap(self.game.legal)(states))
        rank = np.argsort(np.array(self.order))
        return Choice(jnp.asarray(np.where(legal, -rank[None, :], -99).argmax(axis=1)))


def counted(order: tuple[int, ...], seat: int) -> tuple[int, int, int]:
    """Wins, draws and losses of the rule by playing out every line, one after the other, on plain sets."""

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
def test_lines_are_those_of_a_plain_recursion(order: tuple[int, ...], seat: int) -> None:
    found = prove(Rule(order), seat)
    assert (found.won, found.drawn, found.lost) == counted(order, seat)
    assert found.lines == found.won + found.drawn + found.lost and found.positions > 0
    assert (found.moves is None) == (found.lost == 0)
    if found.moves is not None:
        replayed(found.moves, seat)


def replayed(moves: Sequence[int], seat: int) -> None:
    """A line that was said to be lost ends the game, and is lost."""
    session = Session.start(make("tictactoe"))
    for action in moves:
        assert not session.over
        session = session.play(action)
    assert session.over and session.scores[seat] < session.scores[1 - seat]


@pytest.mark.parametrize("seat", [0, 1])
def test_perfect_play_never_loses_and_random_play_does(seat: int) -> None:
    game = make("tictactoe")
    perfect, by_chance = (prove(make_player(spec, game), seat) for spec in ("perfect", "random"))
    assert perfect.lost == 0 and perfect.moves is None and perfect.won > 0
    assert by_chance.lost > 0 and by_chance.moves is not None
    replayed(by_chance.moves, seat)


def test_what_cannot_be_played_out_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TabiaError, match="by chance"):
        prove(SimpleNamespace(game=SimpleNamespace(chance=True, id="dice")), 0)
    monkeypatch.setattr(proof, "LIMIT", 20)
    with pytest.raises(TabiaError, match="more than 20 positions after"):
        prove(Rule(tuple(range(9))), 1)


def test_an_illegal_answer_is_refused() -> None:
    class Stubborn(Rule):
        def choose(self, states, key, ply=None) -> Choice:
            return Choice(jnp.zeros(jax.tree.leaves(states)[0].shape[0], jnp.int32))

    with pytest.raises(TabiaError, match="not legal"):
        prove(Stubborn((0,)), 0)


def test_the_command_tells_who_can_be_beaten() -> None:
    result = command("prove", "tictactoe", "perfect")
    assert result.exit_code == 0 and "Proved: no line of moves beats perfect." in result.stderr
    assert result.stdout.count(" 0 lost") == 2
    result = command("prove", "tictactoe", "random", "--json")
    assert result.exit_code == 1 and "can be beaten" in result.stderr
    assert all(
        proof["lost"] and proof["lines"] == proof["won"] + proof["drawn"] + proof["lost"]
        for proof in json.loads(result.stdout)
    )
    text = command("prove", "tictactoe", "random").stdout
    for seat, line in enumerate(text.splitlines()):
        game = make("tictactoe")
        replayed([game.parse_move(move) for move in line.partition("one of them: ")[2].split()], seat)


def command(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))
