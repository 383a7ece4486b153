"""Requests to a server: JSON in and out, streams of lines, problem details as exceptions, and patience.

A request that the server is too busy for is sent again when it says so. So is one whose connection was lost, where a
repeat is safe: reading is, and so is a move, because a server answers the repeat of a move as it answered the move.
"""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from http.client import HTTPException, HTTPMessage
from typing import IO, Any
from urllib.parse import quote, urlencode, urlsplit

from tabia import __version__
from tabia.core.errors import TabiaError

Json = dict[str, Any]
_LOCAL = ("127.0.0.1", "localhost", "::1")
_BUSY = (429, 503)
_FIRST_WAIT = 0.5  # seconds before a lost request is sent again; doubled each time
_LOST = (urllib.error.URLError, HTTPException, ConnectionError, TimeoutError)


class ApiError(TabiaError):
    """What a server refused: the status, and the sentence that says what to do."""

    def __init__(self, status: int, detail: str, problem: Json | None = None, retry_after: float | None = None) -> None:
        super().__init__(detail)
        self.status, self.problem, self.retry_after = status, problem or {}, retry_after


class Connection:
    """A server by its address, and the token of a person or bot."""

    def __init__(self, url: str, token: str | None = None, *, timeout: float = 60.0, patience: float = 60.0) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise TabiaError(f"A server's address is like http://127.0.0.1:8765 or https://example.org, not {url!r}.")
        if token is not None and parts.scheme == "http" and parts.hostname not in _LOCAL:
            raise TabiaError("A token is a password: send it by https:// only, or to this computer.")
        self.url = f"{parts.scheme}://{parts.netloc}/api/v1"
        self._token, self._timeout, self._patience = token, timeout, patience
        self._opener = urllib.request.build_opener(_NoRedirect)

    def get(self, path: str, **query: Any) -> Json:
        """The JSON at a path; parameters that are None are left out."""
        return _object(self._read("GET", path + _query(query), None, again=True))

    def text(self, path: str) -> str:
        """The text at a path."""
        return self._read("GET", path, None, again=True).decode()

    def post(self, path: str, body: Mapping[str, Any], *, again: bool = False) -> Json:
        """Send JSON; `again` says that a repeat is safe."""
        return _object(self._read("POST", path, body, again=again))

    def lines(self, path: str, body: Mapping[str, Any] | None = None) -> Iterator[str]:
        """The lines of a stream as they come, without empty ones."""
        with self._open("GET" if body is None else "POST", path, body, again=False) as answer:
            try:
                for line in answer:
                    if text := line.decode().rstrip("\r\n"):
                        yield text
            except _LOST as error:
                raise ApiError(0, f"The connection to {self.url} was lost: {error}.") from None

    def _read(self, method: str, path: str, body: Mapping[str, Any] | None, *, again: bool) -> bytes:
        with self._open(method, path, body, again=again) as answer:
            return answer.read()

    def _open(self, method: str, path: str, body: Mapping[str, Any] | None, *, again: bool) -> IO[bytes]:
        until, wait = time.monotonic() + self._patience, _FIRST_WAIT
        while True:
            try:
                return self._once(method, path, body)
            except ApiError as error:
                busy = error.status in _BUSY
                if not busy and not (again and error.status == 0):
                    raise
                pause = error.retry_after if busy and error.retry_after is not None else wait
                if time.monotonic() + pause > until:
                    raise
            time.sleep(pause)
            wait *= 2

    def _once(self, method: str, path: str, body: Mapping[str, Any] | None) -> IO[bytes]:
        headers = {"User-Agent": f"tabia-client/{__version__}", "Accept": "application/json, application/x-ndjson, */*"}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        data = None if body is None else json.dumps(dict(body)).encode()
        if data is not None:
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(f"{self.url}/{path}", data=data, headers=headers, method=method)
        try:
            found: IO[bytes] = self._opener.open(request, timeout=self._timeout)
        except urllib.error.HTTPError as error:
            with error:
                raise _refusal(error) from None
        except _LOST as error:
            raise ApiError(0, f"{self.url} does not answer: {getattr(error, 'reason', error)}.") from None
        return found


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A token stays with the server it was given for."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        return None


def path(*parts: str | int) -> str:
    """A path of parts from anyone.

    >>> path("games", "a/b", "moves")
    'games/a%2Fb/moves'
    """
    return "/".join(quote(str(part), safe="") for part in parts)


def _query(query: Mapping[str, Any]) -> str:
    given = {key: json.dumps(value) if isinstance(value, bool) else value for key, value in query.items()}
    known = urlencode({key: value for key, value in given.items() if value is not None})
    return f"?{known}" if known else ""


def _object(content: bytes) -> Json:
    found = json.loads(content) if content else {}
    if not isinstance(found, dict):
        raise ApiError(0, "The server answered with something else than a JSON object; is this a Tabia server?")
    return found


def _refusal(error: urllib.error.HTTPError) -> ApiError:
    try:
        problem = _object(error.read())
    except (ValueError, ApiError, *_LOST):
        problem = {}
    wait = error.headers.get("Retry-After", "")
    detail = str(problem.get("detail") or f"The server answered with status {error.code}.")
    return ApiError(error.code, detail, problem, float(wait) if wait.isdecimal() else None)
