"""One database, SQLite or PostgreSQL: transactions that are on the disk once they end, and the schema up to date.

SQLite has one connection, a rollback journal and full synchronization; write-ahead logging is not used, because some
versions of SQLite can lose data with it. PostgreSQL has a small pool; a broken connection fails one transaction with
`Unavailable`, and the next one reconnects. The schema is kept by Alembic; a database of a newer version than this code
knows is refused.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from enum import IntEnum
from pathlib import Path
from typing import Any

import sqlalchemy as sql
from alembic.config import Config
from alembic.runtime.environment import EnvironmentContext
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from tabia.server.database.schema import metadata
from tabia.server.errors import Refused, ServerError, StoreError, Unavailable

FILE = "games.sqlite"
_MIGRATIONS = Path(__file__).parent / "migrations"
_SECONDS = 10  # that a transaction waits for another process


class Turn(IntEnum):
    """What transactions do one after the other; the numbers are those of PostgreSQL's advisory locks."""

    FINISHING = 0x7AB1A0  # ending a game
    ATTEMPTS = 0x7AB1A1  # counting sign-ins
    NAMES = 0x7AB1A2  # taking a name, an invitation or one of a limited number


class Database(ABC):
    """A database with the current schema."""

    def __init__(self, name: str, engine: sql.Engine, advice: str) -> None:
        self.name, self.engine = name, engine
        try:
            with self.engine.begin() as connection:
                _migrate(connection, name)
        except (sql.exc.SQLAlchemyError, OSError) as error:
            self.engine.dispose()
            raise StoreError(f"{name} cannot be used: {_why(error)}. {advice}") from None
        except StoreError:
            self.engine.dispose()
            raise

    @contextmanager
    def transaction(self) -> Iterator[sql.Connection]:
        """A connection whose changes are on the disk once the block has ended, all of them or none."""
        try:
            with self._exclusive(), self.engine.begin() as connection:
                yield connection
        except sql.exc.IntegrityError:
            raise  # the caller knows what was not unique
        except (sql.exc.DataError, UnicodeEncodeError):
            raise Refused("The text has characters or a length that cannot be stored.") from None
        except (sql.exc.DBAPIError, sql.exc.TimeoutError) as error:
            raise self._failure(error) from None

    def close(self) -> None:
        """Close all connections."""
        with self._exclusive():
            self.engine.dispose()

    def _exclusive(self) -> AbstractContextManager[Any]:
        """What a transaction waits for."""
        return nullcontext()

    @abstractmethod
    def take_turn(self, connection: sql.Connection, turn: Turn) -> None:
        """Wait until no other transaction has this turn, and hold it until this one has ended."""

    @abstractmethod
    def _failure(self, error: Exception) -> ServerError:
        """What is said about a failed transaction."""


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
        advice = "Choose another place with --data or --db."
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{path} cannot be used: {_why(error)}. {advice}") from None
        super().__init__(str(path), engine, advice)

    def _exclusive(self) -> AbstractContextManager[Any]:
        return self._lock

    def take_turn(self, connection: sql.Connection, turn: Turn) -> None:
        """Nothing: all transactions follow one another."""

    def _failure(self, error: Exception) -> ServerError:
        why = _why(error)
        if "locked" in why:
            return Unavailable("The database is used by another program at this moment; try again.")
        return StoreError(f"Nothing was saved: {why}. Make room on the disk and try again.")


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

    def take_turn(self, connection: sql.Connection, turn: Turn) -> None:
        """Hold a lock until the transaction has ended."""
        connection.execute(sql.select(sql.func.pg_advisory_xact_lock(int(turn))))

    def _failure(self, error: Exception) -> ServerError:
        if getattr(getattr(error, "orig", None), "sqlstate", None) in ("53100", "53200"):  # disk full, out of memory
            return StoreError(f"Nothing was saved: {_why(error)}. Make room on the disk and try again.")
        return Unavailable("The database does not answer at this moment; try again.")


def open_database(where: Path | str) -> Database:
    """The database in a directory (`games.sqlite`), or at a URL: `sqlite:///FILE` or `postgresql://USER@HOST/NAME`."""
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


def _migrate(connection: sql.Connection, name: str) -> None:
    """Bring the schema up to date, in one transaction."""
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    scripts = ScriptDirectory.from_config(config)
    held = MigrationContext.configure(connection).get_current_revision()
    if held is not None and held not in {script.revision for script in scripts.walk_revisions()}:
        raise StoreError(f"{name} was written by a newer Tabia (schema {held}); update Tabia to open it.")
    steps = EnvironmentContext(config, scripts, fn=lambda found, _: scripts._upgrade_revs("head", found))
    with steps:
        steps.configure(connection=connection, target_metadata=metadata, render_as_batch=True)
        steps.run_migrations()


def _configure(connection: Any, record: Any) -> None:
    """A commit returns once the disk has it."""
    cursor = connection.cursor()
    for pragma in ("journal_mode=DELETE", "synchronous=FULL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin(connection: sql.Connection) -> None:
    """Take the write lock at once: a transaction that reads first could otherwise fail to write later."""
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _why(error: Exception) -> str:
    """The first line of what the database says."""
    return (str(getattr(error, "orig", None) or error).splitlines() or ["no reason given"])[0].rstrip(".")
