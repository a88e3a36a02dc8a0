"""All routes of the desk."""

from __future__ import annotations

from fastapi import APIRouter

from masquerade.server.routes.audit import audit_routes
from masquerade.server.routes.authorization import Guard
from masquerade.server.routes.completion_codes import code_routes
from masquerade.server.routes.funds import funds_pages, funds_routes
from masquerade.server.routes.wallets import wallet_routes
from masquerade.server.routes.webhooks import webhook_pages, webhook_routes
from masquerade.server.store import Store


def desk_routes(store: Store, guard: Guard) -> APIRouter:
    """Return the routes of money, completion codes, webhooks and the audit log."""
    routes = APIRouter()
    routes.include_router(wallet_routes(store))
    routes.include_router(funds_routes(store, guard))
    routes.include_router(funds_pages(store, guard))
    routes.include_router(webhook_routes(store, guard))
    routes.include_router(webhook_pages(store, guard))
    routes.include_router(audit_routes(store, guard))
    routes.include_router(code_routes(store, guard))
    return routes
