"""Batches of steps: reads and changes of up to sixty-four steps, in one transaction."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from masquerade.accounting import Caps, Ledger
from masquerade.errors import NotFound
from masquerade.server.db.ledger_storage import LedgerTables
from masquerade.server.db.participation_rows import ParticipationRow, ParticipationRows
from masquerade.server.db.pseudonyms import Pseudonyms
from masquerade.server.db.row_sets import Changes, Journal, by_index
from masquerade.server.db.writer import Outcome
from masquerade.server.participants.pair_choice import PairChoice
from masquerade.server.participants.privacy_balance import PrivacyAccount, privacy_account_of
from masquerade.server.parties.split_reports import SplitReports
from masquerade.server.surveys.quotas import QuotaCounts
from masquerade.server.surveys.rewards import CODES
from masquerade.server.surveys.survey_records import FrozenSurvey, Surveys

_ID: Final = re.compile(r"[0-9a-f]{32}")
_TOKEN: Final = re.compile(r"[0-9a-f]{1,32}")


@dataclass(slots=True)
class Rules:
    """The parts of a server that every step goes by."""

    surveys: Surveys
    today: Callable[[], str]
    caps: Caps
    unopened_reservations: int
    split_reports: SplitReports
    pair_choice: PairChoice
    utc_today: Callable[[], str]  # the day of tickets in two phases, as devices count it
    places: dict[str, str] = field(default_factory=dict)  # surveys of participations met before


class Step(Protocol):
    """A step of one participant."""

    @property
    def who(self) -> Pseudonyms:
        """The participant."""

    @property
    def participation(self) -> str:
        """The id of a participation that was begun; empty where one is begun."""

    @property
    def survey(self) -> str:
        """The survey that is begun; empty where a participation is named."""

    def names(self, batch: Batch) -> tuple[str, str, str] | None:
        """Return survey, pseudonym and request of a beginning; None for later steps."""

    def accounts(self, batch: Batch) -> Sequence[str]:
        """Return the keys on the person's account that are needed; empty: it is not needed."""

    def places(self, batch: Batch) -> Sequence[tuple[str, str]]:
        """Return survey and level of the quotas that are needed."""

    def take(self, batch: Batch) -> Any:
        """Take the step and return its result; its error refuses it alone."""


@dataclass(slots=True, eq=False)
class Batch:
    """The rows that steps share, read in few statements; `flush` writes the changes.

    Each step sees what the steps before it did, as if it came in a transaction after theirs. One
    that raises leaves nothing.
    """

    connection: Connection
    rules: Rules
    journal: Journal = field(default_factory=Journal)
    rows: ParticipationRows = field(init=False)
    tables: LedgerTables = field(init=False)
    quotas: QuotaCounts = field(init=False)
    ledger: Ledger = field(init=False)
    _states: dict[str, tuple[str, dict[str, int] | None]] = field(default_factory=dict)
    _codes: list[tuple[str, str, int, bool]] = field(default_factory=list)

    def __post_init__(self) -> None:
        by_index(self.connection)
        self.rows = ParticipationRows(self.connection, self.journal, self.rules.places)
        self.tables = LedgerTables(self.connection, self.journal)
        self.quotas = QuotaCounts(self.connection, self.journal)
        self.ledger = Ledger(self.tables, clock=self.rules.today, caps=self.rules.caps)

    def load(self, steps: Sequence[Step]) -> None:
        """Read the rows that the steps need: surveys first, then participations, then accounts."""
        # A survey's row is locked before those of its people, as by whoever closes it.
        ids = [one.participation for one in steps if _ID.fullmatch(one.participation)]
        surveys = {one.survey for one in steps if _TOKEN.fullmatch(one.survey)}
        if ids:
            surveys |= self.rows.surveys_of(ids)
        self._states = self.rules.surveys.states(self.connection, surveys)
        begun = [name for one in steps if (name := one.names(self)) is not None]
        self.rows.load(ids, begun)
        wanted: list[tuple[str, str]] = []
        places: list[tuple[str, str]] = []
        for step in steps:
            person = step.who.person
            wanted += [(person, key) for key in step.accounts(self)]
            places += step.places(self)
        self.quotas.load(places)
        self.tables.load(wanted, paid=dict(wanted))

    def flush(self) -> None:
        """Write the changes of the steps."""
        changes = Changes(self.connection)
        self.rows.flush(changes)
        self.tables.flush(changes)
        self.quotas.flush(changes)
        codes, self._codes = self._codes, []
        CODES.insert(changes, codes)
        changes.send()

    def frozen(self, token: str) -> FrozenSurvey:
        """Return the fixed part of a survey."""
        return self.rules.surveys.frozen(self.connection, token)

    def known(self, token: str) -> FrozenSurvey | None:
        """Return the fixed part of a survey, or None where there is none."""
        with contextlib.suppress(NotFound):
            return self.frozen(token)
        return None

    def state(self, token: str) -> str:
        """Return a survey's state, which stays until the transaction ends."""
        return self.state_and_quotas(token)[0]

    def state_and_quotas(self, token: str) -> tuple[str, dict[str, int] | None]:
        """Return state and quotas of a survey, which stay until the transaction ends."""
        if token not in self._states:
            self._states |= self.rules.surveys.states(self.connection, [token])
        return self._states[token]

    def account(self, who: Pseudonyms) -> PrivacyAccount:
        """Return where a person stands."""
        return privacy_account_of(self.tables, who, self.rules.caps)

    def give_code(self, survey: str, code: str, amount: int) -> None:
        """Make a completion code valid."""
        self.journal.append(self._codes, (survey, code, amount, False))

    def write_directly(self) -> None:
        """Let a step write by statements of its own, which are taken back where it raises."""
        # One name is enough: what is taken back is the last one of this name.
        self.connection.exec_driver_sql("SAVEPOINT step")
        back = "ROLLBACK TO SAVEPOINT step"
        self.journal.note(lambda: self.connection.exec_driver_sql(back))

    def mine(self, who: Pseudonyms, participation: str) -> ParticipationRow | None:
        """Return a participation where it is this person's."""
        # Anything else cannot be there, and a database may refuse to look for it.
        if not _ID.fullmatch(participation):
            return None
        row = self.rows.by_id(participation)
        if row is None or not who.is_named(row.pseudonym, self.frozen(row.survey).pseudonym_key):
            return None
        return row


def taken(rules: Rules, connection: Connection, steps: Sequence[Step]) -> list[Outcome]:
    """Take steps in one transaction; return the outcome of each."""
    batch = Batch(connection, rules)
    batch.load(steps)
    outcomes: list[Outcome] = []
    for step in steps:
        try:
            with batch.journal.attempt():
                outcomes.append((step.take(batch), None))
        except DBAPIError:  # the transaction is no good any more
            raise
        except Exception as error:
            outcomes.append((None, error))
    batch.flush()
    return outcomes
