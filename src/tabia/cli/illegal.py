"""`tabia illegal`: how much probability networks give to illegal moves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tabia.cli import printing
from tabia.cli.options import GameId, Json, Seed
from tabia.cli.printing import escape

if TYPE_CHECKING:
    from tabia.evaluation.illegal import IllegalShare

Networks = Annotated[
    list[str], typer.Argument(metavar="NETWORK...", help="Agents, weights files or RUN@VERSION; RUN: all checkpoints.")
]
Games = Annotated[int, typer.Option(min=1, help="Games of each network against itself.")]
RandomMoves = Annotated[int, typer.Option(min=0, help="Random moves per seat at the start of a game, not measured.")]


def illegal(
    game_id: GameId,
    networks: Networks,
    games: Games = 120,
    random_moves: RandomMoves = 2,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Measure the probability that networks give to illegal moves, in games of the network alone against itself.

    Players mask illegal moves, so this measures what a network has learned, not what it plays.

    Examples:
      [bold]tabia illegal connect4 connect4[/]
      [bold]tabia illegal chinese-checkers runs/star --games 120 --json[/]
    """
    from tabia.evaluation.illegal import illegal_share
    from tabia.games import make
    from tabia.players import NetworkPlayer

    game, found = make(game_id), dict[str, "IllegalShare"]()
    names = [name for network in networks for name in _versions(network)]
    with printing.progress("networks", len(names)) as bar:
        for done, name in enumerate(names, start=1):
            player = NetworkPlayer(game, name)
            found[name] = illegal_share(player, games=games, random_moves=random_moves, seed=seed)
            bar(done)
    if as_json:
        printing.print_json({"game": game.id, "networks": {name: vars(one) for name, one in found.items()}})
        return
    table = printing.table("network", "illegal", "games", "positions", right=("illegal", "games", "positions"))
    for name, one in found.items():
        table.add_row(escape(name), f"{one.share:.3%}", f"{one.games:,}", f"{one.positions:,}")
    printing.console().print(table)


def _versions(network: str) -> list[str]:
    """All checkpoints of a run directory; any other network as it is."""
    from tabia.players import runs

    known = runs.steps(Path(network)) if (Path(network) / "checkpoints").is_dir() else {}
    return [f"{network}@{step}" for step in known] or [network]
