"""The gate: who is clearly better passes, who is clearly worse does not, and the champion is what is kept."""

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
from tabia.training import gate
from tabia.training.config.schema import GateSettings
from tabia.training.errors import TrainingError
from tabia.training.plan import Plan
from tabia.training.state import Counters, State

from .conftest import TINY

GAME = make("tictactoe")


@dataclass(frozen=True)
class Named:
    """Somebody under another name."""

    player: Player
    spec: str

    @property
    def game(self):
        return self.player.game

    def choose(self, states, key, ply=None):
        return self.player.choose(states, key, ply)


@dataclass(frozen=True)
class Sharp:
    """Wins where it can, else parries, else takes the middle, a corner, an edge: far better than random."""

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


def judged(monkeypatch: pytest.MonkeyPatch, settings: GateSettings, challenger: str, champion: str):
    """An attempt in which the two networks play like these; the state before and after, and the verdict."""
    seats = {"challenger": challenger, "champion": champion}
    known = {"sharp": Sharp(), "random": make_player("random", GAME)}
    monkeypatch.setattr(gate, "seated", lambda plan, weights, simulations, name: Named(known[seats[name]], name))
    train_state = type("TrainState", (), {"ema": {"w": jnp.array([2.0])}})()
    state = State((), train_state, {"w": jnp.array([1.0])})
    return state, *gate.attempt(Plan(replace(TINY, gate=settings)), state, Counters(iteration=3))


SETTINGS = {
    "score": GateSettings(kind="score", games=40, threshold=0.55),
    "ratio": GateSettings(kind="ratio", games=40, threshold=1.5),
    "sequential": GateSettings(kind="sequential", games=40, threshold=0.75),
}


@pytest.mark.parametrize("kind", SETTINGS)
def test_the_better_passes_and_the_worse_does_not(monkeypatch, kind: str) -> None:
    state, after, verdict = judged(monkeypatch, SETTINGS[kind], "sharp", "random")
    assert verdict.passed and verdict.share > 0.7 and 0 < verdict.games <= SETTINGS[kind].games
    assert float(after.champion["w"][0]) == 2.0
    state, after, verdict = judged(monkeypatch, SETTINGS[kind], "random", "sharp")
    assert not verdict.passed and verdict.share < 0.3
    assert after is state and float(after.champion["w"][0]) == 1.0


def test_equals_do_not_pass(monkeypatch) -> None:
    for settings in SETTINGS.values():
        _, _, verdict = judged(monkeypatch, settings, "sharp", "sharp")
        assert not verdict.passed and verdict.share == pytest.approx(0.5, abs=0.2)


def test_it_is_held_every_so_many_iterations() -> None:
    plan = Plan(replace(TINY, gate=GateSettings(kind="score", every=3)))
    assert [iteration for iteration in range(1, 10) if gate.due(plan, iteration)] == [3, 6, 9]
    assert not any(gate.due(Plan(TINY), iteration) for iteration in range(1, 50))


def test_thresholds_that_mean_nothing_are_refused() -> None:
    for settings in (GateSettings(kind="score", threshold=1.0), GateSettings(kind="sequential", threshold=0.5)):
        with pytest.raises(TrainingError, match=r"gate\.threshold"):
            replace(TINY, gate=settings)


def test_networks_really_meet() -> None:
    """A network against itself, with real players: half the points, and it does not pass."""
    plan = Plan(replace(TINY, gate=GateSettings(kind="score", games=8, simulations=2)))
    variables = plan.network.init(jax.random.key(0))
    state = State((), type("TrainState", (), {"ema": variables})(), variables)
    after, verdict = gate.attempt(plan, state, Counters(iteration=1))
    assert verdict.share == 0.5 and not verdict.passed and after is state
    assert verdict.fields() == {"gate_passed": False, "gate_share": 0.5, "gate_games": verdict.games}
