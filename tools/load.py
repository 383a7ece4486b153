"""Load on a shared server: many people play agents at once, and every answer is checked.

python tools/load.py                          ten minutes, 200 games against versions of connect4-laptop, SQLite
python tools/load.py --db postgresql://...    the same on PostgreSQL
python tools/load.py --minutes 1 --games 20   a shorter one

The server is started on a free port of this computer and stopped at the end. Each player thinks two to six seconds,
sends a random legal move, and follows the game on a WebSocket; some moves are sent twice. At the end all games are read
again: every acknowledged move must be there once. Prints the times of moves (until the server has acknowledged one) and
of replies (from there until the agent's move arrives), then asks for too much and checks that 429 is followed by
recovery. Exits with 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

GAME, FAMILY = "connect4", "shipped:connect4-laptop"
REPLY_BAR, MOVE_BAR = 1.5, 0.050  # seconds, of the 95th percentile
_TWICE = 0.02  # of all moves are sent twice
_PATIENCE = 60.0  # seconds for one answer


class Failed(Exception):
    """An answer that must not happen."""


@dataclass
class Answer:
    """A response."""

    status: int
    headers: dict[str, str]
    body: Any


class Http:
    """One connection that stays open, as a browser has it; a cookie once the server gives one."""

    def __init__(self, port: int) -> None:
        self.port, self.cookie = port, ""
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, method: str, path: str, body: Any = None) -> Answer:
        """One request; OSError if the server does not answer."""
        async with asyncio.timeout(_PATIENCE):
            if self._streams is None:
                self._streams = await asyncio.open_connection("127.0.0.1", self.port)
            try:
                return await self._exchange(*self._streams, method, path, body)
            except (OSError, asyncio.IncompleteReadError, ValueError) as error:
                self.close()
                raise ConnectionError(str(error)) from None
            except asyncio.CancelledError:  # the answer would be taken for that of the next request
                self.close()
                raise

    async def _exchange(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, method: str, path: str, body: Any
    ) -> Answer:
        content = b"" if body is None else json.dumps(body).encode()
        head = [f"{method} /api/v1/{path} HTTP/1.1", f"host: 127.0.0.1:{self.port}"]
        head += [f"cookie: {self.cookie}"] if self.cookie else []
        head += ["content-type: application/json", f"content-length: {len(content)}"] if body is not None else []
        writer.write("\r\n".join([*head, "", ""]).encode() + content)
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {key.lower(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
        received = await reader.readexactly(int(headers.get("content-length", 0)))
        if "set-cookie" in headers:
            self.cookie = headers["set-cookie"].partition(";")[0]
        if headers.get("connection") == "close":
            self.close()
        return Answer(int(first.split()[1]), headers, json.loads(received) if received else None)

    def close(self) -> None:
        """Give the connection up."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


@dataclass
class Counts:
    """What all players have seen."""

    moves: list[float] = field(default_factory=list)  # seconds
    replies: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    games: int = 0
    measuring: bool = False

    def add(self, times: list[float], seconds: float) -> None:
        """Keep a time, unless the server is still warming up."""
        if self.measuring:
            times.append(seconds)


class Player:
    """A person who plays one game after the other."""

    def __init__(self, port: int, agents: list[str], counts: Counts, *, seed: int, think: tuple[float, float]) -> None:
        self.http, self.counts = Http(port), counts
        self._agents, self._think, self._random = agents, think, random.Random(seed)
        self.acknowledged: dict[str, list[int]] = {}  # actions of each game up to the last acknowledged move
        self._state: dict[str, Any] = {}

    async def play(self, until: float) -> None:
        """Play until a moment of the monotonic clock."""
        await asyncio.sleep(self._random.uniform(0, self._think[1]))
        while time.monotonic() < until:
            try:
                await self._game(until)
            except (OSError, TimeoutError, WebSocketException, Failed) as error:
                self.counts.errors[f"{type(error).__name__}: {error}"[:120]] += 1
                await asyncio.sleep(1)
        self.http.close()

    async def start(self) -> dict[str, Any]:
        """A new game against one of the agents."""
        seats: list[dict[str, Any]] = [{"kind": "human"}, {"kind": "agent", "agent": self._random.choice(self._agents)}]
        self._random.shuffle(seats)
        return await self._asked("POST", "games", {"game": GAME, "seats": seats}, (201,))

    async def _game(self, until: float) -> None:
        self._state = await self.start()
        self.counts.games += 1
        name = self._state["id"]
        self._check(self._state)
        url = f"ws://127.0.0.1:{self.http.port}/api/v1/games/{name}/live"
        headers = {"Cookie": self.http.cookie}
        async with connect(url, additional_headers=headers, compression=None, max_size=2**22) as live:
            await self._next(live, time.monotonic())
            while self._state["status"] != "over" and time.monotonic() < until:
                await asyncio.sleep(self._random.uniform(*self._think))
                await self._move(name)
                acknowledged = time.monotonic()
                if self._state["status"] == "thinking":
                    await self._next(live, acknowledged)
                    self.counts.add(self.counts.replies, time.monotonic() - acknowledged)

    async def _move(self, id: str) -> None:
        ply = self._state["position"]["ply"]
        action = self._random.choice(self._state["position"]["legal"])["action"]
        started = time.monotonic()
        state = await self._asked("POST", f"games/{id}/moves", {"ply": ply, "action": action}, stale=True)
        self.counts.add(self.counts.moves, time.monotonic() - started)
        self._check(state)
        if self.acknowledged[id][ply] != action:
            raise Failed("another move was made than the one that was sent")
        self._state = state
        if self._random.random() < _TWICE:
            again = await self._asked("POST", f"games/{id}/moves", {"ply": ply, "action": action}, stale=True)
            self._check(again)

    async def _next(self, live: Any, since: float) -> None:
        """Wait until it is this person's turn."""
        while self._state["status"] not in ("your move", "over"):
            async with asyncio.timeout(_PATIENCE):
                state = json.loads(await live.recv())["state"]
            if state["version"] < self._state["version"]:
                continue  # sent before what is known already
            self._check(state)
            self._state = state

    def _check(self, state: dict[str, Any]) -> None:
        """What was acknowledged once is in every later state, once."""
        actions = [move["action"] for move in state["moves"]]
        known = self.acknowledged.setdefault(state["id"], [])
        if actions[: len(known)] != known[: len(actions)]:
            raise Failed("an acknowledged move was lost")
        if len(actions) > len(known):
            self.acknowledged[state["id"]] = actions

    async def _asked(
        self, method: str, path: str, body: Any, status: tuple[int, ...] = (200,), *, stale: bool = False
    ) -> Any:
        """An answer; a refusal for the load is waited out, as the page does.

        With `stale`, the state of a game that has moved on will do: a move may be stored although its answer was lost.
        """
        for _ in range(20):
            answer = await self.http.ask(method, path, body)
            if answer.status in status:
                return answer.body
            if stale and answer.status == 409:
                return answer.body["state"]
            if answer.status not in (429, 503):
                raise Failed(f"{method} {path.partition('/')[0]} got {answer.status}: {answer.body.get('detail')}")
            self.counts.errors[f"waited after {answer.status}"] += 1
            await asyncio.sleep(float(answer.headers["retry-after"]))
        raise Failed(f"{method} was refused for too long")

    async def verify(self, newest: int = sys.maxsize) -> int:
        """Read the newest games again, or all; the number of acknowledged moves that are there once."""
        found = 0
        for name, actions in list(self.acknowledged.items())[-newest:]:
            state = await self._asked("GET", f"games/{name}", None)
            held = [move["action"] for move in state["moves"]]
            if held[: len(actions)] != actions:
                raise Failed(f"{len(actions)} moves were acknowledged, the server has {held} instead of {actions}")
            found += len(actions)
        self.http.close()
        return found


class ServerProcess:
    """A server on a free port, with its data in a directory."""

    def __init__(self, data: Path, *options: str, log: Path | None = None) -> None:
        self._data = data
        (data / "server.json").unlink(missing_ok=True)
        command = [sys.executable, "-m", "tabia", "serve", "--port", "0", "--data", str(data), "--games", GAME]
        with (log or Path(os.devnull)).open("ab") as errors:
            self.process = subprocess.Popen(
                [*command, "--runs", str(data / "runs"), *options],
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )
        self.port = 0

    async def ready(self, seconds: float = 180.0) -> int:
        """The port, once the server answers."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if self.process.poll() is not None:
                raise Failed(f"the server exited with {self.process.returncode}")
            with suppress(OSError, ValueError, TimeoutError):
                self.port = json.loads((self._data / "server.json").read_text(encoding="utf-8"))["port"]
                if await once(self.port, "catalog") is not None:
                    return self.port
            await asyncio.sleep(0.1)
        raise Failed("the server did not start")

    def kill(self) -> None:
        """SIGKILL."""
        self.process.kill()
        self.process.wait(timeout=30)

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=60)


async def once(port: int, path: str) -> Any:
    """The answer to a single request; None if it is refused."""
    http = Http(port)
    try:
        answer = await http.ask("GET", path)
    finally:
        http.close()
    return answer.body if answer.status == 200 else None


async def versions(port: int, count: int) -> list[str]:
    """The newest versions of the agent, as opponents."""
    found = await once(port, f"agents/{FAMILY}/versions?game={GAME}")
    if found is None:
        raise Failed(f"{FAMILY} has no versions")
    return [version["agent"] for version in found["versions"]][-count:]


async def overload(http: Http) -> str:
    """Ask for too much as one person, and again once the server allows it."""
    answers = [await http.ask("GET", "ratings/me") for _ in range(100)]
    refused = [answer for answer in answers if answer.status == 429]
    if not refused or any(answer.status not in (200, 429) for answer in answers):
        raise Failed(f"too many requests got {Counter(answer.status for answer in answers)}")
    wait = float(refused[-1].headers["retry-after"])
    await asyncio.sleep(wait)
    after = await http.ask("GET", "ratings/me")
    http.close()
    if after.status != 200:
        raise Failed(f"after {wait:.0f} s the server still refuses")
    return f"{len(refused)} of {len(answers)} requests got 429; after Retry-After ({wait:.0f} s) 200"


def percentiles(name: str, times: list[float]) -> str:
    """A row of the table, in milliseconds."""
    if not times:
        return f"{name:<10} none"
    held = sorted(times)
    marks = [held[min(int(len(held) * share), len(held) - 1)] for share in (0.5, 0.95, 0.99)]
    return f"{name:<10} {len(held):>7,} " + " ".join(f"{1000 * mark:>8.0f}" for mark in [*marks, held[-1]])


def percentile(times: list[float], share: float) -> float:
    """The time that a share of all does not exceed."""
    return sorted(times)[min(int(len(times) * share), len(times) - 1)] if times else 0.0


async def measure(options: argparse.Namespace, data: Path) -> bool:
    """The whole load; whether every bar was met."""
    limits = ["--address-limit", "100000"]
    database = [] if options.db is None else ["--db", options.db]
    server, counts = ServerProcess(data, *limits, *database, log=options.log), Counts()
    try:
        port = await server.ready()
        agents = await versions(port, options.versions)
        print(f"{options.games} games against {', '.join(agents)}; {options.minutes:g} minutes", flush=True)
        until = time.monotonic() + options.warm_up + 60 * options.minutes
        players = [
            Player(port, agents, counts, seed=seed, think=(options.least, options.most))
            for seed in range(options.games)
        ]
        playing = asyncio.gather(*(player.play(until) for player in players))
        await asyncio.sleep(options.warm_up)
        counts.measuring = True
        await playing
        kept = sum([await player.verify() for player in players])
        print("           count      p50      p95      p99      max  (ms)")
        print(percentiles("moves", counts.moves))
        print(percentiles("replies", counts.replies))
        print(f"{counts.games} games, {kept:,} acknowledged moves, all there once")
        print(f"errors: {dict(counts.errors) or 'none'}")
        print(await overload(players[0].http))
    finally:
        code = server.stop()
    spent = [sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF)]
    print(f"SIGTERM: exit code {code}; CPU seconds: server {spent[0]:.0f}, players {spent[1]:.0f}")
    slow = percentile(counts.replies, 0.95) > REPLY_BAR or percentile(counts.moves, 0.95) > MOVE_BAR
    return not slow and not counts.errors and code == 0


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--games", type=int, default=200)
    parser.add_argument("--versions", type=int, default=3, help="how many versions of the agent play")
    parser.add_argument("--warm-up", type=float, default=45.0, help="seconds that are not measured")
    parser.add_argument("--least", type=float, default=2.0, help="seconds of thought at least")
    parser.add_argument("--most", type=float, default=6.0, help="seconds of thought at most")
    parser.add_argument("--db", help="the URL of an empty PostgreSQL database")
    parser.add_argument("--log", type=Path, help="where the server's log goes")
    with tempfile.TemporaryDirectory(prefix="tabia-load-") as folder:
        return 0 if asyncio.run(measure(parser.parse_args(), Path(folder))) else 1


if __name__ == "__main__":
    sys.exit(main())
