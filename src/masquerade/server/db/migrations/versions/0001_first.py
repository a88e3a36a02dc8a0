"""First schema: settings, surveys, responses, ledger."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "setting",
        sa.Column("key", sa.String(64), primary_key=True),
        sa.Column("value", sa.Text(), nullable=False),
    )
    op.create_table(
        "survey",
        sa.Column("token", sa.String(32), primary_key=True),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("definition", sa.JSON(), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("pseudonym_key", sa.String(64), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("opened", sa.String(10), nullable=False),
        sa.Column("closed", sa.String(10), nullable=True),
        sa.Column("simulated_truth", sa.JSON(none_as_null=True), nullable=True),
    )
    op.create_table(
        "response",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("survey", sa.String(32), sa.ForeignKey("survey.token"), nullable=False),
        sa.Column("pseudonym", sa.String(64), nullable=False),
        sa.Column("reports", sa.JSON(), nullable=False),
        sa.UniqueConstraint("survey", "pseudonym", name="one_response_a_participant"),
        sqlite_with_rowid=False,
    )
    op.create_index("response_of_survey", "response", ["survey"])
    op.create_table(
        "ledger_entry",
        sa.Column("person", sa.String(64), primary_key=True),
        sa.Column("sequence", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("survey", sa.String(32), sa.ForeignKey("survey.token"), nullable=False),
        sa.Column("mechanisms", sa.JSON(), nullable=False),
        sa.Column("event_micro", sa.BigInteger(), nullable=False),
        sa.Column("user_micro", sa.BigInteger(), nullable=False),
        sa.Column("day", sa.String(10), nullable=False),
        sa.Column("previous_hash", sa.String(64), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.UniqueConstraint("person", "survey", name="one_charge_a_survey"),
        sqlite_with_rowid=False,
    )
