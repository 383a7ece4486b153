"""A real Ray cluster on the loopback interface: a head, which the tests connect to, and two worker nodes.

All tests that need one are in this file, so that `make test` starts it once.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest

from tabia.cluster.connection import connect, load_ray
from tabia.cluster.errors import ClusterError
from tabia.cluster.loop import self_play
from tabia.cluster.matches import BatchWork, lineup_of, play_matches
from tabia.cluster.workers import job_runner
from tabia.evaluation import Match, play
from tabia.games import make
from tabia.players import make as make_player
from tabia.training.loop import train
from tabia.training.run.directory import RunDirectory
from tabia.training.run.metrics import Metrics
from tabia.training.training import Training

from .processes import actors, descendants, gone, listening
from .test_training import TINY, assert_same, lines, trained

pytest.importorskip("ray")
# Ray starts its programs by fork and exec, of which JAX warns in every process that has used it.
pytestmark = pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")


class KillsAnActor(Metrics):
    """Ends one actor's process without warning after the second iteration."""

    killed = 0

    def on_iteration(self, training, result):
        if training.counters.iteration == 2:
            os.kill(actors(os.getpid())[0], signal.SIGKILL)
            self.killed += 1
        return super().on_iteration(training, result)


def test_a_run_on_a_cluster_with_a_killed_actor_is_the_same_run(ray_cluster, tmp_path, capfd):
    """The same bits as from actors in this process that never die, whose chunks depend on the same things."""
    before, notes, kills = signal.getsignal(signal.SIGTERM), [], KillsAnActor()
    training = Training.begin(RunDirectory(tmp_path / "run"), TINY)
    with connect(ray_cluster.address) as cluster:
        assert signal.getsignal(signal.SIGTERM) is before
        assert not cluster.is_local and sorted(node.cpus for node in cluster.nodes()) == [0, 1, 1]
        with pytest.raises(ClusterError, match="connected to a Ray cluster already"), connect("local"):
            pass
        with self_play(training, cluster, actors=2, notify=notes.append) as execution:
            train(training, [kills], make_iteration=execution.make_iteration, parts=execution.parts)
    found = lines(training, set())
    assert kills.killed == 1 and found[-1]["actor_restarts"] >= 1
    assert [note.split("): ")[1] for note in notes] == ["its actor died. Its work goes to another actor."]
    assert [line["chunks"] for line in found] == [2] * 5
    assert [line["staleness_max"] for line in found] == [0, 1, 1, 1, 1]
    assert_same(trained(tmp_path / "calm", slots=2, ahead=1), training)
    assert gone(lambda: actors(os.getpid()))
    assert capfd.readouterr().out == ""


def test_a_local_cluster_listens_on_loopback_only_and_leaves_no_process():
    started = set(descendants(os.getpid()))
    with connect("local", cpus=1) as cluster:
        mine = set(descendants(os.getpid())) - started
        sockets = listening({*mine, os.getpid()})
        assert any(int(cluster.address.rpartition(":")[2]) == port for _, port in sockets)
        assert {address for address, _ in sockets} <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
    assert gone(lambda: [process for process in mine if _runs(process)])


def _runs(process: int) -> bool:
    try:
        return bool(Path(f"/proc/{process}/cmdline").read_bytes())  # empty for one that has ended, until it is reaped
    except OSError:
        return False


@pytest.mark.long
def test_a_local_cluster_wants_its_token():
    stranger = "import ray; ray.init(address='auto', log_to_driver=False)"
    with connect("local", cpus=1) as cluster:
        environment = {**os.environ, "RAY_ADDRESS": cluster.address, "RAY_AUTH_TOKEN": "0" * 64}
        refused = subprocess.run(
            [sys.executable, "-c", stranger], env=environment, capture_output=True, text=True, timeout=300, check=False
        )
    assert refused.returncode != 0 and "token" in refused.stderr.lower()


def test_addresses_that_cannot_be_used_are_one_line():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        closed = f"127.0.0.1:{free.getsockname()[1]}"
    for address, words in ((closed, "No Ray cluster answers at"), ("abc", "HOST:PORT"), ("host:0", "HOST:PORT")):
        with pytest.raises(ClusterError, match=words) as refused, connect(address):
            pass
        assert "\n" not in str(refused.value)


def test_a_port_where_something_else_listens_is_refused_at_once():
    def answer():
        with server, server.accept()[0] as connection:
            connection.recv(100)
            connection.sendall(b"HTTP/1.0 400 Bad Request\r\n\r\n")

    server = socket.create_server(("127.0.0.1", 0))
    address = f"127.0.0.1:{server.getsockname()[1]}"
    Thread(target=answer, daemon=True).start()
    with pytest.raises(ClusterError, match=f"{address}: what listens there is not Ray"), connect(address):
        pass


def test_without_ray_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ClusterError, match=r"pip install 'tabia\[cluster\]'"):
        load_ray()


def test_a_match_on_a_cluster_with_a_killed_actor_is_the_local_match(ray_cluster):
    game = make("tictactoe")
    players = tuple(make_player(spec, game) for spec in ("random", "random:epsilon=0.5"))
    planned, notes, killed = Match(game=game, players=players, games=48, batch=8, seed=5), [], []

    def kill_one(records):
        if not killed:
            killed.append(actors(os.getpid())[0])
            os.kill(killed[0], signal.SIGKILL)

    with connect(ray_cluster.address) as cluster:
        lineup = lineup_of([planned])
        with job_runner(cluster, BatchWork, lineup, actors=2, games=(lineup.game,), notify=notes.append) as run:
            (played,) = play_matches([planned], run, watch=kill_one)
    assert played == play(planned)
    assert [note.split("): ")[1] for note in notes] == ["its actor died. Its work goes to another actor."]
