"""From a spec such as `mcts:simulations=800,rule=uct` to a player; docs/reference/players.md lists all options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tabia.core.errors import did_you_mean
from tabia.core.text import quote
from tabia.games.game import Game
from tabia.players import modifiers, own, runs
from tabia.players.engines import make_gnubg, make_gtp, make_uci
from tabia.players.final_moves import FINAL_MOVES, SECURE
from tabia.players.modifiers import Modified
from tabia.players.network import NetworkPlayer
from tabia.players.perfect import PerfectPlayer
from tabia.players.player import Player
from tabia.players.rule_options import read_rule
from tabia.players.simple import TIES, GreedyPlayer, InitializePlayer, MinimaxPlayer, RandomPlayer
from tabia.players.spec import COMMANDS, Options, PlayerError, is_file, parse
from tabia.players.tree_search import (
    AZ_DEFAULTS,
    MCTS_DEFAULTS,
    UCT,
    AlphaZeroPlayer,
    MCTSPlayer,
    default_rule,
)

Builder = Callable[[Game, Options], Player]

_LONGEST = 86_400.0  # seconds a move may take: a day


def names() -> list[str]:
    """The names of all players."""
    return list(PLAYERS)


def make(text: str, game: Game) -> Player:
    """The player of a spec, for one game; PlayerError says what is wrong with the spec.

    >>> from tabia.games import make as game
    >>> make("mcts:simulations=800,rule=uct,c=1.4", game("connect4")).spec
    'mcts:simulations=800,rule=uct,c=1.4'
    """
    spec = parse(text)
    options = Options(spec)
    if is_file(text):
        return _modified(own.make(game, options), options)
    if spec.name not in PLAYERS:
        raise PlayerError(f"There is no player {quote(spec.name)}. {did_you_mean(spec.name, PLAYERS)}")
    if spec.what is not None and spec.name not in (*_WITH_NETWORK, *COMMANDS):
        raise PlayerError(f"{quote(spec.what)} is not an option of {spec.name}; write {_EXAMPLES[spec.name]}.")
    return _modified(PLAYERS[spec.name](game, options), options)


def _modified(player: Player, options: Options) -> Player:
    """The player with the modifiers of its options; unknown options are refused."""
    habits = modifiers.read(options)
    options.close()
    return player if habits == modifiers.NONE else Modified(player, habits, name=player.spec)


def _random(game: Game, options: Options) -> Player:
    return RandomPlayer(game, name=str(options.spec))


def _greedy(game: Game, options: Options) -> Player:
    return GreedyPlayer(game, name=str(options.spec))


def _initialize(game: Game, options: Options) -> Player:
    return InitializePlayer(game, name=str(options.spec))


def _minimax(game: Game, options: Options) -> Player:
    return MinimaxPlayer(
        game,
        depth=options.whole("depth", 5),
        line=options.whole("line", None),
        ties=options.word("ties", "random", list(TIES)),
        name=str(options.spec),
    )


def _mcts(game: Game, options: Options) -> Player:
    return MCTSPlayer(
        game,
        simulations=options.whole("simulations", None),
        seconds=options.number("seconds", None, low=1e-3, high=_LONGEST),
        until_agreed=options.flag("until_agreed", False),
        rule=read_rule(options, UCT, MCTS_DEFAULTS),
        rollouts=options.whole("rollouts", 1),
        rollout_moves=options.whole("rollout_moves", None, high=2**31 - 1),
        heuristic_weight=options.number("heuristic_weight", 0.0, low=0.0, high=1.0),
        **_tree_options(options),
        name=str(options.spec),
    )


def _tree_options(options: Options) -> dict[str, Any]:
    """The options that `mcts` and `az` share."""
    final = options.word("final", "recommended", list(FINAL_MOVES))
    if final != SECURE:
        options.only_with("secure_a", f"final={SECURE}")
    return {
        "final": final,
        "secure_a": options.number("secure_a", 1.0),
        "ties": options.word("ties", "first", list(TIES)),
        "transpositions": options.flag("transpositions", False),
        "cut_loops": options.flag("cut_loops", False),
        "reuse_tree": options.flag("reuse_tree", False),
        "proven_values": options.flag("proven_values", False),
        "leaves": options.whole("leaves", None),
    }


def _network(game: Game, options: Options) -> Player:
    return NetworkPlayer(
        game,
        runs.from_spec(game, options.spec, options),
        symmetries=options.flag("symmetries", False),
        int8=options.flag("int8", False),
        name=str(options.spec),
    )


def _az(game: Game, options: Options) -> Player:
    seconds = options.number("seconds", None, low=1e-3, high=_LONGEST)
    until_agreed = options.flag("until_agreed", False)
    tree = _tree_options(options)
    usual = default_rule(seconds=seconds, until_agreed=until_agreed, final=tree["final"], reuse=tree["reuse_tree"])
    rule = read_rule(options, usual, AZ_DEFAULTS)
    winning = "winning_moves_first"
    return AlphaZeroPlayer(
        game,
        runs.from_spec(game, options.spec, options),
        simulations=options.whole("simulations", None),
        seconds=seconds,
        until_agreed=until_agreed,
        rule=rule,
        winning_moves_first=options.flag(winning, False) if options.given(winning) else None,
        symmetries=options.flag("symmetries", False),
        int8=options.flag("int8", False),
        rollout_weight=options.number("rollout_weight", 0.0, low=0.0, high=1.0),
        **tree,
        name=str(options.spec),
    )


def _perfect(game: Game, options: Options) -> Player:
    return PerfectPlayer(game, fastest=options.flag("fastest", True), name=str(options.spec))


def _human(game: Game, options: Options) -> Player:
    raise PlayerError("human plays only in `tabia play`, where a person enters the moves.")


PLAYERS: dict[str, Builder] = {
    "random": _random,
    "greedy": _greedy,
    "initialize": _initialize,
    "minimax": _minimax,
    "mcts": _mcts,
    "network": _network,
    "az": _az,
    "perfect": _perfect,
    "gtp": make_gtp,
    "uci": make_uci,
    "gnubg": make_gnubg,
    "human": _human,
}
_WITH_NETWORK = ("network", "az")
_EXAMPLES = {
    name: {"minimax": "minimax:depth=5", "mcts": "mcts:simulations=800"}.get(name, f"{name}:epsilon=0.1")
    for name in PLAYERS
}
