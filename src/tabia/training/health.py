"""Whether a run is still sound: a run that is not stops before it can spoil its checkpoints."""

from __future__ import annotations

import math

from tabia.training.cycle import Report
from tabia.training.errors import TrainingError

COLLAPSED = 1e-4  # nats: below this the network allows one move alone, everywhere


def check(report: Report, cycle: int) -> None:
    """Raise if the losses are no numbers, or if the policy has collapsed."""
    losses = report.losses
    if losses is None:
        return
    for name, value in losses._asdict().items():
        if not math.isfinite(float(value)):
            raise TrainingError(
                f"Stopped in cycle {cycle}: {name} of the losses is {float(value)}. The last checkpoint is sound; "
                "a smaller learner.rate, or learner.clip, is what usually helps."
            )
    if float(losses.entropy) < COLLAPSED:
        raise TrainingError(
            f"Stopped in cycle {cycle}: the policy has collapsed, its mean entropy is {float(losses.entropy):.1e} "
            "nats. The last checkpoint is sound; more noise (search.noise, selfplay.temperature), more opening moves "
            "or a smaller search.scale keep moves open."
        )
