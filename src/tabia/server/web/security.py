"""What every request must pass, before any route sees it: Host, Origin, type, size; and the headers of every response.

A page of a foreign website can send requests to this computer. Its requests carry its Origin, or Sec-Fetch-Site says
`cross-site`; a name that was rebound to this address (DNS rebinding) is in Host. All three are refused. Bodies are
JSON, which a form of a foreign website cannot send, and never compressed, because a small one can unpack to a huge one.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tabia.server.web.problems import problem

LARGEST_BODY = 256 * 1024
LARGEST_QUERY = 12 * 1024
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "manifest-src 'self'; worker-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
TRANSPORT_SECURITY = "max-age=31536000"
"""Under TLS: for a year browsers reach this name by HTTPS only. Subdomains are not ours to decide about."""
LOCAL = ("127.0.0.1", "localhost", "[::1]")
_SAFE = ("GET", "HEAD", "OPTIONS")
_FRIENDLY = ("same-origin", "none")
LOCAL_ADDRESS = "http://127.0.0.1 with the port that `tabia play` printed"


class Guard:
    """Refuses foreign requests and adds the headers; a plain ASGI middleware, so that it sees WebSockets too."""

    def __init__(
        self, app: ASGIApp, hosts: Iterable[str] = LOCAL, *, secure: bool = False, address: str = LOCAL_ADDRESS
    ) -> None:
        self._app, self._hosts, self._address = app, frozenset(hosts), address
        self._schemes = ("https",) if secure else ("http", "https")
        self._always = HEADERS | ({"strict-transport-security": TRANSPORT_SECURITY} if secure else {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = _headers(scope)
        refusal = self._refusal(scope, headers)
        if scope["type"] == "websocket":
            await (self._app(scope, receive, send) if refusal is None else _close(receive, send, refusal[1]))
            return
        sending = self._with_headers(scope, send)
        if refusal is not None:
            await problem(*refusal)(scope, receive, sending)
        else:
            await self._app(scope, _limited(receive), sending)

    def _refusal(self, scope: Scope, headers: dict[str, list[str]]) -> tuple[int, str] | None:
        host = headers.get("host", [])
        if len(host) != 1 or _name(host[0]) not in self._hosts:
            return 403, f"Open this page by its own address, {self._address}."
        origin = headers.get("origin", [])
        if len(origin) > 1 or (origin and not self._is_own(origin[0], host[0])):
            return 403, "This request came from another website, so nothing was done."
        if not self._is_friendly(scope, headers):
            return 403, "This request came from another website, so nothing was done."
        if len(scope.get("query_string", b"")) > LARGEST_QUERY:
            return 414, f"The address is too long; at most {LARGEST_QUERY:,} characters are allowed."
        return None if scope["type"] == "websocket" else _body_refusal(scope, headers)

    def _is_own(self, origin: str, host: str) -> bool:
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        return parts.scheme in self._schemes and parts.netloc.lower() == host.lower()

    def _with_headers(self, scope: Scope, send: Send) -> Send:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *self._extra(scope, message)]
            await send(message)

        return sending

    def _extra(self, scope: Scope, message: Message) -> list[tuple[bytes, bytes]]:
        known = {key.lower() for key, _ in message.get("headers", [])}
        wanted = self._always | {"cache-control": "no-store" if scope["path"].startswith("/api") else "no-cache"}
        return [(key.encode(), value.encode()) for key, value in wanted.items() if key.encode() not in known]

    @staticmethod
    def _is_friendly(scope: Scope, headers: dict[str, list[str]]) -> bool:
        """Whether the browser says that the page itself asks; programs other than browsers do not say."""
        site = headers.get("sec-fetch-site")
        if site is None or all(value in _FRIENDLY for value in site):
            return True
        # A link on another website may open the page, and nothing else.
        navigates = headers.get("sec-fetch-mode") == ["navigate"] and headers.get("sec-fetch-dest") == ["document"]
        is_page = scope["type"] == "http" and scope["method"] in _SAFE and not scope["path"].startswith("/api")
        return navigates and is_page


def _headers(scope: Scope) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for key, value in scope["headers"]:
        found.setdefault(key.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return found


def _name(host: str) -> str:
    """The name in a Host header, without the port."""
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdigit() else host).lower()


def _body_refusal(scope: Scope, headers: dict[str, list[str]]) -> tuple[int, str] | None:
    length = headers.get("content-length", ["0"])[0]
    if not length.isascii() or not length.isdigit() or len(length) > 12 or int(length) > LARGEST_BODY:
        return 413, f"The message is too large; at most {LARGEST_BODY:,} bytes are allowed."
    if any(value.lower() != "identity" for value in headers.get("content-encoding", [])):
        return 415, "The message is compressed; send it as it is."
    has_body = int(length) > 0 or "transfer-encoding" in headers
    kinds = headers.get("content-type", [])
    if scope["method"] not in _SAFE and (has_body or kinds) and not _is_json(kinds):
        return 415, "The message is not JSON; send it with the header Content-Type: application/json."
    return None


def _is_json(kinds: list[str]) -> bool:
    return len(kinds) == 1 and kinds[0].partition(";")[0].strip().lower() == "application/json"


def _limited(receive: Receive) -> Receive:
    """The messages of a request, ended once its body is larger than allowed."""
    total = 0

    async def limited() -> Message:
        nonlocal total
        message = await receive()
        if message["type"] == "http.request":
            total += len(message.get("body", b""))
            if total > LARGEST_BODY:
                return {"type": "http.disconnect"}
        return message

    return limited


async def _close(receive: Receive, send: Send, sentence: str) -> None:
    await receive()
    await send({"type": "websocket.close", "code": 4403, "reason": sentence[:100]})
