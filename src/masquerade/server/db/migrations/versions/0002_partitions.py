"""Newer tables and columns; PostgreSQL's tables of participants in partitions."""

from alembic import op
from sqlalchemy import Connection, UniqueConstraint, inspect

from masquerade.server.db import account_tables, party_tables, reach_tables
from masquerade.server.db.partitions import divide_tables
from masquerade.server.db.tables import METADATA

revision = "0002"
down_revision = "0001"
#: The modules whose tables are in `METADATA` once they are imported.
TABLES = (account_tables, party_tables, reach_tables)


def upgrade() -> None:
    connection = op.get_bind()
    METADATA.create_all(connection)
    _complete(connection)
    if connection.dialect.name == "postgresql":
        divide_tables(connection)


def _complete(connection: Connection) -> None:
    """Add columns and unique constraints that the tables of an earlier version lack."""
    there = inspect(connection)
    for table in METADATA.sorted_tables:
        known = {column["name"] for column in there.get_columns(table.name)}
        columns = [column for column in table.columns if column.name not in known]
        names = {one["name"] for one in there.get_unique_constraints(table.name)}
        unique = [
            one
            for one in table.constraints
            if isinstance(one, UniqueConstraint) and one.name and one.name not in names
        ]
        if not columns and not unique:
            continue
        rowid = table.dialect_options["sqlite"]["with_rowid"]
        with op.batch_alter_table(
            table.name,
            recreate="always" if unique and connection.dialect.name == "sqlite" else "auto",
            table_kwargs={"sqlite_with_rowid": rowid},
        ) as batch:
            for column in columns:
                batch.add_column(column._copy())
            for one in unique:
                batch.create_unique_constraint(one.name, [column.name for column in one.columns])
