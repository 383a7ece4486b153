"""Final moves: which action a player plays after its search (Sanz & Villanueva 2021, section 2.3.2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jax import Array

from tabia.search.result import Result, best_value, max_robust, most_visits, preferred, secure

Final = Callable[[Result], Array]


@dataclass(frozen=True)
class Secure:
    """Secure child: the highest v + a / sqrt(n); equal for equal constants, so that programs are shared."""

    a: float = 1.0

    def __call__(self, result: Result) -> Array:
        return secure(result, a=self.a)


SECURE, MAX_ROBUST = "secure", "max-robust"

FINAL_MOVES: dict[str, Final | None] = {
    "recommended": None,
    "visits": most_visits,
    "value": best_value,
    "robust": max_robust,
    "prior": preferred,
    SECURE: Secure(),
    MAX_ROBUST: max_robust,
}
"""By the names of the option `final`.

`recommended` is what the rule recommends. `robust` is the best value of the most visited actions, `prior` the highest
prior of them; `max-robust` searches on until one action has both the most visits and the highest value.
"""
