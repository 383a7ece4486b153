"""`tabia export`: the network of an agent as an ONNX file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from tabia.evaluation.onnx_check import Agreement

Spec = Annotated[
    str, typer.Argument(metavar="SPEC", help="An agent: az:NAME, az:RUN@best or az:FILE of weights, without options.")
]
File = Annotated[Path, typer.Argument(metavar="FILE", help="The file to write, such as model.onnx.")]
Game = Annotated[
    str | None,
    typer.Option("--game", metavar="GAME", help="The game, if the weights do not name it or it is a file.py:Class."),
]
Check = Annotated[
    bool, typer.Option("--check", help="Compare the file with the network on 1,000 positions, with ONNX Runtime.")
]

EXIT_DIFFERENT = 1
"""The exit code if --check finds a difference."""


def export(spec: Spec, file: File, game_id: Game = None, check: Check = False) -> None:
    """Write an agent's network to an ONNX file, which other programs read without Tabia.

    It maps observations to logits of the actions and values of the seats; the metadata name planes and moves.

    Examples:
      [bold]tabia export az:connect4 connect4.onnx[/]
      [bold]tabia export az:runs/connect4@best connect4.onnx --check[/]
    """
    from tabia.players import onnx_export

    game, agent = onnx_export.find(spec, game_id)
    onnx_export.export(game, agent, file, name=spec)
    typer.echo(f"Network of {spec} for {game.id} saved in {file}.", err=True)
    if check:
        from tabia.evaluation.onnx_check import compare

        _report(compare(game, agent, file))


def _report(found: Agreement) -> None:
    largest = f"logits {found.logits:.1e}, values {found.values:.1e}"
    typer.echo(f"Largest difference on {found.positions:,} positions: {largest}.")
    if not found.holds:
        typer.echo("tabia: ONNX Runtime and the network disagree by more than 1e-4.", err=True)
        raise typer.Exit(EXIT_DIFFERENT)
