"""Who asks: the person, the role and the scopes of a request, however it was signed in."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tabia.server.errors import Forbidden, Unauthorized

PLAY, ANALYZE, READ, BOT, RUNS = "play", "analyze", "read", "bot", "runs"
SCOPES = (PLAY, ANALYZE, READ, BOT, RUNS)
"""What a token may be used for; `runs` starts and stops training runs and is for operators."""


class Role(StrEnum):
    """What a visitor is."""

    STRANGER = "stranger"  # nobody yet: becomes a guest with the first game
    GUEST = "guest"  # known by a cookie, without a password
    BOT = "bot"  # a program, owned by a member
    MEMBER = "member"
    OPERATOR = "operator"
    OWNER = "owner"  # the person at this computer, in local mode


_EVERYONE = frozenset({PLAY, ANALYZE, READ})
ROLE_SCOPES = {
    Role.STRANGER: _EVERYONE,
    Role.GUEST: _EVERYONE,
    Role.BOT: _EVERYONE | {BOT},
    Role.MEMBER: _EVERYONE,
    Role.OPERATOR: _EVERYONE | {RUNS},
    Role.OWNER: frozenset(SCOPES),
}
"""The most that a role may do; a token may allow less."""
_INCLUDED = {
    Role.GUEST: {Role.GUEST, Role.BOT, Role.MEMBER, Role.OPERATOR, Role.OWNER},
    Role.MEMBER: {Role.MEMBER, Role.OPERATOR, Role.OWNER},
    Role.OPERATOR: {Role.OPERATOR, Role.OWNER},
}
"""Who passes for a role; others pass only for themselves."""
_NEEDED = {
    PLAY: "play games",
    ANALYZE: "ask for analyses",
    READ: "read games and ratings",
    BOT: "play as a bot",
    RUNS: "start and stop training runs",
    Role.MEMBER: "do this; it needs an account",
    Role.OPERATOR: "do this; it is for operators",
}


@dataclass(frozen=True)
class Visitor:
    """Who sent a request; `session` is the hash of the cookie's session id, None for tokens and strangers."""

    person: str | None
    name: str
    role: Role
    scopes: frozenset[str]
    address: str
    session: str | None = None

    def require(self, needed: str | Role) -> None:
        """Pass with a scope or a role; otherwise `Unauthorized` for strangers, `Forbidden` for everyone else."""
        if needed in self.scopes if needed in SCOPES else self.is_a(Role(needed)):
            return
        what = _NEEDED.get(needed, "do this")
        if self.role == Role.STRANGER:
            raise Unauthorized(f"Sign in to {what}.")
        raise Forbidden(f"You may not {what}.")

    def require_session(self) -> None:
        """Pass if signed in by cookie: what changes an account is not for tokens."""
        if self.session is None:
            refusal = Unauthorized if self.role == Role.STRANGER else Forbidden
            raise refusal("Sign in on the page to do this; a token is not enough.")

    def is_a(self, role: Role) -> bool:
        """Whether a visitor may do what a role may do."""
        return self.role in _INCLUDED.get(role, {role})


def owner() -> Visitor:
    """The person at this computer: local mode has no accounts."""
    return Visitor(person=None, name="You", role=Role.OWNER, scopes=ROLE_SCOPES[Role.OWNER], address="127.0.0.1")


def stranger(address: str, scopes: frozenset[str] = _EVERYONE) -> Visitor:
    """Somebody without a valid cookie or token."""
    return Visitor(person=None, name="Guest", role=Role.STRANGER, scopes=scopes, address=address)
