"""The last day on which each session was used; those that are there count as used when they began."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.add_column("session", sa.Column("used", sa.String(10), nullable=True))
    op.execute(sa.text("UPDATE session SET used = day"))
    with op.batch_alter_table(
        "session", table_kwargs={"sqlite_with_rowid": False}
    ) as table:
        table.alter_column("used", existing_type=sa.String(10), nullable=False)
