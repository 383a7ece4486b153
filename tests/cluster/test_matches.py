"""Matches over actors: the games of a local match, whatever the number of actors, the order of batches and deaths."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

import pytest

from tabia.cluster.errors import ClusterError
from tabia.cluster.lineup import Lineup, make_lineup, received
from tabia.cluster.matches import BatchWork, lineup_of, play_matches
from tabia.evaluation import Match, PlayedMatch, Record, Tournament, play, play_tournament
from tabia.games import make as make_game
from tabia.players import make as make_player
from tabia.players import runs

from .in_process import in_process

GAME = make_game("tictactoe")
SPECS = ("random", "minimax:depth=1")


def match(*specs: str, **settings: object) -> Match:
    chosen = {"games": 32, "batch": 8, "seed": 5, **settings}
    return Match(game=GAME, players=tuple(make_player(spec, GAME) for spec in specs or SPECS), **chosen)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def local() -> PlayedMatch:
    return play(match())


def second_call(number: int) -> bool:
    return number % 2 == 0


@pytest.mark.parametrize(("actors", "dies"), [(1, lambda number: False), (3, lambda number: False), (3, second_call)])
def test_a_match_over_actors_is_the_local_match(local: PlayedMatch, actors: int, dies: object) -> None:
    planned, counts = match(), list[int]()
    with in_process(BatchWork, lineup_of([planned]), actors=actors, dies=dies) as (run, launcher, notes):  # type: ignore[arg-type]
        (played,) = play_matches([planned], run, watch=lambda records: counts.append(len(records)))
    assert played == local
    assert counts == [8, 16, 24, 32], "each batch counts once"
    deaths = len(launcher.played) - 4
    assert deaths == len(notes) == (3 if dies is second_call else 0)
    assert all("Its work goes to another actor." in note for note in notes)


def test_a_match_resumes_from_the_records_of_a_local_one(local: PlayedMatch) -> None:
    """Some games finished, some interrupted in the middle, and a gap between them."""
    planned, seen = match(), list[list[Record]]()

    class Interrupted(Exception):
        pass

    def watch(records: object) -> None:
        seen.append(list(records))  # type: ignore[call-overload]
        if len(seen) == 12:
            raise Interrupted

    with pytest.raises(Interrupted):
        play(planned, watch=watch)
    partial = seen[-1]
    assert any(record.finished for record in partial) and any(not record.finished for record in partial)
    with in_process(BatchWork, lineup_of([planned])) as (run, launcher, _):
        kept = list[list[Record]]()
        (played,) = play_matches([planned], run, done=partial, watch=lambda records: kept.append(list(records)))
    assert played == local
    keys = {(record.round, record.players) for record in partial}
    assert all(keys <= {(record.round, record.players) for record in records} for records in kept), "nothing is lost"
    with in_process(BatchWork, lineup_of([planned])) as (run, launcher, _):
        assert play_matches([planned], run, done=played.records) == [local]
    assert launcher.played == [], "a finished match needs no actor"


def test_a_local_match_resumes_from_records_with_a_gap(local: PlayedMatch) -> None:
    last = [record for record in local.records if record.round > 12]
    assert play(match(), done=last) == local


def test_a_sequential_test_stops_at_the_same_round() -> None:
    planned = match("minimax:depth=1", "random", games=400, test=(0.0, 100.0, 0.05, 0.05))
    with in_process(BatchWork, lineup_of([planned])) as (run, launcher, _):
        (played,) = play_matches([planned], run)
    assert played.verdict is not None and played == play(planned)
    assert len(launcher.played) < len(planned.batches)


@pytest.mark.parametrize(("batch", "finished"), [(8, 20), (24, 24)])  # a match in two batches; two matches in one
def test_a_tournament_over_actors_is_the_local_tournament(batch: int, finished: int) -> None:
    players = tuple(make_player(spec, GAME) for spec in ("random", "minimax:depth=1", "random:epsilon=0.5"))
    planned = Tournament(game=GAME, players=players, games=12, batch=batch, seed=3)
    expected = play_tournament(planned)
    for done in ([], expected[:finished]):
        with in_process(BatchWork, lineup_of(planned.matches), dies=lambda number: number == 2) as (run, _, _):
            played = play_matches(planned.matches, run, batches=planned.batches, done=done)
        assert [record for one in played for record in one.records] == expected


def test_weights_travel_and_names_stay(tmp_path: Path) -> None:
    file = tmp_path / "run" / "checkpoints" / "3" / runs.WEIGHTS
    file.parent.mkdir(parents=True)
    shutil.copy(runs.weights_file("tictactoe"), file)
    spec = f"network:{tmp_path / 'run'}@latest"
    planned = match(spec, f"{spec},epsilon=0.5", games=8)
    expected = play(planned)
    lineup = lineup_of([planned])
    file.unlink()  # the nodes do not have it
    with in_process(BatchWork, lineup) as (run, _, _):
        assert play_matches([planned], run) == [expected]


def test_a_player_in_a_file_must_be_the_same_on_the_node(tmp_path: Path) -> None:
    file = tmp_path / "first.py"
    file.write_text("class First:\n    def choose(self, position):\n        return position.legal_moves[0]\n")
    spec = f"{file}:First"
    planned = match(spec, "random", games=4)
    lineup = lineup_of([planned])
    with in_process(BatchWork, lineup) as (run, _, _):
        assert play_matches([planned], run) == [play(planned)]
    file.write_text(file.read_text().replace("[0]", "[-1]"))
    with pytest.raises(ClusterError, match=r"first\.py is missing, or differs"), received(lineup):
        pass
    with in_process(BatchWork, lineup) as (run, _, notes), pytest.raises(ClusterError, match="No node of the cluster"):
        play_matches([planned], run)
    failures = [note for note in notes if "first.py is missing, or differs" in note]
    assert {note.split(":")[0] for note in failures} == {"Node 10.0.0.1 (aaaaaaaa)", "Node 10.0.0.2 (bbbbbbbb)"}


def test_specs_without_files_travel_as_they_are() -> None:
    lineup = make_lineup(GAME, ["random", "mcts:simulations=8,rule=uct,c=1.4"])
    assert [player.spec for player in lineup.players] == ["random", "mcts:simulations=8,rule=uct,c=1.4"]
    assert lineup.game == "tictactoe"


def test_an_engine_travels_as_its_command_and_its_incidents_return() -> None:
    engine = Path(__file__).parent.parent / "players" / "fake_engine.py"
    spec = f"gtp:{shlex.join([sys.executable, '-I', '-S', str(engine), 'refuse'])},timeout=5"
    game = make_game("othello:size=4")
    players = make_player(spec, game), make_player("random", game)
    planned, works = Match(game=game, players=players, games=2, opening_moves=2, seed=1), list[BatchWork]()

    def work(lineup: Lineup) -> BatchWork:
        works.append(BatchWork(lineup))
        return works[-1]

    try:
        with in_process(work, lineup_of([planned]), actors=1) as (run, _, _):
            (played,) = play_matches([planned], run)
        assert [record.end for record in played.records] == ["excluded", "excluded"]
        assert [(one.end, one.player) for one in played.incidents] == [("excluded", spec)] * 2
    finally:
        for player in (players[0], *(work._players[0] for work in works)):
            player.close()


@pytest.mark.parametrize("spec", ["gtp:gnugo,level=10", "uci:./engine --fast,nodes=1", "gnubg:plies=1", "gnubg"])
def test_specs_of_engines_travel_as_they_are(spec: str) -> None:
    (player,) = make_lineup(GAME, [spec]).players
    assert (player.spec, player.weights, player.digest) == (spec, None, "")
