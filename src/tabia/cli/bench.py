"""`tabia bench`: how fast Tabia is on this machine."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from tabia.cli import printing
from tabia.cli.options import Changes, Json, JsonLines, ReportOut

if TYPE_CHECKING:
    from tabia.benchmarks.report import Row

AnyRow = TypeVar("AnyRow", bound="Row")
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
    rows = _collect(found, str(effort), out, name=lambda row: row.game)
    if as_json:
        printing.print_json([row.to_dict() for row in rows])
        return
    _print_table(
        ("game",),
        ("Tabia, steps/s", "pgx, steps/s", "ratio", "batch"),
        (
            (
                row.game,
                f"{row.ours:,.0f}",
                _or_dash(row.pgx, ",.0f"),
                _or_dash(row.ratio, ".2f", "x"),
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
    rows = _collect(
        found,
        benchmark.METHOD,
        out,
        as_json=as_json,
        name=lambda row: f"{row.rule} {row.network} {row.batch} x {row.simulations}",
    )
    if as_json:
        return
    _print_table(
        ("rule", "network"),
        ("batch", "simulations", "Tabia, /s", "mctx, /s", "ratio", "network alone, /s", "share"),
        (
            (
                row.rule,
                row.network,
                str(row.batch),
                str(row.simulations),
                f"{row.ours:,.0f}",
                _or_dash(row.mctx, ",.0f"),
                _or_dash(row.ratio, ".1f", "x"),
                _or_dash(row.network_alone, ",.0f"),
                _or_dash(row.share, ".2f"),
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

    rows = _collect(benchmark.run(agent, compared=compared), benchmark.METHOD, out, as_json=as_json)
    if not as_json:
        _print_table(
            (),
            ("leaves", "seconds", "ratio", "same move"),
            (
                (str(row.leaves), f"{row.seconds:.4f}", f"{row.ratio:.2f}x", _or_dash(row.agreement, ".1%"))
                for row in rows
            ),
        )


@app.command("moves")
def moves(
    agent: Annotated[str, typer.Argument(metavar="[AGENT]", help="An agent of the package.")] = "connect4",
    batches: Annotated[
        list[int] | None, typer.Option("--batch", min=1, help="Positions per call.", show_default="1, 8 and 32")
    ] = None,
    simulations: Annotated[int, typer.Option(min=1, help="Simulations per move.")] = 64,
    repeats: Annotated[int, typer.Option(min=1, help="Calls of each kind; the shortest is reported.")] = 7,
    as_json: JsonLines = False,
    out: ReportOut = None,
) -> None:
    """Measure moves per second of an agent on CPUs: with plain convolutions, by default, and in 8 bits.

    The calls alternate. CPU time counts all threads. 8 bits need ONNX Runtime (the extra [bold]onnx[/]).

    Examples:
      [bold]tabia bench moves[/]
      [bold]tabia bench moves othello --batch 1 --batch 32 --json[/]
    """
    from tabia.benchmarks import moves as benchmark

    found = benchmark.run(agent, batches or benchmark.BATCHES, simulations=simulations, repeats=repeats)
    rows = _collect(found, benchmark.METHOD, out, as_json=as_json)
    if not as_json:
        _print_table(
            ("evaluation",),
            ("batch", "moves/s", "ratio", "CPU, ms per move", "CPU ratio"),
            (
                (
                    row.evaluation,
                    str(row.batch),
                    f"{row.moves:.1f}",
                    f"{row.ratio:.2f}x",
                    f"{1000 * row.cpu:.1f}",
                    f"{row.cpu_ratio:.2f}x",
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
    rows = _collect(benchmark.run(batch=batch, cores=used), benchmark.METHOD, out, as_json=as_json)
    if not as_json:
        _print_table(
            (),
            ("simulations", "batch", "cores", "Tabia, /s", "OpenSpiel, /s", "ratio"),
            (
                (
                    str(row.simulations),
                    str(row.batch),
                    str(row.cores),
                    f"{row.ours:,.0f}",
                    _or_dash(row.open_spiel, ",.0f"),
                    _or_dash(row.ratio, ".1f", "x"),
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

    rows = _collect(benchmark.run(names, batch=batch), benchmark.METHOD, out, as_json=as_json)
    if not as_json:
        _print_table(
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

    rows = _collect(benchmark.run(names), benchmark.METHOD, out, as_json=as_json)
    if as_json:
        return
    headings = ("empty, s", "of it loading", "warm, s", "of it loading", "CPU empty, s", "CPU warm, s")
    cells = []
    for row in rows:
        times = [time for one in (row.empty, row.warm) for time in (one.load + one.move, one.load)]
        cells.append((row.agent, *(f"{time:.2f}" for time in (*times, row.empty.cpu, row.warm.cpu))))
    _print_table(("agent",), headings, cells)


@app.command("training")
def training(as_json: JsonLines = False, out: ReportOut = None) -> None:
    """Measure how much of the machine training uses; takes a few minutes.

    Self-play is compared with the search alone, the learner with convolutions alone, and on CPUs self-play with pgx and
    mctx, all with the same network: 64 x 5 on CPUs, 128 x 5 elsewhere.

    Example:
      [bold]tabia bench training --json[/]
    """
    from tabia.benchmarks import training as benchmark

    rows = _collect(benchmark.run(), benchmark.METHOD, out, as_json=as_json)
    if not as_json:
        _print_table(
            ("what", "compared with", "unit"),
            ("ours", "other", "ratio"),
            (
                (row.what, row.beside, row.unit, f"{row.ours:,.1f}", f"{row.other:,.1f}", f"{row.ratio:.2f}")
                for row in rows
            ),
        )


@app.command("scaling")
def scaling(
    recipe: Annotated[
        str | None,
        typer.Argument(metavar="[RECIPE]", help="The recipe to measure.", show_default="as in bench training"),
    ] = None,
    changes: Changes = None,
    actors: Annotated[list[int] | None, typer.Option(min=1, help="Actors to predict; repeat for more.")] = None,
    devices: Annotated[list[int] | None, typer.Option(min=1, help="Devices to predict; repeat for more.")] = None,
    gigabits: Annotated[float, typer.Option(min=0.001, help="Gigabits per second of the learner's link.")] = 10.0,
    milliseconds: Annotated[float, typer.Option(min=0.0, help="Latency of the learner's link in milliseconds.")] = 1.0,
    device_gigabits: Annotated[
        float, typer.Option(min=0.001, help="Gigabits per second between devices of one machine.")
    ] = 1000.0,
    shared_cores: Annotated[
        int | None,
        typer.Option(min=1, help="Cores of the machine that all devices or actors share.", show_default="not shared"),
    ] = None,
    as_json: JsonLines = False,
    out: ReportOut = None,
) -> None:
    """Measure the costs of an iteration on one device, and predict its time on several devices or actors.

    The first row is the plain loop. Devices share one program; actors play while one learner learns. On a CPU, each
    device or actor is one core. The model and how well it predicts are described in docs/explanation/scaling.md.

    Examples:
      [bold]tabia bench scaling --actors 2 --devices 4 --shared-cores 2[/]
      [bold]tabia bench scaling connect4-gpu --actors 8 --actors 64 --gigabits 100[/]
    """
    from tabia.benchmarks import scaling as benchmark
    from tabia.cluster.model import Link

    found = benchmark.measure(benchmark.configuration(recipe, changes or []))
    predicted = benchmark.predict(
        found,
        actors=actors or (1, 2, 4, 8),
        devices=devices or (2, 4, 8),
        link=Link(gigabits * 1e9 / 8, milliseconds / 1e3),
        device_link=Link(device_gigabits * 1e9 / 8),
        cores=math.inf if shared_cores is None else shared_cores,
    )
    rows = list(predicted)
    everything: list[Row] = [found, *rows]
    _collect(everything, benchmark.METHOD, out, as_json=as_json)
    if as_json:
        return
    _print_table(("cost",), ("value",), benchmark.cost_cells(found))
    _print_table(
        ("predicted", "bound by"),
        ("iteration, s", "self-play, s", "learner, s", "link, s", "stale", "positions/s", "speedup"),
        (row.cells for row in rows),
    )


@app.command("cluster")
def cluster(
    game: Annotated[str, typer.Argument(metavar="GAME", help="The game whose default recipe is run.")] = "tictactoe",
    changes: Changes = None,
    iterations: Annotated[int, typer.Option(min=10, help="Iterations per measurement.")] = 40,
    repeats: Annotated[int, typer.Option(min=1, help="Measurements; the median is reported.")] = 3,
    as_json: Json = False,
    out: ReportOut = None,
) -> None:
    """Compare the plain training loop with one and with two actors on a Ray cluster of this machine.

    Examples:
      [bold]tabia bench cluster connect3[/]
      [bold]tabia bench cluster connect4 --set network.filters=16 --iterations 10[/]
    """
    from tabia.benchmarks import cluster as benchmark

    found = benchmark.run(game, changes or [], iterations=iterations, repeats=repeats)
    rows = _collect(found, benchmark.METHOD, out)
    if as_json:
        printing.print_json([row.to_dict() for row in rows])
        return
    for row in rows:
        name = f"{row.actors} actor{'s' * (row.actors > 1)}" if row.actors else "plain loop"
        typer.echo(f"{name:12} {row.seconds:.3f} s per iteration, {row.of_plain:.2f} of the plain loop's speed")


@app.command("recipes")
def recipes(
    games: Annotated[
        list[str] | None, typer.Argument(metavar="[GAME]...", help="Games to train.", show_default="the suite")
    ] = None,
    recipe: Annotated[str, typer.Option(help="The recipe to measure.")] = "any-laptop",
    minutes: Annotated[float, typer.Option(min=0.1, help="Minutes of training per game.")] = 10.0,
    matches: Annotated[int, typer.Option("--games", min=2, help="Games of each match at the end.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the runs.")] = 0,
    runs: Annotated[Path, typer.Option(help="Directory of the runs; finished ones are not repeated.")] = Path(
        "runs/bench-recipes"
    ),
    as_json: JsonLines = False,
    out: ReportOut = None,
) -> None:
    """Train a suite of different games with one recipe, and measure how strong the players become.

    With 64 simulations, each player meets MCTS(1000) and, where the game is solved quickly, perfect play. Ctrl-C stops
    and saves; the same command continues.

    Examples:
      [bold]tabia bench recipes[/]
      [bold]tabia bench recipes othello:size=6 --minutes 5 --games 60[/]
    """
    from tabia.benchmarks import recipes as benchmark
    from tabia.cli.train import run_here

    plan = benchmark.Plan(recipe=recipe, minutes=minutes, games=matches, seed=seed, runs=runs)
    found = benchmark.run(games or benchmark.SUITE, plan, run_here)
    rows = _collect(found, benchmark.METHOD, out, as_json=as_json)
    if not as_json:
        _print_table(
            ("game",),
            ("positions", "points", "95%", "games", "agreement", "goal"),
            (row.cells for row in rows),
        )


def _collect(
    found: Iterable[AnyRow],
    method: str,
    out: Path | None,
    *,
    as_json: bool = False,
    name: Callable[[AnyRow], str] | None = None,
) -> list[AnyRow]:
    """The rows, also as a report; each is printed with `as_json`, or named in a terminal, as soon as it is known."""
    from tabia.benchmarks import report

    rows = []
    for row in found:
        rows.append(row)
        if as_json:
            typer.echo(printing.json_line(row.to_dict()))
        elif name is not None and sys.stderr.isatty():
            typer.echo(f"{name(row)} measured", err=True)
    if out is not None:
        printing.save(out, report.text(rows, method, command=" ".join(["tabia", *sys.argv[1:]])))
    return rows


def _print_table(
    names: tuple[str, ...],
    numbers: tuple[str, ...],
    rows: Iterable[tuple[str, ...]],
    *,
    last: tuple[str, ...] = (),
) -> None:
    table = printing.table(*names, *numbers, *last, right=numbers)
    for row in rows:
        table.add_row(*row)
    printing.console().print(table)


def _or_dash(number: float | None, shape: str, unit: str = "") -> str:
    return "-" if number is None else f"{number:{shape}}{unit}"
