"""Several leaders of one helper, each with a token of its own; the one there was has all tasks."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"

_FIRST = "0" * 32


def upgrade() -> None:
    op.create_table(
        "helper_leader",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("name", sa.String(100), nullable=False, unique=True),
        sa.Column("token", sa.String(64), nullable=True),
        sqlite_with_rowid=False,
    )
    op.add_column("helper_task", sa.Column("leader", sa.String(32), nullable=True))
    op.execute(
        sa.text(
            "INSERT INTO helper_leader (id, name, token) "
            "SELECT :id, 'leader', value FROM setting WHERE key = 'leader_token'"
        ).bindparams(id=_FIRST)
    )
    op.execute(sa.text("DELETE FROM setting WHERE key = 'leader_token'"))
    op.execute(sa.text("UPDATE helper_task SET leader = :id").bindparams(id=_FIRST))
