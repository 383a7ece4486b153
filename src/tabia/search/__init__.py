"""Batched tree search over any game, minimax, exact solving, and a slow readable twin."""

from tabia.search.errors import SearchError as SearchError
from tabia.search.evaluators import Evaluation as Evaluation
from tabia.search.gumbel import Gumbel as Gumbel
from tabia.search.roots import Noise as Noise
from tabia.search.roots import Result as Result
from tabia.search.search import Search as Search
from tabia.search.selection import MiniAlphaGo as MiniAlphaGo
from tabia.search.selection import Omc as Omc
from tabia.search.selection import Pbbm as Pbbm
from tabia.search.selection import Puct as Puct
from tabia.search.selection import Uct as Uct
