"""Outside engines as players: programs that speak GTP or UCI, and GNU Backgammon.

options.py  reads specs such as `gtp:gnugo,level=10`; the programs that Tabia knows
player.py   a player with a pool of processes; gnubg.py the one of GNU Backgammon
engine.py   the interface of engines; gtp.py and uci.py their protocols
process.py  a process within limits of time and memory
lifetime.py starts processes and ends them with Tabia; launch.py runs in each first, watch.py beside all
"""

from tabia.players.engines.options import PROGRAMS as PROGRAMS
from tabia.players.engines.options import make_gnubg as make_gnubg
from tabia.players.engines.options import make_gtp as make_gtp
from tabia.players.engines.options import make_uci as make_uci
from tabia.players.engines.player import EnginePlayer as EnginePlayer
