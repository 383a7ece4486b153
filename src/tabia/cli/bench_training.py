"""`tabia bench training`, `scaling`, `cluster` and `recipes`: how fast and how well Tabia trains."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tabia.cli import printing
from tabia.cli.bench_report import collect, print_table
from tabia.cli.options import Changes, Json, JsonLines, ReportOut

if TYPE_CHECKING:
    from tabia.benchmarks.report import Row


def training(as_json: JsonLines = False, out: ReportOut = None) -> None:
    """Measure how much of the machine training uses; takes a few minutes.

    Self-play is compared with the search alone, the learner with convolutions alone, and on CPUs self-play with pgx and
    mctx, all with the same network: 64 x 5 on CPUs, 128 x 5 elsewhere.

    Example:
      [bold]tabia bench training --json[/]
    """
    from tabia.benchmarks import training as benchmark

    rows = collect(benchmark.run(), benchmark.METHOD, out, as_json=as_json)
    if not as_json:
        print_table(
            ("what", "compared with", "unit"),
            ("ours", "other", "ratio"),
            (
                (row.what, row.beside, row.unit, f"{row.ours:,.1f}", f"{row.other:,.1f}", f"{row.ratio:.2f}")
                for row in rows
            ),
        )


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
    collect(everything, benchmark.METHOD, out, as_json=as_json)
    if as_json:
        return
    print_table(("cost",), ("value",), benchmark.cost_cells(found))
    print_table(
        ("predicted", "bound by"),
        ("iteration, s", "self-play, s", "learner, s", "link, s", "stale", "positions/s", "speedup"),
        (row.cells for row in rows),
    )


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
    rows = collect(found, benchmark.METHOD, out)
    if as_json:
        printing.print_json([row.to_dict() for row in rows])
        return
    for row in rows:
        name = f"{row.actors} actor{'s' * (row.actors > 1)}" if row.actors else "plain loop"
        typer.echo(f"{name:12} {row.seconds:.3f} s per iteration, {row.of_plain:.2f} of the plain loop's speed")


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
    rows = collect(found, benchmark.METHOD, out, as_json=as_json)
    if not as_json:
        print_table(
            ("game",),
            ("positions", "points", "95%", "games", "agreement", "goal"),
            (row.cells for row in rows),
        )
