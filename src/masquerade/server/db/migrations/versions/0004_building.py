"""Drafts, selection runs, and the days and seats of surveys that are open."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "draft",
        sa.Column("token", sa.String(32), primary_key=True),
        sa.Column("team", sa.String(32), sa.ForeignKey("team.id"), nullable=False),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("day", sa.String(10), nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_draft_team", "draft", ["team"])
    op.create_table(
        "selection_run",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("survey", sa.String(32), nullable=False),
        sa.Column("day", sa.String(10), nullable=False),
        sa.Column("run", sa.JSON(), nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_selection_run_survey", "selection_run", ["survey"])
    op.create_table(
        "made",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("body", sa.String(64), nullable=False),
        sa.Column("token", sa.String(32), nullable=False),
        sa.Column("day", sa.String(10), nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_made_day", "made", ["day"])
    op.add_column("survey", sa.Column("document", sa.JSON(), nullable=True))
    op.add_column("survey", sa.Column("closes", sa.String(10), nullable=True))
    op.add_column("survey", sa.Column("seats", sa.JSON(), nullable=True))
