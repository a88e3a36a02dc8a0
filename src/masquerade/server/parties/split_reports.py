"""Sealed reports of surveys between two parties, kept by the leader until they are added up."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select

from masquerade.aggregate.dap_messages import Report, Role
from masquerade.errors import InvalidReport, WrongState
from masquerade.server.db.party_tables import BOUND, SPLIT_REPORT, SPLIT_TASK, WITHDRAWN_REPORT
from masquerade.server.db.seals import Seals, place_of
from masquerade.server.parties.proposals import LeaderSecrets
from masquerade.surveys.split_task import HELPER_KEY, LEADER_KEY, SplitTask

#: Tasks that are kept read.
_MOST_KNOWN = 128


class SplitReports:
    """The sealed reports of all surveys, within transactions of the caller.

    Privacy
    -------
    A report holds one share that this server can open, which is uniform by itself, and one that
    only the helper can. What is checked when it comes concerns its form alone.
    """

    def __init__(self, seals: Seals) -> None:
        self._seals = seals
        self._known: dict[str, SplitTask] = {}  # what is public of tasks, and never changes

    def task(self, connection: Connection, survey: str) -> tuple[SplitTask, LeaderSecrets]:
        """Return the task that a survey was opened with, and this party's keys.

        Raises `WrongState` (it has ended).
        """
        row = _bound(connection, survey)
        split = self._known.get(row.id)
        if split is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            split = SplitTask.read(base64.b64decode(row.configuration), row.terms)
            self._known[row.id] = split
        # Opened each time: a key that is kept in memory outlives the survey.
        sealed = self._seals.unseal(row.secrets, place_of(SPLIT_TASK, "secrets", row.id))
        return split, LeaderSecrets.of(sealed)

    def require_task(self, connection: Connection, survey: str) -> None:
        """Refuse a survey with an ended task, because its answers could not be added up.

        Raises `WrongState`.
        """
        _bound(connection, survey)

    def keep(self, connection: Connection, survey: str, participation: str, data: bytes) -> None:
        """Store the sealed report of a participation, if its form is right; the survey is held.

        A damaged one is refused, so that it is sent again. Whether the answers are possible shows
        only when both parties check, which each does once for a nonce: not here.

        Raises `WrongState` (the task has ended) or `InvalidReport` (the report is of another task,
        form or time, this party's share cannot be opened, or another participation sent a report
        of this id).
        """
        split, keys = self.task(connection, survey)
        report = Report.decode(data)
        metadata = report.report_metadata
        ids = (
            report.leader_encrypted_input_share.config_id,
            report.helper_encrypted_input_share.config_id,
        )
        if ids != (LEADER_KEY, HELPER_KEY):
            raise InvalidReport(f"the shares are for the keys {ids}, expected {LEADER_KEY} and 2.")
        # Encryption shows damage on the way, also of what is bound to it: metadata, public share.
        mine = report.leader_encrypted_input_share
        share = split.task.open_share(Role.LEADER, keys.leader, metadata, report.public_share, mine)
        split.task.require_sizes(report, share, helper=split.terms.helper)
        id_ = metadata.report_id.hex()
        same = (SPLIT_REPORT.c.survey == survey) & (SPLIT_REPORT.c.report_id == id_)
        gone = (WITHDRAWN_REPORT.c.survey == survey) & (WITHDRAWN_REPORT.c.report_id == id_)
        if connection.scalar(select(func.count()).select_from(SPLIT_REPORT).where(same)) or (
            connection.scalar(select(func.count()).select_from(WITHDRAWN_REPORT).where(gone))
        ):
            raise InvalidReport("a report of this id was sent before; split the answers anew.")
        connection.execute(
            insert(SPLIT_REPORT),
            {
                "participation": participation,
                "survey": survey,
                "report_id": id_,
                "report": base64.b64encode(data).decode(),
            },
        )

    def forget(self, connection: Connection, survey: str, participation: str) -> None:
        """Delete the report of a participation, and note that the helper is to refuse it."""
        mine = SPLIT_REPORT.c.participation == participation
        id_ = connection.scalar(select(SPLIT_REPORT.c.report_id).where(mine))
        if id_ is not None:
            connection.execute(delete(SPLIT_REPORT).where(mine))
            connection.execute(insert(WITHDRAWN_REPORT), {"survey": survey, "report_id": id_})


def _bound(connection: Connection, survey: str) -> Row[Any]:
    query = select(SPLIT_TASK).where(SPLIT_TASK.c.survey == survey, SPLIT_TASK.c.state == BOUND)
    row = connection.execute(query).first()
    if row is None or row.secrets is None:
        raise WrongState("answers to this survey are not added up any more; nothing can be sent.")
    return row


def withdrawn_ids(connection: Connection, survey: str) -> list[bytes]:
    """Return the ids of the reports that were taken back."""
    query = select(WITHDRAWN_REPORT.c.report_id).where(WITHDRAWN_REPORT.c.survey == survey)
    return [
        bytes.fromhex(one)
        for one in connection.scalars(query.order_by(WITHDRAWN_REPORT.c.report_id))
    ]


def report_count(connection: Connection, survey: str) -> int:
    """Return how many sealed reports there are of a survey."""
    query = select(func.count()).select_from(SPLIT_REPORT).where(SPLIT_REPORT.c.survey == survey)
    return int(connection.execute(query).scalar_one())


def reports_after(
    connection: Connection, survey: str, last: str, *, most: int
) -> Iterator[tuple[str, Report]]:
    """Yield reports in the order of their random ids, those after `last` first."""
    query = select(SPLIT_REPORT.c.report_id, SPLIT_REPORT.c.report).where(
        SPLIT_REPORT.c.survey == survey, SPLIT_REPORT.c.report_id > last
    )
    for id_, report in connection.execute(
        query.order_by(SPLIT_REPORT.c.report_id).limit(most)
    ).all():
        yield id_, Report.decode(base64.b64decode(report))


def delete_reports(connection: Connection, survey: str) -> None:
    """Delete all sealed reports of a survey, once they are added up or never will be."""
    connection.execute(delete(SPLIT_REPORT).where(SPLIT_REPORT.c.survey == survey))
    connection.execute(delete(WITHDRAWN_REPORT).where(WITHDRAWN_REPORT.c.survey == survey))
