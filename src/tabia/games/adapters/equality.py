"""Hashes Python values to words, so that compiled code can compare positions of a plain Python class.

Equal values have equal words, and different values have different words (up to a collision of a 128-bit hash). Values
are numbers, text, None, lists, tuples, sets, dictionaries and NumPy arrays of them, and plain objects.
"""

from __future__ import annotations

import hashlib
from collections import deque
from typing import Any

import numpy as np

WORDS = 4  # of 32 bits


class Incomparable(Exception):
    """A value that cannot be compared; the message gives its type."""


def words(value: Any) -> np.ndarray:
    """uint32[4]: equal for equal values.

    >>> bool((words([3, (1, 2.0)]) == words((3, [True, 2]))).all()), bool((words([1, [2]]) == words([[1], 2])).all())
    (True, False)
    """
    return np.frombuffer(hashlib.blake2b(_encoded(value), digest_size=4 * WORDS).digest(), np.uint32)


def of_attributes(position: Any) -> np.ndarray:
    """uint32[4]: equal for objects of one class with equal attributes; Incomparable if they may hold other state."""
    held = _attributes(position)
    for name, value in held.items():
        try:
            _encoded(value)
        except Incomparable as error:
            raise Incomparable(f"its attribute {name!r} holds {error}") from None
    return words(held)


class _PlainObject:
    """An object with attributes and no other state."""


def _attributes(value: Any) -> dict[str, Any]:
    """The whole state of an object, if `vars` shows it."""
    kind = type(value)
    # A larger object, such as a list or a random generator, has hidden state.
    if kind.__basicsize__ != _PlainObject.__basicsize__ or any(vars(base).get("__slots__") for base in kind.__mro__):
        raise Incomparable(f"a {kind.__name__}")
    return vars(value)


def _encoded(value: Any) -> bytes:  # noqa: PLR0911  (one line per kind)
    if value is None:
        return b"n"
    if isinstance(value, np.ndarray):
        value = value.tolist()
    elif isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # Python: 1.0 == 1 == True
    if isinstance(value, int):
        return _framed(b"i", str(int(value)).encode())
    if isinstance(value, float):
        return _framed(b"f", value.hex().encode())
    if isinstance(value, str):
        return _framed(b"s", str(value).encode("utf-8", "surrogatepass"))
    if isinstance(value, bytes | bytearray):
        return _framed(b"b", bytes(value))
    if getattr(value, "__dict__", None) and isinstance(value, list | tuple | deque | set | frozenset | dict):
        raise Incomparable(f"a {type(value).__name__}")  # it has attributes besides its content
    if isinstance(value, list | tuple | deque):
        return _framed(b"l", b"".join(map(_encoded, value)))
    if isinstance(value, set | frozenset):
        return _framed(b"u", b"".join(sorted(map(_encoded, value))))
    if isinstance(value, dict):
        return _framed(b"d", b"".join(sorted(_encoded(key) + _encoded(held) for key, held in value.items())))
    return _framed(b"o", type(value).__qualname__.encode() + _encoded(_attributes(value)))


def _framed(kind: bytes, content: bytes) -> bytes:
    return kind + len(content).to_bytes(8, "big") + content
