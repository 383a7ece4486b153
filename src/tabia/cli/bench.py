"""`tabia bench`: how fast games, searches and networks are on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from tabia.cli import printing
from tabia.cli.bench_report import collect, or_dash, print_table
from tabia.cli.options import Json, JsonLines, ReportOut

Quick = Annotated[bool, typer.Option("--quick", help="Measure roughly, in a few seconds.")]

app = typer.Typer(no_args_is_help=True, help="Measure how fast Tabia is on this machine.")


@app.callback()
def bench() -> None:
    """Measure how fast Tabia is on this machine."""


@app.command("games")
def games(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[GAME]...", help="Games to measure.", show_default="all")
    ] = None,
    quick: Quick = False,
    batch: Annotated[int, typer.Option(min=1, max=2**20, help="Games per batch.")] = 1024,
    as_json: Json = False,
    out: ReportOut = None,
) -> None:
    """Measure steps per second of random play, and those of pgx for the games that it has.

    Both libraries run the same loop in the same process. The figures are medians of alternating runs.

    Examples:
      [bold]tabia bench games[/]
      [bold]tabia bench games connect4 --batch 8192 --out connect4.json[/]
    """
    from tabia.benchmarks import games as benchmark

    effort = benchmark.QUICK if quick else benchmark.THOROUGH
    found = benchmark.run(ids, batch=batch, effort=effort)
    rows = collect(found, str(effort), out, name=lambda row: row.game)
    if as_json:
        printing.print_json([row.to_dict() for row in rows])
        return
    print_table(
        ("game",),
        ("Tabia, steps/s", "pgx, steps/s", "ratio", "batch"),
        (
            (
                row.game,
                f"{row.ours:,.0f}",
                or_dash(row.pgx, ",.0f"),
                or_dash(row.ratio, ".2f", "x"),
                str(row.batch),
                row.device,
            )
            for row in rows
        ),
        last=("device",),
    )


@app.command("search")
def search(
    quick: Annotated[bool, typer.Option("--quick", help="Three small cases, within 45 seconds on two cores.")] = False,
    as_json: JsonLines = False,
    out: ReportOut = None,
) -> None:
    """Measure simulations per second of the search on Connect 4, and those of mctx with the same rules and network.

    Cases: Gumbel and PUCT, without and with a 64 x 5 network, 32 to 800 simulations, three batch sizes; and the speed
    of the network alone at the same batch size. The full set takes about half an hour on two cores.

    Examples:
      [bold]tabia bench search --quick[/]
      [bold]tabia bench search --json --out search.json[/]
    """
    from tabia.benchmarks import search as benchmark

    found = benchmark.run(benchmark.cases(quick=quick))
    rows = collect(
        found,
        benchmark.METHOD,
        out,
        as_json=as_json,
        name=lambda row: f"{row.rule} {row.network} {row.batch} x {row.simulations}",
    )
    if as_json:
        return
    print_table(
        ("rule", "network"),
        ("batch", "simulations", "Tabia, /s", "mctx, /s", "ratio", "network alone, /s", "share"),
        (
            (
                row.rule,
                row.network,
                str(row.batch),
                str(row.simulations),
                f"{row.ours:,.0f}",
                or_dash(row.mctx, ",.0f"),
                or_dash(row.ratio, ".1f", "x"),
                or_dash(row.network_alone, ",.0f"),
                or_dash(row.share, ".2f"),
            )
            for row in rows
        ),
    )


@app.command("leaves")
def leaves(
    agent: Annotated[
        str | None,
        typer.Option(
            help="A run, a weights file or an agent in the package.",
            show_default="fresh weights, measured for speed only",
        ),
    ] = None,
    compared: Annotated[int, typer.Option(min=0, help="Number of positions on which to compare the moves.")] = 500,
    as_json: JsonLines = False,
    out: ReportOut = None,
) -> None:
    """Measure one search with several leaves per step: speed, and agreement with one leaf per step.

    800 simulations of one Connect 4 position with a 64 x 5 network, or that of an agent.

    Example:
      [bold]tabia bench leaves --agent runs/connect4[/]
    """
    from tabia.benchmarks import leaves as benchmark

    rows = collect(benchmark.run(agent, compared=compared), benchmark.METHOD, out, as_json=as_json)
    if not as_json:
        print_table(
            (),
            ("leaves", "seconds", "ratio", "same move"),
            (
                (str(row.leaves), f"{row.seconds:.4f}", f"{row.ratio:.2f}x", or_dash(row.agreement, ".1%"))
                for row in rows
            ),
        )


@app.command("moves")
def moves(
    agent: Annotated[str, typer.Argument(metavar="[AGENT]", help="An agent of the package.")] = "connect4",
    batches: Annotated[
        list[int] | None, typer.Option("--batch", min=1, help="Games per call.", show_default="1, 8 and 32")
    ] = None,
    simulations: Annotated[int, typer.Option(min=1, help="Simulations per move.")] = 64,
    consecutive: Annotated[int, typer.Option("--moves", min=1, help="Consecutive moves of each game.")] = 8,
    repeats: Annotated[int, typer.Option(min=1, help="Games of each kind; the shortest time is reported.")] = 7,
    as_json: JsonLines = False,
    out: ReportOut = None,
) -> None:
    """Measure moves per second of an agent on CPUs: with plain convolutions, by default, and in 8 bits.

    The agent plays the same games with each in turn. CPU time counts all threads. "hits" is the fraction of evaluations
    found in the cache. 8 bits need ONNX Runtime (the extra [bold]onnx[/]).

    Examples:
      [bold]tabia bench moves[/]
      [bold]tabia bench moves othello --batch 1 --batch 32 --json[/]
    """
    from tabia.benchmarks import moves as benchmark

    found = benchmark.run(
        agent, batches or benchmark.BATCHES, simulations=simulations, moves=consecutive, repeats=repeats
    )
    rows = collect(found, benchmark.METHOD, out, as_json=as_json)
    if not as_json:
        print_table(
            ("evaluation",),
            ("batch", "moves/s", "ratio", "CPU, ms per move", "CPU ratio", "hits"),
            (
                (
                    row.evaluation,
                    str(row.batch),
                    f"{row.moves:.1f}",
                    f"{row.ratio:.2f}x",
                    f"{1000 * row.cpu:.1f}",
                    f"{row.cpu_ratio:.2f}x",
                    or_dash(row.hits, ".0%"),
                )
                for row in rows
            ),
        )


@app.command("rollouts")
def rollouts(
    batch: Annotated[int, typer.Option(min=1, max=2**16, help="Positions per batch of Tabia's search.")] = 256,
    cores: Annotated[int, typer.Option(min=1, help="Cores that Tabia may use; the bot of OpenSpiel uses one.")] = 1,
    as_json: JsonLines = False,
    out: ReportOut = None,
) -> None:
    """Measure rollouts per second of MCTS on Connect 4, and those of OpenSpiel's C++ bot with the same settings.

    Without OpenSpiel (the extra [bold]spiel[/]) only Tabia is measured.

    Examples:
      [bold]tabia bench rollouts[/]
      [bold]tabia bench rollouts --cores 2 --json[/]
    """
    from tabia.benchmarks import rollouts as benchmark

    used = benchmark.confine(cores)
    rows = collect(benchmark.run(batch=batch, cores=used), benchmark.METHOD, out, as_json=as_json)
    if not as_json:
        print_table(
            (),
            ("simulations", "batch", "cores", "Tabia, /s", "OpenSpiel, /s", "ratio"),
            (
                (
                    str(row.simulations),
                    str(row.batch),
                    str(row.cores),
                    f"{row.ours:,.0f}",
                    or_dash(row.open_spiel, ",.0f"),
                    or_dash(row.ratio, ".1f", "x"),
                )
                for row in rows
            ),
        )


@app.command("networks")
def networks(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[PRESET]...", help="Presets to measure.", show_default="all")
    ] = None,
    batch: Annotated[int, typer.Option(min=1, max=2**16, help="Positions per call.")] = 256,
    as_json: JsonLines = False,
    out: ReportOut = None,
) -> None:
    """Measure positions per second of the preset networks on Connect 4: folded for playing, and in a training step.

    Examples:
      [bold]tabia bench networks[/]
      [bold]tabia bench networks dense tower --batch 1024 --json[/]
    """
    from tabia.benchmarks import networks as benchmark

    rows = collect(benchmark.run(names, batch=batch), benchmark.METHOD, out, as_json=as_json)
    if not as_json:
        print_table(
            ("network",),
            ("trainable", "batch", "playing, /s", "training, /s"),
            (
                (row.network, f"{row.trainable:,}", str(row.batch), f"{row.forward:,.0f}", f"{row.training:,.0f}")
                for row in rows
            ),
        )


@app.command("first-move")
def first_move(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[AGENT]...", help="Agents to measure.", show_default="all")
    ] = None,
    as_json: JsonLines = False,
    out: ReportOut = None,
) -> None:
    """Measure the seconds to the first move of the agents in the package, with an empty and a warm compilation cache.

    Every measurement is a fresh process, timed after its imports. It takes half a minute per agent on two cores.

    Example:
      [bold]tabia bench first-move othello[/]
    """
    from tabia.benchmarks import first_move as benchmark

    rows = collect(benchmark.run(names), benchmark.METHOD, out, as_json=as_json)
    if as_json:
        return
    headings = ("empty, s", "of it loading", "warm, s", "of it loading", "CPU empty, s", "CPU warm, s")
    cells = []
    for row in rows:
        times = [time for one in (row.empty, row.warm) for time in (one.load + one.move, one.load)]
        cells.append((row.agent, *(f"{time:.2f}" for time in (*times, row.empty.cpu, row.warm.cpu))))
    print_table(("agent",), headings, cells)
