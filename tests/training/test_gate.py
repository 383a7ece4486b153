"""The gate: a better network passes, a worse one does not, and the champion is the one that is kept."""

from __future__ import annotations

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tabia.games import make
from tabia.games.game import Game
from tabia.players import make as make_player
from tabia.players.player import Choice, Player
from tabia.search import Gumbel, Puct
from tabia.training import arena
from tabia.training.config.schema import GateSettings
from tabia.training.errors import TrainingError
from tabia.training.learning import TrainState
from tabia.training.plan import Plan
from tabia.training.state import Counters, State

from .conftest import TINY

GAME = make("tictactoe")


@dataclass(frozen=True)
class Named:
    """A player under another name."""

    player: Player
    spec: str

    @property
    def game(self):
        return self.player.game

    def choose(self, states, key, ply=None):
        return self.player.choose(states, key, ply)


@dataclass(frozen=True)
class Sharp:
    """Wins if it can, blocks if it must, else takes the center, a corner, an edge: far better than random."""

    spec: str = "sharp"
    game: Game = GAME

    def choose(self, states, key, ply=None) -> Choice:
        stones, mover = np.asarray(states.stones), np.asarray(jax.vmap(GAME.mover)(states))
        return Choice(
            jnp.array(
                [_sharp(*map(int, (pair[side], pair[1 - side]))) for pair, side in zip(stones, mover, strict=True)]
            )
        )


def _sharp(own: int, others: int) -> int:
    lines = (0o007, 0o070, 0o700, 0o111, 0o222, 0o444, 0o421, 0o124)
    free = [field for field in (4, 0, 2, 6, 8, 1, 3, 5, 7) if not (own | others) >> field & 1] or [0]
    for held in (own, others):
        for field in free:
            if any((held | 1 << field) & line == line for line in lines):
                return field
    return free[0]


def gated(monkeypatch: pytest.MonkeyPatch, settings: GateSettings, challenger: str, champion: str):
    """A gate in which the two networks play like these players; the state before and after, and the verdict."""
    players = {"challenger": challenger, "champion": champion}
    known = {"sharp": Sharp(), "random": make_player("random", GAME)}
    monkeypatch.setattr(
        arena, "make_player", lambda plan, weights, simulations, name, search: Named(known[players[name]], name)
    )
    train_state = TrainState({"w": jnp.array([2.0])}, {"w": jnp.array([2.0])}, (), jnp.int32(7))
    backup = jax.tree.map(lambda leaf: leaf - 1, train_state) if settings.restore_on_refusal else None
    state = State((), train_state, {"w": jnp.array([1.0])}, backup)
    return state, *arena.run_gate(Plan(replace(TINY, gate=settings)), state, Counters(iteration=3))


SETTINGS = {
    "score": GateSettings(kind="score", games=40, threshold=0.55),
    "ratio": GateSettings(kind="ratio", games=40, threshold=1.5),
    "sequential": GateSettings(kind="sequential", games=40, threshold=0.75),
}


@pytest.mark.parametrize("kind", SETTINGS)
def test_the_better_passes_and_the_worse_does_not(monkeypatch, kind: str) -> None:
    state, after, verdict = gated(monkeypatch, SETTINGS[kind], "sharp", "random")
    assert verdict.passed and verdict.score > 0.7 and 0 < verdict.games <= SETTINGS[kind].games
    assert float(after.champion["w"][0]) == 2.0
    state, after, verdict = gated(monkeypatch, SETTINGS[kind], "random", "sharp")
    assert not verdict.passed and verdict.score < 0.3
    assert after is state and float(after.champion["w"][0]) == 1.0


def test_an_equal_network_does_not_pass(monkeypatch) -> None:
    for settings in SETTINGS.values():
        _, _, verdict = gated(monkeypatch, settings, "sharp", "sharp")
        assert not verdict.passed and verdict.score == pytest.approx(0.5, abs=0.2)


def test_a_refused_network_is_replaced_by_the_champion(monkeypatch) -> None:
    settings = replace(SETTINGS["score"], restore_on_refusal=True)
    _, after, verdict = gated(monkeypatch, settings, "random", "sharp")
    assert not verdict.passed and int(after.train_state.step) == 6
    assert float(after.train_state.variables["w"][0]) == float(after.champion["w"][0]) == 1.0
    _, after, verdict = gated(monkeypatch, settings, "sharp", "random")
    assert verdict.passed and int(after.backup.step) == int(after.train_state.step) == 7
    assert float(after.backup.variables["w"][0]) == float(after.champion["w"][0]) == 2.0
    with pytest.raises(TrainingError, match=r"gate\.restore_on_refusal needs a gate"):
        replace(TINY, gate=GateSettings(restore_on_refusal=True))


def test_both_sides_can_search_by_the_rule_of_the_run() -> None:
    """As in self-play, without noise."""
    config = TINY.changed({"search.rule": "puct", "search.c": 3.0, "search.transpositions": True})
    search = arena.make_search(Plan(config), 5, "run")
    assert search.rule == Puct(c=3.0, dirichlet_fraction=0.0) and search.transpositions and search.simulations == 5
    assert arena.make_search(Plan(TINY), 5, "run").rule == Gumbel(considered_actions=4, gumbel_scale=0.0)
    assert arena.make_search(Plan(config), 5).rule == Gumbel(considered_actions=4, gumbel_scale=0.0)


def test_the_gate_is_held_at_its_interval() -> None:
    plan = Plan(replace(TINY, gate=GateSettings(kind="score", every=3)))
    assert [iteration for iteration in range(1, 10) if arena.gate_due(plan, iteration)] == [3, 6, 9]
    assert not any(arena.gate_due(Plan(TINY), iteration) for iteration in range(1, 50))


def test_meaningless_thresholds_are_refused() -> None:
    for settings in (GateSettings(kind="score", threshold=1.0), GateSettings(kind="sequential", threshold=0.5)):
        with pytest.raises(TrainingError, match=r"gate\.threshold"):
            replace(TINY, gate=settings)


def test_a_network_against_itself_scores_half() -> None:
    """With real players, it gets half the points and does not pass."""
    plan = Plan(replace(TINY, gate=GateSettings(kind="score", games=8, simulations=2)))
    variables = plan.network.init(jax.random.key(0))
    state = State((), type("TrainState", (), {"ema": variables})(), variables)
    after, verdict = arena.run_gate(plan, state, Counters(iteration=1))
    assert verdict.score == 0.5 and not verdict.passed and after is state
    assert verdict.fields() == {"gate_passed": False, "gate_score": 0.5, "gate_games": verdict.games}
