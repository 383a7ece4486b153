"""Measuring ladders: the chain is optimal, gaps are filled, and a measurement resumes from its file."""

from __future__ import annotations

import itertools
import random
from itertools import pairwise
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tabia.cli.main import app
from tabia.evaluation import ladder as measuring
from tabia.evaluation import ladder_candidates as candidates
from tabia.evaluation import ratings
from tabia.evaluation.ladder import LadderPlan, chain, links, measure, rate_players, select_rungs
from tabia.evaluation.rating_models import RatingError
from tabia.evaluation.records import Record
from tabia.games import make
from tabia.players import ladder
from tabia.players import make as make_player

TICTACTOE = make("tictactoe")
PLAN = LadderPlan(TICTACTOE, ("random", "perfect"), games=40, rounds=4)


def test_the_chain_is_optimal() -> None:
    """Compared with brute force over all subsets that include both ends."""
    dice = random.Random(0)
    for _ in range(60):
        elo = [0.0, *sorted(dice.uniform(0, 1200) for _ in range(dice.randint(1, 8)))]
        inner = range(1, len(elo) - 1)
        subsets = [[0, *kept, len(elo) - 1] for n in range(len(inner) + 1) for kept in itertools.combinations(inner, n)]

        def cost(places: list[int], elo: list[float] = elo) -> float:
            return sum(measuring._cost(elo[b] - elo[a]) for a, b in pairwise(places))

        assert cost(chain(elo)) == pytest.approx(min(map(cost, subsets)))


def test_the_chain_has_steps_of_200_if_possible() -> None:
    steps = [b - a for a, b in pairwise([float(place) for place in chain(list(range(1201)))])]
    assert steps == [200.0] * 6


def test_a_new_candidate_is_in_the_middle_of_a_gap() -> None:
    known = {"random": 0.0, "network:a,temperature=4": 300.0, "network:a,temperature=1": 700.0, "network:a": 1000.0}
    assert candidates.between(300, 700, "network:a,temperature=1", known) == "network:a,temperature=2"
    assert candidates.between(700, 1000, "network:a", known) == "network:a,temperature=0.5"
    assert candidates.between(0, 300, "network:a,temperature=4", known) == "network:a,temperature=8"
    # A player without a temperature is replaced by a sufficiently strong network, or gets a higher epsilon.
    assert candidates.between(300, 900, "greedy", {**known, "greedy": 900.0}) == "network:a,temperature=2"
    assert candidates.between(0, 900, "greedy", {"random": 0.0, "greedy": 900.0}) == "greedy:epsilon=0.5"
    halfway = {"random": 0.0, "greedy": 900.0, "greedy:epsilon=0.5": 200.0}
    assert candidates.between(200, 900, "greedy", halfway) == "greedy:epsilon=0.25"


@pytest.mark.parametrize("game_id", ["connect4", "chinese-checkers", "checkers", "tictactoe"])
def test_the_pool_of_a_game_consists_of_its_players(game_id: str) -> None:
    game = make(game_id)
    pool = candidates.pool(game)
    assert pool[0] == "random" and len(pool) == len(set(pool)) >= 5
    assert [make_player(spec, game).spec for spec in pool] == pool


@pytest.fixture(scope="module")
def records() -> list[Record]:
    return measure(PLAN)


def test_gaps_are_filled_and_neighbors_meet(records: list[Record]) -> None:
    ladder = select_rungs(rate_players(records, "perfect"))
    assert (ladder[0].spec, ladder[0].elo, ladder[-1].spec) == ("random", 0, "perfect")
    assert any(rung.spec.startswith("perfect:epsilon=") for rung in ladder)
    met = {frozenset(record.players) for record in records}
    assert all(frozenset(pair) in met for pair in links([rung.spec for rung in ladder], (1, 2)))
    # The ratings use all games, and each rung counts its own.
    found = ratings.rate(records, anchor="random")
    for rung in ladder:
        assert rung.elo == round(float(found.elo[found.names.index(rung.spec)]))
        assert rung.games == sum(rung.spec in record.players for record in ratings.rated_games(records))


def test_a_resumed_measurement_plays_the_same_games(records: list[Record]) -> None:
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


def test_a_ladder_needs_random_and_a_stronger_player() -> None:
    for specs in [("perfect",), ("perfect", "random"), ("random", "perfect", "perfect")]:
        with pytest.raises(RatingError, match="A ladder needs random"):
            LadderPlan(TICTACTOE, specs)


def test_the_command_writes_the_ladder_and_resumes_from_its_games(tmp_path: Path) -> None:
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
