"""Idempotency keys: the same request sent again makes nothing twice."""

from __future__ import annotations

import hashlib
import json
from datetime import date, timedelta
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from masquerade.errors import IdempotencyConflict
from masquerade.server.db.draft_tables import IdempotencyKeyRow
from masquerade.server.db.tables import table_of

#: How many days a request that made something is remembered.
KEPT_DAYS = 2

_KEY = table_of(IdempotencyKeyRow)


def earlier_token(
    connection: Connection, request: tuple[str, str] | None, token: str, *, today: str
) -> str | None:
    """Return the token of what an earlier request with this key made, or None.

    A new request is remembered with the token of what it makes now.

    Parameters
    ----------
    connection
    request : tuple of str or None
        Idempotency key, with whose it is and what for, and the request's body; None: not known.
    token : str
        Of what is made now.
    today : str

    Raises
    ------
    IdempotencyConflict
        The key was used for another request.
    """
    if request is None:
        return None
    before = (date.fromisoformat(today) - timedelta(days=KEPT_DAYS)).isoformat()
    connection.execute(delete(_KEY).where(_KEY.c.day < before))
    # Hashes alone: the table would otherwise keep a second copy of what was sent, and who sent it.
    digest, body = (hashlib.sha256(part.encode()).hexdigest() for part in request)
    row = connection.execute(select(_KEY).where(_KEY.c.digest == digest)).first()
    if row is None:
        values = {"digest": digest, "body": body, "token": token, "day": today}
        # Where both come at once, the primary key refuses the second; its transaction runs again
        # and finds the first.
        connection.execute(insert(_KEY), values)
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
