"""`tabia bench`: how fast Tabia is on this machine."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from tabia.cli import printing

if TYPE_CHECKING:
    from tabia.benchmarks.games import Row
    from tabia.benchmarks.report import Row as AnyRow
    from tabia.benchmarks.search import Row as SearchRow

Line = TypeVar("Line", bound="AnyRow")

app = typer.Typer(no_args_is_help=True, help="Measure how fast Tabia is on this machine.")


@app.callback()
def bench() -> None:
    """Measure how fast Tabia is on this machine."""


@app.command("games")
def games(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[GAME]...", help="Games to measure; all, if none is named.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A rough figure in a few seconds.")] = False,
    batch: Annotated[int, typer.Option(min=1, max=2**20, help="Games played side by side.")] = 1024,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    out: Annotated[Path | None, typer.Option(help="Also write a JSON report with machine, versions and date.")] = None,
) -> None:
    """Steps per second of random play, beside pgx's own rules of the same game.

    Both sides play the same way in the same run; the figures are medians of stretches taken in turns.

    Examples:
      [bold]tabia bench games[/]
      [bold]tabia bench games connect4 --batch 8192 --out connect4.json[/]
    """
    from tabia.benchmarks import games as measured
    from tabia.benchmarks import report

    effort = measured.QUICK if quick else measured.THOROUGH
    rows = []
    for row in measured.run(ids, batch=batch, effort=effort):
        rows.append(row)
        if sys.stderr.isatty():
            typer.echo(f"{row.game} measured", err=True)
    if out is not None:
        printing.save(out, report.text(rows, str(effort), command=" ".join(["tabia", *sys.argv[1:]])))
    if as_json:
        printing.print_json([row.fields() for row in rows])
    else:
        _print(rows)


def _print(rows: list[Row]) -> None:
    heading = ("Tabia, steps/s", "pgx, steps/s", "ratio", "batch")
    table = printing.table("game", *heading, "device", right=heading)
    for row in rows:
        theirs = "-" if row.pgx is None else f"{row.pgx:,.0f}"
        ratio = "-" if row.ratio is None else f"{row.ratio:.2f}x"
        table.add_row(row.game, f"{row.ours:,.0f}", theirs, ratio, str(row.batch), row.device)
    printing.console().print(table)


@app.command("search")
def search(
    quick: Annotated[bool, typer.Option("--quick", help="Three small cases, within 45 seconds on two cores.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a row instead of a table.")] = False,
    out: Annotated[Path | None, typer.Option(help="Also write a JSON report with machine, versions and date.")] = None,
) -> None:
    """Simulations per second of our search on Connect 4, beside mctx's with the same rules and network.

    Cases: Gumbel and PUCT, without and with a 64 x 5 network, simulations 32 to 800, three batch sizes; and the rate of
    the network alone at the same batch. The full set takes about half an hour on two cores.

    Examples:
      [bold]tabia bench search --quick[/]
      [bold]tabia bench search --json --out search.json[/]
    """
    from tabia.benchmarks import report
    from tabia.benchmarks import search as measured

    rows = []
    for row in measured.run(measured.cases(quick=quick)):
        rows.append(row)
        if as_json:
            typer.echo(printing.json_line(row.fields()))
        elif sys.stderr.isatty():
            typer.echo(f"{row.rule} {row.network} {row.batch} x {row.simulations} measured", err=True)
    if out is not None:
        printing.save(out, report.text(rows, measured.METHOD, command=" ".join(["tabia", *sys.argv[1:]])))
    if not as_json:
        _print_search(rows)


@app.command("leaves")
def leaves(
    agent: Annotated[
        str | None, typer.Option(help="A run, a file of weights or a shipped agent; without, only speed is measured.")
    ] = None,
    compared: Annotated[int, typer.Option(min=0, help="Positions on which the moves are compared; 0 for none.")] = 500,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a row instead of a table.")] = False,
    out: Annotated[Path | None, typer.Option(help="Also write a JSON report with machine, versions and date.")] = None,
) -> None:
    """One game alone: several leaves a step against one, in speed and in the moves chosen.

    800 simulations of one Connect 4 position with a 64 x 5 network, or an agent's own.

    Example:
      [bold]tabia bench leaves --agent runs/connect4[/]
    """
    from tabia.benchmarks import leaves as measured

    rows = _gather(
        measured.run(agent, compared=compared), "median of 5 searches after compilation", out, as_json=as_json
    )
    if not as_json:
        heading = ("leaves", "seconds", "ratio", "same move")
        table = printing.table(*heading, right=heading)
        for row in rows:
            same = "-" if row.agreement is None else f"{row.agreement:.1%}"
            table.add_row(str(row.leaves), f"{row.seconds:.4f}", f"{row.ratio:.2f}x", same)
        printing.console().print(table)


@app.command("rollouts")
def rollouts(
    batch: Annotated[int, typer.Option(min=1, max=2**16, help="Positions our side searches side by side.")] = 256,
    cores: Annotated[int, typer.Option(min=1, help="Cores our side may use; OpenSpiel's bot uses one.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a row instead of a table.")] = False,
    out: Annotated[Path | None, typer.Option(help="Also write a JSON report with machine, versions and date.")] = None,
) -> None:
    """Rollouts per second of our MCTS on Connect 4, beside OpenSpiel's C++ bot with the same rule and budget.

    Without OpenSpiel (the extra [bold]spiel[/]) our side is measured alone.

    Examples:
      [bold]tabia bench rollouts[/]
      [bold]tabia bench rollouts --cores 2 --json[/]
    """
    from tabia.benchmarks import rollouts as measured

    used = measured.confine(cores)
    rows = _gather(measured.run(batch=batch, cores=used), measured.METHOD, out, as_json=as_json)
    if not as_json:
        heading = ("simulations", "batch", "cores", "Tabia, /s", "OpenSpiel, /s", "ratio")
        table = printing.table(*heading, right=heading)
        for row in rows:
            theirs = "-" if row.open_spiel is None else f"{row.open_spiel:,.0f}"
            ratio = "-" if row.ratio is None else f"{row.ratio:.1f}x"
            table.add_row(str(row.simulations), str(row.batch), str(row.cores), f"{row.ours:,.0f}", theirs, ratio)
        printing.console().print(table)


@app.command("networks")
def networks(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[PRESET]...", help="Presets to measure; all, if none is named.")
    ] = None,
    batch: Annotated[int, typer.Option(min=1, max=2**16, help="Positions side by side.")] = 256,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a row instead of a table.")] = False,
    out: Annotated[Path | None, typer.Option(help="Also write a JSON report with machine, versions and date.")] = None,
) -> None:
    """Positions per second of the preset networks on Connect 4: folded for playing, and in a step of training.

    Examples:
      [bold]tabia bench networks[/]
      [bold]tabia bench networks dense tower --batch 1024 --json[/]
    """
    from tabia.benchmarks import networks as measured

    rows = _gather(measured.run(names, batch=batch), measured.METHOD, out, as_json=as_json)
    if not as_json:
        heading = ("trainable", "batch", "playing, /s", "training, /s")
        table = printing.table("network", *heading, right=heading)
        for row in rows:
            table.add_row(
                row.network, f"{row.trainable:,}", str(row.batch), f"{row.forward:,.0f}", f"{row.training:,.0f}"
            )
        printing.console().print(table)


def _gather(found: Iterable[Line], method: str, out: Path | None, *, as_json: bool) -> list[Line]:
    """The rows, each told as JSON as soon as it is known if wanted, and the report written."""
    from tabia.benchmarks import report

    rows = []
    for row in found:
        rows.append(row)
        if as_json:
            typer.echo(printing.json_line(row.fields()))
    if out is not None:
        printing.save(out, report.text(rows, method, command=" ".join(["tabia", *sys.argv[1:]])))
    return rows


def _print_search(rows: list[SearchRow]) -> None:
    heading = ("batch", "simulations", "Tabia, /s", "mctx, /s", "ratio", "network alone, /s", "share")
    table = printing.table("rule", "network", *heading, right=heading)
    for row in rows:
        numbers = (row.ours, row.mctx, row.network_alone)
        ours, theirs, alone = ("-" if number is None else f"{number:,.0f}" for number in numbers)
        ratio = "-" if row.ratio is None else f"{row.ratio:.1f}x"
        share = "-" if row.share is None else f"{row.share:.2f}"
        table.add_row(row.rule, row.network, str(row.batch), str(row.simulations), ours, theirs, ratio, alone, share)
    printing.console().print(table)


@app.command("training")
def training(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a row instead of a table.")] = False,
    out: Annotated[Path | None, typer.Option(help="Also write a JSON report with machine, versions and date.")] = None,
) -> None:
    """How much of the machine training uses.

    Self-play beside its bare search, the learner beside bare convolutions, and on CPUs self-play beside pgx and mctx as
    they come, all with the same network: 64 x 5 on CPUs, 128 x 5 elsewhere. A few minutes.

    Example:
      [bold]tabia bench training --json[/]
    """
    from tabia.benchmarks import training as measured

    rows = _gather(measured.run(), measured.METHOD, out, as_json=as_json)
    if not as_json:
        heading = ("ours", "other", "ratio")
        table = printing.table("what", "beside", "unit", *heading, right=heading)
        for row in rows:
            table.add_row(row.what, row.beside, row.unit, f"{row.ours:,.1f}", f"{row.other:,.1f}", f"{row.ratio:.2f}")
        printing.console().print(table)


@app.command("first-move")
def first_move(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[AGENT]...", help="Shipped agents to measure; all, if none is named.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per row instead of a table.")] = False,
    out: Annotated[Path | None, typer.Option(help="Also write a JSON report with machine, versions and date.")] = None,
) -> None:
    """Seconds to the first move of shipped agents, with an empty and with a warm compilation cache.

    Each figure comes from a fresh process and is clocked after its imports. Half a minute per agent on two cores.

    Example:
      [bold]tabia bench first-move othello[/]
    """
    from tabia.benchmarks import first_move as measured

    rows = _gather(measured.run(names), measured.METHOD, out, as_json=as_json)
    if not as_json:
        heading = ("empty, s", "of it loading", "warm, s", "of it loading", "CPU empty, s", "CPU warm, s")
        table = printing.table("agent", *heading, right=heading)
        for row in rows:
            clocked = [number for one in (row.empty, row.warm) for number in (one.load + one.move, one.load)]
            table.add_row(row.agent, *(f"{number:.2f}" for number in (*clocked, row.empty.cpu, row.warm.cpu)))
        printing.console().print(table)
