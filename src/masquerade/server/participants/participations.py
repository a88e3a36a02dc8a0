"""The participants' protocol: from a chosen level to reports, one step at a time.

::

    reserved -> opened -> sealed -> submitted -> withdrawn
    reserved -> expired              (gave up, or too late: what was reserved is given back)
    opened or sealed -> abandoned    (the questions were shown: what they cost stays spent)

Each step is kept together with what it does to the ledger, or not at all. The steps that wait are
taken in one transaction, in few statements: a run costs a quarter of what four transactions do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

from sqlalchemy import Connection

from masquerade.accounting import Caps
from masquerade.server.db.pseudonyms import Pseudonyms
from masquerade.server.db.transactions import Transactions
from masquerade.server.participants.pair_choice import PairChoice
from masquerade.server.participants.step_batch import Batch, Rules, Step, taken
from masquerade.server.participants.steps import (
    Abandon,
    Admit,
    Open,
    Participation,
    Reserve,
    Respond,
    RespondSplit,
    Seal,
    Withdraw,
)
from masquerade.server.parties.split_reports import SplitReports
from masquerade.server.surveys.survey_records import Surveys


class Participations:
    """The steps of the protocol, each taken with others that wait; see `steps`.

    At most `unopened_reservations` surveys can be begun by a person on a day without opening them;
    0 is without limit.
    """

    def __init__(
        self,
        transactions: Transactions,
        surveys: Surveys,
        *,
        today: Callable[[], str],
        utc_today: Callable[[], str],
        caps: Caps,
        unopened_reservations: int,
        split_reports: SplitReports,
        pair_choice: PairChoice,
    ) -> None:
        self._transactions = transactions
        #: What every step goes by.
        self.rules = Rules(
            surveys, today, caps, unopened_reservations, split_reports, pair_choice, utc_today
        )
        self._taken = partial(taken, self.rules)

    async def take(self, step: Step) -> Any:
        """Take a step and return its result, without holding a thread."""
        return await self._transactions.awaited(self._taken, step)

    def batch(self, connection: Connection) -> Batch:
        """Return the rows of steps within a transaction of the caller, who flushes them."""
        return Batch(connection, self.rules)

    def reserve(
        self,
        who: Pseudonyms,
        token: str,
        level: str,
        *,
        idempotency_key: str,
        ticket: str = "",
        admit: Admit | None = None,
    ) -> tuple[Participation, bool]:
        """Choose a level; see `Reserve`."""
        return cast(
            tuple[Participation, bool],
            self._now(Reserve(who, token, level, idempotency_key, ticket, admit)),
        )

    def open(self, who: Pseudonyms, participation: str) -> Participation:
        """Show the questions; see `Open`."""
        return cast(Participation, self._now(Open(who, participation))[0])

    def seal(self, who: Pseudonyms, participation: str, commitment: str) -> Participation:
        """Bind the participant to reports; see `Seal`."""
        return cast(Participation, self._now(Seal(who, participation, commitment)))

    def respond(
        self,
        who: Pseudonyms,
        participation: str,
        *,
        reports: Sequence[int],
        salt: str,
        level: str,
        survey_hash: str,
    ) -> tuple[Participation, bool]:
        """Accept the reports that were sealed; see `Respond`."""
        step = Respond(who, participation, salt, level, survey_hash, reports)
        return cast(tuple[Participation, bool], self._now(step))

    def respond_split(
        self,
        who: Pseudonyms,
        participation: str,
        *,
        report: bytes,
        salt: str,
        level: str,
        survey_hash: str,
    ) -> tuple[Participation, bool]:
        """Accept a report sealed for two parties; see `RespondSplit`."""
        step = RespondSplit(who, participation, salt, level, survey_hash, report)
        return cast(tuple[Participation, bool], self._now(step))

    def withdraw(self, who: Pseudonyms, participation: str) -> Participation:
        """Delete the reports; see `Withdraw`."""
        return cast(Participation, self._now(Withdraw(who, participation)))

    def abandon(self, who: Pseudonyms, participation: str) -> Participation:
        """Give up; see `Abandon`."""
        return cast(Participation, self._now(Abandon(who, participation)))

    def _now(self, step: Step) -> Any:
        return self._transactions.together(self._taken, step)
