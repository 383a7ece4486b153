"""A real Ray cluster on the loopback interface: a head, which the tests connect to, and two worker nodes."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

# Read when Ray is imported; processes of the cluster and commands that tests start inherit it.
os.environ.update(
    RAY_AUTH_MODE="token",
    RAY_AUTH_TOKEN=secrets.token_hex(32),
    RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER="0",
    RAY_USAGE_STATS_ENABLED="0",
    RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO="0",
    RAY_DEDUP_LOGS_SKIP_REGEX=".",
)
NODE = {"node_ip_address": "127.0.0.1", "object_store_memory": 100 * 2**20, "include_dashboard": False}
"""What every node is started with."""


@pytest.fixture(scope="session")
def ray_cluster() -> Iterator[object]:
    """A `ray.cluster_utils.Cluster`: `address`, `add_node(num_cpus=...)`, `remove_node(node)`, `worker_nodes`."""
    pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    folder = tempfile.mkdtemp(prefix="tabia-ray-")
    Path(folder, "ray").mkdir()
    os.environ["RAY_TMPDIR"] = folder  # Ray notes the address in its folder `ray`, which it does not create here
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "temp_dir": folder, **NODE})
    try:
        for _ in range(2):
            cluster.add_node(num_cpus=1, **NODE)
        yield cluster
    finally:
        cluster.shutdown()
        del os.environ["RAY_TMPDIR"]
        shutil.rmtree(folder, ignore_errors=True)
