"""Health and metrics, for machines that watch a server: does it run, can it serve, how much."""

from __future__ import annotations

import asyncio
import ipaddress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from fastapi import APIRouter, Request
from sqlalchemy import Engine, text
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from masquerade import __version__
from masquerade.server.db.engine import newest_revision, revision, unwritable
from masquerade.server.http.write_slots import PATIENCE_SECONDS
from masquerade.server.routes.dependencies import InMetrics, InServices, InSettings

_PATIENCE_SECONDS = 5
_READ_ONLY = text("SHOW transaction_read_only")
_FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip", "via")


routes = APIRouter(include_in_schema=False)
#: Served only where counts are kept.
metrics_routes = APIRouter(include_in_schema=False)


@routes.get("/healthz")
async def health() -> dict[str, str]:
    # Without the database and without a thread: a process that waits for either need not be
    # started anew.
    return {"status": "ok", "version": __version__}


@routes.get("/readyz")
async def ready(request: Request, services: InServices, settings: InSettings) -> Response:
    stuck = max(request.app.state.writes.stuck_seconds(), services.transactions.oldest_wait())
    if stuck > PATIENCE_SECONDS:
        waits = {"status": "not ready", "reason": f"writes wait for {stuck:.0f} s"}
        return JSONResponse(waits, 503)
    try:
        found = asyncio.to_thread(not_ready, services.engine, settings.sqlite_file)
        # The thread goes on after that time; only the answer does not wait for it.
        reason: str | None = await asyncio.wait_for(found, _PATIENCE_SECONDS)
    except TimeoutError:
        reason = "the database does not answer"
    if reason is None:
        why = services.transactions.overdue()  # no reason to be taken for dead
        more = {} if why is None else {"warnings": [why]}
        return JSONResponse({"status": "ready", "version": __version__, **more})
    # 503: requests go elsewhere for a while, and nothing is started anew.
    return JSONResponse({"status": "not ready", "reason": reason}, 503)


@routes.get("/.well-known/security.txt")
async def security_contact(settings: InSettings) -> Response:
    """Tell where faults of security are reported (RFC 9116)."""
    if not settings.security_contact:
        raise HTTPException(404)
    # Where no day is set the operator stands by it from day to day.
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).date().isoformat()
    lines = [
        f"Contact: {settings.security_contact}",
        f"Expires: {settings.security_expires or tomorrow}T23:59:59Z",
        "Preferred-Languages: en",
    ]
    if settings.public_url is not None:
        lines.append(f"Canonical: {settings.public_url}/.well-known/security.txt")
    return Response("".join(f"{line}\n" for line in lines), media_type="text/plain")


@metrics_routes.get("/metrics")
def show(request: Request, settings: InSettings, metrics: InMetrics) -> Response:
    if settings.metrics != "open" and not _asks_directly(request):
        # 404 and not 403: a stranger does not learn that counts are kept.
        raise HTTPException(404)
    return Response(metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


def not_ready(engine: Engine, file: Path | None = None) -> str | None:
    """Return why a server cannot serve now; None where it can.

    Beside the SQLite `file` something is written. PostgreSQL is asked whether it takes changes; a
    full disk there shows in its own log.
    """
    if file is not None and (why := unwritable(file.parent)) is not None:
        return why
    try:
        with engine.connect() as connection:
            found = revision(connection)
            if engine.dialect.name == "postgresql" and connection.scalar(_READ_ONLY) == "on":
                # The next look is with a new connection: this one keeps the setting for ever.
                connection.invalidate()
                return "the database takes no changes"
    except SQLAlchemyError:
        return "the database cannot be reached"
    if found == newest_revision():
        return None
    return f"the schema is at revision {found}, expected {newest_revision()}"


def _asks_directly(request: Request) -> bool:
    """Return whether a program on this computer asks, and no proxy for somebody else."""
    if request.client is None or any(name in request.headers for name in _FORWARDED):
        return False
    try:
        return ipaddress.ip_address(request.client.host).is_loopback
    except ValueError:
        return False
