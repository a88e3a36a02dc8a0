"""The addresses of a helper: for leaders, for participants and their devices, for its operator."""

from __future__ import annotations

import base64
import binascii
import hmac
from typing import Annotated, Any, cast

from fastapi import APIRouter, Depends, Form, Path, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse
from pydantic import Field, ValidationError
from starlette.responses import Response

from masquerade.aggregate.dap_messages import HpkeConfig
from masquerade.errors import (
    AggregationRefused,
    Forbidden,
    InvalidReport,
    NotFound,
    Unauthenticated,
)
from masquerade.server.http.bodies import StrictBody
from masquerade.server.http.pages import render
from masquerade.server.http.problem import wants_json
from masquerade.server.http.security import csrf_token, is_https, same_origin
from masquerade.server.parties.helper_page import task_address, task_view
from masquerade.server.parties.helper_proposals import Proposal
from masquerade.server.parties.helper_services import HelperServices
from masquerade.server.parties.operator_sessions import SESSION_DAYS, session_id
from masquerade.server.routes.app_shell import shell

#: Bytes of the largest body of each kind: 500 reports with their checks or a million ids, a survey,
#: a request for a sum or a form.
_MOST_REPORTS, _MOST_PROPOSAL, _MOST_OTHER = 16 * 2**20, 2**20, 16 * 2**10
_DAP = "application/ppm-dap;message="
JOB_REQUEST, JOB_RESPONSE = f"{_DAP}aggregation-job-init-req", f"{_DAP}aggregation-job-resp"
SHARE_REQUEST, SHARE_RESPONSE = f"{_DAP}aggregate-share-req", f"{_DAP}aggregate-share"
_COOKIE, _SECURE_COOKIE = "masquerade-helper", "__Host-masquerade-helper"
_ID_SIZE = 16
_BEARER = "bearer "


def most_body(path: str) -> int:
    """Return how many bytes the body of a request may have.

    Examples
    --------
    >>> most_body("/tasks"), most_body("/tasks/AAAA/decision")
    (1048576, 16384)
    """
    if path.endswith(("/aggregation_jobs", "/withdrawn")):
        return _MOST_REPORTS
    return _MOST_PROPOSAL if path == "/tasks" else _MOST_OTHER


class ProposalBody(StrictBody):
    """A survey that a leader asks the helper to approve."""

    text: Annotated[str, Field(max_length=10**6)]
    token: Annotated[str, Field(pattern=r"^[0-9a-f]{1,32}$")]
    leader: Annotated[str, Field(pattern=r"^https?://[!-~]{1,500}$")]
    people: Annotated[int, Field(ge=1, le=10**7)]
    opening: Annotated[int, Field(ge=0, le=2**40)]
    expires: Annotated[int, Field(ge=0, le=2**40)]
    leader_key: Annotated[str, Field(pattern=r"^[0-9a-f]{1,400}$")]
    collector_key: Annotated[str, Field(pattern=r"^[0-9a-f]{1,400}$")]


async def _services(request: Request) -> HelperServices:
    return cast(HelperServices, request.app.state.services)


InHelper = Annotated[HelperServices, Depends(_services)]


async def _leader(request: Request, services: InHelper) -> str:
    """Return the id of the leader that asks."""
    header = request.headers.get("authorization", "")
    token = header[len(_BEARER) :].strip() if header.lower().startswith(_BEARER) else ""
    leader = await run_in_threadpool(services.access.leader_of, token)
    if leader is None:
        raise Unauthenticated(
            "the token is not this helper's; send Authorization: Bearer mqh_…, as its operator has "
            "it."
        )
    return leader


async def _body(request: Request) -> bytes:
    return await request.body()


async def _task(task: Annotated[str, Path(max_length=64)]) -> str:
    """Return a task id in hexadecimal; addresses have it in base64, as DAP says."""
    try:
        return base64.b64decode(task + "=" * (-len(task) % 4), "-_", validate=True).hex()
    except (binascii.Error, ValueError):
        raise NotFound("there is no such task here; check its address.") from None


OfLeader = Depends(_leader)
AskedBy = Annotated[str, OfLeader]
TaskId = Annotated[str, Depends(_task)]


async def _own_task(services: InHelper, leader: AskedBy, task: TaskId) -> str:
    """Return the id of a task, if it was proposed by the leader behind the request."""
    await run_in_threadpool(services.tasks.require_leader, task, leader)
    return task


# In this order: who asks is known before a byte of the body is read.
OwnTaskId = Annotated[str, Depends(_own_task)]
Body = Annotated[bytes, Depends(_body)]


async def _proposal(_leader: AskedBy, body: Body) -> ProposalBody:
    """Return a proposal, read once the token was: as a parameter it would be read before."""
    try:
        return ProposalBody.model_validate_json(body)
    except ValidationError as error:
        raise RequestValidationError(error.errors()) from None


public = APIRouter(tags=["helper"])
leaders = APIRouter(tags=["helper"], dependencies=[OfLeader])
pages = APIRouter(include_in_schema=False)


@public.get("/identity", summary="Who this helper is, and its key")
def identity(services: InHelper) -> Response:
    return JSONResponse(services.tasks.identity())


@public.get("/tasks/{task}/approval", summary="What the helper approved, for participants' devices")
def approval(services: InHelper, task: TaskId) -> Response:
    # Asked by pages of survey servers, and public: no cookie of this site is sent with it.
    return JSONResponse(services.tasks.approval(task), headers={"access-control-allow-origin": "*"})


@public.get("/healthz", summary="Whether it answers")
async def healthz() -> Response:
    return JSONResponse({"status": "ok"})


@leaders.post("/tasks", status_code=201, summary="Ask the operator to approve a survey")
def propose(
    services: InHelper, asker: AskedBy, body: Annotated[ProposalBody, Depends(_proposal)]
) -> Response:
    try:
        leader, collector = (
            HpkeConfig.decode(bytes.fromhex(one)) for one in (body.leader_key, body.collector_key)
        )
    except ValueError:
        raise InvalidReport("a key is no hexadecimal text of whole bytes.") from None
    found = services.tasks.propose(
        Proposal(
            body.text,
            body.token,
            body.leader,
            body.people,
            body.opening,
            body.expires,
            leader,
            collector,
        ),
        asker,
    )
    return JSONResponse(services.tasks.standing(found.id), 201)


@leaders.get("/tasks/{task}", summary="How a task stands")
def standing(services: InHelper, task: OwnTaskId) -> Response:
    return JSONResponse(services.tasks.standing(task))


@leaders.post("/tasks/{task}/withdrawn", summary="Refuse reports that were taken back")
def withdraw(services: InHelper, task: OwnTaskId, body: Body) -> Response:
    if len(body) % _ID_SIZE:
        raise AggregationRefused(
            f"{len(body)} bytes are no report ids of {_ID_SIZE}.", kind="invalidMessage"
        )
    ids = [body[start : start + _ID_SIZE] for start in range(0, len(body), _ID_SIZE)]
    return JSONResponse({"aggregated_before": services.aggregation.withdraw(task, ids)})


@leaders.post(
    "/tasks/{task}/aggregation_jobs", status_code=201, summary="Check reports with the leader"
)
def check(services: InHelper, task: OwnTaskId, body: Body) -> Response:
    name, answer = services.aggregation.check(task, body)
    # DAP's names of jobs have 16 bytes; the first of the hash of the body tell jobs apart.
    place = f"/tasks/{task_address(task)}/aggregation_jobs/{name}"
    return Response(answer, 201, media_type=JOB_RESPONSE, headers={"Location": place})


@leaders.get("/tasks/{task}/aggregation_jobs/{name}", summary="The answer to a job")
def job(
    services: InHelper, task: OwnTaskId, name: Annotated[str, Path(pattern="^[0-9a-f]{64}$")]
) -> Response:
    return Response(services.aggregation.job(task, name), media_type=JOB_RESPONSE)


@leaders.post("/tasks/{task}/aggregate_shares", status_code=201, summary="The sum, once")
def collect(services: InHelper, task: OwnTaskId, body: Body) -> Response:
    answer = services.aggregation.collect(task, body)
    return Response(answer, 201, media_type=SHARE_RESPONSE)


@pages.get("/")
def overview(services: InHelper, request: Request) -> Response:
    secret = _operator(services, request)
    if secret is None:
        context = {"identity": services.tasks.identity()}
        return render(request, "helper/closed.html", context, status=401)
    return _overview(services, request, secret)


@pages.get("/operator")
def enter(services: InHelper, request: Request, token: str = "") -> Response:
    secret = services.sessions.begin(token) if token else None
    if secret is None:
        return RedirectResponse("/", 303)
    response = RedirectResponse("/", 303)
    https = is_https(request)
    response.set_cookie(
        _SECURE_COOKIE if https else _COOKIE,
        secret,
        max_age=SESSION_DAYS * 24 * 3600,
        httponly=True,
        samesite="strict",
        secure=https,
        path="/",
    )
    return response


def _own_form(services: InHelper, request: Request, csrf: Annotated[str, Form()] = "") -> str:
    """Return the secret of the operator's session; refuse a form from another page."""
    secret = _operator(services, request)
    if secret is None:
        raise Unauthenticated("open the one-time link of this helper first; its log prints one.")
    if not same_origin(request) or not _same(csrf, csrf_token(secret)):
        raise Forbidden("this form was not filled in on the helper's own page; open it here.")
    return secret


def _operator(services: HelperServices, request: Request) -> str | None:
    """Return the secret of the operator's session, where the request has one that lasts."""
    name = _SECURE_COOKIE if is_https(request) else _COOKIE
    secret: Any = request.cookies.get(name, "")
    return secret if secret and services.sessions.use(secret) else None


def _same(given: str, expected: str) -> bool:
    # As bytes: texts that are not ASCII cannot be compared in constant time.
    return hmac.compare_digest(given.encode(errors="replace"), expected.encode())


#: The secret of the operator's session, of a form that was filled in on the helper's own page.
OwnForm = Annotated[str, Depends(_own_form)]


@pages.post("/sign-out")
def sign_out(services: InHelper, secret: OwnForm) -> Response:
    services.sessions.end(session_id(secret))
    return RedirectResponse("/", 303)


@pages.post("/sessions/end")
def end_sessions(
    services: InHelper, secret: OwnForm, session: Annotated[str, Form(max_length=64)] = ""
) -> Response:
    """End one other session, or where none is named all others."""
    if session:
        services.sessions.end(session)
    else:
        services.sessions.end_others(session_id(secret))
    return RedirectResponse("/#sessions", 303)


@pages.post("/tasks/{task}/decision")
def decide(
    services: InHelper, _: OwnForm, task: TaskId, decision: Annotated[str, Form()]
) -> Response:
    if decision not in ("approve", "refuse"):
        raise Forbidden("choose to approve or to refuse.")
    services.tasks.decide(task, approve=decision == "approve")
    return RedirectResponse("/", 303)


@pages.post("/leaders")
def new_token(
    services: InHelper, request: Request, secret: OwnForm, name: Annotated[str, Form()]
) -> Response:
    token = services.access.new_leader_token(name)
    # Answered at once and not by way of another address: it is shown this once.
    return _overview(services, request, secret, token=token, token_name=name.strip())


@pages.post("/leaders/revocation")
def revoke(services: InHelper, _: OwnForm, name: Annotated[str, Form()]) -> Response:
    services.access.revoke(name)
    return RedirectResponse("/", 303)


def _overview(
    services: HelperServices, request: Request, secret: str, **more: str | None
) -> Response:
    leaders = services.access.leaders()
    names = {one.id: one.name for one in leaders}
    shown: dict[str, object] = {
        "csrf": csrf_token(secret),
        "identity": services.tasks.identity(),
        "leaders": leaders,
        "sessions": services.sessions.listed(),
        "mine": session_id(secret),
        "tasks": [
            {
                **task_view(
                    one, services.tasks.counts(one), names, copies=services.tasks.copies(one)
                ),
                "replaced": services.tasks.is_replaced(one),
            }
            for one in services.tasks.tasks()
        ],
    }
    return render(request, "helper/tasks.html", {**shown, **more})


# A survey opened at its second party's address: the app from the helper's own disk, of which the
# survey's server can change nothing. Nothing that a person answers or is known by comes here.
participants = APIRouter(include_in_schema=False)


@participants.get("/s/{token}")
def survey_page(services: InHelper, request: Request, token: str) -> Response:
    # Whoever has a survey's link learns that it was approved here; no page lists surveys.
    leader = services.tasks.leader_of(token)
    if leader is None:
        if wants_json(request):
            raise NotFound("there is no such survey here; its second party has not approved it.")
        return shell(request, status=404)
    return shell(request, leader=leader, fingerprint=services.fingerprint)


@participants.get("/api/v1/surveys/{token}/invitation")
def invitation(services: InHelper, token: str) -> Response:
    # A program that was given this address asks here for what only the survey's server has.
    leader = services.tasks.leader_of(token)
    if leader is None:
        raise NotFound("there is no such survey here; its second party has not approved it.")
    raise NotFound(f"this is the survey's second party; programs answer it at {leader}/s/{token}.")


@participants.get("/me")
@participants.get("/me/ledger")
@participants.get("/me/settings")
@participants.get("/me/plain")
@participants.get("/me/about")
def own_page(services: InHelper, request: Request, leader: str = "") -> Response:
    # A person has an account at each leader: none is shown in place of another.
    known = services.tasks.leaders()
    if not known or (leader and leader not in known):
        raise NotFound("nothing is answered here: no survey of this server was approved.")
    if not leader and len(known) > 1:
        path = request.url.path
        return render(request, "helper/accounts.html", {"leaders": known, "path": path})
    return shell(request, leader=leader or known[0], fingerprint=services.fingerprint)
