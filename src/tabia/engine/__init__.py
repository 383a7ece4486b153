"""Tabia as an engine: other programs play against its players and analyze with them, by GTP or UCI.

thinking.py   a player's search in pieces, so that `stop` is answered at once
compiling.py  what is compiled before a clock runs
refusal.py    players that cannot serve as engines
clock.py      how much of the time left a move may take
console.py    lines of commands from a program, and lines of answers to it
table.py      the position that a program has set up
gtp.py        the Go Text Protocol; gtp_analysis.py its analyses; gtp_rules.py what GoGui asks for other games
uci.py        the Universal Chess Interface; uci_search.py its searches

`tabia.games.protocols` has the notation that both directions share.
"""

from tabia.engine.console import Console as Console
from tabia.engine.gtp import GtpEngine as GtpEngine
from tabia.engine.refusal import check_spec as check_spec
from tabia.engine.thinking import Bounds as Bounds
from tabia.engine.thinking import Thinking as Thinking
from tabia.engine.uci import UciEngine as UciEngine
