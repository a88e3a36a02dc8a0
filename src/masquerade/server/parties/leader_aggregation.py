"""The leader's half of adding up: turns, progress of each survey, and results."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypedDict

from sqlalchemy import Connection, func, select
from sqlalchemy.exc import SQLAlchemyError

from masquerade.errors import (
    AggregationRefused,
    BrokenPromise,
    MasqueradeError,
    ServerUnavailable,
    WrongState,
)
from masquerade.server.db.party_tables import (
    AGGREGATION_JOB,
    COLLECTED,
    FAILED,
    SPLIT_TASK,
    TOO_FEW,
    UNDER_WAY,
)
from masquerade.server.db.seals import Seals
from masquerade.server.db.tables import CANCELLED, FINISHED, SURVEY
from masquerade.server.db.transactions import Transactions, reads
from masquerade.server.parties.leader_jobs import TRIED_NEXT, RetryPauses
from masquerade.server.parties.leader_steps import LeaderSteps
from masquerade.server.parties.split_reports import report_count
from masquerade.server.parties.team_helpers import Helpers

#: The helper's refusal of a set of reports that is not its own; it may be set right for some days.
_MISMATCH = "batchMismatch"
#: Seconds that one survey may take of a run before the next has its turn.
_TURN_SECONDS = 30.0


class SumProgress(TypedDict):
    """The progress of the adding up of a survey."""

    task: str
    state: str
    reports: int
    added_up: int
    refused: int
    obstacle: str | None


class LeaderAggregation:
    """Adds up the reports of closed surveys together with their helpers.

    `today`: gives the ISO date.
    `clock`: gives seconds that never go back.
    """

    def __init__(
        self,
        transactions: Transactions,
        helpers: Helpers,
        *,
        seals: Seals,
        today: Callable[[], str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._transactions = transactions
        self._clock = clock
        self._steps = LeaderSteps(transactions, helpers, seals=seals, today=today)
        self._pauses = RetryPauses(clock)
        self._silences: dict[str, str] = {}  # why a helper is left alone
        self._ending = False

    def end(self) -> None:
        """Let `run` end before its next step."""
        self._ending = True

    def run(self, *, patiently: bool = False) -> int:
        """Take all surveys that are closed as far as they go now; return how many have ended.

        A helper that does not answer stops its own surveys alone; the next run goes on. With
        `patiently` it is left alone for a while, the longer the more often it did not answer.
        """
        ended, silent = 0, set[str]()
        for task, helper, reason in self._waiting():
            if helper in silent or (patiently and not self._pauses.over(task, helper)):
                if reason is None and helper in self._silences:
                    self._steps.note(task, self._silences[helper])
                continue
            try:
                ended += self.advance(task)
                self._pauses.end(task, helper)
                self._silences.pop(helper, None)
            except ServerUnavailable as error:
                # Its other surveys would wait as long for nothing.
                silent.add(helper)
                self._pauses.begin(helper)
                self._silences[helper] = str(error)
                self._steps.note(task, str(error))
            except MasqueradeError as error:
                self._pauses.begin(task)
                self._steps.note(task, str(error))
            except SQLAlchemyError:  # the database is away, for all of them
                raise
            except Exception as error:
                # A fault of ours, or an answer nobody thought of: it stops this survey alone.
                self._pauses.begin(task)
                self._steps.note(task, f"an unexpected fault ({type(error).__qualname__})")
        return ended

    def under_way(self) -> list[str]:
        """Return the tasks of closed surveys that have not ended."""
        return [task for task, _, _ in self._waiting()]

    def _waiting(self) -> list[tuple[str, str, str | None]]:
        """Return the tasks under way, each with its helper and why it waits."""
        query = (
            select(SPLIT_TASK.c.id, SPLIT_TASK.c.helper, SPLIT_TASK.c.reason)
            .join(SURVEY, SURVEY.c.token == SPLIT_TASK.c.survey)
            .where(SPLIT_TASK.c.state.in_(UNDER_WAY), SURVEY.c.state.in_((*FINISHED, CANCELLED)))
            .order_by(SPLIT_TASK.c.id)
        )
        rows = self._transactions.read(lambda c: c.execute(query).all())
        return [(row.id, row.helper, row.reason) for row in rows]

    def advance(self, task: str) -> bool:
        """Take a task as far as it goes in one turn; return whether it has ended.

        Raises `ServerUnavailable`, `OperationError` (the helper does not answer, or refuses what
        may be put right; the task goes on later).
        """
        turn = self._clock() + _TURN_SECONDS
        try:
            while not self._ending and self._steps.take(task):
                if self._clock() > turn:
                    return False
        except AggregationRefused as error:
            if error.kind == _MISMATCH:
                self._steps.end_mismatch(task, error)
            else:
                self._steps.end(task, FAILED, str(error))
        except BrokenPromise as error:
            self._steps.end(task, FAILED, str(error))
        return not self._ending

    @reads
    def progress(self, connection: Connection, survey: str) -> SumProgress:
        """Return the progress of the adding up of a survey.

        Raises `WrongState` (the survey has no task).
        """
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

    def sums(self, survey: str) -> tuple[list[list[int]], int, int]:
        """Return a survey's sums with their noise, how many reports are in them, and were refused.

        Raises `WrongState` (there are none yet, or never will be).
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
        why = f" {how['obstacle']} {TRIED_NEXT}" if how["obstacle"] else ""
        raise WrongState(
            f"the two parties are adding up the answers ({how['added_up']} of {how['reports']} "
            f"so far).{why}"
        )
