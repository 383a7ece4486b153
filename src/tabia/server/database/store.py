"""Games on disk: SQLite with a rollback journal and full synchronization, one connection that writes.

What a method has returned from is on the disk. The schema is kept by Alembic; a database of a newer version than this
code knows is refused.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sql
from alembic.config import Config
from alembic.runtime.environment import EnvironmentContext
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from tabia.server.errors import ServerError

FILE = "games.sqlite"
_MIGRATIONS = Path(__file__).parent / "migrations"

metadata = sql.MetaData()
games = sql.Table(
    "games",
    metadata,
    sql.Column("id", sql.String(32), primary_key=True),
    sql.Column("game", sql.String(400), nullable=False),
    sql.Column("rules", sql.Integer, nullable=False),  # the version of the game's rules
    sql.Column("seed", sql.Integer, nullable=False),
    sql.Column("seats", sql.Text, nullable=False),  # JSON
    sql.Column("opening", sql.Integer, nullable=False),
    sql.Column("created", sql.String(40), nullable=False, index=True),
    sql.Column("version", sql.Integer, nullable=False),
    sql.Column("resigned", sql.Integer, nullable=True),
    sql.Column("plies", sql.Integer, nullable=False),
    sql.Column("result", sql.Text, nullable=True),  # JSON, once the game is over
)
moves = sql.Table(
    "moves",
    metadata,
    sql.Column("game_id", sql.String(32), sql.ForeignKey("games.id"), primary_key=True),
    sql.Column("ply", sql.Integer, primary_key=True),
    sql.Column("action", sql.Integer, nullable=False),
)


@dataclass(frozen=True)
class Saved:
    """A game as it is stored."""

    id: str
    game: str
    rules: int
    seed: int
    seats: list[dict[str, Any]]
    opening: int
    created: str
    version: int
    resigned: int | None
    actions: tuple[int, ...]
    result: dict[str, Any] | None


class StoreError(ServerError):
    """A database that cannot be used, or not any more."""

    status = 507


class Store:
    """The games in a directory."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / FILE
        self._lock = threading.Lock()
        url = sql.URL.create("sqlite", database=str(self.path))
        self._engine = sql.create_engine(url, poolclass=sql.StaticPool, connect_args={"check_same_thread": False})
        sql.event.listen(self._engine, "connect", _configure)
        try:
            directory.mkdir(parents=True, exist_ok=True)
            self._migrate()
        except (sql.exc.SQLAlchemyError, OSError) as error:
            why = str(getattr(error, "orig", None) or error)
            raise StoreError(f"{self.path} cannot be used: {why}. Choose another directory with --data.") from None

    def _migrate(self) -> None:
        """Bring the schema up to date, in one transaction."""
        config = Config()
        config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
        scripts = ScriptDirectory.from_config(config)
        with self._engine.begin() as connection:
            held = MigrationContext.configure(connection).get_current_revision()
            if held is not None and held not in {script.revision for script in scripts.walk_revisions()}:
                raise StoreError(f"{self.path} was written by a newer Tabia (schema {held}); update Tabia to open it.")
            steps = EnvironmentContext(config, scripts, fn=lambda found, _: scripts._upgrade_revs("head", found))
            with steps:
                steps.configure(connection=connection, target_metadata=metadata, render_as_batch=True)
                steps.run_migrations()

    @contextmanager
    def _transaction(self) -> Iterator[sql.Connection]:
        try:
            with self._lock, self._engine.begin() as connection:
                yield connection
        except sql.exc.DBAPIError as error:
            raise StoreError(f"Nothing was saved: {error.orig}. Make room on the disk and try again.") from None

    def save(self, saved: Saved) -> None:
        """Write a game as it is now: all of it or, after a crash, none of it."""
        fields = {
            "id": saved.id,
            "game": saved.game,
            "rules": saved.rules,
            "seed": saved.seed,
            "seats": json.dumps(saved.seats),
            "opening": saved.opening,
            "created": saved.created,
            "version": saved.version,
            "resigned": saved.resigned,
            "plies": len(saved.actions),
            "result": None if saved.result is None else json.dumps(saved.result),
        }
        with self._transaction() as connection:
            old = connection.execute(sql.select(games.c.plies).where(games.c.id == saved.id)).scalar()
            if old is None:
                connection.execute(games.insert().values(**fields))
            else:
                connection.execute(games.update().where(games.c.id == saved.id).values(**fields))
            self._save_moves(connection, saved)

    def _save_moves(self, connection: sql.Connection, saved: Saved) -> None:
        query = sql.select(moves.c.action).where(moves.c.game_id == saved.id).order_by(moves.c.ply)
        held = connection.execute(query).scalars().all()
        kept = 0
        while kept < min(len(held), len(saved.actions)) and held[kept] == saved.actions[kept]:
            kept += 1
        if kept < len(held):
            connection.execute(moves.delete().where(moves.c.game_id == saved.id, moves.c.ply >= kept))
        rows = [
            {"game_id": saved.id, "ply": ply, "action": saved.actions[ply]} for ply in range(kept, len(saved.actions))
        ]
        if rows:
            connection.execute(moves.insert(), rows)

    def load(self, id: str) -> Saved | None:
        """A game by its id."""
        with self._transaction() as connection:
            row = connection.execute(sql.select(games).where(games.c.id == id)).mappings().first()
            if row is None:
                return None
            query = sql.select(moves.c.action).where(moves.c.game_id == id).order_by(moves.c.ply)
            return _saved(dict(row), tuple(connection.execute(query).scalars()))

    def listed(self, *, finished: bool | None = None, game: str | None = None, limit: int = 50) -> list[Saved]:
        """The newest games, without their moves but with as many zeros as they have plies."""
        query = sql.select(games).order_by(games.c.created.desc()).limit(limit)
        if finished is not None:
            query = query.where(games.c.result.is_not(None) if finished else games.c.result.is_(None))
        if game is not None:
            query = query.where(games.c.game == game)
        with self._transaction() as connection:
            return [_saved(dict(row), (0,) * row["plies"]) for row in connection.execute(query).mappings()]

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._engine.dispose()


def _saved(row: dict[str, Any], actions: tuple[int, ...]) -> Saved:
    return Saved(
        id=row["id"],
        game=row["game"],
        rules=row["rules"],
        seed=row["seed"],
        seats=json.loads(row["seats"]),
        opening=row["opening"],
        created=row["created"],
        version=row["version"],
        resigned=row["resigned"],
        actions=actions,
        result=None if row["result"] is None else json.loads(row["result"]),
    )


def _configure(connection: Any, record: Any) -> None:
    """A commit returns once the disk has it; no WAL, whose older versions could lose data."""
    cursor = connection.cursor()
    for pragma in ("journal_mode=DELETE", "synchronous=FULL", "foreign_keys=ON", "busy_timeout=2000"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()
