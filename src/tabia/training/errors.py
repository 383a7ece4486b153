"""The exception of this package."""

from __future__ import annotations

from tabia.core.errors import TabiaError


class TrainingError(TabiaError):
    """A configuration, a run directory or a run that cannot be used."""


DIVERGED = "The last checkpoint is sound. A lower learner.learning_rate, or learner.gradient_clip, usually helps."
"""Advice for a network whose losses or weights are no longer finite."""
