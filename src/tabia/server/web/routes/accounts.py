"""Accounts: sign up, sign in and out, sessions, tokens, bots, export and deletion. Local mode has none of it."""

from __future__ import annotations

from typing import Annotated, Any

import sqlalchemy as sql
from fastapi import APIRouter, Path, Request, Response

from tabia.server.accounts import names, people, privacy, sessions, tokens
from tabia.server.accounts.accounts import Accounts
from tabia.server.accounts.cookies import Cookie
from tabia.server.accounts.visitor import ROLE_SCOPES, Role, Visitor
from tabia.server.database.database import AdvisoryLock
from tabia.server.errors import Forbidden, NotFound, Refused
from tabia.server.web import context
from tabia.server.web.account_models import (
    AccountState,
    BotBody,
    BotEntry,
    BotList,
    DeleteBody,
    LoginBody,
    NewBot,
    NewToken,
    PasswordBody,
    RatingSummary,
    SessionEntry,
    SessionList,
    SignUpBody,
    TokenBody,
    TokenEntry,
    TokenList,
)

router = APIRouter(prefix="/api/v1")
Id = Annotated[str, Path(min_length=1, max_length=32, pattern=r"^[A-Za-z0-9_-]+$")]
Name = Annotated[str, Path(min_length=1, max_length=40)]


def _accounts(request: Request) -> Accounts:
    found = context.of(request).accounts
    if found is None:
        raise NotFound("There are no accounts here: this server is for the person at this computer.")
    return found


async def _member(request: Request) -> tuple[Accounts, Visitor, str]:
    """Who changes an account: somebody who is signed in by cookie."""
    accounts, visitor = _accounts(request), await context.visitor(request)
    visitor.require(Role.MEMBER)
    visitor.require_session()
    assert visitor.person is not None
    return accounts, visitor, visitor.person


def _put(response: Response, cookies: list[Cookie]) -> None:
    for cookie in cookies:
        cookie.put(response)


async def _close_ended(request: Request, person: str | None) -> None:
    """Close the screens and streams of sessions that have ended."""
    if person is not None:
        await context.of(request).hub.games.connections.recheck(person, _accounts(request).is_current)


@router.get("/account")
async def show(request: Request) -> AccountState:
    """Who I am here."""
    return await _state(_accounts(request), await context.visitor(request))


async def _state(accounts: Accounts, visitor: Visitor) -> AccountState:
    person = visitor.person
    if person is None:
        return AccountState(name=None, role=visitor.role.value)

    def read(connection: sql.Connection) -> AccountState:
        row = people.get(connection, person)
        return AccountState(
            name=row.name,
            role=row.role,
            created=row.created,
            scopes=sorted(visitor.scopes),
            sessions=len(sessions.listed(connection, person, None)),
            tokens=len(tokens.listed(connection, person)),
            ratings=[RatingSummary(**row) for row in people.rating_summary(connection, person)],
        )

    return await accounts.transact(read)


@router.post("/account", status_code=201)
async def sign_up(request: Request, response: Response, body: SignUpBody) -> AccountState:
    """Create an account; a guest's games and ratings become its own."""
    accounts, visitor = _accounts(request), await context.visitor(request)
    found, cookies = await accounts.sign_up(visitor, body.name, body.password, body.invite)
    _put(response, cookies)
    return await _state(accounts, found)


@router.post("/login")
async def login(request: Request, response: Response, body: LoginBody) -> AccountState:
    """Sign in."""
    accounts, visitor = _accounts(request), await context.visitor(request)
    found, cookies = await accounts.login(visitor, body.name, body.password, request.cookies)
    _put(response, cookies)
    return await _state(accounts, found)


@router.post("/logout", status_code=204)
async def logout(request: Request, response: Response) -> None:
    """Sign out: the session ends at the server too, and so do its screens."""
    visitor = await context.visitor(request)
    _put(response, await _accounts(request).logout(visitor))
    await _close_ended(request, visitor.person)


@router.post("/account/password")
async def change_password(request: Request, response: Response, body: PasswordBody) -> AccountState:
    """Another password; other browsers are signed out."""
    accounts, visitor, person = await _member(request)
    found, cookies = await accounts.change_password(visitor, body.current, body.new)
    await _close_ended(request, person)
    _put(response, cookies)
    return await _state(accounts, found)


@router.get("/account/export")
async def export(request: Request, response: Response) -> dict[str, Any]:
    """Everything stored about me, as a download."""
    accounts, visitor = _accounts(request), await context.visitor(request)
    visitor.require(Role.GUEST)
    visitor.require_session()
    person = visitor.person
    assert person is not None
    response.headers["content-disposition"] = 'attachment; filename="tabia-account.json"'
    return await accounts.transact(lambda connection: privacy.export(connection, person))


@router.delete("/account", status_code=204)
async def delete(request: Request, response: Response, body: DeleteBody) -> None:
    """Delete my account; my games stay without my name."""
    accounts, visitor = _accounts(request), await context.visitor(request)
    visitor.require(Role.GUEST)
    visitor.require_session()
    person = visitor.person
    assert person is not None
    with accounts.passwords.queued():
        await accounts.confirm(visitor, body.password or "")
    await accounts.transact(lambda connection: privacy.delete(connection, person), AdvisoryLock.FINISHING)
    _put(response, await accounts.logout(visitor))
    context.of(request).hub.disconnect(person=person)


@router.get("/account/sessions")
async def list_sessions(request: Request) -> SessionList:
    """Where I am signed in."""
    accounts, visitor, person = await _member(request)
    found = await accounts.transact(lambda connection: sessions.listed(connection, person, visitor.session))
    return SessionList(sessions=[SessionEntry(**session) for session in found])


@router.delete("/account/sessions", status_code=204)
async def end_other_sessions(request: Request) -> None:
    """Sign out all other browsers."""
    accounts, visitor, person = await _member(request)
    await accounts.transact(lambda connection: sessions.end_all(connection, person, but=visitor.session))
    await _close_ended(request, person)


@router.delete("/account/sessions/{id}", status_code=204)
async def end_session(request: Request, id: Id) -> None:
    """Sign out one browser."""
    accounts, _, person = await _member(request)
    await accounts.transact(lambda connection: sessions.end_one(connection, person, id))
    await _close_ended(request, person)


@router.get("/account/tokens")
async def list_tokens(request: Request) -> TokenList:
    """My tokens, without the secrets."""
    accounts, _, person = await _member(request)
    found = await accounts.transact(lambda connection: tokens.listed(connection, person))
    return TokenList(tokens=[TokenEntry(**token) for token in found])


@router.post("/account/tokens", status_code=201)
async def create_token(request: Request, body: TokenBody) -> NewToken:
    """A new token for a program; its secret is in this answer only."""
    accounts, visitor, person = await _member(request)
    beyond = sorted(set(body.scopes) - ROLE_SCOPES[visitor.role])
    if beyond:
        raise Forbidden(f"Your tokens cannot have the scope {beyond[0]}.")
    made = await accounts.transact(
        lambda connection: tokens.create(connection, person, body.label, list(body.scopes), accounts.clock),
        AdvisoryLock.NAMES,
    )
    return NewToken(**made)


@router.delete("/account/tokens/{id}", status_code=204)
async def remove_token(request: Request, id: Id) -> None:
    """End a token."""
    accounts, _, person = await _member(request)
    await accounts.transact(lambda connection: tokens.remove(connection, person, id))


@router.get("/account/bots")
async def list_bots(request: Request) -> BotList:
    """My bots."""
    accounts, _, person = await _member(request)
    found = await accounts.transact(lambda connection: people.bots(connection, person))
    return BotList(bots=[BotEntry(**bot) for bot in found])


@router.post("/account/bots", status_code=201)
async def create_bot(request: Request, body: BotBody) -> NewBot:
    """An account for a program, which I own; its token is in this answer only."""
    accounts, _, person = await _member(request)
    name = names.check(body.name)

    def create(connection: sql.Connection) -> NewBot:
        people.check_free(connection, name)
        if len(people.bots(connection, person)) >= people.MOST_BOTS:
            raise Refused(f"You have {people.MOST_BOTS} bots; remove one that you do not use.")
        bot = people.add(connection, name=name, role=Role.BOT, clock=accounts.clock, owner_id=person)
        made = tokens.create(connection, bot, name, sorted(ROLE_SCOPES[Role.BOT]), accounts.clock)
        return NewBot(id=bot, name=name, created=made["created"], token=made["token"])

    return await accounts.transact(create, AdvisoryLock.NAMES)


@router.delete("/account/bots/{name}", status_code=204)
async def remove_bot(request: Request, name: Name) -> None:
    """Delete a bot of mine; its games stay without its name."""
    accounts, _, person = await _member(request)

    def remove(connection: sql.Connection) -> None:
        row = people.find(connection, name)
        if row is None or row.owner_id != person:
            raise NotFound("You have no bot with this name.")
        privacy.delete(connection, row.id)

    await accounts.transact(remove, AdvisoryLock.FINISHING)
