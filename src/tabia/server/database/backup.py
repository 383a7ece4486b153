"""Backups: all tables of one moment as lines of JSON, for either database, with a checksum.

A file starts with a line about itself. Then comes, for every table, a line with its columns and a line for each row,
in an order that does not depend on the database. The last line has the number of rows and the SHA-256 of all lines
between the first and the last, so equal checksums mean equal data. Restoring compares them again with what was stored.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import sqlalchemy as sql

from tabia.core import files
from tabia.server.clock import Clock
from tabia.server.database.database import Database, newest_revision
from tabia.server.database.engines import open_database
from tabia.server.database.schema import metadata, people
from tabia.server.errors import StoreError

FORMAT, VERSION = "tabia-backup", 1
_BATCH = 1000  # rows read and written at once
_LONGEST_LINE = 64 * files.MEGABYTE


@dataclass(frozen=True)
class Contents:
    """What a backup holds."""

    rows: dict[str, int]
    sha256: str

    @property
    def total(self) -> int:
        """The number of rows."""
        return sum(self.rows.values())


def backup(database: Database, path: Path, clock: Clock) -> Contents:
    """Write a backup of this moment to a new file, completely or not at all; the server may be running."""
    if files.exists(path):
        raise StoreError(f"{path} exists; choose another name for the backup.")
    try:
        with _written(path) as file, database.snapshot(path.parent) as connection:
            schema = newest_revision()
            file.write(_line({"format": FORMAT, "version": VERSION, "schema": schema, "created": clock.stamp()}))
            contents = _write_tables(connection, file)
            file.write(_line({"end": True, "rows": contents.rows, "sha256": contents.sha256}))
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror or error}.") from None
    return contents


def restore(where: Path | str, path: Path) -> Contents:
    """Fill an empty database from a backup, completely or not at all."""
    held = read(path)
    database = open_database(where)
    try:
        with database.transaction() as connection:
            _check_empty(connection, database.name)
            for table, rows in _tables(path):
                _insert(connection, table, rows)
            database.continue_numbers(connection)
            if digest(connection) != held:
                raise StoreError(f"{database.name} did not store what {path} holds; nothing was restored.")
    except (ValueError, TypeError, sql.exc.SQLAlchemyError):
        raise StoreError(f"{path} has rows that do not fit this version of Tabia; nothing was restored.") from None
    finally:
        database.close()
    return held


def read(path: Path) -> Contents:
    """What a backup holds; StoreError if it is not complete or was changed."""
    found, rows, table, last = hashlib.sha256(), dict[str, int](), "", dict[str, Any]()
    for number, (line, value) in enumerate(_lines(path)):
        if number == 0:
            _check_first(value, path)
        elif isinstance(value, dict) and "end" in value:
            last = value
        else:
            found.update(line)
            table = str(value.get("table")) if isinstance(value, dict) else table
            rows[table] = rows.get(table, 0) + isinstance(value, list)
    contents = Contents(rows, found.hexdigest())
    if last.get("sha256") != contents.sha256 or last.get("rows") != rows or set(rows) != set(metadata.tables):
        raise StoreError(f"{path} is not complete or was changed; use another backup.")
    return contents


def digest(connection: sql.Connection) -> Contents:
    """The contents of a database, as a backup of this moment would have them."""
    return _write_tables(connection, None)


def _write_tables(connection: sql.Connection, file: BinaryIO | None) -> Contents:
    """Write all tables, or only count and hash them."""
    found, rows = hashlib.sha256(), {}
    for table in metadata.sorted_tables:
        rows[table.name] = -1  # for the line of its columns
        for line in _table_lines(connection, table):
            found.update(line)
            rows[table.name] += 1
            if file is not None:
                file.write(line)
    return Contents(rows, found.hexdigest())


def _table_lines(connection: sql.Connection, table: sql.Table) -> Iterator[bytes]:
    yield _line({"table": table.name, "columns": [column.name for column in table.columns]})
    query = sql.select(table).order_by(*_order(connection, table)).execution_options(yield_per=_BATCH)
    for row in connection.execute(query):
        yield _line(list(row))


def _order(connection: sql.Connection, table: sql.Table) -> list[sql.ColumnElement[Any]]:
    """By key, compared byte by byte in both databases; people after those who own them."""
    first: list[sql.ColumnElement[Any]] = [people.c.owner_id.is_not(None)] if table is people else []
    plain = "C" if connection.dialect.name == "postgresql" else "BINARY"
    is_text = [isinstance(column.type, sql.String) for column in table.primary_key]
    keys = zip(table.primary_key, is_text, strict=True)
    return first + [sql.collate(column, plain) if text else column for column, text in keys]


def _insert(connection: sql.Connection, table: sql.Table, rows: Iterator[list[Any]]) -> None:
    names = [column.name for column in table.columns]
    while batch := [dict(zip(names, row, strict=True)) for row in itertools.islice(rows, _BATCH)]:
        connection.execute(table.insert(), batch)


def _tables(path: Path) -> Iterator[tuple[sql.Table, Iterator[list[Any]]]]:
    """The tables of a backup that was read before, each with its rows."""
    groups = itertools.groupby(_labeled(path), key=lambda pair: pair[0])
    for name, pairs in groups:
        yield metadata.tables[name], (row for _, row in pairs)


def _labeled(path: Path) -> Iterator[tuple[str, list[Any]]]:
    table = ""
    for _, value in _lines(path):
        if isinstance(value, list):
            yield table, value
        else:
            table = value.get("table", table)


def _lines(path: Path) -> Iterator[tuple[bytes, Any]]:
    try:
        with files.open_regular(path) as file:
            while line := file.readline(_LONGEST_LINE):
                yield line, json.loads(line)
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror or error}.") from None
    except (ValueError, RecursionError):
        raise StoreError(f"{path} is not a backup of Tabia, or it is damaged.") from None


def _check_first(value: Any, path: Path) -> None:
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise StoreError(f"{path} is not a backup of Tabia.")
    if value.get("version") != VERSION or value.get("schema") != newest_revision():
        raise StoreError(
            f"{path} was written with schema {value.get('schema')}, and this version of Tabia has {newest_revision()}; "
            "restore it with the version that wrote it."
        )


def _check_empty(connection: sql.Connection, name: str) -> None:
    for table in metadata.sorted_tables:
        if connection.execute(sql.select(sql.literal(1)).select_from(table).limit(1)).first() is not None:
            raise StoreError(f"{name} is not empty; restore into a new database.")


@contextmanager
def _written(path: Path) -> Iterator[BinaryIO]:
    """A file, readable for its owner only, that appears under its name once it is complete and on the disk."""
    aside = path.parent / files.random_name(path.name)
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.link(aside, path)  # unlike a rename, this does not replace a file
    except FileExistsError:
        raise StoreError(f"{path} exists; choose another name for the backup.") from None
    finally:
        aside.unlink(missing_ok=True)
    files.sync_directory(path.parent)


def _line(value: dict[str, Any] | list[Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
