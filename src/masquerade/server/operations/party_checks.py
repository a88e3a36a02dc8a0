"""Checks of surveys between two parties: their tasks, sealed reports and roles."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator

from sqlalchemy import Connection, Row, func, select

from masquerade.errors import MasqueradeError
from masquerade.server.db.party_tables import (
    APPROVED,
    BOUND,
    ENDED,
    FAILED,
    HELPER_TASK,
    SPLIT_REPORT,
    SPLIT_TASK,
)
from masquerade.server.db.tables import PARTICIPATION, SUBMITTED, SURVEY
from masquerade.server.operations.check_result import CheckResult, ok, problem, warning
from masquerade.surveys.split_task import SplitTask
from masquerade.surveys.survey import Survey

_NAME = "two parties"


def party_findings(connection: Connection) -> Iterator[CheckResult]:
    """Yield every survey between two parties with a task or reports that do not fit it."""
    query = select(SPLIT_TASK, SURVEY.c.definition).join(
        SURVEY, SURVEY.c.token == SPLIT_TASK.c.survey
    )
    bound = connection.execute(
        query.where(SPLIT_TASK.c.state.not_in(("proposed", "approved")))
    ).all()
    wrong = False
    for row in bound:
        for fault in _faults(connection, row):
            wrong = True
            yield problem(_NAME, f"survey {row.survey}: {fault}")
        if row.state == FAILED:
            yield warning(_NAME, f"survey {row.survey} could not be added up: {row.reason}")
        elif row.reason:
            yield warning(_NAME, f"survey {row.survey} waits: {row.reason}")
    helping = connection.execute(
        select(func.count()).select_from(HELPER_TASK).where(HELPER_TASK.c.state == APPROVED)
    ).scalar_one()
    if helping and bound:
        wrong = True
        yield problem(
            _NAME,
            "this database has surveys and tasks of a helper: whoever holds it has both halves of "
            "the answers. Give each party a database of its own.",
        )
    if not wrong:
        yield ok(
            _NAME,
            f"{len(bound)} surveys between two parties; helper of {helping} approved tasks.",
        )


def _faults(connection: Connection, row: Row[tuple[object, ...]]) -> Iterator[str]:
    """Yield the faults of a survey's task and of its sealed reports."""
    configuration = base64.b64decode(row.configuration)
    if hashlib.sha256(configuration).hexdigest() != row.id:
        yield "its task was changed: it does not have its hash. Restore a backup."
    try:
        SplitTask.read(configuration, row.terms).check(Survey.from_json(row.definition))
    except MasqueradeError as error:
        yield f"its task is for another survey ({error}). Restore a backup."
    reports = (
        select(func.count()).select_from(SPLIT_REPORT).where(SPLIT_REPORT.c.survey == row.survey)
    )
    there = connection.execute(reports).scalar_one()
    if row.state in ENDED and there:
        yield f"{there} sealed reports are left, although it has ended. Restart the server."
    responses = select(func.count()).where(
        PARTICIPATION.c.survey == row.survey, PARTICIPATION.c.state == SUBMITTED
    )
    sent = connection.execute(responses).scalar_one()
    if row.state == BOUND and sent != there:
        yield f"{sent} responses have {there} sealed reports; some were lost. Restore a backup."
