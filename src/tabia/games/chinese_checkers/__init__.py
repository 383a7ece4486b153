"""Chinese checkers on a star of 37 or 121 fields.

star   the board: fields, neighbors, corners
jumps  all moves as a table, and the legal ones of a position
rules  the three rule sets: Schulte's, OpenSpiel's, and the one people play
game   the game
"""

from tabia.games.chinese_checkers.game import ChineseCheckers as ChineseCheckers
from tabia.games.chinese_checkers.game import State as State
