"""`tabia agents`: the trained players that come with Tabia, and their networks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from tabia.cli import printing
from tabia.cli.games import Picture
from tabia.cli.options import Json

Name = Annotated[
    str | None,
    typer.Argument(metavar="[NAME]", help="An agent, RUN@VERSION or a weights file whose network to show."),
]


def agents(name: Name = None, as_json: Json = False, svg: Picture = None) -> None:
    """List the trained agents in the package: what they play, how they were made, how strong they are.

    With a name, show the layers of its network instead, as a table or as a picture.
    Play against one with [bold]tabia play GAME --against az:NAME,simulations=64[/].

    Examples:
      [bold]tabia agents[/]
      [bold]tabia agents --json[/]
      [bold]tabia agents connect4[/]
      [bold]tabia agents connect4 --svg network.svg[/]
    """
    if name is not None:
        _network(name, as_json=as_json, svg=svg)
        return
    if svg is not None:
        raise typer.BadParameter("--svg draws one network; name an agent: tabia agents NAME --svg FILE.")
    _list(as_json=as_json)


def _network(name: str, *, as_json: bool, svg: Path | None) -> None:
    """Print the network of one agent, or write its picture."""
    from tabia.networks.picture import draw
    from tabia.networks.summary import counts, summary
    from tabia.networks.weights import read_manifest
    from tabia.players.runs import weights_file

    what, _, version = name.partition("@")
    network = read_manifest(weights_file(what, version or None)).network
    if svg == Path("-"):
        typer.echo(draw(network), nl=False)
        return
    if as_json:
        printing.print_json({"config": network.config.to_dict(), **counts(network)._asdict()})
    else:
        typer.echo(summary(network))
    if svg is not None:
        printing.save(svg, draw(network))
        typer.echo(f"Picture saved to {svg}.", err=True)


def _list(*, as_json: bool) -> None:
    """Print what is known about every agent."""
    from tabia.players.agents import agents as shipped

    known = shipped()
    if as_json:
        printing.print_json([agent.to_dict() for agent in known])
        return
    console = printing.console()
    for agent in known:
        size = f"{agent.bytes / 1e6:.1f} MB" if agent.bytes >= 1e5 else f"{agent.bytes / 1e3:.0f} kB"
        console.print(f"[bold]az:{escape(agent.name)}[/]  {escape(agent.about)}")
        trained = f"{agent.recipe}, seed {agent.seed}, {agent.minutes:.3g} minutes on {agent.device}, {agent.date}"
        rows = {"game": agent.game, "network": f"{agent.network}, {size}", "trained": trained}
        rows |= {one.what: f"{one.figure} ({one.interval})" if one.interval else one.figure for one in agent.strength}
        if agent.versions:
            rows["versions, Elo"] = ", ".join(f"@{one.version} {one.elo:+.0f}" for one in agent.versions)
        console.print(printing.pairs(rows))
        console.print("")
    typer.echo("Play against one: `tabia play GAME --against az:NAME`. Fewer simulations make it weaker.", err=True)
