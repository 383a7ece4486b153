"""`tabia games`, `tabia show`, `tabia check`: list games, draw a position, check the rules of a game."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.padding import Padding

from tabia.cli import printing
from tabia.cli.options import GameId, Json, Moves, Seed
from tabia.cli.printing import escape

if TYPE_CHECKING:
    from tabia.games import Game, State
    from tabia.games.laws import Verdict

Picture = Annotated[Path | None, typer.Option(help="Write an SVG picture; - means standard output.")]
Trials = Annotated[
    int,
    typer.Option("--games", min=1, max=100_000, help="Number of random games; fewer are played if games may be long."),
]

_HEADINGS = ("id", "seats", "actions", "observation", "longest", "scores", "version", "title")
_FEW_HEADINGS = ("id", "seats", "title")
_WIDE = 120  # columns of a terminal that fits all headings


def games(as_json: Json = False) -> None:
    """List Tabia's games and the adapters for others.

    Every game has the parameter [bold]history=T[/]: its observation includes the last T positions, as in
    connect4:history=4.

    Examples:
      [bold]tabia games[/]
      [bold]tabia games --json[/]
    """
    from tabia.games import ids, make

    known = [make(name) for name in ids()]
    if as_json:
        printing.print_json({"games": [describe(game) for game in known], "adapters": _adapters()})
        return
    console = printing.console()
    headings = _HEADINGS if console.width >= _WIDE else _FEW_HEADINGS
    table = printing.table(*headings, right=("seats", "actions", "longest", "version"))
    for game in known:
        cells = dict(zip(_HEADINGS, _cells(game), strict=True))
        table.add_row(*(cells[heading] for heading in headings))
    console.print(table)
    console.print("\nAdapters")
    console.print(printing.pairs(_adapter_texts()))


def show(game_id: GameId, moves: Moves = "", svg: Picture = None, seed: Seed = 0) -> None:
    """Draw a position: the start of a game, or the position after some moves.

    Examples:
      [bold]tabia show connect4 --moves 4453[/]
      [bold]tabia show othello --moves "d3 c5 f6" --svg othello.svg[/]
    """
    from tabia.games import make
    from tabia.games.session import Session

    game = make(game_id)
    state = Session.from_moves(game, moves, seed=seed).state
    if svg == Path("-"):
        typer.echo(game.svg(state), nl=False)
        return
    typer.echo(f"{game.draw(state)}\n\n{status(game, state)}")
    if svg is not None:
        printing.save(svg, game.svg(state))
        typer.echo(f"SVG written to {svg}.")


def check(game_id: GameId, as_json: Json = False, trials: Trials = 64, seed: Seed = 0) -> None:
    """Check a game against every law of the protocol; exit with 1 if one is broken.

    Examples:
      [bold]tabia check connect4[/]
      [bold]tabia check nim.py:Nim --json[/]
    """
    from tabia.games import laws, make

    game = make(game_id)
    verdicts = laws.check(game, seed=seed, games=trials)
    if as_json:
        holds = all(verdict.holds for verdict in verdicts)
        printing.print_json({"game": game.id, "holds": holds, "laws": [asdict(verdict) for verdict in verdicts]})
    else:
        _print_verdicts(game.id, verdicts)
    raise typer.Exit(0 if all(verdict.holds for verdict in verdicts) else 1)


def status(game: Game, state: State) -> str:
    """The mover and the legal moves, or the scores of a finished game; scores that are final early are included.

    For people seats count from 1, as in the drawings.
    """
    import numpy as np

    scores = np.asarray(game.scores(state))
    results = ", ".join(f"seat {seat} {printing.number(float(score))}" for seat, score in enumerate(scores, start=1))
    if bool(game.over(state)):
        return f"The game is over. Scores: {results}."
    names = [game.move_name(int(action), state) for action in np.flatnonzero(np.asarray(game.legal(state)))]
    lines = [f"Seat {int(game.mover(state)) + 1} to move.", f"Legal moves: {' '.join(names)}"]
    return "\n".join([*lines, f"Scores so far: {results}."] if scores.any() else lines)


def _print_verdicts(game_id: str, verdicts: list[Verdict]) -> None:
    console = printing.console()
    for verdict in verdicts:
        console.print(f"{printing.verdict_mark(verdict.holds)} {escape(verdict.law)}")
        if verdict.detail:
            console.print(Padding(escape(verdict.detail), (0, 0, 0, 4), expand=False))
    broken = sum(not verdict.holds for verdict in verdicts)
    if broken:
        console.print(f"[bold red]{escape(game_id)} breaks {broken} of {len(verdicts)} laws.[/]")
    else:
        console.print(f"[bold green]{escape(game_id)} keeps all {len(verdicts)} laws.[/]")


def _adapters() -> dict[str, list[str]]:
    """The games of adapters with a fixed list, by the prefix of their ids."""
    from tabia.games.adapters import pgx

    return {"pgx": sorted(pgx.BOARDS)}


def _adapter_texts() -> dict[str, str]:
    return {
        "pgx:NAME": ", ".join(_adapters()["pgx"]),
        "spiel:NAME": "games of OpenSpiel, such as spiel:hex or spiel:amazons",
        "file.py:Class": "your own game, in plain Python or as array rules: docs/how-to/own-game.md",
        "GAME:history=T": "any of these, with the last T positions in the observation",
        "GAME:KEY=VALUE": "with parameters, such as chinese-checkers:fields=121,players=2,rules=people",
    }


def describe(game: Game) -> dict[str, Any]:
    """The declarations of a game, ready for JSON."""
    return {
        "id": game.id,
        "name": game.name,
        "title": game.title,
        "version": game.version,
        "num_players": game.num_players,
        "num_actions": game.num_actions,
        "observation_shape": list(game.observation_shape),
        "max_moves": game.max_moves,
        "score_range": list(game.score_range),
        "chance": game.chance,
        "heuristic": game.has_heuristic,
        "symmetries": len(game.symmetries),
    }


def _cells(game: Game) -> list[str]:
    low, high = game.score_range
    return [
        game.id,
        str(game.num_players),
        str(game.num_actions),
        " x ".join(map(str, game.observation_shape)),
        str(game.max_moves),
        f"{printing.number(low)} to {printing.number(high)}",
        str(game.version),
        escape(game.title),
    ]
