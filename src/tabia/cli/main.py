"""The `tabia` command and its subcommands.

Nothing here imports JAX: commands import what they need when they run, so `tabia --help` is fast.
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
    bench_bodies,
    bench_training,
    doctor,
    engine,
    export,
    games,
    illegal,
    interrupts,
    match,
    metrics,
    play,
    prove,
    rate,
    recipes,
    serve,
    serve_data,
    serve_people,
    serve_recount,
    study,
    train,
)
from tabia.cli.groups import CommandGroup

_PLAY, _MEASURE, _TRAIN, _GAMES = "Play and analyze", "Measure", "Train", "Games and agents"

app = typer.Typer(
    cls=CommandGroup,
    name="tabia",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("play", rich_help_panel=_PLAY)(play.play)
serve.app.add_typer(serve_people.app, name="people")
serve.app.command("invite")(serve_people.invite)
serve.app.command("backup")(serve_data.backup)
serve.app.command("restore")(serve_data.restore)
serve.app.command("recount")(serve_recount.recount)
app.add_typer(serve.app, name="serve", rich_help_panel=_PLAY)
app.command("analyze", rich_help_panel=_PLAY)(analyze.analyze)
app.command("analyse", hidden=True)(analyze.analyze)
app.command("gtp", rich_help_panel=_PLAY)(engine.gtp)
app.command("uci", rich_help_panel=_PLAY)(engine.uci)
app.command("match", rich_help_panel=_MEASURE)(match.match)
app.command("tournament", rich_help_panel=_MEASURE)(match.tournament)
app.add_typer(rate.app, name="rate", rich_help_panel=_MEASURE)
app.command("accuracy", rich_help_panel=_MEASURE)(accuracy.accuracy)
app.command("illegal", rich_help_panel=_MEASURE)(illegal.illegal)
app.command("prove", rich_help_panel=_MEASURE)(prove.prove)
app.add_typer(study.app, name="study", rich_help_panel=_MEASURE)
bench.app.command("training")(bench_training.training)
bench.app.command("scaling")(bench_training.scaling)
bench.app.command("cluster")(bench_training.cluster)
bench.app.command("recipes")(bench_training.recipes)
bench.app.command("bodies")(bench_bodies.bodies)
app.add_typer(bench.app, name="bench", rich_help_panel=_MEASURE)
app.command("train", rich_help_panel=_TRAIN)(train.train)
app.command("resume", rich_help_panel=_TRAIN)(train.resume)
app.command("report", rich_help_panel=_TRAIN)(train.report)
app.command("metrics", rich_help_panel=_TRAIN)(metrics.metrics)
app.command("recipes", rich_help_panel=_TRAIN)(recipes.recipes)
app.command("games", rich_help_panel=_GAMES)(games.games)
app.command("show", rich_help_panel=_GAMES)(games.show)
app.command("check", rich_help_panel=_GAMES)(games.check)
app.command("agents", rich_help_panel=_GAMES)(agents.agents)
app.command("export", rich_help_panel=_GAMES)(export.export)
app.command("doctor", rich_help_panel=_GAMES)(doctor.doctor)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tabia {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Learn board games from their rules alone: train players, play against them, and measure their strength.

    A GAME is an id such as [bold]connect4[/], [bold]othello:size=6[/] or [bold]pgx:chess[/], or a class in
    a file of your own, [bold]nim.py:Nim[/]. [bold]tabia games[/] lists them.

    A PLAYER is a name with options such as [bold]random[/], [bold]mcts:simulations=800[/] or
    [bold]az:connect4,simulations=64[/], or a class in a file of your own. docs/reference/players.md lists them.
    """


def run() -> None:
    """Run the command and end the process; `tabia.__main__` handles signals before it imports this module."""
    interrupts.install()
    interrupts.run(app)
