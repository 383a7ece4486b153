"""`tabia serve backup` and `tabia serve restore`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tabia.cli.extras import needs_server
from tabia.cli.serve_people import Data, DatabaseUrl, opened, place

Backup = Annotated[Path, typer.Argument(metavar="FILE", help="The backup file; it contains hashes of passwords.")]


def backup(file: Backup, db: DatabaseUrl = None, data: Data = None) -> None:
    """Back up all games, accounts and ratings to a new file; the server may be running.

    The file is lines of JSON with a checksum, the same for SQLite and PostgreSQL, so that it also moves a server from
    one to the other.

    Examples:
      [bold]tabia serve backup tabia-monday.jsonl[/]
      [bold]tabia serve backup tabia-monday.jsonl --db postgresql://tabia@localhost/tabia[/]
    """
    with opened(db, data) as database:
        from tabia.server.clock import Clock
        from tabia.server.database import backup as backups

        contents = backups.backup(database, file, Clock())
    games, people = contents.rows["games"], contents.rows["people"]
    typer.echo(f"{file}: {games:,} games, {people:,} people, {contents.total:,} rows, sha256 {contents.sha256}.")


def restore(file: Backup, db: DatabaseUrl = None, data: Data = None) -> None:
    """Restore a backup into an empty database, and compare checksums.

    Stop the server first, and give a new database or directory.

    Example: [bold]tabia serve restore tabia-monday.jsonl --data new-directory[/]
    """
    with needs_server():
        from tabia.server.database import backup as backups
    contents = backups.restore(place(db, data), file)
    typer.echo(f"Restored {contents.total:,} rows, sha256 {contents.sha256}.")
