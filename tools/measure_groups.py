"""Seconds of batches of searches as a whole and in groups, one core each: in turn, in one process, on a CPU.

    python tools/measure_groups.py selfplay othello:size=6 --recipe any-laptop
    python tools/measure_groups.py moves connect4 az:connect4,simulations=64 --positions 128

`selfplay` plays the plies of one iteration of a recipe, `moves` chooses a move in positions after four random moves.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any
from unittest import mock

import tabia  # noqa: F401  sets up JAX

import jax  # isort: skip

from tabia.core import batching, groups
from tabia.games import make as make_game
from tabia.games.game import Game, State
from tabia.players import make as make_player
from tabia.search.evaluators import random_actions
from tabia.training.config import recipes
from tabia.training.config.toml import with_assignments
from tabia.training.plan import Plan
from tabia.training.state import begin, playing

RANDOM_MOVES = 4
Call = Callable[[], Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=7, help="runs of each kind")
    kinds = parser.add_subparsers(dest="kind", required=True)
    selfplay = kinds.add_parser("selfplay", help="the plies of one iteration")
    selfplay.add_argument("game")
    selfplay.add_argument("--recipe", default="any-laptop")
    selfplay.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change a setting")
    moves = kinds.add_parser("moves", help="a move of a player in a batch of positions")
    moves.add_argument("game")
    moves.add_argument("player")
    moves.add_argument("--positions", type=int, default=64)
    words = parser.parse_args()
    call = selfplay_call(words) if words.kind == "selfplay" else moves_call(words)
    found = measure(call, words.repeats)
    for kind, seconds in found.items():
        wall, cpu = (statistics.median(part) for part in zip(*seconds, strict=True))
        print(f"{kind}: {wall:.3f} s, {cpu:.3f} s of CPU time (medians of {len(seconds)})")


def selfplay_call(words: argparse.Namespace) -> Call:
    """The self-play of an iteration, without its teacher."""
    config = with_assignments(recipes.load(words.recipe).config(words.game), words.set).starting
    plan = Plan(config.changed({"selfplay.teacher": ""}))
    state = begin(plan)
    return lambda: plan.selfplay.play(playing(state), state.boards[0].lanes, jax.random.key(0))


def moves_call(words: argparse.Namespace) -> Call:
    """A player's moves."""
    game = make_game(words.game)
    player, states = make_player(words.player, game), positions(game, words.positions)
    return lambda: player.choose(states, jax.random.key(0))


def positions(game: Game, count: int) -> State:
    """Positions [B] after random moves."""
    keys, states = batching.start(game, jax.random.split(jax.random.key(0), count))
    for number in range(RANDOM_MOVES):
        actions = random_actions(jax.random.key(number), jax.vmap(game.legal)(states))
        keys, states = batching.step(game, keys, states, actions)
    return states


def measure(call: Call, repeats: int) -> dict[str, list[tuple[float, float]]]:
    """Seconds on the clock and of CPU time, of calls as a whole and in groups."""
    kinds: dict[str, Callable[[int], int]] = {"whole": lambda lanes: 1, "groups": groups.number}
    found: dict[str, list[tuple[float, float]]] = {kind: [] for kind in kinds}
    for repeat in range(-1, repeats):
        for kind, chosen in kinds.items():
            with mock.patch.object(groups, "number", chosen):
                started, cpu = time.perf_counter(), time.process_time()
                jax.block_until_ready(call())
                if repeat >= 0:  # the first call compiles
                    found[kind].append((time.perf_counter() - started, time.process_time() - cpu))
    return found


if __name__ == "__main__":
    main()
