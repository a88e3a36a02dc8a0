"""The addresses of a helper: for leaders, for participants' devices, and for its operator."""

from __future__ import annotations

import base64
import binascii
import hmac
from typing import Annotated, Any, cast

from fastapi import APIRouter, Depends, Form, Path, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse, RedirectResponse
from pydantic import Field
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
from masquerade.server.http.security import same_origin
from masquerade.server.http.session_cookie import csrf_token
from masquerade.server.parties.helper_page import task_address, task_view
from masquerade.server.parties.helper_services import HelperServices
from masquerade.server.parties.helper_tasks import Proposal

#: Bytes of the largest body: 500 reports with their checks.
MOST_BODY = 16 * 2**20
_DAP = "application/ppm-dap;message="
JOB_REQUEST, JOB_RESPONSE = f"{_DAP}aggregation-job-init-req", f"{_DAP}aggregation-job-resp"
SHARE_REQUEST, SHARE_RESPONSE = f"{_DAP}aggregate-share-req", f"{_DAP}aggregate-share"
_COOKIE, _SECURE_COOKIE = "masquerade-helper", "__Host-masquerade-helper"
_ID_SIZE = 16
_BEARER = "bearer "


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


async def _leader(request: Request, services: InHelper) -> None:
    header = request.headers.get("authorization", "")
    token = header[len(_BEARER) :].strip() if header.lower().startswith(_BEARER) else ""
    if not await run_in_threadpool(services.access.is_leader, token):
        raise Unauthenticated(
            "the token is not this helper's; send Authorization: Bearer mqh_…, as its operator has "
            "it."
        )


async def _body(request: Request) -> bytes:
    return await request.body()


async def _task(task: Annotated[str, Path(max_length=64)]) -> str:
    """Return a task id in hexadecimal; addresses have it in base64, as DAP says."""
    try:
        return base64.b64decode(task + "=" * (-len(task) % 4), "-_", validate=True).hex()
    except (binascii.Error, ValueError):
        raise NotFound("there is no such task here; check its address.") from None


# In this order: who asks is known before a byte of the body is read.
OfLeader = Depends(_leader)
Body = Annotated[bytes, Depends(_body)]
TaskId = Annotated[str, Depends(_task)]

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
def propose(services: InHelper, body: ProposalBody) -> Response:
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
        )
    )
    return JSONResponse(services.tasks.standing(found.id), 201)


@leaders.get("/tasks/{task}", summary="How a task stands")
def standing(services: InHelper, task: TaskId) -> Response:
    return JSONResponse(services.tasks.standing(task))


@leaders.post("/tasks/{task}/withdrawn", summary="Refuse reports that were taken back")
def withdraw(services: InHelper, task: TaskId, body: Body) -> Response:
    if len(body) % _ID_SIZE:
        raise AggregationRefused(
            f"{len(body)} bytes are no report ids of {_ID_SIZE}.", kind="invalidMessage"
        )
    ids = [body[start : start + _ID_SIZE] for start in range(0, len(body), _ID_SIZE)]
    return JSONResponse({"aggregated_before": services.aggregation.withdraw(task, ids)})


@leaders.post(
    "/tasks/{task}/aggregation_jobs", status_code=201, summary="Check reports with the leader"
)
def check(services: InHelper, task: TaskId, body: Body) -> Response:
    name, answer = services.aggregation.check(task, body)
    # DAP's names of jobs have 16 bytes; the first of the hash of the body tell jobs apart.
    place = f"/tasks/{task_address(task)}/aggregation_jobs/{name}"
    return Response(answer, 201, media_type=JOB_RESPONSE, headers={"Location": place})


@leaders.get("/tasks/{task}/aggregation_jobs/{name}", summary="The answer to a job")
def job(
    services: InHelper, task: TaskId, name: Annotated[str, Path(pattern="^[0-9a-f]{64}$")]
) -> Response:
    return Response(services.aggregation.job(task, name), media_type=JOB_RESPONSE)


@leaders.post("/tasks/{task}/aggregate_shares", status_code=201, summary="The sum, once")
def collect(services: InHelper, task: TaskId, body: Body) -> Response:
    answer = services.aggregation.collect(task, body)
    return Response(answer, 201, media_type=SHARE_RESPONSE)


@pages.get("/")
def overview(services: InHelper, request: Request) -> Response:
    secret = _operator(services, request)
    if secret is None:
        context = {"identity": services.tasks.identity()}
        return render(request, "helper/closed.html", context, status=401)
    shown: dict[str, Any] = {
        "csrf": csrf_token(secret),
        "identity": services.tasks.identity(),
        "tasks": [task_view(one, services.tasks.counts(one)) for one in services.tasks.tasks()],
    }
    return render(request, "helper/tasks.html", shown)


@pages.get("/operator")
def enter(services: InHelper, request: Request, token: str = "") -> Response:
    secret = services.access.begin(token) if token else None
    if secret is None:
        return RedirectResponse("/", 303)
    response = RedirectResponse("/", 303)
    https = request.url.scheme == "https"
    response.set_cookie(
        _SECURE_COOKIE if https else _COOKIE,
        secret,
        max_age=30 * 24 * 3600,
        httponly=True,
        samesite="strict",
        secure=https,
        path="/",
    )
    return response


@pages.post("/tasks/{task}/decision")
def decide(
    services: InHelper,
    request: Request,
    task: TaskId,
    decision: Annotated[str, Form()],
    csrf: Annotated[str, Form()] = "",
) -> Response:
    secret = _operator(services, request)
    if secret is None:
        raise Unauthenticated("open the one-time link of this helper first; its log prints one.")
    if not same_origin(request) or not hmac.compare_digest(csrf, csrf_token(secret)):
        raise Forbidden("this form was not filled in on the helper's own page; open it here.")
    if decision not in ("approve", "refuse"):
        raise Forbidden("choose to approve or to refuse.")
    services.tasks.decide(task, approve=decision == "approve")
    return RedirectResponse("/", 303)


def _operator(services: HelperServices, request: Request) -> str | None:
    """Return the secret of the operator's session, where the request has one that lasts."""
    name = _SECURE_COOKIE if request.url.scheme == "https" else _COOKIE
    secret: Any = request.cookies.get(name, "")
    return secret if secret and services.access.is_operator(secret) else None
