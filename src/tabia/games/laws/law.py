"""What a law is: a function whose docstring is the law as people read it.

It is given a game, or the record of random games, and returns what it found broken: what was expected, what
came, after which moves. It returns None where the law holds, and raises DoesNotApply where it has nothing to judge.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tabia.games.errors import refusal_in

Law = Callable[[Any], str | None]


@dataclass(frozen=True)
class Verdict:
    """One law and whether a game keeps it; the detail says what broke it, or why it does not apply."""

    law: str
    holds: bool
    detail: str = ""


class DoesNotApply(Exception):
    """Raised by a law that has nothing to judge in this game."""


def judge(law: Law, evidence: Any) -> Verdict:
    """The verdict of one law; whatever the game raises meanwhile breaks that law alone."""
    try:
        fault = law(evidence)
    except DoesNotApply as reason:
        return Verdict(text(law), True, str(reason))
    except Exception as error:  # a stranger's rules may raise anything, and the check must still report
        return Verdict(text(law), False, f"The game raised {first_line(error)}")
    return Verdict(text(law), fault is None, fault or "")


def text(law: Law) -> str:
    """A law as people read it, which is how a verdict names it."""
    return " ".join((law.__doc__ or law.__name__).split())


def first_line(error: Exception) -> str:
    """An error in one line."""
    error = refusal_in(error) or error  # what a plain Python class raised, without JAX's traceback
    message = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {message}" if message else type(error).__name__
