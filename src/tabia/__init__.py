"""Tabia learns turn-based board games from their rules alone, and proves how good it became."""

from tabia.core import runtime

__version__ = "0.2.0"

runtime.prepare()
