"""`tabia recipes`: the training configurations that come with Tabia."""

from __future__ import annotations

import typer

from tabia.cli import printing
from tabia.cli.options import Json
from tabia.cli.printing import escape


def recipes(as_json: Json = False) -> None:
    """List the recipes, with the time they take and the strength to expect."""
    from tabia.training.config import recipes as known

    every = [known.load(name) for name in known.names()]
    if as_json:
        printing.print_json(
            [
                {
                    "name": recipe.name,
                    "game": recipe.game,
                    "device": recipe.device,
                    "about": recipe.about,
                    "expect": recipe.expect,
                    "variants": list(recipe.variants),
                }
                for recipe in every
            ]
        )
        return
    console = printing.console()
    for recipe in every:
        console.print(f"[bold]{recipe.name}[/]  ({recipe.game}, {recipe.device})")
        console.print(f"  {escape(recipe.about)}\n  {escape(recipe.expect)}")
        if recipe.variants:
            console.print(f"  Variants: {escape(', '.join(f'@{name}' for name in recipe.variants))}")
    typer.echo("\nUse one with `tabia train GAME --recipe NAME`, and change settings with --set.", err=True)
