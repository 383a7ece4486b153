"""A player's search in pieces: who asks for it looks at it between pieces, and stops it at any of them.

    thinking = Thinking(player, session, Bounds(seconds=2.0, endless=True))
    while thinking.step():
        show(thinking.thought())
    move = thinking.thought().action

Without bounds the search is the player's own, with its rule and its simulations. Bounds of another length use a rule
that can stop at any time. A player without a search tree answers in one piece.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.games.game import State
from tabia.games.session import Session
from tabia.players import Choice, Modified, Player
from tabia.players.spec import naming
from tabia.players.tree_player import TreeSearchPlayer
from tabia.search import Puct, Search
from tabia.search.budget import all_agreed
from tabia.search.layout import needs
from tabia.search.memory import device_limit
from tabia.search.picture import main_paths
from tabia.search.pieces import Pieces
from tabia.search.tree import root_view

PIECE = 0.05
"""Seconds that a piece should take: so long `stop` may wait."""
FIRST_TREE = 1024
"""Simulations of the smallest tree for bounds other than the player's own, where memory is short."""
ENDLESS_TREE = 16384
"""Simulations of the tree for all bounds up to this length, so that they share one program."""
_TREE_BYTES = 2**28
_GROWTH = 4  # a piece has at most this many times the simulations of the one before


@dataclass(frozen=True)
class Bounds:
    """How long a search lasts; whatever comes first ends it."""

    simulations: int | None = None
    seconds: float | None = None
    depth: int | None = None  # of the main line
    endless: bool = False  # not bounded by the player's own simulations

    @property
    def is_own(self) -> bool:
        """Whether the search is the player's own, ended early at most by the clock."""
        return self.simulations is None and self.depth is None and not self.endless


OWN = Bounds()
ENDLESS = Bounds(endless=True)


class Move(NamedTuple):
    """What a player thinks of a move."""

    action: int
    visits: int
    value: float | None  # for the mover, in [-1, 1]
    policy: float | None
    prior: float | None  # the evaluator's probability at the root of a search; without one, the policy
    line: Sequence[tuple[int, State]]  # the moves it expects, this one first, with the positions before them


class Thought(NamedTuple):
    """What a player thinks of a position so far."""

    action: int  # the move it would play
    simulations: int
    seconds: float
    value: float | None  # for the mover, in [-1, 1]
    moves: list[Move]  # the best first: the move it would play, then by visits or policy


class Thinking:
    """The search of one position."""

    def __init__(self, player: Player, session: Session, bounds: Bounds = OWN) -> None:
        self.player, self.session, self.bounds = player, session, bounds
        self._started = time.perf_counter()
        self._states = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], session.state)
        self._plies = jnp.array([session.ply], jnp.int32)
        self._count, self._choice = 1, None  # type: tuple[int, Choice | None]
        # As in `Modified.choose`, the inner player gets the first half of the key, so that both choose the same move.
        inner, inner_key = (
            (player.player, jax.random.split(session.key)[0]) if isinstance(player, Modified) else (player, session.key)
        )
        self._inner = inner
        self._pieces = _pieces(inner, self._states, inner_key, bounds)

    @property
    def has_tree(self) -> bool:
        """Whether the player searches in a tree, so that bounds matter."""
        return isinstance(self._inner, TreeSearchPlayer)

    @property
    def seconds(self) -> float:
        """The time since it began."""
        return time.perf_counter() - self._started

    @property
    def simulations(self) -> int:
        """The simulations so far."""
        return self._pieces.done if self._pieces else 0

    def step(self) -> bool:
        """Think for one piece; False if it is the last one."""
        with naming(self.player.spec):
            if self._pieces is None:
                self._choice = self.player.choose(self._states, self.session.key, self._plies)
                return False
            started, before, wanted = time.perf_counter(), self._pieces.done, self._wanted()
            self._pieces.advance(min(self._count, wanted - before))
            ran = self._pieces.done - before
            per_simulation = (time.perf_counter() - started) / ran
            self._count = max(min(int(PIECE / per_simulation), _GROWTH * ran), 1)
            return not self._is_spent(wanted)

    def thought(self, lines: int = 1) -> Thought:
        """What it thinks so far, with the main lines of the best moves."""
        choice = self._choice_now()
        host: Choice = jax.device_get(jax.tree.map(lambda leaf: leaf[0], choice))
        action = int(host.actions)
        value = None if host.values is None else float(host.values[self.session.mover])
        shown = _ranked(host, self.session.legal, action)[:lines]
        return Thought(action, self.simulations, self.seconds, value, self._moves(host, shown))

    def _wanted(self) -> int:
        """The simulations at which it ends."""
        assert self._pieces is not None
        most = self._pieces.search.simulations
        return most if self.bounds.simulations is None else min(self.bounds.simulations, most)

    def _is_spent(self, wanted: int) -> bool:
        assert self._pieces is not None and isinstance(self._inner, TreeSearchPlayer)
        own = self.bounds.is_own
        limits = [self.bounds.seconds, self._inner.seconds if own else None]
        if self._pieces.done >= wanted or any(limit is not None and self.seconds >= limit for limit in limits):
            return True
        if own and self._inner.until_agreed:
            return all_agreed(self._pieces.result())
        return self.bounds.depth is not None and len(self.thought().moves[0].line) >= self.bounds.depth

    def _choice_now(self) -> Choice:
        if self._pieces is None:
            assert self._choice is not None, "a step comes first"
            return self._choice
        assert isinstance(self._inner, TreeSearchPlayer)
        choice = self._inner.to_choice(self._pieces.result())
        if isinstance(self.player, Modified):
            _, key = jax.random.split(self.session.key)
            return self.player.modify(choice, self._states, key, self._plies)
        return choice

    def _moves(self, host: Choice, actions: list[int]) -> list[Move]:
        priors = host.policy
        if self._pieces is not None:
            result = self._pieces.result()
            lines = main_paths(self.session.game, result, actions)
            priors = jax.device_get(root_view(result.tree).priors)[0]
        else:
            lines = [[(action, jax.device_get(self.session.state))] for action in actions]
        return [_move(host, priors, action, line) for action, line in zip(actions, lines, strict=True)]


def _pieces(inner: Player, states: State, key: jax.Array, bounds: Bounds) -> Pieces | None:
    """The search in pieces; None if the player answers in one."""
    if not isinstance(inner, TreeSearchPlayer):
        return None
    with naming(inner.spec):
        if bounds.is_own or bounds.simulations == inner.search.simulations:
            # A search that extends itself until its moves agree has no pieces.
            return Pieces(inner.search, inner.parameters, states, key) if inner.whole_search is inner.search else None
        return Pieces(_any_length(inner.search, bounds), inner.parameters, states, key)


def _any_length(search: Search, bounds: Bounds) -> Search:
    """The same search with a tree that is large enough, and a rule that needs no length in advance.

    Where the rule is another one, so is the number of leaves per step: virtual visits disturb it more than Gumbel's.
    """
    if search.rule.plans_root:
        search = replace(search, rule=Puct(), leaves=1)
    tree = replace(search, simulations=search.leaves * FIRST_TREE, reuse_nodes=0)
    per_simulation = needs(tree, 1)[0].bytes // tree.simulations
    most = max(min(_TREE_BYTES, device_limit().bytes // 4) // per_simulation, 1)
    size = FIRST_TREE
    while size < min(max(bounds.simulations or 0, ENDLESS_TREE), most // 2):
        size *= 2
    return replace(tree, simulations=max(size // search.leaves, 1) * search.leaves)


def _ranked(choice: Choice, legal: np.ndarray, played: int) -> list[int]:
    """The move played, then the others by visits or policy, if it has one of these."""
    order = choice.visits if choice.visits is not None else choice.policy
    if order is None:
        return [played]
    actions = [int(action) for action in np.flatnonzero(legal) if order[action] > 0 or action == played]
    return sorted(actions, key=lambda action: (action != played, -float(order[action])))


def _move(choice: Choice, priors: Array | None, action: int, line: Sequence[tuple[int, State]]) -> Move:
    value = None if choice.means is None else float(choice.means[action])
    return Move(
        action=action,
        visits=0 if choice.visits is None else int(choice.visits[action]),
        value=None if value is None or np.isnan(value) else value,
        policy=None if choice.policy is None else float(choice.policy[action]),
        prior=None if priors is None else float(priors[action]),
        line=line,
    )
