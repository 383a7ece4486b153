"""`tabia prove`: a player against every line of moves."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from tabia.cli import printing
from tabia.cli.options import Devices, GameId, Json

if TYPE_CHECKING:
    from tabia.games.game import Game

Steady = Annotated[str, typer.Argument(metavar="PLAYER", help="A deterministic player.")]


def prove(game_id: GameId, player: Steady, devices: Devices = None, as_json: Json = False) -> None:
    """Play every possible line of the opponents against a player; exit with code 1 if any beats it.

    Example: [bold]tabia prove tictactoe network:runs/tictactoe[/]
    """
    from tabia.evaluation.exhaustive import play_every_line
    from tabia.games import make
    from tabia.players import make as make_player

    game = make(game_id)
    one = make_player(player, game)
    with printing.progress("plies", game.num_players * game.max_moves) as bar:
        proofs = [play_every_line(one, seat, progress=bar) for seat in range(game.num_players)]
    if as_json:
        printing.print_json([asdict(proof) | {"lines": proof.lines} for proof in proofs])
    else:
        for proof in proofs:
            typer.echo(
                f"seat {proof.seat + 1}: {proof.lines:,} lines: {proof.won:,} won, {proof.drawn:,} drawn, "
                f"{proof.lost:,} lost" + ("" if proof.moves is None else f"; one of them: {_named(game, proof.moves)}")
            )
    if any(proof.lost for proof in proofs):
        typer.echo(f"{player} can be beaten.", err=True)
        raise typer.Exit(1)
    typer.echo(f"Proved: no line of moves beats {player}.", err=True)


def _named(game: Game, moves: tuple[int, ...]) -> str:
    from tabia.games.session import Session

    return Session.replay(game, moves).text
