"""`tabia accuracy`: how often a player moves as perfect play would."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tabia.cli import printing
from tabia.cli.games import GameId, Json, Seed

if TYPE_CHECKING:
    from tabia.evaluation.accuracy import Agreement, Group

PlayerSpec = Annotated[str, typer.Argument(metavar="PLAYER", help="A player such as mcts:simulations=800.")]
_COUNT = "Random positions, distinct and evenly spread over plies."
_FILE = "Positions instead: one line of moves each; an empty line is the start."
_PLIES = "Moves made in random positions; from 0 to 82% of the longest game."
Count = Annotated[int, typer.Option("--positions", min=1, help=_COUNT)]
Given = Annotated[Path | None, typer.Option("--file", help=_FILE)]
Plies = Annotated[str | None, typer.Option(metavar="FIRST,LAST", help=_PLIES)]


def accuracy(
    game_id: GameId, player: PlayerSpec, count: Count = 1000, file: Given = None, plies: Plies = None, seed: Seed = 0,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Compare a player's moves with perfect play: value kept, fastest win, mean loss; and its values, if it gives any.

    Examples:
      [bold]tabia accuracy tictactoe greedy --positions 200[/]
      [bold]tabia accuracy connect4 mcts:simulations=800 --plies 12,34 --json[/]
    """
    from tabia import players as room
    from tabia.evaluation import positions
    from tabia.evaluation.accuracy import agreement
    from tabia.games import make
    from tabia.players import perfect

    game = make(game_id)
    made = room.make(player, game)
    judge = perfect.make(game).oracle
    if file is not None:
        asked = positions.read(game, file)
        for refusal in asked.refused:
            typer.echo(f"tabia: {refusal}", err=True)
    else:
        asked = positions.draw(game, count, plies=None if plies is None else _span(plies), seed=seed)
    result = agreement(made, asked, seed=seed, told=_told(len(asked)), judge=judge)
    if as_json:
        printing.print_json(asdict(result) | {"refused": list(asked.refused)})
    else:
        _print(result)


def _span(text: str) -> tuple[int, int]:
    from tabia.games.errors import TabiaError

    first, comma, last = text.partition(",")
    if not comma or not first.strip().isdecimal() or not last.strip().isdecimal():
        raise TabiaError(f"--plies {text}: two whole numbers are needed, as in 0,34.")
    return int(first), int(last)


def _told(total: int) -> Callable[[int], None] | None:
    """A line on stderr, if that is a terminal."""
    if not sys.stderr.isatty():
        return None
    return lambda done: typer.echo(f"\r{done} of {total} positions", err=True, nl=done == total)


def _print(result: Agreement) -> None:
    console = printing.console()
    headings = ("positions", "losable", "keep value", "95% interval", "where losable", "fastest", "mean loss")
    table = printing.table("moves made", *headings, right=headings)
    for group in (*result.by_ply, *result.by_seat, result.all):
        table.add_row(*_cells(group))
    console.print(table)
    if result.values is None:
        return
    values = result.values
    typer.echo(
        f"\nValues: the sign is right in {values.sign:.1%} of {values.decided} positions that are won or lost; "
        f"mean error {values.error:.3f}."
    )
    bins = printing.table("value said", "positions", "said", "true", right=("positions", "said", "true"))
    for part in values.calibration:
        bins.add_row(
            f"{part.low:+.1f} to {part.high:+.1f}", str(part.positions), f"{part.said:+.2f}", f"{part.true:+.2f}"
        )
    console.print(bins)


def _cells(group: Group) -> list[str]:
    return [
        group.name,
        str(group.positions),
        str(group.losable),
        f"{group.keeps:.1%}",
        f"{group.low:.1%} to {group.high:.1%}",
        f"{group.keeps_where_losable:.1%}",
        f"{group.fastest:.1%}",
        f"{group.loss:.3f}",
    ]
