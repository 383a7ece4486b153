"""`tabia metrics`: the metrics of a run for spreadsheets, notebooks and TensorBoard."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Annotated

import typer

from tabia.cli import printing
from tabia.cli.options import RunPath
from tabia.cli.train import Events

Csv = Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Write CSV to a file instead of stdout.")]


def metrics(path: RunPath, csv: Csv = None, tensorboard: Events = None) -> None:
    """Export the metrics of a run as CSV, one row per iteration, or as TensorBoard events.

    Examples:
      [bold]tabia metrics runs/connect4 > metrics.csv[/]
      [bold]tabia metrics runs/connect4 --tensorboard logs/connect4[/]
    """
    from tabia.training.run import metrics as recorded
    from tabia.training.run.directory import RunDirectory
    from tabia.training.run.export import export_tensorboard, write_csv

    run = RunDirectory(path)
    run.config()  # refuses a directory that holds no run
    if tensorboard is not None:
        count = export_tensorboard(run, tensorboard)
        typer.echo(f"Wrote {count:,} iterations. View them with: tensorboard --logdir {tensorboard}", err=True)
    if csv is not None:
        page = io.StringIO()
        write_csv(recorded.read(run), page)
        printing.save(csv, page.getvalue())
    elif tensorboard is None:
        write_csv(recorded.read(run), sys.stdout)
