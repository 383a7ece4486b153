"""What training refuses, and what stops it."""

from __future__ import annotations

from tabia.games.errors import TabiaError


class TrainingError(TabiaError):
    """Settings that cannot be trained with, a run that cannot be used, or a run that went wrong."""
