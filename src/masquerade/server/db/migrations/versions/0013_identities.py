"""People at an OpenID provider who may sign in as an account."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.create_table(
        "identity",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("account", sa.String(32), sa.ForeignKey("account.id"), nullable=False),
        sa.Column("day", sa.String(10), nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_identity_account", "identity", ["account"])
