"""The databases that the tests use: SQLite files, and a PostgreSQL server that is started for the session."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from pathlib import Path

import sqlalchemy as sql

from tests.server.running import free_port


def _programs() -> Path | None:
    """The folder of PostgreSQL's programs: Debian keeps them out of the path."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


class Postgres:
    """A PostgreSQL server in a temporary folder; `fsync` is for tests that kill it."""

    def __init__(self, *, fsync: bool = False) -> None:
        programs = _programs()
        if programs is None:
            raise RuntimeError("The tests need PostgreSQL: install your system's package postgresql.")
        self._programs = programs
        self._as: list[str] = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
        self.folder = Path(tempfile.mkdtemp(prefix="tabia-pg-"))
        if self._as:
            shutil.chown(self.folder, "postgres")
        self.data, self.port = self.folder / "data", free_port()
        self._run("initdb", "-D", str(self.data), "-U", "tabia", "-A", "trust", "--no-sync", "-E", "UTF8")
        settings = {
            "port": self.port,
            "listen_addresses": "'127.0.0.1'",
            "unix_socket_directories": f"'{self.folder}'",
            "fsync": "on" if fsync else "off",
            "shared_buffers": "'16MB'",
            "max_connections": 60,
        }
        lines = "".join(f"{key} = {value}\n" for key, value in settings.items())
        with (self.data / "postgresql.conf").open("a", encoding="utf-8") as file:
            file.write(lines)
        self.start()

    def start(self) -> None:
        """Start the server and wait until it answers."""
        self._run("pg_ctl", "-D", str(self.data), "-w", "-t", "60", "-l", str(self.folder / "log"), "start")

    def stop(self, how: str = "fast") -> None:
        """Stop the server."""
        self._run("pg_ctl", "-D", str(self.data), "-w", "-m", how, "stop")

    def kill(self) -> None:
        """SIGKILL all of its processes, as a power cut would."""
        main = int((self.data / "postmaster.pid").read_text(encoding="utf-8").split()[0])
        children = subprocess.run(["pgrep", "-P", str(main)], capture_output=True, text=True, check=False).stdout
        processes = [main, *map(int, children.split())]
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        while any(_state(process) != "Z" for process in processes):
            time.sleep(0.01)
        # Where nothing collects zombies, the old server still seems to run.
        for lock in (self.data / "postmaster.pid", *self.folder.glob(".s.PGSQL.*.lock")):
            lock.unlink()

    def close(self) -> None:
        """Stop the server and remove its folder."""
        if (self.data / "postmaster.pid").exists():
            self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    def create(self) -> str:
        """A new, empty database; its URL."""
        name = f"test_{uuid.uuid4().hex[:12]}"
        engine = sql.create_engine(self.url("postgres"), isolation_level="AUTOCOMMIT", poolclass=sql.NullPool)
        with engine.connect() as connection:
            connection.execute(sql.text(f"CREATE DATABASE {name}"))
        engine.dispose()
        return self.url(name)

    def url(self, name: str) -> str:
        """The URL of a database."""
        return f"postgresql+psycopg://tabia@127.0.0.1:{self.port}/{name}"

    def _run(self, program: str, *arguments: str) -> None:
        command = [*self._as, str(self._programs / program), *arguments]
        done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False, close_fds=True)
        if done.returncode != 0:
            log = self.folder / "log"
            said = log.read_text(encoding="utf-8")[-2000:] if log.exists() else ""
            raise RuntimeError(f"{program} failed: {done.stdout}{done.stderr}{said}")


def _state(process: int) -> str:
    """The state of a process; one that has gone counts as a zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return "Z"
