"""What the study of Chinese checkers measures: versions, places, seats held, and positions that it shows."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tabia.evaluation import Record
from tabia.games.chinese_checkers import ChineseCheckers
from tabia.games.session import Session
from tabia.studies import packing, registry
from tabia.studies.directory import StudyDirectory
from tabia.studies.estimates import Estimate, exact
from tabia.studies.part import NoControl, Outcome, Place, Series
from tabia.studies.parts import checkers, checkers_seats, checkers_versions
from tabia.studies.parts.checkers_positions import examples, others_jumps
from tabia.studies.results import Results, rows
from tabia.studies.trainings import LEFT_OUT, TrainingPart
from tabia.studies.verdicts import DIFFERS, HOLDS, NOT_COMPARABLE

GAME = ChineseCheckers()
STUDY = registry.load("chinese-checkers")
FULL = STUDY.scale("full")
PUBLISHED = Path(__file__).parents[2] / "docs/studies/chinese-checkers/parts.tar.gz"


def test_the_jumps_of_the_start() -> None:
    """The two pieces of the second row jump over the three in front of them; those step."""
    start = Session.start(GAME)
    named = {
        GAME.move_name(int(action), start.state): GAME.is_jump(int(action)) for action in np.flatnonzero(start.legal)
    }
    assert {name for name, jump in named.items() if jump} == {"b1-d2", "b1-d4", "b2-d3", "b2-d5"}
    assert {name[0] for name, jump in named.items() if not jump} == {"c"}
    assert not GAME.is_jump(GAME.num_actions - 1)  # the pass


def test_the_examples_are_the_middle_and_a_jump_of_the_last_seat() -> None:
    games = []
    for seed in range(2):
        chance, session = random.Random(seed), Session.start(GAME)
        while session.ply < 45:
            session = session.play(int(chance.choice(np.flatnonzero(session.legal))))
        games.append(session)
    (first, middle), (second, last) = examples(games, GAME.is_jump).items()
    assert first == "Example 1: after 22 moves" and middle.text == games[0].at(22).text
    assert last.mover == 2 and any(GAME.is_jump(int(action)) for action in np.flatnonzero(last.legal))
    counts = [others_jumps(session, ply, GAME.is_jump) for session in games for ply in range(15, 30)]
    least = min(count for count in counts if count is not None)
    assert others_jumps(last, last.ply, GAME.is_jump) == least and (str(least) in second) == (least > 0)


def played(number: int, players: Sequence[str], scores: Sequence[float]) -> Record:
    return Record(
        game=GAME.id,
        version=GAME.version,
        players=tuple(players),
        moves=(),
        scores=tuple(scores),
        opening=0,
        seed=number,
        round=number,
        end="over",
    )


def values(outcome: Outcome) -> dict[str, float]:
    return {one.key: one.value for one in outcome.estimates}


def test_places_by_seat_are_counted_by_hand() -> None:
    """Four games: two as usual, one repeated, one in which the last two share the second place."""
    scores = [(3.0, 1.0, 0.0), (0.0, 3.0, 1.0), (3.0, 1.0, 0.0), (1.0, 3.0, 1.0)]
    records = [played(number, ["greedy"] * 3, one) for number, one in enumerate(scores, start=1)]
    found = values(checkers_seats.places_by_seat("greedy")(GAME, records, ["greedy"] * 3))
    assert found == {
        **{"greedy, seat 1: 1st place": 50.0, "greedy, seat 1: 2nd place": 25.0, "greedy, seat 1: 3rd place": 25.0},
        **{"greedy, seat 2: 1st place": 50.0, "greedy, seat 2: 2nd place": 50.0, "greedy, seat 2: 3rd place": 0.0},
        **{"greedy, seat 3: 1st place": 0.0, "greedy, seat 3: 2nd place": 50.0, "greedy, seat 3: 3rd place": 50.0},
    }
    assert tuple(found) == checkers_seats.places(FULL, 0, 0, "greedy").keys


def test_places_of_greedy_need_no_network_and_come_from_the_games_of_its_points() -> None:
    greedy, network = (checkers_seats.places(FULL, 0, 1, kind) for kind in ("greedy", "network"))
    assert greedy.needs == () and network.needs == ("train-published-1",)
    points = checkers_seats.seats(FULL, 0, 1, "greedy")
    assert (greedy.match_seed, greedy.games, greedy.opening_moves) == (points.match_seed, 480, points.opening_moves)


def test_points_by_seats_held() -> None:
    """The agent alone gets 3 and its two opponents 1 and 0; the agent twice gets 0 and 1, the network 3."""
    records = [played(1, "ann", (3.0, 1.0, 0.0)), played(2, "aan", (0.0, 1.0, 3.0))] * 2
    part = checkers_seats.search_by_seats(FULL, 0, 0)
    found = values(part.measure(GAME, records, ["a", "n"]))
    assert found == {
        "agent against network, 2 against 1: points": 0.5,
        "network against agent, 1 against 2: points": 3.0,
        "network against agent, 2 against 1: points": 0.5,
    }
    assert part.match_seed == checkers_seats.search_against_network(FULL, 0, 0).match_seed


@pytest.mark.parametrize("left_out", [True, False])
def test_versions_follow_from_the_names_of_checkpoints(left_out: bool, tmp_path: Path) -> None:
    """Four iterations of the Initialize agent; then sessions, of which 1, 2, 4 and 7 ended in a version."""
    weights = tmp_path / "weights"
    weights.mkdir()
    if left_out:
        (weights / LEFT_OUT).write_text("0 5 6 8 11")
    else:
        for step in (0, 5, 6, 8, 11):
            (weights / f"checkpoints/{step}").mkdir(parents=True)
            (weights / f"checkpoints/{step}/weights.safetensors").touch()
    games = tuple(500.0 + 200.0 * session for session in range(8))  # before the end of each session
    loss = Outcome(series={"train-published-0/loss_policy": Series(games, (0.0,) * 8)})
    place = Place(tmp_path, NoControl(), lambda name: tmp_path, lambda name: loss)
    found = checkers_versions.versions(FULL, 0).run(place)
    assert [values(found)[f"versions after session {last}"] for last in (5, 10, 15, 20, 25, 30)] == [3, 4, 4, 4, 4, 4]
    assert [values(found)[f"version {index} of 4: number in training"] for index in (1, 2, 3, 4)] == [1, 2, 3, 4]
    assert found.series["games before version"] == Series((1.0, 2.0, 3.0, 4.0), (500.0, 700.0, 1100.0, 1700.0))


def test_the_published_sessions_are_those_of_the_thesis() -> None:
    """20 versions in 41 sessions, and 8,500 games before the last one."""
    sessions = checkers_versions.PUBLISHED_SESSIONS
    assert checkers_versions.accepted_by(sessions, 41) == len(sessions) == 20 and sessions[-1] == 41
    assert 500 + 200 * (sessions[-1] - 1) == 8500 and list(sessions) == sorted(set(sessions))


def test_the_published_results_fit_the_parts(tmp_path: Path) -> None:
    """Every stored part still exists and measures the same; and its gate passed as often as versions were saved."""
    directory = StudyDirectory(tmp_path / "study")
    stored = packing.unpack(PUBLISHED, directory)
    parts = {part.name: part for part in STUDY.parts(FULL, directory.manifest().seed)}
    assert directory.manifest().version == STUDY.version and len(stored) >= 28
    for name in stored:
        found = directory.result(name).outcome
        assert sorted(values(found)) == sorted(parts[name].keys), name
        if name.startswith("train-published-"):
            place = Place(tmp_path, NoControl(), directory.folder, lambda run: directory.result(run).outcome)
            versions = checkers_versions.versions(FULL, int(name[-1])).run(place)
            accepted = values(found)["accepted versions"]
            assert len(versions.series["games before version"].x) == accepted
            assert values(versions)["version 4 of 4: number in training"] == accepted


def test_runs_are_trained_as_the_published_ones_were() -> None:
    for part in STUDY.parts(FULL, 0):
        if isinstance(part, TrainingPart):
            config = part.config()
            assert (config.search.ties, config.gate.opening_moves, config.gate.temperature_moves) == ("first", -1, 0)
    assert "gate_passed" in checkers.training(FULL, 0, 0, "published").curves


@pytest.mark.parametrize(
    ("counts", "word"), [((17,), NOT_COMPARABLE), ((17, 22), HOLDS), ((20, 17), HOLDS), ((15, 17), DIFFERS)]
)
def test_counts_of_runs_are_compared_from_two_seeds_on(counts: tuple[int, ...], word: str) -> None:
    """With 20 published versions: two runs hold if their range contains it."""
    by_seed: list[dict[str, Estimate]] = [{"accepted versions": exact("accepted versions", one)} for one in counts]
    results = Results(tuple(by_seed), {}, (), ())
    row = next(row for row in rows(STUDY, FULL, results) if row.key == "accepted versions")
    assert row.verdict is not None and row.verdict.word == word
    assert row.verdict.note == ("one seed; 2 are needed" if len(counts) == 1 else "")
