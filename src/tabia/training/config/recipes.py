"""Recipes: named configurations with what to expect of them, as TOML files in `tabia/recipes`.

A recipe is a configuration with a heading: `about`, what it is; `expect`, what comes of it and how long it takes;
`device`, what it is made for. Its settings are written as in a run's config.toml; what it leaves out has its default.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, replace
from importlib import resources
from typing import Any

import jax

from tabia.core.errors import did_you_mean
from tabia.games import make as make_game
from tabia.games.game import Game
from tabia.games.registry import is_of_library
from tabia.training.config import toml as settings
from tabia.training.config.schema import Config
from tabia.training.errors import TrainingError

ANY = "any"
_HEADING = ("about", "expect", "device")


@dataclass(frozen=True)
class Recipe:
    """A named configuration."""

    name: str
    game: str  # or ANY
    device: str  # cpu or gpu
    about: str
    expect: str
    tables: dict[str, Any]

    @property
    def several(self) -> bool:
        """Whether it trains on several boards."""
        return "other_boards" in self.tables

    def is_for(self, game: Game) -> bool:
        """Whether it is for this game or a variant of it; a library's game is not made for the comparison."""
        return game.name == (self.game if is_of_library(self.game) else make_game(self.game).name)

    def config(self, game: str | None = None) -> Config:
        """The configuration, for the recipe's game or a variant of it; refused for another game."""
        wanted = game or self.game
        if self.game not in (ANY, wanted) and not self.is_for(make_game(wanted)):
            raise TrainingError(
                f"The recipe {self.name} is for {self.game}, not for {wanted}. For {wanted} there is: "
                f"{', '.join(recipe.name for recipe in for_game(wanted))}."
            )
        tables = {name: value for name, value in self.tables.items() if name not in _HEADING}
        return replace(settings.from_tables({**tables, "game": make_game(wanted).id}), recipe=self.name)


def names() -> list[str]:
    """All recipes there are."""
    files = (resources.files("tabia") / "recipes").iterdir()
    return sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml"))


def load(name: str) -> Recipe:
    """A recipe by its name."""
    if name not in names():
        raise TrainingError(f"There is no recipe {name!r}. {did_you_mean(name, names())}")
    text = (resources.files("tabia") / "recipes" / f"{name}.toml").read_text(encoding="utf-8")
    tables = tomllib.loads(text)
    return Recipe(name, tables["game"], tables["device"], tables["about"], tables["expect"], tables)


def for_game(game: str) -> list[Recipe]:
    """The recipes that can train a game, those made for it first."""
    every, wanted = [load(name) for name in names()], make_game(game)
    own = [recipe for recipe in every if recipe.game != ANY and recipe.is_for(wanted)]
    return [*own, *(recipe for recipe in every if recipe.game == ANY)]


def default(game: str) -> Recipe:
    """What `tabia train GAME` takes: Tabia's own recipe for the game and this machine, or the one for any game."""
    here = "cpu" if jax.default_backend() == "cpu" else "gpu"
    # A thesis's is never taken unasked, nor one for several boards.
    own = [recipe for recipe in for_game(game) if not re.match(r"s\d-", recipe.name) and not recipe.several]
    made_for = [recipe for recipe in own if recipe.game != ANY and make_game(recipe.game).id == make_game(game).id]
    others = [recipe for recipe in own if recipe.game == ANY]
    ranked = sorted([*made_for, *others], key=lambda recipe: recipe.device != here)
    return ranked[0]
