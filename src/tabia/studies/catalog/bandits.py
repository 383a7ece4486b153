"""Epsilon-greedy against UCB on bandits with ten arms (Sanz & Villanueva 2021, section 2.1.1).

The thesis plays one bandit once. Here many bandits are drawn from the same distribution, so that the published totals
can be compared with where one more bandit is expected. Axis letters: B bandits, K arms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tabia.studies.estimates import Estimate, average, spanning, spread
from tabia.studies.part import Measurement, Outcome, Part, Place, Series, part_seed
from tabia.studies.plots import Curve, Figure, SeriesCurve
from tabia.studies.study import Scale, Source, Study
from tabia.studies.verdicts import Published, ordering

ARMS, EPSILON, C = 10, 0.1, 2.0
UCB, GREEDY = "UCB", "epsilon-greedy"
_RANKS = range(1, ARMS + 1)


@dataclass(frozen=True, kw_only=True)
class BanditScale(Scale):
    """Sizes of the study."""

    bandits: int
    steps: int


SCALES = (
    BanditScale(name="tiny", about="20 bandits of 60 steps instead of one of 1,000", bandits=20, steps=60),
    BanditScale(
        name="quick",
        about="1,000 bandits per seed instead of one",
        bandits=1000,
        steps=1000,
        seeds=2,
        values=True,
        trends=True,
    ),
    BanditScale(
        name="full",
        about="10,000 bandits per seed instead of one",
        bandits=10_000,
        steps=1000,
        seeds=2,
        values=True,
        trends=True,
    ),
)

Choose = Callable[[np.ndarray, np.ndarray, int, np.random.Generator], np.ndarray]
"""From estimates [B, K], pulls [B, K] and the step, counted from 1, to arms [B]."""


def ucb(values: np.ndarray, pulls: np.ndarray, step: int, random: np.random.Generator) -> np.ndarray:
    """The highest Q + C sqrt(log t / N); arms without a pull first."""
    bonus = C * np.sqrt(np.log(step) / np.maximum(pulls, 1))
    return _best(np.where(pulls > 0, values + bonus, np.inf), random)


def epsilon_greedy(values: np.ndarray, pulls: np.ndarray, step: int, random: np.random.Generator) -> np.ndarray:
    """The highest Q, or with probability epsilon any other arm; an arm without a pull has Q = 0."""
    best = _best(values, random)
    other = (best + random.integers(1, ARMS, len(best))) % ARMS
    return np.where(random.random(len(best)) < EPSILON, other, best)


def _best(scores: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """The arm with the highest score; ties at random."""
    ties = scores == scores.max(axis=1, keepdims=True)
    return np.argmax(np.where(ties, random.random(scores.shape), -1.0), axis=1)


class Play(NamedTuple):
    """What a policy did on each bandit; arms are ordered from the best to the worst."""

    rewards: np.ndarray  # [steps, B]
    pulls: np.ndarray  # [B, K]
    errors: np.ndarray  # [B, K] estimated minus true mean, NaN without a pull


def play(choose: Choose, bandits: int, steps: int, seed: int) -> Play:
    """Play many bandits; the same seed draws the same bandits for every policy."""
    drawn, random = np.random.default_rng([seed, 0]), np.random.default_rng([seed, 1])
    means = -np.sort(-drawn.uniform(-5.0, 5.0, (bandits, ARMS)), axis=1)
    deviations = drawn.uniform(1.0, 2.0, (bandits, ARMS))
    sums, pulls, rows = np.zeros((bandits, ARMS)), np.zeros((bandits, ARMS)), np.arange(bandits)
    rewards = np.empty((steps, bandits))
    for step in range(steps):
        arms = choose(sums / np.maximum(pulls, 1), pulls, step + 1, random)
        rewards[step] = random.normal(means[rows, arms], deviations[rows, arms])
        sums[rows, arms] += rewards[step]
        pulls[rows, arms] += 1
    errors = np.where(pulls > 0, sums / np.maximum(pulls, 1) - means, np.nan)
    return Play(rewards, pulls, errors)


def _measure(scale: BanditScale, seed: int) -> Outcome:
    plays = {UCB: play(ucb, scale.bandits, scale.steps, seed)}
    plays[GREEDY] = play(epsilon_greedy, scale.bandits, scale.steps, seed)
    found: list[Estimate] = []
    for name, one in plays.items():
        totals = one.rewards.sum(axis=0)
        found += [spread(f"{name}: total reward", totals, "reward")]
        found += [average(f"{name}: mean total reward", totals, "reward")]
        found += [spread(f"{name}: pulls of the best arm", one.pulls[:, 0], "pulls")]
        found += [_error(name, rank, one.errors[:, rank - 1]) for rank in _RANKS]
    series = {name: _by_step(one.rewards) for name, one in plays.items()}
    return Outcome(tuple(found), series)


def _error(name: str, rank: int, errors: np.ndarray) -> Estimate:
    return average(_error_key(name, rank), np.abs(errors[~np.isnan(errors)]), "reward")


def _error_key(name: str, rank: int) -> str:
    return f"{name}: error of arm {rank}"


def _by_step(rewards: np.ndarray) -> Series:
    """The mean reward up to each step, averaged over bandits, at a few hundred steps."""
    steps = np.arange(1, len(rewards) + 1)
    mean = rewards.mean(axis=1).cumsum() / steps
    shown = np.unique(np.geomspace(1, len(rewards), 200).round().astype(int)) - 1
    return Series(tuple(map(float, steps[shown])), tuple(map(float, mean[shown])))


def _keys() -> tuple[str, ...]:
    kinds = ("total reward", "mean total reward", "pulls of the best arm", *(f"error of arm {rank}" for rank in _RANKS))
    return tuple(f"{name}: {kind}" for name in (UCB, GREEDY) for kind in kinds)


def _parts(scale: BanditScale, seed: int) -> Sequence[Part]:
    def part(repeat: int) -> Measurement:
        own = part_seed(seed, repeat, "bandits")

        def measure(place: Place) -> Outcome:
            return _measure(scale, own)

        return Measurement(name=f"bandits-{repeat}", keys=_keys(), measure=measure, seed=repeat)

    return [part(repeat) for repeat in range(scale.seeds)]


STUDY = Study(
    name="bandits",
    version=1,
    question="Does UCB collect more reward than epsilon-greedy, and how well does each estimate its arms?",
    source=Source("Sanz & Villanueva 2021", "section 2.1.1"),
    scales=SCALES,
    parts=_parts,
    published=(
        Published("UCB: total reward", 4357.4, "figure 2.2 and text"),
        Published("epsilon-greedy: total reward", 3974.5, "figure 2.2 and text"),
        Published("UCB: pulls of the best arm", 976, "figure 2.2 and text"),
    ),
    combine=spanning,
    claims=(
        ordering(
            "UCB collects more than epsilon-greedy",
            "section 2.1.1",
            higher="UCB: mean total reward",
            lower="epsilon-greedy: mean total reward",
        ),
        ordering(
            "Epsilon-greedy estimates the worst arm better than UCB does",
            "figure 2.2b",
            higher=_error_key(UCB, ARMS),
            lower=_error_key(GREEDY, ARMS),
        ),
    ),
    figures=(
        Figure(
            name="totals",
            title="Total reward of 1,000 steps",
            x="policy",
            y="reward, median and range of 95% of bandits",
            curves=(Curve("total reward", ((UCB, "UCB: total reward"), (GREEDY, "epsilon-greedy: total reward"))),),
            joined=False,
        ),
        Figure(
            name="pulls",
            title="Pulls of the best arm",
            x="policy",
            y="pulls, median and range of 95% of bandits",
            curves=(
                Curve(
                    "best arm", ((UCB, "UCB: pulls of the best arm"), (GREEDY, "epsilon-greedy: pulls of the best arm"))
                ),
            ),
            joined=False,
        ),
        Figure(
            name="by-step",
            title="Mean reward after t steps (figure 2.2a)",
            x="step t",
            y="mean reward per step",
            series=(SeriesCurve(UCB, UCB), SeriesCurve(GREEDY, GREEDY)),
        ),
        Figure(
            name="by-arm",
            title="Error of the estimated value of each arm (figure 2.2b)",
            x="arm, from the best to the worst",
            y="mean absolute error, reward",
            curves=tuple(
                Curve(name, tuple((rank, _error_key(name, rank)) for rank in _RANKS)) for name in (UCB, GREEDY)
            ),
        ),
    ),
    notes=(
        "The thesis plays one bandit with each policy. The intervals of totals and pulls here are where 95% of "
        "bandits drawn in the same way end, so a published value holds if it is an ordinary outcome. Ties are broken "
        "at random.",
    ),
)
