"""A plain Python game whose rules raise in two rare lines, which the trial of the class does not meet."""

RULES = '''"""Two seats take twelve cells in turns; whoever takes the last one wins."""


class Dom:
    num_players = 2
    num_actions = 12
    max_moves = 12

    def __init__(self):
        self.taken = []

    def legal_moves(self):
        return [cell for cell in range(12) if cell not in self.taken]

    def apply(self, move):
        if self.taken == [7, 4] or [*self.taken, move] == [7, 3, 5]:
            raise ValueError("oops")
        self.taken.append(move)

    def mover(self):
        return len(self.taken) % 2

    def is_over(self):
        return len(self.taken) == 12

    def scores(self):
        return [-1, 1]
'''
RAISES = 1 + RULES.splitlines().index('            raise ValueError("oops")')
"""The number of the line that raises."""
