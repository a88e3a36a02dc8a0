"""How often a reservation lapsed is forgotten once the questions are shown."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.execute(
        sa.text("UPDATE participation SET attempt = 0 WHERE state NOT IN ('reserved', 'expired')")
    )
