"""The web application."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from datetime import datetime, time, timedelta, tzinfo
from functools import cache, partial
from typing import Any
from zoneinfo import ZoneInfo

from anyio.to_thread import current_default_thread_limiter
from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import RedirectResponse
from fastapi.staticfiles import StaticFiles
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match

from masquerade import __version__
from masquerade.errors import MasqueradeError, ServerBusy, Unauthenticated, UnderWay
from masquerade.server.accounts.openid import Provider
from masquerade.server.db.seals import Seals
from masquerade.server.db.transactions import Transactions
from masquerade.server.http.database_faults import database_cause
from masquerade.server.http.front import Front
from masquerade.server.http.limit_table import LimitTable
from masquerade.server.http.logs import Repeats, fields
from masquerade.server.http.metrics import Metrics, RequestMetrics
from masquerade.server.http.pages import STATIC, fixed_translation, render, translation
from masquerade.server.http.problem import (
    PROBLEM_ANSWER,
    WRONG_FORM,
    describe_problems,
    invalid_request,
    masquerade_problem,
    problem,
    wants_json,
)
from masquerade.server.http.rate_limit import Attempts, Beginnings, RateLimits
from masquerade.server.http.security import BodyLimit, LastResort, SecondPartyPages, SecurityHeaders
from masquerade.server.http.write_slots import (
    READING_PATIENCE_SECONDS,
    READING_SLOTS,
    THREADS,
    WriteQueue,
    WriteSlots,
)
from masquerade.server.mail.smtp import MailServer
from masquerade.server.operations.gauges import readings
from masquerade.server.routes import (
    accounts,
    app_shell,
    audit,
    completion_codes,
    draft_pages,
    front,
    health,
    invitations,
    joining,
    leaderboards,
    me,
    openid,
    participations,
    publication,
    relations,
    results,
    sign_in,
    survey_languages,
    survey_pages,
    surveys,
    teams,
    two_parties,
    webhooks,
)
from masquerade.server.routes.audit import AuditTrail
from masquerade.server.routes.authorization import CSRF_HEADER, in_session
from masquerade.server.routes.sign_in import sign_in_address
from masquerade.server.services import Services
from masquerade.server.settings import Settings
from masquerade.server.webhooks.sender import Sender
from masquerade.server.webhooks.webhooks import RESULTS_READY

_TITLE = "Masquerade"
_ABOUT = "Surveys whose answers are masked on the participant's device."
_LOGGER = logging.getLogger(__name__)
_AFTER_MIDNIGHT_SECONDS = 60
_METHODS = ("DELETE", "GET", "PATCH", "POST", "PUT")
_DELIVERY_SECONDS = _ADDING_SECONDS = 5
_PLACES_SECONDS = 60
_READING_SECONDS = 5
_REPEATS = Repeats()

# One tree for all applications of a process. Routes are tried in order, so the ones that are asked
# for most come first.
_ROUTES = APIRouter(responses={"default": PROBLEM_ANSWER})
_ROUTES.include_router(participations.routes)
_ROUTES.include_router(participations.steps)
_ROUTES.mount("/static", StaticFiles(directory=STATIC), name="static")
for _part in (
    app_shell.routes,
    app_shell.files,
    me.routes,
    sign_in.routes,
    joining.routes,
    accounts.routes,
    openid.routes,
    teams.routes,
    results.routes,
    relations.routes,
    publication.routes,
    leaderboards.routes,
    surveys.routes,
    survey_languages.routes,
    draft_pages.routes,
    survey_pages.routes,
    two_parties.helpers,
    two_parties.surveys,
    webhooks.routes,
    webhooks.pages,
    audit.routes,
    audit.pages,
    completion_codes.routes,
    completion_codes.pages,
    invitations.routes,
    invitations.pages,
    health.routes,
):
    _ROUTES.include_router(_part)


def create_app(
    settings: Settings, *, sweeps: bool = True, limits: LimitTable | None = None
) -> FastAPI:
    """Return the application; its services are ``app.state.services``.

    Parameters
    ----------
    settings : Settings
        All settings of the server.
    sweeps : bool
        Whether it sweeps once a day and rewrites SQLite's file; of several processes on one
        database one is enough.
    limits : LimitTable, optional
        How often who has asked of late, where several processes share that.
    """
    limits = limits or LimitTable()
    metrics = None if settings.metrics == "off" else Metrics()
    services = _services(settings, rewrites=sweeps)
    sender = _sender(services, settings)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        alone = list(_sweeps(services, sender, settings, metrics)) if sweeps else []
        if metrics is not None:
            alone.append(_read_queue(metrics, app.state.writes, services.transactions))
        current_default_thread_limiter().total_tokens = THREADS
        tasks = [asyncio.create_task(one) for one in alone]
        yield
        # A cancelled task leaves its thread running, so these are told to end by themselves.
        sender.end()
        services.post.end()
        services.aggregation.end()
        for task in tasks:
            task.cancel()
        services.close()

    app = FastAPI(
        title=_TITLE,
        version=__version__,
        description=_ABOUT,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/v1/openapi.json",
        **_without_telemetry(),
    )
    app.state.services = services
    app.state.settings = settings
    app.state.metrics = metrics
    app.state.attempts = Attempts(table=limits)
    app.state.beginnings = Beginnings(
        rewarded=settings.rate_rewarded, other=settings.rate_survey, table=limits
    )
    app.state.writes = WriteQueue()
    _add_middleware(app, services, settings, limits)
    app.router.routes.extend(_ROUTES.routes)
    app.include_router(front.demo_routes if settings.demo else front.routes)
    if metrics is not None:
        app.include_router(health.metrics_routes)
    _answer_errors(app)
    app.openapi = _description  # type: ignore[method-assign]
    return app


def _services(settings: Settings, *, rewrites: bool) -> Services:
    return Services.open(
        settings.database,
        time_zone=settings.time_zone,
        caps=settings.caps,
        allow_clear=settings.allow_clear,
        reservation_days=settings.reservation_days,
        unopened_reservations=settings.unopened_reservations,
        webhook_private=settings.webhook_private,
        helper_private=settings.helper_private,
        rewrites=rewrites,
        key=settings.database_key,
        server_key=settings.server_key,
        provider=provider_of(settings),
        mail=_mail_server(settings),
    )


def _sender(services: Services, settings: Settings) -> Sender:
    def compute(token: str) -> None:
        services.results.result_text(services.surveys.record(token))

    return Sender(
        services.transactions,
        private=settings.webhook_private,
        seals=Seals(settings.server_key),
        # Computed before it is told, so that who follows the message finds the results.
        before={RESULTS_READY: compute},
    )


def _sweeps(
    services: Services, sender: Sender, settings: Settings, metrics: Metrics | None
) -> Iterator[Coroutine[Any, Any, None]]:
    """Yield the tasks that one process of a server runs beside its requests."""
    add_up = partial(services.aggregation.run, patiently=True)
    yield _run_daily(services, metrics, ZoneInfo(settings.time_zone))
    yield _repeat("held places wait", services.held_places.look, _PLACES_SECONDS)
    yield _repeat("webhooks wait", sender.deliver, _DELIVERY_SECONDS)
    yield _repeat("messages wait", services.post.deliver, _DELIVERY_SECONDS)
    yield _repeat("adding up waits", add_up, _ADDING_SECONDS)
    if metrics is not None:
        look = partial(readings, services.transactions, settings.sqlite_file)
        yield _repeat("gauges wait", partial(_read_gauges, metrics, look), _READING_SECONDS)


def _add_middleware(
    app: FastAPI, services: Services, settings: Settings, limits: LimitTable
) -> None:
    """Put the layers that each request passes around the routes, the innermost first.

    The one that is added last is the outermost: what limits refuse still gets all headers, and is
    counted.
    """
    app.add_middleware(AuditTrail, log=services.audit_log)
    reading = WriteQueue(slots=READING_SLOTS, patience=READING_PATIENCE_SECONDS)
    app.add_middleware(WriteSlots, queue=app.state.writes, reading=reading)
    steps = participations.steps.routes
    app.add_middleware(Front, routes=steps, changes=services.transactions)
    app.add_middleware(BodyLimit, most=_most_body)
    app.add_middleware(
        RateLimits,
        participant=settings.rate_participant,
        address=settings.rate_address,
        preview=settings.rate_preview,
        table=limits,
    )
    app.add_middleware(LastResort)
    # Outside of what refuses, so that a page can read why it was refused.
    app.add_middleware(SecondPartyPages, allowed=services.helpers.is_second_party)
    app.add_middleware(SecurityHeaders, public_url=settings.public_url)
    if app.state.metrics is not None:
        app.add_middleware(RequestMetrics, metrics=app.state.metrics)


@cache
def _most_body(path: str) -> int | None:
    sizes = (leaderboards, survey_languages, draft_pages)
    return next(filter(None, (one.most_body(path) for one in sizes)), None)


def _description() -> dict[str, Any]:
    """Return the OpenAPI document; of each application of this process it is the same."""
    document = get_openapi(
        title=_TITLE, version=__version__, description=_ABOUT, routes=_ROUTES.routes
    )
    return describe_problems(document)


async def _run_daily(services: Services, metrics: Metrics | None, zone: tzinfo) -> None:
    """Run the daily jobs now and soon after each midnight of a zone, when days change."""
    while True:
        try:
            summary = await asyncio.to_thread(services.daily_jobs.run)
            await asyncio.to_thread(services.webhooks.forget_old)
        except SQLAlchemyError as error:  # the database is away; the next sweep finds the same
            _warn("the daily sweep failed", error)
            if metrics is not None:
                metrics.sweep_failed()
        else:
            counts = {"released": summary.released, "raised": summary.raised}
            _LOGGER.info("the daily sweep is done", extra=fields(**counts))
            if metrics is not None:
                metrics.sweep(**counts)
        now = datetime.now(zone)
        tomorrow = datetime.combine(now.date() + timedelta(days=1), time.min, zone)
        # By seconds since 1970: a day in which clocks are changed has 23 or 25 hours. A minute
        # late, so that clocks of other computers have the new day too.
        await asyncio.sleep(tomorrow.timestamp() - now.timestamp() + _AFTER_MIDNIGHT_SECONDS)


async def _repeat(what: str, work: Callable[[], object], seconds: float) -> None:
    """Do something again and again, in a thread; `what` is logged where the database is away."""
    while True:
        try:
            await asyncio.to_thread(work)
        except SQLAlchemyError as error:  # what waits is still there
            _warn(what, error)
        await asyncio.sleep(seconds)


def _read_gauges(metrics: Metrics, look: Callable[[], dict[str, float]]) -> None:
    metrics.read(look())


async def _read_queue(metrics: Metrics, queue: WriteQueue, changes: Transactions) -> None:
    """Tell how many writes of this process wait, and for how long."""
    while True:
        longest = max(queue.oldest_wait(), changes.oldest_wait())
        waits = {
            "writes_waiting": queue.waiting + changes.waiting,
            "write_wait_seconds": longest,
        }
        metrics.read({f"masquerade_{name}": value for name, value in waits.items()})
        await asyncio.sleep(_READING_SECONDS)


def _warn(what: str, error: SQLAlchemyError) -> None:
    """Log an error of the database by its name, once a minute for each cause."""
    cause = database_cause(error) or type(error).__qualname__
    count = _REPEATS.due(f"{what} {cause}")
    if count is not None:
        _LOGGER.warning("%s: %s", what, cause, extra=fields(cause=cause, count=count))


def _mail_server(settings: Settings) -> MailServer:
    """Return the mail server of the settings."""
    return MailServer(
        settings.smtp_host,
        settings.smtp_port,
        settings.smtp_security,
        settings.smtp_user,
        settings.smtp_password,
        settings.mail_from,
    )


def provider_of(settings: Settings) -> Provider | None:
    """Return the OpenID provider of the settings."""
    if not settings.openid_issuer:
        return None
    return Provider(
        settings.openid_issuer,
        settings.openid_client,
        settings.openid_client_secret,
        settings.openid_name,
    )


def _without_telemetry() -> dict[str, Any]:
    """Return the argument that keeps newer versions of the framework from tracing requests."""
    if "telemetry" not in inspect.signature(FastAPI.__init__).parameters:
        return {}
    kinds = ("tracing", "metrics", "logs", "operation_spans", "auto_configure")
    return {"telemetry": dict.fromkeys(kinds, False)}


def _answer_errors(app: FastAPI) -> None:
    @app.exception_handler(MasqueradeError)
    def own(request: Request, error: MasqueradeError) -> Response:
        if wants_json(request):
            # Programs are told in English; a page shows its reader what its script was told.
            # Anybody can send the header of a script, so the session says whose page it is.
            say: Callable[[object], str] = str
            if CSRF_HEADER in request.headers:
                say = translation(request) if in_session(request) else fixed_translation(request)
            return masquerade_problem(error, say)
        if isinstance(error, Unauthenticated):
            return RedirectResponse(sign_in_address(request), 303)
        status, told = error.status, {"detail": error, **error.details}
        page = render(request, "error.html", {"status": status, **told}, status=status)
        if isinstance(error, UnderWay | ServerBusy):
            page.headers["Refresh"] = page.headers["Retry-After"] = str(error.seconds)
        return page

    @app.exception_handler(RequestValidationError)
    def invalid(request: Request, error: RequestValidationError) -> Response:
        if not wants_json(request):
            return render(request, "error.html", {"status": 422, "detail": WRONG_FORM}, status=422)
        return invalid_request((item["loc"], str(item["msg"])) for item in error.errors())

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
        if error.status_code == 405:
            # The error names the methods of one route, where others share its path.
            answer.headers["allow"] = ", ".join(_methods_at(app, request))
        return answer


def _methods_at(app: FastAPI, request: Request) -> list[str]:
    """Return the methods that some route has at the path of a request."""
    scopes = [{**request.scope, "method": method} for method in _METHODS]
    return [
        scope["method"]
        for scope in scopes
        if any(route.matches(scope)[0] == Match.FULL for route in app.routes)
    ]
