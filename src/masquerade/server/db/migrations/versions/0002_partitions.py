"""PostgreSQL's tables of participants in partitions."""

from alembic import op

from masquerade.server.db import account_tables, party_tables
from masquerade.server.db.partitions import divide_tables

revision = "0002"
down_revision = "0001"
#: The modules whose tables are in `METADATA` once they are imported.
TABLES = (account_tables, party_tables)


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        divide_tables(op.get_bind())
