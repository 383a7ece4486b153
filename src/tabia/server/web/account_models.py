"""What clients send and get about accounts."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from tabia.server.web.models import Body

Name = Annotated[str, Field(min_length=1, max_length=80)]
Password = Annotated[str, Field(max_length=1024)]
Scope = Literal["play", "analyze", "read", "bot", "runs"]
Label = Annotated[str, Field(min_length=1, max_length=60, pattern=r"^[^\x00-\x1f\x7f]+$")]


class SignUpBody(Body):
    """A new account."""

    name: Name
    password: Password
    invite: Annotated[str, Field(max_length=200)] | None = None


class LoginBody(Body):
    """A name and a password."""

    name: Name
    password: Password


class PasswordBody(Body):
    """The password, and the one to have instead."""

    current: Password
    new: Password


class DeleteBody(Body):
    """The password of the account to delete; guests have none."""

    password: Password | None = None


class TokenBody(Body):
    """A token for a program."""

    label: Label
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=5)]


class BotBody(Body):
    """The name of a bot."""

    name: Name


class RatingSummary(BaseModel):
    """A rating in one game."""

    game: str
    rating: float
    deviation: float
    games: int


class AccountState(BaseModel):
    """Who somebody is; strangers have no name."""

    name: str | None
    role: str
    created: str | None = None
    scopes: list[str] = []
    sessions: int = 0
    tokens: int = 0
    ratings: list[RatingSummary] = []


class SessionEntry(BaseModel):
    """A browser that is signed in."""

    id: str
    created: str
    seen: str
    current: bool


class SessionList(BaseModel):
    """The sessions of a person."""

    sessions: list[SessionEntry]


class TokenEntry(BaseModel):
    """A token, without its secret."""

    id: str
    label: str
    scopes: list[str]
    created: str
    used: str | None


class TokenList(BaseModel):
    """The tokens of a person."""

    tokens: list[TokenEntry]


class NewToken(TokenEntry):
    """A token with its secret."""

    token: str


class BotEntry(BaseModel):
    """A bot."""

    id: str
    name: str
    created: str


class BotList(BaseModel):
    """The bots of a person."""

    bots: list[BotEntry]


class NewBot(BotEntry):
    """A bot with its token."""

    token: str
