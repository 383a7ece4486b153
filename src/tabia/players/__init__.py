"""Players: `make("mcts:simulations=800", game)`, or the same as values: `MCTSPlayer(game, simulations=800)`.

player.py       the interface: `Player`, `Choice`
spec.py         the text that names players; registry.py makes players from it
simple.py       random, greedy, initialize, minimax
tree_search.py  MCTS and AlphaZero; rule_options.py their selection rules; search.py builds their searches
network.py      a network without search; runs.py finds networks; agents.py describes the shipped ones
perfect.py      exact play
own.py          players from Python files; position.py what they see
engines/        outside engines: GTP, UCI, GNU Backgammon
together.py     two players that share one search on a GPU
modifiers.py    temperature, epsilon and random first moves for any player
analysis.py     a player's analysis of positions; reading.py reads positions from files
ladder.py       opponents of known strength
"""

from tabia.players.analysis import Analysis as Analysis
from tabia.players.analysis import analyze as analyze
from tabia.players.modifiers import Habits as Habits
from tabia.players.modifiers import Modified as Modified
from tabia.players.network import NetworkPlayer as NetworkPlayer
from tabia.players.perfect import PerfectPlayer as PerfectPlayer
from tabia.players.player import Choice as Choice
from tabia.players.player import Player as Player
from tabia.players.position import Position as Position
from tabia.players.registry import make as make
from tabia.players.registry import names as names
from tabia.players.runs import Agent as Agent
from tabia.players.simple import GreedyPlayer as GreedyPlayer
from tabia.players.simple import InitializePlayer as InitializePlayer
from tabia.players.simple import MinimaxPlayer as MinimaxPlayer
from tabia.players.simple import RandomPlayer as RandomPlayer
from tabia.players.spec import PlayerError as PlayerError
from tabia.players.spec import Spec as Spec
from tabia.players.spec import parse as parse
from tabia.players.tree_player import SearchPlayer as SearchPlayer
from tabia.players.tree_search import AlphaZeroPlayer as AlphaZeroPlayer
from tabia.players.tree_search import MCTSPlayer as MCTSPlayer
