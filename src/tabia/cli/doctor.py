"""`tabia doctor`: whether this machine has what Tabia needs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tabia.cli.options import RunsDirectory

Data = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Where games are stored.", show_default="the user's data directory")
]


def doctor(data: Data = None, runs: RunsDirectory = Path("runs")) -> None:
    """Check device, memory, versions, directories and extras; exit code 1 if something is broken.

    Example: [bold]tabia doctor[/]
    """
    from tabia.server.doctor import BROKEN, examine
    from tabia.server.paths import data_directory

    broken = False
    for finding in examine(data or data_directory(), runs):
        typer.echo(f"{finding.state:<8} {finding.what}: {finding.text}")
        broken |= finding.state == BROKEN
    if broken:
        raise typer.Exit(1)
