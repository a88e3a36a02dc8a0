"""The leader's half of adding up: from a closed survey to sums, one stored step at a time.

::

    bound -> verifying -> collecting -> collected
                       -> too-few                  (below the minimum: no sum is asked for)
    any of them        -> failed                   (the helper refuses what no repetition changes)

Each step is a transaction that depends on stored state alone, so that the process may end between
any two and go on later; what was sent is sent again byte for byte.
"""

from __future__ import annotations

import base64
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, update
from sqlalchemy.exc import SQLAlchemyError

from masquerade.aggregate import BatchTally, Block, SumNoise, VerifyState
from masquerade.aggregate.dap_messages import (
    AggregateShare,
    AggregateShareReq,
    AggregationJobInitReq,
    AggregationJobResp,
    Report,
    ReportShare,
    Role,
    VerifyInit,
)
from masquerade.errors import (
    AggregationRefused,
    BrokenPromise,
    InvalidReport,
    MasqueradeError,
    WrongState,
)
from masquerade.server.db.party_tables import (
    AGGREGATION_JOB,
    BOUND,
    COLLECTED,
    COLLECTING,
    FAILED,
    SPLIT_REPORT,
    SPLIT_TASK,
    TOO_FEW,
    UNDER_WAY,
    VERIFYING,
)
from masquerade.server.db.seals import Seals, place_of
from masquerade.server.db.tables import CANCELLED, FINISHED, SURVEY
from masquerade.server.db.transactions import Transactions
from masquerade.server.http.logs import fields
from masquerade.server.parties.helper_aggregation import MOST_IN_JOB
from masquerade.server.parties.helper_client import HelperClient
from masquerade.server.parties.proposals import LeaderSecrets
from masquerade.server.parties.split_reports import (
    delete_reports,
    report_count,
    reports_after,
    withdrawn_ids,
)
from masquerade.server.parties.team_helpers import Helpers
from masquerade.server.webhooks.deliveries import RESULTS_READY, enqueue
from masquerade.surveys.split_task import COLLECTION, SplitTask
from masquerade.surveys.survey import Survey

_LOGGER = logging.getLogger(__name__)
#: Refusals of the helper that may pass: what it lacks is sent.
_PASSING = ("batchMismatch",)


@dataclass(frozen=True, slots=True)
class _Job:
    """A job whose reports are checked, with this party's states of them."""

    number: int
    body: bytes
    states: dict[bytes, VerifyState]
    refused: int  # reports that this party's own check refused


class LeaderAggregation:
    """Adds up the reports of closed surveys together with their helpers.

    Parameters
    ----------
    transactions : Transactions
    helpers : Helpers
    seals : Seals
    today : callable
        Gives the ISO date.
    """

    def __init__(
        self,
        transactions: Transactions,
        helpers: Helpers,
        *,
        seals: Seals,
        today: Callable[[], str],
    ) -> None:
        self._transactions = transactions
        self._helpers = helpers
        self._seals = seals
        self._today = today
        self._ending = False

    def end(self) -> None:
        """Let `run` end before its next step."""
        self._ending = True

    def run(self) -> int:
        """Take all surveys that are closed as far as they go now; return how many have ended.

        A helper that does not answer stops its own surveys alone; the next run goes on.
        """
        ended = 0
        for task in self.under_way():
            try:
                ended += self.advance(task)
            except MasqueradeError as error:
                self._note(task, str(error))
            except SQLAlchemyError:  # the database is away, for all of them
                raise
            except Exception as error:
                # A fault of ours, or an answer nobody thought of: it stops this survey alone.
                self._note(task, f"an unexpected fault ({type(error).__qualname__})")
        return ended

    def under_way(self) -> list[str]:
        """Return the tasks of closed surveys that have not ended."""
        query = (
            select(SPLIT_TASK.c.id)
            .join(SURVEY, SURVEY.c.token == SPLIT_TASK.c.survey)
            .where(SPLIT_TASK.c.state.in_(UNDER_WAY), SURVEY.c.state.in_((*FINISHED, CANCELLED)))
            .order_by(SPLIT_TASK.c.id)
        )
        return list(self._transactions.read(lambda c: c.scalars(query).all()))

    def advance(self, task: str) -> bool:
        """Take a task as far as it goes; return whether it has ended.

        Raises
        ------
        ServerUnavailable, OperationError
            The helper does not answer, or refuses what may be put right; the task goes on later.
        """
        try:
            while not self._ending and self._step(task):
                pass
        except AggregationRefused as error:
            if error.kind in _PASSING:
                raise
            self._end(task, FAILED, str(error))
        except BrokenPromise as error:
            self._end(task, FAILED, str(error))
        return True

    def progress(self, survey: str) -> dict[str, Any]:
        """Return how far the adding up of a survey is.

        Raises
        ------
        WrongState
            The survey has no task.
        """

        def work(connection: Connection) -> dict[str, Any]:
            query = select(SPLIT_TASK).where(SPLIT_TASK.c.survey == survey)
            rows = connection.execute(query).all()
            row = next((one for one in rows if one.state not in ("proposed", "refused")), None)
            if row is None:
                raise WrongState("this survey is not between two parties, or was not opened.")
            done = select(
                func.sum(AGGREGATION_JOB.c.accepted), func.sum(AGGREGATION_JOB.c.refused)
            ).where(AGGREGATION_JOB.c.task == row.id, AGGREGATION_JOB.c.share.is_not(None))
            count, refused = connection.execute(done).one()
            reports = report_count(connection, survey) if row.reports is None else row.reports
            return {
                "task": row.id,
                "state": row.state,
                "reports": reports,
                "added_up": int(row.accepted if row.accepted is not None else count or 0),
                "refused": int(row.refused if row.refused is not None else refused or 0),
                "obstacle": row.reason,
            }

        return self._transactions.read(work)

    def sums(self, survey: str) -> tuple[list[list[int]], int, int]:
        """Return a survey's sums with their noise, how many reports are in them, and were refused.

        Raises
        ------
        WrongState
            There are none yet, or never will be.
        """
        query = select(SPLIT_TASK).where(
            SPLIT_TASK.c.survey == survey, SPLIT_TASK.c.state == COLLECTED
        )
        row = self._transactions.read(lambda c: c.execute(query).first())
        if row is not None:
            return row.sums, row.accepted, row.refused
        how = self.progress(survey)
        if how["state"] == TOO_FEW:
            raise WrongState(
                f"{how['added_up']} responses hold, fewer than both parties ask for; nothing is "
                "shown, and the sealed responses are deleted."
            )
        if how["state"] == FAILED:
            raise WrongState(f"the answers could not be added up: {how['obstacle']}")
        why = f" {how['obstacle']}" if how["obstacle"] else ""
        raise WrongState(
            f"the two parties are adding up the answers ({how['added_up']} of {how['reports']} "
            f"so far).{why}"
        )

    def _step(self, task: str) -> bool:
        """Take one step; return whether another may follow."""
        row = self._transactions.read(
            lambda c: c.execute(select(SPLIT_TASK).where(SPLIT_TASK.c.id == task)).one()
        )
        if row.state == BOUND:
            return self._freeze(row)
        if row.state == VERIFYING:
            return self._verify(row)
        if row.state == COLLECTING:
            return self._collect(row)
        return False

    def _freeze(self, row: Row[Any]) -> bool:
        """Note how many reports there are, now that nobody can send or take back one."""

        def work(connection: Connection) -> bool:
            state = connection.scalar(select(SURVEY.c.state).where(SURVEY.c.token == row.survey))
            if state == CANCELLED:
                self._ended(connection, row, FAILED, "the survey was cancelled")
                return False
            reports = report_count(connection, row.survey)
            change = update(SPLIT_TASK).where(
                SPLIT_TASK.c.id == row.id, SPLIT_TASK.c.state == BOUND
            )
            connection.execute(change.values(state=VERIFYING, reports=reports))
            return True

        return self._transactions.write(work)

    def _verify(self, row: Row[Any]) -> bool:
        split, keys = self._opened(row)
        jobs = AGGREGATION_JOB.c.task == row.id
        last = self._transactions.read(
            lambda c: c.execute(
                select(AGGREGATION_JOB)
                .where(jobs)
                .order_by(AGGREGATION_JOB.c.number.desc())
                .limit(1)
            ).first()
        )
        client = self._client(row)
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
            self._total(row, split)
            return True
        stored = self._transactions.read(
            lambda c: c.execute(
                select(AGGREGATION_JOB).where(jobs, AGGREGATION_JOB.c.number == number)
            ).one()
        )
        if stored.share is None:
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

        def work(connection: Connection) -> None:
            mine = (AGGREGATION_JOB.c.task == row.id) & (AGGREGATION_JOB.c.number == number)
            if connection.execute(select(AGGREGATION_JOB.c.number).where(mine)).first() is None:
                connection.execute(insert(AGGREGATION_JOB), values)

        self._transactions.write(work)
        return job

    def _prepared(
        self, split: SplitTask, keys: LeaderSecrets, number: int, reports: list[Report]
    ) -> _Job:
        """Return a job of reports; those that this party cannot even open are left out."""
        verify_key = split.task.verification_key(keys.seed)
        states: dict[bytes, VerifyState] = {}
        inits = []
        for report in reports:
            metadata = report.report_metadata
            try:
                share = split.task.open_share(
                    Role.LEADER,
                    keys.leader,
                    metadata,
                    report.public_share,
                    report.leader_encrypted_input_share,
                )
                state, message = split.task.leader_init(
                    verify_key, metadata.report_id, report.public_share, share
                )
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
                    # Only a helper that breaks the protocol gets here: the sums would not fit.
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

    def _total(self, row: Row[Any], split: SplitTask) -> None:
        """Add this party's noise to its sum and store that, before the helper's is asked for."""
        vdaf = split.task.vdaf

        def work(connection: Connection) -> None:
            mine = SPLIT_TASK.c.id == row.id
            state = connection.scalar(
                select(SPLIT_TASK.c.state).where(mine).with_for_update()
                if connection.dialect.name == "postgresql"
                else select(SPLIT_TASK.c.state).where(mine)
            )
            if state != VERIFYING:
                return
            tally, shares, refused = BatchTally(), [], 0
            for job in connection.execute(
                select(AGGREGATION_JOB).where(AGGREGATION_JOB.c.task == row.id)
            ):
                tally = tally.merge(BatchTally(job.accepted, bytes.fromhex(job.checksum)))
                shares.append(vdaf.decode_aggregate(base64.b64decode(job.share)))
                refused += job.refused
            if tally.count < split.minimum:
                self._ended(connection, row, TOO_FEW, None, accepted=tally.count, refused=refused)
                return
            request = AggregateShareReq(
                COLLECTION, split.batch_selector, tally.count, tally.checksum
            ).encode()
            # Drawn once, in the transaction that stores it, and before the helper's sum is here: so
            # that no result of this survey ever lacks it.
            noise = SumNoise(self._blocks(connection, row), split.terms.noise)
            noisy = noise.add(vdaf.aggregate(shares))
            values = {
                "state": COLLECTING,
                "accepted": tally.count,
                "refused": refused,
                "share": base64.b64encode(vdaf.encode_aggregate(noisy)).decode(),
                "request": base64.b64encode(request).decode(),
            }
            connection.execute(update(SPLIT_TASK).where(mine).values(**values))
            # The sums without noise go in the same transaction.
            connection.execute(delete(AGGREGATION_JOB).where(AGGREGATION_JOB.c.task == row.id))

        self._transactions.write(work)

    def _collect(self, row: Row[Any]) -> bool:
        """Ask for the helper's sum and put both together."""
        split, keys = self._opened(row)
        answer = self._client(row).collect(row.id, base64.b64decode(row.request))
        vdaf = split.task.vdaf
        try:
            sealed = AggregateShare.decode(answer).encrypted_aggregate_share
            theirs = split.task.open_aggregate(Role.HELPER, keys.collector, COLLECTION, sealed)
        except InvalidReport as error:
            raise BrokenPromise(f"the helper's sum cannot be opened: {error}") from error
        own = vdaf.decode_aggregate(base64.b64decode(row.share))
        sums = vdaf.unshard([own, theirs], count=row.accepted)

        def work(connection: Connection) -> None:
            now = connection.scalar(select(SPLIT_TASK.c.state).where(SPLIT_TASK.c.id == row.id))
            if now == COLLECTING:
                self._ended(connection, row, COLLECTED, None, sums=sums)
                survey = connection.execute(
                    select(SURVEY.c.team, SURVEY.c.closed).where(SURVEY.c.token == row.survey)
                ).one()
                enqueue(
                    connection, survey.team, RESULTS_READY, survey=row.survey, day=survey.closed
                )

        self._transactions.write(work)
        # What is deleted is to be gone from the file too.
        self._transactions.rewrite()
        return False

    def _end(self, task: str, state: str, reason: str) -> None:
        def work(connection: Connection) -> None:
            row = connection.execute(select(SPLIT_TASK).where(SPLIT_TASK.c.id == task)).one()
            if row.state in UNDER_WAY:
                self._ended(connection, row, state, reason)

        self._transactions.write(work)
        _LOGGER.warning("answers cannot be added up", extra=fields(task=task[:16], reason=reason))

    def _ended(
        self,
        connection: Connection,
        row: Row[Any],
        state: str,
        reason: str | None,
        **values: Any,
    ) -> None:
        end_leader_task(connection, row, state=state, reason=reason, day=self._today(), **values)

    def _note(self, task: str, reason: str) -> None:
        """Keep why a task waits, for the survey's page; once for each reason."""
        change = update(SPLIT_TASK).where(
            SPLIT_TASK.c.id == task,
            SPLIT_TASK.c.state.in_(UNDER_WAY),
            SPLIT_TASK.c.reason.is_distinct_from(reason),
        )
        if self._transactions.write(lambda c: c.execute(change.values(reason=reason)).rowcount):
            _LOGGER.warning("a helper is waited for", extra=fields(task=task[:16], reason=reason))

    def _opened(self, row: Row[Any]) -> tuple[SplitTask, LeaderSecrets]:
        if row.secrets is None:
            raise BrokenPromise("the keys of this task are gone.")
        split = SplitTask.read(base64.b64decode(row.configuration), row.terms)
        sealed = self._seals.unseal(row.secrets, place_of(SPLIT_TASK, "secrets", row.id))
        return split, LeaderSecrets.of(sealed)

    def _blocks(self, connection: Connection, row: Row[Any]) -> tuple[Block, ...]:
        query = select(SURVEY.c.definition).where(SURVEY.c.token == row.survey)
        return Survey.from_json(connection.execute(query).scalar_one()).encoding.blocks

    def _client(self, row: Row[Any]) -> HelperClient:
        def work(connection: Connection) -> Row[Any]:
            survey = connection.execute(
                select(SURVEY.c.team, SURVEY.c.definition).where(SURVEY.c.token == row.survey)
            ).one()
            terms = Survey.from_json(survey.definition).two_parties
            assert terms is not None
            return self._helpers.at(connection, survey.team, terms.helper)

        helper = self._transactions.read(work)
        return self._helpers.connect(helper.address, self._helpers.token(helper))


def end_leader_task(
    connection: Connection,
    row: Row[Any],
    *,
    state: str,
    reason: str | None,
    day: str,
    **values: Any,
) -> None:
    """End a task of the leader: its keys, sealed reports and shares go."""
    change = update(SPLIT_TASK).where(SPLIT_TASK.c.id == row.id)
    gone = {"secrets": None, "share": None, "request": None}
    connection.execute(change.values(state=state, reason=reason, day=day, **gone, **values))
    connection.execute(delete(AGGREGATION_JOB).where(AGGREGATION_JOB.c.task == row.id))
    delete_reports(connection, row.survey)


def fail_restored(connection: Connection, *, day: str) -> int:
    """End the tasks of a restored backup whose noise was not drawn yet; return how many.

    Since the backup was made the sum may have been shown with other noise. Together with a helper
    that keeps none of its promises, a second sum over the same answers would cost people twice.
    """
    open_ = SPLIT_TASK.c.state.in_((BOUND, VERIFYING))  # from collecting on the noise is stored
    found = connection.execute(select(SPLIT_TASK).where(open_)).all()
    for row in found:
        end_leader_task(
            connection,
            row,
            state=FAILED,
            reason="this server was restored from a backup; the sum may have been given since",
            day=day,
        )
    return len(found)
