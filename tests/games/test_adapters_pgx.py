"""The pgx adapter, compared with pgx itself, OpenSpiel's names, and the laws."""

from __future__ import annotations

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tabia.games import GameError, IllegalMove, laws, make
from tabia.games.adapters import pgx as adapter
from tabia.games.adapters import pgx_gardner, pgx_go
from tabia.games.session import Session

pgx = pytest.importorskip("pgx")
pyspiel = pytest.importorskip("pyspiel")

LENGTHS = {  # plies that are followed, and games side by side
    "tic_tac_toe": (10, 64),
    "connect_four": (43, 64),
    "othello": (122, 16),
    "hex": (123, 16),
    "go_9x9": (163, 8),
    "animal_shogi": (60, 6),
    "gardner_chess": (60, 6),
    "backgammon": (80, 16),
    "chess": (200, 4),
    "go_19x19": (120, 4),
    "shogi": (120, 4),
}
LONG = ("chess", "go_19x19", "shogi")
QUICK = ("tic_tac_toe", "hex", "backgammon")  # the others take longer to compile, or are like these
EVERY = [name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in LENGTHS]


def raw(game, state):
    """The observation as pgx has it: in backgammon one number per place, then the dice of each number."""
    planes = game.observe(state)
    if game.id != "pgx:backgammon":
        return planes.reshape(-1)
    own, other = (planes[0, :, at : at + 3].sum(axis=-1) + 4 * planes[0, :, at + 3] for at in (0, 4))
    return jnp.append(own - other, 2 * planes[0, 0, 8:])


def disagreements(name: str, plies: int, games: int) -> tuple[dict[str, int], int]:
    """Random games here and in pgx at once: how often the two differ, and how many games ended."""
    game, theirs = make(f"pgx:{name}"), pgx.make(name)

    def ply(carry, key):
        ours, state, first = carry
        chosen, dealt = jax.random.split(key)
        legal, running = game.legal(ours), ~game.over(ours)
        opened = state.legal_action_mask & running
        if name == "backgammon":  # six names for one pass there, one here
            opened = opened.at[1:6].set(False)
        seats = (first + jnp.arange(2)) % 2  # pgx's player in each seat
        apart = {
            "legal": (legal != opened).any(),
            "over": game.over(ours) != (state.terminated | state.truncated),
            "mover": game.mover(ours) != (state.current_player - first) % 2,
            "scores": (game.scores(ours) != state.rewards[seats]).any(),
            "observation": (raw(game, ours) != state.observation.reshape(-1)).any(),
        }
        action = jax.random.categorical(chosen, jnp.where(legal, 0.0, -jnp.inf))
        moved = theirs.step(state, action, dealt)
        state = jax.tree.map(lambda new, old: jnp.where(running, new, old), moved, state)
        return (game.step(ours, action, dealt), state, first), apart

    def play(key):
        state = theirs.init(key)  # pgx chooses who moves first
        start = (game.init(key), state, state.current_player)
        (ours, _, _), apart = jax.lax.scan(ply, start, jax.random.split(key, plies))
        return apart, game.over(ours), state.current_player

    with jax.numpy_rank_promotion("allow"):
        apart, over, first = jax.jit(jax.vmap(play))(jax.random.split(jax.random.key(0), games))
    assert 0 < np.asarray(first).mean() < 1, "both of pgx's players should begin in some game"
    return {what: int(wrong.sum()) for what, wrong in apart.items()}, int(over.sum())


@pytest.mark.parametrize("name", EVERY)
def test_plays_as_pgx_does(name):
    apart, ended = disagreements(name, *LENGTHS[name])
    assert apart == dict.fromkeys(apart, 0)
    if LENGTHS[name][0] > adapter.BOARDS[name].max_moves:
        assert ended == LENGTHS[name][1], "no game is longer than max_moves"


@pytest.mark.parametrize(
    "name", [name if name == "tic_tac_toe" else pytest.param(name, marks=pytest.mark.long) for name in LENGTHS]
)
def test_keeps_the_laws(name):
    verdicts = laws.check(make(f"pgx:{name}"), games=2 if name in LONG else 8)
    assert [verdict for verdict in verdicts if not verdict.holds] == []


def test_gardner_chess_has_the_legal_moves_of_pgx():
    theirs, lanes = pgx.make("gardner_chess"), 64

    def ply(state, key):
        apart = (pgx_gardner.legal(state._board) != state.legal_action_mask).any() & ~state.terminated
        action = jax.random.categorical(key, jnp.where(state.legal_action_mask, 0.0, -jnp.inf))
        return theirs.step(state, action), (apart, ~state.terminated)

    def play(key):
        return jax.lax.scan(ply, theirs.init(key), jax.random.split(key, 120))[1]

    with jax.numpy_rank_promotion("allow"):
        apart, running = jax.jit(jax.vmap(play))(jax.random.split(jax.random.key(0), lanes))
    assert int(running.sum()) > 50 * lanes
    assert not apart.any()


@pytest.mark.parametrize("size", [9, 19])
def test_areas_of_go_are_those_of_pgx(size):
    from pgx._src.games import go

    def counted(board):
        return go._count_scores(go.GameState(board=board), size)

    lots, boards = np.random.default_rng(0), []
    for stones in np.linspace(0.02, 0.6, 120):
        boards.append(lots.choice([0, 1, -1], (size, size), p=[1 - stones, stones * 0.9, stones * 0.1]))
    snake, spiral = (np.zeros((size, size), int) for _ in range(2))
    snake[:, 1::2] = 1
    snake[0, 1::4] = snake[-1, 3::4] = 0
    for edge in range(1, size // 2, 2):
        spiral[edge : size - edge, edge] = spiral[edge : size - edge, -1 - edge] = 1
        spiral[edge, edge : size - edge] = spiral[-1 - edge, edge : size - edge] = 1
        spiral[edge, edge + 1] = 0
    for walls in (snake, snake.T, spiral):
        boards += [
            np.where(np.arange(size * size).reshape(size, size) == cell, -1, walls) for cell in (0, size * size - 1)
        ]
        boards.append(walls)
    found = jnp.asarray(np.array(boards).reshape(len(boards), -1))
    with jax.numpy_rank_promotion("allow"):
        expected = jax.jit(jax.vmap(counted))(found)
    ours = jax.jit(jax.vmap(lambda board: jnp.stack(pgx_go.areas(board, size))))(found)
    np.testing.assert_array_equal(ours, expected)


def test_states_hold_no_observation_and_histories_in_bytes():
    for name in ("go_9x9", "gardner_chess", "animal_shogi"):
        game = make(f"pgx:{name}")
        leaves = jax.tree.leaves_with_path(jax.eval_shape(game.init, jax.random.key(0)))
        fields = {path[-1].name: leaf for path, leaf in leaves}
        assert fields["observation"].size == 0
        assert {fields[name].dtype for name in adapter.HISTORIES if name in fields} == {jnp.dtype(jnp.int8)}


def test_bounds_are_pgx_own():
    from pgx import animal_shogi, gardner_chess
    from pgx._src.games import chess, go

    bounded = ("animal_shogi", "chess", "gardner_chess", "go_9x9", "go_19x19")
    assert {name: make(f"pgx:{name}").max_moves for name in bounded} == {
        "animal_shogi": animal_shogi.MAX_TERMINATION_STEPS,
        "chess": chess.MAX_TERMINATION_STEPS,
        "gardner_chess": gardner_chess.MAX_TERMINATION_STEPS,
        "go_9x9": go.Game(size=9).max_termination_steps,
        "go_19x19": go.Game(size=19).max_termination_steps,
    }


def names_along(name: str, plies: int, seed: int, without: tuple[str, ...] = ()):
    """A random game: each position's legal moves by name, then the name of the move played."""
    game, lots = make(f"pgx:{name}"), np.random.default_rng(seed)
    state = game.init(jax.random.key(0))
    for _ in range(plies):
        named = {game.move_name(int(a), state): int(a) for a in np.flatnonzero(game.legal(state))}
        if not named:
            return
        chosen = str(lots.choice([move for move in named if move not in without]))
        assert game.parse_move(chosen, state) == named[chosen]
        yield set(named) - set(without), chosen
        state = game.step(state, jnp.int32(named[chosen]))


@pytest.mark.parametrize(
    ("name", "theirs", "without"),
    [
        ("othello", "othello", ()),
        ("hex", "hex", ("swap",)),
        ("go_9x9", "go(board_size=9)", ("pass",)),
        pytest.param("shogi", "shogi", (), marks=pytest.mark.long),
    ],
)
def test_moves_are_named_as_in_openspiel(name, theirs, without):
    oracle = pyspiel.load_game(theirs).new_initial_state()
    positions = list(names_along(name, 50, seed=3, without=without))
    assert len(positions) == 50
    for names, chosen in positions:
        known = {oracle.action_to_string(action).split()[-1].lower(): action for action in oracle.legal_actions()}
        assert {move.lower() for move in names} == set(known) - set(without)
        oracle.apply_action(known[chosen.lower()])


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_chess_moves_are_uci(seed):
    oracle = pyspiel.load_game("chess").new_initial_state()
    positions = list(names_along("chess", 120, seed=seed))
    assert len(positions) == 120
    for names, chosen in positions:
        assert {oracle.parse_move_to_action(move) for move in names} == set(oracle.legal_actions())
        oracle.apply_action(oracle.parse_move_to_action(chosen))


def test_chess_names_castling_en_passant_and_promotion():
    game = make("pgx:chess")
    castled = Session.from_moves(game, "e2e4 e7e5 g1f3 b8c6 f1c4 g8f6 e1g1").state
    assert game.draw(castled).splitlines()[7] == "1 R N B Q . R K ."
    passing = Session.from_moves(game, "e2e4 a7a6 e4e5 d7d5 e5d6").state
    assert game.draw(passing).splitlines()[2:4] == ["6 p . . P . . . .", "5 . . . . . . . ."]
    promoting = Session.from_moves(game, "h2h4 g7g5 h4g5 h7h6 g5h6 h8h7 g2g4 a7a6 g4g5 a6a5 g5g6 a5a4 g6h7 a4a3").state
    names = [game.move_name(int(action), promoting) for action in np.flatnonzero(game.legal(promoting))]
    expected = {f"h7{to}{piece}" for to in ("h8", "g8") for piece in "qrbn"}
    assert {name for name in names if name.startswith("h7")} == expected


def test_fools_mate_is_won_by_black():
    game = make("pgx:chess")
    mated = Session.from_moves(game, "f2f3 e7e5 g2g4 d8h4").state
    assert bool(game.over(mated))
    assert game.scores(mated).tolist() == [-1.0, 1.0]
    assert game.draw(mated).endswith("black wins")
    with pytest.raises(IllegalMove, match="over"):
        game.parse_move("e2e4", mated)


def test_backgammon_needs_dice_and_counts_points_from_the_mover():
    game = make("pgx:backgammon")
    start = game.init(jax.random.key(2))
    with pytest.raises(GameError, match="needs a key"):
        game.step(start, jnp.int32(0))
    assert game.score_range == (-3.0, 3.0)
    views = [np.asarray(game.observe(start, jnp.int32(seat)))[0] for seat in (0, 1)]
    np.testing.assert_array_equal(views[0][:, :8], views[1][:, :8])  # the start looks alike from both sides
    assert (views[0][:, 8:].sum(axis=1) == 1).all()  # two different dice to play, halved,
    assert views[1][:, 8:].sum() == 0  # which are not the other seat's
    # The usual start, by one's own count: two on the 24 point, five on the 13, three on the 8, five on the 6.
    held = {
        f"{game.move_name(12 + 6 * place).partition('/')[0]}": views[0][place, :4] @ [1, 1, 1, 4] for place in range(24)
    }
    assert {point: count for point, count in held.items() if count > 0} == {"24": 2, "13": 5, "8": 3, "6": 5}


def test_backgammon_is_drawn_when_it_lasts_too_long():
    game = make("pgx:backgammon")
    late = game.init(jax.random.key(0)).replace(_step_count=jnp.int32(game.max_moves - 1))
    assert not bool(game.over(late))
    ended = game.step(late, jnp.argmax(game.legal(late)).astype(jnp.int32), jax.random.key(1))
    assert bool(game.over(ended))
    assert not game.legal(ended).any()
    assert game.scores(ended).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("conect_four", "connect_four"),
        ("go", "go_9x9"),
        ("kuhn_poker", "has hidden information"),
        ("2048", "single player"),
        ("minatar-breakout", "single player"),
    ],
)
def test_refuses_what_it_cannot_play(name, message):
    with pytest.raises(GameError, match=message):
        make(f"pgx:{name}")


def test_every_game_of_pgx_is_played_or_refused_with_a_reason():
    refused = {name for names in adapter._REFUSED.values() for name in names}
    assert set(pgx.available_envs()) <= set(adapter.BOARDS) | refused


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pgx", None)
    adapter._rules.cache_clear()
    with pytest.raises(GameError, match=r"install tabia\[pgx\]"):
        make("pgx:chess")
