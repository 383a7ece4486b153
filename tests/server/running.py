"""Coroutines run from tests, also while Playwright's event loop runs in the same thread; and ports for servers."""

from __future__ import annotations

import asyncio
import random
import socket
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

Found = TypeVar("Found")


def run(coroutine: Coroutine[Any, Any, Found]) -> Found:
    """What a coroutine returns, from an event loop in a thread of its own."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


def free_port() -> int:
    """A port that stays free while a server stops and starts: below those that systems give to connections."""
    while True:
        port = random.SystemRandom().randint(20_000, 32_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
