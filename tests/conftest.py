"""A strict climate: rank promotion raises, warnings fail (pyproject.toml), seeds are fixed."""

import jax
import pytest

import tabia  # noqa: F401  it tells JAX to keep compiled programs, also between workers

jax.config.update("jax_numpy_rank_promotion", "raise")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write tests/golden anew instead of comparing with it"
    )
