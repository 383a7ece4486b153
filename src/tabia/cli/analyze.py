"""`tabia analyze`: what a player thinks of a position, or of a file of positions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tabia.cli import printing
from tabia.cli.games import GameId, Json, Seed, status
from tabia.cli.printing import escape
from tabia.core.text import printable, quote

if TYPE_CHECKING:
    from tabia.games import Game
    from tabia.players import Player
    from tabia.players.analysis import Analysis
    from tabia.players.reading import Refused

Spec = Annotated[str, typer.Option("--player", metavar="SPEC", help="Who looks at it; docs/players.md lists players.")]
Moves = Annotated[str, typer.Option(help="The moves that lead to the position; none is the start.")]
Positions = Annotated[
    Path | None, typer.Option(help="A file of positions, one line of moves each; - means standard input.")
]
Tree = Annotated[Path | None, typer.Option(help="Draw the search tree as an SVG picture.")]
Batch = Annotated[int, typer.Option(min=1, help="Positions of a file looked at side by side.")]

ILLEGAL_LINES = 1  # the exit code when some lines of a file named no position


def analyze(
    game_id: GameId,
    player: Spec = "mcts:simulations=800",
    moves: Moves = "",
    positions: Positions = None,
    tree: Tree = None,
    as_json: Json = False,
    batch: Batch = 1024,
    seed: Seed = 0,
) -> None:
    """Tell what a player thinks of a position: its move, odds, visits, values, and the line it expects.

    With --positions, an empty line is the start of a game; with --json each line is answered by one line of JSON. A
    line that names no position is told with its number and the legal moves, the others are answered all the same, and
    the exit code is 1.

    Examples:
      [bold]tabia analyze connect4 --player mcts:simulations=800 --moves 4453[/]
      [bold]tabia analyze tictactoe --player perfect --moves "b2 a1"[/]
      [bold]tabia analyze connect4 --player az:runs/connect4@best --positions positions.txt --json[/]
    """
    from tabia.core.errors import TabiaError
    from tabia.games import make
    from tabia.players import make as make_player

    game = make(game_id)
    chosen = make_player(player, game)
    if positions is None:
        _one(game, chosen, moves, tree, as_json, seed)
        return
    if moves or tree is not None:
        raise TabiaError("--positions brings its own moves and draws no tree; leave --moves and --tree out.")
    lines, refused = printing.lines(positions), 0
    with printing.progress("positions", len(lines)) as bar:
        for answers in _answers(game, chosen, lines, batch, seed):
            with bar.hidden():
                _print_answers(answers, as_json)
            bar(answers[-1]["line"])
            refused += sum("error" in answer for answer in answers)
    raise typer.Exit(ILLEGAL_LINES if refused else 0)


def _one(game: Game, player: Player, moves: str, tree: Path | None, as_json: bool, seed: int) -> None:
    import jax

    from tabia.core.errors import TabiaError
    from tabia.games.session import Session
    from tabia.players.analysis import look
    from tabia.search import picture

    states = Session.from_moves(game, moves, seed=seed).states
    found = look(player, states[-1], jax.random.key(seed), len(states) - 1)
    if as_json:
        printing.print_json({"game": game.id, "player": player.spec, "moves": moves, **found.fields()})
    else:
        typer.echo(f"{game.draw(states[-1])}\n\n{status(game, states[-1])}\n")
        _print(player, found)
    if tree is not None:
        if found.tree is None:
            raise TabiaError(f"{player.spec} grew no tree here; players that do: mcts and az.")
        printing.save(tree, picture.svg(found.tree))
        typer.echo(f"Tree drawn in {tree}.", err=True)


def _print(player: Player, found: Analysis) -> None:
    console = printing.console()
    if found.move is None:
        return
    drawn = f", drawn at random; it recommends [bold]{escape(found.recommended)}[/]" if found.recommended else ""
    console.print(f"[bold]{escape(player.spec)}[/] plays [bold green]{escape(found.move)}[/]{drawn}.")
    columns = {"policy": found.policy, "visits": found.visits, "value": found.values, "score": found.scores}
    known = {heading: numbers for heading, numbers in columns.items() if numbers}
    if known:
        table = printing.table("move", *known, right=tuple(known))
        for move in found.ranked:
            cells = [_cell(heading, numbers.get(move)) for heading, numbers in known.items()]
            name = escape(move)
            table.add_row(f"[bold green]{name}[/]" if move == found.move else name, *cells)
        console.print(table)
    if found.expected:
        console.print("Expected: " + ", ".join(f"seat {s} {v:+.3f}" for s, v in enumerate(found.expected, start=1)))
    if found.line:
        console.print(f"Main line: {escape(' '.join(found.line))}")


def _cell(heading: str, number: float | None) -> str:
    if number is None:
        return "-"
    shape = {"policy": "{:.1%}", "visits": "{:,}", "value": "{:+.3f}", "score": "{:+d}"}[heading]
    return shape.format(number)


def _answers(game: Game, player: Player, lines: list[str], batch: int, seed: int) -> Iterator[list[dict[str, Any]]]:
    """One answer per line, in order, as many at a time as are looked at side by side."""
    import jax

    from tabia.players.analysis import analyze
    from tabia.players.reading import power_of_two, read

    width = power_of_two(min(batch, len(lines)))  # of every part, so that all share their programs
    for first in range(0, len(lines), batch):
        part = lines[first : first + batch]
        found = read(game, part, seed=seed, width=width)
        key = jax.random.fold_in(jax.random.key(seed), first)
        answers = analyze(player, found.states, key, found.plies, count=len(part))
        yield [
            {"line": first + index + 1, "moves": part[index], **_answer(answer, found.refused.get(index))}
            for index, answer in enumerate(answers)
        ]


def _answer(answer: Analysis, refused: Refused | None) -> dict[str, Any]:
    if refused is not None:
        return {"move": None, "error": refused.reason, "legal": refused.legal}
    return answer.fields()


def _print_answers(answers: list[dict[str, Any]], as_json: bool) -> None:
    for answer in answers:
        if "error" in answer:
            error = printable(answer["error"], lines=True)
            typer.echo(f"tabia: line {answer['line']}, {quote(answer['moves'])}: {error}", err=True)
        if as_json:
            typer.echo(printing.json_line(answer))
        elif "error" not in answer:
            moves, move = answer["moves"] or "(start)", answer["move"] or "the game is over"
            typer.echo(printable(f"{answer['line']}: {moves} -> {move}"))
