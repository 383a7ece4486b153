"""Settings that do not work together, and those that must stay the same during a run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tabia.core.text import quote
from tabia.networks.config import TOWERS
from tabia.search.rules import RULES
from tabia.training.errors import TrainingError

if TYPE_CHECKING:
    from tabia.training.config.schema import Config

FIXED = frozenset(
    {
        "game",
        "other_boards",
        "recipe",
        "seed",
        "iterations",
        "minutes",
        "games",
        "loss_target",
        "selfplay.games",
        "selfplay.teacher_games",
        "selfplay.plies",
        "selfplay.temperature_by",
        "search.cut_loops_history",
        "search.proven_values",
        "gate.kind",
        "gate.restore_on_refusal",
        "replay.place",
        "learner.optimizer",
        "learner.gradient_clip",
        "learner.weight_decay",
    }
)
"""Settings that decide the shapes of arrays, or what the run is, and cannot be scheduled."""
WIDENED = frozenset({"network.filters", "network.blocks"})
"""Settings of the network that may rise during a run; no other setting of the network can be scheduled."""


def check_together(config: Config) -> None:
    """Refuse settings that are valid alone but not together, at any stage of the schedule."""
    for check in (_check_network, _check_search, _check_selfplay, _check_learner, _check_supervised, _check_gate):
        check(config)
    _check_schedule(config)


def _check_network(config: Config) -> None:
    if not isinstance(config.other_boards, tuple) or not all(isinstance(board, str) for board in config.other_boards):
        raise TrainingError(f"other_boards must be a list of game ids; got {quote(config.other_boards)}.")
    if config.other_boards and not config.network.any_size:
        raise TrainingError("other_boards needs a network for any size of board: --set network=any_size.")
    if config.learner.value_loss == "cross_entropy" and config.network.value != "wdl":
        raise TrainingError("learner.value_loss='cross_entropy' needs a network with value='wdl'.")


def _check_search(config: Config) -> None:
    if config.search.cut_loops_history and not (config.search.cut_loops or config.search.transpositions):
        raise TrainingError("search.cut_loops_history needs search.cut_loops or search.transpositions.")
    if config.search.reuse_tree and RULES[config.search.rule].plans_root:
        raise TrainingError(f"search.reuse_tree does not work with rule={config.search.rule!r}; use puct.")
    if config.search.reuse_tree and config.search.fast_simulations:
        raise TrainingError("search.reuse_tree needs searches of one size; set search.fast_simulations to 0.")


def _check_selfplay(config: Config) -> None:
    if config.selfplay.teacher_games and not config.selfplay.teacher:
        raise TrainingError("selfplay.teacher_games needs a teacher: set selfplay.teacher, such as to 'initialize'.")


def _check_learner(config: Config) -> None:
    learner = config.learner
    if learner.steps_per_game and (learner.epochs or learner.train_every_games):
        raise TrainingError(
            "learner.steps_per_game counts optimizer steps by finished games, so learner.epochs and "
            "learner.train_every_games must be 0."
        )
    if learner.sample_positions and not learner.epochs:
        raise TrainingError("learner.sample_positions is the sample of learner.epochs: set that, such as to 5.")


def _check_supervised(config: Config) -> None:
    if not config.is_supervised:
        return
    if not config.learner.epochs:
        raise TrainingError("A supervised run learns in epochs: set learner.epochs, such as to 1.")
    if config.gate.kind != "none" or config.other_boards:
        raise TrainingError("A supervised run has no gate and a single board: set gate.kind to 'none'.")


def _check_gate(config: Config) -> None:
    gate = config.gate
    if gate.kind == "score" and not 0 < gate.threshold < 1:
        raise TrainingError(f"gate.threshold is a fraction of the points, such as 0.55; got {gate.threshold}.")
    if gate.kind == "sequential" and not 0.5 < gate.threshold < 1:
        raise TrainingError(
            f"gate.threshold is the score that the sequential test looks for, above 0.5; got {gate.threshold}."
        )
    if gate.restore_on_refusal and gate.kind == "none":
        raise TrainingError("gate.restore_on_refusal needs a gate: set gate.kind, such as to 'score'.")


def _check_schedule(config: Config) -> None:
    for name, steps in config.schedule:
        if name in FIXED or (name.startswith(("network.", "supervised.")) and name not in WIDENED):
            raise TrainingError(f"{name} cannot be scheduled: it must stay the same during a run.")
        if not _are_steps(steps):
            raise TrainingError(f"The schedule of {name} must start at 0 and rise, such as [[0.0, 16], [0.5, 32]].")
        if name in WIDENED:
            _check_widening(config, name, [size for _, size in steps])
    for start in config.changes if config.schedule else ():
        # This refuses settings that do not work together there.
        replace(config, schedule=()).changed(config.scheduled(start))


def _check_widening(config: Config, name: str, sizes: list[Any]) -> None:
    """Refuse sizes of the network that do not rise, or that it does not have."""
    if config.network.kind not in TOWERS:
        raise TrainingError(
            f"{name} is scheduled, but a network of kind {config.network.kind!r} has no blocks to widen."
        )
    if not all(type(size) is int for size in sizes) or sizes != sorted(sizes):
        raise TrainingError(f"{name} can only rise during a run, in whole numbers; its schedule has {quote(sizes)}.")


def _are_steps(steps: Any) -> bool:
    """Whether these are (progress, value) pairs that start at 0 and rise."""
    if not isinstance(steps, tuple) or not all(isinstance(step, tuple) and len(step) == 2 for step in steps):
        return False
    starts = [start for start, _ in steps]
    if not all(type(start) in (int, float) for start in starts):
        return False
    return bool(starts) and starts[0] == 0 and starts == sorted(starts)
