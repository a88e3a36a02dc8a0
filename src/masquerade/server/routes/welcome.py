"""The first page of a server."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse
from starlette.responses import Response

from masquerade.server.http.pages import render
from masquerade.server.routes.authorization import actor_of

routes = APIRouter(include_in_schema=False)


@routes.get("/")
def front(request: Request) -> Response:
    if actor_of(request) is None:
        return render(request, "surveyor/welcome.html")
    return RedirectResponse("/surveys", 303)
