"""Surveyors' accounts and teams; the surveys of before belong to a first team."""

import sqlalchemy as sa
from alembic import op

from masquerade.server.db.tables import FIRST_TEAM

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "team",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("name", sa.Text(), nullable=False),
        sqlite_with_rowid=False,
    )
    team = sa.table("team", sa.column("id"), sa.column("name"))
    op.get_bind().execute(sa.insert(team), {"id": FIRST_TEAM, "name": "My team"})
    op.create_table(
        "account",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("login", sa.String(64), nullable=False, unique=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("password", sa.Text(), nullable=True),
        sa.Column("totp_secret", sa.String(64), nullable=True),
        sa.Column("totp_step", sa.BigInteger(), nullable=True),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("day", sa.String(10), nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "membership",
        sa.Column("account", sa.String(32), sa.ForeignKey("account.id"), primary_key=True),
        sa.Column("team", sa.String(32), sa.ForeignKey("team.id"), primary_key=True),
        sa.Column("role", sa.String(16), nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_membership_team", "membership", ["team"])
    op.create_table(
        "session",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("account", sa.String(32), sa.ForeignKey("account.id"), nullable=False),
        sa.Column("team", sa.String(32), sa.ForeignKey("team.id"), nullable=False),
        sa.Column("day", sa.String(10), nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_session_account", "session", ["account"])
    op.create_table(
        "passkey",
        sa.Column("credential", sa.String(1400), primary_key=True),
        sa.Column("account", sa.String(32), sa.ForeignKey("account.id"), nullable=False),
        sa.Column("public_key", sa.Text(), nullable=False),
        sa.Column("sign_count", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("day", sa.String(10), nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_passkey_account", "passkey", ["account"])
    op.create_table(
        "spent_challenge",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("day", sa.String(10), nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_spent_challenge_day", "spent_challenge", ["day"])
    op.create_table(
        "team_invitation",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("team", sa.String(32), sa.ForeignKey("team.id"), nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("until", sa.String(10), nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_team_invitation_team", "team_invitation", ["team"])
    op.create_table(
        "api_token",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("account", sa.String(32), sa.ForeignKey("account.id"), nullable=False),
        sa.Column("team", sa.String(32), sa.ForeignKey("team.id"), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("ending", sa.String(4), nullable=False),
        sa.Column("scopes", sa.JSON(), nullable=False),
        sa.Column("day", sa.String(10), nullable=False),
        sa.Column("until", sa.String(10), nullable=True),
        sa.Column("used", sa.String(10), nullable=True),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_api_token_account", "api_token", ["account"])
    op.create_index("ix_api_token_team", "api_token", ["team"])
    # SQLite adds no column that both refers to another table and may not be empty.
    op.add_column(
        "survey", sa.Column("team", sa.String(32), nullable=False, server_default=FIRST_TEAM)
    )
    op.create_index("ix_survey_team", "survey", ["team"])
    # The key of the one owner's cookie; sessions are rows now.
    op.execute("DELETE FROM setting WHERE key = 'session_key'")
