"""Schulte's Chinese checkers against a slow reference, its own counts, and positions set by hand."""

from xml.etree import ElementTree

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tabia import games
from tabia.games import GameError, IllegalMove
from tabia.games.chinese_checkers import ChineseCheckers, State

from . import schulte_reference as reference

GAME = ChineseCheckers()
NAMES = [GAME.move_name(action) for action in range(GAME.num_actions)]  # as seat 0 says them
PASS = GAME.num_actions - 1
START = """
             .
           .   .
 O   O   O   .   +   +   +
   O   O   .   .   +   +
     O   .   .   .   +
   .   .   .   .   .   .
 .   .   X   X   X   .   .
           X   X
             X
"""


def gains() -> np.ndarray:
    """The rows each action advances, e(a) of Schulte 2021, section 4.2."""
    ends = [name.split("-")[:2] for name in NAMES[:PASS]]
    return np.array([ord(end[0]) - ord(start[0]) if end != "off" else 0 for start, end in ends] + [0])


def random_games(count: int, seed: int) -> tuple[State, np.ndarray]:
    """Whole games [B, T + 1] and their actions [B, T]: a third at random, a third leaning forward 4:2:1 as Schulte's
    Initialize agent, a third almost greedy.
    """
    rows = jnp.asarray(gains())
    leaning = [jnp.zeros(rows.shape), jnp.log(jnp.array([1.0, 2.0, 4.0]))[jnp.sign(rows) + 1], 1.5 * rows]
    weights = jnp.stack(leaning)[jnp.arange(count) % 3]

    def turn(state: State, key: jax.Array) -> tuple[State, tuple[State, jax.Array]]:
        action = jax.random.categorical(key, jnp.where(jax.vmap(GAME.legal)(state), weights, -jnp.inf))
        return jax.vmap(GAME.step)(state, action), (state, action)

    @jax.jit
    def play(key: jax.Array) -> tuple[State, jax.Array]:
        start = jax.vmap(GAME.init)(jax.random.split(key, count))
        last, (states, actions) = jax.lax.scan(turn, start, jax.random.split(key, GAME.max_moves))
        states = jax.tree.map(lambda path, end: jnp.concatenate([path, end[None]]).swapaxes(0, 1), states, last)
        return states, actions.swapaxes(0, 1)

    states, actions = jax.device_get(play(jax.random.key(seed)))
    return states, actions


def names_by_seat() -> list[list[str]]:
    states = [GAME.read(START, moves=seat) for seat in range(3)]
    return [[GAME.move_name(action, state) for action in range(GAME.num_actions)] for state in states]


def play(state: State, *moves: str) -> State:
    for move in moves:
        state = GAME.step(state, jnp.int32(GAME.parse_move(move, state)))
    return state


def masks(states: State) -> np.ndarray:
    """bool[..., A]: the legal actions of many states."""
    return np.unpackbits(np.asarray(states.legal), axis=-1, count=GAME.num_actions).astype(bool)


def legal(state: State) -> set[str]:
    return {GAME.move_name(action, state) for action in np.flatnonzero(GAME.legal(state))}


@pytest.mark.parametrize(("count", "least"), [(300, 3), pytest.param(2_000, 20, marks=pytest.mark.long)])
def test_random_games_agree_with_the_reference(count: int, least: int) -> None:
    names = names_by_seat()
    states, actions = random_games(count, seed=3)
    allowed, endings = masks(states), {}
    for game in range(len(actions)):
        slow = reference.Reference()
        open_moves = np.split(*_by_position(allowed[game]))
        for moves in range(GAME.max_moves + 1):
            seat = moves % 3
            spoken = names[seat]
            assert {spoken[action] for action in open_moves[moves].tolist()} == slow.legal()
            assert states.settled[game, moves].tolist() == list(slow.points.values())
            assert states.moves[game, moves] == slow.moves
            if slow.over:
                break
            assert slow.player == seat + 1
            slow.play(spoken[actions[game, moves]])
        assert not allowed[game, moves:].any()
        assert (states.settled[game, moves:] == states.settled[game, moves]).all()
        ending = tuple(sorted(slow.points.values(), reverse=True)), slow.moves < GAME.max_moves
        endings[ending] = endings.get(ending, 0) + 1
    # The games include second places, first places at the move limit, and games without a place.
    assert min(endings[(3, 1, 0), True], endings[(3, 0, 0), False], endings[(0, 0, 0), False]) >= least, endings


def _by_position(mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The actions that are set in a mask [T, A] and where each position's begin."""
    positions, found = np.nonzero(mask)
    return found, np.searchsorted(positions, np.arange(1, len(mask)))


def random_boards(count: int) -> np.ndarray:
    """[count, F] random boards, more crowded and mixed than those of games."""
    rng = np.random.default_rng(0)
    seats = rng.integers(0, 3, (count, GAME.fields))
    open_to = np.array([[field in reference.ACCESSIBLE[seat + 1] for seat in range(3)] for field in reference.BOARD])
    taken = np.take_along_axis(open_to, seats.T, axis=1).T & (rng.random(seats.shape) < rng.random((count, 1)))
    return np.where(taken, seats, -1).astype(np.int32)


def test_random_boards_agree_with_the_reference() -> None:
    boards, names = random_boards(6_000), names_by_seat()
    states = jax.jit(jax.vmap(GAME.arrange))(boards, jnp.arange(len(boards), dtype=jnp.int32) % 3)
    passes = 0
    for board, moves, settled, mask in zip(*map(np.asarray, states[:3]), masks(states), strict=True):
        slow = reference.Reference()
        slow.moves = int(moves)
        slow.board = dict(zip(reference.BOARD, (board + 1).tolist(), strict=True))
        slow.award()
        assert {names[moves][action] for action in np.flatnonzero(mask)} == slow.legal()
        assert settled.tolist() == list(slow.points.values())
        passes += bool(mask[PASS])
    assert passes > 100


def test_the_mover_sees_the_board_turned() -> None:
    states, actions = random_games(30, seed=5)
    seen = np.asarray(jax.jit(jax.vmap(jax.vmap(GAME.observe)))(states))
    names = names_by_seat()
    for game in range(len(actions)):
        slow = reference.Reference()
        for moves in range(GAME.max_moves):
            pieces, fields, end = np.split(seen[game, moves], [3, 4], axis=-1)
            array = np.where(fields[..., 0] == 0, 4, np.where(pieces.any(axis=-1), pieces.argmax(axis=-1) + 1, 0))
            assert array.tolist() == slow.rotated()
            assert {tuple(cell) for cell in np.argwhere(end[..., 0]).tolist()} == reference.ENDS[1]
            if slow.over:
                break
            slow.play(names[moves % 3][actions[game, moves]])


def dead_actions() -> dict[str, set[str]]:
    """The moves the thesis (section 2.2) says are illegal in every board state, by its reasons, for player one."""
    own, end, grid = sorted(reference.ACCESSIBLE[1]), reference.ENDS[1], lambda field: (field[0] % 2, field[1] % 2)
    steps = {
        (field, way): reference.beyond(field, step, 1) for field in own for way, step in reference.DIRECTIONS.items()
    }
    ladders = [(a, b) for a in own for b in own if grid(a) == grid(b)]
    spoken = {
        (field, way): f"{reference.NAMES[field]}-{reference.NAMES.get(to, 'off-' + way.replace(' ', '-'))}"
        for (field, way), to in steps.items()
    }
    assert len(steps) + len(ladders) + 1 == 150 + 169 + 1 == GAME.num_actions
    return {
        "off the board": {spoken[step] for step, to in steps.items() if to not in reference.BOARD},
        "into others' zones": {
            spoken[s] for s, to in steps.items() if to in reference.BOARD.keys() - reference.ACCESSIBLE[1]
        },
        "to the same field": {f"{reference.NAMES[a]}-{reference.NAMES[b]}" for a, b in ladders if a == b},
        "steps out of the end zone": {
            spoken[step] for step, to in steps.items() if step[0] in end and to in reference.BOARD.keys() - end
        },
        "ladders out of the end zone": {
            f"{reference.NAMES[a]}-{reference.NAMES[b]}" for a, b in ladders if a in end and b not in end
        },
    }


def test_a_hundred_actions_are_never_legal_and_all_others_are() -> None:
    reasons = dead_actions()
    assert [len(moves) for moves in reasons.values()] == [22, 16, 25, 8, 31]  # the thesis's terms: 102 in all
    dead = set().union(*reasons.values())
    assert reasons["into others' zones"] & reasons["steps out of the end zone"] == {"g3-g2", "g5-g6"}  # counted twice
    assert len(dead) == 100

    boards = [position_allowing(name) for name in sorted(set(NAMES) - dead - {"pass"})]
    legal_on = jax.jit(jax.vmap(lambda board: GAME.legal(GAME.arrange(board, jnp.int32(0)))))
    opened = legal_on(jnp.array(boards))
    for name, mask in zip(sorted(set(NAMES) - dead - {"pass"}), np.asarray(opened), strict=True):
        assert mask[NAMES.index(name)], name
    assert bool(GAME.legal(GAME.read("." * GAME.fields))[PASS])

    boards = jnp.asarray(random_boards(20_000))
    ever = np.asarray(legal_on(boards)).any(axis=0)
    assert {NAMES[action] for action in np.flatnonzero(~ever)} >= dead


def position_allowing(name: str) -> list[int]:
    """A board on which seat 0 can play the move: one piece and, for a ladder, seat 1's pieces to jump over."""
    origin, target = (reference.FIELD_OF_NAME[field] for field in name.split("-"))
    over, queue = {origin: []}, [origin]
    while queue and reference.distance(origin, target) > 1:
        field = queue.pop(0)
        for jumped, landing in reference.JUMPS[1, field]:
            if landing not in over:
                over[landing] = [*over[field], jumped]
                queue.append(landing)
    return [0 if field == origin else 1 if field in over.get(target, ()) else -1 for field in reference.BOARD]


def test_steps_and_ladders_never_share_a_name() -> None:
    assert len(set(NAMES)) == GAME.num_actions
    assert [GAME.parse_move(name) for name in NAMES] == list(range(GAME.num_actions))


def put(red: str, yellow: str = "", green: str = "", *, moves: int = 0) -> State:
    """The position with Schulte's red, yellow and green pieces (seats 0, 1 and 2) on the named fields."""
    seats = {name: seat for seat, names in enumerate((red, yellow, green)) for name in names.split()}
    return GAME.arrange(jnp.array([seats.get(name, -1) for name in reference.NAMES.values()]), jnp.int32(moves))


# Red fills its end zone by f3-g4. Yellow's end zone (lower right) and green's (lower left) are full, each with one
# piece of the other in it.
LAST_STEP = {"red": "i1 h1 h2 g3 g5 f3", "yellow": "c7 c6 d6 d5 e5 d2", "green": "c1 c2 d1 c3 e1 c5"}


def test_triple_win() -> None:
    state = put(**LAST_STEP, moves=60)
    assert not GAME.over(state) and GAME.scores(state).tolist() == [0, 0, 0]  # full zones alone win nothing
    state = play(state, "f3-g4")
    assert GAME.over(state) and GAME.scores(state).tolist() == [3, 1, 1]
    assert not state.legal.any()


def test_second_place_can_be_taken_at_once() -> None:
    state = play(put(**{**LAST_STEP, "green": "c1 c2 d1 c3 e2 c5"}, moves=60), "f3-g4")
    assert GAME.over(state) and GAME.scores(state).tolist() == [3, 1, 0]


def test_second_place_goes_to_a_zone_full_of_any_pieces() -> None:
    state = play(put(**{**LAST_STEP, "yellow": "c7 c6 d6 d4 e5 d3"}, moves=60), "f3-g4")
    assert not GAME.over(state) and GAME.scores(state).tolist() == [3, 0, 0]
    assert legal(play(state, "d4-e4", "c5-c4")) == {"pass"}  # the winner waits
    state = play(state, "d3-d2")  # yellow's move completes green's zone
    assert GAME.over(state) and GAME.scores(state).tolist() == [3, 0, 1]


def test_a_blocked_seat_passes() -> None:
    home = "a1 b1 b2 c3 c4 c5"
    state = put(home, "g1 d2 d3 e1 e2 e3", "g7 g6 d4 d5 e4 e5")
    assert legal(state) == {"pass"}
    after = play(state, "pass")
    assert (after.board == state.board).all() and GAME.mover(after) == 1
    assert "pass" not in legal(after)
    assert legal(put(home, "g1 d2 d3 e1 e2 f1", "g7 g6 d4 d5 e4 e5")) == {"c3-e3", "c5-e3"}  # e3 is free


def test_the_game_stops_after_forty_moves_each() -> None:
    state = play(GAME.read(START, moves=118), "f2-f3")
    assert not GAME.over(state) and GAME.mover(state) == 2
    state = play(state, "f5-f4")
    assert GAME.over(state) and GAME.scores(state).tolist() == [0, 0, 0]
    assert not state.legal.any()


def test_scores_at_the_stop_are_kept() -> None:
    state = put("i1 h1 h2 g3 g4 g5", "c7 c6 d6 d4 e5 d3", "c1 c2 d1 c3 e1 c5", moves=119)
    assert not GAME.over(state) and GAME.scores(state).tolist() == [3, 0, 0]
    state = play(state, "c5-c4")
    assert GAME.over(state) and GAME.scores(state).tolist() == [3, 0, 0]


def test_first_place_by_the_last_permitted_move_counts() -> None:
    state = put("a1 b1 b2 c4 c5 d3", "g1 g2 f1 f2 e3 d6", "c1 c2 c3 d1 d2 e2", moves=119)
    assert GAME.scores(state).tolist() == [0, 0, 0]
    state = play(state, "e2-e1")
    assert GAME.over(state) and GAME.scores(state).tolist() == [0, 0, 3]


def test_no_piece_leaves_its_end_zone() -> None:
    assert legal(put("g4", "g3 f3 f4")) == {"g4-g5", "g4-h1", "g4-h2"}  # no step down, and no jump over f3 or f4
    assert legal(put("e3", "f3 f2", "d3 d4")) == {"e3-e2", "e3-e4", "e3-f4", "e3-g3", "e3-c3", "e3-c5"}
    assert "e3-e1" in legal(put("e3", "f3 f2", "e2"))  # by the jump to the left, over e2


def test_no_piece_enters_the_others_zones() -> None:
    assert legal(put("d2")) == {"d2-d3", "d2-e1", "d2-e2", "d2-c3"}
    assert legal(put("c3", "", "c2 d1")) == {"c3-c4", "c3-b1", "c3-d2", "c3-d3"}  # no ladder over c1 to e1
    assert legal(put("c3", "", "c2 d1 d2")) == {"c3-c4", "c3-b1", "c3-e1", "c3-d3"}


def test_the_heuristic_is_the_greedy_agent() -> None:
    states, _ = random_games(60, seed=8)
    picked = jax.tree.map(lambda leaf: jnp.asarray(leaf[:, 7:40:11].reshape(-1, *leaf.shape[2:])), states)

    @jax.jit
    @jax.vmap
    def after_each(state: State) -> jax.Array:
        after = jax.vmap(lambda action: GAME.step(state, action))(jnp.arange(GAME.num_actions))
        return jax.vmap(GAME.heuristic)(after)[:, GAME.mover(state)]

    for mask, values in zip(masks(picked), np.asarray(after_each(picked)), strict=True):
        if mask.any() and not mask[PASS]:
            best, most = np.where(mask, values, -2), np.where(mask, gains(), -9)
            assert (np.isclose(best, best.max()) == (most == most.max())).all()


def test_the_heuristic_runs_from_start_to_end() -> None:
    assert GAME.heuristic(GAME.read(START)).tolist() == [-1, -1, -1]
    assert GAME.heuristic(play(put(**LAST_STEP), "f3-g4"))[0] == 1


def test_positions_leave_out_the_count_of_moves() -> None:
    words = [GAME.position(GAME.read(START, moves=moves)).tolist() for moves in (0, 3, 1, 120)]
    assert words[0] == words[1] and len({tuple(word) for word in words}) == 3
    assert GAME.position(put(**LAST_STEP)).tolist() != words[0]


def test_pictures() -> None:
    state = GAME.init(jax.random.key(0))
    assert (GAME.read(START).board == state.board).all()
    moved = play(state, "b2-d5", "g2-e2", "f6-f4")
    assert all((a == b).all() for a, b in zip(GAME.read(GAME.draw(moved), moves=3), moved, strict=True))
    assert ElementTree.fromstring(GAME.svg(moved)).tag.endswith("svg")
    with pytest.raises(GameError, match="37 fields, not 3"):
        GAME.read("X O .")


def test_bad_input() -> None:
    for text, message in (
        ("chinese-checkers:fields=61", "fields=37 or 121, not 61"),
        ("chinese-checkers:players=2", "players=2 with fields=37: .* 3 with fields=37; 2, 3, 4, 6 with fields=121"),
        ("chinese-checkers:fields=121,players=5", "players=5 with fields=121"),
        ("chinese-checkers:moves_each=0", "expected 1 to 100,000 moves"),
    ):
        with pytest.raises(GameError, match=message):
            games.make(text)
    with pytest.raises(IllegalMove, match="'c3-f4' is not legal here"):
        GAME.parse_move("c3-f4", GAME.init(jax.random.key(0)))


def test_ids_come_back() -> None:
    for text in ("chinese-checkers", "chinese-checkers:moves_each=12", "chinese-checkers:fields=121,players=6"):
        assert games.make(text).id == text
    assert games.make("chinese-checkers:fields=37,players=3,moves_each=40") == GAME
    assert games.make("chinese-checkers:moves_each=40").id == "chinese-checkers"
