"""From a text such as `mcts:simulations=800,select=uct` to a player of a game; docs/players.md lists what there is."""

from __future__ import annotations

from collections.abc import Callable

from tabia.core.errors import did_you_mean
from tabia.core.text import quote
from tabia.games.game import Game
from tabia.players import modifiers, own, perfect, runs
from tabia.players.modifiers import Modified
from tabia.players.player import Player
from tabia.players.searching import (
    FINAL_RULES,
    MCTSPlayer,
    MinimaxPlayer,
    NetworkPlayer,
    can_search_winning_moves,
    evaluator,
)
from tabia.players.simple import GreedyPlayer, InitializePlayer, RandomPlayer
from tabia.players.spec import Options, PlayerError, Spec, is_file, parse
from tabia.search import Gumbel, Noise, Omc, Pbbm, Puct, Search, SearchError, Uct, checks
from tabia.search.evaluators import Rollout
from tabia.search.memory import device_limit
from tabia.search.minimax import Minimax
from tabia.search.selection import Rule

Builder = Callable[[Game, Spec, Options], Player]

_ROOM = 2**26  # bytes of one position's tree, where only the clock bounds the search
_MANY = 512  # trees of that size still fit into memory together
_LONGEST = 86_400.0  # seconds a move may take: a day


def names() -> list[str]:
    """The players there are."""
    return list(PLAYERS)


def make(text: str, game: Game) -> Player:
    """The player a spec names, for one game; PlayerError says what is wrong with a spec that names none.

    >>> from tabia.games import make as game
    >>> make("mcts:simulations=800,select=uct,c=1.4", game("connect4")).spec
    'mcts:simulations=800,select=uct,c=1.4'
    """
    spec = parse(text)
    if is_file(text):
        options = Options(spec)
        return _modified(own.make(game, options), options)
    if spec.name not in PLAYERS:
        raise PlayerError(f"There is no player {quote(spec.name)}. {did_you_mean(spec.name, PLAYERS)}")
    if spec.what is not None and spec.name not in _WITH_RUN:
        raise PlayerError(f"{spec.name} takes options only, as in {_EXAMPLES[spec.name]}; {quote(spec.what)} is none.")
    options = Options(spec)
    try:
        player = PLAYERS[spec.name](game, spec, options)
    except SearchError as error:
        raise PlayerError(f"{spec}: {error}") from None
    return _modified(player, options)


def _modified(player: Player, options: Options) -> Player:
    """The player with the habits that its options ask for; options nobody knows are refused."""
    habits = modifiers.read(options)
    options.close()
    return player if habits == modifiers.NONE else Modified(player, habits, player.spec)


def _random(game: Game, spec: Spec, options: Options) -> Player:
    return RandomPlayer(game, str(spec))


def _greedy(game: Game, spec: Spec, options: Options) -> Player:
    return GreedyPlayer(game, str(spec))


def _initialize(game: Game, spec: Spec, options: Options) -> Player:
    return InitializePlayer(game, str(spec))


def _minimax(game: Game, spec: Spec, options: Options) -> Player:
    return MinimaxPlayer(Minimax(game, options.whole("depth", 5)), str(spec))


def _mcts(game: Game, spec: Spec, options: Options) -> Player:
    seconds = options.number("seconds", None, low=1e-3, high=_LONGEST)
    leaves = options.whole("leaves", 1)
    rollout = Rollout(game, options.whole("rollouts", 1), options.whole("rollout_moves", None, high=2**31 - 1))
    search = Search(game, rollout, _simulations(game, options, 800, seconds, leaves), _rule(options), leaves=leaves)
    checks.work("simulations * rollouts", search.simulations * rollout.count)
    final = options.word("final", "visits", list(FINAL_RULES))
    return MCTSPlayer(search, str(spec), None, seconds, FINAL_RULES[final])


def _rule(options: Options) -> Rule:
    """How a search without a network selects."""
    select = options.word("select", "uct", ["uct", "omc", "pbbm", "puct"])
    if select in {"omc", "pbbm"}:
        options.only_with("c", "select=uct and select=puct")
        return Omc() if select == "omc" else Pbbm()
    c = options.number("c", 1.4, low=0.0, high=1e6)
    return Uct(c) if select == "uct" else Puct(c)


def _simulations(game: Game, options: Options, default: int, seconds: float | None, leaves: int) -> int:
    """As many as asked for; under a clock alone, a power of two that fits into memory."""
    if seconds is None or "simulations" in options.spec.options:
        return int(options.whole("simulations", default))
    options.whole("simulations", default)
    size, room = 64, min(_ROOM, device_limit().bytes // _MANY)
    while size < 65536 and size * 2 * (game.num_actions + 1) * 16 <= room:
        size *= 2
    return size * leaves


def _network(game: Game, spec: Spec, options: Options) -> Player:
    agent = runs.find(game, spec, options)
    return NetworkPlayer(game, agent.network, agent.parameters, str(spec), options.flag("symmetries", False))


def _az(game: Game, spec: Spec, options: Options) -> Player:
    seconds = options.number("seconds", None, low=1e-3, high=_LONGEST)
    leaves = options.whole("leaves", 1)
    simulations = _simulations(game, options, 64, seconds, leaves)
    noise = options.number("noise", 0.0, low=0.0, high=1.0)
    gumbel = options.word("select", "puct" if seconds else "gumbel", ["gumbel", "puct"]) == "gumbel"
    agent = runs.find(game, spec, options)
    finish, symmetries = options.flag("winning_moves_first", can_search_winning_moves(game)), options.flag("symmetries", False)
    evaluate = evaluator(game, agent.network, finish=finish, symmetries=symmetries)
    if gumbel:
        options.only_with("c", "select=puct")
        rule: Rule = Gumbel(considered=options.whole("considered_actions", 16), noise=noise)
        return MCTSPlayer(
            Search(game, evaluate, simulations, rule, leaves=leaves), str(spec), agent.parameters, seconds
        )
    options.only_with("considered_actions", "select=gumbel")
    stirred = Noise(fraction=noise) if noise > 0 else None
    search = Search(
        game, evaluate, simulations, Puct(options.number("c", 1.25, low=0.0, high=1e6)), noise=stirred, leaves=leaves
    )
    return MCTSPlayer(search, str(spec), agent.parameters, seconds)


def _perfect(game: Game, spec: Spec, options: Options) -> Player:
    return perfect.make(game, str(spec), fastest=options.flag("fastest", True))


def _human(game: Game, spec: Spec, options: Options) -> Player:
    raise PlayerError("human plays where a person can answer: in `tabia play`.")


PLAYERS: dict[str, Builder] = {
    "random": _random,
    "greedy": _greedy,
    "initialize": _initialize,
    "minimax": _minimax,
    "mcts": _mcts,
    "network": _network,
    "az": _az,
    "perfect": _perfect,
    "human": _human,
}
_WITH_RUN = ("network", "az")
_EXAMPLES = {
    name: {"minimax": "minimax:depth=5", "mcts": "mcts:simulations=800"}.get(name, f"{name}:epsilon=0.1")
    for name in PLAYERS
}
