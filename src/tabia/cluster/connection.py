"""The connection to a Ray cluster: one that runs already, or one that is started here and ends with this process.

    with connect("local") as cluster:
        print(cluster.nodes())

A local cluster listens on the loopback interface only and asks every client for a token. Whoever reaches a Ray port
with the token can run any code, so an address must be of a trusted network.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import shutil
import signal
import socket
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tabia.cluster.errors import ClusterError
from tabia.core.text import quote

LOCAL = "local"
"""The address of a cluster that is started on this machine."""
LOOPBACK = "127.0.0.1"
OBJECT_STORE = 512 * 2**20
"""Bytes of a local cluster's object store by default."""
_PATIENCE = 5.0  # seconds until an address counts as unreachable
# Ray speaks gRPC, so HTTP/2, in which both sides begin with a frame of the type SETTINGS (RFC 9113, 3.4 and 4.1).
_SETTINGS = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])  # the fourth byte is the type
_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + _SETTINGS
_LOCAL_ENVIRONMENT = {
    "RAY_AUTH_MODE": "token",
    # Without clusters of several machines, Ray keeps the loopback address that it is given and listens there only.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
}
_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",  # nothing is sent to anyone
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",  # no line of Ray's own on stdout, where results are printed
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # actors without a GPU keep the visible devices
}


class Node(NamedTuple):
    """A machine of a cluster, or one of several on the same machine."""

    id: str
    address: str
    cpus: float
    gpus: float
    object_store: int  # bytes

    @property
    def name(self) -> str:
        """The node in words."""
        return f"{self.address} ({self.id[:8]})"


@dataclass(frozen=True)
class Cluster:
    """A connected cluster."""

    address: str
    is_local: bool
    ray: Any  # the module
    processes: tuple[int, ...] = ()  # those that were started here

    def nodes(self) -> list[Node]:
        """The nodes that are alive."""
        return [_node(entry) for entry in self.ray.nodes() if entry["Alive"]]

    @property
    def here(self) -> Node:
        """The node that this process belongs to."""
        mine = self.ray.get_runtime_context().get_node_id()
        return next(node for node in self.nodes() if node.id == mine)

    def kill(self) -> None:
        """End the processes of a local cluster at once, from any thread; the connection is of no more use."""
        for started in self.processes:
            for process in (started, *_descendants(started)):
                with contextlib.suppress(OSError):
                    os.kill(process, signal.SIGKILL)


def load_ray() -> Any:
    """The module `ray`; an error names the extra that installs it."""
    os.environ.update({name: value for name, value in _ENVIRONMENT.items() if name not in os.environ})
    try:
        import ray
        import ray.util.scheduling_strategies
    except ImportError:
        raise ClusterError("A cluster needs Ray: pip install 'tabia[cluster]'.") from None
    return ray


@contextmanager
def connect(address: str, *, cpus: int | None = None, object_store: int = OBJECT_STORE) -> Iterator[Cluster]:
    """The cluster at HOST:PORT, or with `local` one that is started here and stopped after the block.

    `cpus` and `object_store` (bytes) are for a local cluster; `cpus` are by default those of the machine. The process
    must run on a machine of the cluster. Signal handlers stay as they were.
    """
    is_local = address == LOCAL
    if is_local:
        _prepare_local()
    ray = load_ray()
    with contextlib.ExitStack() as undo:
        if is_local:
            folder = Path(tempfile.mkdtemp(prefix="tabia-ray-"))  # private: /tmp/ray may belong to another user
            undo.callback(shutil.rmtree, folder, ignore_errors=True)
            options = _local_options(folder, cpus, object_store)
        else:
            _check_reachable(address)
            options = {"address": address}
        before = _descendants(os.getpid())
        _start(ray, options, address)
        undo.callback(ray.shutdown)
        found = str(ray.get_runtime_context().gcs_address)
        if is_local and not found.startswith(f"{LOOPBACK}:"):
            raise ClusterError(
                f"The local cluster would listen on {found}, not on {LOOPBACK}, because Ray was imported before Tabia "
                "could set it up. Connect before anything imports ray."
            )
        started = set(_descendants(os.getpid())) - set(before) if is_local else ()
        yield Cluster(found, is_local, ray, tuple(started))


def _prepare_local() -> None:
    """Set what Ray reads when it is imported, and what its processes inherit."""
    os.environ.update(_LOCAL_ENVIRONMENT)
    os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))


def _local_options(folder: Path, cpus: int | None, object_store: int) -> dict[str, Any]:
    return {
        "_node_ip_address": LOOPBACK,
        "_temp_dir": str(folder),
        "include_dashboard": False,
        "num_cpus": cpus,
        "object_store_memory": object_store,
    }


def _start(ray: Any, options: dict[str, Any], address: str) -> None:
    """Connect to a cluster or start one, without Ray's own messages."""
    if ray.is_initialized():
        raise ClusterError("This process is connected to a Ray cluster already; leave that one first.")
    try:
        with _same_signals(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ray.init(**options, logging_level=logging.CRITICAL, log_to_driver=False)
    except Exception as error:  # Ray raises errors of many types
        raise ClusterError(f"No connection to the Ray cluster {quote(address)}: {_first_line(error)}") from None


@contextmanager
def _same_signals() -> Iterator[None]:
    """Keep the handler of SIGTERM, which Ray replaces in the main thread."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGTERM) is not before:
            signal.signal(signal.SIGTERM, before)


def _check_reachable(address: str) -> None:
    """Refuse an address where no Ray listens at once; Ray would try for minutes."""
    host, _, port = address.rpartition(":")
    if not host or not port.isascii() or not port.isdecimal() or not 0 < int(port) < 2**16:
        raise ClusterError(f"--ray {quote(address)}: give `{LOCAL}`, or the HOST:PORT of a Ray cluster's head node.")
    try:
        with socket.create_connection((host, int(port)), timeout=_PATIENCE) as connection:
            connection.sendall(_GREETING)
            answer = connection.recv(len(_SETTINGS))
        if answer[3:4] != _SETTINGS[3:4]:
            raise OSError("what listens there is not Ray")
    except (OSError, UnicodeError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ClusterError(
            f"No Ray cluster answers at {address}: {why}. Start its head node with `ray start --head --port={port}`, "
            f"or train with --ray {LOCAL}."
        ) from None


def _first_line(error: Exception) -> str:
    """What an error of Ray says, in one line, with what to do where that is known."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = lines[0] if lines else type(error).__name__
    if "auth" in type(error).__name__.lower() or "token" in text.lower():
        text = f"{text.rstrip('.')}. Set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN_PATH to the file with its token."
    return text


def _node(entry: dict[str, Any]) -> Node:
    resources = entry["Resources"]
    return Node(
        id=entry["NodeID"],
        address=entry["NodeManagerAddress"],
        cpus=resources.get("CPU", 0.0),
        gpus=resources.get("GPU", 0.0),
        object_store=int(resources.get("object_store_memory", 0)),
    )


def _descendants(process: int) -> list[int]:
    """All that a process started, each before its children; empty where the system does not list processes."""
    parents = dict(map(_parent, Path("/proc").glob("[0-9]*/stat")))
    found = [process]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found[1:]


def _parent(listing: Path) -> tuple[int, int]:
    """A process and the one that started it, which follows the name in parentheses and the state."""
    try:
        return int(listing.parent.name), int(listing.read_text(errors="replace").rpartition(")")[2].split()[1])
    except OSError:  # it has ended
        return 0, 0
