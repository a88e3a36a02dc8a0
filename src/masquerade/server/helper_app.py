"""The web application of a helper, the second party of surveys between two."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.staticfiles import StaticFiles
from sqlalchemy.exc import SQLAlchemyError
from starlette.responses import Response

from masquerade import __version__
from masquerade.errors import AggregationRefused, MasqueradeError, OperationError
from masquerade.server.http.limit_table import LimitTable
from masquerade.server.http.metrics import Metrics, RequestMetrics
from masquerade.server.http.pages import STATIC, render
from masquerade.server.http.problem import masquerade_problem, problem, wants_json
from masquerade.server.http.rate_limit import RateLimits
from masquerade.server.http.security import BodyLimit, LastResort, SecurityHeaders
from masquerade.server.operations.gauges import readings
from masquerade.server.parties.helper_services import HelperServices
from masquerade.server.routes import app_shell, health, helper_party
from masquerade.server.settings import Settings

_LOGGER = logging.getLogger(__name__)
_HOUR_SECONDS = 3600
_READING_SECONDS = 30
# Requests in a minute from one address: leaders send jobs of hundreds of reports, people few.
_ADDRESS_RATE = 600
_DAP_ERROR = "urn:ietf:params:ppm:dap:error:"


def open_helper(
    settings: Settings, *, rewrites: bool = True, change: bool = False
) -> HelperServices:
    """Return the services of the helper that settings describe.

    Raises `OperationError` (there is no key, or it is not said how the helper is reached or who
    runs it) or `WrongState` (as `HelperServices.open`, where `change` is not set).
    """
    if settings.server_key is None:
        raise OperationError("there is no helper yet; masquerade helper makes one.")
    return HelperServices.open(
        settings.database,
        server_key=settings.server_key,
        address=settings.public_url,
        operator=settings.helper_operator or None,
        change=change,
        key=settings.database_key,
        rewrites=rewrites,
    )


def create_helper_app(
    settings: Settings, *, sweeps: bool = True, limits: LimitTable | None = None
) -> FastAPI:
    """Return the application; its services are ``app.state.services``.

    `sweeps`: whether it forgets tasks that expired; of several processes on one database one is
    enough.
    `limits` (optional): as in `create_app`.
    """
    services = open_helper(settings, rewrites=sweeps)
    metrics = None if settings.metrics == "off" else Metrics()

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(_expire(services))] if sweeps else []
        if sweeps and metrics is not None:
            look = partial(readings, services.transactions, settings.sqlite_file)
            tasks.append(asyncio.create_task(_read(metrics, look)))
        yield
        for task in tasks:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        services.close()

    app = FastAPI(
        title="Masquerade helper",
        version=__version__,
        description="The second party of surveys whose answers are split between two.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
    )
    app.state.services = services
    app.state.settings = settings
    app.state.metrics = metrics
    # The one that is added last is the outermost.
    app.add_middleware(BodyLimit, most=helper_party.most_body)
    app.add_middleware(
        RateLimits,
        participant=0,
        address=min(_ADDRESS_RATE, settings.rate_address),
        preview=0,
        table=limits,
        under=("/",),
        but=("/app/", "/static/", "/healthz"),
    )
    app.add_middleware(LastResort)
    app.add_middleware(SecurityHeaders, public_url=settings.public_url)
    if metrics is not None:
        app.add_middleware(RequestMetrics, metrics=metrics)
        app.include_router(health.metrics_routes)
    app.include_router(helper_party.public)
    app.include_router(helper_party.leaders)
    app.include_router(helper_party.pages)
    app.include_router(helper_party.participants)
    app.include_router(app_shell.files)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    _answer_errors(app)
    return app


def _answer_errors(app: FastAPI) -> None:
    @app.exception_handler(AggregationRefused)
    def refused(_request: Request, error: AggregationRefused) -> Response:
        # DAP's own types, which other leaders know.
        body = {"type": _DAP_ERROR + error.kind, "title": error.kind, "status": 409}
        return JSONResponse(
            body | {"detail": str(error)}, 409, media_type="application/problem+json"
        )

    @app.exception_handler(MasqueradeError)
    def own(request: Request, error: MasqueradeError) -> Response:
        if wants_json(request):
            return masquerade_problem(error)
        status = error.status
        return render(request, "error.html", {"status": status, "detail": error}, status=status)

    @app.exception_handler(RequestValidationError)
    def invalid(_request: Request, _error: RequestValidationError) -> Response:
        return problem(422, "validation-error", "The request does not have the expected form.")


async def _read(metrics: Metrics, look: Callable[[], dict[str, float]]) -> None:
    """Set the gauges, twice a minute."""
    while True:
        try:
            metrics.read(await asyncio.to_thread(look))
        except SQLAlchemyError as error:  # the database is away
            _LOGGER.warning("gauges wait: %s", type(error).__qualname__)
        await asyncio.sleep(_READING_SECONDS)


async def _expire(services: HelperServices) -> None:
    """Forget expired tasks, every hour."""
    while True:
        try:
            await asyncio.to_thread(services.tasks.expire)
        except SQLAlchemyError as error:  # the database is away; the next hour finds the same
            _LOGGER.warning("expired tasks wait: %s", type(error).__qualname__)
        await asyncio.sleep(_HOUR_SECONDS)
