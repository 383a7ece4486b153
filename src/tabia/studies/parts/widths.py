"""Parts of the study of board widths (Glimmerfors 2022): growth by width, perfect play, and why wide boards fail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tabia.evaluation import Record, accuracy, positions
from tabia.games import make
from tabia.games.game import Game
from tabia.studies.estimates import percentage
from tabia.studies.matches import MatchPart, Tally, spec, trained
from tabia.studies.part import Measurement, Outcome, Part, Place, part_seed
from tabia.studies.parts.growth import RECIPE, GrowthScale, growth_parts, match_options

WIDTHS = (4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 32)
SOLVED = (4, 5, 6, 7)  # widths for which perfect play is computed quickly
FIXED: tuple[tuple[str, Any], ...] = (
    ("learner.learning_rate", 0.001),
    ("replay.positions", 1_000_000),
    ("learner.symmetries", True),
)
"""What we change to learn wide boards: a lower learning rate, a larger replay buffer, mirrored samples."""
CHANGES: dict[int, dict[str, tuple[tuple[str, Any], ...]]] = {
    16: {
        "learning rate / 10": (("learner.learning_rate", 0.001),),
        "buffer x 10": (("replay.positions", 1_000_000),),
    },
    32: {
        "learning rate / 10": (("learner.learning_rate", 0.001),),
        "16 blocks": (("network.blocks", 16),),
    },
}
"""By width, one change at a time, to find out which of them wide boards need.

The thesis suspects the small replay buffer (6.1) at width 16, and too few layers to see the whole board at width 32."""
WHERE = {"learning rate / 10": "ours", "buffer x 10": "section 6.1", "16 blocks": "section 5.3.8"}
"""Where the thesis suspects a reason."""
WIDE = tuple(CHANGES)
FATES = ("wins", "draws", "losses")


@dataclass(frozen=True, kw_only=True)
class WidthScale(GrowthScale):
    """Sizes of the study."""

    widths: tuple[int, ...]
    solved: tuple[int, ...] = ()
    fixed: tuple[int, ...] = ()
    positions: int = 0  # compared with perfect play
    perfect_games: int = 0  # of width 7 against perfect play, per seat


def width_label(width: int) -> str:
    return f"width {width}"


def fixed_label(width: int) -> str:
    return f"width {width}, our settings"


def changed_label(width: int, change: str) -> str:
    return f"width {width}, {change}"


def fate_key(fate: str) -> str:
    return f"width 7, first against perfect: {fate}"


def agreement_key(width: int) -> str:
    return f"width {width}: agreement with perfect play"


def width_parts(scale: WidthScale, seed: int) -> Sequence[Part]:
    found: list[Part] = []
    for repeat in range(scale.seeds):
        for width in scale.widths:
            found += _growth(scale, seed, repeat, width, label=width_label(width), name=f"{width}")
        for width in scale.solved:
            found.append(_perfect(scale, seed, repeat, width))
        for width in scale.fixed:
            found += _growth(scale, seed, repeat, width, label=fixed_label(width), name=f"{width}-ours", changes=FIXED)
        if scale.perfect_games:
            found.append(_against_perfect(scale, seed, repeat))
        for width in scale.fixed:
            for change, changes in CHANGES[width].items():
                name = "-".join([f"{width}", *filter(str.isalpha, change.replace(" x ", " ").split())])
                label = changed_label(width, change)
                found += _growth(scale, seed, repeat, width, label=label, name=name, changes=changes)
    return found


def _growth(
    scale: WidthScale,
    seed: int,
    repeat: int,
    width: int,
    *,
    label: str,
    name: str,
    changes: tuple[tuple[str, Any], ...] = (),
) -> list[Part]:
    recipe = f"{RECIPE}@width-{width}"
    return growth_parts(scale, seed, repeat, label=label, name=name, recipe=recipe, changes=changes, diagnosed=True)


def _against_perfect(scale: WidthScale, seed: int, repeat: int) -> MatchPart:
    """The last checkpoint of width 7, moving first against perfect play (section 5.2)."""
    keys = tuple(map(fate_key, FATES))

    def measure(game: Game, records: Sequence[Record], names: Sequence[str]) -> Outcome:
        tally = Tally(records, names[0], 0)
        counts = (tally.wins, tally.draws, tally.losses)
        return Outcome(tuple(percentage(key, count, tally.games) for key, count in zip(keys, counts, strict=True)))

    return MatchPart(
        name=f"against-perfect-{repeat}",
        keys=keys,
        game="connect4",
        players=(trained(f"train-7-{repeat}", match_options(scale, 7)), spec("perfect")),
        games=2 * scale.perfect_games,
        measure=measure,
        match_seed=part_seed(seed, repeat, "against-perfect"),
        seed=repeat,
        needs=(f"train-7-{repeat}",),
        cost=5.0,
    )


def _perfect(scale: WidthScale, seed: int, repeat: int, width: int) -> Measurement:
    """How often the network of the last checkpoint alone plays a move that keeps the value."""

    def measure(place: Place) -> Outcome:
        game = make(f"connect:rows=6,columns={width},line=4")
        player = trained(f"train-{width}-{repeat}", player="network")(game, place)
        drawn = positions.draw(game, scale.positions, seed=part_seed(seed, 0, f"positions-{width}"))
        found = accuracy.agreement(player, drawn).all
        kept = found.agreement * found.positions
        return Outcome((percentage(agreement_key(width), kept, found.positions, "% of positions"),))

    return Measurement(
        name=f"perfect-{width}-{repeat}",
        keys=(agreement_key(width),),
        measure=measure,
        seed=repeat,
        needs=(f"train-{width}-{repeat}",),
        cost=5.0,
    )
