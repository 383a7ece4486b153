"""Moves and messages of the protocols that game engines speak; both directions use them.

notation.py    the interface: a protocol's text for the actions of one game
gtp.py         Go Text Protocol, version 2: Go, Othello and Hex
uci.py         Universal Chess Interface: chess and its variants
backgammon.py  boards and turns as GNU Backgammon writes them
"""

from tabia.games.protocols.gtp import GtpGame as GtpGame
from tabia.games.protocols.gtp import gtp_game as gtp_game
from tabia.games.protocols.notation import Notation as Notation
from tabia.games.protocols.notation import ProtocolError as ProtocolError
from tabia.games.protocols.uci import UciGame as UciGame
from tabia.games.protocols.uci import uci_game as uci_game
