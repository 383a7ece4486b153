"""Errors of networks and weights files."""

from tabia.core.errors import TabiaError


class NetworkError(TabiaError):
    """A network that cannot be built, or cannot do what it is asked."""


class WeightsError(NetworkError):
    """A weights file that cannot be read, written or trusted."""
