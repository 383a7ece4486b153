"""Backgammon boards as GNU Backgammon reads them, and whole turns of pgx's one-die moves.

A board here is pgx's, from the mover's side: 24 points from its 24-point down, its own checkers positive, then the
two bars and the two trays, each with the mover's first. A turn is a list of pgx's actions, 6 * source + die - 1.

The rules of a turn ask for as many dice as possible, and for the larger one if only one can be played. pgx plays die
by die and asks for neither, so `broken_rule` finds the turns that would be illegal over the board.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tabia.games.game import State

PASS = 0  # the action
_BAR, _TRAY = 24, 26


class Turn(NamedTuple):
    """A way to play some dice."""

    actions: tuple[int, ...]
    board: tuple[int, ...]  # afterward, from the same side


def board_of(state: State) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The board and the dice (1 to 6) left to play."""
    return tuple(map(int, state._board)), tuple(int(die) + 1 for die in state._playable_dice if int(die) >= 0)


def fibs_board(board: Sequence[int]) -> str:
    """The line that describes a board with its mover on roll, before the dice, without a cube to turn."""
    points = [-abs(board[_BAR + 1]), *reversed(board[:24]), board[_BAR]]
    tail = [1, 0, 0, 0, 0, 1, 1, 1, 0, 1, -1, 0, 25, board[_TRAY], abs(board[_TRAY + 1])]
    bars = [board[_BAR], abs(board[_BAR + 1]), 2, 0, 0, 0]
    return ":".join(map(str, ["board", "You", "Opponent", 0, 0, 0, *points, *tail, *bars]))


def turned(board: Sequence[int]) -> tuple[int, ...]:
    """The board from the other side."""
    flipped = [*reversed(board[:24]), board[25], board[24], board[27], board[26]]
    return tuple(-count for count in flipped)


def single_moves(board: Sequence[int], die: int) -> list[int]:
    """The legal actions with one die."""
    if board[_BAR] > 0:
        return [_action(1, die)] if board[die - 1] >= -1 else []
    home = all(count <= 0 for count in board[:18])
    return [_action(place + 2, die) for place in range(24) if board[place] > 0 and _may_move(board, place, die, home)]


def _may_move(board: Sequence[int], place: int, die: int, home: bool) -> bool:
    target = place + die
    if target < 24:
        return board[target] >= -1
    # A larger die than needed bears off only the rearmost checker.
    return home and (target == 24 or all(count <= 0 for count in board[18:place]))


def _action(source: int, die: int) -> int:
    return 6 * source + die - 1


def after(board: Sequence[int], action: int) -> tuple[int, ...]:
    """The board after a single move."""
    source, die = action // 6, action % 6 + 1
    new = list(board)
    start = _BAR if source == 1 else source - 2
    target = die - 1 if source == 1 else start + die
    new[start] -= 1
    if target >= 24:
        new[_TRAY] += 1
    elif new[target] == -1:
        new[target] = 1
        new[_BAR + 1] -= 1
    else:
        new[target] += 1
    return tuple(new)


def turns(board: Sequence[int], dice: Sequence[int]) -> list[Turn]:
    """The legal ways to play these dice, one for each final board; one without actions if no die can be played."""
    found = _sequences(tuple(board), tuple(dice))
    most = max(len(turn.actions) for turn in found)
    longest = [turn for turn in found if len(turn.actions) == most]
    if most == 1:
        larger = max(turn.actions[0] % 6 for turn in longest)
        longest = [turn for turn in longest if turn.actions[0] % 6 == larger]
    return list({turn.board: turn for turn in longest}.values())


def _sequences(board: tuple[int, ...], dice: tuple[int, ...]) -> list[Turn]:
    """All ways to play dice one by one, in any order, until none can be played; one for each board and length."""
    found: dict[tuple[int, tuple[int, ...]], Turn] = {}
    for die in set(dice):
        rest = list(dice)
        rest.remove(die)
        for action in single_moves(board, die):
            for turn in _sequences(after(board, action), tuple(rest)):
                whole = Turn((action, *turn.actions), turn.board)
                if len(whole.actions) == 1:
                    found[(action, turn.board)] = whole  # which die it was matters
                else:
                    found.setdefault((len(whole.actions), turn.board), whole)
    return list(found.values()) or [Turn((), board)]


def broken_rule(states: Iterable[State], actions: Iterable[int]) -> str:
    """The first turn that uses fewer dice than it could, or the smaller one; empty if there is none.

    `states` are the positions of a game before its actions.
    """
    board: tuple[int, ...] = ()
    dice: tuple[int, ...] = ()
    played: list[int] = []
    for state, action in zip(states, actions, strict=False):
        if int(state._played_dice_num) == 0:
            (board, dice), played = board_of(state), []
        if action // 6 != PASS:
            played.append(action)
        if len(played) == len(dice) or action // 6 == PASS:
            wrong = _wrong(board, dice, played)
            if wrong:
                return wrong
    return ""


def _wrong(board: tuple[int, ...], dice: tuple[int, ...], played: Sequence[int]) -> str:
    legal = turns(board, dice)
    most = len(legal[0].actions)
    if len(played) < most:
        return f"a turn used {len(played)} dice of {' and '.join(map(str, dice))} where {most} could be played"
    if most == 1 and played[0] % 6 != legal[0].actions[0] % 6:
        return f"a turn used the smaller die of {' and '.join(map(str, dice))} where the larger could be played"
    return ""
