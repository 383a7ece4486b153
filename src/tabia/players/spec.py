"""The language in which players are named.

    name                               random
    name:key=value,...                 minimax:depth=5      mcts:simulations=800,select=uct,c=1.4
    name:what[@version],key=value,...  az:runs/connect4@best,simulations=64      az:connect4

Any player takes the modifiers `temperature`, `epsilon` and `random_moves`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tabia.games.errors import TabiaError, did_you_mean


class PlayerError(TabiaError):
    """A player that does not exist, or cannot play as asked."""


@dataclass(frozen=True)
class Spec:
    """A player's name taken apart."""

    name: str
    what: str | None = None  # a run directory or a shipped agent
    version: str | None = None  # best, latest or a step
    options: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        target = [] if self.what is None else [self.what + (f"@{self.version}" if self.version else "")]
        rest = ",".join([*target, *(f"{key}={value}" for key, value in self.options.items())])
        return f"{self.name}:{rest}" if rest else self.name


def parse(text: str) -> Spec:
    """Take a spec apart.

    >>> parse("az:runs/connect4@best,simulations=64")
    Spec(name='az', what='runs/connect4', version='best', options={'simulations': '64'})
    """
    name, _, rest = text.strip().partition(":")
    what: str | None = None
    options: dict[str, str] = {}
    for index, part in enumerate(filter(None, rest.split(","))):
        key, equals, value = part.partition("=")
        if not equals and index == 0:
            what = part
        elif not equals or not key.strip() or not value.strip():
            raise PlayerError(f"{part!r} in {text!r} is no option; write key=value, as in mcts:simulations=800.")
        elif key.strip() in options:
            raise PlayerError(f"{key.strip()!r} is given twice in {text!r}.")
        else:
            options[key.strip()] = value.strip()
    if what is None:
        return Spec(name, None, None, options)
    what, _, version = what.partition("@")
    return Spec(name, what, version or None, options)


@dataclass
class Options:
    """The options of one spec, read by kind; what nobody has read is refused, with the nearest known name."""

    spec: Spec
    known: list[str] = field(default_factory=list)

    def number(self, key: str, default: float | None, *, low: float | None = None, high: float | None = None) -> Any:
        text = self._take(key)
        if text is None:
            return default
        try:
            value = float(text)
        except ValueError:
            raise PlayerError(f"{key}={text} in {self.spec}: a number is needed.") from None
        if (low is not None and value < low) or (high is not None and value > high):
            upper = "" if high is None else f" and at most {high:g}"
            raise PlayerError(f"{key}={text} in {self.spec}: at least {low:g}{upper} is needed.")
        return value

    def whole(self, key: str, default: int | None, *, low: int = 1) -> Any:
        value = self.number(key, default, low=low)
        if value is not None and value != int(value):
            raise PlayerError(f"{key}={value:g} in {self.spec}: a whole number is needed.")
        return None if value is None else int(value)

    def word(self, key: str, default: str, allowed: list[str]) -> str:
        text = self._take(key) or default
        if text not in allowed:
            raise PlayerError(f"{key}={text} in {self.spec}. {did_you_mean(text, allowed)}")
        return text

    def close(self) -> None:
        """Refuse options that no reader asked for."""
        for key in self.spec.options:
            if key not in self.known:
                raise PlayerError(f"{self.spec.name} has no option {key!r}. {did_you_mean(key, self.known)}")

    def _take(self, key: str) -> str | None:
        self.known.append(key)
        return self.spec.options.get(key)
