"""Checks and sums of a helper: each report is answered once, and each task gives one sum."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import Connection, insert, select

from masquerade.aggregate import BatchTally, SumNoise
from masquerade.aggregate.dap_messages import (
    AggregateShare,
    AggregateShareReq,
    AggregationJobInitReq,
    AggregationJobResp,
    ReportError,
    Role,
    VerifyInit,
    VerifyResp,
)
from masquerade.aggregate.prio3 import Prio3
from masquerade.errors import AggregationRefused, InvalidReport
from masquerade.server.db.party_tables import (
    APPROVED,
    COLLECTED,
    HELPER_JOB,
    HELPER_REPORT,
    HELPER_TASK,
)
from masquerade.server.db.transactions import Transactions, reads, writes
from masquerade.server.parties.helper_tasks import HelperSecrets, HelperTask, HelperTasks, end_task
from masquerade.surveys.split_task import COLLECTION, HELPER_KEY, SplitTask

#: Reports in one job.
MOST_IN_JOB = 500
_WITHDRAWN = ""
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class _Checked:
    """A report of a job after its check."""

    id: bytes
    output: tuple[int, ...] | None  # to be added up where the check holds
    response: VerifyResp


class HelperAggregation:
    """The helper's half of checking and adding up.

    `clock`: gives seconds since 1970.
    `today`: gives the ISO date.

    Privacy
    -------
    A report id is stored in the transaction before anything is said of it, so that no report is
    checked twice and none is in two sums. The sum leaves once, with noise of the size that the
    approved configuration names, and the same bytes again whenever the same is asked.
    """

    def __init__(
        self,
        transactions: Transactions,
        tasks: HelperTasks,
        *,
        clock: Callable[[], float],
        today: Callable[[], str],
    ) -> None:
        self._transactions = transactions
        self._tasks = tasks
        self._clock = clock
        self._today = today

    @writes
    def withdraw(self, connection: Connection, task: str, ids: Sequence[bytes]) -> int:
        """Refuse reports that were taken back; return how many had been answered before.

        Raises `NotFound`, `AggregationRefused`.
        """
        self._require_approved(self._tasks.read(connection, task, hold="share"))
        names = {one.hex() for one in ids}
        known = _known(connection, task, names)
        rows = [
            {"task": task, "report_id": one, "job": _WITHDRAWN}
            for one in sorted(names - known.keys())
        ]
        if rows:
            connection.execute(insert(HELPER_REPORT), rows)
        return sum(job != _WITHDRAWN for job in known.values())

    def check(self, task: str, body: bytes) -> tuple[str, bytes]:
        """Check the reports of a job; the same body again gives the same answer.

        Returned are the job's name and an ``AggregationJobResp``; `body` is an
        ``AggregationJobInitReq``.

        Raises `NotFound`, `AggregationRefused`.
        """
        digest = hashlib.sha256(body).hexdigest()

        found, keys, answer = self._approved(task, digest)
        if answer is not None:
            return digest, answer
        split = found.split
        reports = _read_job(body, split)
        # Outside the transaction: it takes half a millisecond a report, and depends on the body
        # alone, so that two who do it at once come to the same.
        verify_key = split.task.verification_key(keys.seed)
        checked = [_checked(split, keys, verify_key, one) for one in reports]

        # Of two jobs with one id, the second to commit fails on the key, runs again and sees it.
        return digest, self._keep(task, digest, checked, split.task.vdaf)

    @writes
    def _keep(
        self,
        connection: Connection,
        task: str,
        digest: str,
        checked: Sequence[_Checked],
        vdaf: Prio3[Any, Any],
    ) -> bytes:
        """Add the valid reports of a job to its sum, unless it was answered; return the answer."""
        self._require_approved(self._tasks.read(connection, task, hold="share"))
        stored = self._answer(connection, task, digest)
        if stored is not None:
            return stored
        seen = _known(connection, task, {one.id.hex() for one in checked})
        valid = [one for one in checked if one.output is not None and one.id.hex() not in seen]
        responses = tuple(
            VerifyResp(one.id, report_error=ReportError.REPORT_REPLAYED)
            if one.id.hex() in seen
            else one.response
            for one in checked
        )
        share = vdaf.aggregate([one.output for one in valid if one.output is not None])
        tally = BatchTally.of(one.id for one in valid)
        reply = AggregationJobResp(responses).encode()
        fresh = [one.id.hex() for one in checked if one.id.hex() not in seen]
        if fresh:
            # All of them, also those that are refused: none is ever answered again.
            connection.execute(
                insert(HELPER_REPORT),
                [{"task": task, "report_id": one, "job": digest} for one in fresh],
            )
        connection.execute(
            insert(HELPER_JOB),
            {
                "task": task,
                "digest": digest,
                "answer": base64.b64encode(reply).decode(),
                "share": base64.b64encode(vdaf.encode_aggregate(share)).decode(),
                "accepted": tally.count,
                "checksum": tally.checksum.hex(),
                "refused": len(checked) - len(valid),
            },
        )
        return reply

    @reads
    def _approved(
        self, connection: Connection, task: str, digest: str
    ) -> tuple[HelperTask, HelperSecrets, bytes | None]:
        """Return an approved task, its secrets, and the answer to a job that was given before."""
        found = self._tasks.read(connection, task)
        self._require_approved(found)
        known = self._answer(connection, task, digest)
        return found, self._tasks.secrets(connection, task), known

    @reads
    def job(self, connection: Connection, task: str, name: str) -> bytes:
        """Return the answer to a job that was checked.

        Raises `NotFound`, `AggregationRefused`.
        """
        self._require_approved(self._tasks.read(connection, task))
        answer = self._answer(connection, task, name)
        if answer is None:
            raise AggregationRefused(
                "there is no such job; send its body again.", kind="unrecognizedAggregationJob"
            )
        return answer

    def collect(self, task: str, body: bytes) -> bytes:
        """Return the sum with its noise, encrypted to the collector: one for ever.

        An ``AggregateShare`` answers an ``AggregateShareReq``.

        Raises `NotFound`, `AggregationRefused`.
        """
        return self._transactions.write(partial(self._collect, task, body))

    def _collect(self, task: str, body: bytes, connection: Connection) -> bytes:
        digest = hashlib.sha256(body).hexdigest()
        # Held against jobs: what is summed below is all that was answered.
        found = self._tasks.read(connection, task, hold="update")
        if found.state == COLLECTED:
            row = connection.execute(
                select(HELPER_TASK.c.request, HELPER_TASK.c.answer).where(HELPER_TASK.c.id == task)
            ).one()
            if row.request != digest:
                raise AggregationRefused(
                    "the sum of this task was given, and only once; a second, different request "
                    "is refused.",
                    kind="batchOverlap",
                )
            return base64.b64decode(row.answer)
        self._require_approved(found)
        split = found.split
        request = _read_collection(body, split)
        vdaf = split.task.vdaf
        tally, shares, refused = BatchTally(), [], 0
        for row in connection.execute(select(HELPER_JOB).where(HELPER_JOB.c.task == task)):
            tally = tally.merge(BatchTally(row.accepted, bytes.fromhex(row.checksum)))
            shares.append(vdaf.decode_aggregate(base64.b64decode(row.share)))
            refused += row.refused
        if (request.report_count, request.checksum) != (tally.count, tally.checksum):
            raise AggregationRefused(
                f"the leader has added up {request.report_count} reports and the helper "
                f"{tally.count}, or others; expected the same set. Send the jobs that are missing.",
                kind="batchMismatch",
            )
        if tally.count < split.minimum:
            raise AggregationRefused(
                f"{tally.count} reports hold, expected at least {split.minimum}; no sum of fewer "
                "is given.",
                kind="invalidBatchSize",
            )
        # Drawn in the transaction that stores the answer: what a lost attempt drew, nobody saw.
        noise = SumNoise(found.survey.encoding.blocks, split.terms.noise)
        noisy = noise.add(vdaf.aggregate(shares))
        sealed = split.task.seal_aggregate(
            Role.HELPER, split.terms.collector, request.collection_job_req, noisy
        )
        answer = AggregateShare(sealed).encode()
        # The sum without noise goes in the same transaction.
        end_task(
            connection,
            task,
            state=COLLECTED,
            request=digest,
            answer=base64.b64encode(answer).decode(),
            accepted=tally.count,
            refused=refused,
            day=self._today(),
        )
        return answer

    def _require_approved(self, found: HelperTask) -> None:
        if found.state == COLLECTED:
            raise AggregationRefused(
                "the sum of this task was given; no report is checked any more.",
                kind="batchOverlap",
            )
        if found.state != APPROVED:
            raise AggregationRefused(
                f"this task is {found.state}; the helper answers for approved tasks alone.",
                kind="unrecognizedTask",
            )
        if found.split.terms.expires <= self._clock():
            raise AggregationRefused("this task has expired.", kind="unrecognizedTask")

    def _answer(self, connection: Connection, task: str, digest: str) -> bytes | None:
        query = select(HELPER_JOB.c.answer).where(
            HELPER_JOB.c.task == task, HELPER_JOB.c.digest == digest
        )
        answer = connection.scalar(query)
        return None if answer is None else base64.b64decode(answer)


def _read_job(body: bytes, split: SplitTask) -> tuple[VerifyInit, ...]:
    try:
        request = AggregationJobInitReq.decode(body)
    except InvalidReport as error:
        raise AggregationRefused(
            f"the job cannot be read: {error}", kind="invalidMessage"
        ) from None
    known = (0, b"", (split.batch_extension,))
    if (request.verification_key_id, request.agg_param, request.extensions) != known:
        raise AggregationRefused(
            "the job names another key, parameter or batch; a task has one of each.",
            kind="invalidMessage",
        )
    reports = request.verify_inits
    ids = {one.report_share.report_metadata.report_id for one in reports}
    if not 1 <= len(reports) <= MOST_IN_JOB or len(ids) != len(reports):
        raise AggregationRefused(
            f"the job has {len(reports)} reports with {len(ids)} ids; expected 1 to {MOST_IN_JOB}, "
            "each once.",
            kind="invalidMessage",
        )
    return reports


def _read_collection(body: bytes, split: SplitTask) -> AggregateShareReq:
    try:
        request = AggregateShareReq.decode(body)
    except InvalidReport as error:
        raise AggregationRefused(
            f"the request cannot be read: {error}", kind="invalidMessage"
        ) from None
    asked = (request.collection_job_req, request.batch_selector)
    if asked != (COLLECTION, split.batch_selector):
        raise AggregationRefused(
            "the request is for another batch; a task has one.", kind="batchInvalid"
        )
    return request


def _checked(
    split: SplitTask, keys: HelperSecrets, verify_key: bytes, report: VerifyInit
) -> _Checked:
    """Return a report after its check."""
    share = report.report_share
    id_ = share.report_metadata.report_id

    def refused(why: ReportError) -> _Checked:
        return _Checked(id_, None, VerifyResp(id_, report_error=why))

    if share.encrypted_input_share.config_id != HELPER_KEY:
        return refused(ReportError.HPKE_UNKNOWN_CONFIG_ID)
    if share.report_metadata.time != split.task.time or share.report_metadata.public_extensions:
        return refused(ReportError.INVALID_MESSAGE)
    try:
        opened = split.task.open_share(
            Role.HELPER,
            keys.key,
            share.report_metadata,
            share.public_share,
            share.encrypted_input_share,
        )
    except InvalidReport:
        return refused(ReportError.HPKE_DECRYPT_ERROR)
    try:
        output, answer = split.task.helper_answer(
            verify_key, id_, share.public_share, opened, report.payload
        )
    except InvalidReport:
        return refused(ReportError.VDAF_VERIFY_ERROR)
    return _Checked(id_, output, VerifyResp(id_, payload=answer))


def _known(connection: Connection, task: str, ids: set[str]) -> dict[str, str]:
    """Return which of these ids were seen, each with its job."""
    query = select(HELPER_REPORT.c.report_id, HELPER_REPORT.c.job).where(
        HELPER_REPORT.c.task == task
    )
    found: dict[str, str] = {}
    ordered = sorted(ids)
    # In pieces: a database takes so many parameters.
    for start in range(0, len(ordered), _AT_ONCE):
        part = HELPER_REPORT.c.report_id.in_(ordered[start : start + _AT_ONCE])
        found |= {row.report_id: row.job for row in connection.execute(query.where(part))}
    return found
