"""Engines as oracles of rules: in random games, their legal moves are the game's; each difference is named here.

Debian's packages of the engines: grhino, gnugo, fairy-stockfish and gnubg; `make test` installs them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from tabia.games.protocols import backgammon as turns
from tabia.games.protocols.gtp import COLORS
from tabia.games.protocols.uci import Limits, position_text
from tabia.games.session import Session
from tabia.players.engines.gnubg import Gnubg
from tabia.players.engines.gtp import GtpEngine
from tabia.players.engines.process import Command
from tabia.players.engines.uci import UciEngine
from tabia.search.evaluators import random_actions

GNUGO = ("gnugo", "--mode", "gtp", "--chinese-rules")


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


def random_games(notation: Notation, count: int, seed: int = 0) -> list[RandomGame]:
    """Random games played side by side."""
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
    """Fairy-Stockfish, asked for its legal moves."""

    def legal(self, moves: Sequence[str]) -> set[str]:
        self.process.send(position_text(moves))
        self.process.send("go perft 1")
        deadline, found = self.process.deadline(), set[str]()
        while not (line := self.process.line(deadline)).startswith("Nodes searched"):
            move, colon, count = line.partition(": ")
            if colon and count == "1":
                found.add(move)
        return found


def compare_uci(game: str, count: int) -> None:
    notation = uci_game(games.make(game))
    engine = Perft(
        Command(("fairy-stockfish",), package="fairy-stockfish"),
        notation,
        limits=Limits(nodes=1),
        options={},
        variant=notation.variant,
    )
    plies = 0
    for one in random_games(notation, count):
        for ply, legal in enumerate(one.legal):
            theirs = engine.legal(one.moves[:ply])
            # In animal shogi Fairy-Stockfish may also leave a chick on the last rank without promoting it.
            chicks = {move for move in theirs - legal if f"{move}+" in legal}
            assert theirs - chicks == legal, (one.moves[:ply], theirs ^ legal)
            assert not chicks or notation.variant == "dobutsu"
            plies += 1
    engine.process.close()
    assert plies > 10 * count


def compare_gnugo(count: int) -> None:
    engine = GtpEngine(Command(GNUGO, package="gnugo"), gtp_game(games.make("pgx:go_9x9")))
    for one in random_games(engine.notation, count):
        engine.new_game()
        for seat, move, legal in zip(one.seats, one.moves, one.legal, strict=True):
            theirs = set(engine._ask("all_legal", COLORS[seat]).split())
            assert theirs == legal - {"pass"}, (one.moves, theirs ^ legal)
            engine.play_move(seat, move)
    engine.process.close()


def compare_rhino(count: int) -> None:
    """GRhino lists no moves, so every cell is tried."""
    engine = GtpEngine(Command(("gtp-rhino",), package="grhino"), gtp_game(games.make("othello")))
    cells = {f"{column}{number}" for column in "ABCDEFGH" for number in range(1, 9)}
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
    engine.process.close()


def backgammon_sessions(count: int, seed: int = 0) -> Iterator[Session]:
    game, rng = games.make("pgx:backgammon"), np.random.default_rng(seed)
    for number in range(count):
        session = Session.start(game, seed=number)
        while not session.over:
            session = session.play(int(rng.choice(np.flatnonzero(session.legal))))
        yield session


def compare_backgammon(count: int, *, seed: int = 0) -> int:
    """Compare our turns with pgx's single moves; returns how many games break a rule of the dice."""
    broken = 0
    for session in backgammon_sessions(count, seed):
        for number, position in enumerate(session.positions[:-1]):
            board, dice = turns.board_of(position.state)
            singles = {action for die in set(dice) for action in turns.single_moves(board, die)}
            assert singles == set(np.flatnonzero(position.legal).tolist()) - {turns.PASS}
            action, after = session.actions[number], session.positions[number + 1]
            if action != turns.PASS and not after.over:
                expected = turns.after(board, action)
                same = int(after.mover) == int(position.mover)
                assert turns.board_of(after.state)[0] == (expected if same else turns.turned(expected))
        broken += any(turns.broken_rule(session, seat) for seat in range(2))
    return broken


def test_othello_agrees_with_grhino() -> None:
    compare_rhino(2)


def test_gardner_chess_agrees_with_fairy_stockfish() -> None:
    compare_uci("pgx:gardner_chess", 4)


def test_backgammon_turns_agree_with_pgx() -> None:
    compare_backgammon(2)


@pytest.mark.long
def test_othello_agrees_with_grhino_in_a_thousand_games() -> None:
    compare_rhino(1000)


@pytest.mark.long
@pytest.mark.parametrize("game", ["pgx:chess", "pgx:gardner_chess", "pgx:animal_shogi", "spiel:breakthrough"])
def test_chess_variants_agree_with_fairy_stockfish_in_a_thousand_games(game: str) -> None:
    compare_uci(game, 1000)


@pytest.mark.long
def test_shogi_agrees_with_fairy_stockfish() -> None:
    compare_uci("pgx:shogi", 20)


@pytest.mark.long
def test_go_agrees_with_gnugo_in_a_hundred_games() -> None:
    compare_gnugo(100)


@pytest.mark.long
def test_backgammon_turns_agree_with_pgx_in_a_thousand_games() -> None:
    assert compare_backgammon(1000) > 0  # random play breaks the rules of the dice now and then


@pytest.fixture(scope="module")
def gnubg() -> Iterator[Gnubg]:
    found = Gnubg(Command(("gnubg", "-t", "-q", "-r"), package="gnubg"), 0)
    yield found
    found.close()


START = (2, 0, 0, 0, 0, -5, 0, -3, 0, 0, 0, 5, -5, 0, 0, 0, 3, 0, 5, 0, 0, 0, 0, -2, 0, 0, 0, 0)


def best(gnubg: Gnubg, dice: tuple[int, ...]) -> set[tuple[int, int]]:
    """The points that a turn leaves and reaches."""
    turn = gnubg.best(START, dice)
    starts = [26 - action // 6 for action in turn.actions]
    return {(start, start - action % 6 - 1) for start, action in zip(starts, turn.actions, strict=True)}


def test_gnubg_plays_the_openings_that_every_book_gives(gnubg: Gnubg) -> None:
    """3-1, 4-2 and 6-1 make points: 8/5 6/5, 8/4 6/4, 13/7 8/7."""
    assert best(gnubg, (3, 1)) == {(8, 5), (6, 5)}
    assert best(gnubg, (4, 2)) == {(8, 4), (6, 4)}
    assert best(gnubg, (6, 1)) == {(13, 7), (8, 7)}


def test_gnubg_knows_finished_games(gnubg: Gnubg) -> None:
    """The side on roll has lost one, two or three points."""
    over = [0] * 28
    for tray, place, points in ((-1, 20, 1), (0, 20, 2), (0, 3, 3)):
        board = list(over)
        board[26], board[27], board[place] = -tray, -15, 15 + tray
        assert gnubg.equity(tuple(board)) == pytest.approx(-points, abs=1e-3)


def test_gnubg_equity_of_a_contact_position_is_fair(gnubg: Gnubg) -> None:
    """The side on roll has the advantage of the first roll, about 0.07 points without a cube."""
    assert 0.03 < gnubg.equity(START) < 0.12
    assert gnubg.equity(turns.turned(START)) == gnubg.equity(START)


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
