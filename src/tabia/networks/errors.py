"""What a network or its file can be refused for."""

from tabia.core.errors import TabiaError


class NetworkError(TabiaError):
    """A network that cannot be built as asked, or is asked for what it does not have."""


class WeightsError(NetworkError):
    """A file of weights that cannot be read, written or trusted."""
