"""Participations from the choice of a level to the reports; a ledger with reservations and caps.

Responses become submitted participations at their survey's one level. Old ledger entries are
charged again, in their order, into new chains: the key of each is the hash that it had, so the new
chain holds the old one. Where somebody spent more than the cap that begins now, the chain begins
with a cap of what was spent and lowers it afterwards: nothing was forbidden then.
"""

import json

import sqlalchemy as sa
from alembic import op

from masquerade.accounting import Caps, Charge, Cost, Entry, Ledger, MemoryStorage, verify_chain
from masquerade.exact import Micro
from masquerade.server.db.ledger_storage import LedgerTables

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    connection = op.get_bind()
    responses = _rows(connection, "response", "survey, id")
    entries = _rows(connection, "ledger_entry", "person, sequence")
    surveys = _rows(connection, "survey", "token")
    levels = {row.token: _json(row.definition)["level"] for row in surveys}
    op.drop_table("ledger_entry")
    op.drop_table("response")
    op.add_column("survey", sa.Column("listed", sa.Boolean(), nullable=True))
    op.execute("UPDATE survey SET listed = false")
    with op.batch_alter_table("survey") as table:
        table.alter_column("listed", existing_type=sa.Boolean(), nullable=False)
    _create()
    participation = sa.table("participation", *(sa.column(name) for name in (
        "id", "survey", "pseudonym", "level", "state", "attempt")), sa.column("reports", sa.JSON))
    if responses:
        connection.execute(sa.insert(participation), [
            {"id": row.id, "survey": row.survey, "pseudonym": row.pseudonym,
             "level": levels[row.survey], "state": "submitted", "attempt": 1,
             "reports": _json(row.reports)}
            for row in responses
        ])
    chains = {}
    for row in entries:
        chains.setdefault(row.person, []).append(_entry(row))
    for person, chain in chains.items():
        verify_chain(chain)
        _charge_again(LedgerTables(connection), person, chain)


def _rows(connection, table, order):
    return connection.execute(sa.text(f"SELECT * FROM {table} ORDER BY {order}")).all()


def _json(value):
    return json.loads(value) if isinstance(value, str) else value


def _entry(row):
    cost = Cost(row.survey, tuple(_json(row.mechanisms)), Micro(row.event_micro),
                Micro(row.user_micro))
    return Entry(Charge(row.person, cost, row.day), row.sequence, row.previous_hash, row.hash)


def _charge_again(tables, person, chain):
    total = sum(entry.charge.user.micro for entry in chain)
    caps = Caps()
    enough = caps if Micro(total) <= caps.epsilon else Caps(Micro(total), caps.delta, caps.clear)
    day = chain[0].charge.day
    ledger = Ledger(tables, clock=lambda: day, caps=enough)
    for entry in chain:
        day = entry.charge.day
        ledger.charge(person, entry.hash, entry.charge.cost)
    if enough is not caps:
        ledger.lower_caps(person, caps)


def _create() -> None:
    op.create_table(
        "participation",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("survey", sa.String(32), sa.ForeignKey("survey.token"), nullable=False),
        sa.Column("pseudonym", sa.String(64), nullable=False),
        sa.Column("level", sa.String(32), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("day", sa.String(10), nullable=True),
        sa.Column("idempotency", sa.String(64), nullable=True, unique=True),
        sa.Column("commitment", sa.String(64), nullable=True),
        sa.Column("reports", sa.JSON(none_as_null=True), nullable=True),
        sa.UniqueConstraint("survey", "pseudonym", name="one_participation_a_survey"),
        sqlite_with_rowid=False,
    )
    op.create_index("participation_of_survey", "participation", ["survey", "state"])
    op.create_table(
        "ledger_cost",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("survey", sa.String(32), nullable=False),
        sa.Column("mechanisms", sa.JSON(), nullable=False),
        sa.Column("amounts", sa.JSON(), nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_ledger_cost_survey", "ledger_cost", ["survey"])
    op.create_table(
        "ledger_entry",
        sa.Column("person", sa.String(64), primary_key=True),
        sa.Column("sequence", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("key", sa.String(64), nullable=False),
        sa.Column("cost", sa.String(64), sa.ForeignKey("ledger_cost.digest"), nullable=False),
        sa.Column("day", sa.String(10), nullable=False),
        sa.Column("caps", sa.Text(), nullable=True),
        sa.Column("previous_hash", sa.String(64), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "one_step_of_a_kind", "ledger_entry", ["person", "key", "kind"], unique=True,
        sqlite_where=sa.text("kind <> 'adjust'"), postgresql_where=sa.text("kind <> 'adjust'"),
    )
    op.create_table(
        "ledger_balance",
        sa.Column("person", sa.String(64), primary_key=True),
        sa.Column("caps", sa.Text(), nullable=False),
        sa.Column("entries", sa.Integer(), nullable=False),
        sa.Column("head", sa.String(64), nullable=False),
        sa.Column("open", sa.Integer(), nullable=False),
        sa.Column("spent_epsilon", sa.BigInteger(), nullable=False),
        sa.Column("reserved_epsilon", sa.BigInteger(), nullable=False),
        sa.Column("spent_unbounded", sa.Integer(), nullable=False),
        sa.Column("reserved_unbounded", sa.Integer(), nullable=False),
        sa.Column("spent_rho", sa.BigInteger(), nullable=False),
        sa.Column("reserved_rho", sa.BigInteger(), nullable=False),
        sa.Column("spent_clear", sa.Integer(), nullable=False),
        sa.Column("reserved_clear", sa.Integer(), nullable=False),
        # Of version 0008, because today's ledger writes the balances of this version too.
        sa.Column("spent_other", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("reserved_other", sa.Integer(), nullable=False, server_default="0"),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "balance_with_reservations", "ledger_balance", ["person"],
        sqlite_where=sa.text("open > 0"), postgresql_where=sa.text("open > 0"),
    )
    op.create_table(
        "caps_to_come",
        sa.Column("person", sa.String(64), primary_key=True),
        sa.Column("caps", sa.Text(), nullable=False),
        sa.Column("day", sa.String(10), nullable=False),
        sqlite_with_rowid=False,
    )
