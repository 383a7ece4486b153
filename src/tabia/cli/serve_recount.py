"""`tabia serve recount`: all ratings again from the finished games, compared with what is stored."""

from __future__ import annotations

from typing import Annotated

import typer

from tabia.cli.serve_people import Data, DatabaseUrl, opened

Write = Annotated[bool, typer.Option("--write", help="Store the new ratings; without this option nothing is changed.")]
_SHOWN = 20  # differences that are listed


def recount(db: DatabaseUrl = None, data: Data = None, write: Write = False) -> None:
    """Compute all ratings again from the finished games, and compare them with the stored ones.

    Exits with code 1 if something differs and was not written. The server may be running.

    Examples:
      [bold]tabia serve recount[/]
      [bold]tabia serve recount --db postgresql://tabia@localhost/tabia --write[/]
    """
    with opened(db, data) as database:
        from tabia.server.catalog.catalog import Catalog
        from tabia.server.ratings.recount import recount as counted

        found = counted(Catalog(), database, write=write)
    typer.echo(f"{found.games} rated games, {len(found.computed)} ratings and results.")
    for key in found.differences[:_SHOWN]:
        typer.echo(f"differs: {' '.join(map(str, key))}")
    if not found.differences:
        typer.echo("All equal.")
        return
    done = "were corrected" if write else "differ; --write corrects them"
    typer.echo(f"{len(found.differences)} rows {done}.")
    if not write:
        raise typer.Exit(1)
