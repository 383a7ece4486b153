"""`tabia serve`: what it refuses to start with, how it is reached, and that it stops without losing an answer."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import Response, StreamingResponse
from starlette.testclient import TestClient
from typer.testing import CliRunner
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tabia.cli.main import app
from tabia.core.errors import TabiaError
from tabia.server.serve import Options, Serving, check, rates
from tabia.server.web.draining import Draining, Stopping
from tabia.server.web.edge import LOOPBACK, BehindProxy
from tabia.server.web.limits import Rates
from tabia.server.web.security import TRANSPORT_SECURITY
from tests.server.running import run


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1, signed by itself."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")
    folder = tmp_path_factory.mktemp("certificate")
    chain, key = folder / "cert.pem", folder / "key.pem"
    made = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    made += ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([openssl, *made, "-out", chain, "-keyout", key], check=True, capture_output=True)
    return chain, key


# What is refused before anything starts.

REFUSED: dict[str, tuple[Options, str]] = {
    "every address": (Options(host="0.0.0.0"), "passwords would travel in the clear"),
    "every address of version 6": (Options(host="::"), "passwords would travel in the clear"),
    "an address of a home network": (Options(host="192.168.1.5"), "passwords would travel in the clear"),
    "a public address": (Options(host="203.0.113.5"), "passwords would travel in the clear"),
    "a name": (Options(host="games.example.org"), "expected an IP address"),
    "every address without a name": (Options(host="0.0.0.0", proxy=True), "--domain"),
    "half of TLS": (Options(certificate=Path("cert.pem")), "both --tls-cert and --tls-key"),
    "no such certificate": (Options(certificate=Path("/no/cert"), key=Path("/no/key")), "cannot be used"),
    "networks without a proxy": (Options(proxy_networks=("10.0.0.0/8",)), "needs --proxy"),
    "no network": (Options(proxy=True, proxy_networks=("10.0.0.5/8",)), "host bits set"),
    "an address as a name": (Options(domains=("https://games.example.org",)), "the name of a host"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_unsafe_options_are_refused_in_one_sentence(name: str) -> None:
    options, words = REFUSED[name]
    with pytest.raises(TabiaError, match=words) as refused:
        check(options)
    assert len(str(refused.value).splitlines()) == 1


def test_8_bits_without_their_library_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(TabiaError, match=r"install tabia\[onnx\]\.$"):
        check(Options(int8=True))


def test_the_command_exits_with_2_and_one_line(tmp_path: Path) -> None:
    found = CliRunner().invoke(app, ["serve", "--host", "0.0.0.0", "--data", str(tmp_path / "data")])
    assert found.exit_code == 2 and not found.stdout
    assert len(found.stderr.splitlines()) == 1 and "--tls-cert" in found.stderr
    assert not (tmp_path / "data").exists()


def test_the_limits_without_options_are_the_published_ones() -> None:
    assert rates(Options().address_limit) == Rates()


def test_loopback_needs_nothing_and_proxies_make_it_secure() -> None:
    plain = check(Options())
    assert not plain.edge.secure and plain.edge.proxies is None and plain.url == "http://127.0.0.1"
    behind = check(Options(host="0.0.0.0", proxy=True, domains=("Games.example.org",), proxy_networks=("10.1.0.0/16",)))
    assert behind.edge.secure and behind.hosts[0] == "games.example.org" and behind.url == "https://games.example.org"
    assert behind.edge.proxies is not None and len(behind.edge.proxies) == len(LOOPBACK) + 1
    assert "[::1]" in check(Options(host="::1")).hosts


def test_a_certificate_makes_a_public_address_safe(certificate: tuple[Path, Path]) -> None:
    chain, key = certificate
    options = Options(host="203.0.113.5", certificate=chain, key=key)
    assert check(options).edge.secure and check(options).hosts[0] == "203.0.113.5"
    with pytest.raises(TabiaError, match="Either --tls-cert or --proxy"):
        check(replace(options, proxy=True))
    with pytest.raises(TabiaError, match="cannot be used"):
        check(replace(options, key=chain))


# Forwarded headers.


async def _echo(scope: Any, receive: Any, send: Any) -> None:
    content = json.dumps({"client": scope["client"][0], "scheme": scope["scheme"]}).encode()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": content})


FORWARDED = {"x-forwarded-for": "198.51.100.7", "x-forwarded-proto": "https"}


def test_only_a_proxy_may_forward() -> None:
    networks = check(Options(proxy=True, proxy_networks=("10.1.0.0/16",))).edge.proxies
    assert networks is not None
    app = BehindProxy(_echo, networks)
    for peer in ("127.0.0.1", "10.1.2.3", "::ffff:10.1.2.3"):
        found = TestClient(app, client=(peer, 5000)).get("/", headers=FORWARDED)
        if not peer.startswith("::ffff"):
            assert found.json() == {"client": "198.51.100.7", "scheme": "https"}
        assert found.status_code == 200
    for peer in ("198.51.100.7", "10.2.0.1", "testclient"):
        found = TestClient(app, client=(peer, 5000)).get("/", headers=FORWARDED)
        assert found.status_code == 403 and "proxy" in found.json()["detail"]


def test_a_client_cannot_forge_its_address_through_the_proxy() -> None:
    app = BehindProxy(_echo, LOOPBACK)
    forged = {"x-forwarded-for": "127.0.0.1, 203.0.113.9, 198.51.100.7"}  # the proxy appends the last one
    assert TestClient(app, client=("127.0.0.1", 5000)).get("/", headers=forged).json()["client"] == "198.51.100.7"


# Stopping.


def test_a_stream_ends_when_the_server_stops_and_an_answer_is_finished() -> None:
    async def stream() -> AsyncIterator[str]:
        while True:
            yield "event: state\ndata: {}\n\n"
            await asyncio.sleep(0.005)

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(0.1)
        await Response("whole")(scope, receive, send)

    async def ask(app: Any) -> list[Any]:
        sent, never = list[Any](), asyncio.Event()

        async def receive() -> Any:
            await never.wait()

        async def send(message: Any) -> None:
            sent.append(message)

        stopping = Stopping()
        draining = Draining(app, stopping)
        answering = asyncio.create_task(draining({"type": "http", "method": "GET", "path": "/"}, receive, send))
        await asyncio.sleep(0.03)
        stopping.set()
        await asyncio.wait_for(answering, 60)
        return sent

    events = run(ask(StreamingResponse(stream(), media_type="text/event-stream")))
    assert events[-1] == {"type": "http.response.body", "body": b"", "more_body": False} and len(events) > 2
    assert run(ask(slow))[-1]["body"] == b"whole"


def test_websockets_get_the_reason_before_the_server_stops() -> None:
    """`drain` returns once every open one was told, and does not wait for one that never asks."""

    async def listens(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "websocket.accept"})
        while (await receive())["type"] != "websocket.disconnect":
            pass

    async def sleeps(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(60)

    async def stop(app: Any, seconds: float) -> list[Any]:
        sent, never, stopping = list[Any](), asyncio.Event(), Stopping()

        async def receive() -> Any:
            await never.wait()

        async def send(message: Any) -> None:
            await asyncio.sleep(0.05)
            sent.append(message)

        talking = asyncio.create_task(Draining(app, stopping)({"type": "websocket"}, receive, send))
        await asyncio.sleep(0.2)
        await stopping.drain(seconds)
        talking.cancel()
        return sent

    assert run(stop(listens, 5.0))[-1] == {"type": "websocket.close", "code": 1012, "reason": "restarting"}
    assert run(stop(sleeps, 0.05)) == []


# A process.


class Served:
    """A server process and how to ask it."""

    def __init__(self, process: subprocess.Popen[str], port: int, tls: Path | None) -> None:
        self.process, self.port, self._tls = process, port, tls

    def connection(self) -> http.client.HTTPConnection:
        if self._tls is None:
            return http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        context = ssl.create_default_context(cafile=str(self._tls))
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=120, context=context)

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, http.client.HTTPMessage, Any]:
        with closing(self.connection()) as connection:
            sent = None if body is None else json.dumps(body)
            kind = {} if body is None else {"content-type": "application/json"}
            connection.request(method, path, sent, kind | headers)
            answer = connection.getresponse()
            return answer.status, answer.headers, json.loads(answer.read())


@contextmanager
def served(data: Path, *options: str, tls: Path | None = None, log: Path | None = None) -> Iterator[Served]:
    """A server of tic-tac-toe that answers; killed at the end if it still runs."""
    (data / "server.json").unlink(missing_ok=True)
    command = [sys.executable, "-m", "tabia", "serve", "--port", "0", "--games", "tictactoe", "--data", str(data)]
    with (log or data.parent / "log").open("wb") as errors:
        process = subprocess.Popen(
            [*command, "--runs", str(data / "runs"), *options],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        )
    try:
        yield _ready(process, data, tls)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(timeout=120)
        assert process.stdout is not None
        process.stdout.close()


def _ready(process: subprocess.Popen[str], data: Path, tls: Path | None) -> Served:
    until = time.monotonic() + 300
    while time.monotonic() < until:
        assert process.poll() is None, process.stdout and process.stdout.read()
        try:
            found = Served(process, json.loads((data / "server.json").read_text(encoding="utf-8"))["port"], tls)
            if found.ask("GET", "/readyz")[0] == 200:
                return found
        except (OSError, ValueError, http.client.HTTPException):
            time.sleep(0.05)
    raise AssertionError("The server did not start.")


def test_a_server_with_tls_stops_within_seconds(tmp_path: Path, certificate: tuple[Path, Path]) -> None:
    """One story, because every start takes seconds: cookies, headers, a second server, SIGTERM, the log."""
    chain, key = certificate
    data, log = tmp_path / "data", tmp_path / "log"
    options = ("--tls-cert", str(chain), "--tls-key", str(key))
    with served(data, *options, tls=chain, log=log) as server:
        status, headers, catalog = server.ask("GET", "/api/v1/catalog")
        assert status == 200 and catalog["mode"] == "shared"
        assert [game["id"] for game in catalog["games"]] == ["tictactoe"]
        assert headers["strict-transport-security"] == TRANSPORT_SECURITY
        new = {"game": "tictactoe", "seats": [{"kind": "human"}, {"kind": "agent", "agent": "classical:random"}]}
        assert server.ask("POST", "/api/v1/games", new, origin=f"http://127.0.0.1:{server.port}")[0] == 403
        status, headers, game = server.ask("POST", "/api/v1/games", new, origin=f"https://127.0.0.1:{server.port}")
        assert status == 201
        cookie = headers["set-cookie"]
        for part in ("__Host-tabia=", "Secure", "HttpOnly", "SameSite=lax", "Path=/"):
            assert part in cookie
        with pytest.raises(TabiaError, match="Another server uses"):
            Serving(Options(port=0, data=data), print).run()
        _stop_with_open_connections(server, chain, cookie.partition(";")[0], game["id"])
        assert server.process.communicate(timeout=120)[0].splitlines()[-1] == "Stopped; all moves are saved."
    _check_log(log, forbidden=(game["id"], "127.0.0.1", cookie.partition(";")[0]))
    assert not (data / "server.json").exists()


def _stop_with_open_connections(server: Served, chain: Path, cookie: str, game: str) -> None:
    url = f"wss://127.0.0.1:{server.port}/api/v1/games/{game}/live"
    trusted = ssl.create_default_context(cafile=str(chain))
    with connect(url, ssl=trusted, additional_headers={"Cookie": cookie}) as live:
        assert json.loads(live.recv(timeout=120))["type"] == "state"
        started = time.monotonic()
        os.kill(server.process.pid, signal.SIGTERM)
        with pytest.raises(ConnectionClosed) as closed:
            while True:
                live.recv(timeout=120)
        assert closed.value.rcvd is not None
        assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (1012, "restarting")
    assert server.process.wait(timeout=120) == 0
    assert time.monotonic() - started < 20.0  # a second on a machine that does nothing else
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", server.port), timeout=5)


def _check_log(log: Path, forbidden: tuple[str, ...]) -> None:
    text = log.read_text(encoding="utf-8")
    lines = [json.loads(line) for line in text.splitlines()]
    requests = [line for line in lines if line["message"] == "request"]
    assert {"method", "route", "status", "ms", "role"} <= set(requests[0])
    assert ("POST", "/api/v1/games", 201, "guest") in {
        (line["method"], line["route"], line["status"], line["role"]) for line in requests
    }
    for word in forbidden:
        assert word not in text
