"""A throughput model: seconds per iteration on many devices or actors, from costs fitted on one.

Everything that grows with a batch is a line: a fixed cost per call and a cost per item. Self-play pays it in every
simulation, the learner in every step. Actors add transfers, over a link that they share. What computes at the same time
on one machine shares its cores. `docs/explanation/scaling.md` derives the equations and compares predictions with runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

PLAYING, LEARNING, SENDING, COMPUTING = "self-play", "learner", "link", "cores"


@dataclass(frozen=True)
class Line:
    """Seconds for n items: a fixed cost and one per item."""

    fixed: float
    each: float

    def seconds(self, items: float) -> float:
        """How long `items` take together."""
        return self.fixed + self.each * items


def fit_line(items: Sequence[float], seconds: Sequence[float]) -> Line:
    """The line with the least squares of relative errors; neither cost is negative.

    >>> line = fit_line([1, 2, 4], [5.0, 7.0, 11.0])
    >>> round(line.fixed, 6), round(line.each, 6)
    (3.0, 2.0)
    """
    taken = np.asarray(seconds, float)
    terms = np.stack([np.ones(len(taken)), np.asarray(items, float)], axis=1) / taken[:, None]
    found = np.linalg.lstsq(terms, np.ones(len(taken)), rcond=None)[0]
    if len(set(items)) == 1 or found[0] < 0:
        found = np.array([0.0, _through_zero(terms[:, 1])])
    elif found[1] < 0:
        found = np.array([_through_zero(terms[:, 0]), 0.0])
    return Line(float(found[0]), float(found[1]))


def _through_zero(terms: np.ndarray) -> float:
    """The factor that brings all terms closest to 1."""
    return float(terms.sum() / (terms**2).sum())


@dataclass(frozen=True, kw_only=True)
class Workload:
    """The sizes of an iteration."""

    lanes: int
    plies: int
    simulations: int
    steps: int  # of the optimizer
    batch_size: int

    @property
    def positions(self) -> int:
        """How many are played."""
        return self.lanes * self.plies

    def grown(self, times: float) -> Workload:
        """As many times the lanes and the optimizer's steps, so that each position is learned from as often."""
        return replace(self, lanes=round(self.lanes * times), steps=round(self.steps * times))


@dataclass(frozen=True, kw_only=True)
class Costs:
    """What things cost on one device; all in seconds or bytes."""

    simulation: Line  # one simulation in n lanes: the network, the tree, the rules
    network: Line  # of that, the network alone
    step: Line  # one optimizer step on n samples
    store: float = 0.0  # per position: writing to the replay buffer
    pack: float = 0.0  # per position: packing a chunk, by the actor
    unpack: float = 0.0  # per position: unpacking it, by the learner
    position_bytes: float = 0.0  # packed
    lane_bytes: float = 0.0  # per lane: the game in progress, which travels with a task and with its chunk
    weight_bytes: float = 0.0
    cores: float = 0.0  # that its programs keep busy; 0: it has a processor of its own


@dataclass(frozen=True)
class Link:
    """What carries bytes: between the actors and the learner, or between devices."""

    bandwidth: float  # bytes per second
    latency: float = 0.0  # seconds per message

    def seconds(self, size: float) -> float:
        """How long a message takes."""
        return self.latency + size / self.bandwidth


MEMORY = Link(math.inf)
"""No transfer: everything is in one process."""


@dataclass(frozen=True, kw_only=True)
class Actors:
    """Actors that play while one learner learns."""

    count: int
    ahead: int = 1  # rounds that they may play before the learner has learned from the round before; the staleness
    link: Link = MEMORY  # of the learner; all chunks and weights pass it
    nodes: int = 1  # each fetches the weights once per iteration
    cores: float = math.inf  # of the machine that all share with the learner; inf: everybody has their own


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """One iteration in steady state."""

    iteration: float  # seconds
    playing: float  # of them, if nothing else took time; likewise for the others
    learning: float
    sending: float
    bound: str  # what the iteration waits for
    staleness: int  # iterations between the weights that play and those that the plain loop would play with
    positions: float  # per second


def predict_loop(costs: Costs, work: Workload) -> Prediction:
    """The plain loop on one device: play, store, learn, one after the other."""
    return predict_devices(costs, work, 1)


def predict_devices(
    costs: Costs, work: Workload, devices: int, link: Link = MEMORY, cores: float = math.inf
) -> Prediction:
    """One program on several devices: each plays its share of the lanes and learns from its share of a batch.

    Gradients are summed over all devices in every step: each sends and receives 2 (D - 1) / D times the weights.
    Devices that share `cores` wait for each other.
    """
    playing = _shared(devices, _play(costs, work, work.lanes / devices), costs.cores, cores)
    step = _shared(devices, costs.step.seconds(work.batch_size / devices), costs.cores, cores)
    exchange = link.seconds(2 * (devices - 1) / devices * costs.weight_bytes) if devices > 1 else 0.0
    learning, sending = work.steps * step + costs.store * work.positions, work.steps * exchange
    largest = {PLAYING: playing, LEARNING: learning, SENDING: sending}
    return _prediction(work, playing + learning + sending, largest, staleness=0)


def predict_actors(costs: Costs, work: Workload, actors: Actors, learner: Costs | None = None) -> Prediction:
    """Actors with one slot of the lanes each, and one learner, on the same kind of device unless `learner` is given."""
    learner = learner or costs
    count, lanes = actors.count, work.lanes / actors.count
    sizes = work.plies * lanes * costs.position_bytes + 2 * lanes * costs.lane_bytes
    computing = _play(costs, work, lanes) + costs.pack * work.plies * lanes
    playing = computing + actors.link.seconds(sizes)
    learning = _learn(learner, work) + learner.unpack * work.positions
    sending = (count * sizes + actors.nodes * learner.weight_bytes) / actors.link.bandwidth
    busy = (count * computing * costs.cores + learning * learner.cores) / actors.cores
    largest = {PLAYING: playing, LEARNING: learning, SENDING: sending, COMPUTING: busy}
    if actors.ahead:
        return _prediction(work, max(largest.values()), largest, staleness=actors.ahead)
    own = _shared(count, computing, costs.cores, actors.cores) + playing - computing
    weights = actors.nodes * learner.weight_bytes / actors.link.bandwidth
    return _prediction(work, max(own, sending) + weights + learning, largest, staleness=0)


def _play(costs: Costs, work: Workload, lanes: float) -> float:
    return work.plies * work.simulations * costs.simulation.seconds(lanes)


def _learn(costs: Costs, work: Workload) -> float:
    return work.steps * costs.step.seconds(work.batch_size) + costs.store * work.positions


def _shared(count: int, seconds: float, busy: float, cores: float) -> float:
    """The time of `count` equal programs side by side, each of which keeps `busy` cores busy on its own."""
    return max(seconds, count * seconds * busy / cores)


def _prediction(work: Workload, iteration: float, largest: dict[str, float], *, staleness: int) -> Prediction:
    return Prediction(
        iteration=iteration,
        playing=largest[PLAYING],
        learning=largest[LEARNING],
        sending=largest[SENDING],
        bound=max(largest, key=lambda name: largest[name]),
        staleness=staleness,
        positions=work.positions / iteration,
    )
