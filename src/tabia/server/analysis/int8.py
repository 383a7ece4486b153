"""Players whose networks are evaluated in 8 bits, for servers that many people use at once."""

from __future__ import annotations

import logging
from dataclasses import replace

from tabia.games import Game
from tabia.players import Player, PlayerError, make, parse

_log = logging.getLogger("tabia.server")
_WITH_NETWORKS = ("az", "network")


def make_int8(spec: str, game: Game) -> Player:
    """The player of a spec, its network in 8 bits if it has one that agrees with float32, and otherwise as it is."""
    parsed = parse(spec)
    if parsed.name not in _WITH_NETWORKS:
        return make(spec, game)
    try:
        return make(str(replace(parsed, options=parsed.options | {"int8": "true"})), game)
    except PlayerError as error:
        _log.info("computes in float32: %s", error)
        return make(spec, game)
