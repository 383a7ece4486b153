"""Rating over training by the number of filters of the network (Glimmerfors 2022, section 5.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tabia.studies.estimates import spanning
from tabia.studies.part import Part
from tabia.studies.parts.growth import (
    FULL_GROWTH,
    QUICK_GROWTH,
    RECIPE,
    TINY_GROWTH,
    GrowthScale,
    gain_key,
    growth_parts,
)
from tabia.studies.plots import Curve, Figure, SeriesCurve
from tabia.studies.study import Source, Study
from tabia.studies.verdicts import Published, ordering, trend

GAINS = {1: 600, 2: 300, 4: 600, 8: 600, 16: 800, 32: 1000, 64: 1000}
"""The published gains in Elo; for two filters the thesis only says that it is the worst."""


@dataclass(frozen=True, kw_only=True)
class FilterScale(GrowthScale):
    """Sizes of the study."""

    filters: tuple[int, ...]


SCALES = (
    FilterScale(**TINY_GROWTH, filters=(64,)),
    FilterScale(**QUICK_GROWTH, filters=(4, 16)),
    FilterScale(**FULL_GROWTH, filters=tuple(GAINS)),
)


def _label(filters: int) -> str:
    return f"{filters} filter{'' if filters == 1 else 's'}"


def _parts(scale: FilterScale, seed: int) -> Sequence[Part]:
    return [
        part
        for repeat in range(scale.seeds)
        for filters in scale.filters
        for part in growth_parts(
            scale, seed, repeat, label=_label(filters), name=f"{filters}", recipe=f"{RECIPE}@filters-{filters}"
        )
    ]


STUDY = Study(
    name="connect-filters",
    version=1,
    question="How does the number of filters change how much and how fast an agent learns Connect 4?",
    source=Source("Glimmerfors 2022", "section 5.4"),
    scales=SCALES,
    parts=_parts,
    combine=spanning,
    published=tuple(
        Published(gain_key(_label(filters)), gain, "figures 5.13 to 5.20")
        for filters, gain in GAINS.items()
        if filters != 2
    ),
    claims=(
        trend("More filters gain more", "figure 5.20", keys=[gain_key(_label(filters)) for filters in GAINS]),
        ordering("64 filters gain more than 8", "figure 5.20", higher=gain_key(_label(64)), lower=gain_key(_label(8))),
        ordering("1 filter gains more than 2", "figure 5.20", higher=gain_key(_label(1)), lower=gain_key(_label(2))),
    ),
    figures=(
        Figure(
            name="gain",
            title="Gain over training by filters, 8 blocks",
            x="filters",
            y="rating over the untrained network, Elo",
            curves=(Curve("gain", tuple((filters, gain_key(_label(filters))) for filters in GAINS)),),
            log_x=True,
        ),
        Figure(
            name="growth",
            title="Rating over training (figure 5.20)",
            x="games of self-play",
            y="rating over the untrained network, Elo",
            series=tuple(SeriesCurve(_label(filters), _label(filters)) for filters in GAINS),
        ),
    ),
    notes=(
        "Published gains are read from the figures. Runs here are shorter, so their gains are not compared with the "
        "published ones; orderings are.",
        "The runs with eight filters were repeated. The first two, on the same kind of GPU, hardly learned: their "
        "policy loss began at 2.4 and 1.5 nats, where that of all others was below 0.5. The repeats, with the same "
        "settings and seeds, learned as the others did, after their convolutions had been compared with products of "
        "matrices. The reason for the failure is not known.",
    ),
)
