"""What goes wrong on a cluster."""

from __future__ import annotations

from tabia.core.errors import TabiaError


class ClusterError(TabiaError):
    """A cluster cannot be reached or cannot be used; the message names the node where that is known."""
