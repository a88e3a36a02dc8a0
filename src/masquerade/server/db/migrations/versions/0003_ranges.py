"""PostgreSQL's partitions are ranges; tickets, recipients and small tables of people have them."""

from alembic import op

from masquerade.server.db.partitions import divide_tables

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    connection = op.get_bind()
    if connection.dialect.name == "postgresql":
        divide_tables(connection)
