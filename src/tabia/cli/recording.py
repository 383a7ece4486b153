"""Games that a command plays: shown as a bar, saved in a record file, here or on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tabia.cli import printing
from tabia.cli.actors import check_actors
from tabia.cli.interrupts import on_interrupt
from tabia.cli.printing import count

if TYPE_CHECKING:
    from tabia.evaluation import Match, PlayedMatch, Record, Recorder, Tournament
    from tabia.evaluation.match import Piece


def play_recorded(planned: Tournament, out: Path | None, *, ray: str | None, actors: int | None) -> list[Record]:
    """Play a tournament, here or on a cluster, and record it in a file."""
    from tabia.evaluation import Recorder, play_tournament

    check_actors(ray, actors)
    with saving(Recorder(out, "tournament", planned.settings)) as recorder:
        if ray is not None:
            matches = play_on_cluster(planned.matches, recorder, ray, actors, batches=planned.batches)
            records = [record for played in matches for record in played.records]
        else:
            with games_bar(planned.total) as show:
                records = play_tournament(planned, done=recorder.records, watch=watch_all(recorder.update, show))
        recorder.update(records, save=True)
    if out is not None:
        typer.echo(f"Games saved in {out}.", err=True)
    return records


def play_on_cluster(
    matches: Sequence[Match],
    recorder: Recorder,
    ray: str,
    actors: int | None,
    *,
    batches: Sequence[Sequence[Piece]] | None = None,
) -> list[PlayedMatch]:
    """Play matches of one game in batches on the actors of a cluster."""
    from tabia.cli.jobs import job_actors
    from tabia.cluster.matches import BatchWork, lineup_of, play_matches

    lineup = lineup_of(matches)
    jobs = sum(len(match.batches) for match in matches) if batches is None else len(batches)
    if actors is not None and jobs < actors:
        typer.echo(
            f"{count(jobs, 'batch', 'batches')} of games for {actors} actors; a smaller --batch would use all of them.",
            err=True,
        )
    with (
        printing.progress("games", sum(match.total for match in matches)) as bar,
        job_actors(ray, actors, BatchWork, lineup, games=(lineup.game,), jobs=jobs) as run,
    ):
        return play_matches(
            matches,
            run,
            batches=batches,
            done=recorder.records,
            watch=recorder.update,
            progress=lambda games: bar(int(games)),
        )


@contextmanager
def games_bar(total: int) -> Iterator[Callable[[Sequence[Record]], None]]:
    """A progress bar of finished games."""
    with printing.progress("games", total) as bar:
        yield lambda records: bar(sum(record.finished for record in records))


@contextmanager
def saving(recorder: Recorder) -> Iterator[Recorder]:
    """Enter a recorder; a signal saves its games."""
    too_late = f"Only the games saved to {recorder.path} earlier are kept." if recorder.path else ""
    with recorder, on_interrupt(lambda _: _saved(recorder, recorder.flush()), too_late=lambda: too_late):
        yield recorder


def _saved(recorder: Recorder, records: Sequence[Record]) -> str:
    """Where the games of an interrupted match are."""
    if recorder.path is None or not records:
        return ""
    finished = sum(record.finished for record in records)
    unfinished = len(records) - finished
    return f"{recorder.path} has {finished} finished and {unfinished} unfinished games; the same command resumes."


def watch_all(*watchers: Callable[[Sequence[Record]], None]) -> Callable[[Sequence[Record]], None]:
    """Several watchers as one."""

    def watch(records: Sequence[Record]) -> None:
        for watcher in watchers:
            watcher(records)

    return watch
