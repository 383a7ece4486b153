"""A slow reference implementation of Schulte's Chinese checkers, written from the text of the thesis without arrays.

Fields are (row, column) of the thesis's figure 2.2.0 and players are 1, 2, 3 as there. Quotations are the thesis's.
"""

from __future__ import annotations

Field = tuple[int, int]

START = """
4 4 4 4 4 4 0 4 4
4 4 4 4 4 0 0 4 4
4 4 2 2 2 0 3 3 3
4 4 2 2 0 0 3 3 4
4 4 2 0 0 0 3 4 4
4 0 0 0 0 0 0 4 4
0 0 1 1 1 0 0 4 4
4 4 1 1 4 4 4 4 4
4 4 1 4 4 4 4 4 4
"""  # "This array represents the board at the start of the game."
BOARD: dict[Field, int] = {
    (row, column): int(value)
    for row, line in enumerate(START.split("\n")[1:-1])
    for column, value in enumerate(line.split())
    if value != "4"
}
CENTER = (4, 4)

# "Upper left, Upper right / Left, Center, Right / Lower left, Lower right", as the figure places them.
DIRECTIONS = {
    "upper left": (-1, 0),
    "upper right": (-1, 1),
    "left": (0, -1),
    "right": (0, 1),
    "lower left": (1, -1),
    "lower right": (1, 0),
}


def opposite(field: Field) -> Field:
    """The field mirrored through the center."""
    return (2 * CENTER[0] - field[0], 2 * CENTER[1] - field[1])


STARTS = {player: {field for field, value in BOARD.items() if value == player} for player in (1, 2, 3)}
ENDS = {player: {opposite(field) for field in STARTS[player]} for player in (1, 2, 3)}  # "the corners opposite of them"


def distance(a: Field, b: Field) -> int:
    rows, columns = b[0] - a[0], b[1] - a[1]
    return max(abs(rows), abs(columns), abs(rows + columns))


NEUTRAL = {field for field in BOARD if distance(field, CENTER) <= 2}  # "the neutral center of the board"
# "A player cannot move his pieces onto fields in another player's zone, except for those that intersect with the
# neutral center of the board." Every field outside the center lies in some player's start or end zone.
ACCESSIBLE = {player: NEUTRAL | STARTS[player] | ENDS[player] for player in (1, 2, 3)}


def beyond(field: Field, way: Field, steps: int) -> Field:
    return (field[0] + way[0] * steps, field[1] + way[1] * steps)


def may_land(player: int, origin: Field, landing: Field) -> bool:
    """The zones: not into the others', and moves "that lead out of the end zones are not allowed"."""
    if landing not in ACCESSIBLE[player]:
        return False
    return not (origin in ENDS[player] and landing not in ENDS[player])


HOPS = {
    (player, field): [
        beyond(field, way, 1) for way in DIRECTIONS.values() if may_land(player, field, beyond(field, way, 1))
    ]
    for player in (1, 2, 3)
    for field in BOARD
}
JUMPS = {
    (player, field): [
        (beyond(field, way, 1), beyond(field, way, 2))
        for way in DIRECTIONS.values()
        if may_land(player, field, beyond(field, way, 2))
    ]
    for player in (1, 2, 3)
    for field in BOARD
}

LETTERS = "ihgfedcba"  # from the top row to the bottom row


def name(field: Field) -> str:
    """The row's letter and the place among the fields of the row."""
    along = sorted(column for row, column in BOARD if row == field[0])
    return f"{LETTERS[field[0]]}{1 + along.index(field[1])}"


FIELD_OF_NAME = {name(field): field for field in BOARD}
NAMES = {field: text for text, field in FIELD_OF_NAME.items()}


class Reference:
    """One game."""

    def __init__(self) -> None:
        self.board = dict(BOARD)  # 0 "denotes an empty field"
        self.moves = 0
        self.points = {1: 0, 2: 0, 3: 0}

    @property
    def player(self) -> int:
        """Players "take turns clockwise after each move"."""
        return self.moves % 3 + 1

    @property
    def over(self) -> bool:
        """The second place is decided, or "we stop the game after 40 moves each"."""
        return 1 in self.points.values() or self.moves == 3 * 40

    def legal(self) -> set[str]:
        """All moves by name, a jump sequence by its two ends."""
        if self.over:
            return set()
        moves = set()
        for field, value in list(self.board.items()):
            if value == self.player:
                ends = {hop for hop in HOPS[self.player, field] if self.board[hop] == 0}
                self.board[field] = 0  # the piece is in the player's hand
                ends |= self._ladder(field, set())
                self.board[field] = value
                moves |= {f"{NAMES[field]}-{NAMES[end]}" for end in ends - {field}}
        # The passive move "gets chosen if and only if there are no other possible moves available".
        return moves or {"pass"}

    def _ladder(self, field: Field, seen: set[Field]) -> set[Field]:
        """All fields on the way: with "another jump ... possible, the player is free to execute it"."""
        for over, landing in JUMPS[self.player, field]:
            if landing not in seen and self.board[over] != 0 and self.board[landing] == 0:
                seen.add(landing)
                self._ladder(landing, seen)
        return seen

    def play(self, move: str) -> None:
        if move != "pass":
            origin, end = (FIELD_OF_NAME[text] for text in move.split("-"))
            self.board[origin], self.board[end] = 0, self.player
        self.moves += 1
        self.award()

    def award(self) -> None:
        if not any(self.points.values()):
            for player in (1, 2, 3):  # first, who moved "all his pieces from his start zone into his end zone"
                if all(self.board[field] == player for field in ENDS[player]):
                    self.points[player] = 3
        if any(self.points.values()):
            for player in (1, 2, 3):  # second, "who has all fields in his end zone occupied"
                if self.points[player] == 0 and all(self.board[field] != 0 for field in ENDS[player]):
                    self.points[player] = 1

    def rotated(self) -> list[list[int]]:
        """The array as the mover sees it: "an agent always plays, as if he was player one"."""
        array = [[4] * 9 for _ in range(9)]
        for field in BOARD:
            value = self.board[turn(field, self.player - 1)]
            array[field[0]][field[1]] = value and (value - self.player) % 3 + 1
        return array


def turn(field: Field, times: int) -> Field:
    """A 120 degree turn clockwise about the center, which brings player 1's corner to player 2's."""
    row, column = field[0] - CENTER[0], field[1] - CENTER[1]
    for _ in range(times):
        row, column = column, -row - column
    return (row + CENTER[0], column + CENTER[1])
