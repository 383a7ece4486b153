"""Parts: the units of work of a study, each run, stopped and resumed by itself.

A part has a folder of its own, where it keeps what it needs to resume, and ends in an `Outcome`. Parts of one study may
run in several processes at once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from tabia.studies.estimates import Estimate

Save = Callable[[int], str | None]
"""Saves the work of a part, given the number of the signal; it returns the sentence to print, or None if it ends."""


@dataclass(frozen=True)
class Series:
    """A curve: a value at each of many points, such as the loss by iteration."""

    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()  # the 95% intervals, if they are known
    high: tuple[float, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """What a part found."""

    estimates: tuple[Estimate, ...] = ()
    series: dict[str, Series] = field(default_factory=dict)
    pictures: dict[str, str] = field(default_factory=dict)  # SVG by caption


def part_seed(seed: int, repeat: int, name: str) -> int:
    """A seed of its own for each part, the same on every machine; equal names in two repeats get different ones."""
    digest = hashlib.sha256(f"{seed + repeat}/{name}".encode()).digest()
    return int.from_bytes(digest[:4]) >> 1


class Stopped(Exception):
    """A part was asked to stop; its work so far is saved."""


def fraction(done: float, total: float) -> float:
    """The part of the work that is done, from 0 to 1."""
    return min(done / total, 1.0) if total else 0.0


class Control(Protocol):
    """How a part reports progress and learns that the process is about to end."""

    def progress(self, done: float, total: float) -> None:
        """Report that `done` of `total` is done."""

    def on_interrupt(self, save: Save, seconds: float) -> AbstractContextManager[None]:
        """Call `save` if a signal arrives in this block; it may take this many seconds."""


class NoControl:
    """Reports nothing, and lets signals do what they do."""

    def progress(self, done: float, total: float) -> None:
        pass

    def on_interrupt(self, save: Save, seconds: float) -> AbstractContextManager[None]:
        return nullcontext()


@dataclass(frozen=True)
class Place:
    """Where a part works, and what the parts before it found."""

    folder: Path
    control: Control
    folder_of: Callable[[str], Path] = Path
    outcome_of: Callable[[str], Outcome] = lambda name: Outcome()


class Part(Protocol):
    """One unit of work."""

    @property
    def name(self) -> str:
        """A short name for files and --only: lowercase letters, digits, dots and dashes."""

    @property
    def seed(self) -> int:
        """Which repeat of the study it belongs to, counted from 0."""

    @property
    def keys(self) -> tuple[str, ...]:
        """What it measures."""

    @property
    def needs(self) -> tuple[str, ...]:
        """The names of the parts that must be finished first."""

    @property
    def cost(self) -> float:
        """Its share of the work, for the progress bar; 1 is a short match."""

    def run(self, place: Place) -> Outcome:
        """Do the work, or the rest of it."""


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """A short computation; an interrupted one starts again."""

    name: str
    keys: tuple[str, ...]
    measure: Callable[[Place], Outcome]
    seed: int = 0
    needs: tuple[str, ...] = ()
    cost: float = 1.0

    def run(self, place: Place) -> Outcome:
        return self.measure(place)
