"""Kayles: knock down one pin or two neighbors; knocking down the last pin wins. A plain class with extras."""


class Kayles:
    """Kayles: knock down one pin or two neighbors; the last pin wins."""

    num_players = 2

    def __init__(self, pins: int = 7):
        self.moves = [(pin,) for pin in range(pins)] + [(pin, pin + 1) for pin in range(pins - 1)]
        self.num_actions = len(self.moves)
        self.max_moves = pins
        self.observation_shape = (1, pins, 1)
        self.standing = [True] * pins
        self.turn = 0
        self.log = []  # only for draw()

    def legal_moves(self):
        return [action for action, pins in enumerate(self.moves) if all(self.standing[pin] for pin in pins)]

    def apply(self, action):
        for pin in self.moves[action]:
            self.standing[pin] = False
        self.log.append(self.move_name(action))
        self.turn = 1 - self.turn

    def mover(self):
        return self.turn

    def is_over(self):
        return not any(self.standing)

    def scores(self):
        return [-1, 1] if self.turn == 0 else [1, -1]  # the other seat took the last pin

    # The rest is optional.

    def position(self):
        return self.standing  # not the log: how the pins fell does not matter

    def symmetries(self):
        last = len(self.standing) - 1
        cells = list(range(last, -1, -1))
        actions = [self.moves.index(tuple(sorted(last - pin for pin in pins))) for pins in self.moves]
        return [(cells, actions)]  # the row seen from its other end

    def observe(self, seat):
        return [[[float(standing)] for standing in self.standing]]

    def move_name(self, action):
        return "-".join(str(pin + 1) for pin in self.moves[action])

    def draw(self):
        row = " ".join("!" if standing else "." for standing in self.standing)
        return f"{row}\n{' '.join(self.log) or 'no moves yet'}"
