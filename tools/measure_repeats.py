"""How many evaluations of a search repeat a position that was evaluated before, and what a bounded cache would save.

    python tools/measure_repeats.py connect4 az:connect4-laptop --games 32

Games are played with one search per move. Every position that needs the evaluator is looked up in the same tree, in
earlier trees of the same game, and in all trees by caches that keep the positions used last.
"""

from __future__ import annotations

import argparse
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia import players
from tabia.games import make
from tabia.games.fingerprint import fingerprint
from tabia.games.game import Game, State
from tabia.search import Gumbel, Search
from tabia.search.evaluators import random_actions

SIZES = (2**10, 2**13, 2**16, 2**30)


class Cache:
    """Keeps the `size` keys used last and counts how often a key is found."""

    def __init__(self, size: int) -> None:
        self.size, self.found, self.keys = size, 0, OrderedDict[Any, None]()

    def look_up(self, key: Any) -> bool:
        """Whether the key is kept; afterward it is."""
        found = key in self.keys
        self.found += found
        self.keys[key] = None
        self.keys.move_to_end(key)
        if len(self.keys) > self.size:
            self.keys.popitem(last=False)
        return found


def evaluations(
    game: Game, search: Search, parameters: Any, games: int, moves: int, sampled: int
) -> Iterator[tuple[int, int, int]]:
    """Game, move and fingerprint of every position evaluated, in order; of the first moves `sampled` are random."""

    @jax.jit
    def move(states: State, ply: Array, plies: Array) -> tuple[Any, ...]:
        one, two, three = jax.random.split(jax.random.fold_in(jax.random.key(0), ply), 3)
        result = search.run_unchecked(parameters, states, one)
        prints = jax.vmap(jax.vmap(lambda state: fingerprint(game, state)))(result.tree.states)
        over = jax.vmap(jax.vmap(game.over))(result.tree.states)
        legal = jax.vmap(game.legal)(states)
        actions = jnp.where(plies < sampled, random_actions(two, legal), result.action)
        after = jax.vmap(game.step)(states, actions)
        new = jax.vmap(game.init)(jax.random.split(three, games))
        ended = jax.vmap(game.over)(after)
        states = jax.tree.map(lambda a, b: jax.vmap(jnp.where)(ended, a, b), new, after)
        return states, jnp.where(ended, 0, plies + 1), ended, prints, over

    states = jax.vmap(game.init)(jax.random.split(jax.random.key(1), games))
    plies, number, next_game = jnp.zeros(games, jnp.int32), np.arange(games), games
    for ply in range(moves):
        states, plies, ended, prints, over = move(states, jnp.int32(ply), plies)
        words = np.asarray(prints).astype(np.uint64)
        keys, skipped = words[..., 0] << np.uint64(32) | words[..., 1], np.asarray(over)
        for node, lane in zip(*np.nonzero(~skipped), strict=True):
            yield int(number[lane]), ply, int(keys[node, lane])
        for lane in np.nonzero(np.asarray(ended))[0]:
            number[lane], next_game = next_game, next_game + 1


def main() -> None:
    """Measure and print one row per kind of cache."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("game")
    parser.add_argument("player")
    parser.add_argument("--games", type=int, default=32, help="games side by side")
    parser.add_argument("--moves", type=int, default=60, help="moves in each of them; finished games are replaced")
    parser.add_argument("--simulations", type=int, default=32)
    parser.add_argument("--sampled", type=int, default=4, help="random moves at the start of each game")
    parser.add_argument("--noise", type=float, default=1.0, help="scale of the Gumbel sample; 0: none, as at play")
    given = parser.parse_args()
    game = make(given.game)
    player: Any = players.make(given.player, game)
    search = replace(player.search, simulations=given.simulations, rule=Gumbel(gumbel_scale=given.noise))
    tree, own, every = set[Any](), set[Any](), {size: Cache(size) for size in SIZES}
    count = in_tree = in_game = 0
    for number, ply, key in evaluations(game, search, player.parameters, given.games, given.moves, given.sampled):
        count += 1
        in_tree += (number, ply, key) in tree
        in_game += (number, key) in own
        tree.add((number, ply, key))
        own.add((number, key))
        for cache in every.values():
            cache.look_up(key)
    print(f"{game.id} {given.player}, {given.simulations} simulations, noise {given.noise:g}: {count:,} evaluations")
    print(f"in the same tree {in_tree / count:.1%}; in the same game {in_game / count:.1%}")
    for size, cache in every.items():
        print(f"in any game, at most {size:,} positions: {cache.found / count:.1%}")


if __name__ == "__main__":
    main()
