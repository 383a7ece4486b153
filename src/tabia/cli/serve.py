"""`tabia serve`: a server for several people, and the commands of its operator."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tabia.cli.extras import needs_server
from tabia.cli.options import RunsDirectory

Host = Annotated[str, typer.Option(metavar="ADDRESS", help="The address to listen on; 0.0.0.0 for all of them.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="The port to listen on; 0 for any free one.")]
Domain = Annotated[
    list[str] | None, typer.Option("--domain", metavar="NAME", help="A host name that people open; may be repeated.")
]
DatabaseUrl = Annotated[
    str | None,
    typer.Option(
        "--db",
        metavar="URL",
        envvar="TABIA_DB",
        show_envvar=False,
        help="The database, postgresql://USER@HOST/NAME; also read from $TABIA_DB.",
        show_default="SQLite in the data directory",
    ),
]
Certificate = Annotated[Path | None, typer.Option("--tls-cert", metavar="FILE", help="The certificate chain, PEM.")]
Key = Annotated[Path | None, typer.Option("--tls-key", metavar="FILE", help="The key of the certificate, PEM.")]
Proxy = Annotated[
    bool, typer.Option("--proxy", help="Accept requests only from a reverse proxy, which has the certificate.")
]
ProxyNetwork = Annotated[
    list[str] | None,
    typer.Option("--proxy-network", metavar="NETWORK", help="A network of the proxy, if it is on another computer."),
]
Games = Annotated[
    list[str] | None,
    typer.Option("--games", metavar="GAME", help="Only this game; may be repeated.", show_default="all"),
]
Agents = Annotated[
    list[str] | None,
    typer.Option("--agents", metavar="PATTERN", help="Only these agents, such as level:*; may be repeated."),
]
InviteOnly = Annotated[bool, typer.Option("--invite-only", help="Only people with an invitation can sign up or play.")]
AddressLimit = Annotated[
    int, typer.Option(min=30, help="API requests per minute from one address, which a whole class may share.")
]
Int8 = Annotated[
    bool,
    typer.Option("--int8", help="Evaluate networks in 8 bits, for many people on a CPU; needs the extra onnx."),
]
Data = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="Where the server keeps its data.", show_default="a folder of the user's data directory"
    ),
]


app = typer.Typer(no_args_is_help=False)


@app.callback(invoke_without_command=True)
def serve(
    ctx: typer.Context,
    host: Host = "127.0.0.1",
    port: Port = 8765,
    domain: Domain = None,
    db: DatabaseUrl = None,
    tls_cert: Certificate = None,
    tls_key: Key = None,
    proxy: Proxy = False,
    proxy_network: ProxyNetwork = None,
    games: Games = None,
    agents: Agents = None,
    invite_only: InviteOnly = False,
    address_limit: AddressLimit = 1200,
    int8: Int8 = False,
    runs: RunsDirectory = Path("runs"),
    data: Data = None,
) -> None:
    """Serve games to a class, a club or a lab: accounts, ratings, games against agents and between people.

    Without TLS or a proxy the server listens on this computer only. SIGTERM and Ctrl-C stop it within seconds, after
    the requests in progress; every move is saved. Logs are lines of JSON on stderr, without names and addresses.

    Examples:
      [bold]tabia serve[/]
      [bold]tabia serve --host 0.0.0.0 --domain games.example.org --tls-cert cert.pem --tls-key key.pem[/]
      [bold]tabia serve --proxy --domain games.example.org --db postgresql://tabia@localhost/tabia[/]
      [bold]tabia serve --games connect4 --games othello --agents 'level:*' --invite-only[/]
    """
    from tabia.core.errors import TabiaError

    if ctx.invoked_subcommand is not None:
        given = [name for name in ctx.params if _is_typed(ctx, name)]
        if given:
            option = given[0].replace("_", "-")
            raise TabiaError(f"Write --{option} after {ctx.invoked_subcommand}, or leave it out.")
        return
    with needs_server():
        from tabia.server.serve import STOP_SECONDS, Options, Serving
    from tabia.cli import interrupts

    options = Options(
        host=host,
        port=port,
        domains=tuple(domain or ()),
        database=db,
        certificate=tls_cert,
        key=tls_key,
        proxy=proxy,
        proxy_networks=tuple(proxy_network or ()),
        games=tuple(games or ()),
        agents=tuple(agents or ()),
        invite_only=invite_only,
        address_limit=address_limit,
        int8=int8,
        runs=runs,
        data=data,
    )
    serving = Serving(options, typer.echo)
    with interrupts.on_interrupt(serving.stop, seconds=STOP_SECONDS):
        serving.run()


def _is_typed(ctx: typer.Context, name: str) -> bool:
    """Whether an option is on the command line, and not from the environment or a default."""
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
