"""Nim: take any number from one heap; taking the last object wins. A game as a plain Python class."""

HEAPS = (3, 4, 5)
MOVES = [(heap, count) for heap, size in enumerate(HEAPS) for count in range(1, size + 1)]


class Nim:
    """Nim with heaps of 3, 4 and 5."""

    num_players = 2
    num_actions = len(MOVES)
    max_moves = sum(HEAPS)
    observation_shape = (1, sum(HEAPS), 1)

    def __init__(self):
        self.heaps = list(HEAPS)
        self.turn = 0

    def legal_moves(self):
        return [move for move, (heap, count) in enumerate(MOVES) if count <= self.heaps[heap]]

    def apply(self, move):
        heap, count = MOVES[move]
        self.heaps[heap] -= count
        self.turn = 1 - self.turn

    def mover(self):
        return self.turn

    def is_over(self):
        return sum(self.heaps) == 0

    def scores(self):
        return [-1, 1] if self.turn == 0 else [1, -1]  # the other seat took the last object

    # The rest is optional.

    goal = "Take the last object."

    def observe(self, seat):
        there = [count <= self.heaps[heap] for heap, count in MOVES]  # one cell per object
        return [[[float(present)] for present in there]]

    def move_name(self, move):
        heap, count = MOVES[move]
        return f"{'abc'[heap]}{count}"

    def draw(self):
        return "\n".join(f"{name} {'|' * size or '-'}" for name, size in zip("abc", self.heaps, strict=True))
