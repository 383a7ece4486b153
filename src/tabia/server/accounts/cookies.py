"""The cookies of a session and of a known browser."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import Response


@dataclass(frozen=True)
class Cookie:
    """A cookie to set; without a value, one to remove."""

    name: str
    value: str | None
    seconds: int
    secure: bool

    def put(self, response: Response) -> None:
        """Set or remove the cookie: unreadable for scripts, not sent by other websites' requests."""
        response.set_cookie(
            self.name,
            self.value or "",
            max_age=self.seconds if self.value else 0,
            path="/",
            secure=self.secure,
            httponly=True,
            samesite="lax",
        )


@dataclass(frozen=True)
class CookieNames:
    """The names of the cookies; `__Host-` binds them to this host and to TLS, which loopback does not have."""

    secure: bool

    @property
    def session(self) -> str:
        """The cookie that holds a session id."""
        return "__Host-tabia" if self.secure else "tabia"

    @property
    def device(self) -> str:
        """The cookie by which a browser is known that has signed in before."""
        return "__Host-tabia-device" if self.secure else "tabia-device"
