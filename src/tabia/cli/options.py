"""Arguments and options that several commands share, each declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

GameId = Annotated[str, typer.Argument(metavar="GAME", help="A game id, or file.py:Class for a game of your own.")]
PlayerSpec = Annotated[str, typer.Argument(metavar="PLAYER", help="A player, such as mcts:simulations=800.")]
RunPath = Annotated[Path, typer.Argument(metavar="DIR", help="A run directory.")]
RunGame = Annotated[
    str | None,
    typer.Option(
        "--game", metavar="GAME", help="The game of the run; needed if it is a file.py:Class, which is executed."
    ),
]

Moves = Annotated[
    str, typer.Option(help="The moves that lead to the position; spaces are optional where names are unambiguous.")
]
Seed = Annotated[
    int,
    typer.Option(min=0, max=2**31 - 1, help="Random seed; the same seed gives the same output.", show_default=False),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
JsonLines = Annotated[bool, typer.Option("--json", help="Print one JSON object per line instead of text.")]

PairingGames = Annotated[int, typer.Option("--games", min=1, help="Games per pairing.")]
OpeningMoves = Annotated[
    int | None,
    typer.Option(
        min=0, help="Random moves per opening.", show_default="4, or more if 4 give too few distinct openings"
    ),
]
RecordsOut = Annotated[
    Path | None, typer.Option("--out", help="Save the games in this file; the same command resumes from it.")
]
Changes = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change one setting; repeatable.")
]
CountRepeats = Annotated[bool, typer.Option("--count-repeats", help="Count identical games every time, not once.")]
Anchor = Annotated[str | None, typer.Option(help="The player with a fixed rating.", show_default="the first player")]
AnchorElo = Annotated[float, typer.Option(help="The rating of the anchor.")]


def _use_devices(context: typer.Context, wanted: str | None) -> str | None:
    """Use the devices while the command runs."""
    if wanted is not None:
        from tabia.core import devices

        context.with_resource(devices.using(wanted))
    return wanted


Devices = Annotated[
    str | None,
    typer.Option(
        "--devices",
        metavar="all|N",
        callback=_use_devices,
        help="Split batches over all devices of this machine, or over N of them.",
        show_default="1",
    ),
]
RayAddress = Annotated[
    str | None,
    typer.Option("--ray", metavar="HOST:PORT|local", help="Use a Ray cluster, or start one on this machine."),
]
Actors = Annotated[
    int | None,
    typer.Option("--actors", min=1, help="Actors on the cluster.", show_default="one per GPU, or else per CPU"),
]
ActorDevices = Annotated[
    str | None,
    typer.Option(
        "--actor-devices",
        metavar="cpu|GPUS",
        help="The device of each actor: the CPU, or this fraction of a GPU.",
        show_default="1 GPU if the cluster has any",
    ),
]

RunsDirectory = Annotated[Path, typer.Option("--runs", metavar="DIR", help="The directory of training runs.")]

ReportOut = Annotated[
    Path | None, typer.Option("--out", help="Also write a JSON report with machine, versions and date.")
]
