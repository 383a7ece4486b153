"""`tabia rate ladder`: opponents of measured strength for one game."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from tabia.cli import printing
from tabia.cli.games import GameId, Json, Seed
from tabia.cli.match import OpeningMoves, Out, saving, watching

if TYPE_CHECKING:
    from tabia.evaluation.ladder import Plan
    from tabia.evaluation.records import Record
    from tabia.players.ladder import Ladder, Rung

Candidates = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[PLAYER]...",
        help="Candidates from random to the one that is to be the top; if none are given, a pool is made.",
    ),
]
Games = Annotated[int, typer.Option("--games", min=2, help="Games per pairing.")]
Rounds = Annotated[
    int, typer.Option(min=1, help="How often to rate everybody and look for the next pairings, at most.")
]
File = Annotated[Path, typer.Option("--ladder", metavar="FILE", help="Where to write the ladder.")]


def ladder(
    game_id: GameId,
    players: Candidates = None,
    games: Games = 200,
    rounds: Rounds = 10,
    opening_moves: OpeningMoves = None,
    seed: Seed = 0,
    out: Out = None,
    file: File = Path("ladder.toml"),
    as_json: Json = False,
) -> None:
    """Measure a ladder of opponents for a game, 100 to 300 Elo apart, with random at 0, and write ladder.toml.

    Candidates play their neighbors; then, round by round, those too close are dropped and the gaps are filled by
    turning a player's temperature, or its share of random moves. Levels (easy, medium, hard, best) read the ladders
    that are shipped with the package.

    Examples:
      [bold]tabia rate ladder connect4 --games 200 --out games.txt[/]
      [bold]tabia rate ladder othello random greedy mcts:simulations=50 az:othello --ladder othello.toml[/]
    """
    from tabia.evaluation import candidates
    from tabia.evaluation.ladder import Plan, chosen, rated
    from tabia.games import make
    from tabia.players import ladder as ladders
    from tabia.players import make as make_player

    game = make(game_id)
    plan = Plan(game, tuple(players or candidates.pool(game)), games, rounds, opening_moves, seed)
    for spec in plan.specs:
        make_player(spec, game)  # refuses before the first game what cannot play
    records = _measured(plan, out)
    rungs = tuple(chosen(rated(records, plan.specs[-1])))
    found = ladders.Ladder(
        game=game.id,
        version=game.version,
        rungs=rungs,
        date=date.today().isoformat(),
        device=_device(),
        seed=seed,
        command=_command(plan, players or []),
    )
    ladders.write(file, found)
    if as_json:
        printing.print_json({"file": str(file), "rungs": [vars(rung) for rung in found.rungs]})
    else:
        _print(found, len(records), file)


def _measured(plan: Plan, out: Path | None) -> list[Record]:
    """The games of a ladder, kept in a file while they are played."""
    from tabia.evaluation.keeping import Keeper
    from tabia.evaluation.ladder import measure

    with saving(Keeper(out, "ladder", plan.settings)) as keeper, printing.progress("games") as bar:
        planned = _Planned(plan.games, bar)
        records = measure(plan, done=keeper.records, watch=watching(keeper.keep, planned.see), tell=planned.tell)
        keeper.keep(records, at_once=True)
    return records


class _Planned:
    """Follows a measurement: a bar of the games planned so far, and a line per round."""

    def __init__(self, games: int, count: Callable[[int, int], None]) -> None:
        self._games, self._count, self._total = games, count, 0

    def tell(self, number: int, pairs: Sequence[tuple[str, str]], rungs: Sequence[Rung]) -> None:
        self._total += len(pairs) * self._games
        so_far = ", ".join(f"{rung.spec} {rung.elo:.0f}" for rung in rungs)
        typer.echo(f"Round {number}: {len(pairs)} pairings." + (f" So far: {so_far}." if so_far else ""), err=True)

    def see(self, records: Sequence[Record]) -> None:
        self._count(sum(record.finished for record in records), max(self._total, len(records)))


def _command(plan: Plan, players: Sequence[str]) -> str:
    """What repeats the measurement, without the names of files."""
    opening = [] if plan.opening_moves is None else ["--opening-moves", str(plan.opening_moves)]
    options = ["--games", str(plan.games), "--rounds", str(plan.rounds), *opening, "--seed", str(plan.seed)]
    return shlex.join(["tabia", "rate", "ladder", plan.game.id, *players, *options])


def _device() -> str:
    import jax

    device = jax.devices()[0]
    return device.device_kind if device.platform != "cpu" else "CPU"


def _print(found: Ladder, games: int, file: Path) -> None:
    from tabia.evaluation.ladder import NARROW, WIDE
    from tabia.players.ladder import LEVELS, chosen

    levels = {chosen(found, level).spec: level for level in LEVELS}
    table = printing.table(
        "rung", "spec", "Elo", "95% interval", "games", "level", right=("Elo", "95% interval", "games")
    )
    for rung in found.rungs:
        interval = f"{rung.low:.0f} to {rung.high:.0f}"
        words = (escape(rung.name), escape(rung.spec), f"{rung.elo:.0f}", interval, str(rung.games))
        table.add_row(*words, levels.get(rung.spec, ""))
    printing.console().print(table)
    typer.echo(f"\n{games} games of {found.game}. Written to {file}.")
    wrong = [
        f"{weak.spec} to {strong.spec}"
        for weak, strong in pairwise(found.rungs)
        if not NARROW <= strong.elo - weak.elo <= WIDE
    ]
    if wrong:
        typer.echo(f"Steps outside {NARROW:.0f} to {WIDE:.0f} Elo: {'; '.join(wrong)}. Try more --rounds or --games.")
