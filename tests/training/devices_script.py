"""Runs on one device and on four, in a process with four CPU devices; writes what happened for `test_devices`.

python devices_script.py FOLDER CONFIG PLAYER
"""

import json
import re
import sys
from pathlib import Path

import jax
import numpy as np

from tabia import players
from tabia.core import devices, groups
from tabia.evaluation import Match, play
from tabia.games import make
from tabia.training import iteration
from tabia.training import state as states
from tabia.training.compiling import CompileAhead
from tabia.training.config.toml import from_toml
from tabia.training.plan import Plan
from tabia.training.rollback import Guard
from tabia.training.run import checkpoint
from tabia.training.run.directory import RunDirectory
from tabia.training.state import Counters, State

jax.config.update("jax_numpy_rank_promotion", "raise")
groups.number = lambda lanes: 1  # as on GPUs
FOLDER, CONFIG, PLAYER = Path(sys.argv[1]), from_toml(sys.argv[2], "argument"), sys.argv[3]
PLAN, EACH = Plan(CONFIG), 2  # iterations before the checkpoint, and after it
compiled: list[str] = []
facts: dict[str, object] = {}


def listen(event: str, _: float, **about: object) -> None:
    if event.endswith("backend_compile_duration"):
        compiled.append(str(about.get("fun_name")))


jax.monitoring.register_event_duration_secs_listener(listen)


def train(state: State, first: int, name: str) -> State:
    """Some iterations; their losses and the state after them are written."""
    losses = []
    for number in range(first, first + EACH):
        state, result = iteration.run(PLAN, state, number, 0.5)
        losses.append(result.fields())
    facts[name] = losses
    np.savez(FOLDER / f"{name}.npz", **states.to_arrays(state))
    return state


def save(state: State, number: int) -> RunDirectory:
    run = RunDirectory(FOLDER / f"run-{number}")
    run.create(CONFIG)
    checkpoint.save(run, PLAN, state, Counters(iteration=EACH))
    return run


def restored(state: State) -> bool:
    """Whether a run interrupted in the middle of an iteration is restored to the start of it, bit for bit."""
    before, guard = states.to_arrays(state), Guard()
    with guard.lock, guard.iteration(state, Counters()):
        current = iteration.Iteration(PLAN, state, EACH, 0.5, guard=guard)
        current.store(current.play())
        found = guard.restored()
        assert found is not None
        after = states.to_arrays(found[0])
    return all((before[name] == after[name]).all() for name in before)


def programs(state: State) -> None:
    """The compiled programs of self-play and learning."""
    lanes, buffer = state.boards[0]
    key = jax.random.key(0)
    revisits = iteration.openings.draw_revisits(buffer, key, CONFIG.selfplay, PLAN.window)
    play_text = PLAN.selfplay.lowered(states.playing(state), lanes, key, revisits).compile().as_text()
    learn_text = PLAN.learner.lowered(state.train_state, buffer, key).compile().as_text()
    (FOLDER / "play.txt").write_text(play_text)
    (FOLDER / "learn.txt").write_text(learn_text)


def match() -> list[str]:
    game = make("tictactoe")
    both = tuple(players.make(spec, game) for spec in (PLAYER, "random"))
    return [str(record) for record in play(Match(game, both, games=16, batch=16)).records]


runs = {}
for number in (1, 4):
    with devices.using(number):
        state = states.begin(PLAN)
        if number == 4:
            with CompileAhead(PLAN, state):
                compiled.clear()
        state = train(state, 0, f"{number}-first")
        if number == 4:
            facts["compiled late"] = [name for name in compiled if re.search("_play|learn_step", name)]
            facts["shards"] = [len(leaf.sharding.device_set) for leaf in jax.tree.leaves(state)]
            arrays = [leaf for leaf in jax.tree.leaves(state.boards) if leaf.ndim]
            facts["parts"] = [leaf.size / leaf.addressable_shards[0].data.size for leaf in arrays]
            programs(state)
        runs[number] = save(state, number)
        facts[f"{number} games"] = match()
        train(state, EACH, f"{number}-then-{number}")
for before, after in ((1, 4), (4, 1)):
    with devices.using(after):
        found, notes = checkpoint.newest(runs[before], PLAN)
        assert found is not None and not notes
        if after == 4:
            facts["restored"] = restored(found.state)
            found, _ = checkpoint.newest(runs[before], PLAN)
        train(found.state, EACH, f"{before}-then-{after}")
(FOLDER / "facts.json").write_text(json.dumps(facts))
