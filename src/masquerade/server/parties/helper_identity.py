"""Who runs a helper and where it is: kept from the first start on, for participants read both.

Surveys name operator and address, devices compare them with what the helper says of itself, and a
start without them, or with a slip in them, must not change what an approved survey rests on.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, delete, func, insert, select

from masquerade.errors import OperationError, ParameterError, WrongState
from masquerade.server.db.party_tables import APPROVED, HELPER_TASK
from masquerade.server.db.tables import SETTING
from masquerade.surveys.two_parties import require_origin

_OPERATOR, _ADDRESS = "helper_operator", "helper_address"
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class HelperIdentity:
    """Who runs a helper, in words for participants, and the address by which it is reached."""

    operator: str
    address: str


def stored_identity(connection: Connection) -> HelperIdentity | None:
    """Return what a helper was last started as; None before the first start."""
    query = select(SETTING.c.key, SETTING.c.value).where(SETTING.c.key.in_((_OPERATOR, _ADDRESS)))
    found = {row.key: row.value for row in connection.execute(query)}
    return HelperIdentity(found[_OPERATOR], found[_ADDRESS]) if len(found) == 2 else None


def settle_identity(
    connection: Connection, operator: str | None, address: str | None, *, change: bool = False
) -> HelperIdentity:
    """Keep who runs a helper and where it is, and return it; what is not given stays as it was.

    `change`: whether it may change although surveys are approved: these cannot be answered any
    more.

    Raises `OperationError` (nothing was kept before, and one of them is not given),
    `ParameterError` (one of them is none) or `WrongState` (approved surveys name what was kept
    before).
    """
    before = stored_identity(connection)
    if before is not None:
        operator, address = operator or before.operator, address or before.address
    operator = (operator or "").strip()
    if not operator or not address:
        raise OperationError(
            "it is not said who runs this helper and at which address; participants read both. "
            "Start it with: masquerade helper --operator 'The works council of …' "
            "--address https://helper.example.org"
        )
    if not operator.isprintable() or len(operator) > _LONGEST:
        raise ParameterError(
            f"the operator is {operator[:300]!r}, expected 1 to {_LONGEST} letters in one line."
        )
    require_origin(address)
    now = HelperIdentity(operator, address)
    if now == before:
        return now
    approved = connection.execute(
        select(func.count()).select_from(HELPER_TASK).where(HELPER_TASK.c.state == APPROVED)
    ).scalar_one()
    if before is not None and approved and not change:
        raise WrongState(
            f"{approved} approved surveys name {before.operator!r} at {before.address}, and this "
            f"would be {operator!r} at {address}: nobody could answer them any more. Start it as "
            "before, or with --change-identity."
        )
    connection.execute(delete(SETTING).where(SETTING.c.key.in_((_OPERATOR, _ADDRESS))))
    rows = ((_OPERATOR, operator), (_ADDRESS, address))
    connection.execute(insert(SETTING), [{"key": key, "value": value} for key, value in rows])
    return now
