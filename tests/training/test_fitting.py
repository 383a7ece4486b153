"""Settings fitted to a game: its description is true, and the settings follow from it."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from typing import Any

import pytest

from tabia.games import make
from tabia.training.config import recipes
from tabia.training.config.fitting import GAMES, Description, describe, fit
from tabia.training.config.schema import Config
from tabia.training.plan import Plan

BOARD = Description(
    rows=8,
    columns=8,
    planes=2,
    actions=65,
    plies=60,
    decided=0.95,
    has_only_wins=True,
    by_cell=True,
    chance=False,
    has_heuristic=True,
    winning_moves=True,
)


def test_the_description_of_tictactoe_is_true() -> None:
    found = describe(make("tictactoe"))
    assert (found.rows, found.columns, found.actions) == (3, 3, 9)
    assert found.planes == 2
    assert found.has_only_wins and found.by_cell and not found.chance and not found.has_heuristic
    drawn = 46080 / 362880  # of all orders of the nine cells, those without a line
    assert abs(found.decided - (1 - drawn)) < 4 * sqrt(drawn * (1 - drawn) / GAMES)


def test_columns_are_no_cells() -> None:
    assert not describe(make("connect3")).by_cell


@pytest.mark.parametrize("game", ["tictactoe", "connect3"])
def test_recipes_for_any_game_are_fitted(game: str) -> None:
    config = recipes.load("any-laptop").config(game)
    assert config.network.kind == "mlp" and config.network.value == "wdl"
    assert config.search.considered_actions == make(game).num_actions
    assert config.search.winning_moves_first


def test_settings_follow_from_the_description() -> None:
    fitted = fit(Config(game="othello"), BOARD)
    assert fitted.network.policy == "cells" and fitted.network.policy_extra == 1
    assert (fitted.selfplay.opening_moves, fitted.selfplay.temperature_moves) == (20, 12)
    assert fitted.learner.value_loss == "cross_entropy" and fitted.search.value_scale == 1.0
    assert not fitted.schedule


@pytest.mark.parametrize(
    ("change", "kind"),
    [({"rows": 1}, "mlp"), ({"rows": 3, "columns": 4}, "mlp"), ({"rows": 4, "columns": 4}, "residual")],
)
def test_small_and_narrow_boards_get_dense_layers(change: dict[str, Any], kind: str) -> None:
    assert fit(Config(game="othello"), replace(BOARD, **change, by_cell=False)).network.kind == kind


def test_the_final_position_is_learned_where_planes_show_little_but_pieces() -> None:
    assert fit(Config(game="othello"), BOARD).network.final_position
    for other in (replace(BOARD, planes=17), replace(BOARD, has_only_wins=False), replace(BOARD, rows=2)):
        assert not fit(Config(game="othello"), other).network.final_position


def test_games_that_random_moves_seldom_decide_stay_varied_for_longer() -> None:
    fitted = fit(Config(game="othello"), replace(BOARD, decided=0.1))
    assert fitted.at(0.2).selfplay.temperature_end == 1.0
    assert fitted.at(0.5).selfplay.temperature_end == 0.0
    assert fitted.search.value_scale == 0.3


@pytest.mark.parametrize(
    ("change", "teacher"),
    [
        ({}, ""),
        ({"decided": 0.1}, "greedy"),
        ({"decided": 0.1, "has_heuristic": False}, ""),
        ({"decided": 0.1, "chance": True}, ""),
    ],
)
def test_a_heuristic_teaches_games_that_random_moves_seldom_decide(change: dict[str, Any], teacher: str) -> None:
    fitted = fit(Config(game="othello"), replace(BOARD, **change))
    assert fitted.at(0.1).selfplay.teacher == teacher
    assert fitted.at(0.2).selfplay.teacher == ""


def test_dice_explore_by_themselves() -> None:
    fitted = fit(Config(game="pgx:backgammon"), replace(BOARD, chance=True, winning_moves=False, rows=1))
    assert fitted.selfplay.temperature_moves == 0 and fitted.selfplay.opening_moves == 4
    assert fitted.search.value_scale == 0.5


@pytest.mark.parametrize("recipe", ["any-laptop", "any-gpu"])
@pytest.mark.parametrize("game", ["connect:rows=5,columns=6,line=4", "chinese-checkers"])
def test_fitted_recipes_pass_all_checks(recipe: str, game: str) -> None:
    Plan(recipes.load(recipe).config(game)).check()
