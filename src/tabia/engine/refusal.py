"""Players that cannot serve as engines: outside engines, which need the moves of a game."""

from __future__ import annotations

from tabia.players import Player, parse
from tabia.players.engines.options import NAMES
from tabia.players.player import FollowsGames
from tabia.players.spec import PlayerError


def check_spec(spec: str) -> None:
    """Refuse an outside engine before its program starts; PlayerError says why."""
    if parse(spec).name in NAMES:
        raise _refused(spec)


def check_player(player: Player) -> None:
    """Refuse a player that cannot be asked about a position alone."""
    if isinstance(player, FollowsGames):
        raise _refused(player.spec)


def _refused(spec: str) -> PlayerError:
    return PlayerError(f"{spec} is an engine itself; --player needs one of Tabia's own players.")
