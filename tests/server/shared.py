"""A server for several people, and browsers that visit it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from tabia.server.accounts import invites
from tabia.server.accounts.accounts import AccountOptions, Accounts
from tabia.server.accounts.passwords import Hashing
from tabia.server.accounts.visitor import stranger
from tabia.server.clock import ManualClock
from tabia.server.database.schema import metadata, settings
from tabia.server.web.app import create_app
from tabia.server.web.context import make_context
from tests.server.running import run

HOST = "testserver"
CHEAP = Hashing(memory_kib=8, passes=1, lanes=1)
PASSWORD = "violet anchor sings twice"


class Shared:
    """A shared server and its browsers."""

    def __init__(self, folder: Path, where: Path | str, **options: Any) -> None:
        self.clock = ManualClock()
        self.parts = make_context(
            ("tictactoe",),
            data=where,
            runs=folder / "runs",
            sizes=(1,),
            people=AccountOptions(secure=False, hashing=CHEAP, **options),
            clock=self.clock,
        )
        self.app = create_app(self.parts, hosts=(HOST,), page=folder)
        self._stop = TestClient(self.app)
        self._stop.__enter__()

    def browser(self, address: str = "192.0.2.1") -> TestClient:
        """A browser without cookies."""
        return TestClient(self.app, client=(address, 50000))

    def member(self, name: str = "Ada", address: str = "192.0.2.1") -> TestClient:
        """A browser in which somebody has signed up."""
        found = self.browser(address)
        answer = found.post("/api/v1/account", json={"name": name, "password": PASSWORD, "invite": self.invite()})
        assert answer.status_code == 201, answer.text
        return found

    def guest(self, address: str = "192.0.2.1") -> TestClient:
        """A browser of somebody who has started a game."""
        found = self.browser(address)
        _, cookie = run(self.accounts.ensure_person(stranger(address)))
        assert cookie is not None and cookie.value is not None
        found.cookies.set(cookie.name, cookie.value, domain=f"{HOST}.local")
        return found

    def invite(self) -> str:
        """An invitation: it takes the place of the quota of an address."""
        with self.accounts.database.transaction() as connection:
            return invites.create(connection, self.clock)

    @property
    def accounts(self) -> Accounts:
        """The accounts of the server."""
        assert self.parts.accounts is not None
        return self.parts.accounts

    def clean(self) -> None:
        """As after the first start, at another day."""
        self.clock.advance(1000 * 86400)
        with self.accounts.database.transaction() as connection:
            for table in reversed(metadata.sorted_tables):
                if table is not settings:
                    connection.execute(table.delete())

    def close(self) -> None:
        """Stop the server."""
        self._stop.__exit__(None, None, None)
        self.parts.worker.join()
