"""Players by name: `make("mcts:simulations=800", game)`, and what they choose."""

from tabia.players.analysis import Analysis as Analysis
from tabia.players.analysis import ask as ask
from tabia.players.player import Choice as Choice
from tabia.players.player import Player as Player
from tabia.players.position import Position as Position
from tabia.players.registry import make as make
from tabia.players.registry import names as names
from tabia.players.searching import MCTSPlayer as MCTSPlayer
from tabia.players.spec import PlayerError as PlayerError
from tabia.players.spec import Spec as Spec
from tabia.players.spec import parse as parse
