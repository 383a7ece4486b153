"""A run's checkpoints against each other: whether training made it stronger, and when."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tabia.core.text import quote
from tabia.core.trust import check_data
from tabia.evaluation.ratings import RatingError
from tabia.evaluation.tournament import Tournament
from tabia.games import make
from tabia.games.game import Game
from tabia.networks import weights
from tabia.players import make as make_player
from tabia.players import runs


def among_checkpoints(
    run: Path,
    *,
    most: int = 12,
    simulations: int = 64,
    games: int = 40,
    nearest: int = 3,
    seed: int = 0,
    game: Game | None = None,
) -> Tournament:
    """A partial round robin of at most `most` checkpoints, evenly spread; of the game they name, if none is given."""
    steps = list(runs.steps(run))
    if len(steps) < 2:
        raise RatingError(f"{run} has {len(steps)} checkpoints; ratings compare two or more.")
    places = np.unique(np.linspace(0, len(steps) - 1, min(most, len(steps))).round().astype(int))
    chosen = [steps[place] for place in places]
    game = _named(run, chosen[0]) if game is None else game
    how = f",simulations={simulations}" if simulations else ""
    specs = [f"{'az' if simulations else 'network'}:{run}@{step}{how}" for step in chosen]
    made = tuple(make_player(spec, game) for spec in specs)
    return Tournament(game, made, games, nearest, seed=seed)


def _named(run: Path, step: int) -> Game:
    path = runs.weights_file(str(run), str(step))
    held = weights.read_manifest(path, within=run).metadata.get("game")
    if not isinstance(held, str):
        raise RatingError(f"{path} does not say which game it plays; name it: tabia rate {run} --game GAME")
    check_data(held, source=str(path), fix=f"tabia rate {run} --game {quote(held)}")
    return make(held)
