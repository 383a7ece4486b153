"""A client of a Tabia server for Python programs; it needs nothing beside the standard library.

    client = Client("http://127.0.0.1:8765")
    client.choose("connect4", "4 4 3")["move"]      an agent's move
    game = client.play("connect4", "level:summit")  a game
    game.move("4")
    run_bot(client, lambda turn: turn.legal[0])     a bot

`connection` sends requests, `client` has a method per route, `game` plays one game, `bot` answers challenges. The
routes are in docs/reference/http-api.md.
"""

from tabia.client.bot import run_bot as run_bot
from tabia.client.client import Client as Client
from tabia.client.connection import ApiError as ApiError
from tabia.client.game import Game as Game
from tabia.client.game import Turn as Turn
