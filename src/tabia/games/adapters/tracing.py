"""Finds mistakes in array rules by tracing every method once, and reports each with its file and line.

Tracing is what `jax.jit` does before it compiles: the rules run on arrays with shapes but no values. Rules that cannot
be traced, or return wrong shapes, cannot be played, so this comes before the laws are checked.
"""

from __future__ import annotations

import inspect
import linecache
import random
import re
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from tabia.games.adapters.source import Source, line_of
from tabia.games.errors import GameError
from tabia.games.game import Game, result_types

_FIXES: tuple[tuple[type[Exception], str, str], ...] = (
    # The error, a part of its message, and what to do. The first match counts.
    (
        jax.errors.TracerBoolConversionError,
        "",
        "`if`, `while`, `and`, `or` and `not` cannot use the value of an array. "
        "Choose with jnp.where(condition, a, b), and combine conditions with &, | and ~",
    ),
    (
        jax.errors.NonConcreteBooleanIndexError,
        "",
        "a boolean mask as an index gives an array of unknown length. Use jnp.where(mask, a, b)",
    ),
    (
        jax.errors.TracerArrayConversionError,
        "",
        "NumPy cannot read an array of the state. Use jax.numpy (jnp) instead",
    ),
    (
        jax.errors.TracerIntegerConversionError,
        "",
        "an array's value cannot be a Python index or a length. Index a jnp array, or use jnp.arange and a mask",
    ),
    (
        jax.errors.ConcretizationTypeError,
        "",
        "an array's value cannot become a Python number. Keep it an array: use .astype(...) and jnp functions",
    ),
    (
        TypeError,
        "item assignment",
        "an array cannot be changed in place. Write x = x.at[i].set(value), then return a new state",
    ),
    (AttributeError, "can't set attribute", "a state cannot be changed in place. Return state._replace(field=value)"),
    (AttributeError, "cannot assign to field", "a frozen object cannot be changed in place. Return a new one"),
)
_RANDOMNESS = re.compile(r"(?<!jax\.)(?<!jrandom\.)\b(random|secrets|uuid|time|default_rng)\b\s*[.(]")


class _Traced(NamedTuple):
    answer: Any  # a pytree of shapes
    program: str
    constants: list[Any]


def check(game: Game, found: Source) -> None:
    """Raise GameError for the first mistake."""
    _Check(game, found).run()


class _Check:
    """Traces one game."""

    def __init__(self, game: Game, found: Source) -> None:
        self.game, self.found = game, found

    def run(self) -> None:
        self.declared()
        key, action = jax.random.key(0), jnp.int32(0)
        first = self.trace("init", key)
        self.refuse_weak_types("init", first.answer)
        stepped = self.trace("step", first.answer, action, key)
        self.compare_states(first.answer, stepped.answer)
        self.answers(first.answer)
        # Last, because a lookup table that is filled on first use may draw random numbers once.
        self.refuse_randomness("init", key)
        self.refuse_randomness("step", first.answer, action, key)

    def trace(self, method: str, *given: Any, **named: Any) -> _Traced:
        call = partial(getattr(self.game, method), **named)
        try:
            program, answer = jax.make_jaxpr(call, return_shape=True)(*given)
        except Exception as error:  # a user's rules may raise anything
            raise self.failure(method, error) from None
        return _Traced(answer, re.sub(r"0x[0-9a-f]+", "", str(program.jaxpr)), list(program.consts))

    def declared(self) -> None:
        """Check the numbers of the game, which may be properties."""
        for name in ("num_players", "num_actions", "max_moves", "observation_shape"):
            try:
                value = getattr(self.game, name)
            except Exception as error:
                raise self.failure(name, error) from None
            numbers = value if isinstance(value, tuple) else (value,)
            count, what = (
                (3, "three integers of at least 1: height, width, planes")
                if name == "observation_shape"
                else (1, "an integer of at least 1")
            )
            if len(numbers) != count or not all(isinstance(number, int) and number >= 1 for number in numbers):
                raise self.fault(name, f"is {value!r}; expected {what}")

    def answers(self, state: Any) -> None:
        """Check the shape and dtype of every result."""
        expected = result_types(self.game)
        for method, kind in expected.items():
            self.expect(method, self.trace(method, state).answer, kind)
        self.expect("observe", self.trace("observe", state, seat=jnp.int32(0)).answer, expected["observe"])
        words = self.trace("position", state).answer
        if getattr(words, "ndim", None) != 1 or words.dtype != jnp.uint32:
            raise self.fault("position", f"returns {_shown(words)}; expected uint32[K]")

    def expect(self, method: str, answer: Any, kind: str) -> None:
        if _shown(answer) == kind:
            return
        wanted = kind.partition("[")
        same_shape = _shown(answer).partition("[")[2] == wanted[2]
        how = f"; convert it with .astype(jnp.{wanted[0].replace('bool', 'bool_')})" if same_shape else ""
        raise self.fault(method, f"returns {_shown(answer)}; expected {kind}{how}")

    def compare_states(self, first: Any, after: Any) -> None:
        if str(jax.tree.structure(first)) != str(jax.tree.structure(after)):
            raise self.fault("step", f"returns {_shown(after)}; expected the same as init, {_shown(first)}")
        for (path, old), new in zip(jax.tree.leaves_with_path(first), jax.tree.leaves(after), strict=True):
            if _shown(old) != _shown(new):
                name = f"state{jax.tree_util.keystr(path)}"
                raise self.fault("step", f"returns {name} as {_shown(new)}; init returned {_shown(old)}")

    def refuse_weak_types(self, method: str, state: Any) -> None:
        for path, leaf in jax.tree.leaves_with_path(state):
            if getattr(leaf, "weak_type", False):
                name = f"state{jax.tree_util.keystr(path)}"
                raise self.fault(method, f"returns {name} without a fixed dtype; name one, as in jnp.int32(0)")

    def refuse_randomness(self, method: str, *given: Any) -> None:
        """Refuse Python's random numbers, which would be drawn once, while tracing, and then be constants."""
        before = _random_state()
        one = self.trace(method, *given)
        drawn = _random_state() != before
        other = self.trace(method, *given)
        if drawn or one.program != other.program or not _equal(one.constants, other.constants):
            raise self.fault(
                method,
                "depends on more than its arguments, such as Python's random, which compiled rules run only once. "
                "Set chance = True and draw from the key, as in jax.random.randint(key, (), 0, 6)",
                self.randomness_line(method),
            )

    def failure(self, method: str, error: Exception) -> GameError:
        for kind, part, fix in _FIXES:
            if isinstance(error, kind) and part in str(error):
                return self.fault(method, fix, line_of(error, self.found.file), quote=True)
        message = str(error).strip().partition("\n")[0]
        return self.fault(method, f"raised {type(error).__name__}: {message}", line_of(error, self.found.file))

    def fault(self, method: str, what: str, line: int | None = None, *, quote: bool = False) -> GameError:
        line = line or self.first_line(method)
        where = f", line {line}" if line else ""
        code = linecache.getline(self.found.file, line).strip() if quote and line else ""
        quoted = f"`{code}`: " if code else ""
        return GameError(f"{self.found.path}{where}, {self.found.rules.__name__}.{method}: {quoted}{what}.")

    def first_line(self, method: str) -> int | None:
        """The line of the method, if it is in the user's file."""
        code = getattr(getattr(self.found.rules, method, None), "__code__", None)
        return code.co_firstlineno if code is not None and code.co_filename == self.found.file else None

    def randomness_line(self, method: str) -> int | None:
        """The first line of the method, or else of the class, that seems to draw a random number."""
        for written in (getattr(self.found.rules, method, None), self.found.rules):
            try:
                lines, first = inspect.getsourcelines(written)  # type: ignore[arg-type]
            except (OSError, TypeError):
                continue
            for number, line in enumerate(lines):
                if _RANDOMNESS.search(line):
                    return first + number
        return None


def _shown(answer: Any) -> str:
    if isinstance(answer, jax.ShapeDtypeStruct):
        return f"{answer.dtype}{list(answer.shape)}"
    return "None" if answer is None else f"a {type(answer).__name__} of {len(jax.tree.leaves(answer))} arrays"


def _random_state() -> tuple[Any, str]:
    kind, words, *rest = np.random.get_state(legacy=True)
    return random.getstate(), repr((kind, np.asarray(words).tobytes(), rest))


def _equal(some: list[Any], others: list[Any]) -> bool:
    pairs = zip(some, others, strict=True)
    return len(some) == len(others) and all(np.array_equal(_plain(a), _plain(b)) for a, b in pairs)


def _plain(constant: Any) -> np.ndarray:
    is_key = isinstance(constant, jax.Array) and jnp.issubdtype(constant.dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(constant) if is_key else constant)
