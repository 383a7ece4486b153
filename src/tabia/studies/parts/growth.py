"""Rating over training, as Glimmerfors 2022 measures it: a run, its checkpoints, and a tournament among them.

Each run saves checkpoints at equal numbers of games. They play a partial round robin, and their ratings are relative
to the untrained network.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tabia.evaluation import Record
from tabia.games import make as make_game
from tabia.games.game import Game
from tabia.studies.estimates import around
from tabia.studies.matches import TournamentPart, lineup, rate_all, version
from tabia.studies.part import Outcome, Part, Series, part_seed
from tabia.studies.parts.diagnosis import CURVES, sign_keys, signs
from tabia.studies.study import Scale
from tabia.studies.trainings import TINY, TINY_RECIPE, TINY_SEARCH, TrainingPart

RECIPE = "glimmerfors-connect4"


@dataclass(frozen=True, kw_only=True)
class GrowthScale(Scale):
    """Sizes of runs and tournaments."""

    games: int  # of self-play per run; one optimizer step each
    simulations: int  # of self-play
    checkpoints: int  # besides the untrained network
    match_games: int  # per pair
    match_simulations: int
    nearest: int  # checkpoints at most this far apart meet
    tiny: bool = False  # tic-tac-toe instead of the recipe
    batch: int = 2048  # positions per optimizer step


TINY_GROWTH: dict[str, Any] = {
    "name": "tiny",
    "about": "tic-tac-toe, two iterations",
    "games": 16,
    "simulations": 4,
    "checkpoints": 2,
    "match_games": 4,
    "match_simulations": 4,
    "nearest": 1,
    "tiny": True,
}
FULL_GROWTH: dict[str, Any] = {
    "name": "full",
    "about": "24,000 games of self-play instead of 800,000, 64 simulations, 8 checkpoints, 100 games per pair",
    "games": 24_000,
    "simulations": 64,
    "checkpoints": 8,
    "match_games": 100,
    "match_simulations": 64,
    "nearest": 8,
    "seeds": 2,
    "trends": True,
}
QUICK_GROWTH: dict[str, Any] = {
    "name": "quick",
    "about": "256 games of self-play instead of 800,000, 16 simulations, batches of 256, 20 games per pair",
    "games": 256,
    "simulations": 16,
    "checkpoints": 4,
    "match_games": 20,
    "match_simulations": 16,
    "nearest": 4,
    "batch": 256,
}


def gain_key(label: str) -> str:
    """The rating of the last checkpoint over the untrained network."""
    return f"{label}: gain"


def growth_parts(
    scale: GrowthScale,
    seed: int,
    repeat: int,
    *,
    label: str,
    name: str,
    recipe: str,
    changes: tuple[tuple[str, Any], ...] = (),
    diagnosed: bool = False,
) -> list[Part]:
    """A training run and the tournament of its checkpoints; `diagnosed` adds what its metrics say about learning."""
    run = f"train-{name}-{repeat}"
    training = TrainingPart(
        name=run,
        recipe=TINY_RECIPE if scale.tiny else recipe,
        run_seed=part_seed(seed, repeat, name),
        changes=TINY if scale.tiny else (*_changes(scale), *changes),
        curves=CURVES,
        keys=sign_keys(label) if diagnosed else (),
        measure=signs(label, samples_per_game=scale.batch) if diagnosed else lambda lines: (),
        seed=repeat,
        cost=20.0,
    )
    return [training, _tournament(scale, seed, repeat, label=label, name=name, run=training)]


def _changes(scale: GrowthScale) -> tuple[tuple[str, Any], ...]:
    lanes = min(1280, max(scale.games // 8, 16))
    return (
        ("games", scale.games),
        ("search.simulations", scale.simulations),
        ("selfplay.games", lanes),
        ("learner.batch_size", scale.batch),
        ("replay.min_positions", scale.batch),
        ("checkpoints.every_games", scale.games // scale.checkpoints),
    )


def match_options(scale: GrowthScale, width: int) -> str:
    """The search of rated players, with noise at the root that varies the games."""
    if scale.tiny:
        return TINY_SEARCH
    return (
        f"simulations={scale.match_simulations},rule=puct,dirichlet_fraction=0.25,dirichlet_alpha={10 / width:.4f},"
        "winning_moves_first=false,ties=random"
    )


def _tournament(
    scale: GrowthScale, seed: int, repeat: int, *, label: str, name: str, run: TrainingPart
) -> TournamentPart:
    """A partial round robin, with the noise at the root that varies the games of the thesis."""
    game = make_game(run.config().game)
    count = scale.checkpoints + 1
    options = match_options(scale, game.num_actions)

    def measure(game: Game, records: Sequence[Record], names: Sequence[str]) -> Outcome:
        ratings = rate_all(records, names)
        elo, error = (tuple(map(float, one)) for one in (ratings.elo, ratings.error))
        steps = tuple(scale.games * index / scale.checkpoints for index in range(count))
        low = tuple(value - half for value, half in zip(elo, error, strict=True))
        high = tuple(value + half for value, half in zip(elo, error, strict=True))
        gain = around(gain_key(label), *ratings.difference(count - 1, 0), "Elo")
        return Outcome((gain,), {label: Series(steps, elo, low, high)})

    return TournamentPart(
        name=f"rate-{name}-{repeat}",
        keys=(gain_key(label),),
        game=game.id,
        players=lineup(*(version(run.name, index, count, options) for index in range(count))),
        games=scale.match_games,
        measure=measure,
        match_seed=part_seed(seed, repeat, f"rate-{name}"),
        nearest=scale.nearest,
        opening_moves=0,
        seed=repeat,
        needs=(run.name,),
        cost=10.0,
    )
