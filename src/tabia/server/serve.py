"""`tabia serve`: the page and the API for several people, behind TLS or a proxy, until SIGTERM.

`check` decides from the options how the server is reached, or refuses in one sentence. Stopping takes seconds: no new
connection is taken, answers are finished, WebSockets and streams end with `restarting`, and the database is closed.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import ipaddress
import json
import logging
import os
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from tabia.core import files
from tabia.core.errors import TabiaError
from tabia.core.locks import FileLock
from tabia.core.text import quote
from tabia.networks.int8 import require_library
from tabia.server.accounts.accounts import AccountOptions
from tabia.server.catalog.catalog import Allowed
from tabia.server.launch import LOCK, RUNNING, Server, bind
from tabia.server.paths import server_directory
from tabia.server.play.lines import player_name
from tabia.server.web import logs
from tabia.server.web.app import create_app
from tabia.server.web.context import Context, make_context
from tabia.server.web.edge import LOOPBACK, Edge, Network
from tabia.server.web.limits import Limits, Rate, Rates
from tabia.server.web.security import LOCAL

ANSWER_SECONDS = 3
"""What answers under way get when the server stops."""
SOCKET_SECONDS = 1
"""What WebSockets get before that to close."""
STOP_SECONDS = 8.0
"""After this the process ends in any case."""
_CONNECTIONS = 4000
_FREEZE_SECONDS = (0, 20, 40, 60, 120, 240)  # each after the one before
_log = logging.getLogger("tabia.server")


@dataclass(frozen=True)
class Options:
    """What `tabia serve` was asked for."""

    host: str = "127.0.0.1"
    port: int = 8765
    domains: tuple[str, ...] = ()
    database: str | None = None
    certificate: Path | None = None
    key: Path | None = None
    proxy: bool = False
    proxy_networks: tuple[str, ...] = ()
    games: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    invite_only: bool = False
    address_limit: int = 1200
    int8: bool = False
    runs: Path = Path("runs")
    data: Path | None = None

    @property
    def directory(self) -> Path:
        """Where the server keeps its data; not where `tabia play` does."""
        return self.data or server_directory()


@dataclass(frozen=True)
class Reach:
    """How a server is reached, once that is known to be safe."""

    hosts: tuple[str, ...]
    edge: Edge
    url: str  # without the port


def check(options: Options) -> Reach:
    """How the server of these options is reached; TabiaError where passwords would travel in the clear."""
    address = _address(options.host)
    has_tls = _has_tls(options)
    if has_tls and options.proxy:
        raise TabiaError("Either --tls-cert or --proxy: behind a proxy, the proxy has the certificate.")
    if options.proxy_networks and not options.proxy:
        raise TabiaError("--proxy-network needs --proxy.")
    if not (address.is_loopback or has_tls or options.proxy):
        raise TabiaError(
            f"{options.host} can be reached from other computers, where passwords would travel in the clear: give "
            "--tls-cert and --tls-key, or --proxy behind a proxy that has a certificate."
        )
    if address.is_unspecified and not options.domains:
        raise TabiaError(f"{options.host} means every address: name the host that people open with --domain.")
    if options.int8:
        require_library()
    own = f"[{address}]" if address.version == 6 else str(address)
    names = tuple(_domain(name) for name in options.domains)
    scheme = "https" if has_tls or options.proxy else "http"
    url = f"{scheme}://{names[0] if names else own}"
    edge = Edge(
        secure=has_tls or options.proxy,
        address=url if options.proxy else f"{url}:{options.port}",
        proxies=(*LOOPBACK, *map(_network, options.proxy_networks)) if options.proxy else None,
        logged=True,
    )
    return Reach(hosts=tuple(dict.fromkeys((*names, own, *LOCAL))), edge=edge, url=url)


class Serving:
    """A shared server that is being started, runs, and can be stopped from another thread."""

    def __init__(self, options: Options, say: Callable[[str], None]) -> None:
        self._options, self._say = options, say
        self._reach = check(options)
        self._server: Server | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self) -> None:
        """Serve until stopped."""
        data = self._options.directory
        try:
            files.make_directory(data)
            lock = FileLock(data / LOCK)
            lock.__enter__()
        except BlockingIOError:
            raise TabiaError(f"Another server uses {data}; stop it, or choose another directory with --data.") from None
        except OSError as error:
            raise TabiaError(f"{data} cannot be written: {error.strerror or error}.") from None
        try:
            self._serve(data)
        finally:
            with contextlib.suppress(OSError):
                (data / RUNNING).unlink()
            lock.__exit__(None, None, None)

    def stop(self, number: int) -> None:
        """Stop from the thread that handles signals; the command then ends by itself with status 0."""
        if self._loop is None or self._server is None:
            os._exit(0)  # it has not started to serve, so there is nothing to finish
        asyncio.run_coroutine_threadsafe(self._stop(self._server), self._loop)

    async def _stop(self, server: Server) -> None:
        await server.config.app.state.stopping.drain(SOCKET_SECONDS)  # type: ignore[union-attr]
        server.should_exit = True

    def _serve(self, data: Path) -> None:
        options = self._options
        logs.configure()
        context = make_context(
            options.games,
            data=options.database or data,
            runs=options.runs,
            people=AccountOptions(secure=self._reach.edge.secure, invite_only=options.invite_only),
            limits=Limits(rates(options.address_limit)),
            allowed=Allowed(shown=not options.games, agents=options.agents or ("*",)),
            int8=options.int8,
        )
        listening = self._listen()
        port = listening.getsockname()[1]
        app = create_app(context, hosts=self._reach.hosts, edge=self._reach.edge)
        self._server = Server(self._config(app))
        files.write_atomic(data / RUNNING, json.dumps({"port": port, "pid": os.getpid()}).encode())
        place = self._reach.url if options.proxy else f"{self._reach.url}:{port}"
        with context.store.database.claim():
            asyncio.run(self._run(self._server, listening, context, place))
        context.worker.join()
        self._say("Stopped; all moves are saved.")

    async def _run(self, server: Server, listening: socket.socket, context: Context, place: str) -> None:
        self._loop = asyncio.get_running_loop()
        warm_defaults(context)
        self._say(f"Tabia serves {place}/ (SIGTERM or Ctrl-C stops it).")
        freezing = asyncio.create_task(_freeze())
        _log.info("started")
        await server.serve(sockets=[listening])
        freezing.cancel()

    def _listen(self) -> socket.socket:
        host, port = self._options.host, self._options.port
        try:
            return bind(host, port)
        except OSError as error:
            raise TabiaError(f"{host} port {port} cannot be used: {error.strerror}.") from None

    def _config(self, app: object) -> uvicorn.Config:
        certificate, key = self._options.certificate, self._options.key
        return uvicorn.Config(
            app,  # type: ignore[arg-type]
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,  # the application trusts the named proxies only
            ssl_certfile=certificate,
            ssl_keyfile=key,
            ws="websockets-sansio",
            ws_max_size=4096,
            ws_per_message_deflate=False,
            timeout_keep_alive=20,
            timeout_graceful_shutdown=ANSWER_SECONDS,
            limit_concurrency=_CONNECTIONS,
        )


async def _freeze() -> None:
    """Take what lives as long as the server out of the garbage collector, as compiling the first players makes more.

    A collection of modules and compiled programs stops everything for some 300 ms, every few seconds under load. A few
    times are enough, and bound what is kept by mistake.
    """
    for seconds in _FREEZE_SECONDS:
        await asyncio.sleep(seconds)
        gc.collect()
        gc.freeze()


def rates(address_limit: int) -> Rates:
    """The limits, those of an address as large as the operator says; the default gives those of `Rates`."""
    return Rates(
        address=Rate(address_limit, address_limit / 4),
        stranger=Rate(address_limit / 10, address_limit / 4),
        sockets_of_address=max(address_limit // 3, 20),
    )


def warm_defaults(context: Context) -> None:
    """Compile the opponent that a newcomer of each game meets, so that first moves are quick."""
    for entry in context.catalog.entries.values():
        spec = context.catalog.agent(entry.game, entry.default).spec
        context.worker.warm(player_name(entry.game.id, spec))


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """The address to listen on; `localhost` is a name for one, other names are for --domain."""
    try:
        return ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError:
        raise TabiaError(
            f"--host {quote(host)}: expected an IP address, such as 0.0.0.0; names of hosts go to --domain."
        ) from None


def _network(text: str) -> Network:
    try:
        return ipaddress.ip_network(text)
    except ValueError as error:
        raise TabiaError(f"--proxy-network {quote(text)}: {error}; expected one such as 172.18.0.0/16.") from None


def _domain(name: str) -> str:
    if not name or any(letter in name for letter in "/:@?# ") or not name.isascii():
        raise TabiaError(f"--domain {quote(name)}: expected the name of a host, such as games.example.org.")
    return name.lower()


def _has_tls(options: Options) -> bool:
    """Whether a certificate is given; one that cannot be used is refused before anything starts."""
    if options.certificate is None and options.key is None:
        return False
    if options.certificate is None or options.key is None:
        raise TabiaError("TLS needs both --tls-cert and --tls-key.")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(options.certificate, options.key, password=_no_password)
    except (OSError, ValueError) as error:
        raise TabiaError(f"The certificate {options.certificate} cannot be used: {error}.") from None
    return True


def _no_password() -> str:
    raise ValueError("the key has a password; remove it, as for other servers")
