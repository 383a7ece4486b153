"""The self-play that a run has recorded, and the network bodies to train on it.

Some lanes of the replay buffer are held out. A game stays in its lane, so no game is on both sides. Axis letters: N
positions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import jax

from tabia.core.text import quote
from tabia.networks import Network, NetworkConfig
from tabia.networks.config import TOWERS
from tabia.networks.summary import counts
from tabia.training.config.schema import Config
from tabia.training.config.toml import with_assignments
from tabia.training.errors import TrainingError
from tabia.training.learning import Learner, learning_rate_at
from tabia.training.plan import Plan
from tabia.training.selfplay import replay
from tabia.training.selfplay.replay import ReplayBuffer, Samples
from tabia.training.training import Training

OWN = "as in the run"
CHUNK = 1024
"""Held-out positions that are evaluated at once."""
_MOST_HELD_OUT = 8192


@dataclass(frozen=True)
class Recorded:
    """The self-play of a run, and how the run learns from it."""

    config: Config  # as scheduled at the checkpoint
    schedule: Config
    training: ReplayBuffer
    held_out: Samples  # [N]

    def learning_rate(self, progress: float) -> float:
        """The run's learning rate at a fraction of its length."""
        return learning_rate_at(self.schedule.at(progress).learner, progress)


def load(run: Path, *, game: str | None = None, held_out: float = 0.1) -> Recorded:
    """The replay buffer in the newest checkpoint of a run, without a fraction of its lanes, which are held out.

    If the run has several boards, the first one. Refused if there are no positions to learn from.
    """
    training = Training.resume(run, game=game)
    if training.saved < 0:
        raise TrainingError(f"{run} has no checkpoint yet, and so no replay buffer. Continue it with `tabia resume`.")
    config, buffer = training.stage, training.state.boards[0].buffer
    lanes = buffer.ready.shape[1]
    apart = max(1, round(held_out * lanes))
    if apart >= lanes:
        raise TrainingError(f"{run} has {lanes} lanes of self-play; {apart} cannot be held out.")
    learning, held = (_lanes(buffer, part) for part in (slice(lanes - apart), slice(lanes - apart, None)))
    window = Plan(config).window
    if not all(int(replay.ready_positions(part, window)) for part in (learning, held)):
        raise TrainingError(
            f"The replay buffer of {run} holds too few positions of finished games to learn from and to hold out."
        )
    return Recorded(config, training.config, learning, _held_out(held, window))


def _lanes(buffer: ReplayBuffer, lanes: slice) -> ReplayBuffer:
    parts = jax.tree.map(lambda leaf: leaf[:, lanes], buffer[:-1])
    return buffer._replace(plies=parts[0], outcome=parts[1], ready=parts[2], left=parts[3])


def _held_out(buffer: ReplayBuffer, window: int) -> Samples:
    """Positions of this buffer, whole chunks of them, on the device."""
    everything = min(window, buffer.ready.shape[0]) * buffer.ready.shape[1]
    count = min(_MOST_HELD_OUT, everything)
    rows, columns, _ = replay.shuffled_places(buffer, jax.random.key(0), count - count % min(CHUNK, count), window)
    return jax.device_put(replay.take(buffer, rows, columns, last=True), jax.devices()[0])


@dataclass(frozen=True)
class Body:
    """A network to compare: the run's own, with some settings changed."""

    text: str
    plan: Plan

    @property
    def network(self) -> Network:
        """The network."""
        return self.plan.network

    def learner(self, steps: int) -> Learner:
        """The learner of the run for this network, on fresh batches, `steps` per call."""
        settings = replace(self.plan.config.learner, steps=steps, epochs=0, sample_positions=0, steps_per_game=0.0)
        return replace(self.plan.learner, settings=settings)


def make_bodies(recorded: Recorded, texts: Sequence[str] = ()) -> list[Body]:
    """The run's own network, then those of these texts, such as `blocks=3,filters=128`; by default, `candidates`."""
    texts = texts or candidates(recorded.config)
    return [Body(OWN, Plan(recorded.config)), *(_body(recorded.config, text) for text in texts)]


def _body(config: Config, text: str) -> Body:
    settings = re.split(r",(?![^\[]*\])", text)  # a comma within brackets separates the entries of a list
    pairs = [setting.partition("=") for setting in settings]
    if not all(equals and name.strip() for name, equals, _ in pairs):
        raise TrainingError(f"{quote(text)} is no body: expected settings of a network, such as blocks=5,filters=128.")
    names = ["network" if name.strip() == "preset" else f"network.{name.strip()}" for name, _, _ in pairs]
    changed = with_assignments(config, [f"{name}={pair[2]}" for name, pair in zip(names, pairs, strict=True)])
    body = Body(text, Plan(changed))
    _ = body.network  # refuses a network that does not fit the game
    return body


_SHAPES = (
    ("residual", 1.0),
    ("residual", 0.7),
    ("residual", 1.4),
    ("bottleneck", 1.0),
    ("bottleneck", 1.5),
    ("mixer", 1.5),
    ("attention", 1.5),
    ("gated", 1.5),
)
"""Kinds of default bodies, and their filters per filter of the run's network."""


def candidates(config: Config) -> list[str]:
    """Bodies of all kinds that need about as many multiplications as the run's own, without that one."""
    own = config.network
    if own.kind not in TOWERS or not own.blocks:
        raise TrainingError("The network of this run has no blocks to vary: name the bodies, as in --body blocks=3.")
    shapes = [(kind, _filters(own, kind, factor)) for kind, factor in _SHAPES]
    if config.other_boards:
        shapes = [(kind, filters) for kind, filters in shapes if own.changed(kind=kind, filters=filters).any_size]
    return [_with_equal_cost(config, *shape) for shape in shapes if shape != (own.kind, own.filters)]


def _filters(own: NetworkConfig, kind: str, factor: float) -> int:
    """So many times the filters of a network, rounded to what the kind of body needs."""
    unit = math.lcm(8, {"mixer": own.group_filters, "attention": own.head_filters}.get(kind, 1))
    return max(unit, unit * round(factor * own.filters / unit))


def _with_equal_cost(config: Config, kind: str, filters: int) -> str:
    """A body with as many blocks as make its multiplications most nearly those of the run's network."""

    def body(blocks: int) -> str:
        return f"kind={kind},blocks={blocks},filters={filters}"

    def cost(blocks: int) -> int:
        return counts(_body(config, body(blocks)).network).multiplications

    wanted = counts(Plan(config).network).multiplications
    period = max(1, config.network.pool_every)  # so many blocks cost as much as the next so many
    each = (cost(period) - cost(0)) / period
    return body(max(1, round((wanted - cost(0)) / each)))
