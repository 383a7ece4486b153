"""`tabia serve people` and `tabia serve invite`: what an operator does with accounts; the server may be running."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tabia.cli.extras import needs_server
from tabia.cli.groups import CommandGroup
from tabia.cli.options import Json

if TYPE_CHECKING:
    from tabia.server.accounts.operators import Operators
    from tabia.server.database.database import Database

Name = Annotated[str, typer.Argument(help="The name of an account.")]
DatabaseUrl = Annotated[
    str | None,
    typer.Option("--db", metavar="URL", envvar="TABIA_DB", show_envvar=False, help="The database, as for the server."),
]
Data = Annotated[Path | None, typer.Option(metavar="DIR", help="The data directory, as for the server.")]
Count = Annotated[int, typer.Option(min=1, max=1000, help="Number of invitations.")]
Days = Annotated[float, typer.Option(min=0.01, max=365, help="Days until they expire.")]

app = typer.Typer(cls=CommandGroup, no_args_is_help=True, help="List, reset, ban and promote the accounts of a server.")


def place(db: str | None, data: Path | None) -> Path | str:
    """Where the database of a server is."""
    from tabia.server.paths import server_directory

    return db or data or server_directory()


@contextmanager
def opened(db: str | None, data: Path | None) -> Iterator[Database]:
    """The database of a server, which has to exist."""
    with needs_server():
        from tabia.server.database.engines import open_existing
    database = open_existing(place(db, data))
    try:
        yield database
    finally:
        database.close()


@contextmanager
def _operators(db: str | None, data: Path | None) -> Iterator[Operators]:
    with opened(db, data) as database:
        from tabia.server.accounts.operators import Operators
        from tabia.server.clock import Clock

        yield Operators(database, Clock())


@app.command("list")
def list_people(as_json: Json = False, db: DatabaseUrl = None, data: Data = None) -> None:
    """List the accounts: name, role, date of creation, last visit.

    Example: [bold]tabia serve people list[/]
    """
    from tabia.cli.printing import console, escape, print_json, table

    with _operators(db, data) as operators:
        found = operators.listed()
    if as_json:
        print_json(found)
        return
    listed = table("name", "role", "since", "seen", "banned")
    for row in found:
        days = [(row[key] or "")[:10] for key in ("created", "seen", "banned")]
        listed.add_row(escape(row["name"]), row["role"], *days)
    console().print(listed)


@app.command()
def reset(name: Name, db: DatabaseUrl = None, data: Data = None) -> None:
    """Set a new random password for an account, and sign out all of its browsers.

    Example: [bold]tabia serve people reset ada[/]
    """
    with _operators(db, data) as operators:
        from tabia.server.accounts.passwords import Hashing

        password = operators.reset(name, Hashing())
    typer.echo(f"The new password of {name} is {password}; it can be changed after signing in.")


@app.command()
def ban(name: Name, db: DatabaseUrl = None, data: Data = None) -> None:
    """Sign out an account and its bots, and block them until `unban`.

    Example: [bold]tabia serve people ban eve[/]
    """
    with _operators(db, data) as operators:
        operators.ban(name)
    typer.echo(f"{name} is banned.")


@app.command()
def unban(name: Name, db: DatabaseUrl = None, data: Data = None) -> None:
    """Let a banned account sign in again.

    Example: [bold]tabia serve people unban eve[/]
    """
    with _operators(db, data) as operators:
        operators.unban(name)
    typer.echo(f"{name} can sign in again.")


@app.command()
def operator(
    name: Name,
    remove: Annotated[bool, typer.Option("--remove", help="Make an operator a member again.")] = False,
    db: DatabaseUrl = None,
    data: Data = None,
) -> None:
    """Make a member an operator, who may start and stop training runs on the page.

    Example: [bold]tabia serve people operator ada[/]
    """
    with _operators(db, data) as operators:
        (operators.demote if remove else operators.promote)(name)
    typer.echo(f"{name} is {'a member' if remove else 'an operator'}.")


def invite(count: Count = 1, days: Days = 14.0, db: DatabaseUrl = None, data: Data = None) -> None:
    """Print invitations, one per line; each is valid for one account.

    Example: [bold]tabia serve invite --count 30 --days 7[/]
    """
    with opened(db, data) as database:
        from tabia.server.accounts import invites
        from tabia.server.clock import Clock

        with database.transaction() as connection:
            codes = [invites.create(connection, Clock(), days) for _ in range(count)]
    for code in codes:
        typer.echo(code)
