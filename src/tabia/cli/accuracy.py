"""`tabia accuracy`: how often a player moves as perfect play would."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tabia.cli import printing
from tabia.cli.options import Devices, GameId, Json, PlayerSpec, Seed

if TYPE_CHECKING:
    from tabia.evaluation.accuracy import Agreement, Group
    from tabia.evaluation.positions import PositionSet
    from tabia.games import Game
    from tabia.players.perfect import Oracle

_DEFAULT_COUNT = 1000
Count = Annotated[
    int | None,
    typer.Option(
        "--positions",
        min=1,
        max=1_000_000,
        help="Number of random positions, distinct and evenly spread over the plies.",
        show_default=str(_DEFAULT_COUNT),
    ),
]
File = Annotated[
    Path | None,
    typer.Option("--file", help="Read the positions from a file: one line of moves each; an empty line is the start."),
]
Losable = Annotated[
    float | None,
    typer.Option(min=0.0, max=1.0, help="Select positions so that some move loses value in this fraction of them."),
]
Every = Annotated[bool, typer.Option("--all", help="Use every position of a small game.")]
Plies = Annotated[
    str | None,
    typer.Option(
        metavar="FIRST,LAST",
        help="Range of plies of the random positions.",
        show_default="0 to 82% of the longest game",
    ),
]


def accuracy(
    game_id: GameId,
    player: PlayerSpec,
    count: Count = None,
    file: File = None,
    plies: Plies = None,
    losable: Losable = None,
    every: Every = False,
    seed: Seed = 0,
    devices: Devices = None,
    as_json: Json = False,
) -> None:
    """Compare a player with perfect play: moves that keep the value, fastest wins, mean loss, and reported values.

    Examples:
      [bold]tabia accuracy tictactoe greedy --positions 200[/]
      [bold]tabia accuracy connect4 mcts:simulations=800 --plies 12,34 --json[/]
      [bold]tabia accuracy connect4 az:connect4 --positions 10000 --losable 0.8[/]
      [bold]tabia accuracy connect3 az:connect3,simulations=25 --all[/]
    """
    from tabia import players
    from tabia.evaluation import positions
    from tabia.evaluation.accuracy import agreement
    from tabia.games import make
    from tabia.players import perfect

    _check_exclusive(file, every, {"--positions": count, "--plies": plies, "--losable": losable})
    game = make(game_id)
    compared = players.make(player, game)
    oracle = perfect.PerfectPlayer(game).oracle
    if file is not None:
        chosen = positions.load(game, file)
        for reason in chosen.rejected:
            typer.echo(f"tabia: {reason}", err=True)
    elif every:
        chosen = positions.every(game)
    else:
        span = None if plies is None else _span(plies)
        chosen = _draw(game, oracle, count or _DEFAULT_COUNT, span, losable, seed)
    with printing.progress("positions", len(chosen)) as bar:
        result = agreement(compared, chosen, seed=seed, progress=bar, oracle=oracle)
    if as_json:
        printing.print_json(asdict(result) | {"rejected": list(chosen.rejected)})
    else:
        _print(result)


def _draw(
    game: Game, oracle: Oracle, count: int, plies: tuple[int, int] | None, losable: float | None, seed: int
) -> PositionSet:
    from tabia.evaluation import positions
    from tabia.evaluation.accuracy import is_losable

    if losable is None:
        return positions.draw(game, count, plies=plies, seed=seed)
    drawn = positions.draw(game, 2 * count, plies=plies, seed=seed)
    typer.echo(f"Solving {len(drawn):,} positions to select from.", err=True)
    with printing.progress("positions", len(drawn)) as bar:
        found = is_losable(game, drawn, oracle, progress=bar)
    chosen = positions.with_losable(drawn, found, count, losable)
    if len(chosen) < count:
        typer.echo(f"tabia: only {len(chosen):,} positions satisfy --losable {losable:g}.", err=True)
    return chosen


def _check_exclusive(file: Path | None, every: bool, drawing: dict[str, object]) -> None:
    from tabia.core.errors import TabiaError

    sources = [name for name, given in (("--file", file is not None), ("--all", every)) if given]
    drawn = [name for name, value in drawing.items() if value is not None]
    if len(sources) > 1 or (sources and drawn):
        raise TabiaError(f"{' and '.join([*sources, *drawn])} cannot be combined: each selects the positions.")


def _span(text: str) -> tuple[int, int]:
    from tabia.core.errors import TabiaError

    first, comma, last = text.partition(",")
    if not comma or not first.strip().isdecimal() or not last.strip().isdecimal():
        raise TabiaError(f"--plies {text}: expected two whole numbers, as in 0,34.")
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
    numbers = ("positions", "mean value", "true mean")
    bins = printing.table("value", *numbers, right=numbers)
    for part in values.calibration:
        bins.add_row(
            f"{part.low:+.1f} to {part.high:+.1f}", str(part.positions), f"{part.predicted:+.2f}", f"{part.true:+.2f}"
        )
    console.print(bins)


def _cells(group: Group) -> list[str]:
    return [
        group.name,
        str(group.positions),
        str(group.losable),
        f"{group.agreement:.1%}",
        f"{group.low:.1%} to {group.high:.1%}",
        f"{group.agreement_where_losable:.1%}",
        f"{group.fastest:.1%}",
        f"{group.loss:.3f}",
    ]
