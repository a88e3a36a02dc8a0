"""How many of a person's charges are not of Gaussian noise alone: none was known to be before."""

import json
from collections import Counter

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

_TABLE, _COLUMNS = "ledger_balance", ("spent_other", "reserved_other")
_CHARGES = sa.text(
    "SELECT person, key, kind, amounts FROM ledger_entry JOIN ledger_cost ON digest = cost "
    "WHERE kind <> 'adjust' ORDER BY person, sequence"
)


def upgrade() -> None:
    connection = op.get_bind()
    if _COLUMNS[0] in {column["name"] for column in sa.inspect(connection).get_columns(_TABLE)}:
        return
    for name in _COLUMNS:
        op.add_column(_TABLE, sa.Column(name, sa.Integer(), nullable=False, server_default="0"))
    latest = {
        (person, key): (kind, amounts)
        for person, key, kind, amounts in connection.execute(_CHARGES)
    }
    counts = {name: Counter() for name in _COLUMNS}
    for (person, _), (kind, amounts) in latest.items():
        if kind != "release" and _costs(json.loads(amounts) if isinstance(amounts, str) else amounts):
            counts["reserved_other" if kind == "reserve" else "spent_other"][person] += 1
    for name, people in counts.items():
        update = sa.text(f"UPDATE {_TABLE} SET {name} = :count WHERE person = :person")
        for person, count in people.items():
            connection.execute(update, {"count": count, "person": person})


def _costs(amounts):
    protected = amounts["user"] if amounts["protected"] is None else amounts["protected"]
    return bool(protected if amounts["rho"] is None else amounts["rho"])
