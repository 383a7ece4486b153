"""Measuring ladders: the chain is the best there is, gaps are filled, and a measurement continues from its file."""

from __future__ import annotations

import itertools
import random
from itertools import pairwise
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tabia.cli.main import app
from tabia.evaluation import candidates, standings
from tabia.evaluation import ladder as measuring
from tabia.evaluation.ladder import Plan, chain, chosen, links, measure, rated
from tabia.evaluation.ratings import RatingError
from tabia.evaluation.records import Record
from tabia.games import make
from tabia.players import ladder
from tabia.players import make as make_player

TICTACTOE = make("tictactoe")
PLAN = Plan(TICTACTOE, ("random", "perfect"), games=40, rounds=4)


def test_the_chain_is_the_best_of_all_subsets() -> None:
    """By brute force over every subset that keeps both ends."""
    dice = random.Random(0)
    for _ in range(60):
        elo = [0.0, *sorted(dice.uniform(0, 1200) for _ in range(dice.randint(1, 8)))]
        inner = range(1, len(elo) - 1)
        subsets = [[0, *kept, len(elo) - 1] for n in range(len(inner) + 1) for kept in itertools.combinations(inner, n)]

        def cost(places: list[int], elo: list[float] = elo) -> float:
            return sum(measuring._cost(elo[b] - elo[a]) for a, b in pairwise(places))

        assert cost(chain(elo)) == pytest.approx(min(map(cost, subsets)))


def test_the_chain_keeps_steps_within_bounds_where_it_can() -> None:
    steps = [b - a for a, b in pairwise([float(place) for place in chain(list(range(1201)))])]
    assert steps == [200.0] * 6


def test_a_dial_is_turned_toward_the_middle_of_a_gap() -> None:
    known = {"random": 0.0, "network:a,temperature=4": 300.0, "network:a,temperature=1": 700.0, "network:a": 1000.0}
    assert candidates.between(300, 700, "network:a,temperature=1", known) == "network:a,temperature=2"
    assert candidates.between(700, 1000, "network:a", known) == "network:a,temperature=0.5"
    assert candidates.between(0, 300, "network:a,temperature=4", known) == "network:a,temperature=8"
    # A player without a temperature of its own is replaced by a network that is strong enough, or errs more often.
    assert candidates.between(300, 900, "greedy", {**known, "greedy": 900.0}) == "network:a,temperature=2"
    assert candidates.between(0, 900, "greedy", {"random": 0.0, "greedy": 900.0}) == "greedy:epsilon=0.5"
    halfway = {"random": 0.0, "greedy": 900.0, "greedy:epsilon=0.5": 200.0}
    assert candidates.between(200, 900, "greedy", halfway) == "greedy:epsilon=0.25"


@pytest.mark.parametrize("game_id", ["connect4", "chinese-checkers", "checkers", "tictactoe"])
def test_the_pool_of_a_game_can_play_it(game_id: str) -> None:
    game = make(game_id)
    pool = candidates.pool(game)
    assert pool[0] == "random" and len(pool) == len(set(pool)) >= 5
    assert [make_player(spec, game).spec for spec in pool] == pool


@pytest.fixture(scope="module")
def records() -> list[Record]:
    return measure(PLAN)


def test_gaps_are_filled_and_neighbors_have_met(records: list[Record]) -> None:
    ladder = chosen(rated(records, "perfect"))
    assert (ladder[0].spec, ladder[0].elo, ladder[-1].spec) == ("random", 0, "perfect")
    assert any(rung.spec.startswith("perfect:epsilon=") for rung in ladder)
    met = {frozenset(record.players) for record in records}
    assert all(frozenset(pair) in met for pair in links([rung.spec for rung in ladder], (1, 2)))
    # The ratings are those of the whole file, and every rung counts the games it sat in.
    found = standings.rate(records, anchor="random")
    for rung in ladder:
        assert rung.elo == round(float(found.elo[found.names.index(rung.spec)]))
        assert rung.games == sum(rung.spec in record.players for record in standings.counted(records))


def test_a_measurement_that_was_stopped_continues_to_the_same_games(records: list[Record]) -> None:
    class Stopped(Exception):
        pass

    kept: list[Record] = []

    def stop(now: object) -> None:
        kept[:] = list(now)  # type: ignore[call-overload]
        if len(kept) > 60:
            raise Stopped

    with pytest.raises(Stopped):
        measure(PLAN, watch=stop)
    assert any(not record.finished for record in kept)
    assert measure(PLAN, done=kept) == records


def test_a_ladder_needs_random_and_players_above_it() -> None:
    for specs in [("perfect",), ("perfect", "random"), ("random", "perfect", "perfect")]:
        with pytest.raises(RatingError, match="A ladder needs random"):
            Plan(TICTACTOE, specs)


def test_the_command_writes_the_ladder_and_goes_on_from_its_games(tmp_path: Path) -> None:
    file, out = tmp_path / "ladder.toml", tmp_path / "games.txt"
    words = ["rate", "ladder", "tictactoe", *PLAN.specs, "--games", "40", "--rounds", "4", "--seed", "0"]
    result = CliRunner().invoke(app, [*words, "--out", str(out), "--ladder", str(file)])
    assert result.exit_code == 0, result.output
    found = ladder.read(file)
    assert found.command == "tabia " + " ".join(words) and found.game == "tictactoe"
    assert all(rung.spec in result.stdout for rung in found.rungs)
    before = out.read_text(encoding="utf-8")
    again = CliRunner().invoke(app, [*words, "--out", str(out), "--ladder", str(file)])
    assert again.exit_code == 0 and out.read_text(encoding="utf-8") == before and ladder.read(file) == found
    other = CliRunner().invoke(app, [*words[:-1], "1", "--out", str(out), "--ladder", str(file)])
    assert other.exit_code == 2 and "seed was 0, not 1" in other.output
