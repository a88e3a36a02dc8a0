"""Idempotency keys: the same request sent again makes nothing twice."""

from __future__ import annotations

import hashlib
import json
from datetime import date, timedelta
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from masquerade.errors import IdempotencyConflict
from masquerade.server.db.tables import IDEMPOTENCY_KEY

#: How many days a request that made something is remembered.
KEPT_DAYS = 2


def earlier_token(
    connection: Connection, request: tuple[str, str] | None, token: str, *, today: str
) -> str | None:
    """Return the token that an earlier request with this key was given, or None.

    A new request (key with whose it is and what for, and body) is remembered with `token`.
    """
    if request is None:
        return None
    before = (date.fromisoformat(today) - timedelta(days=KEPT_DAYS)).isoformat()
    connection.execute(delete(IDEMPOTENCY_KEY).where(IDEMPOTENCY_KEY.c.day < before))
    # Hashes alone: the table would otherwise keep a second copy of what was sent, and who sent it.
    digest, body = (hashlib.sha256(part.encode()).hexdigest() for part in request)
    row = connection.execute(
        select(IDEMPOTENCY_KEY).where(IDEMPOTENCY_KEY.c.digest == digest)
    ).first()
    if row is None:
        values = {"digest": digest, "body": body, "token": token, "day": today}
        # Where both come at once, the primary key refuses the second; its transaction runs again
        # and finds the first.
        connection.execute(insert(IDEMPOTENCY_KEY), values)
        return None
    # The earlier result would hide that the client uses one key for two requests.
    if row.body != body:
        raise IdempotencyConflict(
            "this idempotency key was used for another request; draw a new one."
        )
    return str(row.token)


def body_text(data: Any) -> str:
    """Return a request's body in one form, to tell whether another is the same."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"))
