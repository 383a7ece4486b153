"""What training refuses, and what stops it."""

from __future__ import annotations

from tabia.core.errors import TabiaError


class TrainingError(TabiaError):
    """Settings that cannot be trained with, a run that cannot be used, or a run that went wrong."""


DIVERGED = (
    "The last checkpoint is sound; a smaller learner.learning_rate, or learner.gradient_clip, is what usually helps."
)
"""What to do about a network that has become unusable."""
