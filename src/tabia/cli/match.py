"""`tabia match`: who is stronger, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tabia.cli import printing
from tabia.cli.games import GameId, Json, Seed
from tabia.cli.interrupts import on_interrupt
from tabia.cli.printing import escape

if TYPE_CHECKING:
    from tabia.evaluation.keeping import Keeper
    from tabia.evaluation.match import Match, Played
    from tabia.evaluation.records import Record
    from tabia.evaluation.tally import Side, Tally
    from tabia.games import Game

Players = Annotated[
    list[str], typer.Argument(metavar="PLAYER PLAYER...", help="Players: random, mcts:simulations=800, my.py:Class.")
]
Games = Annotated[
    int, typer.Option("--games", min=1, help="Games to play, rounded up so that every seating is played.")
]
Openings = Annotated[
    int | None, typer.Option(min=1, help="How many distinct openings; as many as the games need, if not given.")
]
OpeningMoves = Annotated[
    int | None, typer.Option(min=0, help="Random moves of an opening; 4, or more where 4 are too few to differ.")
]
_SPRT = "Stop once the first player is proved better than LOW Elo, or worse than HIGH."
Sprt = Annotated[str | None, typer.Option(metavar="LOW,HIGH[,ALPHA,BETA]", help=_SPRT)]
_BATCH = "Games played side by side; 256, or 64 under --sprt. The games drawn depend on it."
Batch = Annotated[int | None, typer.Option(min=1, help=_BATCH)]
Out = Annotated[Path | None, typer.Option(help="Keep the games here; the same command again continues from it.")]


def match(
    game_id: GameId,
    players: Players,
    games: Games = 200,
    openings: Openings = None,
    opening_moves: OpeningMoves = None,
    sprt: Sprt = None,
    seed: Seed = 0,
    batch: Batch = None,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Play a match between two or more players; every opening is played in every seating.

    In three seats two players play sets of six: each alone against two of the other, from every seat.

    Examples:
      [bold]tabia match connect4 mcts:simulations=100 minimax:depth=3 --games 40[/]
      [bold]tabia match connect4 greedy random --sprt 0,50 --out games.txt[/]
      [bold]tabia match chinese-checkers greedy initialize --games 60 --json[/]
    """
    from tabia import players as room
    from tabia.evaluation.keeping import Keeper
    from tabia.evaluation.match import Match, play
    from tabia.evaluation.tally import tally
    from tabia.games import make

    game = make(game_id)
    planned = Match(
        game,
        tuple(room.make(spec, game) for spec in players),
        games,
        openings,
        opening_moves,
        seed,
        batch or (64 if sprt else 256),
        None if sprt is None else bounds(sprt),
    )
    with saving(Keeper(out, "match", planned.settings)) as keeper, progress(planned.total) as show:
        played = play(planned, done=keeper.records, watch=watching(keeper.keep, show))
        keeper.keep(played.records, at_once=True)
    result = tally(game, played.records)
    if as_json:
        printing.print_json(_fields(planned, played, result))
    else:
        _print(planned, played, result)
        if out is not None:
            typer.echo(f"Games in {out}.", err=True)


def bounds(text: str) -> tuple[float, float, float, float]:
    """The four numbers of a sequential test, the last two 0.05 unless told."""
    from tabia.evaluation.seating import MatchError

    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in (2, 4):
        raise MatchError(f"--sprt {text}: two or four numbers are needed, as in 0,35 or 0,35,0.05,0.05.")
    low, high, alpha, beta = [*numbers, 0.05, 0.05][:4]
    return low, high, alpha, beta


@contextmanager
def progress(total: int) -> Iterator[Callable[[Sequence[Record]], None]]:
    """A bar on stderr, if that is a terminal, which follows how many games are finished."""
    with printing.progress("games", total) as bar:
        yield lambda records: bar(sum(record.finished for record in records))


@contextmanager
def saving(keeper: Keeper) -> Iterator[Keeper]:
    """Enter a keeper; a signal saves its games."""
    too_late = f"Only the games written to {keeper.path} earlier are kept." if keeper.path else ""
    with keeper, on_interrupt(lambda _: _location(keeper, keeper.flush()), too_late=lambda: too_late):
        yield keeper


def _location(keeper: Keeper, written: Sequence[Record]) -> str:
    """Where the games of an interrupted match are."""
    if keeper.path is None or not written:
        return ""
    finished = sum(record.finished for record in written)
    unfinished = len(written) - finished
    return f"{keeper.path} has {finished} finished and {unfinished} unfinished games; the same command continues them."


def watching(*watchers: Callable[[Sequence[Record]], None]) -> Callable[[Sequence[Record]], None]:
    """Several watchers as one."""

    def watch(records: Sequence[Record]) -> None:
        for watcher in watchers:
            watcher(records)

    return watch


def _fields(planned: Match, played: Played, result: Tally) -> dict[str, Any]:
    return {
        "game": planned.game.id,
        "version": planned.game.version,
        "seed": planned.seed,
        "opening_moves": len(planned.drawn[0].actions),
        "openings": len(planned.drawn),
        **asdict(result),
        "sprt": None if planned.test is None else {"bounds": planned.test, "better": played.verdict},
    }


def _print(planned: Match, played: Played, result: Tally) -> None:
    console = printing.console()
    console.print(sides_table(planned.game, result.players if len(result.players) > 1 else result.seats))
    if len(result.players) > 1:
        console.print("\nBy seat")
        console.print(sides_table(planned.game, [side for sides in result.by_seat for side in sides if side.games]))
    drawn = planned.drawn
    typer.echo(
        f"\n{result.games} games in {result.rounds} rounds from {len(drawn)} openings of {len(drawn[0].actions)} "
        f"moves; {result.mean_length:.1f} moves a game. "
        + (f"{result.duplicates} duplicates not counted." if result.duplicates else "No duplicates.")
    )
    if planned.game.num_players > 2:
        total = result.games * planned.game.num_players
        typer.echo(f"Results are by seat, and a player may have several: {result.games} games have {total} seats.")
    if planned.test is not None:
        typer.echo(_verdict(planned, played))


def _verdict(planned: Match, played: Played) -> str:
    low, high, alpha, beta = planned.test or (0.0, 0.0, 0.0, 0.0)
    first = planned.specs[0]
    if played.verdict is None:
        return f"Undecided: {first} is proved neither better than {low:g} Elo nor worse than {high:g}."
    if played.verdict:
        return f"{first} is better than {low:g} Elo (wrong with chance {alpha:g} at most)."
    return f"{first} is worse than {high:g} Elo (wrong with chance {beta:g} at most)."


def sides_table(game: Game, sides: Sequence[Side]) -> Any:
    """One row a player or seat."""
    count, *elo = ("games", "Elo") if game.num_players == 2 else ("seats", "mean points")
    headings = (count, "won", "drawn", "lost", "share", "95% interval", *elo)
    table = printing.table("", *headings, right=headings)
    for side in sides:
        last = f"{side.elo[0]:+.0f}" if game.num_players == 2 else f"{side.points:.2f}"
        counts = map(str, (side.games, side.wins, side.draws, side.losses))
        spread = f"{side.low:.1%} to {side.high:.1%}"
        table.add_row(escape(side.name), *counts, f"{side.share:.1%}", spread, last)
    return table
