"""`tabia rate ladder`: opponents of measured strength for a game."""

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
from tabia.cli.options import Devices, GameId, Json, OpeningMoves, RecordsOut, Seed
from tabia.cli.recording import saving, watch_all

if TYPE_CHECKING:
    from tabia.evaluation import Record
    from tabia.evaluation.ladder import LadderPlan
    from tabia.players.ladder import Ladder, Rung

Candidates = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[PLAYER]...",
        help="Candidates, from random to the top of the ladder.",
        show_default="a pool for the game",
    ),
]
Games = Annotated[int, typer.Option("--games", min=2, help="Games per pairing, at least 2.")]
Rounds = Annotated[int, typer.Option(min=1, help="Maximum number of rounds; each rates and pairs all players.")]
File = Annotated[Path, typer.Option("--ladder", metavar="FILE", help="The file to write the ladder to.")]


def ladder(
    game_id: GameId,
    players: Candidates = None,
    games: Games = 200,
    rounds: Rounds = 10,
    opening_moves: OpeningMoves = None,
    seed: Seed = 0,
    out: RecordsOut = None,
    file: File = Path("ladder.toml"),
    devices: Devices = None,
    as_json: Json = False,
) -> None:
    """Measure a ladder of opponents for a game, 100 to 300 Elo apart, with random at 0, and write ladder.toml.

    Candidates play their neighbors. Then every round drops players that are too close to each other, and fills gaps
    with players weakened by a higher temperature or more random moves. The levels of [bold]tabia play[/] (easy,
    medium, hard, best) come from the ladders in the package.

    Examples:
      [bold]tabia rate ladder connect4 --games 200 --out games.txt[/]
      [bold]tabia rate ladder othello random greedy mcts:simulations=50 az:othello --ladder othello.toml[/]
    """
    from tabia.evaluation import ladder_candidates
    from tabia.evaluation.ladder import LadderPlan
    from tabia.games import make
    from tabia.players import ladder as ladders
    from tabia.players import make as make_player

    game = make(game_id)
    plan = LadderPlan(
        game=game,
        specs=tuple(players or ladder_candidates.pool(game)),
        games=games,
        rounds=rounds,
        opening_moves=opening_moves,
        seed=seed,
    )
    for spec in plan.specs:
        make_player(spec, game)  # fails before the first game if a player cannot play
    records = _measure(plan, out)
    found = _ladder(plan, records, _command(plan, players or []))
    ladders.write(file, found)
    if as_json:
        printing.print_json({"file": str(file), "rungs": [vars(rung) for rung in found.rungs]})
    else:
        _print(found, len(records), file)


def _measure(plan: LadderPlan, out: Path | None) -> list[Record]:
    """Play the games of a ladder and record them in a file."""
    from tabia.evaluation import Recorder
    from tabia.evaluation.ladder import measure

    with saving(Recorder(out, "ladder", plan.settings)) as recorder, printing.progress("games") as bar:
        shown = _Progress(plan.games, bar)
        watch = watch_all(recorder.update, shown.on_records)
        records = measure(plan, done=recorder.records, watch=watch, on_round=shown.on_round)
        recorder.update(records, save=True)
    return records


def _ladder(plan: LadderPlan, records: Sequence[Record], command: str) -> Ladder:
    """The ladder that games give."""
    from tabia.evaluation import rate
    from tabia.evaluation.ladder import rate_players, select_rungs
    from tabia.players.ladder import ANCHOR, Ladder

    return Ladder(
        game=plan.game.id,
        version=plan.game.version,
        rungs=tuple(select_rungs(rate_players(records, plan.specs[-1]))),
        date=date.today().isoformat(),
        device=_device(),
        seed=plan.seed,
        command=command,
        advantage=tuple(round(float(value)) for value in rate(records, anchor=ANCHOR).advantage),
    )


class _Progress:
    """Shows a measurement: a bar of the games planned so far, and a line per round."""

    def __init__(self, games: int, count: Callable[[int, int], None]) -> None:
        self._games, self._count, self._total = games, count, 0

    def on_round(self, number: int, pairs: Sequence[tuple[str, str]], rungs: Sequence[Rung]) -> None:
        self._total += len(pairs) * self._games
        so_far = ", ".join(f"{rung.spec} {rung.elo:.0f}" for rung in rungs)
        typer.echo(f"Round {number}: {len(pairs)} pairings." + (f" So far: {so_far}." if so_far else ""), err=True)

    def on_records(self, records: Sequence[Record]) -> None:
        self._count(sum(record.finished for record in records), max(self._total, len(records)))


def _command(plan: LadderPlan, players: Sequence[str]) -> str:
    """The command that repeats the measurement, without file names."""
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
        cells = (escape(rung.name), escape(rung.spec), f"{rung.elo:.0f}", interval, str(rung.games))
        table.add_row(*cells, levels.get(rung.spec, ""))
    printing.console().print(table)
    typer.echo(f"\n{games} games of {found.game}. Written to {file}.")
    outside = [
        f"{weak.spec} to {strong.spec}"
        for weak, strong in pairwise(found.rungs)
        if not NARROW <= strong.elo - weak.elo <= WIDE
    ]
    if outside:
        typer.echo(f"Steps outside {NARROW:.0f} to {WIDE:.0f} Elo: {'; '.join(outside)}. Try more --rounds or --games.")
