"""Checkers: published counts, OpenSpiel, and positions set up by hand."""

from xml.etree import ElementTree

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tabia import games
from tabia.games import GameError, IllegalMove
from tabia.games.checkers import Checkers, State, half_turn, open_moves
from tabia.games.session import Session

GAME = Checkers()
step = jax.jit(GAME.step)

PERFT = (7, 49, 302, 1_469, 7_361, 36_768, 179_740)  # a whole capture is one move


def set_up(black, red, seat=0):
    """A position from texts like "11 K3": the squares of each side, K for its kings."""

    def words(text):
        squares = [(piece.startswith("K"), 1 << int(piece.removeprefix("K")) - 1) for piece in text.split()]
        return sum(bit for _, bit in squares), sum(bit for crowned, bit in squares if crowned)

    (own, own_kings), (other, other_kings) = words(black), words(red)
    own, other, kings = jnp.uint32(own), jnp.uint32(other), jnp.uint32(own_kings | other_kings)
    if seat == 1:
        own, other, kings = half_turn(other), half_turn(own), half_turn(kings)
    zero = jnp.int32(0)
    return State(own, other, kings, jnp.uint32(0), open_moves(own, other, kings), jnp.int32(seat), zero, zero)


def legal_names(state):
    return {GAME.move_name(int(action), state) for action in np.flatnonzero(GAME.legal(state))}


def play(state, text):
    for word in text.split():
        state = step(state, jnp.int32(GAME.parse_move(word, state)))
    return state


def same(one, two):
    return all(np.array_equal(a, b) for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True))


# Against the outside world.


def test_perft_is_the_published_one():
    game, chunk = Checkers(), 8192  # one shape, one compilation
    step, legal = jax.jit(jax.vmap(game.step)), jax.jit(jax.vmap(game.legal))

    def in_chunks(function, *columns):
        """A batched function over any number of rows, a chunk at a time."""
        parts, size = [], len(jax.tree.leaves(columns)[0])
        for start in range(0, size, chunk):
            rows = np.minimum(np.arange(start, start + chunk), size - 1)
            parts.append(jax.tree.map(np.asarray, function(*jax.tree.map(lambda leaf, rows=rows: leaf[rows], columns))))
        return jax.tree.map(lambda *pieces: np.concatenate(pieces)[:size], *parts)

    def next_level(states):
        """All positions one whole move on, with repetition."""
        finished = []
        while len(states.seat):
            parents, actions = np.nonzero(in_chunks(legal, states))
            parents_states = jax.tree.map(lambda leaf, parents=parents: leaf[parents], states)
            children = in_chunks(step, parents_states, actions.astype(np.int32))
            jumping = children.jumper != 0
            finished.append(jax.tree.map(lambda leaf, done=~jumping: leaf[done], children))
            states = jax.tree.map(lambda leaf, jumping=jumping: leaf[jumping], children)
        return jax.tree.map(lambda *pieces: np.concatenate(pieces), *finished)

    states = jax.tree.map(lambda leaf: np.asarray(leaf)[None], game.init(jax.random.key(0)))
    counts = []
    for _ in PERFT:
        states = next_level(states)
        counts.append(len(states.seat))
    assert tuple(counts) == PERFT


class SpielCheckers(Checkers):
    """Checkers with OpenSpiel's draw: forty actions without a capture, of men too."""

    def progress(self, jumped, man):
        return jumped


def record(game, count, seed, *, stretch=64):
    """Whole random games, [T, B, ...]: board, legal, mover, over and scores before each action, and the action."""

    def move(states, key):
        legal = jax.vmap(game.legal)(states)
        actions = jax.random.categorical(key, jnp.where(legal, 0.0, -jnp.inf)).astype(jnp.int32)
        seen = jax.vmap(lambda state: game.observe(state, jnp.int32(0)))(states)
        board = (seen[..., :4] @ jnp.arange(1.0, 5.0)).astype(jnp.int8)  # as seat 0 sees it
        mover, over, scores = (jax.vmap(ask)(states) for ask in (game.mover, game.over, game.scores))
        return jax.vmap(game.step)(states, actions), (board, legal, mover, over, scores, actions)

    run = jax.jit(lambda states, keys: jax.lax.scan(move, states, keys))
    keys = jax.random.split(jax.random.key(seed), game.max_moves + stretch)
    states = jax.vmap(game.init)(jax.random.split(keys[0], count))
    parts = []
    while not parts or not parts[-1][3][-1].all():
        states, part = run(states, keys[len(parts) * stretch :][:stretch])
        parts.append([np.asarray(column) for column in part])
    return [np.concatenate(columns) for columns in zip(*parts, strict=True)]


def spiel_tables():
    """[seat, action]: OpenSpiel's action if it is a step (a jump is one more), and the cell next to its origin.

    In OpenSpiel's picture the first mover's men begin at the bottom: seat 0's view turned by half, seat 1's as it is.
    """
    directions = [(-1, -1), (-1, 1), (1, 1), (1, -1)]  # OpenSpiel's; ours are below
    numbers, beside = np.full((2, 128), -1), np.full((2, 128), -1)
    for seat in (0, 1):
        for action in range(128):
            (row, place), (down, right) = divmod(action // 4, 4), [(1, -1), (1, 1), (-1, -1), (-1, 1)][action % 4]
            column = 2 * place + (row % 2 == 0)
            if seat == 0:
                row, column, down, right = 7 - row, 7 - column, -down, -right
            numbers[seat, action] = ((row * 8 + column) * 4 + directions.index((down, right))) * 2
            if 0 <= row + down < 8 and 0 <= column + right < 8:
                beside[seat, action] = (row + down) * 8 + column + right
    return numbers, beside


@pytest.mark.parametrize("count", [200, pytest.param(2000, marks=pytest.mark.long)])
def test_agrees_with_openspiel_over_many_games(count):
    pyspiel = pytest.importorskip("pyspiel")
    oracle = pyspiel.load_game("checkers")
    boards, legals, movers, overs, scores, actions = record(SpielCheckers(no_progress=40, limit=1000), count, seed=3)
    numbers, beside = spiel_tables()
    marks = np.frombuffer(b".o8+*", np.uint8)  # empty, seat 0's men and kings, seat 1's
    results, again = set(), 0
    for b in range(count):
        state = oracle.new_initial_state()
        for t in range(len(actions)):
            board = boards[t, b].reshape(-1)[::-1]
            picture = np.frombuffer(str(state).encode()[:80], np.uint8).reshape(8, 10)[:, 1:9].reshape(-1)
            assert (marks[board] == picture).all()
            assert state.is_terminal() == overs[t, b]
            assert state.returns() == scores[t, b].tolist()
            if overs[t, b]:
                break
            seat = movers[t, b]
            assert state.current_player() == seat
            theirs = numbers[seat] + (board[beside[seat]] != 0)  # each of our actions in OpenSpiel's numbers
            assert (beside[seat, legals[t, b]] >= 0).all()
            assert np.sort(theirs[legals[t, b]]).tolist() == state.legal_actions()
            state.apply_action(int(theirs[actions[t, b]]))
            again += state.current_player() == seat
        assert overs[t, b]
        results.add(scores[t, b, 0].item())
    assert results == {-1.0, 0.0, 1.0}  # wins of both and draws were all compared,
    assert again > 0  # and multiple jumps


# Positions set up by hand.


def test_the_start_has_seven_moves_and_black_begins():
    start = GAME.init(jax.random.key(0))
    assert legal_names(start) == {"9-13", "9-14", "10-14", "10-15", "11-15", "11-16", "12-16"}
    assert legal_names(play(start, "11-15")) == {
        "21-17",
        "22-17",
        "22-18",
        "23-18",
        "23-19",
        "24-19",
        "24-20",
    }
    assert GAME.draw(start).splitlines()[2:6] == [
        " 9-12   b   b   b   b",
        "13-16 .   .   .   .",
        "17-20   .   .   .   .",
        "21-24 r   r   r   r",
    ]


def test_a_capture_is_forced():
    assert legal_names(set_up("11 1", "15 32")) == {"11x18"}
    assert legal_names(set_up("11 1", "15 32 18")) == {"11-16", "1-5", "1-6"}  # nowhere to land
    assert legal_names(set_up("18 1", "15 22", seat=1)) == {"15-10", "15-11", "22-17"}
    assert legal_names(set_up("18 1", "22 32", seat=1)) == {"22x15"}


def test_any_sequence_may_be_chosen_and_only_the_jumper_goes_on():
    state = set_up("1 12", "6 14 15 16 32")
    assert legal_names(state) == {"1x10", "12x19"}  # one leads to two captures, the other to one
    middle = play(state, "1x10")
    assert int(GAME.mover(middle)) == 0
    assert legal_names(middle) == {"10x17", "10x19"}  # not 12x19
    assert GAME.observe(middle)[2, 3, 4] == 1  # square 10 must go on
    done = play(middle, "10x17")
    assert int(GAME.mover(done)) == 1
    assert int(done.jumper) == 0


def test_a_man_crowned_in_mid_capture_stops():
    state = play(set_up("22", "26 27 1"), "22x31")
    assert int(GAME.mover(state)) == 1  # as a king it could take 27, but not in this move
    waiting = play(state, "27-23")
    assert legal_names(waiting) == {"31-26", "31-27"}
    assert GAME.draw(waiting).splitlines()[7] == "29-32 .   .   B   ."
    assert [text.text for text in ElementTree.fromstring(GAME.svg(waiting)).findall("{*}text")].count("K") == 1


def test_a_king_jumps_on_in_every_direction():
    state = play(set_up("K1", "6 7 15 14 32"), "1x10")
    assert legal_names(state) == {"10x3", "10x17", "10x19"}
    state = play(state, "10x19")
    assert int(GAME.mover(state)) == 1
    assert legal_names(set_up("14", "K17", seat=1)) == {"17x10"}
    assert legal_names(set_up("21", "K17", seat=1)) == {"17-13", "17-14", "17-22"}
    assert legal_names(set_up("22", "K17", seat=1)) == {"17x26"}


def test_a_king_may_come_back_to_where_it_began():
    nearly = play(set_up("K10", "7 8 15 16 32"), "10x3 3x12 12x19")
    assert legal_names(nearly) == {"19x10"}
    assert int(GAME.mover(play(nearly, "19x10"))) == 1


@pytest.mark.parametrize(
    ("black", "red", "mover", "shuts_in", "loser"),
    [("12", "19 20", 1, "20-16", 0), ("13 14", "21", 0, "13-17", 1)],
)
def test_a_seat_that_cannot_move_loses(black, red, mover, shuts_in, loser):
    blocked = play(set_up(black, red, mover), shuts_in)
    assert GAME.over(blocked)
    assert int(GAME.mover(blocked)) == loser
    assert GAME.scores(blocked).tolist() == ([-1.0, 1.0] if loser == 0 else [1.0, -1.0])
    assert not GAME.legal(blocked).any()
    assert same(step(blocked, jnp.int32(5)), blocked)


def test_taking_the_last_piece_wins():
    end = play(set_up("11", "15"), "11x18")
    assert GAME.over(end)
    assert GAME.scores(end).tolist() == [1.0, -1.0]


def test_eighty_idle_actions_are_a_draw():
    almost = play(set_up("K1 5", "K32"), " ".join(["1-6 32-27 6-1 27-32"] * 20).removesuffix(" 27-32"))
    assert not GAME.over(almost)
    drawn = play(almost, "27-32")
    assert GAME.over(drawn)
    assert GAME.scores(drawn).tolist() == [0.0, 0.0]
    assert not GAME.legal(drawn).any()


def test_a_move_of_a_man_resets_the_count():
    shuffle = " ".join(["1-6 32-27 6-1 27-32"] * 19)
    state = play(set_up("K1 5", "K32"), f"{shuffle} 5-9 32-27 1-6 27-32 6-1 32-27")
    assert not GAME.over(state)
    assert GAME.observe(state)[0, 0, 5] == np.float32(5 / 80)


def test_the_limit_is_a_draw():
    game = games.make("checkers:limit=3")
    *_, before, state = Session.from_moves(game, "11-15 23-19 8-11").states
    assert not game.over(before)
    assert game.over(state)
    assert game.scores(state).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("black", "red", "mover", "move", "scores"),
    [
        ("11", "15", 0, "11x18", [1.0, -1.0]),  # takes the last piece
        ("12", "19 K20", 1, "20-16", [-1.0, 1.0]),  # shuts the last piece in
        ("13 K14", "21", 0, "13-17", [1.0, -1.0]),
        ("1", "6 15 32", 0, "1x10", [0.0, 0.0]),  # the capture could go on
        ("K1", "K32", 0, "1-6", [0.0, 0.0]),
    ],
)
def test_a_win_by_the_last_permitted_action_is_a_win(black, red, mover, move, scores):
    end = play(set_up(black, red, mover)._replace(plies=jnp.int32(GAME.limit - 1)), move)
    assert GAME.over(end)
    assert GAME.scores(end).tolist() == scores
    assert not GAME.legal(end).any()
    assert same(step(end, jnp.int32(5)), end)


def test_a_win_by_the_eightieth_idle_action_is_a_win():
    almost = set_up("12", "19 K20", seat=1)._replace(idle=jnp.int32(GAME.no_progress - 1))
    assert GAME.scores(play(almost, "20-16")).tolist() == [-1.0, 1.0]
    assert GAME.scores(play(almost, "20-24")).tolist() == [0.0, 0.0]  # not shut in: drawn


def test_repetition_is_not_a_draw():
    state = set_up("K1 5", "K32")
    for _ in range(6):
        state = play(state, "1-6 32-27 6-1 27-32")
        assert not GAME.over(state)


# Names, views, bad input.


def test_names_round_trip():
    assert all(GAME.parse_move(GAME.move_name(a)) == a for a in range(128))
    text = "11-15 23-19 8-11 22-17 9-13 17-14 10x17 21x14 15-18"
    assert Session.replay(GAME, list(Session.from_moves(GAME, text).actions)).text == text
    with pytest.raises(IllegalMove, match="11-18"):
        GAME.parse_move("11-18", GAME.init(jax.random.key(0)))


def test_each_seat_sees_its_own_men_go_down():
    start = GAME.init(jax.random.key(0))
    np.testing.assert_array_equal(GAME.observe(start), GAME.observe(start, jnp.int32(1)))  # its own half turn
    state = play(start, "11-15")
    mine, theirs = np.asarray(GAME.observe(state)), np.asarray(GAME.observe(state, jnp.int32(0)))
    np.testing.assert_array_equal(theirs[..., [2, 3, 0, 1]], mine[::-1, ::-1, :4])
    assert theirs[3, 4, 0] == 1  # square 15 as black sees it
    assert mine[4, 3, 2] == 1  # and as red does


def test_material_is_the_heuristic():
    state = set_up("1 2 K10", "32 K31", seat=1)
    np.testing.assert_allclose(GAME.heuristic(state), [1 / 18, -1 / 18], rtol=1e-6)


@pytest.mark.parametrize("action", [0, 3, 45, 127])
def test_an_illegal_action_changes_nothing(action):
    start = GAME.init(jax.random.key(0))
    assert same(step(start, jnp.int32(action)), start)


@pytest.mark.parametrize("parameters", ["no_progress=0", "limit=0"])
def test_impossible_draws_say_what_is_allowed(parameters):
    with pytest.raises(GameError, match="1 to 100,000"):
        games.make(f"checkers:{parameters}")
