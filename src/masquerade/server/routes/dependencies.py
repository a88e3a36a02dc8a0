"""Dependencies of routes, and the description of participants' routes.

All dependencies are asynchronous, as nearly all wait for nothing: others are run in a thread.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, cast, get_type_hints

from fastapi import Depends, Path, Request, Security
from fastapi.concurrency import run_in_threadpool
from fastapi.security import APIKeyHeader
from pydantic import BaseModel, ConfigDict, Field, create_model

from masquerade.errors import Unauthenticated
from masquerade.server.db.pseudonyms import Pseudonyms
from masquerade.server.http.metrics import Metrics
from masquerade.server.http.problem import PROBLEM_ANSWER
from masquerade.server.http.rate_limit import Beginnings
from masquerade.server.participants.moved_accounts import OWN
from masquerade.server.participants.step_batch import Step
from masquerade.server.services import Services
from masquerade.server.settings import Settings

PARTICIPANT_HEADER = "Masquerade-Participant"
_SECRET = re.compile("[wm]?[0-9a-f]{32}")
_SCHEME = APIKeyHeader(
    name=PARTICIPANT_HEADER,
    scheme_name="participant",
    description="What the device makes of its secret for this server: w (m, once an account has "
    "moved to it) and 32 hexadecimal digits",
    auto_error=False,
)


async def _services(request: Request) -> Services:
    return cast(Services, request.app.state.services)


async def _settings(request: Request) -> Settings:
    return cast(Settings, request.app.state.settings)


async def _metrics(request: Request) -> Metrics:
    return cast(Metrics, request.app.state.metrics)


InServices = Annotated[Services, Depends(_services)]
InSettings = Annotated[Settings, Depends(_settings)]
InMetrics = Annotated[Metrics, Depends(_metrics)]


async def _participant(
    services: InServices, secret: Annotated[str | None, Security(_SCHEME)]
) -> Pseudonyms:
    """Return the pseudonyms of the participant behind a request."""
    # One form alone: the same secret in capitals would be another person.
    if secret is None or not _SECRET.fullmatch(secret):
        raise Unauthenticated(
            f"the header {PARTICIPANT_HEADER} is missing or is not w and 32 hexadecimal digits; "
            "draw 128 random bits once and send them with every request."
        )
    if secret.startswith(OWN):
        return services.moved_accounts.identity(secret)  # asks nobody
    return await run_in_threadpool(services.moved_accounts.identity, secret)


Participant = Annotated[Pseudonyms, Depends(_participant)]


@dataclass(frozen=True, slots=True)
class ParticipantCaller:
    """The participant of a request that the front answers, and its handler."""

    names: Pseudonyms
    services: Services
    beginnings: Beginnings
    address: str

    async def take(self, step: Step) -> Any:
        """Take a step with others that wait; return its result once it is durable."""
        return await self.services.participations.take(step)


async def participant_caller(
    request: Request, secret: Annotated[str | None, Security(_SCHEME)]
) -> ParticipantCaller:
    """Return the participant of a request, with the services."""
    state = request.app.state
    services: Services = state.services
    names = await _participant(services, secret)
    address = request.client.host if request.client else ""
    return ParticipantCaller(names, services, state.beginnings, address)


InCaller = Annotated[ParticipantCaller, Depends(participant_caller)]


async def _secret(_names: Participant, secret: Annotated[str | None, Security(_SCHEME)]) -> str:
    assert secret is not None  # whoever has names sent one
    return secret[-32:]


#: The secret itself, for the one route that needs it.
ParticipantSecret = Annotated[str, Depends(_secret)]

#: An id or a digest in an address; anything else a database may refuse to look for.
HexId = Annotated[str, Path(pattern="^[0-9a-f]{1,64}$")]

_PADDING = Annotated[
    str, Field(pattern=r"^ *$", description="Spaces, up to whole kibibytes", default=...)
]
_REFUSED = {
    401: "The header that says whose request it is is missing or wrong",
    403: "People need a ticket, and this is none",
    404: "It is not there, or somebody else's",
    409: "It cannot be done now; the problem's type says why",
    413: "The body is too large",
    422: "The request does not have the expected form, or its values are not allowed",
    429: "Too many requests; `Retry-After` says for how long",
    503: "Too much waits to be written; `Retry-After` says for how long",
}


def answers(model: type, *refused: int, status: int = 200) -> dict[int | str, Any]:
    """Return the part of a route's OpenAPI operation on its answers, which are padded.

    `model` is the dataclass of the answer where all goes well, with `status` where something new
    was made and 200 for the same once more; `refused` are statuses of problems, beside those that
    every route can give.
    """
    good = {"model": _padded(model), "description": "Done"}
    descriptions: dict[int | str, Any] = dict.fromkeys((200, status), good)
    for one in sorted({*refused, 429}):
        descriptions[one] = {**PROBLEM_ANSWER, "description": _REFUSED[one]}
    return descriptions


@cache
def _padded(model: type) -> type[BaseModel]:
    fields: dict[str, Any] = get_type_hints(model, include_extras=True)
    padded: type[BaseModel] = create_model(
        model.__name__,
        __doc__=model.__doc__,
        __config__=ConfigDict(extra="forbid"),
        padding=_PADDING,
        **fields,
    )
    return padded
