"""GNU Backgammon as an oracle of turns, and as a player. Debian's package is gnubg; `make test` installs it."""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import jax
import numpy as np
import pytest
from jax import Array

from tabia import games
from tabia.games.game import Game, State
from tabia.games.moves import row
from tabia.games.protocols import backgammon as turns
from tabia.players.engines.gnubg import Gnubg
from tabia.players.engines.process import Command, EngineProcess
from tabia.search.evaluators import random_actions

GAME = games.make("pgx:backgammon")
SIDE_BY_SIDE = 100  # games in memory at a time
Roll = tuple[tuple[int, ...], tuple[int, ...]]  # a board and the dice
COMMAND = Command(("gnubg", "-t", "-q", "-r"), package="gnubg")


@dataclass
class RandomGame:
    """A random game; the lists have one entry per single move."""

    states: list[State] = field(default_factory=list)
    legal: list[np.ndarray] = field(default_factory=list)
    actions: list[int] = field(default_factory=list)


@partial(jax.jit, static_argnums=0)
def advance(game: Game, states: State, keys: Array) -> tuple[State, Array, Array]:
    """The next states, the legal actions before them, and the actions played."""
    legal = jax.vmap(game.legal)(states)
    actions = random_actions(keys[0], legal)
    return jax.vmap(game.step)(states, actions, keys), legal, actions


def random_games(count: int) -> Iterator[RandomGame]:
    for first in range(0, count, SIDE_BY_SIDE):
        yield from _side_by_side(min(SIDE_BY_SIDE, count - first), seed=first)


def _side_by_side(count: int, seed: int) -> list[RandomGame]:
    game, key = GAME, jax.random.key(seed)
    states = jax.vmap(game.init)(jax.random.split(key, count))
    played = [RandomGame() for _ in range(count)]
    for ply in range(game.max_moves):
        before = jax.device_get(states)
        states, *facts = advance(game, states, jax.random.split(jax.random.fold_in(key, ply), count))
        legal, actions = jax.device_get(facts)
        live = np.flatnonzero(legal.any(axis=1)).tolist()
        if not live:
            break
        for index in live:
            one = played[index]
            one.states.append(row(game, before, index))
            one.legal.append(legal[index])
            one.actions.append(int(actions[index]))
    return played


class Hints:
    """GNU Backgammon's command line, asked for all turns of a position."""

    SETUP = (
        "set automatic roll off",
        "set automatic game off",
        "set automatic move off",
        "set player 0 human",
        "set player 1 human",
        "set evaluation chequer evaluation plies 0",
        "set display off",
        "new game",
        "set turn 0",
    )
    MOVE = re.compile(r"\s*\d+\. Cube\w+ \S+\s+(?P<move>\S.*?)\s+Eq\.:.*")

    def __init__(self) -> None:
        self.process = EngineProcess(COMMAND)
        for line in self.SETUP:
            self.process.send(line)

    def boards_after(self, rolls: Sequence[Roll]) -> Iterator[set[tuple[int, ...]]]:
        """The boards that a turn can lead to, from the mover's side, for each roll of a game."""
        for board, dice in rolls:  # all at once, so that neither process waits for the other
            for line in (
                f"set board {position_id(board)}",
                f"set dice {dice[0]} {dice[-1]}",
                "hint 9999",
                "show jacoby",
            ):
                self.process.send(line)
        for board, _ in rolls:
            yield self._read(board)

    def _read(self, board: tuple[int, ...]) -> set[tuple[int, ...]]:
        deadline, found = self.process.deadline(), set[tuple[int, ...]]()
        while not (line := self.process.line(deadline)).startswith("New money"):  # the answer to the last command
            if move := self.MOVE.fullmatch(line):
                found.add(after_turn(board, move["move"]))
        return found or {board}


def position_id(board: tuple[int, ...]) -> str:
    """GNU Backgammon's position id: for each point of the opponent, then of the mover, as many ones as checkers.

    Points count from the owner's ace point; its bar is the last. A zero ends each point.
    """
    own = [max(0, count) for count in (*reversed(board[:24]), board[24])]
    others = [max(0, -count) for count in (*board[:24], board[25])]
    bits = "".join("1" * count + "0" for count in (*others, *own)).ljust(80, "0")
    return base64.b64encode(int(bits[::-1], 2).to_bytes(10, "little")).decode()[:14]


def after_turn(board: tuple[int, ...], text: str) -> tuple[int, ...]:
    """The board after a turn such as `bar/22 13/10*/9(2) 6/off`."""
    new = list(board)
    for word in text.split():
        path, _, times = word.partition("(")
        places = path.replace("*", "").split("/")
        start, target = (_place(places[0]), _place(places[-1]))
        count = int(times.rstrip(")") or 1)
        new[start] -= count
        for stop in path.split("/"):
            if stop.endswith("*"):
                new[_place(stop[:-1])] = 0
                new[25] -= 1
        new[target] += count
    return tuple(new)


def _place(name: str) -> int:
    return {"bar": 24, "off": 26}.get(name) or 24 - int(name)


def compare(count: int, hints: Hints, *, every: int = 1) -> Counter[str]:
    """Compare single moves with pgx, and the turns of every n-th roll with GNU Backgammon, which takes its time."""
    found: Counter[str] = Counter(games=count)
    for one in random_games(count):
        rolls: list[Roll] = []
        for ply, (state, legal) in enumerate(zip(one.states, one.legal, strict=True)):
            board, dice = turns.board_of(state)
            singles = {action for die in set(dice) for action in turns.single_moves(board, die)}
            assert singles == set(np.flatnonzero(legal).tolist()) - {turns.PASS}
            found["single moves"] += len(singles)
            found["positions"] += 1
            if int(state._played_dice_num) == 0:
                found["rolls"] += 1
                rolls += [(board, dice)] if found["rolls"] % every == 0 else []
            check_step(one, ply)
        for (board, dice), theirs in zip(rolls, hints.boards_after(rolls), strict=True):
            ours = {turn.board for turn in turns.turns(board, dice)}
            assert ours == theirs, (board, dice)
            found["turns"] += len(ours)
        found["rolls compared"] += len(rolls)
        found["games with a broken rule of the dice"] += bool(turns.broken_rule(one.states, one.actions))
    return found


def check_step(one: RandomGame, ply: int) -> None:
    """The next board is the same in pgx and here, and dice are thrown where the game says that they may be."""
    if ply + 1 == len(one.actions):
        return
    before, after = one.states[ply], one.states[ply + 1]
    same = int(before._turn) == int(after._turn)
    assert bool(GAME.certain(before)) == same
    if one.actions[ply] == turns.PASS:
        return
    expected = turns.after(turns.board_of(before)[0], one.actions[ply])
    assert turns.board_of(after)[0] == (expected if same else turns.turned(expected))


@pytest.fixture(scope="module")
def hints() -> Iterator[Hints]:
    found = Hints()
    yield found
    found.process.kill()


def test_turns_agree_with_pgx_and_gnubg(hints: Hints) -> None:
    compare(2, hints)


@pytest.mark.long
def test_turns_agree_with_pgx_and_gnubg_in_a_thousand_games(hints: Hints) -> None:
    found = compare(1000, hints, every=8)
    assert found["games with a broken rule of the dice"] > 0  # random play breaks one now and then
    print(dict(found))


@pytest.fixture(scope="module")
def gnubg() -> Iterator[Gnubg]:
    found = Gnubg(COMMAND, 0)
    yield found
    found.close()


START = (2, 0, 0, 0, 0, -5, 0, -3, 0, 0, 0, 5, -5, 0, 0, 0, 3, 0, 5, 0, 0, 0, 0, -2, 0, 0, 0, 0)


def test_the_start_has_the_id_that_every_program_shows() -> None:
    assert position_id(START) == "4HPwATDgc/ABMA"


def best(gnubg: Gnubg, dice: tuple[int, ...]) -> set[tuple[int, int]]:
    """The points that a turn leaves and reaches."""
    turn = gnubg.best(START, dice)
    starts = [26 - action // 6 for action in turn.actions]
    return {(start, start - action % 6 - 1) for start, action in zip(starts, turn.actions, strict=True)}


def test_gnubg_plays_the_openings_that_every_book_gives(gnubg: Gnubg) -> None:
    """3-1, 4-2 and 6-1 make points: 8/5 6/5, 8/4 6/4, 13/7 8/7."""
    assert best(gnubg, (3, 1)) == {(8, 5), (6, 5)}
    assert best(gnubg, (4, 2)) == {(8, 4), (6, 4)}
    assert best(gnubg, (6, 1)) == {(13, 7), (8, 7)}


def test_gnubg_knows_finished_games(gnubg: Gnubg) -> None:
    """The side on roll has lost one, two or three points."""
    over = [0] * 28
    for tray, place, points in ((-1, 20, 1), (0, 20, 2), (0, 3, 3)):
        board = list(over)
        board[26], board[27], board[place] = -tray, -15, 15 + tray
        assert gnubg.equity(tuple(board)) == pytest.approx(-points, abs=1e-3)


def test_gnubg_equity_of_a_contact_position_is_fair(gnubg: Gnubg) -> None:
    """The side on roll has the advantage of the first roll, about 0.07 points without a cube."""
    assert 0.03 < gnubg.equity(START) < 0.12
    assert gnubg.equity(turns.turned(START)) == gnubg.equity(START)
