"""`tabia rate`: ratings from recorded games or among the checkpoints of a run; `tabia rate ladder` is in `ladder`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tabia.cli import ladder, printing
from tabia.cli.groups import DefaultCommandGroup
from tabia.cli.options import (
    Actors,
    Anchor,
    AnchorElo,
    CountRepeats,
    Devices,
    Json,
    PairingGames,
    RayAddress,
    RecordsOut,
    RunGame,
    Seed,
)
from tabia.cli.printing import escape

if TYPE_CHECKING:
    from tabia.evaluation import Record

Sources = Annotated[list[Path], typer.Argument(metavar="FILE... | RUN", help="Record files, or one run directory.")]
Method = Annotated[
    str,
    typer.Option(help="bayes, or wandhoven: the sequential Elo of Wandhoven 2022 (natural logarithm, no intervals)."),
]
Plot = Annotated[Path | None, typer.Option(help="Plot rating against iteration in an .svg, .png or .pdf file.")]
Nearest = Annotated[int, typer.Option(min=1, help="For a run: pair each checkpoint with its nearest K.")]
Checkpoints = Annotated[int, typer.Option(min=2, help="For a run: maximum number of checkpoints, evenly spaced.")]
Simulations = Annotated[int, typer.Option(min=0, help="For a run: simulations per move; 0 is the network alone.")]

Options = Annotated[
    str,
    typer.Option(metavar="KEY=VALUE,...", help="For a run: further options of its players, such as rule=puct,c=2."),
]

app = typer.Typer(cls=DefaultCommandGroup, no_args_is_help=True)


@app.callback()
def rate_group() -> None:
    """Rate players from record files or the checkpoints of a run (no subcommand needed), or measure a ladder.

    Examples:
      [bold]tabia rate games.txt --anchor random[/]
      [bold]tabia rate runs/connect4 --games 40 --nearest 3 --plot ratings.svg[/]
      [bold]tabia rate ladder connect4 --games 200 --out games.txt[/]
    """


@app.command(DefaultCommandGroup.DEFAULT)
def rate(
    sources: Sources,
    anchor: Anchor = None,
    anchor_elo: AnchorElo = 0.0,
    method: Method = "bayes",
    plot: Plot = None,
    games: PairingGames = 40,
    nearest: Nearest = 3,
    checkpoints: Checkpoints = 12,
    simulations: Simulations = 64,
    options: Options = "",
    seed: Seed = 0,
    out: RecordsOut = None,
    game: RunGame = None,
    count_repeats: CountRepeats = False,
    devices: Devices = None,
    ray: RayAddress = None,
    actors: Actors = None,
    as_json: Json = False,
) -> None:
    """Rate the players of recorded games, or the checkpoints of a run in a tournament, with 95% intervals.

    Two seats: Bayesian inference with draws and first-seat advantage. More seats: the Plackett-Luce model.

    Examples:
      [bold]tabia rate games.txt --anchor random[/]
      [bold]tabia rate runs/connect4 --games 40 --nearest 3 --plot ratings.svg[/]
    """
    from tabia.evaluation.records import load_games

    if len(sources) == 1 and sources[0].is_dir():
        from tabia.cli.recording import play_recorded
        from tabia.evaluation.tournament import checkpoint_tournament
        from tabia.games import make

        planned = checkpoint_tournament(
            sources[0],
            most=checkpoints,
            simulations=simulations,
            games=games,
            nearest=nearest,
            seed=seed,
            game=None if game is None else make(game),
            options=options,
        )
        records = play_recorded(planned, out, ray=ray, actors=actors)
    else:
        records = list(load_games(sources))
    report(
        records,
        anchor=anchor,
        anchor_elo=anchor_elo,
        method=method,
        plot=plot,
        unique=not count_repeats,
        as_json=as_json,
    )


app.command("ladder")(ladder.ladder)


def report(
    records: Sequence[Record],
    *,
    anchor: str | None,
    anchor_elo: float,
    method: str = "bayes",
    plot: Path | None = None,
    unique: bool = True,
    as_json: bool = False,
) -> None:
    """Rate the players of these games, print the ratings and plot them."""
    from tabia.evaluation import ratings
    from tabia.evaluation.rating_plot import plot_ratings

    counted = ratings.rated_games(records, unique=unique)
    fields: dict[str, Any] = {
        "game": counted[0].game,
        "games": len(counted),
        "not_counted": len(records) - len(counted),
        **_rated(counted, method, anchor, anchor_elo, unique),
    }
    rows = fields["players"]
    if plot is not None:
        names, elo = [row["name"] for row in rows], [row["elo"] for row in rows]
        plot_ratings(plot, names, elo, [row["error"] or 0.0 for row in rows])
    if as_json:
        printing.print_json(fields)
    else:
        _print(fields, rows)


def _rated(
    records: Sequence[Record], method: str, anchor: str | None, anchor_elo: float, unique: bool
) -> dict[str, Any]:
    from tabia.core.errors import did_you_mean
    from tabia.evaluation import RatingError
    from tabia.evaluation.ratings import METHODS

    if method not in METHODS:
        raise RatingError(f"There is no method {method!r}. {did_you_mean(method, METHODS)}")
    found = METHODS[method](records, anchor, anchor_elo, unique)
    rows = [
        {"name": name, "elo": elo, "error": found.error[name], **_points(records, name)}
        for name, elo in found.elo.items()
    ]
    details = {"advantage": list(found.advantage), "draw": found.draw} if found.advantage else {}
    return {"method": method, **details, "players": rows}


def _points(records: Sequence[Record], name: str) -> dict[str, float]:
    """The number of games (counted per seat) of a player, and its mean points on the game's own scale."""
    seats = [pair for record in records for pair in zip(record.players, record.scores, strict=True)]
    points = [score for player, score in seats if player == name]
    return {"games": len(points), "points": sum(points) / len(points)}


def _print(fields: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    headings = ("rating", "95%", "games", "mean points")
    table = printing.table("player", *headings, right=headings)
    for row in sorted(rows, key=lambda row: -row["elo"]):
        error = "-" if row["error"] is None else "fixed" if row["error"] == 0 else f"± {row['error']:.0f}"
        table.add_row(escape(row["name"]), f"{row['elo']:.0f}", error, str(row["games"]), f"{row['points']:+.2f}")
    printing.console().print(table)
    notes = [f"{fields['games']} games of {fields['game']}"]
    if fields["not_counted"]:
        notes.append(f"{fields['not_counted']} duplicate or unfinished games not counted")
    for seat, elo in enumerate(fields.get("advantage", ()), start=1):
        notes.append(f"advantage of seat {seat} over the last: {elo:.0f} Elo")
    if fields.get("draw"):
        notes.append(f"draw margin {fields['draw']:.0f} Elo")
    typer.echo("\n" + "; ".join(notes) + ".")
