"""Engines as oracles of rules: in random games, their legal moves are the game's; each difference is named here.

Debian's packages of the engines: grhino, gnugo and fairy-stockfish; `make test` installs them. The long tests print
what they compared (`pytest -m long -s`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from tabia import games, players
from tabia.evaluation import Match, match_result, play
from tabia.games.game import Game, State
from tabia.games.moves import row
from tabia.games.protocols import Notation, gtp_game, uci_game
from tabia.games.protocols.gtp import COLORS
from tabia.games.protocols.uci import Limits, position_text
from tabia.players.engines.gtp import GtpEngine
from tabia.players.engines.process import Command
from tabia.players.engines.uci import UciEngine
from tabia.search.evaluators import random_actions

GNUGO = ("gnugo", "--mode", "gtp", "--chinese-rules")


SIDE_BY_SIDE = 100  # games in memory at a time
KEPT = 16  # plies after which a position is sent as a FEN instead of its moves


@dataclass
class Agreement:
    """What was compared."""

    games: int = 0
    positions: int = 0
    moves: int = 0
    differences: int = 0  # positions with one that is named here
    differing_games: int = 0

    def add_game(self, one: RandomGame, differences: int = 0) -> None:
        self.games += 1
        self.positions += len(one.legal)
        self.moves += sum(map(len, one.legal))
        self.differences += differences
        self.differing_games += differences > 0


@dataclass
class RandomGame:
    """A random game as a protocol writes it."""

    seats: list[int] = field(default_factory=list)  # the mover of each ply
    moves: list[str] = field(default_factory=list)
    legal: list[set[str]] = field(default_factory=list)  # before each move


@partial(jax.jit, static_argnums=0)
def advance(game: Game, states: State, key: Array) -> tuple[State, Array, Array, Array]:
    """The next states, the legal actions before them, the movers, and the actions played."""
    legal, movers = jax.vmap(game.legal)(states), jax.vmap(game.mover)(states)
    actions = random_actions(key, legal)
    after = jax.vmap(lambda state, action: game.step(state, action, key))(states, actions)
    return after, legal, movers, actions


def random_games(notation: Notation, count: int) -> Iterator[RandomGame]:
    """Random games, some of them played side by side."""
    for first in range(0, count, SIDE_BY_SIDE):
        yield from _side_by_side(notation, min(SIDE_BY_SIDE, count - first), seed=first)


def _side_by_side(notation: Notation, count: int, seed: int) -> list[RandomGame]:
    game, key = notation.game, jax.random.key(seed)
    states = jax.vmap(game.init)(jax.random.split(key, count))
    played = [RandomGame() for _ in range(count)]
    for ply in range(game.max_moves):
        before = jax.device_get(states)
        states, *facts = advance(game, states, jax.random.fold_in(key, ply))
        legal, movers, actions = jax.device_get(facts)
        live = np.flatnonzero(legal.any(axis=1)).tolist()
        if not live:
            break
        for index in live:
            state, one = row(game, before, index), played[index]
            texts = {notation.text(action, state): action for action in np.flatnonzero(legal[index]).tolist()}
            assert len(texts) == legal[index].sum()  # no two moves look the same
            move = next(text for text, action in texts.items() if action == actions[index])
            assert notation.action(move.upper(), state, legal[index]) == actions[index]
            one.seats.append(int(movers[index]))
            one.moves.append(move)
            one.legal.append(set(texts))
    return played


class Perft(UciEngine):
    """Fairy-Stockfish, asked for its legal moves; it reads long lists of moves slowly, so its own FEN replaces them."""

    def legal_moves(self, one: RandomGame) -> Iterator[set[str]]:
        """The legal moves of each position of a game."""
        setup = position_text([])
        for ply in range(len(one.moves)):
            new = one.moves[ply // KEPT * KEPT : ply]
            self.process.send(f"{setup} moves {' '.join(new)}" if new else setup)
            self.process.send("go perft 1")
            yield {move for move, colon, count in self._lines("Nodes searched") if colon and count == "1"}
            if (ply + 1) % KEPT == 0:
                setup = self._fen(f"{setup} moves {' '.join([*new, one.moves[ply]])}")

    def _fen(self, position: str) -> str:
        self.process.send(position)
        self.process.send("d")
        return next(f"position fen {fen}" for name, _, fen in self._lines("Checkers") if name == "Fen")

    def _lines(self, last: str) -> list[tuple[str, str, str]]:
        deadline, lines = self.process.deadline(), list[tuple[str, str, str]]()
        while not (line := self.process.line(deadline)).startswith(last):
            lines.append(line.partition(": "))
        return lines


def differs(variant: str, move: str, legal: set[str]) -> bool:
    """Whether a move is legal for Fairy-Stockfish by a rule that is known to differ.

    In animal shogi it may leave a chick on the last rank without promoting it. In shogi it lists a pawn drop that
    mates, and scores it as a loss.
    """
    if variant == "dobutsu":
        return f"{move}+" in legal
    return variant == "shogi" and move.startswith("P@")


def compare_uci(game: str, count: int) -> Agreement:
    notation, found = uci_game(games.make(game)), Agreement()
    command = Command(("fairy-stockfish",), package="fairy-stockfish")
    engine = Perft(command, notation, limits=Limits(nodes=1), options={}, variant=notation.variant)
    with closing(engine.process):
        for one in random_games(notation, count):
            differences = 0
            for ply, (legal, theirs) in enumerate(zip(one.legal, engine.legal_moves(one), strict=True)):
                named = {move for move in theirs - legal if differs(notation.variant, move, legal)}
                assert theirs - named == legal, (one.moves[:ply], theirs ^ legal)
                differences += bool(named)
            found.add_game(one, differences)
    assert found.positions > 10 * count
    return found


def compare_gnugo(count: int) -> Agreement:
    engine = GtpEngine(Command(GNUGO, package="gnugo"), gtp_game(games.make("pgx:go_9x9")))
    found = Agreement()
    with closing(engine.process):
        for one in random_games(engine.notation, count):
            engine.new_game()
            for seat, move, legal in zip(one.seats, one.moves, one.legal, strict=True):
                theirs = set(engine._ask("all_legal", COLORS[seat]).split())
                assert theirs == legal - {"pass"}, (one.moves, theirs ^ legal)
                engine.play_move(seat, move)
            found.add_game(one)
    return found


def compare_rhino(count: int) -> Agreement:
    """GRhino lists no moves, so every cell is tried."""
    engine = GtpEngine(Command(("gtp-rhino",), package="grhino"), gtp_game(games.make("othello")))
    cells = {f"{column}{number}" for column in "ABCDEFGH" for number in range(1, 9)}
    found = Agreement()
    with closing(engine.process):
        for one in random_games(engine.notation, count):
            engine.new_game()
            for seat, move, legal in zip(one.seats, one.moves, one.legal, strict=True):
                theirs = set()
                for cell in cells:
                    if engine._send("play", COLORS[seat], cell).ok:
                        theirs.add(cell)
                        engine._ask("undo")
                assert theirs == legal - {"pass"}, (one.moves, theirs ^ legal)
                engine.play_move(seat, move)
            found.add_game(one)
    return found


def test_othello_agrees_with_grhino() -> None:
    compare_rhino(2)


def test_gardner_chess_agrees_with_fairy_stockfish() -> None:
    compare_uci("pgx:gardner_chess", 4)


@pytest.mark.long
def test_othello_agrees_with_grhino_in_a_thousand_games() -> None:
    print(compare_rhino(1000))


@pytest.mark.long
@pytest.mark.parametrize("game", ["pgx:chess", "pgx:gardner_chess", "pgx:animal_shogi", "spiel:breakthrough"])
def test_chess_variants_agree_with_fairy_stockfish_in_a_thousand_games(game: str) -> None:
    print(game, compare_uci(game, 1000))


@pytest.mark.long
def test_shogi_agrees_with_fairy_stockfish() -> None:
    print(compare_uci("pgx:shogi", 20))


@pytest.mark.long
def test_go_agrees_with_gnugo_in_a_hundred_games() -> None:
    print(compare_gnugo(100))


ENGINES: list[tuple[str, str]] = [
    ("othello", "gtp:gtp-rhino,level=1"),
    ("pgx:go_9x9", "gtp:gnugo,level=1"),
    ("pgx:chess", "uci:fairy-stockfish,nodes=500"),
    ("pgx:gardner_chess", "uci:fairy-stockfish,nodes=500"),
    ("pgx:animal_shogi", "uci:fairy-stockfish,nodes=500"),
    ("spiel:breakthrough", "uci:fairy-stockfish,nodes=500"),
    ("pgx:backgammon", "gnubg"),
]


@pytest.mark.long
@pytest.mark.parametrize(("game_id", "spec"), ENGINES)
def test_ten_games_against_random(game_id: str, spec: str) -> None:
    """An engine that gets the right positions beats random moves; one that gets others loses by illegal moves."""
    game = games.make(game_id)
    engine: Any = players.make(spec, game)
    played = play(Match(game, (engine, players.make("random", game)), games=10, seed=0))
    engine.close()
    result = match_result(game, played.records)
    assert result.forfeited == 0
    assert result.players[0].score > 0.8, played.incidents
    assert jnp.isfinite(result.mean_length)
