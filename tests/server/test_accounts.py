"""Accounts: passwords, sessions, throttling, guests, invitations, tokens and bots, by ASVS 5.0 and OWASP's rules."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql
from starlette.responses import Response
from starlette.testclient import TestClient

from tabia.server.accounts import guessable, names, privacy
from tabia.server.accounts import passwords as password_rules
from tabia.server.accounts.accounts import WRONG, AccountOptions, Accounts
from tabia.server.accounts.operators import Operators
from tabia.server.accounts.passwords import Hashing, Passwords
from tabia.server.accounts.throttle import PLACE, Attempt, Throttle
from tabia.server.accounts.visitor import Role, Visitor, owner, stranger
from tabia.server.clock import ManualClock, parse
from tabia.server.database.engines import open_database
from tabia.server.database.schema import attempts, people, sessions, tokens
from tabia.server.errors import Busy, Forbidden, Refused, Unauthorized
from tests.server.running import run

from .conftest import start
from .shared import CHEAP, HOST, PASSWORD, Shared

DAY, HOUR = 86400.0, 3600.0


def login(browser: TestClient, name: str = "Ada", password: str = PASSWORD) -> Any:
    return browser.post("/api/v1/login", json={"name": name, "password": password})


def role(browser: TestClient) -> str:
    return str(browser.get("/api/v1/account").json()["role"])


# Passwords (ASVS 6.2).


@pytest.mark.parametrize(
    "password",
    [
        "12345678",
        "password1",
        "Password123!",
        "P@ssw0rd2024",
        "qwertyuiop",
        "1qaz2wsx3edc",
        "abcabcabc",
        "aaaaaaaaaaaa",
        "iloveyou2",
        "19871224",
        "football2012",
        "Ada-Lovelace1",
        "tabia2026",
        "superman99",
    ],
)
def test_guessable_passwords_are_refused(password: str) -> None:
    with pytest.raises(Refused, match="easy to guess"):
        password_rules.check(password, "Ada-Lovelace")


@pytest.mark.parametrize(
    "password",
    [
        PASSWORD,
        "correcthorsebatterystaple",
        "85930174628401",  # digits only, letters only, spaces and any Unicode are fine: no rules of composition
        "zyxmbqoflehd",
        "        mnö  ß   ",
        "пароль из четырёх слов",
        "🐢🦊🐝🦉🐙🦀🐳🐌",
        "".join(chr(0xC0 + 7 * place % 100) for place in range(512)),
    ],
)
def test_other_passwords_are_taken_whole(password: str) -> None:
    password_rules.check(password, "Ada")
    hashed = Passwords(CHEAP)
    held = hashed.hash_now(password)
    assert hashed._verify(held, password) and not hashed._verify(held, password[:-1])
    hashed.close()


def test_passwords_have_8_characters_and_at_most_1024_bytes() -> None:
    for password, why in (("kß8?Qxz", "at least 8"), ("é7" * 400, "at most 1,024 bytes")):
        with pytest.raises(Refused, match=why):
            password_rules.check(password, "Ada")


def test_composed_characters_are_the_same_password() -> None:
    hashed = Passwords(CHEAP)
    assert hashed._verify(hashed.hash_now("zoe\u0308 is seven"), "zoë is seven")
    hashed.close()


def test_a_long_repetitive_password_is_judged_quickly() -> None:
    started = time.thread_time()
    for text in ("a" * 1024, "ab" * 512, "password" * 128, "qwertz1" * 146):
        guessable.is_guessable(text)
    assert time.thread_time() - started < 0.5


def test_hashes_use_argon2id_with_at_least_the_cost_that_owasp_asks_for() -> None:
    """19 MiB, two passes, one lane at the least; the stored hash says what was used."""
    hashed = Passwords(Hashing())
    kind, version, cost = hashed.hash_now("x").split("$")[1:4]
    parameters = {key: int(value) for key, value in (part.split("=") for part in cost.split(","))}
    assert (kind, version) == ("argon2id", "v=19")
    assert parameters["m"] >= 19 * 1024 and parameters["t"] >= 2 and parameters["p"] >= 1
    hashed.close()


def test_few_hashes_at_once_and_a_bounded_queue() -> None:
    hashed = Passwords(Hashing(memory_kib=8, passes=1, lanes=1, at_once=2, waiting=3))
    running, most, lock, two = 0, 0, threading.Lock(), threading.Event()
    original = hashed._verify

    def counted(held: str | None, password: str) -> bool:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
            if running == 2:
                two.set()
        two.wait(30)
        with lock:
            running -= 1
        return original(held, password)

    hashed._verify = counted  # type: ignore[method-assign]

    async def one() -> bool:
        try:
            with hashed.queued():
                await hashed.verify(None, "x")
                return True
        except Busy as busy:
            assert busy.status == 429 and busy.retry_after
            return False

    async def many() -> list[bool]:
        return await asyncio.gather(*(one() for _ in range(20)))

    assert sorted(run(many())) == [False] * 15 + [True] * 5
    assert most == 2
    hashed.close()


# Names.


@pytest.mark.parametrize("name", ["Al", "zoë_9", "Ада", "x" * 24, "a-b"])
def test_names_of_letters_digits_and_two_signs(name: str) -> None:
    assert names.check(name) == name


@pytest.mark.parametrize(
    "name", ["a", "x" * 25, "a b", "<b>x</b>", "a\u202eb", "a\0b", "a.b", "Operator", "deleted", ""]
)
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(Refused) as refused:
        names.check(name)
    assert refused.value.extra == {"field": "name"}


# Who asks.


def test_roles_and_scopes() -> None:
    member = Visitor("p", "Ada", Role.MEMBER, frozenset({"read"}), "192.0.2.1")
    member.require("read")
    member.require(Role.MEMBER)
    member.require(Role.GUEST)
    for needed in ("play", "runs", Role.OPERATOR, Role.OWNER):
        with pytest.raises(Forbidden):
            member.require(needed)
    with pytest.raises(Unauthorized):
        stranger("192.0.2.1").require(Role.MEMBER)
    with pytest.raises(Forbidden, match="a token is not enough"):
        member.require_session()
    for needed in ("play", "analyze", "read", "bot", "runs", Role.OPERATOR, Role.MEMBER, Role.GUEST):
        owner().require(needed)


def test_local_mode_has_no_accounts(client: TestClient) -> None:
    for method, path in (("GET", "account"), ("POST", "logout"), ("GET", "account/tokens")):
        answer = client.request(method, f"/api/v1/{path}", json=None if method == "GET" else {})
        assert answer.status_code == 404 and "no accounts here" in answer.json()["detail"]
    assert client.get("/api/v1/catalog").json()["mode"] == "local"


# Sign up and sign in.


def test_sign_up_sign_out_sign_in(shared: Shared) -> None:
    browser = shared.browser()
    assert browser.get("/api/v1/account").json() | {} == {
        "name": None,
        "role": "stranger",
        "created": None,
        "scopes": [],
        "sessions": 0,
        "tokens": 0,
        "ratings": [],
    }
    answer = browser.post("/api/v1/account", json={"name": "Ada", "password": PASSWORD})
    assert answer.status_code == 201 and answer.json()["name"] == "Ada" and answer.json()["role"] == "member"
    assert browser.post("/api/v1/logout").status_code == 204 and role(browser) == "stranger"
    assert login(browser, "ADA").status_code == 200 and role(browser) == "member"
    again = shared.browser().post("/api/v1/account", json={"name": "aDA", "password": PASSWORD})
    assert again.status_code == 422 and again.json()["field"] == "name"
    with shared.accounts.database.transaction() as connection:
        row = connection.execute(sql.select(people)).one()
    assert PASSWORD not in str(row) and row.password.startswith("$argon2id$")


def test_cookies_are_out_of_reach_and_bound_to_the_host(tmp_path: Path) -> None:
    accounts = Accounts(open_database(tmp_path), AccountOptions(hashing=CHEAP), ManualClock())
    _, cookies = run(accounts.sign_up(stranger("192.0.2.1"), "Ada", PASSWORD, None))
    response = Response()
    for cookie in cookies:
        cookie.put(response)
    headers = response.headers.getlist("set-cookie")
    assert [header.partition("=")[0] for header in headers] == ["__Host-tabia", "__Host-tabia-device"]
    for header in headers:
        parts = {part.strip().lower() for part in header.split(";")[1:]}
        assert {"secure", "httponly", "samesite=lax", "path=/"} <= parts
        assert not any(part.startswith("domain") for part in parts)
    assert len(headers[0].partition("=")[2].partition(";")[0]) >= 43  # 256 bits in base64
    accounts.close()
    accounts.database.close()


def test_a_wrong_password_and_an_unknown_name_get_the_same_answer(shared: Shared) -> None:
    shared.member()
    wrong = login(shared.browser("192.0.2.2"), "Ada", "not this one")
    unknown = login(shared.browser("192.0.2.3"), "Eve", "not this one")
    long = login(shared.browser("192.0.2.4"), "Ada", "é" * 1024)
    for answer in (wrong, unknown, long):
        assert answer.status_code == 401 and answer.json()["detail"] == WRONG
    assert wrong.json() == unknown.json() and dict(wrong.headers) == dict(unknown.headers)


def test_a_name_that_nobody_has_takes_as_long_as_a_wrong_password() -> None:
    """Medians of 41 checks differ by less than a fifth; without the dummy hash it would be a factor of hundreds.

    One lane is computed in the calling thread, whose own time does not depend on what else the machine does.
    """
    hashed = Passwords(Hashing(memory_kib=1024, passes=2, lanes=1))
    held = hashed.hash_now(PASSWORD)

    def timed(stored: str | None) -> float:
        started = time.thread_time()
        assert not hashed._verify(stored, "not this one")
        return time.thread_time() - started

    pairs = [(timed(held), timed(None)) for _ in range(41)]
    known, unknown = (sorted(times)[len(times) // 2] for times in zip(*pairs, strict=True))
    assert 0.8 < known / unknown < 1.25
    hashed.close()


def test_an_outdated_hash_is_renewed_at_sign_in(tmp_path: Path) -> None:
    database, clock = open_database(tmp_path), ManualClock()
    old = Accounts(database, AccountOptions(hashing=CHEAP), clock)
    run(old.sign_up(stranger("192.0.2.1"), "Ada", PASSWORD, None))
    new = Accounts(database, AccountOptions(hashing=Hashing(memory_kib=16, passes=2, lanes=1)), clock)
    run(new.login(stranger("192.0.2.1"), "Ada", PASSWORD, {}))
    with database.transaction() as connection:
        assert "m=16,t=2" in connection.execute(sql.select(people.c.password)).scalar_one()
    for accounts in (old, new):
        accounts.close()
    database.close()


# Sessions (ASVS 7).


def test_signing_in_changes_the_session_id(shared: Shared) -> None:
    """Nobody can plant a session that a person then signs in with."""
    browser = shared.guest()
    guest = browser.cookies["tabia"]
    shared.member("Bob", "192.0.2.9")
    planted = shared.browser()
    planted.cookies.set("tabia", guest, domain=f"{HOST}.local")
    login(browser, "Bob")
    member = browser.cookies["tabia"]
    assert member != guest and role(planted) == "stranger"
    login(browser, "Bob")
    assert browser.cookies["tabia"] != member
    made_up = shared.browser()
    made_up.cookies.set("tabia", "chosen-by-an-attacker", domain=f"{HOST}.local")
    login(made_up, "Bob")
    assert made_up.cookies["tabia"] != "chosen-by-an-attacker"


def test_a_session_ends_at_the_server(shared: Shared) -> None:
    browser = shared.member()
    stolen = browser.cookies["tabia"]
    browser.post("/api/v1/logout")
    replayed = shared.browser()
    replayed.cookies.set("tabia", stolen)
    assert role(replayed) == "stranger"


def test_sessions_expire_when_idle_and_in_any_case(shared: Shared) -> None:
    browser = shared.member()
    shared.clock.advance(13.9 * DAY)
    assert role(browser) == "member"
    shared.clock.advance(14.1 * DAY)
    assert role(browser) == "stranger"
    login(browser)
    for _ in range(8):  # used every ten days, for eighty
        shared.clock.advance(10 * DAY)
        assert role(browser) == "member"
    shared.clock.advance(10.1 * DAY)
    assert role(browser) == "stranger"


def test_sessions_are_listed_and_ended_and_stored_as_hashes(shared: Shared) -> None:
    first = shared.member()
    second, third = shared.browser(), shared.browser()
    for browser in (second, third):
        assert login(browser).status_code == 200
    listed = first.get("/api/v1/account/sessions").json()["sessions"]
    assert len(listed) == 3 and sum(session["current"] for session in listed) == 1
    other = next(s["id"] for s in second.get("/api/v1/account/sessions").json()["sessions"] if s["current"])
    assert first.delete(f"/api/v1/account/sessions/{other}").status_code == 204 and role(second) == "stranger"
    assert first.delete(f"/api/v1/account/sessions/{other}").status_code == 404
    assert first.delete("/api/v1/account/sessions").status_code == 204
    assert (role(first), role(third)) == ("member", "stranger")
    with shared.accounts.database.transaction() as connection:
        assert first.cookies["tabia"] not in str(connection.execute(sql.select(sessions)).all())


def test_a_new_password_needs_the_old_one_and_ends_other_sessions(shared: Shared) -> None:
    first, second = shared.member(), shared.browser()
    login(second)
    new = "seven green kettles hum"
    wrong = first.post("/api/v1/account/password", json={"current": "not this one", "new": new})
    assert wrong.status_code == 422 and wrong.json()["detail"] == "The password is wrong."
    weak = first.post("/api/v1/account/password", json={"current": PASSWORD, "new": "password1"})
    assert weak.status_code == 422 and "easy to guess" in weak.json()["detail"]
    before = first.cookies["tabia"]
    assert first.post("/api/v1/account/password", json={"current": PASSWORD, "new": new}).status_code == 200
    assert first.cookies["tabia"] != before and (role(first), role(second)) == ("member", "stranger")
    assert login(shared.browser("192.0.2.7")).status_code == 401
    assert login(shared.browser("192.0.2.7"), password=new).status_code == 200


class Overtaken:
    """Ada, whose password is checked while something else commits; hashes of `outdated` are renewed by `current`."""

    def __init__(self, where: Path | str) -> None:
        self.database, self.clock = open_database(where), ManualClock()
        self.outdated = Accounts(self.database, AccountOptions(hashing=CHEAP), self.clock)
        newer = Hashing(memory_kib=16, passes=2, lanes=1)
        self.current = Accounts(self.database, AccountOptions(hashing=newer), self.clock)
        self.ada, _ = run(self.outdated.sign_up(stranger("192.0.2.1"), "Ada", PASSWORD, None))

    def after_check(self, change: Callable[[], object]) -> None:
        """Make a change as soon as a password has been checked."""
        passwords, real = self.current.passwords, self.current.passwords.verify

        async def verify(held: str | None, password: str) -> bool:
            found = await real(held, password)
            await asyncio.to_thread(change)
            return found

        passwords.verify = verify  # type: ignore[method-assign]

    def login(self, password: str = PASSWORD) -> Visitor:
        return run(self.current.login(stranger("192.0.2.2"), "Ada", password, {}))[0]

    def sessions(self) -> int:
        with self.database.transaction() as connection:
            return connection.execute(sql.select(sql.func.count()).select_from(sessions)).scalar_one()

    def is_password(self, password: str) -> bool:
        with self.database.transaction() as connection:
            held = connection.execute(sql.select(people.c.password)).scalar_one()
        return self.outdated.passwords._verify(held, password)

    def close(self) -> None:
        for accounts in (self.outdated, self.current):
            accounts.close()
        self.database.close()


@pytest.fixture
def overtaken(database: Path | str) -> Iterator[Overtaken]:
    found = Overtaken(database)
    yield found
    found.close()


NEW_PASSWORD = "seven green kettles hum"


def test_signing_in_does_not_undo_a_new_password(overtaken: Overtaken) -> None:
    overtaken.after_check(lambda: run(overtaken.outdated.change_password(overtaken.ada, PASSWORD, NEW_PASSWORD)))
    with pytest.raises(Unauthorized, match=WRONG):
        overtaken.login()
    assert overtaken.is_password(NEW_PASSWORD) and overtaken.sessions() == 1  # that of the new password


def test_changing_the_password_does_not_undo_a_reset(overtaken: Overtaken) -> None:
    operators, given = Operators(overtaken.database, overtaken.clock), list[str]()
    overtaken.after_check(lambda: given.append(operators.reset("Ada", CHEAP)))
    with pytest.raises(Refused, match="password is wrong"):
        run(overtaken.current.change_password(overtaken.ada, PASSWORD, NEW_PASSWORD))
    assert overtaken.is_password(given[0]) and overtaken.sessions() == 0


def test_nobody_signs_in_who_was_banned_or_deleted_meanwhile(overtaken: Overtaken) -> None:
    overtaken.after_check(lambda: Operators(overtaken.database, overtaken.clock).ban("Ada"))
    with pytest.raises(Forbidden, match="banned"):
        overtaken.login()
    Operators(overtaken.database, overtaken.clock).unban("Ada")

    def delete() -> None:
        with overtaken.database.transaction() as connection:
            privacy.delete(connection, overtaken.ada.person or "")

    overtaken.after_check(delete)
    with pytest.raises(Unauthorized, match=WRONG):
        overtaken.login()
    assert overtaken.sessions() == 0


# Throttling.


def test_five_tries_then_longer_and_longer_up_to_a_quarter_of_an_hour(database: Path | str) -> None:
    opened, clock = open_database(database), ManualClock()
    throttle, attempt, waits = Throttle(b"secret", clock), Attempt(PLACE, "ada"), []
    for _ in range(18):
        with opened.transaction() as connection:
            throttle.reserve(connection, [attempt])
            query = sql.select(attempts.c.until).where(attempts.c.key == throttle.key(attempt))
            waits.append((parse(connection.execute(query).scalar_one()) - clock.now()).total_seconds())
        if waits[-1]:
            clock.advance(waits[-1] - 0.01)
            with (
                pytest.raises(Busy, match="Too many attempts; try again in") as busy,
                opened.transaction() as connection,
            ):
                throttle.reserve(connection, [attempt])
            assert busy.value.retry_after == pytest.approx(0.01)
            clock.advance(0.01)
    assert waits == [0.0] * 4 + [2.0**power for power in range(10)] + [900.0] * 4
    opened.close()


def test_many_guesses_in_parallel_are_not_cheaper(database: Path | str) -> None:
    """Attempts are counted before passwords are checked."""
    accounts = Accounts(open_database(database), AccountOptions(hashing=CHEAP), ManualClock())
    run(accounts.sign_up(stranger("192.0.2.1"), "Ada", PASSWORD, None))

    async def guess(number: int) -> str:
        try:
            await accounts.login(stranger("192.0.2.2"), "Ada", f"guess {number}", {})
        except Unauthorized:
            return "checked"
        except Busy:
            return "refused"
        return "in"

    async def all_at_once() -> list[str]:
        return await asyncio.gather(*(guess(number) for number in range(30)))

    assert sorted(run(all_at_once())) == ["checked"] * 5 + ["refused"] * 25
    accounts.close()
    accounts.database.close()


class Guesser:
    """Signs in without HTTP, from any address, as time passes."""

    def __init__(self, database: Path | str) -> None:
        self.clock = ManualClock()
        self.accounts = Accounts(open_database(database), AccountOptions(secure=False, hashing=CHEAP), self.clock)

    async def login(self, address: str, password: str, cookies: dict[str, str] | None = None) -> str:
        """What became of an attempt."""
        try:
            await self.accounts.login(stranger(address), "Ada", password, cookies or {})
        except Unauthorized:
            return "checked"
        except Busy as busy:
            assert busy.retry_after is not None and busy.retry_after > 0
            return "refused"
        return "in"

    async def guesses(self, addresses: list[str], count: int, seconds: float) -> int:
        """How many of some wrong passwords are checked."""
        found = []
        for number in range(count):
            self.clock.advance(seconds)
            found.append(await self.login(addresses[number % len(addresses)], f"guess {number}"))
        return found.count("checked")

    def close(self) -> None:
        """Close the database."""
        self.accounts.close()
        self.accounts.database.close()


@pytest.fixture
def guesser(tmp_path: Path) -> Iterator[Guesser]:
    found = Guesser(tmp_path)
    yield found
    found.close()


def test_a_thousand_guesses_from_one_address_do_not_lock_the_owner_out(guesser: Guesser) -> None:
    async def attack() -> None:
        await guesser.accounts.sign_up(stranger("192.0.2.1"), "Ada", PASSWORD, None)
        assert await guesser.guesses(["198.51.100.7"], 1000, 1.0) <= 15  # five, then after 1, 2, 4, ... 512 seconds
        assert await guesser.login("192.0.2.200", PASSWORD) == "in"  # a new browser elsewhere

    run(attack())


def test_guesses_from_a_hundred_addresses_slow_down_new_browsers_only(guesser: Guesser) -> None:
    async def attack() -> None:
        _, cookies = await guesser.accounts.sign_up(stranger("192.0.2.1"), "Ada", PASSWORD, None)
        known = {cookie.name: cookie.value for cookie in cookies if cookie.value}
        addresses = [f"198.51.100.{number}" for number in range(100)]
        # 50 are free for all addresses together; then 1, 2, 4, ... 60 seconds pass between two, 500 in all.
        assert await guesser.guesses(addresses, 1000, 0.5) <= 50 + 6 + 500 / 60
        assert await guesser.login("192.0.2.1", PASSWORD, known) == "in"  # a known browser does not wait
        await guesser.guesses(addresses, 60, 0.01)
        guesser.clock.advance(60)  # a new one does, a minute at most
        assert await guesser.login("192.0.2.201", PASSWORD) == "in"

    run(attack())


def test_a_browser_is_known_for_its_own_person_only(guesser: Guesser) -> None:
    async def attack() -> None:
        await guesser.accounts.sign_up(stranger("192.0.2.1"), "Ada", PASSWORD, None)
        _, cookies = await guesser.accounts.sign_up(stranger("192.0.2.2"), "Eve", PASSWORD, None)
        known = {cookie.name: cookie.value for cookie in cookies if cookie.value}
        for forged in (known, {"tabia-device": "x." + "0" * 64}, {"tabia-device": "\ud800"}):
            found = [await guesser.login("198.51.100.7", f"guess {number}", forged) for number in range(6)]
            assert found[-1] == "refused"

    run(attack())


def test_an_address_has_thirty_failures_per_hour_and_right_passwords_are_free(shared: Shared) -> None:
    for name in ("Ada", "Bob"):
        shared.member(name)
    address = "198.51.100.9"
    for number in range(29):
        assert login(shared.browser(address), f"name{number}", "not this one").status_code == 401
        assert login(shared.browser(address), "Bob").status_code == 200
    assert login(shared.browser(address), "Ada", "not this one").status_code == 401
    late = login(shared.browser(address), "Ada")
    assert late.status_code == 429 and int(late.headers["retry-after"]) <= 3600
    shared.clock.advance(HOUR)
    assert login(shared.browser(address)).status_code == 200


def test_throttling_survives_a_restart_and_stores_no_name_or_address(database: Path | str) -> None:
    clock = ManualClock()
    for _ in range(2):
        accounts = Accounts(open_database(database), AccountOptions(hashing=CHEAP), clock)
        for number in range(5):
            with pytest.raises((Unauthorized, Busy)) as refused:
                run(accounts.login(stranger("198.51.100.9"), "Lovelace", f"guess {number}", {}))
        with accounts.database.transaction() as connection:
            rows = str(connection.execute(sql.select(attempts)).all())
        accounts.close()
        accounts.database.close()
    assert refused.type is Busy and "Lovelace" not in rows and "198.51" not in rows


def test_five_sign_ups_per_hour_and_address_and_more_with_invitations(shared: Shared) -> None:
    def sign_up(name: str, invite: str | None = None) -> Any:
        body = {"name": name, "password": PASSWORD, "invite": invite}
        return shared.browser("198.51.100.9").post("/api/v1/account", json=body)

    assert [sign_up(f"name{number}").status_code for number in range(6)] == [201] * 5 + [429]
    assert sign_up("class1", shared.invite()).status_code == 201
    shared.clock.advance(HOUR)
    assert sign_up("later").status_code == 201


def test_a_flood_of_sign_ins_does_not_slow_down_other_requests(shared: Shared) -> None:
    """At most two hash at once, in threads of their own; whoever finds the queue full hears it at once."""
    shared.member("Ada")
    slow, started, finish = shared.accounts.passwords._verify, threading.Semaphore(0), threading.Event()

    def verify(held: str | None, password: str) -> bool:
        started.release()
        assert finish.wait(60)
        return slow(held, password)

    async def flood() -> list[str]:
        sign_ins = [asyncio.create_task(sign_in(number)) for number in range(200)]
        for refused in islice(asyncio.as_completed(sign_ins), 166):
            assert await refused == "refused"  # while all others wait for a check that has not ended
        assert all([await asyncio.to_thread(started.acquire, timeout=60) for _ in range(2)])
        for _ in range(10):
            await shared.accounts.visitor({"tabia": "nobody's"}, None, "192.0.2.1")
        assert sum(task.done() for task in sign_ins) == 166
        finish.set()
        return await asyncio.gather(*sign_ins)

    async def sign_in(number: int) -> str:
        try:
            await shared.accounts.login(stranger(f"198.51.100.{number}"), f"name{number}", "not this one", {})
        except Unauthorized:
            return "checked"
        except Busy:
            return "refused"
        return "in"

    shared.accounts.passwords._verify = verify  # type: ignore[method-assign]
    try:
        found = run(flood())
    finally:
        finish.set()
        shared.accounts.passwords._verify = slow  # type: ignore[method-assign]
    assert found.count("checked") == 34 and found.count("refused") == 166


# Guests, invitations.


def test_a_guest_keeps_games_when_signing_up(shared: Shared) -> None:
    browser = shared.browser()
    game = start(browser)
    guest = browser.get("/api/v1/account").json()
    assert guest["role"] == "guest" and guest["name"].startswith("Guest ")
    with shared.accounts.database.transaction() as connection:
        before = connection.execute(sql.select(people.c.id)).scalar_one()
    assert browser.post("/api/v1/account", json={"name": "Ada", "password": PASSWORD}).status_code == 201
    with shared.accounts.database.transaction() as connection:
        row = connection.execute(sql.select(people)).one()
    assert (row.id, row.name, row.role) == (before, "Ada", "member")
    held = shared.parts.store.load(game["id"])
    assert held is not None and [(seat["person"], seat["name"]) for seat in held.seats] == [(before, "Ada")] * 2
    assert browser.get(f"/api/v1/games/{game['id']}").json()["you"] == [0, 1]
    assert [entry["id"] for entry in browser.get("/api/v1/games").json()["games"]] == [game["id"]]
    refused = browser.post("/api/v1/account", json={"name": "Bob", "password": PASSWORD})
    assert refused.status_code == 422 and "sign out" in refused.json()["detail"]


def test_an_invitation_is_for_one_account_and_expires(tmp_path: Path, database: Path | str) -> None:
    shared = Shared(tmp_path, database, invite_only=True)

    def sign_up(name: str, invite: str | None) -> Any:
        body = {"name": name, "password": PASSWORD} | ({} if invite is None else {"invite": invite})
        return shared.browser().post("/api/v1/account", json=body)

    assert shared.browser().get("/api/v1/catalog").json()["sign_up"] == "invite"
    code, late = shared.invite(), shared.invite()
    assert sign_up("Eve", None).json()["field"] == "invite"
    assert sign_up("Eve", "made-up").status_code == 422
    assert sign_up("Ada", code).status_code == 201
    assert sign_up("Bob", code).status_code == 422
    shared.clock.advance(14 * DAY)
    assert sign_up("Bob", late).status_code == 422
    asked = run(shared.accounts.visitor({}, None, "192.0.2.1"))
    assert asked.scopes == {"read"}
    with pytest.raises(Unauthorized, match="needs an invitation"):
        run(shared.accounts.ensure_person(asked))
    shared.close()


# Tokens and bots.


def test_a_token_has_its_scopes_and_ends_when_removed(shared: Shared) -> None:
    browser = shared.member()
    made = browser.post("/api/v1/account/tokens", json={"label": "laptop", "scopes": ["read", "play"]})
    assert made.status_code == 201
    token = made.json()["token"]
    program = shared.browser()
    program.headers["authorization"] = f"Bearer {token}"
    state = program.get("/api/v1/account").json()
    assert state["name"] == "Ada" and state["scopes"] == ["play", "read"]
    listed = browser.get("/api/v1/account/tokens").json()["tokens"]
    assert [entry["label"] for entry in listed] == ["laptop"] and listed[0]["used"] is not None
    assert token not in browser.get("/api/v1/account/tokens").text
    with shared.accounts.database.transaction() as connection:
        assert token not in str(connection.execute(sql.select(tokens)).all())
    for path in ("account/tokens", "account/sessions", "account/export"):
        assert program.get(f"/api/v1/{path}").status_code == 403  # what changes an account is not for tokens
    assert browser.delete(f"/api/v1/account/tokens/{listed[0]['id']}").status_code == 204
    gone = program.get("/api/v1/account")
    assert gone.status_code == 401 and "not valid" in gone.json()["detail"]


def test_scopes_are_limited_by_the_role(shared: Shared) -> None:
    browser = shared.member()
    body = {"label": "x", "scopes": ["runs"]}
    assert browser.post("/api/v1/account/tokens", json=body).status_code == 403
    Operators(shared.accounts.database, shared.clock).promote("Ada")
    made = browser.post("/api/v1/account/tokens", json=body)
    assert made.status_code == 201
    Operators(shared.accounts.database, shared.clock).demote("Ada")
    found = run(shared.accounts.visitor({}, f"Bearer {made.json()['token']}", ""))
    assert found.scopes == frozenset()


def test_headers_that_are_no_token_are_refused(shared: Shared) -> None:
    browser = shared.browser()
    for header in ("Basic QWRhOng=", "Bearer", "Bearer x", "Bearer tabia_" + "x" * 300, "", "Bearer \xff"):
        answer = browser.get("/api/v1/account", headers={"authorization": header.encode("latin-1")})
        assert answer.status_code == 401 and answer.headers["content-type"] == "application/problem+json"


def test_a_bot_is_an_account_that_only_its_token_can_be(shared: Shared) -> None:
    browser = shared.member()
    made = browser.post("/api/v1/account/bots", json={"name": "Deep-Ada"}).json()
    bot = shared.browser()
    bot.headers["authorization"] = f"Bearer {made['token']}"
    state = bot.get("/api/v1/account").json()
    assert (state["name"], state["role"]) == ("Deep-Ada", "bot") and "bot" in state["scopes"]
    assert login(shared.browser("192.0.2.8"), "Deep-Ada", "").status_code == 401
    assert bot.post("/api/v1/account/bots", json={"name": "another"}).status_code == 403
    for number in range(4):
        assert browser.post("/api/v1/account/bots", json={"name": f"bot{number}"}).status_code == 201
    full = browser.post("/api/v1/account/bots", json={"name": "sixth"})
    assert full.status_code == 422 and "5 bots" in full.json()["detail"]
    eve = shared.member("Eve", "192.0.2.5")
    assert eve.delete("/api/v1/account/bots/deep-ada").status_code == 404
    assert browser.delete("/api/v1/account/bots/deep-ada").status_code == 204
    assert bot.get("/api/v1/account").status_code == 401


# The operator.


def test_the_operator_lists_resets_bans_and_promotes(shared: Shared) -> None:
    browser = shared.member()
    made = browser.post("/api/v1/account/bots", json={"name": "Deep-Ada"}).json()
    operators = Operators(shared.accounts.database, shared.clock)
    assert [(row["name"], row["role"]) for row in operators.listed()] == [("Ada", "member"), ("Deep-Ada", "bot")]
    password = operators.reset("ada", CHEAP)
    assert role(browser) == "stranger" and login(browser, password=password).status_code == 200
    operators.ban("Ada")
    assert role(browser) == "stranger"
    banned = login(shared.browser("192.0.2.9"), password=password)
    assert banned.status_code == 403 and "banned" in banned.json()["detail"]
    bot = shared.browser()
    bot.headers["authorization"] = f"Bearer {made['token']}"
    assert bot.get("/api/v1/account").status_code == 401
    operators.unban("Ada")
    operators.promote("Ada")
    assert login(browser, password=password).json()["role"] == "operator"
    assert bot.get("/api/v1/account").status_code == 200


def test_somebody_who_signs_up_twice_at_once_has_one_account(database: Path | str) -> None:
    accounts = Accounts(open_database(database), AccountOptions(hashing=CHEAP), ManualClock())

    async def sign_up(address: str) -> str:
        try:
            return (await accounts.sign_up(stranger(address), "Ada", PASSWORD, None))[0].name
        except Refused as refused:
            return str(refused)

    async def both() -> list[str]:
        return await asyncio.gather(*(sign_up(f"192.0.2.{number}") for number in range(4)))

    assert sorted(run(both())) == ["Ada"] + ["Somebody has this name already; choose another."] * 3
    accounts.close()
    accounts.database.close()
