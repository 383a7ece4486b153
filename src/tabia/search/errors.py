"""What searches refuse."""

from tabia.core.errors import TabiaError


class SearchError(TabiaError):
    """Invalid settings or positions, or an evaluator that returned unusable values."""
