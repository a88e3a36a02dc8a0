"""Dependencies of routes: services, settings and counters of their application.

All dependencies are asynchronous, as they wait for nothing: others are run in a thread.
"""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import Depends, Path, Request, Security
from fastapi.security import APIKeyHeader

from masquerade.errors import Unauthenticated
from masquerade.server.db.pseudonyms import Pseudonyms
from masquerade.server.http.metrics import Metrics
from masquerade.server.http.rate_limit import Beginnings
from masquerade.server.services import Services
from masquerade.server.settings import Settings

PARTICIPANT_HEADER = "Masquerade-Participant"
_SCHEME = APIKeyHeader(
    name=PARTICIPANT_HEADER,
    scheme_name="participant",
    description="128 random bits, drawn by the device, in hexadecimal",
    auto_error=False,
)


async def _services(request: Request) -> Services:
    return cast(Services, request.app.state.services)


async def _settings(request: Request) -> Settings:
    return cast(Settings, request.app.state.settings)


async def _beginnings(request: Request) -> Beginnings:
    return cast(Beginnings, request.app.state.beginnings)


async def _metrics(request: Request) -> Metrics:
    return cast(Metrics, request.app.state.metrics)


InServices = Annotated[Services, Depends(_services)]
InSettings = Annotated[Settings, Depends(_settings)]
InBeginnings = Annotated[Beginnings, Depends(_beginnings)]
InMetrics = Annotated[Metrics, Depends(_metrics)]


async def _participant(
    services: InServices, secret: Annotated[str | None, Security(_SCHEME)]
) -> Pseudonyms:
    """Return whose request it is.

    Raises
    ------
    Unauthenticated
    """
    # One form alone: the same secret in capitals would be another person.
    if secret is None or len(secret) != 32 or not set(secret) <= set("0123456789abcdef"):
        raise Unauthenticated(
            f"the header {PARTICIPANT_HEADER} is missing or is not 32 hexadecimal digits; draw 128 "
            "random bits once and send them with every request."
        )
    return services.identity(secret)


Participant = Annotated[Pseudonyms, Depends(_participant)]

#: An id or a digest in an address; anything else a database may refuse to look for.
HexId = Annotated[str, Path(pattern="^[0-9a-f]{1,64}$")]
