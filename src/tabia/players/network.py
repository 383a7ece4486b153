"""A network without search. Axis letters: B positions, A actions, P seats."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
from jax import Array

from tabia.games.game import Game, State
from tabia.networks import Folded
from tabia.networks.int8 import Int8Network
from tabia.players import runs
from tabia.players.player import Choice
from tabia.players.quantizing import quantize
from tabia.players.runs import Agent
from tabia.players.search import network_evaluator
from tabia.players.spec import naming, spec_text
from tabia.players.tree_player import report
from tabia.search import checks, layout
from tabia.search.checks import Fault
from tabia.search.evaluators import Evaluate
from tabia.search.tree import NO_FAULT, log_priors


@dataclass(frozen=True)
class NetworkPlayer:
    """Plays the action with the highest probability of a network.

    `source`, `symmetries` and `int8` are as in `AlphaZeroPlayer`.
    """

    game: Game
    source: str | Path | Agent = field(compare=False)
    _: KW_ONLY
    symmetries: bool = False
    int8: bool = False
    name: str = field(default="", compare=False)
    agent: Agent = field(init=False)
    _quantized: Int8Network | None = field(init=False, default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "agent", runs.find_agent(self.game, self.source))
        if self.int8:
            object.__setattr__(self, "_quantized", quantize(self.game, self.agent, self.spec))

    @property
    def spec(self) -> str:
        options = {"seed": self.agent.seed, "symmetries": self.symmetries or None, "int8": self.int8 or None}
        return self.name or spec_text("network", options, what=self.agent.source)

    def choose(self, states: State, key: Array, ply: Array | None = None) -> Choice:
        evaluate = network_evaluator(self.game, self.agent.network, symmetries=self.symmetries, int8=self.int8)
        parameters = self._quantized.handle if self._quantized else self.agent.playing
        choice, fault = _choose(self.game, evaluate, parameters, states)
        with naming(self.spec):
            report(self.game, states, fault)
        return choice


@partial(jax.jit, static_argnums=(0, 1))
def _choose(game: Game, evaluate: Evaluate, parameters: Folded | Array, states: State) -> tuple[Choice, Fault]:
    evaluation = evaluate(parameters, states, jax.random.key(0))
    legal = jax.vmap(game.legal)(states)
    policy = jnp.where(legal, jnp.exp(log_priors(evaluation.logits, legal)), 0.0)
    best = jnp.argmax(jnp.where(legal, evaluation.logits, -jnp.inf), axis=-1).astype(jnp.int32)
    bad = layout.unusable(evaluation) & ~jax.vmap(game.over)(states)
    fault = checks.first_fault(jnp.where(bad, 0, NO_FAULT), jax.tree.map(lambda leaf: leaf[None], states))
    return Choice(best, policy, values=evaluation.values), fault
