"""The steps of a leader's task, from a closed survey to its sums, each stored before the next.

::

    bound -> verifying -> collecting -> collected
                       -> too-few                  (below the minimum: no sum is asked for)
    any of them        -> failed                   (the helper refuses what no repetition changes)

Each step is a transaction that depends on stored state alone, so that the process may end between
any two and go on later; what was sent is sent again byte for byte.
"""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, delete, select, update

from masquerade.aggregate import BatchTally, Block, SumNoise
from masquerade.aggregate.dap_messages import AggregateShare, AggregateShareReq, Role
from masquerade.errors import AggregationRefused, BrokenPromise, InvalidReport
from masquerade.server.db.party_tables import (
    AGGREGATION_JOB,
    BOUND,
    COLLECTED,
    COLLECTING,
    FAILED,
    SPLIT_TASK,
    TOO_FEW,
    UNDER_WAY,
    VERIFYING,
)
from masquerade.server.db.seals import Seals, place_of
from masquerade.server.db.tables import CANCELLED, SURVEY
from masquerade.server.db.transactions import Transactions, reads, writes
from masquerade.server.http.logs import fields
from masquerade.server.parties.helper_client import HelperClient
from masquerade.server.parties.leader_jobs import LeaderJobs
from masquerade.server.parties.proposals import LeaderSecrets
from masquerade.server.parties.split_reports import delete_reports, report_count
from masquerade.server.parties.team_helpers import Helpers
from masquerade.server.webhooks.webhooks import RESULTS_READY, enqueue
from masquerade.surveys.split_task import COLLECTION, SplitTask
from masquerade.surveys.survey import Survey

_LOGGER = logging.getLogger(__name__)
#: Days in which a helper that has other reports may find those that it lacks.
MISMATCH_DAYS = 3


class LeaderSteps:
    """The steps of all tasks of a leader.

    `today`: gives the ISO date.
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
        self._jobs = LeaderJobs(transactions)

    def take(self, task: str) -> bool:
        """Take one step; return whether another may follow."""
        row = self._row(task)
        if row.state in (BOUND, VERIFYING) and self._days_since(_last_day(row)) > 0:
            # Its helper has forgotten keys and shares by now; so does this party, as it agreed.
            self.end(
                task,
                FAILED,
                f"the helper did not answer until {_last_day(row)}, when it forgets the task. "
                "Its answers cannot be added up any more; ask anew, with a helper that answers.",
            )
            return False
        if row.state == BOUND:
            return self._freeze(row)
        try:
            if row.state == VERIFYING:
                return self._verify(row)
            if row.state == COLLECTING:
                return self._collect(row)
        except (AggregationRefused, BrokenPromise):
            # Where another process has taken the task further meanwhile, the helper refuses what
            # comes late. That one's step counts: to end the task here would delete its result.
            if self._row(task).state == row.state:
                raise
            return True
        return False

    def end_mismatch(self, task: str, error: AggregationRefused) -> None:
        """Wait some days for the helper to find its missing reports; then end the task."""
        since = self._days_since(self._row(task).day)
        if since < MISMATCH_DAYS:
            raise error
        self.end(
            task,
            FAILED,
            f"for {since} days the helper has not had the same reports as this server ({error}). "
            "Its database was changed or set back; ask its operator. The answers cannot be added "
            "up any more: ask the survey anew.",
        )

    def end(self, task: str, state: str, reason: str) -> None:
        """End a task that is under way, for a reason that the survey's page tells."""
        self._end(task, state, reason)
        _LOGGER.warning("answers cannot be added up", extra=fields(task=task[:16], reason=reason))

    @writes
    def _end(self, connection: Connection, task: str, state: str, reason: str) -> None:
        row = connection.execute(select(SPLIT_TASK).where(SPLIT_TASK.c.id == task)).one()
        if row.state in UNDER_WAY:
            self._ended(connection, row, state, reason)

    def note(self, task: str, reason: str) -> None:
        """Keep why a task waits, for the survey's page; once for each reason."""
        change = update(SPLIT_TASK).where(
            SPLIT_TASK.c.id == task,
            SPLIT_TASK.c.state.in_(UNDER_WAY),
            SPLIT_TASK.c.reason.is_distinct_from(reason),
        )
        if self._transactions.write(lambda c: c.execute(change.values(reason=reason)).rowcount):
            _LOGGER.warning("a helper is waited for", extra=fields(task=task[:16], reason=reason))

    def _row(self, task: str) -> Row[Any]:
        query = select(SPLIT_TASK).where(SPLIT_TASK.c.id == task)
        return self._transactions.read(lambda c: c.execute(query).one())

    def _days_since(self, day: str) -> int:
        return (date.fromisoformat(self._today()) - date.fromisoformat(day)).days

    @writes
    def _freeze(self, connection: Connection, row: Row[Any]) -> bool:
        """Note how many reports there are, now that nobody can send or take back one."""
        state = connection.scalar(select(SURVEY.c.state).where(SURVEY.c.token == row.survey))
        if state == CANCELLED:
            self._ended(connection, row, FAILED, "the survey was cancelled")
            return False
        reports = report_count(connection, row.survey)
        change = update(SPLIT_TASK).where(SPLIT_TASK.c.id == row.id, SPLIT_TASK.c.state == BOUND)
        connection.execute(change.values(state=VERIFYING, reports=reports))
        return True

    def _verify(self, row: Row[Any]) -> bool:
        split, keys = self._opened(row)
        if not self._jobs.advance(row, split, keys, self._client(row)):
            self._total(row, split)
        return True

    @writes
    def _total(self, connection: Connection, row: Row[Any], split: SplitTask) -> None:
        """Add this party's noise to its sum and store that, before the helper's is asked for."""
        vdaf = split.task.vdaf
        mine = SPLIT_TASK.c.id == row.id
        # SQLite has one writer, and leaves FOR UPDATE out.
        state = connection.scalar(select(SPLIT_TASK.c.state).where(mine).with_for_update())
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
            "day": self._today(),
            "share": base64.b64encode(vdaf.encode_aggregate(noisy)).decode(),
            "request": base64.b64encode(request).decode(),
        }
        connection.execute(update(SPLIT_TASK).where(mine).values(**values))
        # The sums without noise go in the same transaction.
        connection.execute(delete(AGGREGATION_JOB).where(AGGREGATION_JOB.c.task == row.id))

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
        self._keep_sums(row, sums)
        # What is deleted is to be gone from the file too.
        self._transactions.rewrite(row.survey)
        return False

    @writes
    def _keep_sums(self, connection: Connection, row: Row[Any], sums: list[int]) -> None:
        now = connection.scalar(select(SPLIT_TASK.c.state).where(SPLIT_TASK.c.id == row.id))
        if now == COLLECTING:
            self._ended(connection, row, COLLECTED, None, sums=sums)
            survey = connection.execute(
                select(SURVEY.c.team, SURVEY.c.closed).where(SURVEY.c.token == row.survey)
            ).one()
            enqueue(connection, survey.team, RESULTS_READY, survey=row.survey, day=survey.closed)

    def _ended(
        self, connection: Connection, row: Row[Any], state: str, reason: str | None, **values: Any
    ) -> None:
        end_leader_task(connection, row, state=state, reason=reason, day=self._today(), **values)

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
        helper = self._helper(row)
        return self._helpers.connect(helper.address, self._helpers.token(helper))

    @reads
    def _helper(self, connection: Connection, row: Row[Any]) -> Row[Any]:
        survey = connection.execute(
            select(SURVEY.c.team, SURVEY.c.definition).where(SURVEY.c.token == row.survey)
        ).one()
        terms = Survey.from_json(survey.definition).two_parties
        assert terms is not None
        return self._helpers.at(connection, survey.team, terms.helper)


def _last_day(row: Row[Any]) -> str:
    """Return the day after which the helper has forgotten a task, on any clock."""
    end = datetime.fromtimestamp(json.loads(row.terms)["expires"], UTC).date()
    return (end + timedelta(days=1)).isoformat()


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
    """End tasks of a restored backup that had no noise drawn yet; return their number.

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
