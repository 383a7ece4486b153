"""A readable record of one random game that carries its own recipe, so that any change of the rules shows as text."""

from __future__ import annotations

import random
import textwrap
import zlib

import numpy as np

from tabia.games.game import Game
from tabia.games.session import Session

_WIDTH = 110


def playthrough(game: Game, *, seed: int = 0, pictures: int = 24) -> str:
    """One random game as text: every ply with mover, legal moves, observation and move; about `pictures` drawings."""
    moves = random_game(game, seed=seed)
    every = max(1, -(-len(moves) // pictures))
    session = Session.replay(game, moves, seed=seed)
    parts = [_recipe(game, seed, pictures, every)]
    for ply, action in enumerate([*moves, None]):
        at, lines = session.at(ply), [f"ply {ply}"]
        if ply % every == 0 or action is None:
            lines += [f"    {line}".rstrip() for line in at.draw().splitlines()]
        parts.append("\n".join([*lines, *_position(at), *_choice(at, action)]))
    return "\n\n".join(parts) + "\n"


def random_game(game: Game, *, seed: int) -> list[int]:
    """The actions of one random game."""
    dice = random.Random(seed)  # whose random() gives the same numbers on every version of Python
    session = Session.start(game, seed=seed)
    while not session.over:
        legal = np.flatnonzero(session.legal)
        session = session.play(int(legal[int(dice.random() * len(legal))]))
    return list(session.actions)


def _recipe(game: Game, seed: int, pictures: int, every: int) -> str:
    shown = "every position is drawn" if every == 1 else f"every {every}th position is drawn, and the last"
    return "\n".join(
        [
            f"game: {game.id}",
            f"version: {game.version}",
            f"title: {game.title}",
            f"seats: {game.num_players}",
            f"actions: {game.num_actions}",
            f"observation: {game.observation_shape}",
            f"moves at most: {game.max_moves}",
            f"scores: {game.score_range[0]:g} to {game.score_range[1]:g}",
            f"symmetries: {len(game.symmetries)}",
            f"seed: {seed}",
            f"recipe: playthrough(make({game.id!r}), seed={seed}, pictures={pictures}); {shown}",
        ]
    )


def _position(session: Session) -> list[str]:
    names = session.legal_moves
    settled = [f"scores: {_numbers(session.scores)}"] if session.over or session.scores.any() else []
    if session.over:
        return [
            "over",
            *settled,
            f"winner: {'none' if session.winner is None else f'seat {session.winner + 1}'}",
            _seen(session),
        ]
    legal = textwrap.fill(
        f"legal ({len(names)}): {' '.join(names)}", _WIDTH, subsequent_indent="    ", break_on_hyphens=False
    )
    return [f"mover: seat {session.mover + 1}", *settled, legal, _seen(session)]


def _choice(session: Session, action: int | None) -> list[str]:
    return [] if action is None else [f"move: {session.game.move_name(action, session.state)} (action {action})"]


def _seen(session: Session) -> str:
    """The mover's observation: the sum of each plane (of the first twelve) and a checksum of all numbers."""
    planes = session.observe(session.mover)
    sums = _numbers(planes.sum(axis=(0, 1))[:12]) + (" ..." if planes.shape[-1] > 12 else "")
    exact = np.ascontiguousarray(np.round(planes * 1024).astype("<i4"))
    return f"sees: planes {sums}; checksum {zlib.crc32(exact.tobytes()):08x}"


def _numbers(values: np.ndarray) -> str:
    return " ".join(f"{value:.4g}" for value in values)
