"""Candidates for a ladder: a pool of players for any game, and new players between two that are too far apart.

Every player has one option that weakens it without compiling a new program: `temperature` for players with a network,
`epsilon` for the others. At the upper limit of the option the player moves at random.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from tabia.games.game import Game
from tabia.players import agents, runs
from tabia.players.ladder import ANCHOR
from tabia.players.spec import Spec, parse

_TEMPERATURES = (16.0, 8.0, 4.0, 2.0, 1.0, 0.5)
_SIMULATIONS = (16, 64)  # of a search with a network; at most about a second per move on two cores
_ROLLOUTS = (10, 50, 200, 800)  # simulations of MCTS
_ROLLOUT_MOVES = 2500  # the most moves in all rollouts of one decision, for games with an agent
_MAX_LEAVES = 5000  # positions that minimax evaluates per move
_WITH_NETWORK = ("network", "az")
_LIMITS = {"temperature": math.inf, "epsilon": 1.0}


def pool(game: Game) -> list[str]:
    """Candidates for the ladder of a game, roughly from weak to strong."""
    agent, simple = agents.best(game.id), ["initialize", "greedy"] if game.has_heuristic else []
    if agent is None:
        return [ANCHOR, *simple, *_minimax(game), *(f"mcts:simulations={count}" for count in _ROLLOUTS)]
    searches = [f"mcts:simulations={count}" for count in _ROLLOUTS if count * game.max_moves <= _ROLLOUT_MOVES]
    weakened = [f"network:{agent},temperature={value:g}" for value in _TEMPERATURES]
    return [
        ANCHOR,
        *simple[:1],
        *weakened[:3],
        *simple[1:],
        *_minimax(game),
        *searches,
        weakened[3],
        *_checkpoints(game),
        *weakened[4:],
        f"network:{agent}",
        *(f"az:{agent},simulations={count}" for count in _SIMULATIONS),
    ]


def _minimax(game: Game) -> list[str]:
    if game.chance or not game.has_heuristic:
        return []
    return [f"minimax:depth={depth}" for depth in (2, 3) if game.num_actions**depth <= _MAX_LEAVES]


def _checkpoints(game: Game) -> list[str]:
    """The earlier versions of agents with several, without search; the last version is the agent itself."""
    fitting = [agent.name for agent in agents.agents() if agent.game == game.id]
    versions = [(name, step) for name in fitting for step in list(runs.steps(runs.shipped_folder(name)))[:-1]]
    return [f"network:{name}@{step}" for name, step in versions]


def between(low: float, high: float, strong: str, rated: Mapping[str, float]) -> str | None:
    """A new player expected halfway between two ratings, or None if there is none.

    `strong` is the player rated `high`. The new player is a weakened `strong`, or a weakened network.
    """
    target = (low + high) / 2
    for family in _families(strong, target, rated):
        found = _weakened(family, target, rated)
        if found is not None and found not in rated:
            return found
    return None


def _families(strong: str, target: float, rated: Mapping[str, float]) -> list[Spec]:
    """Players that can be weakened to a rating, in order of preference."""
    own = _full_strength(parse(strong))
    networks = [parse(text) for text, elo in rated.items() if elo > target and text.startswith("network:")]
    others = sorted((spec for spec in networks if spec.version is None and not _setting(spec)), key=str)
    return [own] if own.name in _WITH_NETWORK else [*others, own]


def _weakened(family: Spec, target: float, rated: Mapping[str, float]) -> str | None:
    option = _option(family)
    known = {_setting(spec): elo for text, elo in rated.items() if _full_strength(spec := parse(text)) == family}
    stronger = [value for value, elo in known.items() if elo >= target]
    if not stronger:
        return None
    least = max(stronger)
    most = min((value for value, elo in known.items() if elo < target and value > least), default=_LIMITS[option])
    value = _middle_temperature(least, most) if option == "temperature" else (least + most) / 2
    return str(replace(family, options={**family.options, option: f"{value:.2g}"}))


def _middle_temperature(low: float, high: float) -> float:
    """The geometric mean; for 0 and infinity, half or twice the other temperature.

    >>> _middle_temperature(1.0, 4.0), _middle_temperature(0.0, 1.0), _middle_temperature(8.0, math.inf)
    (2.0, 0.5, 16.0)
    """
    if low == 0.0:
        return 1.0 if math.isinf(high) else high / 2
    return min(2 * low, 100.0) if math.isinf(high) else math.sqrt(low * high)


def _option(spec: Spec) -> str:
    return "temperature" if spec.name in _WITH_NETWORK else "epsilon"


def _setting(spec: Spec) -> float:
    return float(spec.options.get(_option(spec), 0.0))


def _full_strength(spec: Spec) -> Spec:
    return replace(spec, options={key: value for key, value in spec.options.items() if key != _option(spec)})
