"""`tabia agents`: the trained agents in the package."""

from __future__ import annotations

import typer
from rich.markup import escape

from tabia.cli import printing
from tabia.cli.options import Json


def agents(as_json: Json = False) -> None:
    """List the trained agents in the package: game, training and strength.

    Play against one with [bold]tabia play GAME --against az:NAME,simulations=64[/].

    Examples:
      [bold]tabia agents[/]
      [bold]tabia agents --json[/]
    """
    from tabia.players.agents import agents as shipped

    known = shipped()
    if as_json:
        printing.print_json([agent.fields() for agent in known])
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
