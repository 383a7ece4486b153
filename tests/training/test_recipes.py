"""The recipes of the theses, setting by setting, beside what each thesis says and where.

Sources are sections, tables, figures and equations. "Code" is the authors' published code, used where the text is
silent or contradicts itself; "not stated" is our choice where both are silent; "AlphaZero" is what they build on.
"""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any

import pytest

from tabia.training.config import recipes
from tabia.training.config.schema import Config
from tabia.training.errors import TrainingError
from tabia.training.plan import Plan

Stated = dict[str, tuple[Any, str]]
OURS = ("evaluation", "checkpoints", "variants")  # what a thesis measures and keeps is the matter of its study

ALPHAZERO: Stated = {
    "search.rule": ("puct", "AlphaZero"),
    "targets.policy": ("visits", "AlphaZero: the visit counts"),
    "targets.search_value_weight": (0.0, "AlphaZero: the outcome alone"),
    "selfplay.opening_fraction": (0.0, "games start at the initial position"),
    "selfplay.opening_moves": (0, "games start at the initial position"),
    "learner.warmup_steps": (0, "none is mentioned"),
    "learner.gradient_clip": (0.0, "none is mentioned"),
    "learner.ema_decay": (0.0, "the latest weights play"),
    "learner.symmetries": (False, "none are mentioned"),
}
SANZ_VILLANUEVA: Stated = ALPHAZERO | {
    "network.preset": ("sanz_villanueva", "section 4.3: 23,780 parameters"),
    "network.planes": ("colors", "section 4.4.1, figure 4.5"),
    "search.c": (1.0, "tables 5.3 and 5.4: PUCT C"),
    "search.dirichlet_fraction": (0.25, "tables 5.3 and 5.4"),
    "search.dirichlet_alpha": (0.5, "tables 5.3 and 5.4"),
    "search.reuse_tree": (True, "code"),
    "selfplay.whole_games": (True, "tables 5.3 and 5.4: a number of games per update"),
    "learner.epochs": (5, "tables 5.3 and 5.4"),
    "learner.batch_size": (32, "code: the mini-batches of Keras"),
    "learner.learning_rate_schedule": ("constant", "tables 5.3 and 5.4"),
    "learner.mask_illegal": (False, "equation 3.3"),
    "replay.min_positions": (32, "training starts after the first games"),
}
RECIPES: dict[str, Stated] = {
    "sanz-villanueva-tictactoe": SANZ_VILLANUEVA
    | {
        "iterations": (20, "section 5.1.3: 1,000 games, 50 each (5.1.2)"),
        "network.blocks": (1, "table 5.3"),
        "network.filters": (32, "table 5.3"),
        "search.simulations": (100, "table 5.3"),
        "selfplay.games": (50, "section 5.1.2: an update after 50 games"),
        "selfplay.plies": (9, "the longest game"),
        "selfplay.temperature_moves": (100, "table 5.3"),
        "replay.positions": (50 * 13, "code: 500; and gaps after games that ended early"),
        "learner.sample_positions": (384, "table 5.3: batch size; 5.1.2: fitting 384 boards"),
        "learner.optimizer": ("adam", "table 5.3"),
        "learner.learning_rate": (1e-2, "table 5.3"),
        "learner.weight_decay": (2 * 1e-4, "table 5.3 and equation 3.3: 1e-4 |w|^2, here half of weight_decay"),
    },
    "sanz-villanueva-connect4": SANZ_VILLANUEVA
    | {
        "iterations": (10_000 // 80, "section 5.2: 10,000 games, 80 each"),
        "network.blocks": (3, "table 5.4"),
        "network.filters": (128, "table 5.4"),
        "search.simulations": (400, "table 5.4"),
        "selfplay.games": (80, "section 5.2: training after every 80 games"),
        "selfplay.plies": (42, "the longest game"),
        "selfplay.temperature_moves": (30, "table 5.4"),
        "replay.positions": (80 * 66, "code: 3,500; and gaps after games that ended early"),
        "learner.sample_positions": (2048, "table 5.4 and section 5.2"),
        "learner.optimizer": ("sgd", "table 5.4"),
        "learner.momentum": (0.0, "code"),
        "learner.learning_rate": (1e-3, "table 5.4"),
        "learner.weight_decay": (0.0, "table 5.4"),
    },
    "wandhoven-connect4": ALPHAZERO
    | {
        "iterations": (40, "not stated"),
        "network.preset": ("wandhoven", "section 1.4.2.2"),
        "search.simulations": (50, "section 1.5"),
        "search.c": (1.0, "not stated"),
        "search.dirichlet_fraction": (0.0, "no noise is mentioned"),
        "search.transpositions": (True, "section 1.3.4: nodes of the same state are identical"),
        "selfplay.games": (256, "not stated"),
        "selfplay.plies": (-(-30_000 // 256), "section 1.5.2.2: once the memory exceeds 30,000 states"),
        "selfplay.temperature_moves": (10, "not stated"),
        "replay.iterations": (1, "section 1.5.2.2: the memory"),
        "replay.min_positions": (20_000, "games in progress take the rest at first"),
        "learner.epochs": (1, "not stated"),
        "learner.sample_positions": (0, "section 1.5.2.2: the memory"),
        "learner.batch_size": (256, "section 1.4.2.3"),
        "learner.optimizer": ("adam", "not stated"),
        "learner.learning_rate": (1e-3, "not stated"),
        "learner.learning_rate_schedule": ("constant", "not stated"),
        "learner.weight_decay": (0.0, "no regularization is mentioned"),
        "learner.policy_loss": ("squared", "section 1.4.2.3"),
        "learner.value_loss": ("squared", "section 1.4.2.3"),
        "learner.mask_illegal": (True, "section 1.4.2.3: non-legal actions are ignored"),
        "gate.kind": ("ratio", "section 1.6"),
        "gate.every": (1, "section 1.6: after every update"),
        "gate.games": (20, "section 1.6"),
        "gate.threshold": (1.3, "section 1.6"),
        "gate.opening_moves": (0, "not stated"),
        "gate.temperature_moves": (10, "section 1.5.1: probabilistic during training, as in self-play"),
        "gate.search": ("run", "section 1.6"),
    },
    "schulte-chinese-checkers": ALPHAZERO
    | {
        "iterations": (100, "an upper bound"),
        "games": (500 + 40 * 200, "chapter 9: 500 games, then 8,000"),
        "network.preset": ("schulte", "chapter 5"),
        "search.simulations": (200, "chapter 9"),
        "search.c": (15 * 2 / 3, "chapter 9: 15, on scores from 0 to 3"),
        "search.untried_value": ("lowest", "equation 3.2.3: Q is initialized as 0, the lowest score"),
        "search.own_visit": (False, "equation 3.2.4: N is the sum over actions"),
        "search.ties": ("random", "equations 4.1.14 and 4.1.15"),
        "search.dirichlet_fraction": (0.0, "no noise is mentioned"),
        "search.cut_loops": (True, "section 3.3"),
        "search.cut_loops_history": (True, "section 7.1"),
        "selfplay.games": (50, "chapter 8"),
        "selfplay.plies": (300, "chapter 9: 200 games in a session, of about 75 moves"),
        "selfplay.temperature_moves": (15, "chapter 9"),
        "selfplay.temperature_by": ("seat", "chapter 9: the first 15 moves each"),
        "selfplay.teacher": ("initialize", "chapter 6"),
        "selfplay.teacher_games": (500, "chapter 9"),
        "replay.iterations": (10, "chapter 6: the last 10 sessions"),
        "replay.min_positions": (4_000, "less than a session"),
        "learner.epochs": (5, "section 5.3.5"),
        "learner.sample_positions": (0, "chapter 6: the training data of the last 10 sessions"),
        "learner.batch_size": (64, "code"),
        "learner.optimizer": ("adam", "section 5.3.5"),
        "learner.learning_rate": (1e-3, "section 5.3.5"),
        "learner.learning_rate_schedule": ("constant", "section 5.3.5"),
        "learner.weight_decay": (0.0, "equation 5.2.42"),
        "learner.value_weight": ((3 / 2) ** 2, "equation 5.2.41, on scores from 0 to 3"),
        "learner.mask_illegal": (False, "equation 5.2.40, section 9.5"),
        "gate.kind": ("score", "chapter 6"),
        "gate.every": (1, "chapter 6"),
        "gate.games": (12, "code: two sets of six"),
        "gate.threshold": (0.55, "chapter 6"),
        "gate.opening_moves": (0, "chapter 6: no random moves are mentioned"),
        "gate.temperature_moves": (5, "chapter 6: varied selection for the first 5 steps each"),
        "gate.search": ("run", "chapter 6"),
        "gate.restore_on_refusal": (True, "chapter 6: otherwise we restore the old version"),
    },
    "goldberg-ishay-connect3": {
        "iterations": (200, "an upper bound"),
        "network.preset": ("goldberg_ishay", "section 2.3"),
        "supervised.positions": ("tree", "section 2.3: about 300,000 states, the entire search tree"),
        "supervised.labels": ("first", "section 2.3: a one-hot vector; which of several best moves is not stated"),
        "supervised.accuracy": (0.9, "section 2.3"),
        "learner.epochs": (1, "not stated"),
        "learner.sample_positions": (6_400, "not stated"),
        "learner.batch_size": (128, "not stated"),
        "learner.optimizer": ("adam", "section 2.3"),
        "learner.learning_rate": (1e-3, "not stated"),
        "learner.learning_rate_schedule": ("constant", "not stated"),
        "learner.warmup_steps": (0, "none is mentioned"),
        "learner.weight_decay": (0.0, "none is mentioned"),
        "learner.gradient_clip": (0.0, "none is mentioned"),
        "learner.value_weight": (0.0, "section 2.3: a policy network"),
        "learner.mask_illegal": (False, "section 2.3: 5 classes"),
        "learner.ema_decay": (0.0, "none is mentioned"),
        "learner.symmetries": (False, "none are mentioned"),
        "selfplay.games": (1, "no games are played"),
        "selfplay.plies": (1, "no games are played"),
        "selfplay.opening_moves": (0, "no games are played"),
        "replay.positions": (1, "no games are played"),
    },
    "glimmerfors-connect4": ALPHAZERO
    | {
        "iterations": (1_000_000, "an upper bound"),
        "games": (800_000, "section 4.1: 800,000 training iterations, one per game"),
        "network.preset": ("glimmerfors", "section 3.3"),
        "network.planes": ("colors", "section 3.3"),
        "network.filters": (64, "section 3.3"),
        "network.blocks": (8, "section 3.3"),
        "search.simulations": (512, "not stated; the most of section 5.5"),
        "search.c": (1.25, "not stated"),
        "search.dirichlet_fraction": (0.25, "section 3.4"),
        "search.dirichlet_alpha": (pytest.approx(10 / 7), "section 3.4: 10 / w"),
        "selfplay.games": (5 * 256, "section 4.1"),
        "selfplay.plies": (1, "section 3.4: each time the end of a game is reached"),
        "selfplay.temperature_moves": (6, "section 3.4"),
        "replay.positions": (100_000 + 1280 * 4 * 7, "section 3.4; and games in progress"),
        "replay.min_positions": (2048, "section 3.4: the first batch"),
        "learner.steps_per_game": (1.0, "section 3.4"),
        "learner.batch_size": (2048, "section 3.4"),
        "learner.optimizer": ("adam", "section 3.4"),
        "learner.learning_rate": (1e-2, "table 4.1"),
        "learner.learning_rate_schedule": ("stepped", "table 4.1"),
        "learner.learning_rate_drops": (((0.5, 0.1), (0.75, 0.01)), "table 4.1: at 400,000 and 600,000 of 800,000"),
        "learner.weight_decay": (2 * 1e-4, "not stated; AlphaGo Zero's 1e-4 |w|^2"),
        "learner.mask_illegal": (False, "section 2.2"),
    },
}
TUNING = {
    "A": (1e-2, 0.0, 16, 1.0, 1.0),
    "B": (1e-3, 0.0, 16, 1.0, 1.0),
    "C": (1e-3, 0.0, 32, 1.0, 1.0),
    "D": (1e-2, 1e-4, 16, 1.0, 1.0),
    "E": (1e-3, 1e-4, 32, 1.0, 1.0),
    "F": (1e-2, 0.0, 32, 1.0, 0.5),
    "G": (1e-3, 0.0, 32, 1.0, 0.5),
    "H": (1e-2, 1e-4, 32, 1.0, 0.5),
    "I": (1e-3, 1e-4, 32, 1.0, 0.5),
    "J": (1e-3, 0.0, 32, 1.2, 0.5),
    "K": (1e-3, 1e-4, 32, 1.2, 0.5),
    "L": (1e-3, 0.0, 32, 0.8, 0.5),
    "M": (1e-3, 1e-4, 32, 0.8, 0.5),
    "N": (1e-3, 1e-4, 64, 1.0, 0.5),
}
"""Table 5.1 of Sanz & Villanueva 2021: learning rate, L2, filters, C, alpha."""


def value(config: Config, name: str) -> Any:
    """A setting by its dotted name."""
    section, _, key = name.rpartition(".")
    return getattr(getattr(config, section) if section else config, key)


def written(recipe: str) -> dict[str, Any]:
    """The settings in a recipe's file, by dotted name, without its heading and what is ours."""
    tables = tomllib.loads((resources.files("tabia") / "recipes" / f"{recipe}.toml").read_text(encoding="utf-8"))
    top = {name: tables[name] for name in ("iterations", "games") if name in tables}
    sections = {name: table for name, table in tables.items() if isinstance(table, dict) and name not in OURS}
    return top | {f"{section}.{key}": entry for section, table in sections.items() for key, entry in table.items()}


@pytest.mark.parametrize("name", RECIPES)
def test_every_setting_is_the_one_of_the_thesis(name: str) -> None:
    stated, config = RECIPES[name], recipes.load(name).config()
    assert set(written(name)) == set(stated)
    for setting, (expected, source) in stated.items():
        found = written(name)[setting] if setting == "network.preset" else value(config, setting)
        assert found == expected, f"{setting}: {found}, not {expected} ({source})"
    Plan(config).check()


def test_every_thesis_with_training_has_a_recipe() -> None:
    assert {name for name in recipes.names() if recipes.load(name).source} == set(RECIPES)


def test_the_variants_of_the_tuning_are_the_rows_of_table_5_1() -> None:
    recipe = recipes.load("sanz-villanueva-tictactoe")
    assert recipe.variants == tuple(TUNING)
    plain = recipe.config()
    for name, (rate, l2, filters, c, alpha) in TUNING.items():
        config = recipes.load(f"{recipe.name}@{name}").config()
        expected = {
            "recipe": f"{recipe.name}@{name}",
            "iterations": 2,  # 100 games, two updates
            "learner.learning_rate": rate,
            "learner.weight_decay": 2 * l2,
            "search.c": c,
            "search.dirichlet_alpha": alpha,
        }
        assert config == plain.changed({**expected, "network": config.network})
        assert config.network == recipes.settings.presets.sanz_villanueva(blocks=1, filters=filters)
    assert recipes.load(f"{recipe.name}@H").config().changed({"iterations": 20, "recipe": recipe.name}) == plain


def test_the_variants_of_the_widths_and_filters() -> None:
    recipe = recipes.load("glimmerfors-connect4")
    widths, filters = (*range(4, 17), 32), (1, 2, 4, 8, 16, 32, 64)
    assert recipe.variants == (*(f"width-{w}" for w in widths), *(f"filters-{count}" for count in filters))
    for width in widths:
        config = recipes.load(f"glimmerfors-connect4@width-{width}").config()
        assert Plan(config).game.num_actions == width and Plan(config).game.observation_shape[:2] == (6, width)
        assert config.search.dirichlet_alpha == pytest.approx(10 / width)
    for count in filters:
        assert recipes.load(f"glimmerfors-connect4@filters-{count}").config().network.filters == count


def test_a_variant_for_another_board_is_refused() -> None:
    with pytest.raises(TrainingError, match="is for connect:rows=6,columns=9,line=4, not for connect4"):
        recipes.load("glimmerfors-connect4@width-9").config("connect4")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("sanz-villanueva-tictactoe@Z", "There is no variant of sanz-villanueva-tictactoe 'Z'"),
        ("tictactoe@A", "has no variants"),
        ("sanz-vilanueva-tictactoe@A", "Did you mean"),
    ],
)
def test_unknown_variants_are_refused(name: str, words: str) -> None:
    with pytest.raises(TrainingError, match=words):
        recipes.load(name)
