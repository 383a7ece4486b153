"""`tabia train`, `tabia resume` and `tabia report`: the life of a run."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tabia.cli import interrupts, printing
from tabia.cli.actors import Place, place
from tabia.cli.options import (
    ActorDevices,
    Actors,
    Changes,
    Devices,
    GameId,
    JsonLines,
    RayAddress,
    RunGame,
    RunPath,
)
from tabia.core.text import printable

if TYPE_CHECKING:
    from tabia.training.config.schema import Config
    from tabia.training.training import Training

_STARTED = time.monotonic()  # before the slow imports
Out = Annotated[Path | None, typer.Option(help="Run directory.", show_default="runs/GAME, numbered if it exists")]
RecipeName = Annotated[
    str | None, typer.Option("--recipe", help="Name of a recipe, or NAME@VARIANT; see `tabia recipes`.")
]
Minutes = Annotated[
    float | None,
    typer.Option(min=0.01, help="Train for this many minutes, compilation included; the last evaluation comes after."),
]
More = Annotated[float | None, typer.Option("--minutes", min=0.0, help="Train for this many more minutes.")]
MoreIterations = Annotated[int | None, typer.Option("--iterations", min=0, help="Train for this many more iterations.")]
TrainSeed = Annotated[int | None, typer.Option("--seed", min=0, help="Random seed of the run.")]
PlayerFiles = Annotated[
    list[str] | None,
    typer.Option(
        "--player", metavar="SPEC", help="An opponent of the run that is a file.py:Class, whose code is executed."
    ),
]
Estimate = Annotated[bool, typer.Option("--estimate", help="Print how long the run would take here, without training.")]
Events = Annotated[
    Path | None, typer.Option("--tensorboard", metavar="LOGDIR", help="Write TensorBoard events to a directory.")
]


def train(
    game_id: GameId,
    recipe: RecipeName = None,
    out: Out = None,
    minutes: Minutes = None,
    seed: TrainSeed = None,
    changes: Changes = None,
    tensorboard: Events = None,
    estimate: Estimate = False,
    devices: Devices = None,
    ray: RayAddress = None,
    actors: Actors = None,
    actor_devices: ActorDevices = None,
    as_json: JsonLines = False,
) -> None:
    """Train a player from the rules of a game. Ctrl-C stops and saves; `tabia resume` continues.

    Examples:
      [bold]tabia train tictactoe[/]
      [bold]tabia train connect4 --recipe connect4-laptop --minutes 60[/]
      [bold]tabia train othello --set search.simulations=64 --set network.blocks=8[/]
      [bold]tabia train connect4 --estimate[/]
      [bold]tabia train connect4 --devices all[/]
      [bold]tabia train connect4 --ray local --actors 2[/]
    """
    from tabia.training.evaluate import opponents
    from tabia.training.plan import Plan
    from tabia.training.run.directory import RunDirectory
    from tabia.training.training import Training

    config = _config(game_id, recipe, minutes, seed, changes or [])
    if estimate:
        _estimate(config, as_json)
        return
    opponents(Plan(config))  # refuses a misspelled one before anything is written
    with place(ray, actors, actor_devices) as where:  # before anything is written
        run = RunDirectory(out or _free(config))
        _train(Training.begin(run, config), as_json, tensorboard, where)


def resume(
    path: RunPath,
    minutes: More = None,
    iterations: MoreIterations = None,
    game: RunGame = None,
    players: PlayerFiles = None,
    tensorboard: Events = None,
    devices: Devices = None,
    ray: RayAddress = None,
    actors: Actors = None,
    actor_devices: ActorDevices = None,
    as_json: JsonLines = False,
) -> None:
    """Resume a run from its newest intact checkpoint, exactly as if it had never stopped, or extend it.

    A run can be resumed with or without a cluster, regardless of how it was started.

    Examples:
      [bold]tabia resume runs/connect4[/]
      [bold]tabia resume runs/connect4 --minutes 30[/]
      [bold]tabia resume runs/connect4 --ray 10.0.0.1:6379 --actors 8[/]
    """
    from tabia.training.run.directory import RunDirectory
    from tabia.training.training import Training

    run = RunDirectory(path)
    with run.locked():  # before anything is read, until the last checkpoint is saved
        training = Training.resume(run, game=_id(game), players=tuple(players or ()))
        for note in training.notes:
            typer.echo(f"Skipped: {printable(note)}", err=True)
        if minutes is not None or iterations is not None:
            training.extend(minutes=minutes or 0.0, iterations=iterations or 0)
        if training.progress >= 1.0:
            done = printing.count(training.counters.iteration, "iteration")
            finished = f"{path} is finished: {done}. Its report: tabia report {path}"
            typer.echo(f"{finished}{_named_game(training.config)}", err=True)
            typer.echo(_strength(training), err=True)
            typer.echo(
                f"Train it for longer with: tabia resume {path} --minutes 10{_named_game(training.config)}", err=True
            )
            return
        with place(ray, actors, actor_devices) as where:
            _train(training, as_json, tensorboard, where)


def report(
    path: RunPath,
    rate: Annotated[bool, typer.Option(help="Play games between checkpoints to rate them.")] = True,
    game: RunGame = None,
    devices: Devices = None,
) -> None:
    """Write report.md and its figures for a run."""
    from tabia.training.report.report import write_report
    from tabia.training.run.directory import RunDirectory

    if not rate:
        typer.echo(write_report(RunDirectory(path), rate=False, game=_id(game)))
        return
    with printing.progress("games") as bar:
        written = write_report(RunDirectory(path), on_progress=bar, game=_id(game))
    typer.echo(written)


def _id(game: str | None) -> str | None:
    """The id of the game that the user named."""
    from tabia.games import make

    return None if game is None else make(game).id


def _named_game(config: Config) -> str:
    """The option that a run needs if its game is a Python file."""
    from tabia.core.trust import names_code

    return f" --game {config.game}" if names_code(config.game) else ""


def _config(game_id: str, recipe: str | None, minutes: float | None, seed: int | None, changes: list[str]) -> Config:
    from dataclasses import replace

    from tabia.games import make
    from tabia.training.config import recipes as known
    from tabia.training.config.toml import with_assignments

    game = make(game_id).id
    chosen = known.load(recipe) if recipe is not None else known.default(game)
    config = with_assignments(chosen.config(game), changes)
    if minutes is not None:
        config = replace(config, minutes=float(minutes))
    return config if seed is None else replace(config, seed=seed)


def _free(config: Config) -> Path:
    """runs/GAME, or the first of runs/GAME-2, runs/GAME-3, ... that does not exist."""
    name = "".join(letter if letter.isalnum() else "-" for letter in config.game)
    tries = (Path("runs") / (name if number == 1 else f"{name}-{number}") for number in range(1, 10_000))
    return next(path for path in tries if not path.exists())


def _train(training: Training, as_json: bool, tensorboard: Path | None, where: Place) -> None:
    from tabia.cli.training_display import display
    from tabia.cli.training_stop import Stop
    from tabia.training.loop import default_observers
    from tabia.training.loop import train as run
    from tabia.training.run.export import TensorBoard

    path = training.run.path
    exports = [] if tensorboard is None else [TensorBoard(tensorboard)]
    with display(as_json) as shown:
        observers = [*default_observers(), *exports, shown]
        resume = f"tabia resume {path}{_named_game(training.config)}"
        stop = Stop(training, observers, shown, resume=resume, strength=lambda: _strength(training, one_line=True))
        with stop.on_interrupt(), where.options(training, shown.note) as options:
            why = run(training, observers, started=_STARTED, signals=not interrupts.installed(), **options)
            stop.ended()
    if why == "stopped" or stop.number is not None:
        typer.echo(interrupts.line(stop.status, stop.sentence), err=True)
        raise typer.Exit(stop.status)
    if not as_json:
        typer.echo(_strength(training), err=True)
        typer.echo(f"\nPlay it:  tabia play {training.config.game} --against az:{path}", err=True)
        typer.echo(f"Report:   tabia report {path}{_named_game(training.config)}", err=True)


def run_here(training: Training) -> None:
    """Train on this machine and show the progress; Ctrl-C saves and ends the command."""
    with place(None, None, None) as where:
        _train(training, False, None, where)


def _strength(training: Training, *, one_line: bool = False) -> str:
    """The newest evaluation in words, or the command that makes one."""
    from tabia.training.report import strength

    run, config = training.run, training.config
    found = strength.latest(run)
    if found is not None:
        heading, results = strength.describe(found, config)
        when = heading if found.iteration == training.counters.iteration else f"Last measured: {heading}"
        return f"{when}: {'; '.join(results)}." if one_line else "\n  ".join([f"{when}:", *results])
    return f"Strength has not been measured yet. Measure it with `{strength.command(run, config)}`."


def _estimate(config: Config, as_json: bool) -> None:
    from tabia.training.pace import estimate

    found = estimate(config)
    if as_json:
        printing.print_json(found.to_dict())
    else:
        printing.console().print(printing.pairs(found.describe()))
