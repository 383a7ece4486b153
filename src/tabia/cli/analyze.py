"""`tabia analyze`: what a player thinks of a position, or of every position in a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from tabia.cli import printing
from tabia.cli.games import status
from tabia.cli.options import Devices, GameId, Json, Moves, Seed
from tabia.cli.printing import escape
from tabia.core.text import printable, quote

if TYPE_CHECKING:
    from tabia.games import Game
    from tabia.games.session import Session
    from tabia.players import Player
    from tabia.players.analysis import Analysis
    from tabia.players.reading import Refused

Spec = Annotated[
    str | None,
    typer.Option(
        "--player",
        metavar="SPEC",
        help="The player that analyzes; see docs/reference/players.md.",
        show_default="the best agent for the game",
    ),
]
PositionsFile = Annotated[
    Path | None,
    typer.Option("--positions", help="A file of positions, one line of moves each; - means standard input."),
]
Tree = Annotated[Path | None, typer.Option(help="Save the search tree as SVG, DOT (.dot) or text (.txt).")]
Svg = Annotated[Path | None, typer.Option(help="Save the board as SVG, with the policy on its cells and a value bar.")]
Trace = Annotated[Path | None, typer.Option(help="Save the values and visits after each simulation as CSV.")]
Batch = Annotated[int, typer.Option(min=1, help="Positions of a file per batch.")]

EXIT_ILLEGAL_LINES = 1
"""The exit code if some lines of a file do not lead to a position."""


def analyze(
    game_id: GameId,
    player: Spec = None,
    moves: Moves = "",
    positions: PositionsFile = None,
    tree: Tree = None,
    svg: Svg = None,
    trace: Trace = None,
    as_json: Json = False,
    batch: Batch = 1024,
    devices: Devices = None,
    seed: Seed = 0,
) -> None:
    """Show what a player thinks of a position: its move, policy, visits, values, and the line it expects.

    Without --player, it is the strongest opponent of `tabia play`: an agent, or MCTS for games without one.

    With --positions, an empty line is the start of a game, and --json prints one line of JSON per position. An illegal
    line is reported with its number and the legal moves; the other lines are still analyzed, and the exit code is 1.

    Examples:
      [bold]tabia analyze connect4 --moves 4453[/]
      [bold]tabia analyze tictactoe --player perfect --moves "b2 a1"[/]
      [bold]tabia analyze connect4 --player az:runs/connect4@best --positions positions.txt --json[/]
    """
    from tabia.core.errors import TabiaError
    from tabia.games import make
    from tabia.players import ladder
    from tabia.players import make as make_player

    game = make(game_id)
    chosen = make_player(player or ladder.opponent(game), game)
    if positions is None:
        _one(game, chosen, moves, Saved(tree, svg, trace), as_json, seed)
        return
    if moves or any(path is not None for path in (tree, svg, trace)):
        raise TabiaError("--positions cannot be combined with --moves, --tree, --svg or --trace; leave them out.")
    lines, rejected = printing.lines(positions), 0
    with printing.progress("positions", len(lines)) as bar:
        for answers in _answers(game, chosen, lines, batch, seed):
            with bar.hidden():
                _print_answers(answers, as_json)
            bar(answers[-1]["line"])
            rejected += sum("error" in answer for answer in answers)
    raise typer.Exit(EXIT_ILLEGAL_LINES if rejected else 0)


class Saved(NamedTuple):
    """The files that an analysis of one position writes."""

    tree: Path | None
    svg: Path | None
    trace: Path | None


def _one(game: Game, player: Player, moves: str, saved: Saved, as_json: bool, seed: int) -> None:
    from tabia.games.session import Session
    from tabia.players.analysis import analyze

    session = Session.from_moves(game, moves, seed=seed)
    found = analyze(player, session, seed=seed)
    if as_json:
        printing.print_json({"game": game.id, "player": player.spec, "moves": moves, **found.to_dict()})
    else:
        typer.echo(f"{game.draw(session.state)}\n\n{status(game, session.state)}\n")
        _print(player, found)
    if saved.tree is not None:
        _save(saved.tree, "Tree", _tree(player, found, saved.tree))
    if saved.svg is not None:
        _save(saved.svg, "Board", _board(player, found, session))
    if saved.trace is not None:
        _save(saved.trace, "Trace", _trace(player, session, seed))


def _save(path: Path, what: str, content: str) -> None:
    printing.save(path, content)
    typer.echo(f"{what} saved in {path}.", err=True)


def _tree(player: Player, found: Analysis, path: Path) -> str:
    from tabia.core.errors import TabiaError
    from tabia.search import picture

    if found.tree is None:
        raise TabiaError(f"{player.spec} has no search tree here; mcts and az have one.")
    return picture.render(found.tree, path.suffix)


def _board(player: Player, found: Analysis, session: Session) -> str:
    """The board with the policy of the player."""
    from tabia.games.boards import policy_svg
    from tabia.games.moves import legal_names

    names = legal_names(session.game, session.legal, session.state)
    policy = {action: (found.policy or {}).get(name, 0.0) for action, name in names.items()}
    return policy_svg(session, policy, found.expected, caption=player.spec)


def _trace(player: Player, session: Session, seed: int) -> str:
    """One row per simulation, or per step of several leaves: values by seat, the move, visits by move."""
    import csv
    import io

    import jax
    import jax.numpy as jnp

    from tabia.evaluation.convergence import trace
    from tabia.games.moves import legal_names
    from tabia.players.tree_player import TreeSearchPlayer

    states = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], session.state)
    leaves = player.search.leaves if isinstance(player, TreeSearchPlayer) else 1
    found = trace(player, states, jax.random.key(seed), every=leaves)
    names = legal_names(session.game, session.legal, session.state)
    seats = range(1, session.game.num_players + 1)
    content = io.StringIO()
    writer = csv.writer(content, lineterminator="\n")
    visited = [f"visits.{name}" for name in names.values()]
    writer.writerow(["simulations", "move", *(f"value.{seat}" for seat in seats), *visited])
    for row, simulations in enumerate(found.simulations):
        values = [f"{value:.6f}" for value in found.values[row, 0]]
        visits = [f"{found.visits[row, 0, action]:.0f}" for action in names]
        writer.writerow([simulations, names[int(found.actions[row, 0])], *values, *visits])
    return content.getvalue()


def _print(player: Player, found: Analysis) -> None:
    console = printing.console()
    if found.move is None:
        return
    recommended = f", drawn at random; it recommends [bold]{escape(found.recommended)}[/]" if found.recommended else ""
    console.print(f"[bold]{escape(player.spec)}[/] plays [bold green]{escape(found.move)}[/]{recommended}.")
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
    """One answer per line, in order, in lists of at most `batch`."""
    import jax

    from tabia.core.batching import padded_size
    from tabia.players.analysis import analyze_batch
    from tabia.players.reading import read

    width = padded_size(min(batch, len(lines)))  # the same for every part, so that they share compiled programs
    for first in range(0, len(lines), batch):
        part = lines[first : first + batch]
        found = read(game, part, seed=seed, width=width)
        key = jax.random.fold_in(jax.random.key(seed), first)
        answers = analyze_batch(player, found.states, key, found.plies, count=len(part))
        yield [
            {"line": first + index + 1, "moves": part[index], **_answer(answer, found.refused.get(index))}
            for index, answer in enumerate(answers)
        ]


def _answer(answer: Analysis, refused: Refused | None) -> dict[str, Any]:
    if refused is not None:
        return {"move": None, "error": refused.reason, "legal": refused.legal}
    return answer.to_dict()


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
