"""`tabia match` and `tabia tournament`: games between players, with scores or ratings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from tabia.cli import printing
from tabia.cli.actors import check_actors
from tabia.cli.options import (
    Actors,
    Anchor,
    AnchorElo,
    CountRepeats,
    Devices,
    GameId,
    Json,
    OpeningMoves,
    PairingGames,
    RayAddress,
    RecordsOut,
    Seed,
)
from tabia.cli.printing import count, escape
from tabia.cli.recording import games_bar, play_on_cluster, play_recorded, saving, watch_all

if TYPE_CHECKING:
    from tabia.evaluation import Match, MatchResult, PlayedMatch
    from tabia.evaluation.batch import Incident
    from tabia.evaluation.results import Result
    from tabia.games import Game

MatchPlayers = Annotated[
    list[str], typer.Argument(metavar="PLAYER PLAYER...", help="Players: random, mcts:simulations=800, my.py:Class.")
]
TournamentPlayers = Annotated[
    list[str], typer.Argument(metavar="PLAYER...", help="Players, in the order that --nearest uses.")
]
MatchGames = Annotated[
    int, typer.Option("--games", min=1, help="Number of games, rounded up so that every seating is played.")
]
Openings = Annotated[
    int | None, typer.Option(min=1, help="Number of distinct openings.", show_default="as many as the games need")
]
Sprt = Annotated[
    str | None,
    typer.Option(
        metavar="LOW,HIGH[,ALPHA,BETA]",
        help="Stop once the first player is shown to be more than LOW Elo stronger, or less than HIGH Elo stronger.",
    ),
]
MatchBatch = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Games per batch; the games depend on this number.",
        show_default="256, or 64 with --sprt",
    ),
]
TournamentBatch = Annotated[int, typer.Option(min=1, help="Games per batch; the games depend on this number.")]
Nearest = Annotated[
    int | None, typer.Option(min=1, help="Pair each player only with its nearest K in the given order.")
]
_MOST_INCIDENTS = 10  # shown one by one
_PLACES = {1: "1st", 2: "2nd", 3: "3rd"}


def match(
    game_id: GameId,
    players: MatchPlayers,
    games: MatchGames = 200,
    openings: Openings = None,
    opening_moves: OpeningMoves = None,
    sprt: Sprt = None,
    seed: Seed = 0,
    batch: MatchBatch = None,
    out: RecordsOut = None,
    count_repeats: CountRepeats = False,
    devices: Devices = None,
    ray: RayAddress = None,
    actors: Actors = None,
    as_json: Json = False,
) -> None:
    """Play a match between two or more players; every opening is played in every seating.

    With three seats, two players play sets of six games: each alone against two copies of the other, from every seat.

    Examples:
      [bold]tabia match connect4 mcts:simulations=100 minimax:depth=3 --games 40[/]
      [bold]tabia match connect4 greedy random --sprt 0,50 --out games.txt[/]
      [bold]tabia match chinese-checkers greedy initialize --games 60 --json[/]
      [bold]tabia match connect4 az:run@100 az:run@200 --games 2000 --batch 64 --ray local --actors 8[/]
    """
    from tabia import players as registry
    from tabia.evaluation import Match, Recorder, match_result, play
    from tabia.games import make

    game = make(game_id)
    planned = Match(
        game=game,
        players=tuple(registry.make(spec, game) for spec in players),
        games=games,
        openings=openings,
        opening_moves=opening_moves,
        seed=seed,
        batch=batch or (64 if sprt else 256),
        test=None if sprt is None else parse_sprt(sprt),
        unique=not count_repeats,
    )
    check_actors(ray, actors)
    with saving(Recorder(out, "match", planned.settings)) as recorder:
        if ray is not None:
            (played,) = play_on_cluster([planned], recorder, ray, actors)
        else:
            with games_bar(planned.total) as show:
                played = play(planned, done=recorder.records, watch=watch_all(recorder.update, show))
        recorder.update(played.records, save=True)
    result = match_result(game, played.records, unique=not count_repeats)
    if as_json:
        printing.print_json(_fields(planned, played, result))
    else:
        _print(planned, played, result)
        if out is not None:
            typer.echo(f"Games saved in {out}.", err=True)


def tournament(
    game_id: GameId,
    players: TournamentPlayers,
    games: PairingGames = 40,
    nearest: Nearest = None,
    opening_moves: OpeningMoves = None,
    seed: Seed = 0,
    batch: TournamentBatch = 256,
    out: RecordsOut = None,
    anchor: Anchor = None,
    anchor_elo: AnchorElo = 0.0,
    count_repeats: CountRepeats = False,
    devices: Devices = None,
    ray: RayAddress = None,
    actors: Actors = None,
    as_json: Json = False,
) -> None:
    """Play a round robin, full or partial, and rate the players.

    Examples:
      [bold]tabia tournament connect4 random greedy minimax:depth=3 --games 20[/]
      [bold]tabia tournament connect4 az:run@100 az:run@200 az:run@300 --nearest 2 --out games.txt[/]
    """
    from tabia import players as registry
    from tabia.cli.rate import report
    from tabia.evaluation import Tournament
    from tabia.games import make

    game = make(game_id)
    planned = Tournament(
        game=game,
        players=tuple(registry.make(spec, game) for spec in players),
        games=games,
        nearest=nearest,
        opening_moves=opening_moves,
        seed=seed,
        batch=batch,
    )
    records = play_recorded(planned, out, ray=ray, actors=actors)
    report(records, anchor=anchor, anchor_elo=anchor_elo, unique=not count_repeats, as_json=as_json)


def parse_sprt(text: str) -> tuple[float, float, float, float]:
    """The four numbers of a sequential test; alpha and beta default to 0.05."""
    from tabia.evaluation import MatchError

    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in (2, 4):
        raise MatchError(f"--sprt {text}: expected two or four numbers, as in 0,35 or 0,35,0.05,0.05.")
    low, high, alpha, beta = [*numbers, 0.05, 0.05][:4]
    return low, high, alpha, beta


def _fields(planned: Match, played: PlayedMatch, result: MatchResult) -> dict[str, Any]:
    return {
        "game": planned.game.id,
        "version": planned.game.version,
        "seed": planned.seed,
        "opening_moves": len(planned.drawn[0].actions),
        "openings": len(planned.drawn),
        **asdict(result),
        "sprt": None if planned.test is None else {"bounds": planned.test, "better": played.verdict},
        "incidents": [asdict(incident) for incident in played.incidents],
    }


def _print(planned: Match, played: PlayedMatch, result: MatchResult) -> None:
    console = printing.console()
    console.print(_results_table(planned.game, result.players if len(result.players) > 1 else result.seats))
    if len(result.players) > 1:
        console.print("\nBy seat")
        console.print(_results_table(planned.game, [one for row in result.by_seat for one in row if one.games]))
    held = [one for row in result.by_seats_held for one in row if one.games]
    if held:
        console.print("\nBy seats held")
        console.print(_results_table(planned.game, held))
    drawn = planned.drawn
    typer.echo(
        f"\n{count(result.games, 'game')} in {count(result.rounds, 'round')} from {count(len(drawn), 'opening')} of "
        f"{count(len(drawn[0].actions), 'move')}; {result.mean_length:.1f} moves per game. "
        + _repeats(result, planned.unique)
    )
    if planned.game.num_players > 2:
        total = result.games * planned.game.num_players
        typer.echo(f"Results are per seat, and a player may have several: {result.games} games have {total} seats.")
    for line in _incidents(played.incidents, result):
        typer.echo(line)
    if planned.test is not None:
        typer.echo(_verdict(planned.specs[0], planned.test, played.verdict))


def _incidents(incidents: Sequence[Incident], result: MatchResult) -> Iterator[str]:
    """Games that engines forfeited or that are not counted: totals, a line each, and the first report of each kind."""
    if result.forfeited or result.excluded:
        yield (
            f"{count(result.forfeited, 'game')} forfeited by an engine; {count(result.excluded, 'game')} not "
            "counted, because the rules of an engine differ."
        )
    serious = [one for one in incidents if one.end != "resigned"]
    for one in serious[:_MOST_INCIDENTS]:
        what = "not counted" if one.end == "excluded" else f"lost by {one.player} in seat {one.seat + 1}"
        yield f"Round {one.round}: {what}: {one.reason}."
    if len(serious) > _MOST_INCIDENTS:
        yield f"... and {len(serious) - _MOST_INCIDENTS} more; --json lists all."
    for one in {incident.end: incident for incident in reversed(serious) if incident.report}.values():
        yield f"\nRound {one.round}, position and last messages:\n{one.report}"


def _repeats(result: MatchResult, unique: bool) -> str:
    if not result.duplicates:
        return "No duplicates."
    return f"{count(result.duplicates, 'duplicate')} {'not counted' if unique else 'counted'}."


def _verdict(player: str, test: tuple[float, float, float, float], better: bool | None) -> str:
    low, high, alpha, beta = test
    if better is None:
        return f"Undecided: {player} is not shown to be more than {low:g} Elo or less than {high:g} Elo stronger."
    if better:
        return f"{player} is more than {low:g} Elo stronger (error probability at most {alpha:g})."
    return f"{player} is less than {high:g} Elo stronger (error probability at most {beta:g})."


def _place(place: int) -> str:
    return _PLACES.get(place, f"{place}th")


def _results_table(game: Game, results: Sequence[Result]) -> Table:
    """One row per player or seat."""
    two = game.num_players == 2
    counted = ("games", "won", "drawn", "lost") if two else ("seats", *map(_place, range(1, game.num_players + 1)))
    # With more seats the score is the fraction of these points; with two it counts wins alone.
    wins_differ = two and game.score_range != (-1.0, 1.0)
    points = ("points per game", "95% interval") if wins_differ else ()
    headings = (*counted, "score", "95% interval", "Elo" if two else "mean points", *points)
    table = printing.table("", *headings, right=headings)
    for one in results:
        counts = map(str, (one.games, one.wins, one.draws, one.losses) if two else (one.games, *one.places))
        cells = [f"{one.score:.1%}", f"{one.low:.1%} to {one.high:.1%}"]
        cells += [f"{one.elo[0]:+.0f}" if two else f"{one.points:.2f}"]
        cells += [f"{one.points:+.2f}", f"{one.points_low:+.2f} to {one.points_high:+.2f}"] if wins_differ else []
        table.add_row(escape(one.name), *counts, *cells)
    return table
