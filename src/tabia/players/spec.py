"""The specs that name players.

    name                               random
    name:key=value,...                 minimax:depth=5      mcts:simulations=800,rule=uct,c=1.4
    name:what[@version],key=value,...  az:runs/connect4@best,simulations=64      az:connect4
    file.py:Class:key=value,...        center.py:Center     a class in a Python file, which is run
    protocol:command,key=value,...     gtp:gnugo,level=10   an outside engine; the command is run

Any player takes the modifiers `temperature`, `sampled_plies`, `epsilon` and `random_moves`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from tabia.core.errors import TabiaError, did_you_mean
from tabia.core.text import plain, quote
from tabia.search.errors import SearchError

MODIFIERS = ("temperature", "epsilon", "random_moves", "sampled_plies")
"""The options that every player takes."""
RENAMED = {
    "finish": ("winning_moves_first",),
    "considered": ("considered_actions",),
    "select": ("rule",),
    "noise": ("gumbel_scale", "dirichlet_fraction"),
}
"""Old names of options, and what to write instead."""
_FILE = re.compile(r"(?P<name>[^:]*\.py:[^:,=]*):?(?P<options>.*)", re.DOTALL)


COMMANDS = ("gtp", "uci")
"""The players whose first part is a command, which may contain = and @."""


class PlayerError(TabiaError):
    """A player that does not exist, or whose options are invalid."""


@dataclass(frozen=True)
class Spec:
    """A parsed spec; `str` gives its text."""

    name: str  # of a player, or file.py:Class
    what: str | None = None  # a run directory, a file of weights or a shipped agent
    version: str | None = None  # best, latest or a step
    options: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        target = [] if self.what is None else [self.what + (f"@{self.version}" if self.version else "")]
        rest = ",".join([*target, *(f"{key}={value}" for key, value in self.options.items())])
        return f"{self.name}:{rest}" if rest else self.name


def is_file(text: str) -> bool:
    """Whether a spec names a class in a Python file, which is run to make the player."""
    return _FILE.fullmatch(text.strip()) is not None


def parse(text: str) -> Spec:
    """Parse a spec.

    >>> parse("az:runs/connect4@best,simulations=64")
    Spec(name='az', what='runs/connect4', version='best', options={'simulations': '64'})
    """
    file = _FILE.fullmatch(text.strip())
    name, _, rest = (file["name"], ":", file["options"]) if file else text.strip().partition(":")
    parts = [part.strip() for part in rest.split(",") if part.strip()]
    is_command = name.strip() in COMMANDS
    what = parts.pop(0) if parts and (is_command or "=" not in parts[0]) and not file else None
    options: dict[str, str] = {}
    for part in parts:
        key, _, value = (word.strip() for word in part.partition("="))
        if not key or not value:
            raise PlayerError(
                f"{quote(part)} in {quote(text)} is not an option; write key=value, as in mcts:simulations=800."
            )
        if key in options:
            raise PlayerError(f"{quote(key)} is given twice in {quote(text)}.")
        options[key] = value
    if what is None or is_command:
        return Spec(name.strip(), what, None, options)
    target, at, version = what.rpartition("@")
    return Spec(name.strip(), target, version or None, options) if at else Spec(name.strip(), what, None, options)


def spec_text(name: str, options: Mapping[str, str | float | bool | None], what: str = "") -> str:
    """The spec of a player with these options; None means not given.

    >>> spec_text("az", {"simulations": 64, "symmetries": True, "seconds": None}, what="connect4")
    'az:connect4,simulations=64,symmetries=true'
    """
    given = {key: _value_text(value) for key, value in options.items() if value is not None}
    target, at, version = what.rpartition("@")
    return str(Spec(name, (target if at else what) or None, version if at else None, given))


def _value_text(value: str | float | bool) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).lower() if isinstance(value, bool) else str(value)


@contextmanager
def naming(spec: str) -> Iterator[None]:
    """Turn errors of a search into errors of the player."""
    try:
        yield
    except SearchError as error:
        raise PlayerError(f"{spec}: {error}") from None


@dataclass
class Options:
    """The options of a spec; `close` refuses those that nothing has read, with the nearest known name."""

    spec: Spec
    known: list[str] = field(default_factory=list)

    def number(self, key: str, default: float | None, *, low: float | None = None, high: float | None = None) -> Any:
        """A number within bounds."""
        text = self._take(key)
        if text is None:
            return default
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not isfinite(value):
            raise PlayerError(f"{key}={plain(text)} in {self._shown}: expected a number.")
        if low is not None and value < low:
            raise PlayerError(f"{key}={plain(text)} in {self._shown}: expected at least {low:g}.")
        if high is not None and value > high:
            raise PlayerError(f"{key}={plain(text)} in {self._shown}: expected at most {high:g}.")
        return value

    def whole(self, key: str, default: int | None, *, low: int = 1, high: int | None = None) -> Any:
        """An integer within bounds."""
        value = self.number(key, default, low=low, high=high)
        if value is not None and value != int(value):
            raise PlayerError(f"{key}={value:g} in {self._shown}: expected an integer.")
        return None if value is None else int(value)

    def word(self, key: str, default: str, allowed: Sequence[str]) -> str:
        """One of the allowed words."""
        text = self._take(key) or default
        if text not in allowed:
            raise PlayerError(f"{key}={plain(text)} in {self._shown} is not valid. {did_you_mean(text, allowed)}")
        return text

    def text(self, key: str, default: str) -> str:
        """Any text."""
        return self._take(key) or default

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        return self.word(key, str(default).lower(), ("true", "false")) == "true"

    def given(self, key: str) -> bool:
        """Whether an option is given."""
        return self._take(key) is not None

    def only_with(self, key: str, condition: str) -> None:
        """Refuse an option that applies only under a condition, if it is given."""
        if self._take(key) is not None:
            given = plain(self.spec.options[key])
            raise PlayerError(f"{key}={given} in {self._shown}: {key} applies only to {condition}.")

    def close(self) -> None:
        """Refuse unknown options."""
        for key in self.spec.options:
            if key in self.known:
                continue
            if key in RENAMED:
                now = " or ".join(quote(name) for name in RENAMED[key])
                raise PlayerError(f"There is no option {quote(key)}. It is now called {now}.")
            raise PlayerError(f"{plain(self.spec.name)} has no option {quote(key)}. {did_you_mean(key, self.known)}")

    @property
    def _shown(self) -> str:
        return plain(str(self.spec))

    def _take(self, key: str) -> str | None:
        if key not in self.known:
            self.known.append(key)
        return self.spec.options.get(key)
