"""Rating over training by the width of the board (Glimmerfors 2022, section 5.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tabia.evaluation import accuracy, positions
from tabia.games import make
from tabia.studies.estimates import percentage, spanning
from tabia.studies.growth import (
    FULL_GROWTH,
    QUICK_GROWTH,
    RECIPE,
    TINY_GROWTH,
    GrowthScale,
    gain_key,
    growth_parts,
)
from tabia.studies.matches import trained
from tabia.studies.part import Measurement, Outcome, Part, Place, part_seed
from tabia.studies.plots import Curve, Figure, SeriesCurve
from tabia.studies.study import Source, Study
from tabia.studies.verdicts import Published, ordering, trend

GAINS = {4: 370, 5: None, 6: 1000, 7: 1000, 8: 1200, 9: 1000, 16: 400, 32: 50}
"""The published gains in Elo; width 5 has none, because its first jump is not given."""
WIDTHS = (4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 32)
SOLVED = (4, 5, 6, 7)  # widths for which perfect play is computed quickly
FIXED: tuple[tuple[str, Any], ...] = (
    ("learner.learning_rate", 0.001),
    ("replay.positions", 1_000_000),
    ("learner.symmetries", True),
)
"""What we change to learn wide boards: a lower learning rate, a larger replay buffer, mirrored samples."""


@dataclass(frozen=True, kw_only=True)
class WidthScale(GrowthScale):
    """Sizes of the study."""

    widths: tuple[int, ...]
    solved: tuple[int, ...] = ()
    fixed: tuple[int, ...] = ()
    positions: int = 0  # compared with perfect play


SCALES = (
    WidthScale(**TINY_GROWTH, widths=(7,)),
    WidthScale(**QUICK_GROWTH, widths=(4, 7)),
    WidthScale(**FULL_GROWTH, widths=WIDTHS, solved=SOLVED, fixed=(16, 32), positions=500),
)


def _label(width: int) -> str:
    return f"width {width}"


def _fixed(width: int) -> str:
    return f"width {width}, our settings"


def _agreement(width: int) -> str:
    return f"width {width}: agreement with perfect play"


def _parts(scale: WidthScale, seed: int) -> Sequence[Part]:
    found: list[Part] = []
    for repeat in range(scale.seeds):
        for width in scale.widths:
            recipe = f"{RECIPE}@width-{width}"
            found += growth_parts(scale, seed, repeat, label=_label(width), name=f"{width}", recipe=recipe)
        for width in scale.solved:
            found.append(_perfect(scale, seed, repeat, width))
        for width in scale.fixed:
            found += growth_parts(
                scale,
                seed,
                repeat,
                label=_fixed(width),
                name=f"{width}-ours",
                recipe=f"{RECIPE}@width-{width}",
                changes=FIXED,
            )
    return found


def _perfect(scale: WidthScale, seed: int, repeat: int, width: int) -> Measurement:
    """How often the network of the last checkpoint alone plays a move that keeps the value."""

    def measure(place: Place) -> Outcome:
        game = make(f"connect:rows=6,columns={width},line=4")
        player = trained(f"train-{width}-{repeat}", player="network")(game, place)
        drawn = positions.draw(game, scale.positions, seed=part_seed(seed, 0, f"positions-{width}"))
        found = accuracy.agreement(player, drawn).all
        kept = found.agreement * found.positions
        return Outcome((percentage(_agreement(width), kept, found.positions, "% of positions"),))

    return Measurement(
        name=f"perfect-{width}-{repeat}",
        keys=(_agreement(width),),
        measure=measure,
        seed=repeat,
        needs=(f"train-{width}-{repeat}",),
        cost=5.0,
    )


STUDY = Study(
    name="connect-width",
    version=1,
    question="How does the width of the board change how much and how fast an agent learns?",
    source=Source("Glimmerfors 2022", "section 5.3"),
    scales=SCALES,
    parts=_parts,
    combine=spanning,
    published=tuple(
        Published(gain_key(_label(width)), gain, "figures 5.4 to 5.12") for width, gain in GAINS.items() if gain
    ),
    claims=(
        trend(
            "Wider boards gain more, from 4 to 8", "figure 5.12", keys=[gain_key(_label(w)) for w in (4, 5, 6, 7, 8)]
        ),
        ordering("Width 16 gains less than 9", "figure 5.10", higher=gain_key(_label(9)), lower=gain_key(_label(16))),
        ordering("Width 32 gains less than 16", "figure 5.11", higher=gain_key(_label(16)), lower=gain_key(_label(32))),
        ordering("Our settings learn width 32 better", "ours", higher=gain_key(_fixed(32)), lower=gain_key(_label(32))),
    ),
    figures=(
        Figure(
            name="gain",
            title="Gain over training by width of the board",
            x="columns",
            y="rating over the untrained network, Elo",
            curves=(
                Curve("gain", tuple((width, gain_key(_label(width))) for width in WIDTHS)),
                Curve("gain, our settings", tuple((width, gain_key(_fixed(width))) for width in (16, 32))),
            ),
        ),
        Figure(
            name="growth",
            title="Rating over training (figure 5.12)",
            x="games of self-play",
            y="rating over the untrained network, Elo",
            series=tuple(SeriesCurve(_label(width), _label(width)) for width in WIDTHS),
        ),
        Figure(
            name="growth-ours",
            title="Rating over training on wide boards, with our settings",
            x="games of self-play",
            y="rating over the untrained network, Elo",
            series=tuple(SeriesCurve(label(width), label(width)) for width in (16, 32) for label in (_label, _fixed)),
        ),
        Figure(
            name="perfect",
            title="Moves of the network alone that keep the value",
            x="columns",
            y="% of positions",
            curves=(Curve("agreement", tuple((width, _agreement(width)) for width in SOLVED)),),
        ),
    ),
    notes=(
        "Published gains are read from the figures. Runs here are shorter, so their gains are not compared with the "
        "published ones; orderings are. On wide boards, our settings lower the learning rate tenfold, keep ten times "
        "as many positions, and mirror samples.",
    ),
)
