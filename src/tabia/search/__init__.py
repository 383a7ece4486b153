"""Batched tree search over any game, minimax, and a slow, readable reference implementation.

search.py       `Search`: initialize, select, expand, evaluate, back up
rules/          selection rules; each owns its root behavior
tree.py         the tree as arrays; layout.py allocates it
descent.py      selection and backup in XLA; kernels.py on an NVIDIA GPU; device.py chooses between them
one_kernel.py   the simulations of one position as one kernel on a CPU
expansion.py    what a simulation finds at its leaf
proofs.py       exact wins, draws and losses
result.py       what a search returns, and which action to play
evaluators.py   networks, rollouts, heuristics and mixtures of them
budget.py       searches with a time limit; agreement.py searches on; reuse.py continues an earlier tree
ties.py         which of equally good actions is taken
checks.py       what a search refuses; memory.py the memory limit
minimax.py      minimax and max^n to a fixed depth
picture.py      trees as text, DOT and SVG
reference.py    the reference implementation; reference_rules.py its rules, reference_proofs.py its proofs
"""

from tabia.search.errors import SearchError as SearchError
from tabia.search.evaluators import Evaluation as Evaluation
from tabia.search.result import Result as Result
from tabia.search.rules import RULES as RULES
from tabia.search.rules import Gumbel as Gumbel
from tabia.search.rules import MiniAlphaGo as MiniAlphaGo
from tabia.search.rules import Omc as Omc
from tabia.search.rules import Pbbm as Pbbm
from tabia.search.rules import Puct as Puct
from tabia.search.rules import Rule as Rule
from tabia.search.rules import Uct as Uct
from tabia.search.search import Search as Search
