"""A small engine for tests: it plays Othello on 4 x 4 by GTP, and misbehaves in the way that its argument names.

It knows the rules by itself and plays the first legal cell, row by row.
"""

import subprocess
import sys
import time
from pathlib import Path

SIZE = 4
DIRECTIONS = [(row, column) for row in (-1, 0, 1) for column in (-1, 0, 1) if (row, column) != (0, 0)]
Board = dict[tuple[int, int], str]


def start() -> Board:
    return {(1, 1): "w", (2, 2): "w", (1, 2): "b", (2, 1): "b"}


def flips(board: Board, color: str, cell: tuple[int, int]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for down, right in DIRECTIONS:
        line, at = [], (cell[0] + down, cell[1] + right)
        while board.get(at) == ("w" if color == "b" else "b"):
            line.append(at)
            at = (at[0] + down, at[1] + right)
        found += line if board.get(at) == color else []
    return found


def legal(board: Board, color: str) -> list[tuple[int, int]]:
    cells = [(row, column) for row in range(SIZE) for column in range(SIZE)]
    return [cell for cell in cells if cell not in board and flips(board, color, cell)]


def place(board: Board, color: str, cell: tuple[int, int]) -> None:
    for at in [cell, *flips(board, color, cell)]:
        board[at] = color


def name(cell: tuple[int, int]) -> str:
    return f"{'ABCD'[cell[1]]}{cell[0] + 1}"


def answer(text: str, mark: str = "=") -> None:
    print(f"{mark} {text}\n", flush=True)


def misbehave(mode: str) -> None:
    """Break the protocol instead of answering `genmove`."""
    if mode == "hang":
        time.sleep(600)
    if mode == "flood":
        print("= A1")
        while True:
            print("no end " * 1000)
    if mode == "stream":  # without a line break
        while True:
            sys.stdout.write("no end " * 1000)
    if mode == "garbage":
        print("e2e4 of course\n", flush=True)
    if mode == "control":
        print("\x1b[2J\x1b]0;title\x07\xff\n", flush=True)
    if mode == "exit":
        print("I give up", file=sys.stderr)
        sys.exit(3)
    if mode == "memory":
        answer(str(len(b"x" * (1 << 33))))
    if mode == "children":
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])  # keeps stdout open
        time.sleep(600)


def crashes_now(marker: str) -> bool:
    """Whether this is the first time that the marker is seen."""
    first = not Path(marker).exists()
    Path(marker).touch()
    return first


def genmove(mode: str, argument: str, board: Board, color: str, asked: int) -> None:
    if mode == "crash-once" and asked == 2 and crashes_now(argument):
        sys.exit(3)
    if mode in ("illegal", "nameless", "resign"):
        answer("resign" if mode == "resign" else "A1")
        return
    if mode not in ("good", "crash-once", "refuse", "eof", "chatter"):
        misbehave(mode)
        return
    if mode == "chatter":
        print("thinking " * 10_000, file=sys.stderr, flush=True)
    moves = legal(board, color)
    if moves:
        place(board, color, moves[0])
    answer(name(moves[0]) if moves else "pass")


def stay_silent(mode: str) -> None:
    if mode == "uci":
        print("Unknown command", flush=True)
    if mode in ("silent", "uci"):
        time.sleep(600)


def main(mode: str = "good", argument: str = "") -> None:
    board, asked = start(), 0
    stay_silent(mode)
    for line in sys.stdin:
        command, *words = line.split()
        if command == "protocol_version":
            answer("1" if mode == "old" else "2")
        elif command == "clear_board":
            board, asked = start(), 0
            answer("")
        elif command == "play":
            row, column = (int(words[1][1]) - 1, "ABCD".index(words[1][0])) if words[1] != "pass" else (-1, -1)
            if mode == "refuse":
                answer("illegal move", "?")
                continue
            if words[1] != "pass":
                place(board, words[0][0], (row, column))
            answer("")
        elif command == "genmove":
            asked += 1
            genmove(mode, argument, board, words[0][0], asked)
        else:
            known = {} if mode == "nameless" else {"name": "Fake", "version": "1.0"}
            answer(known.get(command, ""))
    if mode == "eof":
        time.sleep(600)  # does not end with its input


if __name__ == "__main__":
    main(*sys.argv[1:])
