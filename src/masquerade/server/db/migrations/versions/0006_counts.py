"""How many people have begun surveys of limited quotas, and an index of what was paid for."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_PAID = sa.text("kind IN ('commit', 'clear_disclosure')")
_LIMITED = sa.text("SELECT token, seats FROM survey WHERE seats IS NOT NULL")
_BEGUN = sa.text(
    "SELECT level, count(*) FROM participation WHERE survey = :survey "
    "AND state IN ('reserved', 'opened', 'sealed', 'submitted') GROUP BY level"
)


def upgrade() -> None:
    op.create_index(
        "entry_that_is_paid",
        "ledger_entry",
        ["person", "sequence"],
        sqlite_where=_PAID,
        postgresql_where=_PAID,
    )
    count = op.create_table(
        "quota_count",
        sa.Column("survey", sa.String(32), sa.ForeignKey("survey.token"), primary_key=True),
        sa.Column("level", sa.String(32), primary_key=True),
        sa.Column("begun", sa.Integer(), nullable=False),
        sqlite_with_rowid=False,
    )
    connection = op.get_bind()
    for survey, seats in connection.execute(_LIMITED.columns(seats=sa.JSON())).all():
        begun = {level: n for level, n in connection.execute(_BEGUN, {"survey": survey})}
        rows = [{"survey": survey, "level": name, "begun": begun.get(name, 0)} for name in seats]
        connection.execute(count.insert(), rows)
