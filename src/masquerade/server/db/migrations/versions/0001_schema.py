"""All tables, and the first team."""

from alembic import op
from sqlalchemy import insert

from masquerade.server.db import account_tables, party_tables, reach_tables
from masquerade.server.db.tables import FIRST_TEAM, METADATA

revision = "0001"
down_revision = None
#: The modules whose tables are in `METADATA` once they are imported.
TABLES = (account_tables, party_tables, reach_tables)


def upgrade() -> None:
    # Until the first release the tables of the code are the schema; with it they are written out.
    METADATA.create_all(op.get_bind())
    op.get_bind().execute(insert(account_tables.TEAM), {"id": FIRST_TEAM, "name": "My team"})
