"""Evaluations of a network kept on the host, by what the network was shown.

    cache = EvaluationCache(width)
    rows = cache.evaluate(observations, run)      # calls run(...) only for observations that are not in the cache

With one search per move, a third of all evaluations repeat one from the search before (docs/studies/ablations.md).
Axis letters: B batch, M missing rows, H rows of the board, W columns, C planes, F numbers of an evaluation.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from hashlib import blake2b
from threading import Lock

import numpy as np

DEFAULT_BYTES = 2**26
_KEY_BYTES = 16
_ENTRY_BYTES = 256  # of a key and a row as Python objects, without the numbers


class EvaluationCache:
    """Evaluations of `width` numbers each, the least recently used dropped first. Threads may share it."""

    def __init__(self, width: int, *, max_bytes: int = DEFAULT_BYTES) -> None:
        self.capacity = max_bytes // (_ENTRY_BYTES + 4 * width)
        """The largest number of evaluations kept."""
        self.hits = 0
        """Observations whose evaluation was in the cache."""
        self.lookups = 0
        """All observations."""
        self._rows: OrderedDict[bytes, np.ndarray] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._rows)

    def clear(self) -> None:
        """Drop all evaluations and counts."""
        with self._lock:
            self._rows.clear()
            self.hits = self.lookups = 0

    def evaluate(self, observations: np.ndarray, run: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """float32[B, F] for observations [B, H, W, C]; `run` evaluates [M, H, W, C], each different row once."""
        keys = [blake2b(row.tobytes(), digest_size=_KEY_BYTES).digest() for row in observations]
        rows = self._find(keys)
        missing = {key: index for index, key in enumerate(keys) if key not in rows}
        if missing:
            new = run(observations[list(missing.values())])
            rows.update(zip(missing, new, strict=True))
            self._keep({key: rows[key].copy() for key in missing})  # a view would keep all of `new`
        return np.stack([rows[key] for key in keys])

    def _find(self, keys: list[bytes]) -> dict[bytes, np.ndarray]:
        with self._lock:
            rows = {key: self._rows[key] for key in keys if key in self._rows}
            for key in rows:
                self._rows.move_to_end(key)
            self.hits += sum(key in rows for key in keys)
            self.lookups += len(keys)
        return rows

    def _keep(self, rows: dict[bytes, np.ndarray]) -> None:
        with self._lock:
            self._rows.update(rows)
            while len(self._rows) > self.capacity:
                self._rows.popitem(last=False)
