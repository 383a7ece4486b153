"""How the web reaches a server: by which names, through TLS or a proxy, and how it stops.

Local mode is the default: this computer's own names, no TLS, no log of requests.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from tabia.server.web.problems import problem
from tabia.server.web.security import LOCAL_ADDRESS

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
LOOPBACK: tuple[Network, ...] = (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128"))


@dataclass(frozen=True)
class Edge:
    """The outside of an application."""

    secure: bool = False  # browsers use HTTPS, here or at a proxy
    address: str = LOCAL_ADDRESS  # what people open, in a sentence
    proxies: tuple[Network, ...] | None = None  # who may forward requests; None: there is no proxy
    logged: bool = False


class BehindProxy:
    """Takes requests from proxies only, and the address of a client from what they forward.

    Without this check, somebody who reaches the port directly could claim any address and send passwords in the clear.
    """

    def __init__(self, app: ASGIApp, proxies: tuple[Network, ...]) -> None:
        self._proxies = proxies
        # The types of uvicorn and Starlette describe the same protocol and differ in name only.
        self._app: Callable[..., object] = ProxyHeadersMiddleware(app, [str(network) for network in proxies])  # type: ignore[arg-type]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket") and not self._is_proxy(scope):
            await _refuse(scope, receive, send)
        else:
            await self._app(scope, receive, send)  # type: ignore[misc]

    def _is_proxy(self, scope: Scope) -> bool:
        client = scope.get("client")
        try:
            address = ipaddress.ip_address(client[0] if client else "")
        except ValueError:
            return False
        mapped = getattr(address, "ipv4_mapped", None) or address
        return any(mapped in network for network in self._proxies)


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    sentence = "This server answers through its proxy only."
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 4403, "reason": sentence})
    else:
        await problem(403, sentence)(scope, receive, send)
