"""`tabia accuracy`: how often a player moves as perfect play would."""

from __future__ import annotations

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
_DEFAULT = 1000
_FILE = "Positions instead: one line of moves each; an empty line is the start."
_PLIES = "Moves made in random positions; from 0 to 82% of the longest game."
Count = Annotated[
    int | None, typer.Option("--positions", min=1, max=1_000_000, help=_COUNT, show_default=str(_DEFAULT))
]
Given = Annotated[Path | None, typer.Option("--file", help=_FILE)]
Losable = Annotated[
    float | None,
    typer.Option(min=0.0, max=1.0, help="Choose them so that in this share of them some move loses value."),
]
Every = Annotated[bool, typer.Option("--all", help="Every position of a small game instead.")]
Plies = Annotated[str | None, typer.Option(metavar="FIRST,LAST", help=_PLIES)]


def accuracy(
    game_id: GameId,
    player: PlayerSpec,
    count: Count = None,
    file: Given = None,
    plies: Plies = None,
    losable: Losable = None,
    every: Every = False,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Compare a player's moves with perfect play: value kept, fastest win, mean loss; and its values, if it gives any.

    Examples:
      [bold]tabia accuracy tictactoe greedy --positions 200[/]
      [bold]tabia accuracy connect4 mcts:simulations=800 --plies 12,34 --json[/]
      [bold]tabia accuracy connect4 az:connect4 --positions 10000 --losable 0.8[/]
      [bold]tabia accuracy connect3 az:connect3,simulations=25 --all[/]
    """
    from tabia import players as room
    from tabia.evaluation import positions
    from tabia.evaluation.accuracy import agreement, is_losable
    from tabia.games import make
    from tabia.players import perfect

    _check_together(file, every, {"--positions": count, "--plies": plies, "--losable": losable})
    count = count or _DEFAULT
    game = make(game_id)
    made = room.make(player, game)
    judge = perfect.make(game).oracle
    if file is not None:
        asked = positions.read(game, file)
        for refusal in asked.refused:
            typer.echo(f"tabia: {refusal}", err=True)
    elif every:
        asked = positions.every(game)
    elif losable is None:
        asked = positions.draw(game, count, plies=None if plies is None else _span(plies), seed=seed)
    else:
        drawn = positions.draw(game, 2 * count, plies=None if plies is None else _span(plies), seed=seed)
        typer.echo(f"Solving {len(drawn):,} positions to choose from.", err=True)
        with printing.progress("positions", len(drawn)) as bar:
            found = is_losable(game, drawn, judge, told=bar)
        asked = positions.with_share(drawn, found, count, losable)
        if len(asked) < count:
            typer.echo(f"tabia: no more than {len(asked):,} of them will do.", err=True)
    with printing.progress("positions", len(asked)) as bar:
        result = agreement(made, asked, seed=seed, told=bar, judge=judge)
    if as_json:
        printing.print_json(asdict(result) | {"refused": list(asked.refused)})
    else:
        _print(result)


def _check_together(file: Path | None, every: bool, drawing: dict[str, object]) -> None:
    from tabia.core.errors import TabiaError

    given = [name for name, value in (("--file", file is not None), ("--all", every)) if value]
    drawn = [name for name, value in drawing.items() if value is not None]
    if len(given) > 1 or (given and drawn):
        raise TabiaError(f"{' and '.join([*given, *drawn])} do not go together: each says which positions to take.")


def _span(text: str) -> tuple[int, int]:
    from tabia.core.errors import TabiaError

    first, comma, last = text.partition(",")
    if not comma or not first.strip().isdecimal() or not last.strip().isdecimal():
        raise TabiaError(f"--plies {text}: two whole numbers are needed, as in 0,34.")
    return int(first), int(last)


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
