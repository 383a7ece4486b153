"""`rules=people` on the star of 121 fields against a slow reference implementation, and positions set by hand."""

from __future__ import annotations

import random
from collections import Counter
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tabia import games
from tabia.games import GameError
from tabia.games.chinese_checkers import ChineseCheckers, State

from .people_reference import NAMES, SEATED, Field, Reference

TWO, THREE, FOUR, SIX = (ChineseCheckers(121, players, rules="people") for players in (2, 3, 4, 6))
TOP = "q1 p1 p2 o1 o2 o3 n1 n2 n3 n4"  # the end zone of seat 0
BOTTOM = "a1 b1 b2 c1 c2 c3 d1 d2 d3 d4"


@cache
def names_by_seat(game: ChineseCheckers) -> list[list[str]]:
    start = game.init(jax.random.key(0))
    turns = [start._replace(moves=jnp.int32(seat)) for seat in range(game.players)]
    return [[game.move_name(action, state) for action in range(game.num_actions)] for state in turns]


def height(reference: Reference, field: Field) -> float:
    """The rows a field lies above the mover's start corner, as the mover sees the board."""
    up, x = 8 - field[0], field[1]
    axes = (up, (up + x) / 2, (x - up) / 2)
    point = SEATED[reference.players][reference.seat]
    return 8 + (axes[point] if point < 3 else -axes[point - 3])


def choose(reference: Reference, moves: dict[str, tuple[Field, Field]], style: str, rng: random.Random) -> str:
    """The mover's choice: the most rows upwards, at random but leaning upwards, or the most rows with three kept home.

    Random games hardly ever end, and pieces kept at home are what the winning condition is about.
    """
    if "pass" in moves:
        return "pass"
    gains = {name: height(reference, target) - height(reference, origin) for name, (origin, target) in moves.items()}
    if style == "leaning":
        names = sorted(gains)
        return rng.choices(names, [8.0 ** gains[name] for name in names])[0]
    if style == "staying":
        gains = {name: gain - 50 * (height(reference, moves[name][0]) <= 1) for name, gain in gains.items()}
    gains = {name: gain + 50 * finishes(reference, *moves[name]) for name, gain in gains.items()}
    return rng.choice(sorted(name for name, gain in gains.items() if gain == max(gains.values())))


def finishes(reference: Reference, origin: Field, target: Field) -> bool:
    end = reference.ends[reference.seat]
    return target in end and origin not in end and all(field in reference.board or field == target for field in end)


def compare(game: ChineseCheckers, count: int, seed: int) -> Counter[tuple[int, bool, bool]]:
    """Play `count` games beside the reference; for each the seats that finished, whether the limit ended it, whether a
    finished zone held others' pieces.
    """
    names = names_by_seat(game)
    step = jax.jit(jax.vmap(game.step))
    look = jax.jit(jax.vmap(lambda state: (game.legal(state), game.mover(state), game.over(state), game.scores(state))))
    references = [Reference(game.players, moves_each=game.max_moves // game.players) for _ in range(count)]
    styles, rng, mixed = ("greedy", "leaning", "staying"), random.Random(seed), [False] * count
    states = jax.vmap(game.init)(jax.random.split(jax.random.key(0), count))
    while not all(reference.over for reference in references):
        legal, movers, over, scores = map(np.asarray, look(states))
        actions = np.zeros(count, np.int32)
        for number, reference in enumerate(references):
            assert over[number] == reference.over
            assert scores[number].tolist() == reference.scores
            assert not over[number] or not legal[number].any()
            if not over[number]:
                assert movers[number] == reference.seat
                spoken, moves = names[reference.seat], reference.legal()
                assert {spoken[action] for action in np.flatnonzero(legal[number])} == moves.keys()
                move = choose(reference, moves, styles[number % 3], rng)
                actions[number] = spoken.index(move)
                reference.play(move)
                mixed[number] |= holds_others(reference)
        after = step(states, actions)
        for new, old in zip(jax.tree.leaves(after), jax.tree.leaves(states), strict=True):
            assert (np.asarray(new)[over] == np.asarray(old)[over]).all()  # nothing follows the end
        states = after
    _, _, over, scores = map(np.asarray, look(states))
    assert over.all() and scores.tolist() == [reference.scores for reference in references]
    return Counter(
        (len(reference.finished), len(reference.playing) > 1, was_mixed)
        for reference, was_mixed in zip(references, mixed, strict=True)
    )


def holds_others(reference: Reference) -> bool:
    """Whether the last seat to finish has pieces of other seats in its end zone."""
    zone = reference.ends[reference.finished[-1]] if reference.finished else ()
    return any(reference.board.get(field, reference.finished[-1]) != reference.finished[-1] for field in zone)


@pytest.mark.parametrize(
    ("players", "moves_each"),
    [(2, 64), (3, 110), *(pytest.param(*case, marks=pytest.mark.long) for case in ((4, 64), (6, 36)))],
)
def test_games_agree_with_the_reference(players: int, moves_each: int) -> None:
    endings = compare(ChineseCheckers(121, players, moves_each=moves_each, rules="people"), 12, seed=players)
    assert any(not limit for _, limit, _ in endings), endings  # games were decided,
    assert any(limit for _, limit, _ in endings), endings  # games were stopped by the limit,
    assert any(mixed for _, _, mixed in endings) or players == 3, endings  # and seats finished with others' pieces


@pytest.mark.long
@pytest.mark.parametrize("players", [2, 3, 4, 6])
def test_2000_games_agree_with_the_reference(players: int) -> None:
    game = ChineseCheckers(121, players, moves_each=140, rules="people")
    endings = sum((compare(game, 100, seed=seed) for seed in range(5)), Counter())
    assert sum(endings.values()) == 500
    assert sum(count for (finished, _, _), count in endings.items() if finished == players - 1) >= 100, endings


def greedy_games(players: int, count: int) -> tuple[int, int, float]:
    """Of `count` Greedy games, how many had all places decided, how many the first, after how many moves per seat."""
    decided, first_moves = 0, []
    for number in range(count):
        rng, reference, turns, first = random.Random(number), Reference(players), 0, 0
        while not reference.over:
            moves = reference.legal()
            reference.play(rng.choice(sorted(moves)) if turns < 4 else choose(reference, moves, "greedy", rng))
            turns += 1
            first = first or (turns if reference.finished else 0)
        decided += len(reference.playing) == 1
        first_moves += [first / players] if first else []
    return decided, len(first_moves), sum(first_moves) / len(first_moves)


@pytest.mark.long
@pytest.mark.parametrize("players", [2, 3, 4, 6])
def test_greedy_games_are_decided(players: int) -> None:
    decided, first, _ = greedy_games(players, 100)
    assert decided >= 85 and first >= 95


def put(game: ChineseCheckers, *pieces: str, moves: int = 0) -> State:
    """The position with the seats' pieces on the named fields."""
    seats = {name: seat for seat, names in enumerate(pieces) for name in names.split()}
    return game.arrange(jnp.array([seats.get(name, -1) for name in NAMES.values()]), jnp.int32(moves))


def play(game: ChineseCheckers, state: State, *moves: str) -> State:
    for move in moves:
        state = game.step(state, jnp.int32(game.parse_move(move, state)))
    return state


def legal(game: ChineseCheckers, state: State) -> set[str]:
    return {game.move_name(action, state) for action in np.flatnonzero(game.legal(state))}


def result(game: ChineseCheckers, state: State) -> tuple[bool, list[float]]:
    return bool(game.over(state)), game.scores(state).tolist()


# Two seats. Seat 0 needs one more piece in its end zone, whose tip q1 is held by a piece of seat 1 that stays home.
BLOCKED = ("p1 p2 o1 o2 o3 n2 n3 n4 m5 j1", "q1 i1 i2 i3 i4 i5 i6 i7 i8 i9")


def test_a_piece_kept_at_home_does_not_force_a_draw() -> None:
    before = put(TWO, *BLOCKED)
    assert result(TWO, before) == (False, [0, 0])
    assert result(TWO, play(TWO, before, "m5-n1")) == (True, [1, -1])
    default = ChineseCheckers(121, 2)
    assert result(default, play(default, put(default, *BLOCKED), "m5-n1")) == (False, [0, 0])


def test_a_full_end_zone_without_an_own_piece_wins_nothing() -> None:
    start = TWO.init(jax.random.key(0))  # both zones are full of the other's pieces
    assert result(TWO, start) == (False, [0, 0])
    assert result(TWO, play(TWO, start, "d1-e5")) == (False, [0, 0])


def test_a_seat_wins_with_a_zone_full_of_any_pieces() -> None:
    own, other = "p1 p2 o1 o2 o3 n2 n3 n4 j2 j1", "q1 m5 i2 i3 i4 i5 i6 i7 i8 i9"
    assert result(TWO, play(TWO, put(TWO, own, other, moves=1), "m5-n1")) == (True, [1, -1])


def test_no_piece_leaves_its_end_zone() -> None:
    assert legal(TWO, put(TWO, "n1")) == {"n1-n2", "n1-o1"}
    assert legal(TWO, put(TWO, "", "n1", moves=1)) == {"n1-n2", "n1-o1", "n1-m5", "n1-m6"}  # not its end zone
    assert legal(TWO, put(TWO, "", "d1", moves=1)) == {"d1-d2", "d1-c1"}
    default = ChineseCheckers(121, 2)
    assert legal(default, put(default, "n1")) == {"n1-n2", "n1-o1", "n1-m5", "n1-m6"}


def test_no_chain_of_jumps_leads_through_the_end_zone() -> None:
    ways = {name for name in legal(TWO, put(TWO, "l4", "m5 m6")) if name in ("l4-n1", "l4-l6")}
    assert ways == {"l4-n1"}  # from n1 it could jump over m6 to l6
    default = ChineseCheckers(121, 2)
    assert {"l4-n1", "l4-l6"} <= legal(default, put(default, "l4", "m5 m6"))


def test_a_blocked_seat_passes() -> None:
    state = put(TWO, "a1", "b1 b2 c1 c3")
    assert legal(TWO, state) == {"pass"}
    assert TWO.mover(play(TWO, state, "pass")) == 1


def test_a_win_on_the_last_permitted_move_is_a_win() -> None:
    row = "i1 i2 i3 i4 i5 i6 i7 i8 i9"
    nearly = BOTTOM.replace("d1", "e5")
    for game in (TWO, ChineseCheckers(121, 2)):  # all ten at home: a win under both rules
        last = put(game, f"j1 {row}", nearly, moves=game.max_moves - 1)
        assert result(game, play(game, last, "e5-d1")) == (True, [-1, 1])
    last = put(TWO, f"a1 {row}", nearly.replace("a1", "h1"), moves=TWO.max_moves - 1)
    assert result(TWO, play(TWO, last, "e5-d1")) == (True, [-1, 1])
    assert result(TWO, play(TWO, last, "e5-e4")) == (True, [0, 0])  # the move limit is a draw


# Three seats, as on 37 fields: seat 0 runs to the top, seat 1 to the lower right, seat 2 to the lower left.
LOWER_RIGHT = "e13 e12 e11 e10 f12 f11 f10 g11 g10 h10"
LOWER_LEFT = "e1 e2 e3 e4 f1 f2 f3 g1 g2 h1"
NEARLY = (
    TOP.replace("n1", "m5"),
    LOWER_RIGHT.replace("h10", "i9"),
    LOWER_LEFT.replace("h1", "j5"),
)


def test_play_continues_for_places() -> None:
    state = play(THREE, put(THREE, *NEARLY, moves=3), "m5-n1")
    assert result(THREE, state) == (False, [3, 0, 0])
    assert THREE.mover(state) == 1
    state = play(THREE, state, "i9-i8", "j5-i5")
    assert THREE.mover(state) == 1 and int(state.moves) == 7  # seat 0 has finished: its turn, move 6, is passed over
    state = play(THREE, state, "i8-i9", "i5-i4")
    assert result(THREE, state) == (False, [3, 0, 0])
    state = play(THREE, state, "i9-h10")
    assert result(THREE, state) == (True, [3, 1, 0])
    assert not legal(THREE, state)


def test_the_limit_leaves_the_others_without_a_score() -> None:
    state = play(THREE, put(THREE, *NEARLY, moves=THREE.max_moves - 3), "m5-n1", "i9-i8", "j5-i5")
    assert result(THREE, state) == (True, [3, 0, 0])
    state = play(THREE, put(THREE, *NEARLY, moves=THREE.max_moves - 2), "i9-i8")
    assert result(THREE, play(THREE, state, "j5-i5")) == (True, [0, 0, 0])
    # The seat with the last turn has finished: nobody else has a move left.
    last = put(THREE, NEARLY[0], NEARLY[1], LOWER_LEFT, moves=THREE.max_moves - 2)
    assert result(THREE, last) == (False, [0, 0, 3])
    assert result(THREE, play(THREE, last, "i9-h10")) == (True, [0, 1, 3])
    assert result(THREE, play(THREE, last, "i9-i8")) == (True, [0, 0, 3])


def test_a_place_is_kept_when_others_leave_the_zone() -> None:
    own = TOP.replace("n1", "i5").replace("n2", "i6")
    state = put(THREE, own.replace("n3", "m8"), "n1 n2 " + LOWER_RIGHT[:-8], NEARLY[2], moves=3)
    state = play(THREE, state, "m8-n3")
    assert result(THREE, state) == (False, [3, 0, 0])
    state = play(THREE, state, "n1-m5")
    assert result(THREE, state) == (False, [3, 0, 0])
    never = THREE.arrange(state.board.astype(jnp.int32), state.moves)
    assert result(THREE, never) == (False, [0, 0, 0])  # the same pieces, without the place
    assert THREE.position(state).tolist() != THREE.position(never).tolist()


def test_every_place_scores_the_sum_of_the_seats_behind() -> None:
    assert [THREE.score_range, FOUR.score_range, SIX.score_range] == [(0, 3), (0, 6), (0, 15)]
    assert TWO.score_range == (-1, 1)
    place = [game._rules.prizes.tolist() for game in (THREE, FOUR, SIX)]
    assert place == [[3, 1, 0], [6, 3, 1, 0], [15, 10, 6, 3, 1, 0]]


def test_observations_show_who_has_finished() -> None:
    state = play(THREE, put(THREE, *NEARLY, moves=3), "m5-n1")
    planes = np.asarray(THREE.observe(state))[..., -3:]
    on_board = np.asarray(THREE.observe(state))[..., 3] == 1
    assert planes[on_board].tolist() == [[0, 0, 1]] * 121 and not planes[~on_board].any()  # seat 1, seat 2, seat 0
    assert TWO.observation_shape == ChineseCheckers(121, 2).observation_shape


def test_finishing_is_the_best_the_heuristic_knows() -> None:
    after = play(TWO, put(TWO, *BLOCKED), "m5-n1")
    assert TWO.heuristic(after)[0] == 1
    assert (TWO.heuristic(put(TWO, *BLOCKED)) < 1).all()


def test_ids_and_bad_input() -> None:
    for text in ("chinese-checkers:fields=121,rules=people", "chinese-checkers:fields=121,players=6,rules=people"):
        assert games.make(text).id == text
    assert games.make("chinese-checkers:fields=121,players=2,rules=people") == TWO != ChineseCheckers(121, 2)
    for text, message in (
        ("chinese-checkers:fields=121,rules=house", "rules=house: expected rules=people, or no rules for the default"),
        ("chinese-checkers:rules=people", "rules=people with fields=37: .* fields=121"),
    ):
        with pytest.raises(GameError, match=message):
            games.make(text)
