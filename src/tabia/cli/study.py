"""`tabia study`: list, run and report studies, which repeat published experiments."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tabia.cli import interrupts, printing
from tabia.cli.actors import check_actors
from tabia.cli.options import Actors, Json, RayAddress
from tabia.cli.printing import escape
from tabia.cli.study_progress import Interrupts, progress, saying_how

if TYPE_CHECKING:
    from tabia.studies import StudyDirectory
    from tabia.studies.registry import AnyStudy
    from tabia.studies.runner import Observe, Run

app = typer.Typer(no_args_is_help=True, help="Repeat published experiments and compare the results.")
Name = Annotated[str, typer.Argument(metavar="NAME", help="A study; `tabia study list` lists them.")]
ScaleName = Annotated[
    str, typer.Option("--scale", help="tiny: seconds; quick: ten minutes on two cores; full: the published experiment.")
]
Out = Annotated[Path | None, typer.Option("--out", help="Study directory.", show_default="studies/NAME-SCALE")]
StudySeed = Annotated[int, typer.Option("--seed", min=0, max=2**20, help="The first random seed.")]
Only = Annotated[
    list[str] | None, typer.Option("--only", metavar="PART", help="Run only this part; repeatable, * matches any text.")
]
Slim = Annotated[bool, typer.Option("--slim", help="Keep only the weights of finished training runs, as float16.")]
Parts = Annotated[bool, typer.Option("--parts", help="List the parts instead, with their state.")]
Publish = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Copy the tables and figures to DIR/NAME, and update DIR/index.md.")
]
Png = Annotated[bool, typer.Option("--png", help="Draw the figures as PNG instead of SVG.")]


@app.command("list")
def list_(as_json: Json = False) -> None:
    """List the studies with their question and source."""
    from tabia.studies import registry

    every = [registry.load(name) for name in registry.names()]
    if as_json:
        printing.print_json(
            [
                {"name": one.name, "version": one.version, "question": one.question, "source": str(one.source)}
                for one in every
            ]
        )
        return
    console = printing.console()
    for one in every:
        console.print(f"[bold]{one.name}[/]  ({escape(str(one.source))})")
        console.print(f"  {escape(one.question)}")
    typer.echo("\nRun one with `tabia study run NAME`.", err=True)


@app.command()
def run(
    name: Name,
    scale: ScaleName = "quick",
    out: Out = None,
    seed: StudySeed = 0,
    only: Only = None,
    slim: Slim = False,
    parts: Parts = False,
    ray: RayAddress = None,
    actors: Actors = None,
) -> None:
    """Run a study, or the rest of it. Ctrl-C stops and saves; the same command resumes.

    Several processes may run parts of one study in the same directory at once.

    Examples:
      [bold]tabia study run bandits[/]
      [bold]tabia study run tictactoe-mcts --scale full --out studies/mcts[/]
      [bold]tabia study run connect-width --scale full --only 'train-7-*'[/]
      [bold]tabia study run tictactoe-mcts --scale full --ray local --actors 8[/]
    """
    from tabia.studies import StudyDirectory, registry, report, runner
    from tabia.studies.part import Stopped

    study = registry.load(name)
    chosen = study.scale(scale)
    directory = StudyDirectory(out or Path("studies") / f"{name}-{scale}")
    if parts:
        _list_parts(study, directory, scale, seed, only or [])
        return
    check_actors(ray, actors)
    resume = _command(name, scale, directory.path, seed=seed, only=only or [], slim=slim, ray=ray, actors=actors)
    control = Interrupts()
    with saying_how(resume), progress() as observe:
        try:
            if ray is None:
                done = runner.run(
                    study, directory, chosen, seed=seed, only=only or [], slim=slim, control=control, observe=observe
                )
            else:
                done = _run_on_cluster(
                    study, directory, scale, ray, actors, seed=seed, only=only or [], slim=slim, observe=observe
                )
        except Stopped:
            typer.echo(interrupts.line(control.status, f"Continue with: {resume}"), err=True)
            raise typer.Exit(control.status) from None
        written = report.write(study, directory)
    _print(done, written)


@app.command("report")
def report_(
    name: Name,
    scale: ScaleName = "quick",
    out: Out = None,
    publish: Publish = None,
    png: Png = False,
) -> None:
    """Rebuild the tables and figures of a study from its stored results."""
    from tabia.studies import StudyDirectory, publication, registry, report

    study = registry.load(name)
    directory = StudyDirectory(out or Path("studies") / f"{name}-{scale}")
    written = report.write(study, directory, format="png" if png else "svg")
    if publish is not None:
        written = [*publication.publish(study, directory, publish), publication.write_index(publish)]
    for path in written:
        typer.echo(path)
    _note_figures()


@app.command()
def pack(
    name: Name,
    to: Annotated[Path, typer.Option("--to", metavar="FILE", help="The archive; others get names with -2, -3, ...")],
    scale: ScaleName = "quick",
    out: Out = None,
    only: Only = None,
    all_weights: Annotated[
        bool, typer.Option("--all-weights", help="Pack every checkpoint, not only those that parts still need.")
    ] = False,
    limit: Annotated[float, typer.Option(min=0.1, max=1024.0, help="The largest archive, in MiB.")] = 16.0,
) -> None:
    """Pack the finished parts of a study into archives, without run directories, to copy them to another machine."""
    from tabia.studies import StudyDirectory, packing, registry

    study = registry.load(name)
    directory = StudyDirectory(out or Path("studies") / f"{name}-{scale}")
    manifest = directory.manifest()
    parts, most = study.parts(study.scale(manifest.scale), manifest.seed), int(limit * 2**20)
    for path in packing.pack(directory, parts, to, only=only or [], all_weights=all_weights, limit=most):
        typer.echo(path)


@app.command()
def unpack(
    archives: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Archives made by `tabia study pack`.")],
    out: Annotated[Path, typer.Option("--out", help="Study directory; created if it does not exist.")],
) -> None:
    """Add the parts in archives to a study directory; parts that are already finished are kept."""
    from tabia.studies import StudyDirectory, packing

    for archive in archives:
        for part in packing.unpack(archive, StudyDirectory(out)):
            typer.echo(part)


@app.command()
def index(path: Annotated[Path, typer.Argument(metavar="DIR", help="A directory of published results.")]) -> None:
    """Write DIR/index.md: every published value, ours and the verdict, from DIR/*/results.csv."""
    from tabia.studies import publication

    typer.echo(publication.write_index(path))


def _run_on_cluster(
    study: AnyStudy,
    directory: StudyDirectory,
    scale: str,
    ray: str,
    actors: int | None,
    *,
    seed: int,
    only: Sequence[str],
    slim: bool,
    observe: Observe,
) -> Run:
    """Run the parts of a study on the actors of a cluster."""
    from tabia.cli.jobs import job_actors
    from tabia.studies import runner
    from tabia.studies.remote import PartWork, StudySpec, run_remote

    chosen, spec = study.scale(scale), StudySpec(study.name, scale, seed)
    jobs = len(runner.select(study.parts(chosen, seed), only))
    with job_actors(ray, actors, PartWork, spec, jobs=jobs) as run:
        return run_remote(study, directory, chosen, run, seed=seed, only=only, slim=slim, observe=observe)


def _command(
    name: str, scale: str, out: Path, *, seed: int, only: Sequence[str], slim: bool, ray: str | None, actors: int | None
) -> str:
    """The command that resumes a study."""
    words = ["tabia", "study", "run", name, "--scale", scale, "--out", str(out)]
    words += ["--seed", str(seed)] if seed else []
    words += [word for part in only for word in ("--only", part)] + (["--slim"] if slim else [])
    words += ["--ray", ray] if ray else []
    words += ["--actors", str(actors)] if actors else []
    return shlex.join(words)


def _print(done: Run, written: Sequence[Path]) -> None:
    from tabia.studies import report

    for path in written:
        typer.echo(path)
    _note_figures()
    if done.elsewhere or done.waiting:
        busy = ", ".join([*done.elsewhere, *done.waiting])
        typer.echo(f"Run by another process, or waiting for one: {busy}.", err=True)
    counts = report.verdict_counts(written[0])
    typer.echo("; ".join(f"{count} {word}" for word, count in counts.items()), err=True)


def _note_figures() -> None:
    from tabia.core import plotting

    if not plotting.available():
        typer.echo("Figures need matplotlib: pip install 'tabia[plots]'.", err=True)


def _list_parts(study: AnyStudy, directory: StudyDirectory, scale: str, seed: int, only: Sequence[str]) -> None:
    from tabia.studies import runner

    table = printing.table("part", "state", "needs")
    for part in runner.select(study.parts(study.scale(scale), seed), only):
        state = "finished" if directory.finished(part.name) else "not finished"
        table.add_row(escape(part.name), state, escape(" ".join(part.needs)))
    printing.console().print(table)
