"""What a search refuses, and why."""

from tabia.core.errors import TabiaError


class SearchError(TabiaError):
    """A search that cannot run as asked, or an evaluator that gave nonsense."""
