"""Loops that run on a CPU as one kernel.

XLA's CPU backend runs a program operation by operation. For the search of one position the fixed cost per operation is
most of the time. XLA compiles a call with the attribute `xla_cpu_small_call` into one kernel; it marks the smallest
loops itself. Two laws make the attribute safe for larger ones, with a release of JAX that was tested:

- The kernel contains only operations that its compiler supports. `is_supported` knows them by name, and all other
  loops, like those with a network, run as usual.
- The kernel reads each of its parameters, also after simplification: XLA ends the process if one is unused. XLA drops
  a parameter that is a constant, so a barrier hides where parameters come from. It drops a parameter that the result
  does not depend on, so the first index of the loop depends on all of them (`_zero_of`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import Array
from jax.custom_batching import sequential_vmap
from jax.extend import core

Carry = TypeVar("Carry")
Step = Callable[[Array, Carry, Any], Carry]  # (index, carry, given)

_ELEMENTWISE = """abs acos acosh add and asin asinh atan atan2 atanh bitcast_convert_type cbrt ceil clamp clz copy
    copy_p convert_element_type cos cosh div eq erf erf_inv erfc exp exp2 expm1 floor ge gt integer_pow is_finite le log
    log1p logistic lt max min mul ne neg nextafter not or population_count pow rem round rsqrt select_n shift_left
    shift_right_arithmetic shift_right_logical sign sin sinh sqrt square stop_gradient sub tan tanh xor"""
_STRUCTURE = """argmax argmin broadcast_in_dim concatenate cummax cummin cumprod cumsum dynamic_slice
    dynamic_update_slice gather iota pad reduce_and reduce_max reduce_min reduce_or reduce_prod reduce_sum reduce_xor
    reshape rev slice split squeeze stack tile transpose"""
_RANDOM = "random_bits random_fold_in random_split random_unwrap random_wrap threefry2x32"
_CONTROL = "closed_call cond core_call custom_jvp_call jit pjit scan while"
_SUPPORTED = frozenset(f"{_ELEMENTWISE} {_STRUCTURE} {_RANDOM} {_CONTROL}".split())
_TESTED = (0, 10)
_SCATTERS = frozenset({"scatter", "scatter-add", "scatter-max", "scatter-min", "scatter-mul", "scatter-sub"})


def repeat(step: Step[Carry], count: Array | int, carry: Carry, given: Any) -> Carry:
    """`carry = step(index, carry, given)` for each index below `count`, in one kernel where that is possible."""
    step = jax.jit(step)  # traced once, for the test and for the loop
    if (
        is_tested()
        and _is_local((carry, given))
        and is_supported(program := step.trace(jnp.int32(0), carry, given).jaxpr.jaxpr)
    ):
        shorter, used = _drop_unused(step, program, given)
        arguments = jax.lax.optimization_barrier((jnp.asarray(count, jnp.int32), carry, used))
        # Mapped over a batch, the scatter of one update would become one of many: the kernel runs once per element.
        return sequential_vmap(partial(_call_kernel, shorter))(*arguments)
    return jax.lax.fori_loop(0, count, lambda index, carry: step(index, carry, given), carry)


def _drop_unused(step: Step[Carry], program: core.Jaxpr, given: Any) -> tuple[Step[Carry], list[Array]]:
    """The step with only those arrays of `given` that it uses: an evaluator may ignore the weights of a network."""
    from jax.interpreters.partial_eval import dce_jaxpr  # another release may not have it

    leaves, structure = jax.tree.flatten(given)
    _, is_used = dce_jaxpr(program, [True] * len(program.outvars))
    marked = list(zip(leaves, is_used[len(is_used) - len(leaves) :], strict=True))
    used = [leaf for leaf, is_used in marked if is_used]

    def shorter(index: Array, carry: Carry, used: list[Array]) -> Carry:
        rest = iter(used)
        filled = [next(rest) if is_used else _blank(leaf) for leaf, is_used in marked]
        return step(index, carry, jax.tree.unflatten(structure, filled))

    return shorter, used


def _blank(leaf: Array) -> Array:
    """An array like another; a key for keys."""
    if not _is_key(leaf):
        return jnp.zeros(leaf.shape, leaf.dtype)
    return jnp.broadcast_to(jax.random.key(0, impl=jax.random.key_impl(leaf)), leaf.shape)


def _call_kernel(step: Step[Carry], *arguments: Any) -> Carry:
    from jax.experimental.xla_metadata import set_xla_metadata  # another release may not have it

    result = jax.jit(partial(_loop, step))(*arguments)
    return set_xla_metadata(result, xla_cpu_small_call="true", inlineable="false")  # of the call that returns it


def _loop(step: Step[Carry], count: Array, carry: Carry, given: Any) -> Carry:
    start = _zero_of((count, carry, given))
    return jax.lax.fori_loop(start, count, lambda index, carry: step(index, carry, given), carry)


def _zero_of(arguments: Any) -> Array:
    """0, computed from a number of each array; a barrier hides from XLA that the factor is 0."""
    words = [_first_word(leaf) for leaf in jax.tree.leaves(arguments)]
    return sum(words, start=jnp.int32(0)) * jax.lax.optimization_barrier(jnp.int32(0))


def _first_word(leaf: Array) -> Array:
    words = jax.random.key_data(leaf) if _is_key(leaf) else leaf
    return words[(0,) * words.ndim].astype(jnp.int32)


def _is_key(leaf: Array) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def is_tested() -> bool:
    """Whether the laws above were tested with this release of JAX; with another, XLA may end the process."""
    return jax.__version_info__[:2] == _TESTED


def _is_local(arguments: Any) -> bool:
    """Whether the program runs on one CPU, and each array has a number to read."""
    on_one = jax.default_backend() == "cpu" and jax.sharding.get_abstract_mesh().empty
    return on_one and all(jnp.size(leaf) for leaf in jax.tree.leaves(arguments))


def is_supported(program: core.Jaxpr) -> bool:
    """Whether a kernel can contain all operations of a program."""
    return all(map(_is_supported, _operations(program)))


def _is_supported(operation: core.JaxprEqn) -> bool:
    name = operation.primitive.name
    if name in _SCATTERS:
        *updates, _ = operation.invars[1].aval.shape  # type: ignore[attr-defined]
        return all(size == 1 for size in updates)  # XLA turns the scatter of one update into other operations
    return name in _SUPPORTED


def _operations(program: core.Jaxpr) -> Iterator[core.JaxprEqn]:
    """All operations, including those of branches, loops and calls."""
    for operation in program.eqns:
        yield operation
        for part in jax.tree.leaves(list(operation.params.values()), is_leaf=_is_program):
            if _is_program(part):
                yield from _operations(part.jaxpr if isinstance(part, core.ClosedJaxpr) else part)


def _is_program(part: Any) -> bool:
    return isinstance(part, core.Jaxpr | core.ClosedJaxpr)
