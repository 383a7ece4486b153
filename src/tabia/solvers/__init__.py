"""Exact solving: small games by enumeration and retrograde analysis, Connect boards by alpha-beta search.

exact.py        `solve(game)`: the value of every position and its best moves
enumeration.py  all reachable positions and the moves between them
retrograde.py   values from the ends of games backwards
index.py        positions that compiled code can look up
connect/        the Connect solver, its transposition tables and opening books; needs the extra `solver`
"""

from tabia.solvers.errors import Endless as Endless
from tabia.solvers.errors import SolverError as SolverError
from tabia.solvers.errors import TooLarge as TooLarge
from tabia.solvers.exact import Solution as Solution
from tabia.solvers.exact import solve as solve
