"""Surveys whose answers two parties add up: helpers, tasks, sealed reports and jobs."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def _text(name, *, null=False):
    return sa.Column(name, sa.Text(), nullable=null)


def _key(name, size, to=None):
    keys = () if to is None else (sa.ForeignKey(to),)
    return sa.Column(name, sa.String(size), *keys, primary_key=True)


def _string(name, size, *, null=False):
    return sa.Column(name, sa.String(size), nullable=null)


def _whole(name, *, null=False):
    return sa.Column(name, sa.Integer(), nullable=null)


def _make(name, *columns):
    op.create_table(name, *columns, sqlite_with_rowid=False)


def upgrade() -> None:
    _make(
        "helper",
        _key("id", 32),
        sa.Column("team", sa.String(32), sa.ForeignKey("team.id"), nullable=False),
        _text("address"),
        _text("operator"),
        _text("public_key"),
        _string("fingerprint", 32),
        _text("token", null=True),
        sa.UniqueConstraint("team", "address", name="one_helper_at_an_address"),
    )
    _make(
        "split_task",
        _key("id", 64),
        sa.Column("survey", sa.String(32), nullable=False, index=True),
        _string("helper", 32),
        _text("configuration"),
        _text("terms"),
        _string("state", 16),
        _text("reason", null=True),
        _text("public_key"),
        _text("signature", null=True),
        _text("secrets", null=True),
        _whole("reports", null=True),
        _whole("accepted", null=True),
        _whole("refused", null=True),
        _text("share", null=True),
        _text("request", null=True),
        sa.Column("sums", sa.JSON(), nullable=True),
        _string("day", 10),
    )
    _make(
        "split_report",
        _key("participation", 32, "participation.id"),
        _string("survey", 32),
        _string("report_id", 32),
        _text("report"),
        sa.UniqueConstraint("survey", "report_id", name="one_report_of_an_id"),
    )
    _make(
        "withdrawn_report",
        _key("survey", 32),
        _key("report_id", 32),
    )
    _make(
        "aggregation_job",
        _key("task", 64, "split_task.id"),
        sa.Column("number", sa.Integer(), primary_key=True, autoincrement=False),
        _string("last", 32),
        _text("body"),
        _text("answer", null=True),
        _text("share", null=True),
        _whole("accepted", null=True),
        _string("checksum", 64, null=True),
        _whole("refused", null=True),
    )
    _make(
        "helper_task",
        _key("id", 64),
        sa.Column("proposal", sa.String(64), nullable=False, unique=True),
        _text("configuration"),
        _text("terms"),
        _text("text"),
        _whole("people"),
        _string("state", 16),
        _text("signature", null=True),
        _text("secrets", null=True),
        _string("request", 64, null=True),
        _text("answer", null=True),
        _whole("accepted"),
        _whole("refused"),
        _string("day", 10),
    )
    _make(
        "helper_report",
        _key("task", 64, "helper_task.id"),
        _key("report_id", 32),
        _string("job", 64),
    )
    _make(
        "helper_job",
        _key("task", 64, "helper_task.id"),
        _key("digest", 64),
        _text("answer"),
        _text("share"),
        _whole("accepted"),
        _string("checksum", 64),
        _whole("refused"),
    )
