"""The secrets of one-time codes and webhooks have room to be sealed, which the next start does."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    for table, column in (("account", "totp_secret"), ("webhook", "secret")):
        if op.get_bind().dialect.name == "postgresql":
            op.alter_column(table, column, type_=sa.Text(), nullable=True)
            continue
        # Another column, for to change one SQLite would copy the table, which others refer to.
        op.execute(f"ALTER TABLE {table} ADD COLUMN sealed TEXT")
        op.execute(f"UPDATE {table} SET sealed = {column}")
        op.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        op.execute(f"ALTER TABLE {table} RENAME COLUMN sealed TO {column}")
