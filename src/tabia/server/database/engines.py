"""The two kinds of database.

SQLite has one connection, a rollback journal and full synchronization; write-ahead logging is not used, because some
versions of SQLite can lose data with it. PostgreSQL has a small pool; a broken connection fails one transaction with
`Unavailable`, and the next one reconnects.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sql

from tabia.core import files
from tabia.core.locks import FileLock
from tabia.server.database.database import AdvisoryLock, Database, why
from tabia.server.database.schema import results
from tabia.server.errors import ServerError, StoreError, Unavailable

FILE = "games.sqlite"
_CLAIMED = "Another server uses {}; stop it first."
_SECONDS = 10  # that a transaction waits for another process


class SQLite(Database):
    """A file, with one connection that one thread uses at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        url = sql.URL.create("sqlite", database=str(path))
        engine = sql.create_engine(
            url,
            poolclass=sql.StaticPool,
            connect_args={"check_same_thread": False, "isolation_level": None, "timeout": _SECONDS},
        )
        sql.event.listen(engine, "connect", _configure)
        sql.event.listen(engine, "begin", _begin)
        super().__init__(str(path), engine, "Choose another place with --data or --db.")

    def upgrade(self) -> None:
        """Create the file if there is none, and bring it up to date."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{self.path} cannot be used: {why(error)}. {self._advice}") from None
        super().upgrade()

    def check(self) -> None:
        """Refuse a file that does not exist; SQLite would create it."""
        if not self.path.is_file():
            raise StoreError(f"{self.path} does not exist; check --db or --data.")
        super().check()

    @contextmanager
    def claim(self) -> Iterator[None]:
        """Hold a lock file beside the database."""
        try:
            with FileLock(self.path.with_name(f"{self.path.name}.lock")):
                yield
        except BlockingIOError:
            raise StoreError(_CLAIMED.format(self.name)) from None

    @contextmanager
    def snapshot(self, folder: Path) -> Iterator[sql.Connection]:
        """A copy by SQLite's backup interface: writers wait while it is made, a second for some hundred megabytes."""
        copy = folder / files.random_name(self.path.name)
        os.close(os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        try:
            with closing(sqlite3.connect(copy)) as target:
                with closing(sqlite3.connect(self.path, timeout=_SECONDS)) as source:
                    source.backup(target)
                if target.execute("PRAGMA integrity_check").fetchone() != ("ok",):
                    raise StoreError(f"{self.path} is damaged; restore an earlier backup.")
            engine = sql.create_engine(sql.URL.create("sqlite", database=str(copy)), poolclass=sql.NullPool)
            with engine.connect() as connection:
                yield connection
        except sqlite3.Error as error:
            raise StoreError(f"{self.path} cannot be copied: {error}.") from None
        finally:
            for left in (copy, copy.with_name(f"{copy.name}-journal")):
                left.unlink(missing_ok=True)

    def continue_numbers(self, connection: sql.Connection) -> None:
        """Nothing: SQLite takes the next one."""

    def _exclusive(self) -> AbstractContextManager[Any]:
        return self._lock

    def acquire(self, connection: sql.Connection, lock: AdvisoryLock) -> None:
        """Nothing: all transactions follow one another."""

    def _failure(self, error: Exception) -> ServerError:
        if "locked" in why(error):
            return Unavailable("The database is used by another program at this moment; try again.")
        return StoreError(f"Nothing was saved: {why(error)}. Make room on the disk and try again.")


class PostgreSQL(Database):
    """A PostgreSQL database by its URL."""

    def __init__(self, url: sql.URL) -> None:
        name = url.set(password=None, query={}).render_as_string().replace("postgresql+psycopg", "postgresql")
        # A commit is acknowledged once it is on the disk, whatever the server's default is.
        options = "-c synchronous_commit=on -c statement_timeout=30s -c lock_timeout=10s"
        try:
            engine = sql.create_engine(
                url.set(drivername="postgresql+psycopg"),
                pool_pre_ping=True,
                pool_size=8,
                max_overflow=8,
                pool_timeout=_SECONDS,
                connect_args={"connect_timeout": 5, "options": options},
            )
        except ModuleNotFoundError as error:
            raise StoreError(f"PostgreSQL needs {error.name}: install tabia[postgres].") from None
        super().__init__(name, engine, "Check the address, the user and that the server runs.")

    @contextmanager
    def claim(self) -> Iterator[None]:
        """Hold an advisory lock, which PostgreSQL releases when the connection ends, even by SIGKILL."""
        lock = sql.select(sql.func.pg_try_advisory_lock(int(AdvisoryLock.SERVING)))
        with self.opening():  # the first connection shows that the server answers
            pass
        with self.engine.connect() as connection:
            until = time.monotonic() + _SECONDS
            while not connection.execute(lock).scalar():
                if time.monotonic() > until:
                    raise StoreError(_CLAIMED.format(self.name))
                time.sleep(0.2)
            connection.commit()
            try:
                yield
            finally:
                connection.invalidate()

    @contextmanager
    def snapshot(self, folder: Path) -> Iterator[sql.Connection]:
        """A transaction that sees one moment."""
        options = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        with self.opening():  # shows whether the server answers
            pass
        with self.engine.connect().execution_options(**options) as connection:
            # A copy of everything may take longer than any request.
            connection.execute(sql.text("SET LOCAL statement_timeout = 0"))
            yield connection

    def continue_numbers(self, connection: sql.Connection) -> None:
        """Set the sequences of columns that number themselves."""
        last = sql.select(sql.func.coalesce(sql.func.max(results.c.id), 1), sql.func.count() > 0).select_from(results)
        highest, used = connection.execute(last).one()
        sequence = sql.func.pg_get_serial_sequence("results", "id")
        connection.execute(sql.select(sql.func.setval(sequence, highest, used)))

    def acquire(self, connection: sql.Connection, lock: AdvisoryLock) -> None:
        """Hold a lock until the transaction has ended."""
        connection.execute(sql.select(sql.func.pg_advisory_xact_lock(int(lock))))

    def _failure(self, error: Exception) -> ServerError:
        if getattr(getattr(error, "orig", None), "sqlstate", None) in ("53100", "53200"):  # disk full, out of memory
            return StoreError(f"Nothing was saved: {why(error)}. Make room on the disk and try again.")
        return Unavailable("The database does not answer at this moment; try again.")


def open_database(where: Path | str) -> Database:
    """The database in a directory (`games.sqlite`) or at a URL, created or upgraded if needed.

    A URL is `sqlite:///FILE` or `postgresql://USER@HOST/NAME`.
    """
    found = _database(where)
    found.upgrade()
    return found


def open_existing(where: Path | str) -> Database:
    """A database that a server of this version has made; nothing is created or upgraded."""
    found = _database(where)
    found.check()
    return found


def _database(where: Path | str) -> Database:
    if isinstance(where, Path):
        return SQLite(where / FILE)
    try:
        url = sql.make_url(where)
    except sql.exc.ArgumentError:
        raise StoreError("A database is sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME.") from None
    if url.get_backend_name() == "sqlite" and url.database and url.database != ":memory:":
        return SQLite(Path(url.database))
    if url.get_backend_name() == "postgresql":
        return PostgreSQL(url)
    raise StoreError(f"A database is sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME, not {url.drivername}.")


def _configure(connection: Any, record: Any) -> None:
    """A commit returns once the disk has it; a file that another program keeps in WAL mode is refused."""
    try:
        mode = connection.execute("PRAGMA journal_mode=DELETE").fetchone()[0]
        if mode != "delete":
            raise StoreError(f"The database is in journal mode {mode} and another program uses it; close that program.")
        for pragma in ("synchronous=FULL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}")
    except Exception:
        connection.close()  # nobody else knows it yet
        raise


def _begin(connection: sql.Connection) -> None:
    """Take the write lock at once: a transaction that reads first could otherwise fail to write later."""
    connection.exec_driver_sql("BEGIN IMMEDIATE")
