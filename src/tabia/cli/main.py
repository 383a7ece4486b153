"""The `tabia` command: its commands, and how they speak when something is refused.

Nothing here imports JAX: commands import what they need when they run, so `tabia --help` answers at once.
"""

from __future__ import annotations

from typing import Annotated

import typer

from tabia import __version__
from tabia.cli import (
    accuracy,
    agents,
    analyze,
    bench,
    doctor,
    games,
    interrupts,
    match,
    metrics,
    play,
    rate,
    tournament,
    train,
)
from tabia.cli.refusal import Polite

app = typer.Typer(
    cls=Polite,
    name="tabia",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("games")(games.games)
app.command("show")(games.show)
app.command("check")(games.check)
app.command("agents")(agents.agents)
app.command("match")(match.match)
app.command("tournament")(tournament.tournament)
app.add_typer(rate.app, name="rate")
app.command("accuracy")(accuracy.accuracy)
app.command("play")(play.play)
app.command("analyze")(analyze.analyze)
app.command("analyse", hidden=True)(analyze.analyze)
app.command("train")(train.train)
app.command("resume")(train.resume)
app.command("report")(train.report)
app.command("metrics")(metrics.metrics)
app.command("recipes")(train.recipes)
app.command("prove")(train.prove)
app.command("doctor")(doctor.doctor)
app.add_typer(bench.app, name="bench")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tabia {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Board games learned from their rules alone: play them, check them, measure them.

    A GAME is an id such as [bold]connect4[/], [bold]connect:rows=6,columns=9,line=4[/], [bold]pgx:chess[/],
    [bold]spiel:hex[/], or a class in a file of your own, [bold]nim.py:Nim[/]. [bold]tabia games[/] lists what there is.
    """


def run() -> None:
    """Run the command and end the process; `tabia.__main__` handles signals before it imports this module."""
    interrupts.install()
    interrupts.run(app)
