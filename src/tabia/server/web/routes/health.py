"""Health: whether the process lives, and whether it can serve games now."""

from __future__ import annotations

import asyncio
from typing import Literal

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from tabia.core.errors import TabiaError
from tabia.server.web import context

router = APIRouter(tags=["health"])
_SECONDS = 2.0  # that the database may take


class Health(BaseModel):
    """Whether a server is well; `problem` is one sentence if not."""

    status: Literal["ok", "unavailable"]
    problem: str | None = None


@router.get("/healthz")
async def alive() -> Health:
    """The process answers."""
    return Health(status="ok")


@router.get("/readyz", responses={503: {"model": Health, "description": "It cannot serve games now."}})
async def ready(request: Request, response: Response) -> Health:
    """The database can be written and the server is not stopping."""
    found = await _problem(request)
    if found is None:
        return Health(status="ok")
    response.status_code = 503
    return Health(status="unavailable", problem=found)


async def _problem(request: Request) -> str | None:
    if request.app.state.stopping.is_set():
        return "The server is stopping."
    try:
        async with asyncio.timeout(_SECONDS):
            await asyncio.to_thread(context.of(request).store.load, "health")
    except TimeoutError:
        return "The database does not answer."
    except TabiaError as error:
        return str(error)
    return None
