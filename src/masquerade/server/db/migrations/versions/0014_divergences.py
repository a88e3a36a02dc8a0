"""Ledgers add up Renyi divergences and clocks, under the third rule."""

from alembic import op

from masquerade.server.db.ledger_conversion import convert_ledgers

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    convert_ledgers(op.get_bind())
