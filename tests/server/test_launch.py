"""`tabia play` as a process: SIGKILL loses no acknowledged move, a second start opens the first, Ctrl-C stops it."""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from tabia.server.launch import address, listen
from tests.server.running import free_port

GAME = "tictactoe"


@dataclass
class Running:
    """A server process."""

    process: subprocess.Popen[str]
    port: int

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)) as connection:
            headers = {"content-type": "application/json"}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

    def new_game(self) -> dict[str, Any]:
        status, state = self.ask("POST", "/api/v1/games", {"game": GAME, "seats": [{"kind": "human"}] * 2})
        assert status == 201
        return state

    def move(self, state: dict[str, Any], action: int) -> dict[str, Any]:
        status, after = self.ask(
            "POST", f"/api/v1/games/{state['id']}/moves", {"ply": state["position"]["ply"], "action": action}
        )
        assert status == 200, after
        return after


def command(data: Path, port: int) -> list[str]:
    options = ["--no-browser", "--data", str(data), "--runs", str(data / "runs"), "--port", str(port)]
    return [sys.executable, "-m", "tabia", "play", GAME, *options]


@contextmanager
def serving(data: Path, port: int) -> Iterator[Running]:
    """A server that answers; killed at the end if it still runs."""
    (data / "server.json").unlink(missing_ok=True)
    process = subprocess.Popen(
        command(data, port), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    try:
        yield _answering(process, data)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(timeout=120)
        assert process.stdout is not None
        process.stdout.close()


def _answering(process: subprocess.Popen[str], data: Path) -> Running:
    until = time.monotonic() + 300
    while time.monotonic() < until:
        assert process.poll() is None, process.stdout and process.stdout.read()
        try:
            running = Running(process, json.loads((data / "server.json").read_text(encoding="utf-8"))["port"])
            running.ask("GET", "/api/v1/games")
            return running
        except (OSError, ValueError, http.client.HTTPException):
            time.sleep(0.05)
    raise AssertionError("The server did not start.")


def play_until_killed(running: Running, rng: random.Random) -> dict[str, Any]:
    """The last acknowledged state of a game, killed right after its acknowledgment."""
    state = running.new_game()
    for _ in range(rng.randint(1, 4)):
        state = running.move(state, rng.choice(state["position"]["legal"])["action"])
        if state["status"] == "over":
            break
    os.kill(running.process.pid, signal.SIGKILL)
    running.process.wait(timeout=120)
    return state


def kill_repeatedly(data: Path, port: int, kills: int) -> None:
    rng, acknowledged = random.Random(5), list[dict[str, Any]]()
    for _ in range(kills):
        with serving(data, port) as running:
            check_kept(running, acknowledged)
            acknowledged.append(play_until_killed(running, rng))
    with serving(data, port) as running:
        check_kept(running, acknowledged)


def check_kept(running: Running, acknowledged: list[dict[str, Any]]) -> None:
    for state in acknowledged:
        assert running.ask("GET", f"/api/v1/games/{state['id']}")[1] == state


def test_kills_second_start_held_port_and_ctrl_c(tmp_path: Path) -> None:
    """One story, because every start takes seconds."""
    rng, port, acknowledged = random.Random(7), free_port(), list[dict[str, Any]]()
    with serving(tmp_path, port) as running:
        assert running.port == port
        second = subprocess.run(command(tmp_path, port), capture_output=True, text=True, timeout=300, check=False)
        assert second.returncode == 0
        assert second.stdout == f"Tabia runs already at http://127.0.0.1:{port}/#/play?g={GAME}.\n"
        acknowledged.append(play_until_killed(running, rng))
    with socket.socket() as other:
        other.bind(("127.0.0.1", port))
        other.listen()
        with serving(tmp_path, port) as running:
            assert running.port > port  # another program holds the one asked for
            check_kept(running, acknowledged)
            started = time.monotonic()
            os.kill(running.process.pid, signal.SIGINT)
            printed = running.process.communicate(timeout=120)[0]
            assert running.process.returncode == 128 + signal.SIGINT
            assert time.monotonic() - started < 20.0  # a second on a machine that does nothing else
            assert printed.splitlines() == [
                f"Port {port} is used by another program; using {running.port}.",
                f"Tabia is at http://127.0.0.1:{running.port}/#/play?g={GAME} (Ctrl-C stops it).",
                "tabia: interrupted. All moves are saved.",
            ]
            assert not (tmp_path / "server.json").exists()


@pytest.mark.long
def test_no_acknowledged_move_is_lost_in_50_kills(tmp_path: Path) -> None:
    kill_repeatedly(tmp_path, free_port(), 50)


def test_the_next_free_port_is_taken() -> None:
    with closing(listen(free_port())) as first:
        first.listen()
        port = first.getsockname()[1]
        with closing(listen(port)) as second:
            assert second.getsockname()[1] > port


def test_the_address_names_any_game_so_that_the_page_reads_it() -> None:
    for game in ("pgx:hex", "chinese-checkers:fields=121,players=2", "my games/n&m+1?#%.py:Nim"):
        place = urlsplit(address(8765, game)).fragment
        assert dict(parse_qsl(place.partition("?")[2], strict_parsing=True)) == {"g": game}
