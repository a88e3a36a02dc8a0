"""The book of money, payouts, completion codes, webhooks, the audit log, and what surveys give."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.create_table(
        "book_account",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("team", sa.String(32), sa.ForeignKey("team.id"), nullable=False),
        sa.Column("currency", sa.String(16), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("holder", sa.String(64), nullable=False),
        sa.Column("balance", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("balance >= 0 OR kind = 'external'", name="nothing_is_overspent"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_book_account_team", "book_account", ["team"])
    account = sa.ForeignKey("book_account.id")
    op.create_table(
        "book_transfer",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("debit", sa.String(64), account, nullable=False),
        sa.Column("credit", sa.String(64), sa.ForeignKey("book_account.id"), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("what", sa.String(16), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("key", sa.String(64), nullable=False, unique=True),
        sa.Column("day", sa.String(10), nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_book_transfer_debit", "book_transfer", ["debit"])
    op.create_index("ix_book_transfer_credit", "book_transfer", ["credit"])
    op.create_table(
        "payout",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("team", sa.String(32), sa.ForeignKey("team.id"), nullable=False),
        sa.Column("payee", sa.String(64), nullable=False),
        sa.Column("currency", sa.String(16), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("destination", sa.Text(), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("day", sa.String(10), nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_payout_team", "payout", ["team"])
    op.create_index("ix_payout_payee", "payout", ["payee"])
    op.create_table(
        "completion_code",
        sa.Column("survey", sa.String(32), sa.ForeignKey("survey.token"), primary_key=True),
        sa.Column("code", sa.String(32), primary_key=True),
        sa.Column("checked", sa.Boolean(), nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "webhook",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("team", sa.String(32), sa.ForeignKey("team.id"), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("secret", sa.String(64), nullable=False),
        sa.Column("events", sa.JSON(), nullable=False),
        sa.Column("day", sa.String(10), nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_webhook_team", "webhook", ["team"])
    op.create_table(
        "webhook_delivery",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("webhook", sa.String(32), sa.ForeignKey("webhook.id"), nullable=False),
        sa.Column("about", sa.String(128), nullable=False),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("day", sa.String(10), nullable=False),
        sa.UniqueConstraint("webhook", "about", name="told_once"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_webhook_delivery_state", "webhook_delivery", ["state"])
    op.create_index("ix_webhook_delivery_day", "webhook_delivery", ["day"])
    op.create_table(
        "audit_entry",
        sa.Column("team", sa.String(32), primary_key=True),
        sa.Column("sequence", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("account", sa.String(32), nullable=False),
        sa.Column("login", sa.String(64), nullable=False),
        sa.Column("action", sa.String(100), nullable=False),
        sa.Column("object", sa.String(64), nullable=False),
        sa.Column("day", sa.String(10), nullable=False),
        sa.Column("previous_hash", sa.String(64), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sqlite_with_rowid=False,
    )
    op.add_column("survey", sa.Column("reward", sa.JSON(), nullable=True))
