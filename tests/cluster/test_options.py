"""The options of `tabia train` and `tabia resume` for a cluster, without one."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from types import SimpleNamespace

import pytest

from tabia.cli.actors import Here, capacity, fitting, parse_devices, place
from tabia.cluster.connection import Node
from tabia.cluster.errors import ClusterError
from tabia.cluster.rounds import check_slots
from tabia.training.plan import Plan

from .test_training import TINY


def test_without_an_address_games_are_played_here():
    with place(None, None, None) as where:
        assert type(where) is Here


@pytest.mark.parametrize(("actors", "devices"), [(2, None), (None, "cpu")])
def test_options_of_actors_need_a_cluster(actors, devices):
    with pytest.raises(ClusterError, match="add --ray local"), place(None, actors, devices):
        pass


@pytest.mark.parametrize("text", ["gpu", "-1", "2", "nan", ""])
def test_devices_of_actors(text):
    with pytest.raises(ClusterError, match="--actor-devices"):
        parse_devices(text)


def test_an_unreachable_address_is_refused_before_anything_is_written():
    pytest.importorskip("ray")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        closed = f"127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(ClusterError, match=f"No Ray cluster answers at {closed}"), place(closed, 2, None):
        pass


def test_actors_share_the_lanes_evenly():
    check_slots(Plan(TINY), 4)
    with pytest.raises(ClusterError, match=r"3 actors cannot share selfplay.games=16 evenly. Use --actors 2"):
        check_slots(Plan(TINY), 3)
    assert [fitting(capacity, 12) for capacity in range(8)] == [1, 1, 2, 3, 4, 4, 6, 6]


@pytest.mark.parametrize(("gpus", "expected"), [(None, (1.0, 3)), (0.0, (0.0, 11)), (0.5, (0.5, 5))])
def test_actors_need_all_they_take_on_one_node(gpus, expected):
    """Three GPUs, but one CPU at one of them; a node without GPUs."""
    nodes = [Node("a", "10.0.0.1", 8.0, 2.0, 0), Node("b", "10.0.0.2", 1.0, 1.0, 0), Node("c", "10.0.0.3", 2.0, 0.0, 0)]
    need, count = capacity(SimpleNamespace(nodes=lambda: nodes), gpus)
    assert (need.gpus, count) == expected


THREADS = """
import os
from pathlib import Path
from tabia.cluster.actors import use_platform
use_platform("cpu", sharing=len(os.sched_getaffinity(0)))
import jax
jax.numpy.ones(8).sum().block_until_ready()
print(sum("XLAEigen" in (task / "comm").read_text() for task in Path("/proc/self/task").iterdir()))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
def test_an_actor_per_core_computes_with_one_thread():
    variables = {name: value for name, value in os.environ.items() if name != "NPROC"}
    done = subprocess.run([sys.executable, "-c", THREADS], env=variables, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1"]
