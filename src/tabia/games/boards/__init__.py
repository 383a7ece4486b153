"""Positions for a screen: where the cells of a board are, what stands on them, and which cells a move touches.

`view(game)` knows how one game looks; `position(session)` is a position as the page shows it. A game without a view
of its own is a drawing: its SVG picture and a list of moves. `policy_svg` draws a policy on the cells.
"""

from tabia.games.boards.board import Board as Board
from tabia.games.boards.board import BoardView as BoardView
from tabia.games.boards.board import Cell as Cell
from tabia.games.boards.board import Drawing as Drawing
from tabia.games.boards.picture import policy_svg as policy_svg
from tabia.games.boards.position import outcome as outcome
from tabia.games.boards.position import position as position
from tabia.games.boards.position import result as result
from tabia.games.boards.views import view as view
