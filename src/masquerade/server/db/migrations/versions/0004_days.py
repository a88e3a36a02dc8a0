"""The responses of surveys by day."""

from alembic import op

from masquerade.server.db.tables import METADATA, RESPONSE_DAY

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    METADATA.create_all(op.get_bind(), tables=[RESPONSE_DAY])
