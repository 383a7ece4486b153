"""Whether a run is still sound: a run that is not stops before it can spoil its checkpoints."""

from __future__ import annotations

import math

import jax
import numpy as np

from tabia.training.errors import DIVERGED, TrainingError
from tabia.training.iteration import Report
from tabia.training.learning.learner import TrainState

COLLAPSED = 1e-4  # nats: below this the network allows one move alone, everywhere


def check(report: Report, iteration: int, steps: int) -> None:
    """Raise if the losses of an iteration that ended with so many optimizer steps are no numbers, or show a collapse."""
    losses = report.losses
    if losses is None:
        return
    where = f"Stopped in iteration {iteration}, by optimizer step {steps}"
    for name, value in losses.to_dict().items():
        if not math.isfinite(value):
            raise TrainingError(f"{where}: {name} is {value}. {DIVERGED}")
    entropy = float(losses.metrics["entropy"])
    if entropy < COLLAPSED:
        raise TrainingError(
            f"{where}: the policy has collapsed, its mean entropy is {entropy:.1e} "
            "nats. The last checkpoint is sound; more noise (search.dirichlet_fraction, selfplay.temperature), more opening moves "
            "or a smaller search.value_scale keep moves open."
        )


def check_weights(train_state: TrainState, iteration: int) -> None:
    """Raise if a weight is no number: the last step before a save may have spoilt them after its losses were taken."""
    if not _finite(train_state):
        raise TrainingError(
            f"Stopped after iteration {iteration}, by optimizer step {int(train_state.step)}: weights are no longer numbers, so "
            f"they are not saved. {DIVERGED}"
        )


def _finite(train_state: TrainState) -> bool:
    """In NumPy: a run that is stopped has no time to compile anything."""
    leaves = jax.tree.leaves((train_state.variables, train_state.ema, train_state.optimizer_state))
    return all(bool(np.isfinite(np.asarray(leaf)).all()) for leaf in leaves)
