"""What machines that watch a server ask: does it run, can it serve, how much does it do."""

from __future__ import annotations

import asyncio
import ipaddress

from fastapi import APIRouter, Request
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from masquerade import __version__
from masquerade.server.database import revision, revisions
from masquerade.server.operation.metrics import Metrics
from masquerade.server.settings import Settings

_PATIENCE_SECONDS = 5
_FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip", "via")


def operation_routes(engine: Engine, settings: Settings, metrics: Metrics | None) -> APIRouter:
    """Return the routes for operators; ``/metrics`` only where `metrics` are kept."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/healthz")
    def health() -> dict[str, str]:
        return {"status": "ok", "version": __version__}

    @routes.get("/readyz")
    async def ready() -> Response:
        try:
            found = asyncio.to_thread(not_ready, engine)
            reason = await asyncio.wait_for(found, _PATIENCE_SECONDS)
        except TimeoutError:
            reason = "the database does not answer"
        if reason is None:
            return JSONResponse({"status": "ready", "version": __version__})
        return JSONResponse({"status": "not ready", "reason": reason}, 503)

    if metrics is not None:

        @routes.get("/metrics")
        def show(request: Request) -> Response:
            if settings.metrics != "open" and not _asks_directly(request):
                raise HTTPException(404)
            return Response(metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    return routes


def not_ready(engine: Engine) -> str | None:
    """Return why a server cannot serve now; None where it can."""
    try:
        with engine.connect() as connection:
            found = revision(connection)
    except SQLAlchemyError:
        return "the database cannot be reached"
    known = list(revisions())
    if found == known[-1]:
        return None
    return f"the schema is at revision {found}, expected {known[-1]}"


def _asks_directly(request: Request) -> bool:
    """Return whether a program on this computer asks, and no proxy for somebody else."""
    if request.client is None or any(name in request.headers for name in _FORWARDED):
        return False
    try:
        return ipaddress.ip_address(request.client.host).is_loopback
    except ValueError:
        return False
