"""A law is a function whose docstring states the law for people.

It takes a game, or the record of random games. It returns None or a Note if the law holds, and otherwise a sentence
with what was expected, what came, and after which moves. It raises DoesNotApply if there is nothing to check.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tabia.games.errors import refusal_in

Law = Callable[[Any], str | None]


@dataclass(frozen=True)
class Verdict:
    """Whether a game keeps one law; the detail says how it is broken or why it does not apply."""

    law: str
    holds: bool
    detail: str = ""


class Note(str):
    """What a law says that holds, about something the author may not have meant."""

    __slots__ = ()


class DoesNotApply(Exception):
    """The game has nothing that the law could check."""


def check_law(law: Law, evidence: Any) -> Verdict:
    """The verdict on one law; an exception that the game raises breaks that law only."""
    try:
        fault = law(evidence)
    except DoesNotApply as reason:
        return Verdict(text(law), True, str(reason))
    except Exception as error:  # a user's rules may raise anything, and the check must still report
        return Verdict(text(law), False, f"The game raised {first_line(error)}")
    return Verdict(text(law), fault is None or isinstance(fault, Note), fault or "")


def text(law: Law) -> str:
    """The law as a sentence, which is its name in a verdict."""
    return " ".join((law.__doc__ or law.__name__).split())


def first_line(error: Exception) -> str:
    """The error in one line."""
    error = refusal_in(error) or error  # what a plain Python class raised, without JAX's traceback
    message = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {message}" if message else type(error).__name__
