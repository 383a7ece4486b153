"""A database: transactions that are on the disk once they end, and a schema that Alembic keeps up to date.

A database of a newer schema than this code knows is refused. `engines` has the two kinds.
"""

from __future__ import annotations

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
from tabia.server.errors import Refused, ServerError, StoreError

_MIGRATIONS = Path(__file__).parent / "migrations"


class AdvisoryLock(IntEnum):
    """What transactions do one after the other, by the number of PostgreSQL's advisory lock."""

    FINISHING = 0x7AB1A0  # ending a game
    ATTEMPTS = 0x7AB1A1  # counting sign-ins
    NAMES = 0x7AB1A2  # taking a name, an invitation or one of a limited number
    SERVING = 0x7AB1A3  # being the server


class Database(ABC):
    """A database by its name in sentences and the engine that connects to it; `advice` ends a refusal."""

    def __init__(self, name: str, engine: sql.Engine, advice: str) -> None:
        self.name, self.engine, self._advice = name, engine, advice

    def upgrade(self) -> None:
        """Bring the schema up to date, creating it in an empty database."""
        with self.opening() as connection:
            _migrate(connection, self.name)

    def check(self) -> None:
        """Refuse a database that does not have the current schema; nothing is written."""
        with self.opening() as connection:
            held, newest = MigrationContext.configure(connection).get_current_revision(), newest_revision()
            if held is None:
                raise StoreError(f"{self.name} holds no games of Tabia; check --db or --data.")
            if held != newest:
                raise StoreError(
                    f"{self.name} has schema {held}, not {newest}; `tabia serve` of this version upgrades it."
                )

    @abstractmethod
    def claim(self) -> AbstractContextManager[Any]:
        """Be the only server of this database, until the block ends: games in progress are in one process's memory."""

    @contextmanager
    def opening(self) -> Iterator[sql.Connection]:
        """The first transaction; if it fails, nothing stays open."""
        try:
            with self._exclusive(), self.engine.begin() as connection:
                yield connection
        except (sql.exc.SQLAlchemyError, OSError) as error:
            self.engine.dispose()
            raise StoreError(f"{self.name} cannot be used: {why(error)}. {self._advice}") from None
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
    def snapshot(self, folder: Path) -> AbstractContextManager[sql.Connection]:
        """A connection that sees one moment, while a server writes; `folder` has space for a copy."""

    @abstractmethod
    def continue_numbers(self, connection: sql.Connection) -> None:
        """Let numbers that the database gives follow those that were restored."""

    @abstractmethod
    def acquire(self, connection: sql.Connection, lock: AdvisoryLock) -> None:
        """Wait until no other transaction holds a lock, and hold it until this one has ended."""

    @abstractmethod
    def _failure(self, error: Exception) -> ServerError:
        """What is said about a failed transaction."""


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    return config


def _scripts() -> ScriptDirectory:
    return ScriptDirectory.from_config(_config())


def newest_revision() -> str:
    """The schema of this version of Tabia."""
    found = _scripts().get_current_head()
    assert found is not None
    return found


def _migrate(connection: sql.Connection, name: str) -> None:
    """Bring the schema up to date, in one transaction."""
    scripts = _scripts()
    held = MigrationContext.configure(connection).get_current_revision()
    if held is not None and held not in {script.revision for script in scripts.walk_revisions()}:
        raise StoreError(f"{name} was written by a newer Tabia (schema {held}); update Tabia to open it.")
    steps = EnvironmentContext(_config(), scripts, fn=lambda found, _: scripts._upgrade_revs("head", found))
    with steps:
        steps.configure(connection=connection, target_metadata=metadata, render_as_batch=True)
        steps.run_migrations()


def why(error: Exception) -> str:
    """The first line of what the database says."""
    return (str(getattr(error, "orig", None) or error).splitlines() or ["no reason given"])[0].rstrip(".")
