"""Rules: one file per game behind one protocol, the laws every game obeys, and the registry."""

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

compile_cache.install()  # here, because everything in Tabia that compiles imports this package
