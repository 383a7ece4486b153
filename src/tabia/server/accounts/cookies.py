"""The cookies of a session and of a known browser."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass

from starlette.responses import Response

_DEVICE_DAYS = 400  # the longest that browsers keep a cookie


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


@dataclass(frozen=True)
class Devices:
    """Browsers that somebody has signed in from before: the cookie is worth a throttle of its own, nothing more."""

    secret: bytes
    name: str
    secure: bool

    def cookie(self, person: str) -> Cookie:
        """Proof that somebody has signed in as a person from this browser."""
        value = self._signed(secrets.token_urlsafe(12), person)
        return Cookie(self.name, value, 86400 * _DEVICE_DAYS, self.secure)

    def is_known(self, value: str, person: str) -> bool:
        """Whether a cookie is such a proof for this person."""
        expected = self._signed(value.partition(".")[0], person)
        return hmac.compare_digest(value.encode("utf-8", "surrogatepass"), expected.encode("utf-8", "surrogatepass"))

    def _signed(self, nonce: str, person: str) -> str:
        text = f"device {nonce} {person}".encode("utf-8", "surrogatepass")
        return f"{nonce}.{hmac.digest(self.secret, text, hashlib.sha256).hex()}"
