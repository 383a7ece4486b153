"""Packing: what is unpacked is what was packed, and bytes that do not fit are refused."""

from __future__ import annotations

import zlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tabia.cluster.chunks import FAST, STORED, pack, unpack
from tabia.cluster.errors import ClusterError

KINDS = st.sampled_from([np.bool_, np.int8, np.int16, np.int32, np.uint32, np.float16, np.float32])
TREES = st.lists(arrays.arrays(KINDS, arrays.array_shapes(min_dims=0, min_side=0, max_side=4)), max_size=4)


def like(tree):
    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), tree)


@given(TREES, st.sampled_from([FAST, STORED]))
def test_a_round_trip_keeps_every_bit(tree, level):
    found = unpack(pack(tree, level=level), like(tree))
    for one, other in zip(tree, found, strict=True):
        assert (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())


def test_random_keys_make_the_trip():
    tree = {"key": jax.random.split(jax.random.key(3), 4), "half": jnp.ones(3, jnp.bfloat16), "none": None}
    found = unpack(pack(tree), like(tree))
    np.testing.assert_array_equal(jax.random.key_data(found["key"]), jax.random.key_data(tree["key"]))
    np.testing.assert_array_equal(found["half"], tree["half"])


@given(TREES, st.binary(max_size=64))
def test_other_bytes_are_refused(tree, other):
    """Anything but the packed bytes of the right size: cut short, followed by more, too small, too large."""
    packed, shapes = pack(tree), like(tree)
    size = sum(leaf.nbytes for leaf in tree)
    wrong = [packed[:-1], packed + b"\0", zlib.compress(bytes(size + 1)), zlib.compress(bytes(10**6))]
    for content in [*wrong, other, *([zlib.compress(bytes(size - 1))] if size else [])]:
        with pytest.raises(ClusterError):
            unpack(content, shapes)
