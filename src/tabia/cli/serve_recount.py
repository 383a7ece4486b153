"""`tabia serve recount`: all ratings again from the finished games, compared with what is stored."""

from __future__ import annotations

from typing import Annotated

import typer

from tabia.cli.serve import Data, DatabaseUrl

Write = Annotated[bool, typer.Option("--write", help="Store what differs; without it nothing is changed.")]
_SHOWN = 20  # differences that are listed


def recount(db: DatabaseUrl = None, data: Data = None, write: Write = False) -> None:
    """Compute all ratings again from the finished games, in the order in which they ended, and compare.

    Exits with code 1 if something differs and was not written. The server may be running.

    Examples:
      [bold]tabia serve recount[/]
      [bold]tabia serve recount --db postgresql://tabia@localhost/tabia --write[/]
    """
    from tabia.core.errors import TabiaError

    try:
        from tabia.server.catalog.catalog import Catalog
        from tabia.server.database.engines import FILE, open_database
        from tabia.server.ratings.recount import recount as counted
        from tabia.server.serve import Options
    except ModuleNotFoundError as error:
        raise TabiaError(f"The server needs {error.name}: install tabia[server].") from None
    folder = Options(data=data).directory
    if db is None and not (folder / FILE).is_file():
        raise TabiaError(
            f"{folder} has no database; name the server's directory with --data, or its database with --db."
        )
    database = open_database(db or folder)
    try:
        found = counted(Catalog(), database, write=write)
    finally:
        database.close()
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
