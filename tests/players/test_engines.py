"""Outside engines that behave, and engines that are missing, hang, flood, exit or play illegally."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import jax
import pytest

from tabia import games, players
from tabia.core.text import is_printable
from tabia.core.trust import UntrustedCode, check_data, names_code
from tabia.evaluation import Match, PlayedMatch, match_result, play
from tabia.evaluation.records import RecordFile, parse, text
from tabia.games.session import Session
from tabia.players import PlayerError
from tabia.players.engines import EnginePlayer
from tabia.players.engines.process import Command, EngineProcess
from tabia.players.player import Line

HERE = Path(__file__).parent
OTHELLO = "othello:size=4"
GARDNER = "pgx:gardner_chess"


def command(file: str, *arguments: str) -> str:
    return shlex.join([sys.executable, "-I", "-S", str(HERE / file), *arguments])


def gtp(mode: str, *arguments: str, options: str = "timeout=60") -> str:
    return f"gtp:{command('fake_engine.py', mode, *arguments)},{options}"


@pytest.fixture
def make() -> Iterator[Callable[[str, str], EnginePlayer]]:
    """Make players that end with the test, and check that none of their processes is left."""
    made: list[EnginePlayer] = []

    def make(spec: str, game: str = OTHELLO) -> EnginePlayer:
        player = players.make(spec, games.make(game))
        assert isinstance(player, EnginePlayer)
        made.append(player)
        return player

    yield make
    for player in made:
        player.close()
    assert children() == []


def children() -> list[str]:
    """The command lines of this process's children that run a fake engine."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line, status = (folder / "cmdline").read_text(), (folder / "stat").read_text()
        except OSError:
            continue
        if "fake_" in line and status.rpartition(")")[2].split()[1] == str(os.getpid()):
            found.append(line.replace("\0", " "))
    return found


def match(player: EnginePlayer, games_: int = 4) -> PlayedMatch:
    other = players.make("random", player.game)
    return play(Match(player.game, (player, other), games=games_, opening_moves=2, seed=1))


def test_a_good_engine_plays_whole_games(make: Callable[[str], EnginePlayer]) -> None:
    """The fake engine has its own rules of Othello, so every move of both sides is checked by both."""
    played = match(make(gtp("good", options="processes=2")), 12)
    assert {record.end for record in played.records} == {"over"} and not played.incidents
    assert len(played.records) == 12


def test_a_process_keeps_its_game(make: Callable[[str], EnginePlayer]) -> None:
    player = make(gtp("good"))
    session = Session.start(player.game)
    while not session.over:
        (reply,) = player.follow([Line(session.state, session.actions)])
        assert reply.action is not None
        session = session.play(reply.action)
    said = player._engines[0].process.transcript
    assert sum(line.startswith("> clear_board") for line in said) <= 1  # never sent again
    assert session.ply > 4 and not any(line.startswith("> play") for line in said)


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ("hang", "did not answer within 3 s"),
        ("flood", "writes without end"),
        ("stream", "writes without end"),
        ("garbage", "expected a response that starts with = or ?"),
        ("control", "expected a response that starts with = or ?"),
        ("illegal", "played 'A1', which is not legal"),
        ("exit", "ended with status 3 (I give up)"),
        ("memory", "ended with status 1"),
        ("children", "did not answer within 3 s"),
    ],
)
def test_a_fault_loses_the_game_and_the_match_goes_on(
    mode: str, reason: str, make: Callable[[str], EnginePlayer]
) -> None:
    player = make(gtp(mode, options=f"timeout={_limit(reason)},memory=2048"))
    played = match(player, 2)
    assert [record.end for record in played.records] == ["forfeited", "forfeited"]
    assert all(record.scores[record.players.index(player.spec)] == -1 for record in played.records)
    for incident in played.incidents:
        assert reason in incident.reason and is_printable(incident.reason)
        assert "Legal moves: " in incident.report and "> genmove" in incident.report and "4 " in incident.report
        assert all(map(is_printable, incident.report.splitlines()))
    result = match_result(player.game, played.records)
    assert (result.forfeited, result.excluded, result.games) == (2, 0, 2)


def _limit(reason: str) -> int:
    """Seconds for a reply: few where they must pass, but enough to start an engine; many where they must not."""
    return 3 if "did not answer" in reason else 60


def test_an_engine_without_a_name_is_called_by_its_program(make: Callable[[str], EnginePlayer]) -> None:
    player = make(gtp("nameless"))
    assert player.identity == Path(sys.executable).name
    assert match(player, 1).incidents[0].reason.startswith(f"{player.identity} played 'A1'")


def test_a_crash_is_followed_by_a_restart(make: Callable[[str], EnginePlayer], tmp_path: Path) -> None:
    played = match(make(gtp("crash-once", str(tmp_path / "crashed"), options="processes=1")), 2)
    assert (tmp_path / "crashed").exists()
    assert [record.end for record in played.records] == ["over", "over"]


def test_an_engine_may_resign(make: Callable[[str], EnginePlayer]) -> None:
    played = match(make(gtp("resign")), 2)
    assert [record.end for record in played.records] == ["resigned", "resigned"]
    assert parse(text(RecordFile(records=played.records))).records == played.records


def test_games_with_different_rules_are_counted_but_not_scored(make: Callable[[str], EnginePlayer]) -> None:
    player = make(gtp("refuse"))
    played = match(player, 4)
    assert {record.end for record in played.records} == {"excluded"}
    result = match_result(player.game, played.records)
    assert (result.games, result.excluded, result.players) == (0, 4, ())
    assert all("refused" in incident.reason for incident in played.incidents)


def test_a_long_error_output_does_not_block(make: Callable[[str], EnginePlayer]) -> None:
    assert {record.end for record in match(make(gtp("chatter")), 2).records} == {"over"}


def test_an_engine_that_never_plays_ends_the_match(make: Callable[[str], EnginePlayer]) -> None:
    with pytest.raises(PlayerError, match=r"failed before its first move \d+ times"):
        match(make(gtp("exit")), 12)


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("gtp:no-such-engine", "There is no program 'no-such-engine'; install it"),
        ("gtp:", "An engine needs a command"),
        ("gtp:'unclosed", "is not a command"),
        (gtp("silent", options="timeout=1"), r"did not answer within 1 s; does .* speak GTP\?"),
        (gtp("uci"), r"'Unknown command'; does .* speak GTP\?"),
        (f"gtp:{shlex.join([sys.executable, '-c', 'exit(chr(33) + chr(33))'])}", r"ended with status 1 \(!!\); does"),
        (gtp("old"), "speaks version '1' of GTP; expected 2"),
        (f"gtp:{command('fake_uci.py')},timeout=1", r"speak GTP\?"),
        (f"gtp:{HERE / 'fake_uci.py'}", "There is no program"),  # not executable
        (gtp("good", options="level=3"), "level applies only to gtp-rhino and gnugo"),
        (gtp("good", options="nodes=3"), "gtp has no option 'nodes'"),
        (gtp("good", options="epsilon=0.5"), "epsilon applies only to Tabia's own players"),
    ],
)
def test_a_player_that_cannot_play_is_refused_in_one_line(spec: str, reason: str) -> None:
    with pytest.raises(PlayerError, match=reason) as refused:
        players.make(spec, games.make(OTHELLO))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("mode", "options", "reason"),
    [
        ("no-variants", "nodes=1", "plays only chess; it has no option UCI_Variant"),
        ("good", "nodes=1,variant=atomic", "does not play the variant 'atomic'"),
        ("good", "nodes=1,level=3", "has no option 'Skill Level'"),
        ("levels", "nodes=1,level=21", "takes 'Skill Level' from -20 to 20, not 21"),
        ("levels", "nodes=1,level=-21", "takes 'Skill Level' from -20 to 20, not -21"),
        ("good", "timeout=1", "needs a limit per move: nodes=1000"),
    ],
)
def test_a_uci_engine_that_cannot_play_is_refused(mode: str, options: str, reason: str) -> None:
    with pytest.raises(PlayerError, match=reason):
        players.make(f"uci:{command('fake_uci.py', mode)},{options}", games.make(GARDNER))


def test_a_level_within_the_range_is_set(make: Callable[[str, str], EnginePlayer]) -> None:
    player = make(f"uci:{command('fake_uci.py', 'levels')},nodes=1,level=-20", GARDNER)
    assert "> setoption name Skill Level value -20" in player._engines[0].process.transcript


def test_gtp_engines_do_not_speak_uci() -> None:
    with pytest.raises(PlayerError, match=r"speak UCI\?"):
        players.make(f"uci:{command('fake_engine.py', 'uci')},nodes=1,timeout=1", games.make(GARDNER))


@pytest.mark.parametrize(
    ("mode", "end", "reason"),
    [
        ("illegal", "forfeited", "played 'a1a5', which is not legal"),
        ("hang", "forfeited", "did not answer within 3 s"),
        ("none", "excluded", "has no legal move where the game has"),
    ],
)
def test_uci_faults(mode: str, end: str, reason: str, make: Callable[[str, str], EnginePlayer]) -> None:
    player = make(f"uci:{command('fake_uci.py', mode)},nodes=1,timeout={_limit(reason)}", GARDNER)
    session = Session.start(player.game)
    (reply,) = player.follow([Line(session.state, session.actions)])
    assert reply.end == end and reason in reply.reason


def test_games_without_notation_are_refused() -> None:
    for spec in ("gtp:gtp-rhino", "uci:fairy-stockfish,nodes=1"):
        with pytest.raises(PlayerError, match=r"has no notation for connect4; it has one for"):
            players.make(spec, games.make("connect4"))
    with pytest.raises(PlayerError, match="GNU Backgammon plays pgx:backgammon, not connect4"):
        players.make("gnubg", games.make("connect4"))


def test_known_programs_are_named_with_their_package(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = Command(("gtp-rhino-that-is-not-here",), package="grhino")
    with pytest.raises(PlayerError, match="apt install grhino"):
        missing.find()


def test_choose_without_moves_says_what_to_do(make: Callable[[str], EnginePlayer]) -> None:
    player = make(gtp("good"))
    with pytest.raises(PlayerError, match="needs the moves of a game"):
        player.choose(None, jax.random.key(0))


@pytest.mark.parametrize("spec", ["gtp:gnugo,level=1", " uci:sh -c x", "GTP:x", "gnubg", "gnubg:plies=1"])
def test_data_files_cannot_name_programs(spec: str) -> None:
    assert names_code(spec)
    with pytest.raises(UntrustedCode, match="would run an outside program"):
        check_data(spec, source="file", fix="type it")
    check_data(spec, source="file", fix="type it", named=[spec])
    with pytest.raises(UntrustedCode):
        check_data(spec, source="file", fix="type it", named=["gtp:other", "random"])


def test_a_command_may_contain_equals_and_at() -> None:
    spec = players.parse("gtp:engine --level=4 a@b,timeout=3")
    assert (spec.what, spec.version, spec.options) == ("engine --level=4 a@b", None, {"timeout": "3"})
    assert players.parse(str(spec)) == spec


def test_the_memory_of_a_process_is_limited() -> None:
    limits = (
        "import resource; print(*resource.getrlimit(resource.RLIMIT_AS), *resource.getrlimit(resource.RLIMIT_CORE))"
    )
    process = EngineProcess(Command((sys.executable, "-c", limits), memory=512))
    assert process.line(process.deadline()) == f"{512 << 20} {512 << 20} 0 0"
    process.close()


ORPHAN = """
import sys
from tabia.players.engines.process import Command, EngineProcess
process = EngineProcess(Command(tuple(sys.argv[1:])))
process.send("name")
process.line(process.deadline())
print(process._process.pid, flush=True)
input()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="uses prctl")
def test_an_engine_ends_when_tabia_is_killed() -> None:
    """Even an engine that goes on after the end of its input."""
    engine = [sys.executable, "-I", "-S", str(HERE / "fake_engine.py"), "eof"]
    with subprocess.Popen(
        [sys.executable, "-c", ORPHAN, *engine], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as tabia:
        assert tabia.stdout is not None
        pid = int(tabia.stdout.readline())
        assert re.search("fake_engine", Path(f"/proc/{pid}/cmdline").read_text())
        os.kill(tabia.pid, signal.SIGKILL)
        tabia.wait()
    wait_until(lambda: not runs(pid))


WRAPPER = """
sleep 600 &
echo $! > child.new
{engine}
sleep 600
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_what_an_engine_started_ends_with_tabia(number: signal.Signals, tmp_path: Path) -> None:
    """A script with children, of which none ends with its input."""
    script = tmp_path / "wrapper.sh"
    engine = f"mv child.new child; {command('fake_engine.py', 'hang')}"
    script.write_text(WRAPPER.format(engine=engine), encoding="utf-8")
    words = ["analyze", OTHELLO, "--player", f"gtp:sh {script},timeout=600"]
    with subprocess.Popen([sys.executable, "-m", "tabia", *words], cwd=tmp_path, stdout=subprocess.PIPE) as tabia:
        wait_until((tmp_path / "child").exists)
        group = os.getpgid(int((tmp_path / "child").read_text()))
        tabia.send_signal(number)
        assert tabia.wait(120) == (-number if number == signal.SIGKILL else 128 + number)
    wait_until(lambda: not any(runs(pid) for pid in members(group)))


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def members(group: int) -> list[int]:
    """The processes of a process group."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "stat").read_text().rpartition(")")[2].split()[2] == str(group):
                found.append(int(folder.name))
        except OSError:
            continue
    return found


WATCHED = """
from tabia.players.engines import lifetime
from tabia.players.engines.process import Command, EngineProcess
engines = []
for _ in range(2):
    engines.append(EngineProcess(Command(("sh", "-c", "sleep 600 & echo $!; wait"))))
    print(engines[-1].line(engines[-1].deadline()), flush=True)
    if len(engines) == 1:
        lifetime._watchers[-1]._process.kill()
        lifetime._watchers[-1]._process.wait()
input()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_another_process_watches_if_the_first_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", WATCHED], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as tabia:
        assert tabia.stdout is not None
        children = [int(tabia.stdout.readline()) for _ in range(2)]
        assert all(runs(child) for child in children)
        tabia.kill()
    wait_until(lambda: not any(runs(child) for child in children))


def runs(pid: int) -> bool:
    """Whether a process exists and has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
