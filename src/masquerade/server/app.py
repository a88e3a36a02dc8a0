"""The web application."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse
from fastapi.staticfiles import StaticFiles
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from masquerade import __version__
from masquerade.errors import MasqueradeError
from masquerade.server.account import account_routes
from masquerade.server.app_shell import app_shell_routes
from masquerade.server.demo import demo_routes
from masquerade.server.owner import OwnerNeeded, owner_routes
from masquerade.server.pages import STATIC, render
from masquerade.server.participant import participant_routes
from masquerade.server.problem import masquerade_problem, problem, status_of, wants_json
from masquerade.server.protocol import protocol_routes
from masquerade.server.rate_limit import RateLimits
from masquerade.server.security import (
    DEMO_COOKIE,
    SESSION_COOKIE,
    BodyLimit,
    LastResort,
    OwnerSessions,
    SecurityHeaders,
)
from masquerade.server.settings import Settings
from masquerade.server.store import Store

_LOGGER = logging.getLogger(__name__)
_AFTER_MIDNIGHT_SECONDS = 60


def create_app(settings: Settings) -> FastAPI:
    """Return the application; its store is ``app.state.store``."""
    store = Store(
        settings.database,
        caps=settings.caps,
        allow_clear=settings.allow_clear,
        reservation_days=settings.reservation_days,
    )
    sessions = OwnerSessions(
        store.setting("session_key"), cookie=DEMO_COOKIE if settings.demo else SESSION_COOKIE
    )

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        sweeping = asyncio.create_task(_sweep_daily(store))
        yield
        sweeping.cancel()
        store.close()

    app = FastAPI(
        title="Masquerade",
        version=__version__,
        description="Surveys whose answers are masked on the participant's device.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/v1/openapi.json",
        **_without_telemetry(),
    )
    app.state.store = store
    app.add_middleware(BodyLimit)
    app.add_middleware(
        RateLimits, participant=settings.rate_participant, address=settings.rate_address
    )
    app.add_middleware(LastResort)
    app.add_middleware(SecurityHeaders)
    # First, as routes are tried in order and these are asked for most.
    app.include_router(protocol_routes(store))
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    app.include_router(app_shell_routes(store.asked))
    app.include_router(participant_routes(store, settings))
    app.include_router(account_routes(store))
    app.include_router(owner_routes(store, settings, sessions))
    if settings.demo:
        app.include_router(demo_routes(store, sessions))
    else:

        @app.get("/", include_in_schema=False)
        def front() -> Response:
            return RedirectResponse("/surveys", 303)

    @app.get("/healthz", include_in_schema=False)
    def health() -> dict[str, str]:
        return {"status": "ok", "version": __version__}

    _answer_errors(app)
    return app


async def _sweep_daily(store: Store) -> None:
    """Sweep now and soon after each midnight (UTC), when days change."""
    while True:
        try:
            await asyncio.to_thread(store.sweeper.sweep)
        except SQLAlchemyError as error:  # the database is away; the next sweep finds the same
            _LOGGER.warning("the daily sweep failed: %s", type(error).__qualname__)
        now = datetime.now(UTC)
        tomorrow = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
        await asyncio.sleep((tomorrow - now).total_seconds() + _AFTER_MIDNIGHT_SECONDS)


def _without_telemetry() -> dict[str, Any]:
    """Return what keeps newer versions of the framework from tracing requests and errors."""
    if "telemetry" not in inspect.signature(FastAPI.__init__).parameters:
        return {}
    kinds = ("tracing", "metrics", "logs", "operation_spans", "auto_configure")
    return {"telemetry": dict.fromkeys(kinds, False)}


def _answer_errors(app: FastAPI) -> None:
    @app.exception_handler(MasqueradeError)
    def own(request: Request, error: MasqueradeError) -> Response:
        if wants_json(request):
            return masquerade_problem(error)
        status, _ = status_of(error)
        return render(request, "error.html", {"status": status, "detail": error}, status=status)

    @app.exception_handler(OwnerNeeded)
    def owner_needed(request: Request, _error: OwnerNeeded) -> Response:
        if wants_json(request):
            return problem(401, "unauthenticated", "Open the owner's link in this browser first.")
        return render(request, "owner_needed.html", status=401)

    @app.exception_handler(RequestValidationError)
    def invalid(request: Request, error: RequestValidationError) -> Response:
        detail = "The request does not have the expected form."
        if not wants_json(request):
            return render(request, "error.html", {"status": 422, "detail": detail}, status=422)
        # Only where and why: the value itself is not sent back or logged.
        errors = [
            {"pointer": _pointer(item["loc"]), "detail": item["msg"]} for item in error.errors()
        ]
        return problem(422, "validation-error", detail, errors=errors)

    @app.exception_handler(HTTPException)
    def http(request: Request, error: HTTPException) -> Response:
        detail = (
            "There is nothing here; check the link."
            if error.status_code == 404
            else str(error.detail)
        )
        if wants_json(request):
            slug = "not-found" if error.status_code == 404 else "refused"
            answer: Response = problem(error.status_code, slug, detail)
        else:
            context = {"status": error.status_code, "detail": detail}
            answer = render(request, "error.html", context, status=error.status_code)
        answer.headers.update(error.headers or {})
        return answer


def _pointer(location: Iterable[str | int]) -> str:
    # A name in JSON can hold half a surrogate pair, which cannot be sent back.
    return "/".join(map(str, location)).encode(errors="replace").decode()
