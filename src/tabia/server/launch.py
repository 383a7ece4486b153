"""`tabia play`: one server on 127.0.0.1 per data directory, a browser once the first opponent is warm.

The data directory holds `games.sqlite`, the lock of the server that uses it, and `server.json` with its port.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import http.client
import json
import os
import socket
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import uvicorn

from tabia.core import files
from tabia.core.errors import TabiaError
from tabia.core.locks import FileLock
from tabia.games import make
from tabia.server.analysis.exact import PERFECT
from tabia.server.analysis.programs import Kind
from tabia.server.paths import data_directory
from tabia.server.play.lines import player_name
from tabia.server.web.app import create_app
from tabia.server.web.context import Context, make_context

ADDRESS, PORT = "127.0.0.1", 8765
LOCK, RUNNING = "server.lock", "server.json"
_TRIES = 100  # ports after the one asked for
_STARTING_SECONDS = 20.0  # how long a server that holds the lock may take to answer
STOP_SECONDS = 1.0
"""What open connections get when the server stops."""


@dataclass(frozen=True)
class Options:
    """What `tabia play` was asked for."""

    games: tuple[str, ...] = ()
    port: int = PORT
    runs: Path = Path("runs")
    data: Path | None = None
    browser: bool = True


class Server(uvicorn.Server):
    """Uvicorn, which leaves signals to the command that runs it."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Install no handlers: the command's own stop the server."""
        yield


class Launch:
    """A server that is being started, runs, and can be stopped from another thread."""

    def __init__(self, options: Options, say: Callable[[str], None]) -> None:
        self._options, self._say = options, say
        self.data = options.data or data_directory()
        self._server: Server | None = None
        self._done = threading.Event()

    def run(self) -> None:
        """Serve until stopped; where a server uses the data directory already, open that one."""
        try:
            files.make_directory(self.data)
            lock = FileLock(self.data / LOCK)
            lock.__enter__()
        except BlockingIOError:
            self._open_running()
            return
        except OSError as error:
            raise TabiaError(
                f"{self.data} cannot be written: {error.strerror or error}. Choose another directory with --data."
            ) from None
        try:
            self._serve()
        finally:
            with contextlib.suppress(OSError):
                (self.data / RUNNING).unlink()
            lock.__exit__(None, None, None)
            self._done.set()

    def stop(self, number: int) -> str:
        """Stop the server from the thread that handles signals; every move is on the disk already."""
        if self._server is not None:
            self._server.should_exit = True
            self._done.wait(STOP_SECONDS + 0.3)
        return "All moves are saved."

    def _serve(self) -> None:
        context = make_context(self._options.games, data=self.data, runs=self._options.runs)
        listening = listen(self._options.port)
        port = listening.getsockname()[1]
        if port != self._options.port:
            self._say(f"Port {self._options.port} is used by another program; using {port}.")
        config = uvicorn.Config(
            create_app(context),
            log_level="warning",
            access_log=False,
            server_header=False,
            ws="websockets-sansio",
            ws_max_size=4096,
            ws_per_message_deflate=False,
            timeout_graceful_shutdown=1,
            limit_concurrency=200,
        )
        self._server = Server(config)
        files.write_atomic(self.data / RUNNING, json.dumps({"port": port, "pid": os.getpid()}).encode())
        url = address(port, context.catalog.default if self._options.games else None)
        self._say(f"Tabia is at {url} (Ctrl-C stops it).")
        threading.Thread(target=self._welcome, args=(context, url), name="welcome", daemon=True).start()
        asyncio.run(self._server.serve(sockets=[listening]))

    def _welcome(self, context: Context, url: str) -> None:
        """Warm the first opponent, open the browser, then warm what gives hints."""
        entry = context.catalog.game(context.catalog.default)
        game = entry.game
        opponent = context.catalog.agent(game, entry.default).spec
        with contextlib.suppress(Exception):  # the page says what is wrong with an agent
            for program in context.worker.warm(player_name(game.id, opponent)):
                program.result()
        if self._options.browser:
            open_browser(url, self._say)
        context.worker.warm(player_name(game.id, context.catalog.agent(game, entry.analyst).spec), (Kind.ANALYSIS,))
        if entry.is_exact:
            context.worker.warm(player_name(game.id, PERFECT))

    def _open_running(self) -> None:
        """Open the server that uses the data directory."""
        port, known = self._find_running()
        wanted = {name: make(name).id for name in self._options.games}
        missing = [name for name, game in wanted.items() if game not in known]
        if missing:
            here = address(port)
            raise TabiaError(f"Tabia runs at {here} without {', '.join(missing)}; stop it there and start again.")
        url = address(port, next(iter(wanted.values()), None))
        self._say(f"Tabia runs already at {url}.")
        if self._options.browser:
            open_browser(url, self._say)

    def _find_running(self) -> tuple[int, set[str]]:
        """The port of the running server and the games it has, once it answers."""
        until = time.monotonic() + _STARTING_SECONDS
        while time.monotonic() < until:
            try:
                port = int(json.loads(files.read_text(self.data / RUNNING, files.KILOBYTE))["port"])
                return port, {game["id"] for game in _get(port, "/api/v1/catalog")["games"]}
            except (OSError, ValueError, KeyError, TypeError, http.client.HTTPException):
                time.sleep(0.2)
        raise TabiaError(
            f"Another tabia play uses {self.data} but does not answer; stop it, or choose another with --data."
        )


def listen(port: int) -> socket.socket:
    """A socket at the port, or at the next one that is free."""
    for candidate in range(port, min(port + _TRIES, 65536)):
        try:
            return bind(ADDRESS, candidate)
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise TabiaError(
                    f"Port {candidate} cannot be used: {error.strerror}. Choose another with --port."
                ) from None
    raise TabiaError(f"No port from {port} on is free; choose another with --port.")


def bind(host: str, port: int) -> socket.socket:
    """A socket at an address of this computer.

    The protocol is named because asyncio sends small packets at once (TCP_NODELAY) only where it is; otherwise the body
    of an answer waits some 40 ms for the acknowledgment of its headers.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
    except OSError:
        found.close()
        raise
    return found


def address(port: int, game: str | None = None) -> str:
    """The address of the page; with a game that one opens, whichever the browser remembers.

    >>> address(8765), address(8765, "connect4")
    ('http://127.0.0.1:8765/', 'http://127.0.0.1:8765/#/play?g=connect4')
    """
    place = "" if game is None else f"#/play?g={quote(game, safe='/:,=')}"
    return f"http://{ADDRESS}:{port}/{place}"


def open_browser(url: str, say: Callable[[str], None]) -> None:
    """Open the page; without a browser say what to do."""
    try:
        opened = webbrowser.open(url)
    except webbrowser.Error:
        opened = False
    if not opened:
        say(f"No browser was found; open {url} in yours.")


def _get(port: int, path: str) -> Any:
    connection = http.client.HTTPConnection(ADDRESS, port, timeout=5)
    try:
        connection.request("GET", path)
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()
