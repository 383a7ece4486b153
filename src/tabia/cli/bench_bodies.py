"""`tabia bench bodies`: network bodies compared on the self-play of a run."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tabia.cli import printing
from tabia.cli.options import JsonLines, ReportOut, RunGame

if TYPE_CHECKING:
    from tabia.benchmarks.bodies import Row


def bodies(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run directory with a checkpoint.")],
    texts: Annotated[
        list[str] | None,
        typer.Option(
            "--body",
            metavar="NAME=VALUE,...",
            help="Network settings that differ from the run's; repeatable. preset=NAME starts from a preset.",
            show_default="narrower and wider bodies, and bodies of other kinds, of about the same cost",
        ),
    ] = None,
    steps: Annotated[int, typer.Option(min=1, max=10_000_000, help="Optimizer steps of each body.")] = 1000,
    seeds: Annotated[
        int, typer.Option(min=1, max=100, help="Seeds per body; each gives other weights and batches.")
    ] = 1,
    batch: Annotated[
        int | None,
        typer.Option(min=1, max=2**20, help="Positions per evaluation.", show_default="the games of self-play"),
    ] = None,
    held_out: Annotated[
        float, typer.Option(min=0.001, max=0.9, help="Fraction of the lanes of self-play that is not learned from.")
    ] = 0.1,
    positions: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=1_000_000,
            help="Positions on which to compare the network alone with perfect play.",
            show_default="1000 if any position is solved quickly, otherwise 0",
        ),
    ] = None,
    game: RunGame = None,
    as_json: JsonLines = False,
    out: ReportOut = None,
) -> None:
    """Train network bodies on the self-play of a run, and compare their speed and what they learn.

    The replay buffer of the newest checkpoint is the same for all bodies, and the run's own network is trained again as
    the first of them. Every body starts from fresh weights and takes the same number of steps with the learner of the
    run: optimizer, losses, symmetries, EMA of the weights, and the schedule of the learning rate over these steps.

    [bold]evaluations/s[/] is measured in turns, with the weights folded as in self-play. [bold]policy[/] and
    [bold]value[/] are losses over the last quarter of the steps; held out, on positions of games that were not learned
    from. With several seeds, a cell is the mean and half of the range.

    Examples:
      [bold]tabia bench bodies runs/connect4[/]
      [bold]tabia bench bodies runs/connect4 --body blocks=10,filters=96 --body kind=bottleneck,blocks=6 --seeds 2[/]
    """
    from tabia.benchmarks import bodies as benchmark
    from tabia.benchmarks import report
    from tabia.benchmarks.recorded import load, make_bodies

    recorded = load(run, game=game, held_out=held_out)
    compared = make_bodies(recorded, texts or ())
    bench = benchmark.Bench(recorded, steps, seeds=seeds, batch=batch or 0, positions=positions)
    rows = []
    with printing.progress("optimizer steps", len(compared) * seeds * steps) as bar:
        for row in bench.run(compared, bar):
            rows.append(row)
            if as_json:
                with bar.hidden():
                    typer.echo(printing.json_line(row.to_dict()))
    if out is not None:
        printing.save(out, report.text(rows, benchmark.METHOD, command=" ".join(["tabia", *sys.argv[1:]])))
    if not as_json:
        _print(rows)


def _print(rows: Sequence[Row]) -> None:
    console = printing.console()
    speed = ("parameters", "evaluations/s", "ratio", "ms per step")
    learned = ("policy", "value", "held-out policy", "held-out value", "perfect play")
    for headings, cells in (
        (speed, [row.speed_cells for row in rows]),
        (learned, [row.learned_cells for row in rows]),
    ):
        table = printing.table("body", *headings, right=headings)
        body = table.columns[0]
        body.no_wrap, body.overflow, body.min_width = False, "fold", 18  # long names, narrow terminals
        for row, numbers in zip(rows, cells, strict=True):
            table.add_row(printing.escape(row.body), *numbers)
        console.print(table)
