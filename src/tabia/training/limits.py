"""Whether a run fits the memory and the time it is given, checked before any array is made or program compiled.

On GPUs and TPUs a small program also checks that they compute the network's convolutions correctly.

Self-play holds its search trees and the learner the features of a batch, one after the other; the weights and a replay
buffer on the device are there all the time. The time is a lower bound, not a forecast: the arithmetic of the network
alone, at a speed that hardly any machine reaches. `tabia train --estimate` measures.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain

import jax
import jax.numpy as jnp

from tabia.core import devices
from tabia.evaluation.batch import query_size
from tabia.networks import numerics
from tabia.networks.summary import counts
from tabia.search import layout, memory
from tabia.search.memory import Limit, Need
from tabia.training import arena
from tabia.training.errors import TrainingError
from tabia.training.plan import Plan
from tabia.training.selfplay.play import make_search

_COPIES = 5  # of every weight: itself, its EMA, two moments of the optimizer, its gradient
_BACKUP = 4  # more of them where the champion's can be restored
_FLOAT = 4  # bytes
CORE, CHIP = 2e11, 1e15  # operations per second: more than one CPU core, and any accelerator, can do
COMPILING = 2.0  # seconds: no machine traces and compiles the programs of a run in less


def check_memory(plan: Plan) -> None:
    """Refuse a run whose trees, batches or weights exceed the memory limit at any stage of its schedule."""
    limit = memory.device_limit()
    for board in chain.from_iterable(stage.boards for stage in (*plan.stages, *plan.after_teacher)):
        for needs in (selfplay_needs(board), learner_needs(board), *arena_needs(board)):
            sentence = memory.shortage(needs, limit)
            if sentence is not None:
                raise TrainingError(f"{sentence}{_fewer_games(board, needs, limit)}")


def check_devices(plan: Plan) -> None:
    """Refuse games or batches that cannot be split evenly over the devices in use, at any stage of the schedule."""
    for stage in (*plan.stages, *plan.after_teacher):
        if not stage.config.is_supervised:
            devices.check_divisible("selfplay.games", stage.config.selfplay.games)
        devices.check_divisible("learner.batch_size", stage.config.learner.batch_size)


def check_numerics(plan: Plan) -> None:
    """Refuse a network whose convolutions a GPU or TPU computes wrongly, which would only show in weak play."""
    if jax.default_backend() == "cpu":
        return
    for board in chain.from_iterable(stage.boards for stage in plan.stages):
        height, width, _ = board.network.observation_shape
        batch, dtype = devices.per_device(board.config.learner.batch_size), board.learner.dtype
        for layer in board.network.layers:
            if layer.kernel and layer.is_plain and not layer.exact:
                found = _numerical_error(replace(layer, name="", norm=False, bias=False), (height, width), batch, dtype)
                if found > numerics.TOLERANCE:
                    raise TrainingError(
                        f"This device computes {layer.kind}s from {layer.inputs} to {layer.outputs} filters in {dtype} "
                        f"wrongly: the relative error is {found:.2f}. Train with learner.precision = "
                        f'"{"bfloat16" if dtype == jnp.float32 else "float32"}" or another number of filters, or '
                        "install another release of JAX."
                    )


_numerical_error = lru_cache(maxsize=256)(numerics.error)


def _fewer_games(plan: Plan, needs: list[Need], limit: Limit) -> str:
    """How many games of self-play would fit, if their trees are what does not."""
    if max(needs, key=lambda need: need.bytes).setting != "search.simulations":
        return ""
    fixed, *growing = (need.bytes for need in needs)
    most = memory.fitting(Need("", plan.config.selfplay.games, sum(growing), ""), limit.bytes - fixed)
    return f" With fewer games: selfplay.games at most {most:,}." if most else ""


def working_bytes(plan: Plan) -> int:
    """Bytes that a run needs on each device at its peak, without its replay buffer."""
    boards = chain.from_iterable(stage.boards for stage in (*plan.stages, *plan.after_teacher))
    each = (needs for board in boards for needs in (selfplay_needs(board), learner_needs(board)))
    return max(sum(need.bytes for need in needs) for needs in each)


def selfplay_needs(plan: Plan) -> list[Need]:
    """What self-play needs on each device."""
    settings, games = plan.config.search, plan.config.selfplay.games
    if plan.config.selfplay.teacher or plan.config.is_supervised:
        return [weight_needs(plan)]
    simulations = max(settings.simulations, settings.fast_simulations)
    search = make_search(plan.game, plan.network, settings, 1)  # with all simulations it could refuse to be made
    needs = layout.needs(search, devices.per_device(games), simulations=simulations)
    return [weight_needs(plan), *_named("search.simulations", "selfplay.games", games, needs)]


def learner_needs(plan: Plan) -> list[Need]:
    """What an optimizer step needs on each device: the gradient keeps the features of every layer."""
    height, width, _ = plan.network.observation_shape
    features = sum(layer.numbers(height * width) for layer in plan.network.layers)
    batch = plan.config.learner.batch_size
    size = devices.per_device(batch) * features * _FLOAT
    return [
        weight_needs(plan),
        Need("learner.batch_size", batch, size, "for its features in every layer"),
        *_sample_needs(plan),
    ]


def _sample_needs(plan: Plan) -> list[Need]:
    """What the sample of some epochs needs: its states and policies, and its order in every epoch."""
    learner, game = plan.config.learner, plan.game
    if not learner.epochs:
        return []
    positions = learner.sample_positions or plan.window * plan.config.selfplay.games
    state = memory.nbytes(jax.eval_shape(game.init, jax.random.key(0)))
    each = state + _FLOAT * (game.num_actions + 2 * game.num_players + learner.epochs)
    return [Need("learner.sample_positions", positions, positions * each, "for the sample of the epochs")]


def arena_needs(plan: Plan) -> list[list[Need]]:
    """What the searches of the gate and of evaluations need on each device."""
    gate, evaluation = plan.config.gate, plan.config.evaluation
    searches = []
    if gate.kind != "none":
        simulations = gate.simulations or plan.config.search.simulations
        searches.append(("gate", gate.search, simulations, gate.games))
    if evaluation.every and evaluation.simulations:
        searches.append(("evaluation", evaluation.search, evaluation.simulations, evaluation.games))
    found = []
    for section, search, simulations, games in searches:
        batch = query_size(min(games, arena.TOGETHER))
        needs = layout.needs(arena.make_search(plan, 1, search), devices.per_device(batch), simulations=simulations)
        found.append(_named(f"{section}.simulations", f"{section}.games", batch, needs))
    return found


def weight_needs(plan: Plan) -> Need:
    """What the weights need, with all that the optimizer keeps of each."""
    count = sum(math.prod(layer.kernel_shape) for layer in plan.network.layers)
    copies = _COPIES + (_BACKUP if plan.config.gate.restore_on_refusal else 0)
    return Need("weights", count, count * copies * _FLOAT, "with EMA, gradients and optimizer state")


def _named(simulations: str, games: str, batch: int, needs: Sequence[Need]) -> list[Need]:
    """The needs of a search under the names of two settings: the trees by simulations, all else by games."""
    trees, *others = needs
    rest = Need(games, batch, sum(need.bytes for need in others), "for the positions evaluated at once")
    return [trees._replace(setting=simulations), rest]


def check_time(plan: Plan) -> None:
    """Refuse a length in minutes that is too short for one iteration."""
    minutes = plan.config.minutes
    needed = least_seconds(plan) / 60
    if minutes and minutes < needed:
        raise TrainingError(
            f"{minutes:g} minutes are too few for one iteration, which takes at least {needed:.2g}. Give more with "
            "--minutes, or lower selfplay.games, search.simulations, learner.steps or the size of the network. "
            "--estimate measures how long a run takes here."
        )


def least_seconds(plan: Plan, platform: str | None = None) -> float:
    """A lower bound for compiling and one iteration on this kind of device."""
    speed = CORE * (os.cpu_count() or 1) if (platform or jax.default_backend()) == "cpu" else CHIP
    return COMPILING + iteration_operations(plan) / speed


def iteration_operations(plan: Plan) -> float:
    """Floating-point operations of the network in one iteration: one position per simulation, and the learner."""
    config = plan.config.at(0.0)
    search, selfplay = config.search, config.selfplay
    # Every ply of an iteration may be a fast search, so a lower bound counts on that.
    simulations = min(search.simulations, search.fast_simulations or search.simulations)
    played = 0 if selfplay.teacher or config.is_supervised else selfplay.games * selfplay.plies * simulations
    learned = 3 * _learned_positions(plan)  # forward once, and backward, which is twice the work
    waits = plan.min_positions > selfplay.games * selfplay.plies  # then the first iteration only plays
    return float(counts(plan.network).operations * (played + (0 if waits else learned)))


def _learned_positions(plan: Plan) -> int:
    """A lower bound for the positions in all optimizer steps of an iteration; 0 where games decide how many."""
    learner = plan.config.at(0.0).learner
    if learner.steps_per_game or learner.train_every_games:
        return 0
    if learner.epochs:
        return learner.epochs * min(learner.sample_positions or plan.min_positions, plan.min_positions)
    return learner.steps * learner.batch_size
