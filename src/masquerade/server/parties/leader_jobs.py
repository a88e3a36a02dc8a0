"""Jobs of a leader: reports that it checks together with the helper, at most so many at once.

A job is stored before it is sent. What it comes to follows from stored reports alone, so that who
was ended in the middle computes and sends the same again.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from masquerade.aggregate import BatchTally, VerifyState
from masquerade.aggregate.dap_messages import (
    AggregationJobInitReq,
    AggregationJobResp,
    Report,
    ReportShare,
    Role,
    VerifyInit,
)
from masquerade.errors import BrokenPromise, InvalidReport
from masquerade.server.db.party_tables import AGGREGATION_JOB, SPLIT_REPORT, SPLIT_TASK, VERIFYING
from masquerade.server.db.transactions import Transactions, writes
from masquerade.server.parties.helper_aggregation import MOST_IN_JOB
from masquerade.server.parties.helper_client import HelperClient
from masquerade.server.parties.proposals import LeaderSecrets
from masquerade.server.parties.split_reports import reports_after, withdrawn_ids
from masquerade.surveys.split_task import SplitTask


@dataclass(frozen=True, slots=True)
class _Job:
    """A job of reports under check, with this party's states of them."""

    number: int
    body: bytes
    states: dict[bytes, VerifyState]
    refused: int  # reports that this party's own check refused


class LeaderJobs:
    """The jobs of all tasks of a leader."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def advance(
        self, row: Row[Any], split: SplitTask, keys: LeaderSecrets, client: HelperClient
    ) -> bool:
        """Take a task's jobs one further; return False once every report was checked.

        Raises `BrokenPromise` (the helper answered for other reports, or with another check than
        the protocol's) or `ServerUnavailable`, `OperationError`, `AggregationRefused`.
        """
        jobs = AGGREGATION_JOB.c.task == row.id
        last = self._transactions.read(
            lambda c: c.execute(
                select(AGGREGATION_JOB)
                .where(jobs)
                .order_by(AGGREGATION_JOB.c.number.desc())
                .limit(1)
            ).first()
        )
        if last is None:
            # Before the first job: the helper refuses these from here on, whoever sends them.
            ids = self._transactions.read(lambda c: withdrawn_ids(c, row.survey))
            if ids:
                client.withdraw(row.id, ids)
        if last is not None and last.share is None:
            self._finish_job(row, split, self._states(row, split, keys, last), last, client)
            return True
        number, after = (0, "") if last is None else (last.number + 1, last.last)
        job = self._next_job(row, split, keys, number=number, after=after)
        if job is None:
            return False
        stored = self._transactions.read(
            lambda c: c.execute(
                select(AGGREGATION_JOB).where(jobs, AGGREGATION_JOB.c.number == number)
            ).one_or_none()
        )
        # None: another process has taken the task further, and its jobs are gone.
        if stored is not None and stored.share is None:
            if base64.b64decode(stored.body) != job.body:  # another process was here before
                job = self._states(row, split, keys, stored)
            self._finish_job(row, split, job, stored, client)
        return True

    def _next_job(
        self, row: Row[Any], split: SplitTask, keys: LeaderSecrets, *, number: int, after: str
    ) -> _Job | None:
        """Store the next job before it is sent; None where no report is left."""
        found = self._transactions.read(
            lambda c: list(reports_after(c, row.survey, after, most=MOST_IN_JOB))
        )
        if not found:
            return None
        job = self._prepared(split, keys, number, [report for _, report in found])
        values = {
            "task": row.id,
            "number": number,
            "last": found[-1][0],
            "body": base64.b64encode(job.body).decode(),
            "refused": job.refused,
        }
        self._keep(values)
        return job

    @writes
    def _keep(self, connection: Connection, row: dict[str, object]) -> None:
        # Locked, so that the sum over all jobs is not stored beside a job that it lacks.
        task = select(SPLIT_TASK.c.state).where(SPLIT_TASK.c.id == row["task"]).with_for_update()
        if connection.scalar(task) != VERIFYING:
            return
        mine = (AGGREGATION_JOB.c.task == row["task"]) & (AGGREGATION_JOB.c.number == row["number"])
        if connection.execute(select(AGGREGATION_JOB.c.number).where(mine)).first() is None:
            connection.execute(insert(AGGREGATION_JOB), row)

    def _prepared(
        self, split: SplitTask, keys: LeaderSecrets, number: int, reports: list[Report]
    ) -> _Job:
        """Return a job of reports; those that this party cannot even open are left out."""
        states: dict[bytes, VerifyState] = {}
        inits = []
        for report in reports:
            metadata = report.report_metadata
            try:
                state, message = _leader_half(split, keys, report)
            except InvalidReport:
                continue
            states[metadata.report_id] = state
            helper = report.helper_encrypted_input_share
            inits.append(VerifyInit(ReportShare(metadata, report.public_share, helper), message))
        request = AggregationJobInitReq(0, b"", (split.batch_extension,), tuple(inits))
        return _Job(number, request.encode(), states, len(reports) - len(inits))

    def _states(self, row: Row[Any], split: SplitTask, keys: LeaderSecrets, job: Row[Any]) -> _Job:
        """Return a stored job with this party's states, computed anew from the stored reports."""
        inits = AggregationJobInitReq.decode(base64.b64decode(job.body)).verify_inits
        ids = {one.report_share.report_metadata.report_id.hex() for one in inits}
        query = select(SPLIT_REPORT.c.report).where(
            SPLIT_REPORT.c.survey == row.survey, SPLIT_REPORT.c.report_id.in_(sorted(ids))
        )
        found = self._transactions.read(lambda c: c.scalars(query).all())
        reports = [Report.decode(base64.b64decode(one)) for one in found]
        again = self._prepared(split, keys, job.number, reports)
        return _Job(job.number, base64.b64decode(job.body), again.states, job.refused)

    def _finish_job(
        self, row: Row[Any], split: SplitTask, job: _Job, stored: Row[Any], client: HelperClient
    ) -> None:
        """Send a job, check the answer, and store this party's sum over it."""
        outputs, valid = [], []
        if job.states:
            if stored.answer is None:
                answer = client.check(row.id, job.body)
                self._store(row.id, job.number, answer=base64.b64encode(answer).decode())
            else:
                answer = base64.b64decode(stored.answer)
            try:
                responses = AggregationJobResp.decode(answer).verify_resps
            except InvalidReport as error:
                raise BrokenPromise(f"the helper's answer cannot be read: {error}") from error
            asked = AggregationJobInitReq.decode(job.body).verify_inits
            ids = [one.report_share.report_metadata.report_id for one in asked]
            if [one.report_id for one in responses] != ids:
                raise BrokenPromise("the helper answered for other reports than it was sent.")
            for one in responses:
                if one.payload is None:
                    continue
                try:
                    outputs.append(split.task.leader_finish(job.states[one.report_id], one.payload))
                except InvalidReport as error:
                    # The helper compares what a device names to the leader with its own part, so
                    # only a helper that does not gets here: the sums would not fit.
                    raise BrokenPromise(f"the helper's check does not hold: {error}") from error
                valid.append(one.report_id)
        vdaf = split.task.vdaf
        tally = BatchTally.of(valid)
        self._store(
            row.id,
            job.number,
            share=base64.b64encode(vdaf.encode_aggregate(vdaf.aggregate(outputs))).decode(),
            accepted=tally.count,
            checksum=tally.checksum.hex(),
            refused=job.refused + len(job.states) - len(valid),
        )

    def _store(self, task: str, number: int, **values: Any) -> None:
        change = update(AGGREGATION_JOB).where(
            AGGREGATION_JOB.c.task == task,
            AGGREGATION_JOB.c.number == number,
            AGGREGATION_JOB.c.share.is_(None),
        )
        self._transactions.write(lambda c: c.execute(change.values(**values)))


def _leader_half(
    split: SplitTask, keys: LeaderSecrets, report: Report
) -> tuple[VerifyState, bytes]:
    """Return the leader's state of a report's check, and its message to the helper.

    Raises `InvalidReport` (the leader's share has a number that is none of the field's).
    """
    metadata = report.report_metadata
    share = split.task.open_share(
        Role.LEADER, keys.leader, metadata, report.public_share, report.leader_encrypted_input_share
    )
    # By task and seed alone: the same for all reports, and never sent.
    key = split.task.verification_key(keys.seed)
    return split.task.leader_init(key, metadata.report_id, report.public_share, share)


#: Seconds of the first pause, and of the longest.
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 5.0, 600.0
TRIED_NEXT = "It is tried again by itself, in ten minutes at the latest."


class RetryPauses:
    """How long tasks and helpers that failed are left alone, in the memory of this process.

    `clock`: gives seconds that never go back.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._known: dict[str, tuple[float, float]] = {}  # until when, and how long that is

    def over(self, *names: str) -> bool:
        """Return whether no pause of these lasts."""
        now = self._clock()
        return all(self._known.get(name, (now, 0.0))[0] <= now for name in names)

    def begin(self, name: str) -> None:
        """Begin a pause, twice as long as the last one."""
        _, last = self._known.get(name, (0.0, 0.0))
        pause = min(max(2 * last, _FIRST_PAUSE_SECONDS), _LONGEST_PAUSE_SECONDS)
        self._known[name] = self._clock() + pause, pause

    def end(self, *names: str) -> None:
        """Forget the pauses of these, which went well."""
        for name in names:
            self._known.pop(name, None)
