"""All pages about surveyors themselves."""

from __future__ import annotations

from fastapi import APIRouter

from masquerade.server.accounts.throttle import Attempts
from masquerade.server.routes.accounts import account_pages
from masquerade.server.routes.authorization import Guard
from masquerade.server.routes.joining import joining_routes
from masquerade.server.routes.sign_in import Door, sign_in_routes
from masquerade.server.routes.teams import team_pages
from masquerade.server.routes.tokens import token_pages
from masquerade.server.store import Store


def team_routes(store: Store, guard: Guard, attempts: Attempts) -> APIRouter:
    """Return the routes for signing in, invitations, accounts, teams and tokens."""
    door = Door(store, guard, attempts)
    routes = APIRouter()
    routes.include_router(sign_in_routes(store, guard, door))
    routes.include_router(joining_routes(store, guard, door))
    routes.include_router(account_pages(store, guard, door))
    routes.include_router(team_pages(store, guard))
    routes.include_router(token_pages(store, guard))
    return routes
