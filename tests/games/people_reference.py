"""A slow reference implementation of `chinese-checkers:fields=121,rules=people`, written from the rules' text.

The text is the section "The rules people play" of docs/games/chinese-checkers.md. Dictionaries, sets and recursion,
no arrays. A field is (row, x): rows count from the top, x in half fields from the middle, so that the six neighbors lie
at (0, -2), (0, 2), (-1, -1), (-1, 1), (1, -1) and (1, 1).
"""

from __future__ import annotations

Field = tuple[int, int]

LENGTHS = (1, 2, 3, 4, 13, 12, 11, 10, 9, 10, 11, 12, 13, 4, 3, 2, 1)
ROWS = [[(row, 2 * place - length + 1) for place in range(length)] for row, length in enumerate(LENGTHS)]
NAMES = {
    field: f"{'qponmlkjihgfedcba'[row]}{place}"
    for row, fields in enumerate(ROWS)
    for place, field in enumerate(fields, start=1)
}
FIELD_OF_NAME = {name: field for field, name in NAMES.items()}
WAYS = ((0, -2), (0, 2), (-1, -1), (-1, 1), (1, -1), (1, 1))

# The six points of the star, ten fields each, clockwise from the bottom.
POINTS = [
    {field for row in ROWS[13:] for field in row},
    {field for row in range(9, 13) for field in ROWS[row][: row - 8]},
    {field for row in range(4, 8) for field in ROWS[row][: 8 - row]},
    {field for row in ROWS[:4] for field in row},
    {field for row in range(4, 8) for field in ROWS[row][row - 8 :]},
    {field for row in range(9, 13) for field in ROWS[row][8 - row :]},
]
SEATED = {2: (0, 3), 3: (0, 2, 4), 4: (0, 1, 3, 4), 6: (0, 1, 2, 3, 4, 5)}
"""The points at which the seats sit."""


def beyond(field: Field, way: Field) -> Field:
    return (field[0] + way[0], field[1] + way[1])


class Reference:
    """One game."""

    def __init__(self, players: int, *, moves_each: int = 200) -> None:
        self.players, self.moves_each = players, moves_each
        self.starts = [POINTS[point] for point in SEATED[players]]
        self.ends = [POINTS[(point + 3) % 6] for point in SEATED[players]]
        self.board = {field: seat for seat, start in enumerate(self.starts) for field in start}
        self.seat = 0
        self.moves_made = [0] * players
        self.finished: list[int] = []  # in the order of their places

    @property
    def playing(self) -> list[int]:
        return [seat for seat in range(self.players) if seat not in self.finished]

    @property
    def over(self) -> bool:
        out_of_moves = all(self.moves_made[seat] >= self.moves_each for seat in self.playing)
        return len(self.playing) == 1 or out_of_moves

    @property
    def scores(self) -> list[int]:
        if self.players == 2:
            return [0, 0] if not self.finished else [1 if seat in self.finished else -1 for seat in range(2)]
        scores = [0] * self.players
        for place, seat in enumerate(self.finished, start=1):
            scores[seat] = sum(range(self.players - place + 1))  # 1 + 2 + ... + the seats behind
        return scores

    def legal(self) -> dict[str, tuple[Field, Field]]:
        """All moves by name, a jump sequence by its two ends; the pass has no fields."""
        if self.over:
            return {}
        moves: dict[str, tuple[Field, Field]] = {}
        for origin in [field for field, seat in self.board.items() if seat == self.seat]:
            targets = {target for way in WAYS if self.may_land(origin, target := beyond(origin, way))}
            del self.board[origin]  # the piece is in the player's hand
            self.jump_on(origin, seen := {origin})
            self.board[origin] = self.seat
            for target in targets | seen - {origin}:
                moves[f"{NAMES[origin]}-{NAMES[target]}"] = (origin, target)
        return moves or {"pass": ((), ())}

    def may_land(self, origin: Field, target: Field) -> bool:
        """A free field, and no piece leaves the end zone."""
        leaves = origin in self.ends[self.seat] and target not in self.ends[self.seat]
        return target in NAMES and target not in self.board and not leaves

    def jump_on(self, field: Field, seen: set[Field]) -> None:
        for way in WAYS:
            over = beyond(field, way)
            landing = beyond(over, way)
            if over in self.board and landing not in seen and self.may_land(field, landing):
                seen.add(landing)
                self.jump_on(landing, seen)

    def play(self, move: str) -> None:
        if move != "pass":
            origin, target = (FIELD_OF_NAME[name] for name in move.split("-"))
            del self.board[origin]
            self.board[target] = self.seat
        self.moves_made[self.seat] += 1
        self.finished += [seat for seat in self.playing if self.has_finished(seat)]
        self.seat = self.next_seat()

    def has_finished(self, seat: int) -> bool:
        """Its end zone is full, and at least one of the pieces there is its own."""
        inside = [self.board.get(field) for field in self.ends[seat]]
        return None not in inside and seat in inside

    def next_seat(self) -> int:
        """Clockwise, without the seats that have finished."""
        after = [(self.seat + step) % self.players for step in range(1, self.players + 1)]
        return next((seat for seat in after if seat not in self.finished), self.seat)
