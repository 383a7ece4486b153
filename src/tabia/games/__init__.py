"""The rules of games, behind one protocol.

game      the protocol; `laws` checks that a game obeys it
registry  `make` turns an id into a game; identity compares ids
session   one game in progress; seats names its seats and results; moves reads and names moves
drawing   boards as text and SVG; grid draws games on a grid
adapters  games of other libraries and of users; exports offers ours to other libraries

The other modules are the games themselves; history adds earlier positions to any of them.
"""

from tabia.core import compile_cache
from tabia.games.errors import GameError as GameError
from tabia.games.errors import IllegalMove as IllegalMove
from tabia.games.game import Game as Game
from tabia.games.game import State as State
from tabia.games.game import Symmetry as Symmetry
from tabia.games.registry import ids as ids
from tabia.games.registry import make as make
from tabia.games.seats import Seats as Seats
from tabia.games.session import Session as Session

compile_cache.install()  # here, because everything that compiles imports this package
