"""A strict climate: rank promotion raises, warnings fail (pyproject.toml), seeds are fixed."""

import jax

jax.config.update("jax_numpy_rank_promotion", "raise")
