"""What solvers refuse."""

from tabia.core.errors import TabiaError


class SolverError(TabiaError):
    """A game or position that cannot be solved."""


class TooLarge(SolverError):
    """A game with more positions than the limit."""


class Endless(SolverError):
    """A game in which positions can repeat."""
