"""The tables of surveys between two parties: the leader's first, then the helper's.

Bytes are kept in base64, so that PostgreSQL's rewriting treats them as it treats other texts. No
column holds a sum of shares without its noise after it was shown.
"""

from __future__ import annotations

from sqlalchemy import JSON, Column, ForeignKey, Integer, String, Text, UniqueConstraint

from masquerade.server.db.tables import Required, keyed_table

# States lie in rows of all releases, so they can be added to and never renamed.
PROPOSED, APPROVED, REFUSED = "proposed", "approved", "refused"
#: States of a task at the leader: agreed with the helper, then bound to an open survey, and on.
BOUND, VERIFYING, COLLECTING, COLLECTED = "bound", "verifying", "collecting", "collected"
#: Ends of a task without a result: fewer reports than the minimum, or what no repetition changes.
TOO_FEW, FAILED = "too-few", "failed"
#: States of a task at the helper besides: its keys are gone, or may have been used before.
EXPIRED, STOPPED = "expired", "stopped"
#: States of a task at the leader before a survey opens with it.
DRAFTED = (PROPOSED, APPROVED, REFUSED)
#: States in which the leader still has something to do.
UNDER_WAY = (BOUND, VERIFYING, COLLECTING)
#: States of a task at the leader in which nothing more follows.
ENDED = (COLLECTED, TOO_FEW, FAILED)

#: A helper that a team works with.
HELPER = keyed_table(
    "helper",
    Column("id", String(32), primary_key=True),
    Required("team", ForeignKey("team.id")),
    Required("address", Text),
    Required("operator", Text),
    # public_key: of its signatures, in hexadecimal; the fingerprint is its hash.
    Required("public_key", Text),
    Required("fingerprint", String(32)),
    # By which the helper knows this server; sealed.
    Column("token", Text),
    UniqueConstraint("team", "address", name="one_helper_at_an_address"),
)

#: A task at the leader: proposed for a draft, bound to a survey when that opens.
SPLIT_TASK = keyed_table(
    "split_task",
    # SHA-256 of the configuration.
    Column("id", String(64), primary_key=True),
    Required("survey", String(32), index=True),
    Required("helper", String(32)),
    Required("configuration", Text),
    Required("terms", Text),
    Required("state", String(16)),
    # Why it was refused or failed, in words for the surveyor.
    Column("reason", Text),
    Required("public_key", Text),
    Column("signature", Text),
    # Private keys and the verification seed, sealed; gone once the task has ended.
    Column("secrets", Text),
    # reports: in the frozen set; accepted: of them added up; refused: by either party's check.
    Column("reports", Integer),
    Column("accepted", Integer),
    Column("refused", Integer),
    # This party's sum, noise added, drawn before the helper's is asked for; and that request.
    Column("share", Text),
    Column("request", Text),
    Column("sums", JSON(none_as_null=True)),
    Required("day", String(10)),
)

#: A sealed report: both shares, of which this server can open one.
SPLIT_REPORT = keyed_table(
    "split_report",
    Column("participation", ForeignKey("participation.id"), primary_key=True),
    Required("survey", String(32)),
    Required("report_id", String(32)),
    Required("report", Text),
    UniqueConstraint("survey", "report_id", name="one_report_of_an_id"),
)

#: The id of a report that was taken back: the helper is told to refuse it.
WITHDRAWN_REPORT = keyed_table(
    "withdrawn_report",
    Column("survey", String(32), primary_key=True),
    Column("report_id", String(32), primary_key=True),
)

#: Reports that both parties check together, stored before they are sent.
AGGREGATION_JOB = keyed_table(
    "aggregation_job",
    Column("task", ForeignKey("split_task.id"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    # last: the report id with which it ends.
    Required("last", String(32)),
    Required("body", Text),
    Column("answer", Text),
    # This party's sum over the job, and what the parties compare.
    Column("share", Text),
    Column("accepted", Integer),
    Column("checksum", String(64)),
    Column("refused", Integer),
)

#: A leader that a helper works with, and the hash of its token; none once that was revoked.
HELPER_LEADER = keyed_table(
    "helper_leader",
    Column("id", String(32), primary_key=True),
    Required("name", String(100), unique=True),
    Column("token", String(64)),
)

#: A task at the helper.
HELPER_TASK = keyed_table(
    "helper_task",
    Column("id", String(64), primary_key=True),
    # SHA-256 of the request that proposed it: the same again gives the same task.
    Required("proposal", String(64), unique=True),
    Required("configuration", Text),
    Required("terms", Text),
    # The survey as its operator reads it.
    Required("text", Text),
    Required("people", Integer),
    Required("state", String(16)),
    Column("signature", Text),
    # The private key and the verification seed, sealed; gone once the task has ended.
    Column("secrets", Text),
    # request: SHA-256 of the one request for the sum; answer: what was answered, noise in it.
    Column("request", String(64)),
    Column("answer", Text),
    Required("accepted", Integer),
    Required("refused", Integer),
    Required("day", String(10)),
    # The leader whose token proposed it, and who alone is answered.
    Column("leader", String(32)),
)

#: The id of a report that the helper has seen, whatever came of it; it answers once.
HELPER_REPORT = keyed_table(
    "helper_report",
    Column("task", ForeignKey("helper_task.id"), primary_key=True),
    Column("report_id", String(32), primary_key=True),
    # The job that it came with; empty where it was withdrawn before.
    Required("job", String(64)),
)

#: A job that the helper answered, by the hash of its body.
HELPER_JOB = keyed_table(
    "helper_job",
    Column("task", ForeignKey("helper_task.id"), primary_key=True),
    Column("digest", String(64), primary_key=True),
    Required("answer", Text),
    Required("share", Text),
    Required("accepted", Integer),
    Required("checksum", String(64)),
    Required("refused", Integer),
)
