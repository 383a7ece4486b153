"""How a server is used: by the person at this computer (`tabia play`), or by people with accounts (`tabia serve`)."""

from __future__ import annotations

from dataclasses import dataclass

LOCAL_HOSTS = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True)
class Service:
    """What the parts of a server need to know about how it is used."""

    shared: bool = False  # people have accounts; otherwise the only visitor is the owner of this computer
    secure: bool = False  # browsers reach it by HTTPS, so cookies are `Secure` and carry the prefix `__Host-`
    invite_only: bool = False  # signing up needs an invitation
    database: str | None = None  # the URL of a database; None: SQLite in the data directory
    hosts: tuple[str, ...] = LOCAL_HOSTS  # the names in `Host` that are answered

    @property
    def mode(self) -> str:
        """`local` or `shared`, as the catalog says."""
        return "shared" if self.shared else "local"


LOCAL = Service()
