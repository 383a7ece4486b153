"""A player: it plays the legal column nearest to the middle of a Connect board."""


class Center:
    """Prefers the middle; with look_ahead it plays an immediate win if there is one."""

    def __init__(self, look_ahead: bool = True):
        self.look_ahead = look_ahead

    def choose(self, position):
        if self.look_ahead:
            for move in position.legal_moves:
                after = position.after(move)
                if after.is_over and after.scores[position.mover] > 0:
                    return move
        columns = position.board.shape[1]
        return min(position.legal_moves, key=lambda move: abs(move - (columns - 1) / 2))
