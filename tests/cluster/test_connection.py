"""Connections: loopback and token of a local cluster, and addresses that cannot be used."""

from __future__ import annotations

import signal
import socket

import pytest

from tabia.cluster.connection import connect
from tabia.cluster.errors import ClusterError


def test_the_address_of_a_running_cluster(ray_cluster):
    before = signal.getsignal(signal.SIGTERM)
    with connect(ray_cluster.address) as cluster:
        assert not cluster.is_local
        assert sorted(node.cpus for node in cluster.nodes()) == [0, 1, 1]
        assert signal.getsignal(signal.SIGTERM) is before
        with pytest.raises(ClusterError, match="connected to a Ray cluster already"), connect("local"):
            pass
