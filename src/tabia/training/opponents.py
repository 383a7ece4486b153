"""Whom a run is measured against: what its settings name, or what suits its game."""

from __future__ import annotations

from functools import lru_cache

from tabia.evaluation.match import check_batch
from tabia.evaluation.positions import PositionSet, draw
from tabia.evaluation.rounds import MatchError
from tabia.games.game import Game
from tabia.players import make as make_player
from tabia.players import perfect
from tabia.players.player import Player
from tabia.players.spec import PlayerError
from tabia.training.errors import TrainingError
from tabia.training.plan import Plan

MCTS = "mcts:simulations=100"
_TOGETHER = 16  # games: 8 for each of two players, so that each is compiled for one size of batch
_POSITIONS = 200  # compared with perfect play unless the settings say how many
_LONG_ROLLOUTS = 20_000  # moves of the longest game times actions: beyond it rollouts take too long to be an opponent


def side_by_side(games: int) -> int:
    """How many games of a match are played at once; hundreds are not played sixteen by sixteen."""
    return max(_TOGETHER, games // 8)


def suitable(game: Game) -> tuple[str, ...]:
    """Fixed opponents for a game, weakest first.

    >>> from tabia.games import make
    >>> suitable(make("tictactoe")), suitable(make("connect4"))
    (('random', 'mcts:simulations=100'), ('random', 'greedy', 'mcts:simulations=100'))
    """
    greedy = ("greedy",) if game.has_heuristic else ()
    long = game.max_moves * game.num_actions > _LONG_ROLLOUTS
    # Without a heuristic MCTS is the only opponent that resists, however long it takes.
    return ("random", *greedy) if greedy and long else ("random", *greedy, MCTS)


def specs(plan: Plan) -> tuple[str, ...]:
    """The opponents of a run by spec, weakest first; none where strength is not measured."""
    settings = plan.config.evaluation
    return (settings.opponents or suitable(plan.game)) if settings.games else ()


def opponents(plan: Plan) -> list[Player]:
    """The opponents of a run; made before it begins, so that a misspelled one is reported in time."""
    try:
        if plan.config.evaluation.games and plan.config.evaluation.positions > 0:
            perfect.make(plan.game)
        found = [make_player(spec, plan.game) for spec in specs(plan)]
        for player in found:
            check_batch(player, side_by_side(plan.config.evaluation.games))
        return found
    except (PlayerError, MatchError) as error:
        raise TrainingError(f"[evaluation] {error}") from None


@lru_cache(maxsize=1)
def positions(plan: Plan) -> PositionSet | None:
    """The positions on which a run is compared with perfect play, drawn once; None where it is not."""
    settings = plan.config.evaluation
    wanted = settings.positions
    if wanted < 0:
        wanted = _POSITIONS if perfect.is_quick(plan.game) else 0
    return draw(plan.game, wanted, seed=plan.config.seed) if settings.games and wanted else None
