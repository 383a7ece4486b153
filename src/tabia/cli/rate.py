"""`tabia rate`: ratings from records of games or of a run's checkpoints; `tabia rate ladder`: ratings of opponents."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from tabia.cli import ladder, printing
from tabia.cli.games import Json, Seed
from tabia.cli.match import Out
from tabia.cli.printing import escape

if TYPE_CHECKING:
    from tabia.evaluation.records import Record

Sources = Annotated[list[Path], typer.Argument(metavar="FILE... | RUN", help="Files of records, or one run directory.")]
Anchor = Annotated[str | None, typer.Option(help="The player whose rating is given; the first, if none is named.")]
AnchorElo = Annotated[float, typer.Option(help="The anchor's rating.")]
Method = Annotated[
    str, typer.Option(help="bayes, or wandhoven for its sequential Elo (natural logarithm, no intervals).")
]
Plot = Annotated[Path | None, typer.Option(help="Draw rating against iteration: an .svg, .png or .pdf file.")]
Games = Annotated[int, typer.Option("--games", min=1, help="Of a run: games of each pairing.")]
Nearest = Annotated[int, typer.Option(min=1, help="Of a run: each checkpoint meets its nearest K.")]
Checkpoints = Annotated[int, typer.Option(min=2, help="Of a run: at most so many, evenly spread.")]
RunGame = Annotated[
    str | None, typer.Option("--game", metavar="GAME", help="Of a run: its game, if that is a file.py:Class.")
]
Simulations = Annotated[int, typer.Option(min=0, help="Of a run: simulations a move; 0 is the network alone.")]

DEFAULT = "records"


class _WithDefault(TyperGroup):
    """A group of commands whose first one needs no name: `tabia rate games.txt` rates records."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        named = bool(args) and (args[0] in self.commands or args[0] in ctx.help_option_names)
        return super().parse_args(ctx, args if named or not args else [DEFAULT, *args])


app = typer.Typer(cls=_WithDefault, no_args_is_help=True)


@app.callback()
def rate_group() -> None:
    """Rate players: from files of records or a run's checkpoints (no command needed), or a ladder of opponents.

    Examples:
      [bold]tabia rate games.txt --anchor random[/]
      [bold]tabia rate runs/connect4 --games 40 --nearest 3 --plot ratings.svg[/]
      [bold]tabia rate ladder connect4 --games 200 --out games.txt[/]
    """


@app.command(DEFAULT)
def rate(
    sources: Sources,
    anchor: Anchor = None,
    anchor_elo: AnchorElo = 0.0,
    method: Method = "bayes",
    plot: Plot = None,
    games: Games = 40,
    nearest: Nearest = 3,
    checkpoints: Checkpoints = 12,
    simulations: Simulations = 64,
    seed: Seed = 0,
    out: Out = None,
    game: RunGame = None,
    as_json: Json = False,
) -> None:
    """Rate the players of recorded games, or a run's checkpoints in games among them, with 95% intervals.

    Two seats: Bayesian inference with draws and an advantage of the first seat. More seats: Plackett and Luce's model.

    Examples:
      [bold]tabia rate games.txt --anchor random[/]
      [bold]tabia rate runs/connect4 --games 40 --nearest 3 --plot ratings.svg[/]
    """
    from tabia.evaluation.records import iterate

    if len(sources) == 1 and sources[0].is_dir():
        from tabia.cli.tournament import held
        from tabia.evaluation.checkpoints import among_checkpoints
        from tabia.games import make

        planned = among_checkpoints(
            sources[0],
            most=checkpoints,
            simulations=simulations,
            games=games,
            nearest=nearest,
            seed=seed,
            game=None if game is None else make(game),
        )
        records = held(planned, out)
    else:
        records = list(iterate(sources))
    report(records, anchor=anchor, anchor_elo=anchor_elo, method=method, plot=plot, as_json=as_json)


app.command("ladder")(ladder.ladder)


def report(
    records: Sequence[Record],
    *,
    anchor: str | None,
    anchor_elo: float,
    method: str = "bayes",
    plot: Path | None = None,
    as_json: bool = False,
) -> None:
    """Rate, print, plot."""
    from tabia.evaluation import standings
    from tabia.evaluation.plot import plot as draw

    fresh = standings.counted(records)
    fields: dict[str, Any] = {"game": fresh[0].game, "games": len(fresh), "not_counted": len(records) - len(fresh)}
    fields |= _rated(fresh, method, anchor, anchor_elo)
    rows = fields["players"]
    if plot is not None:
        draw(plot, [row["name"] for row in rows], [row["elo"] for row in rows], [row["error"] or 0.0 for row in rows])
    if as_json:
        printing.print_json(fields)
    else:
        _print(fields, rows)


def _rated(records: Sequence[Record], method: str, anchor: str | None, anchor_elo: float) -> dict[str, Any]:
    from tabia.core.errors import did_you_mean
    from tabia.evaluation import standings
    from tabia.evaluation.ratings import RatingError

    if method == "wandhoven":
        if anchor is not None:
            raise RatingError("--method wandhoven counts from the first player on; leave out --anchor.")
        ratings = standings.rate_in_order(records, anchor_elo=anchor_elo)
        rows = [{"name": name, "elo": elo, "error": None, **_score(records, name)} for name, elo in ratings.items()]
        return {"method": method, "players": rows}
    if method != "bayes":
        raise RatingError(f"There is no method {method!r}. {did_you_mean(method, ['bayes', 's2'])}")
    found = standings.rate(records, anchor=anchor, anchor_elo=anchor_elo)
    rows = [
        {"name": name, "elo": float(elo), "error": float(error), **_score(records, name)}
        for name, elo, error in zip(found.names, found.elo, found.error, strict=True)
    ]
    advantage = [float(seat) for seat in found.advantage]
    return {"method": method, "advantage": advantage, "draw": found.draw, "players": rows}


def _score(records: Sequence[Record], name: str) -> dict[str, Any]:
    """How many games a player sat in, and its mean points on the game's own scale."""
    seats = [pair for record in records for pair in zip(record.players, record.scores, strict=True)]
    points = [score for player, score in seats if player == name]
    return {"games": len(points), "points": sum(points) / len(points)}


def _print(fields: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    headings = ("rating", "95%", "games", "mean score")
    table = printing.table("player", *headings, right=headings)
    for row in sorted(rows, key=lambda row: -row["elo"]):
        error = "-" if row["error"] is None else "fixed" if row["error"] == 0 else f"± {row['error']:.0f}"
        table.add_row(escape(row["name"]), f"{row['elo']:.0f}", error, str(row["games"]), f"{row['points']:+.2f}")
    printing.console().print(table)
    words = [f"{fields['games']} games of {fields['game']}"]
    if fields["not_counted"]:
        words.append(f"{fields['not_counted']} duplicates or unfinished ones not counted")
    if "advantage" in fields:
        ahead = enumerate(fields["advantage"], start=1)
        words += [f"seat {seat} ahead of the last by {elo:.0f} Elo" for seat, elo in ahead]
    if fields.get("draw"):
        words.append(f"draw margin {fields['draw']:.0f} Elo")
    typer.echo("\n" + "; ".join(words) + ".")
