"""Selection rules: which action a simulation tries at each node, and what the search recommends at the root.

rule.py       the base class
puct.py       Puct, with Dirichlet noise at the root (AlphaZero)
ucb.py        Uct; MiniAlphaGo
objective.py  Omc; Pbbm
gumbel.py     Gumbel, with sequential halving at the root (Gumbel AlphaZero)

A new rule needs a module here, a line in `RULES` and its formula in `tabia.search.reference_rules`.
"""

from dataclasses import fields

from tabia.search.rules.gumbel import Gumbel as Gumbel
from tabia.search.rules.objective import Omc as Omc
from tabia.search.rules.objective import Pbbm as Pbbm
from tabia.search.rules.puct import UNTRIED_VALUES as UNTRIED_VALUES
from tabia.search.rules.puct import Puct as Puct
from tabia.search.rules.rule import Rule as Rule
from tabia.search.rules.ucb import MiniAlphaGo as MiniAlphaGo
from tabia.search.rules.ucb import Uct as Uct

RULES: dict[str, type[Rule]] = {
    "gumbel": Gumbel,
    "mini-alphago": MiniAlphaGo,
    "omc": Omc,
    "pbbm": Pbbm,
    "puct": Puct,
    "uct": Uct,
}
"""The rules by the names that players and configurations use."""


def make_rule(name: str, settings: object) -> Rule:
    """A rule by name; its fields take the attributes of `settings` of the same name.

    An untried value may be given by its name in UNTRIED_VALUES.
    """
    rule = RULES[name]
    given = {one.name: getattr(settings, one.name) for one in fields(rule) if hasattr(settings, one.name)}
    if "untried_value" in given:
        given["untried_value"] = UNTRIED_VALUES[given["untried_value"]]
    return rule(**given)
