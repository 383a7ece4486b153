"""Coroutines run from tests, also while Playwright's event loop runs in the same thread."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Found = TypeVar("Found")


def run(coroutine: Coroutine[Any, Any, Found]) -> Found:
    """What a coroutine returns, from an event loop in a thread of its own."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(asyncio.run, coroutine).result()
