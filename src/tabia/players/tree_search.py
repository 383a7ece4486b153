"""The players with tree search: MCTS with rollouts, and AlphaZero with a network."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from jax import Array

from tabia.games.game import Game
from tabia.networks import Folded
from tabia.networks.int8 import Int8Network
from tabia.players import runs
from tabia.players.final_moves import FINAL_MOVES, MAX_ROBUST, SECURE, Final, Secure
from tabia.players.quantizing import quantize
from tabia.players.rule_options import Defaults, write_rule
from tabia.players.runs import Agent
from tabia.players.search import build_search, can_search_winning_moves
from tabia.players.simple import TIES, require_heuristic
from tabia.players.spec import PlayerError, naming, spec_text
from tabia.players.tree_player import TreeSearchPlayer, chunk_size
from tabia.search import Gumbel, Puct, Rule, Search, Uct, checks
from tabia.search.agreement import UntilAgreed
from tabia.search.evaluators import Evaluate, Heuristic, Mix, Rollout
from tabia.search.memory import device_limit

UCT, PUCT, GUMBEL = Uct(c=1.4), Puct(), Gumbel(gumbel_scale=0.0)
MCTS_DEFAULTS: Defaults = {Uct: UCT, Puct: Puct(c=1.4)}
AZ_DEFAULTS: Defaults = {Gumbel: GUMBEL}

MOST_TIMES = 4
"""With `final=max-robust` a search has at most this many times its simulations."""
_COMMON = ("final", "secure_a", "ties", "transpositions", "cut_loops", "reuse_tree", "proven_values", "leaves")
_TREE_BYTES = 2**26  # of one position's tree, if only the clock bounds the search
_TREES = 512  # trees of that size that fit into memory together


@dataclass(frozen=True)
class _OptionsPlayer(TreeSearchPlayer):
    """What both players have: the options of the search, and how it ends."""

    game: Game
    _: KW_ONLY
    simulations: int | None = None
    seconds: float | None = None
    until_agreed: bool = False
    final: str = "recommended"
    secure_a: float = 1.0
    ties: str = "first"
    transpositions: bool = False
    cut_loops: bool = False
    reuse_tree: bool = False
    proven_values: bool = False
    leaves: int | None = None
    name: str = field(default="", compare=False)

    @property
    def final_rule(self) -> Final | None:
        return Secure(self.secure_a) if self.final == SECURE else FINAL_MOVES[self.final]

    @cached_property
    def whole_search(self) -> Search | UntilAgreed:
        if self.final != MAX_ROBUST:
            return self.search
        least = self.search.simulations // MOST_TIMES
        return UntilAgreed(self.search, least, chunk_size(least, self.search.leaves, most=32))

    @property
    def _default_leaves(self) -> int:
        return 1

    def _check(self) -> None:
        if self.leaves == self._default_leaves:  # so that players which choose alike are equal
            object.__setattr__(self, "leaves", None)
        if self.final not in FINAL_MOVES:
            raise PlayerError(f"final={self.final!r}: expected one of {', '.join(FINAL_MOVES)}.")
        if self.ties not in TIES:
            raise PlayerError(f"ties={self.ties!r}: expected one of {', '.join(TIES)}.")
        if self.final == MAX_ROBUST and (self.seconds or self.until_agreed or self.reuse_tree):
            raise PlayerError(
                f"{self.spec}: final={MAX_ROBUST} has a length of its own; omit seconds, until_agreed and reuse_tree."
            )
        super()._check()

    def _changed(self, *names: str) -> dict[str, Any]:
        """These fields and those of every search, where their values are not the defaults."""
        defaults = {one.name: one.default for one in fields(self)}
        return {name: getattr(self, name) for name in (*names, *_COMMON) if getattr(self, name) != defaults[name]}

    def _search_options(self, *, default: int) -> dict[str, Any]:
        """The options of `build_search`, with this default number of simulations."""
        simulations = self._simulations(default)
        return {
            "simulations": simulations * (MOST_TIMES if self.final == MAX_ROBUST else 1),
            "leaves": self._default_leaves if self.leaves is None else self.leaves,
            "transpositions": self.transpositions,
            "cut_loops": self.cut_loops,
            "random_ties": self.ties == "random",
            "reuse_nodes": simulations if self.reuse_tree else 0,
            "proven_values": self.proven_values,
        }

    def _simulations(self, default: int) -> int:
        """The number of simulations; if only the clock bounds them, a power of two that fits into memory."""
        if self.simulations is not None or self.seconds is None:
            return default if self.simulations is None else self.simulations
        size, available = 64, min(_TREE_BYTES, device_limit().bytes // _TREES)
        while size < 65536 and size * 2 * (self.game.num_actions + 1) * 16 <= available:
            size *= 2
        return size * (1 if self.leaves is None else self.leaves)


@dataclass(frozen=True)
class MCTSPlayer(_OptionsPlayer):
    """Monte Carlo tree search with random rollouts.

    - `simulations`: per move; the default is 800, or what fits into memory if `seconds` is given;
    - `rule`: the selection rule;
    - `rollouts`, `rollout_moves`: rollouts per leaf, and their maximum length (default: to the end of the game);
    - `heuristic_weight`: the weight of the game's heuristic in each leaf's value; 1 means no rollouts;
    - `final`, `secure_a`: which action is played (`final_moves.FINAL_MOVES`), and the constant of `secure`;
    - `ties`: which of equally good actions is taken, in the tree and at its end: the `first` or any (`random`);
    - `transpositions`, `cut_loops`, `proven_values`, `leaves`: as in `Search`;
    - `reuse_tree`: keep the tree from move to move.
    """

    _: KW_ONLY
    rule: Rule = UCT
    rollouts: int = 1
    rollout_moves: int | None = None
    heuristic_weight: float = 0.0

    def __post_init__(self) -> None:
        if self.heuristic_weight:
            require_heuristic(self.game, "heuristic_weight")
        self._check()
        with naming(self.spec):
            checks.check_work("simulations * rollouts", self.search.simulations * self.rollouts)

    @property
    def spec(self) -> str:
        options: dict[str, Any] = {"simulations": self.simulations, "seconds": self.seconds}
        options |= write_rule(self.rule, UCT, MCTS_DEFAULTS)
        options |= self._changed("until_agreed", "rollouts", "rollout_moves", "heuristic_weight")
        return self.name or spec_text("mcts", options)

    @cached_property
    def search(self) -> Search:
        return build_search(self.game, self._evaluator(), rule=self.rule, **self._search_options(default=800))

    @property
    def parameters(self) -> None:
        return None

    def _evaluator(self) -> Evaluate:
        rollout, heuristic = Rollout(self.game, self.rollouts, self.rollout_moves), Heuristic(self.game)
        if self.heuristic_weight == 1.0:
            return heuristic
        return Mix(rollout, heuristic, self.heuristic_weight) if self.heuristic_weight else rollout


@dataclass(frozen=True)
class AlphaZeroPlayer(_OptionsPlayer):
    """A network with tree search.

    `source` is a shipped agent, a run directory or a file of weights, with an optional version ("runs/connect4@best"),
    or an `Agent` with a network and its weights.

    - `simulations`: per move; the default is 64, or what fits into memory if `seconds` is given;
    - `rule`: the selection rule; the default is Gumbel without noise, or Puct if the search may stop early;
    - `winning_moves_first`: check every leaf for actions that win at once; the default depends on the game;
    - `symmetries`: average the network over all symmetries of the board;
    - `int8`: evaluate the network in 8-bit integers with ONNX Runtime, on CPUs; with Gumbel's rule and an even number
      of simulations, two `leaves` by default;
    - `rollout_weight`: the weight of a random rollout in each leaf's value;
    - `final`, `secure_a`, `ties`, `transpositions`, `cut_loops`, `reuse_tree`, `proven_values`, `leaves`: as in
      `MCTSPlayer`.
    """

    source: str | Path | Agent = field(compare=False)
    _: KW_ONLY
    rule: Rule | None = None
    winning_moves_first: bool | None = None
    symmetries: bool = False
    int8: bool = False
    rollout_weight: float = 0.0
    agent: Agent = field(init=False)
    _quantized: Int8Network | None = field(init=False, default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "agent", runs.find_agent(self.game, self.source))
        if self.int8:
            object.__setattr__(self, "_quantized", quantize(self.game, self.agent, self.spec))
        if self.rule == self._default_rule:  # so that players which choose alike are equal
            object.__setattr__(self, "rule", None)
        self._check()

    @property
    def spec(self) -> str:
        options: dict[str, Any] = {"simulations": self.simulations, "seconds": self.seconds, "seed": self.agent.seed}
        if self.rule is not None:
            options |= write_rule(self.rule, self._default_rule, AZ_DEFAULTS)
        options |= self._changed("until_agreed", "winning_moves_first", "symmetries", "int8", "rollout_weight")
        return self.name or spec_text("az", options, what=self.agent.source)

    @property
    def parameters(self) -> Folded | Array:
        return self._quantized.handle if self._quantized else self.agent.playing

    @cached_property
    def search(self) -> Search:
        winning = self.winning_moves_first
        return build_search(
            self.game,
            self.agent.network,
            rule=self.rule or self._default_rule,
            winning_moves_first=can_search_winning_moves(self.game) if winning is None else winning,
            symmetries=self.symmetries,
            int8=self.int8,
            rollout_weight=self.rollout_weight,
            **self._search_options(default=64),
        )

    @property
    def _default_leaves(self) -> int:
        """Two in 8 bits, where each core evaluates one; Gumbel's rule then chooses almost always the same moves."""
        plans = (self.rule or self._default_rule).plans_root
        return 2 if self.int8 and plans and self._simulations(default=64) % 2 == 0 else 1

    @property
    def _default_rule(self) -> Rule:
        return default_rule(
            seconds=self.seconds, until_agreed=self.until_agreed, final=self.final, reuse=self.reuse_tree
        )


def default_rule(*, seconds: float | None, until_agreed: bool, final: str, reuse: bool) -> Rule:
    """The rule of `az`: Gumbel without noise if all simulations are known in advance, otherwise Puct."""
    return PUCT if seconds or until_agreed or reuse or final == MAX_ROBUST else GUMBEL
