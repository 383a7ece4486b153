"""Recipes: named configurations, as TOML files in `tabia/recipes`.

A recipe is a configuration with a heading: `about` describes it, `expect` gives the time and the strength to expect,
`device` is the hardware it is made for, and `source` names the publication that it reproduces, if any. Settings are
written as in the config.toml of a run; those that are missing keep their defaults. A recipe for any game is fitted to
the game that it trains (see `fitting.py`).

A recipe may have variants, such as `sanz-villanueva-tictactoe@A`, which change some of its settings by dotted name:

    [variants.A]
    "learner.learning_rate" = 0.01
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from importlib import resources
from typing import Any

import jax

from tabia.core.text import quote
from tabia.games import make as make_game
from tabia.games.game import Game
from tabia.games.registry import is_of_library
from tabia.training.config import toml as settings
from tabia.training.config.fitting import describe, fit
from tabia.training.config.schema import Config
from tabia.training.errors import TrainingError

ANY = "any"
_HEADING = ("about", "expect", "device", "source", "variants")


@dataclass(frozen=True)
class Recipe:
    """A named configuration."""

    name: str
    game: str  # or ANY
    device: str  # cpu or gpu
    about: str
    expect: str
    source: str | None
    tables: dict[str, Any]
    variants: tuple[str, ...] = ()  # names after @
    fixed_game: bool = False  # a variant that is for this board alone

    @property
    def several(self) -> bool:
        """Whether it trains one network on several boards."""
        return "other_boards" in self.tables

    def is_for(self, game: Game) -> bool:
        """Whether it is for this game or a variant of it; games of other libraries are compared by name only."""
        return game.name == (self.game if is_of_library(self.game) else make_game(self.game).name)

    def config(self, game: str | None = None) -> Config:
        """The configuration for the recipe's game or a variant of it; other games are refused."""
        wanted = game or self.game
        if self.fixed_game and make_game(wanted).id != make_game(self.game).id:
            raise TrainingError(f"The recipe {self.name} is for {self.game}, not for {wanted}.")
        if self.game not in (ANY, wanted) and not self.is_for(make_game(wanted)):
            raise TrainingError(
                f"The recipe {self.name} is for {self.game}, not for {wanted}. Recipes for {wanted}: "
                f"{', '.join(recipe.name for recipe in for_game(wanted))}."
            )
        tables = {name: value for name, value in self.tables.items() if name not in _HEADING}
        rules = make_game(wanted)
        config = replace(settings.from_tables({**tables, "game": rules.id}), recipe=self.name)
        return fit(config, describe(rules)) if self.game == ANY else config


def names() -> list[str]:
    """The names of all recipes."""
    files = (resources.files("tabia") / "recipes").iterdir()
    return sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml"))


def load(name: str) -> Recipe:
    """A recipe by its name, or a variant of one by `NAME@VARIANT`."""
    base, at, variant = name.partition("@")
    if base not in names():
        raise settings.unknown("recipe", base, names())
    text = (resources.files("tabia") / "recipes" / f"{base}.toml").read_text(encoding="utf-8")
    tables = tomllib.loads(text)
    variants = tables.get("variants", {})
    changes = _variant(base, variant, variants) if at else {}
    tables = _changed(tables, changes)
    return Recipe(
        name=name,
        game=tables["game"],
        device=tables["device"],
        about=tables["about"],
        expect=tables["expect"],
        source=tables.get("source"),
        tables=tables,
        variants=tuple(variants),
        fixed_game="game" in changes,
    )


def _variant(recipe: str, name: str, variants: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The settings that a variant changes, by dotted name."""
    if not variants:
        raise TrainingError(f"The recipe {recipe} has no variants; got {quote(f'{recipe}@{name}')}.")
    if name not in variants:
        raise settings.unknown(f"variant of {recipe}", name, variants)
    return variants[name]


def _changed(tables: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Nested tables with some settings changed, by dotted name."""
    tables = {name: dict(value) if isinstance(value, dict) else value for name, value in tables.items()}
    for name, value in changes.items():
        section, _, key = name.rpartition(".")
        (tables.setdefault(section, {}) if section else tables)[key] = value
    return tables


def for_game(game: str) -> list[Recipe]:
    """The recipes that can train a game, the ones made for it first."""
    every, wanted = [load(name) for name in names()], make_game(game)
    own = [recipe for recipe in every if recipe.game != ANY and recipe.is_for(wanted)]
    return [*own, *(recipe for recipe in every if recipe.game == ANY)]


def default(game: str) -> Recipe:
    """The recipe of `tabia train GAME`: Tabia's own for the game and this machine, or else the one for any game."""
    here = "cpu" if jax.default_backend() == "cpu" else "gpu"
    # Reproductions of publications, and recipes for several boards, must be asked for by name.
    own = [recipe for recipe in for_game(game) if recipe.source is None and not recipe.several]
    made_for = [recipe for recipe in own if recipe.game != ANY and make_game(recipe.game).id == make_game(game).id]
    others = [recipe for recipe in own if recipe.game == ANY]
    ranked = sorted([*made_for, *others], key=lambda recipe: recipe.device != here)
    return ranked[0]
