from dataclasses import dataclass
from tabia.games.game import Game
@dataclass(frozen=True)
class Othello(Game):
    name = "othello"
