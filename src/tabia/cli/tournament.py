"""`tabia tournament`: many players, a rating for each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tabia.cli import rate
from tabia.cli.games import GameId, Json, Seed
from tabia.cli.match import OpeningMoves, Out, progress, saving, watching

if TYPE_CHECKING:
    from tabia.evaluation.records import Record
    from tabia.evaluation.tournament import Tournament

Players = Annotated[list[str], typer.Argument(metavar="PLAYER...", help="Players, in the order --nearest goes by.")]
Games = Annotated[int, typer.Option("--games", min=1, help="Games of each pairing.")]
Nearest = Annotated[int | None, typer.Option(min=1, help="Each meets only its nearest K in the order given.")]
Batch = Annotated[int, typer.Option(min=1, help="Games played side by side. The games drawn depend on it.")]


def tournament(
    game_id: GameId,
    players: Players,
    games: Games = 40,
    nearest: Nearest = None,
    opening_moves: OpeningMoves = None,
    seed: Seed = 0,
    batch: Batch = 256,
    out: Out = None,
    anchor: rate.Anchor = None,
    anchor_elo: rate.AnchorElo = 0.0,
    as_json: Json = False,
) -> None:
    """Play a round robin, full or partial, and rate the players.

    Examples:
      [bold]tabia tournament connect4 random greedy minimax:depth=3 --games 20[/]
      [bold]tabia tournament connect4 az:run@100 az:run@200 az:run@300 --nearest 2 --out games.txt[/]
    """
    from tabia import players as room
    from tabia.evaluation.tournament import Tournament
    from tabia.games import make

    game = make(game_id)
    made = tuple(room.make(spec, game) for spec in players)
    planned = Tournament(game, made, games, nearest, opening_moves, seed, batch)
    rate.report(held(planned, out), anchor=anchor, anchor_elo=anchor_elo, as_json=as_json)


def held(planned: Tournament, out: Path | None) -> list[Record]:
    """The records of a tournament, kept in a file while it is played."""
    from tabia.evaluation.keeping import Keeper
    from tabia.evaluation.tournament import play_tournament

    with saving(Keeper(out, "tournament", planned.settings)) as keeper, progress(planned.total) as show:
        records = play_tournament(planned, done=keeper.records, watch=watching(keeper.keep, show))
        keeper.keep(records, at_once=True)
    if out is not None:
        typer.echo(f"Games in {out}.", err=True)
    return records
