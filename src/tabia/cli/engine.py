"""`tabia gtp` and `tabia uci`: a player as an engine for other programs."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from tabia.cli.options import GameId, Seed

if TYPE_CHECKING:
    from tabia.engine import Console
    from tabia.players import Player

Spec = Annotated[
    str, typer.Option("--player", metavar="SPEC", help="The player that answers; see docs/reference/players.md.")
]


def gtp(game_id: GameId, player: Spec, seed: Seed = 0) -> None:
    """Play and analyze by the Go Text Protocol on standard input and output, for programs such as GoGui and Sabaki.

    Examples:
      [bold]tabia gtp othello --player az:othello,simulations=200[/]
      [bold]tabia gtp pgx:go_9x9 --player mcts:simulations=400[/]
    """
    from tabia.engine import GtpEngine, check_spec
    from tabia.games import make
    from tabia.games.protocols import gtp_game
    from tabia.players import make as make_player

    game = make(game_id)
    check_spec(player)
    GtpEngine(make_player(player, game), gtp_game(game), _console(), seed=seed).run()


def uci(game_id: GameId, player: Spec, seed: Seed = 0) -> None:
    """Play and analyze by the Universal Chess Interface on standard input and output, for programs such as cutechess.

    Examples:
      [bold]tabia uci pgx:gardner_chess --player mcts:simulations=400[/]
      [bold]tabia uci pgx:chess --player az:runs/chess@best,simulations=800[/]
    """
    from tabia.engine import UciEngine, check_spec
    from tabia.games import make
    from tabia.games.protocols import uci_game
    from tabia.players import make as make_player
    from tabia.players.spec import parse

    game = make(game_id)
    check_spec(player)

    def with_simulations(count: int) -> Player:
        spec = parse(player)
        return make_player(str(replace(spec, options={**spec.options, "simulations": str(count)})), game)

    UciEngine(make_player(player, game), uci_game(game), _console(), make=with_simulations, seed=seed).run()


def _console() -> Console:
    from tabia.engine import Console

    return Console(sys.stdin.buffer, sys.stdout)
