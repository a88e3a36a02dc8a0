"""The participants' protocol: from a chosen level to reports, one step at a time.

::

    reserved -> opened -> sealed -> submitted -> withdrawn
    reserved -> expired              (gave up, or too late: what was reserved is given back)
    opened or sealed -> abandoned    (the questions were shown: what they cost stays spent)

Each step is one transaction together with what it does to the ledger. The same step again changes
nothing and is answered as before; any other is refused.
"""

from __future__ import annotations

import contextlib
import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from sqlalchemy import Connection, Row, bindparam, insert, or_, select, update

from masquerade.accounting import Caps, Ledger
from masquerade.errors import (
    AlreadyParticipated,
    CommitmentMismatch,
    IdempotencyConflict,
    InvalidReport,
    LevelNotAllowed,
    NotFound,
    NotReserved,
    SurveyHashMismatch,
    TooManyReservations,
    WrongState,
)
from masquerade.mechanisms.privacy_level import CLEAR
from masquerade.server.db.ledger_storage import LedgerTables
from masquerade.server.db.pseudonyms import Pseudonyms
from masquerade.server.db.tables import (
    ABANDONED,
    EXPIRED,
    OPEN,
    OPENED,
    PARTICIPATION,
    RESERVED,
    SEALED,
    SUBMITTED,
    SURVEY,
    TAKING,
    WITHDRAWN,
)
from masquerade.server.db.transactions import Transactions, writes
from masquerade.server.participants.pair_choice import PairChoice
from masquerade.server.participants.privacy_balance import (
    PrivacyAccount,
    attempt_of,
    privacy_account_of,
)
from masquerade.server.parties.split_reports import SplitReports
from masquerade.server.surveys.quotas import begin, leave
from masquerade.server.surveys.rewards import code_of, give_code
from masquerade.server.surveys.survey_records import FrozenSurvey, Surveys
from masquerade.server.surveys.tickets import redeem
from masquerade.surveys.offered_levels import OfferedLevel
from masquerade.surveys.pair_votes import Pairs, drawn_pairs, folded
from masquerade.surveys.survey import commitment_of, split_commitment

_ID = re.compile(r"[0-9a-f]{32}")

_MINE = select(PARTICIPATION, SURVEY.c.state.label("survey_state")).join_from(PARTICIPATION, SURVEY)
_MINE = _MINE.where(PARTICIPATION.c.id == bindparam("one"))
# The row of the participation alone; the survey's row, joined here, is not locked.
_MINE = _MINE.with_for_update(of=PARTICIPATION)
_BEGUN = select(PARTICIPATION).where(
    or_(
        (PARTICIPATION.c.survey == bindparam("in_survey"))
        & (PARTICIPATION.c.pseudonym == bindparam("by")),
        PARTICIPATION.c.idempotency == bindparam("request"),
    )
)
_BEGUN = _BEGUN.with_for_update()
_STEP = update(PARTICIPATION).where(PARTICIPATION.c.id == bindparam("one"))


@dataclass(frozen=True, slots=True)
class Participation:
    """The state of one participant in one survey."""

    id: str
    survey: FrozenSurvey
    level: OfferedLevel
    state: str
    account: PrivacyAccount | None = None  # of the person, where the step concerns it
    key: str = ""  # of the participation on that account
    completion_code: str | None = None  # by which a panel is shown that the reports have arrived
    pairs: Pairs | None = None  # of lists, that the person is shown once the survey is opened


class Participations:
    """The steps of the protocol; each raises `NotFound` or `WrongState` where it cannot be taken.

    At most `unopened_reservations` surveys can be begun by a person on a day without opening them;
    0 is without limit.
    """

    def __init__(
        self,
        transactions: Transactions,
        surveys: Surveys,
        *,
        today: Callable[[], str],
        caps: Caps,
        unopened_reservations: int,
        split_reports: SplitReports,
        pair_choice: PairChoice,
    ) -> None:
        self._transactions = transactions
        self._surveys = surveys
        self._today = today
        self._caps = caps
        self._unopened_reservations = unopened_reservations
        self._split_reports = split_reports
        self._pair_choice = pair_choice
        self._ledger_of = partial(Ledger, clock=today, caps=caps)

    @writes
    def reserve(
        self,
        connection: Connection,
        who: Pseudonyms,
        token: str,
        level: str,
        *,
        idempotency_key: str,
        ticket: str = "",
        admit: Callable[[FrozenSurvey, bool], None] | None = None,
    ) -> tuple[Participation, bool]:
        """Choose a level, before any question is shown, and set its cost aside.

        `ticket` is needed, and spent, where the survey takes people with one alone and this person
        has not begun it before.
        `admit`, if given, is called before something new is begun, with whether the survey has
        quotas; what it raises refuses that. It may be called several times, and counts a
        participant once. Returned is the participation,
        and whether it was begun now, not before.

        Raises `NotFound`, `WrongState`, `LevelNotAllowed`, `AlreadyParticipated`,
        `IdempotencyConflict`, `TicketRefused`, `TicketUsed`, `QuotaFull`, `TooManyReservations` (as
        many as the survey takes have begun it, or this person opens nothing) or
        `InsufficientBudget`, `ClearDisclosureRefused` (the person's cap does not leave enough).
        """
        request = who.idempotency(idempotency_key)
        frozen = self._surveys.frozen(connection, token)
        # The survey's row first, shared with others: it cannot close, nor change its quotas, until
        # this ends.
        state, quotas = self._surveys.state_and_quotas(connection, token, lock=True)
        offered = frozen.survey.level(level)
        pseudonym = who.pseudonym(frozen.pseudonym_key)
        begun = connection.execute(
            _BEGUN, {"in_survey": token, "by": pseudonym, "request": request}
        ).all()
        if any(
            row.idempotency == request and (row.survey, row.level) != (token, level)
            for row in begun
        ):
            raise IdempotencyConflict(
                "this idempotency key was used for another request; draw a new one."
            )
        row = begun[0] if begun else None
        # Whatever the state is now, the same request is answered by what it began.
        if row is not None and (row.state != EXPIRED or row.idempotency == request):
            if row.level != level:
                raise AlreadyParticipated(
                    "this device has begun this survey at another level, which cannot change."
                )
            return self._with_account(connection, who, row, frozen, row.state), False
        # After the lookup: who began in time gets their answer also once the survey is closed.
        if state != OPEN:
            raise WrongState("this survey is closed; nobody can begin it any more.")
        if level == CLEAR and not self._surveys.allow_clear:
            raise LevelNotAllowed("this server does not accept answers in clear; choose a level.")
        if frozen.survey.two_parties is not None:
            self._split_reports.require_task(connection, token)
        tables = LedgerTables(connection)
        # Whoever came back after a lapse has spent theirs.
        if row is None:
            redeem(connection, frozen, ticket, today=self._today())
        # Only for what is new: a repetition is not counted.
        if admit is not None:
            admit(frozen, quotas is not None)
        if quotas is not None:
            begin(connection, token, level, most=int(quotas.get(level, 0)))
        attempt = 1 if row is None else row.attempt + 1
        if row is not None:
            # What lapsed keeps its reservation in the ledger until the next day.
            with contextlib.suppress(NotReserved):
                before = who.ledger_key(token, row.attempt)
                self._ledger_of(tables).release(who.person, before)
        # Random, so that it tells nothing of the order of arrival; also drawn anew for a second
        # attempt.
        name = secrets.token_hex(16)
        values: dict[str, object] = {
            "id": name,
            "level": level,
            "state": RESERVED,
            "attempt": attempt,
            "day": self._today(),
            "idempotency": request,
        }
        if row is None:
            values |= {"survey": token, "pseudonym": pseudonym}
            connection.execute(insert(PARTICIPATION), values)
        else:
            connection.execute(_STEP, {"one": row.id, **values})
        # After the row, for which whoever begins at another level at the same time has to wait.
        key = who.ledger_key(token, attempt)
        self._ledger_of(tables).reserve(who.person, key, offered.cost(token))
        # After the reservation, so that this one is counted too; what it raises takes all of it
        # back.
        self._require_patience(tables, who)
        account = privacy_account_of(tables, who, self._caps)
        return Participation(name, frozen, offered, RESERVED, account, key), True

    @writes
    def open(
        self,
        connection: Connection,
        who: Pseudonyms,
        participation: str,
        *,
        opened: Callable[[FrozenSurvey], None] | None = None,
    ) -> Participation:
        """Show the questions; from here on the cost is spent.

        `opened`, if given, is called where they were not shown before.
        """
        row, frozen = self._mine(connection, who, participation)
        # Opening again shows the same questions, and costs nothing again.
        if row.state != OPENED:
            self._require(row, RESERVED)
            self._require_open(connection, row, OPEN)
            if frozen.survey.two_parties is not None:
                # Nobody pays for questions whose answers would not be taken.
                self._split_reports.require_task(connection, frozen.token)
            key = who.ledger_key(frozen.token, row.attempt)
            # In the transaction in which the questions become visible: nobody sees them unpaid,
            # and a crash takes back both.
            self._ledger_of(LedgerTables(connection)).commit(who.person, key)
            # How often it lapsed before stands in the ledger; here it would tell whose it is.
            # Drawn here, before anything is answered, and the same however often it is asked for.
            draw = self._pair_choice.drawing(frozen)
            pairs = drawn_pairs(frozen.survey.questions, draw)
            _step(connection, row, state=OPENED, day=None, attempt=0, pairs=pairs)
            if opened is not None:
                opened(frozen)
            return replace(_at(row, frozen, OPENED), pairs=pairs)
        return replace(_at(row, frozen, OPENED), pairs=row.pairs)

    @writes
    def seal(
        self, connection: Connection, who: Pseudonyms, participation: str, commitment: str
    ) -> Participation:
        """Bind the participant to the reports that were drawn, without seeing them."""
        row, frozen = self._mine(connection, who, participation)
        # Sealing the same again is answered as before, for a device that lost the answer.
        if row.state in (SEALED, SUBMITTED):
            if row.commitment != commitment:
                raise CommitmentMismatch(
                    "other reports were sealed before; they are drawn once and never again."
                )
            return _at(row, frozen, row.state)
        self._require(row, OPENED)
        self._require_open(connection, row)
        _step(connection, row, state=SEALED, commitment=commitment)
        return _at(row, frozen, SEALED)

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
        """Accept the reports that were sealed; return whether they are new, too.

        `level` and `survey_hash` are what the participant's device masked for.

        Raises `NotFound`, `WrongState`, `LevelNotAllowed`, `SurveyHashMismatch`, `InvalidReport`,
        `CommitmentMismatch`.
        """
        # Outside the transaction: hashing needs no lock.
        commitment = commitment_of(participation, reports, salt)

        def keep(connection: Connection, row: Row[Any], frozen: FrozenSurvey) -> None:
            # Range only. Whether a report is true cannot be told from it, and must not be.
            frozen.survey.level(level).check_reports(reports)
            _require_sealed(row.commitment, commitment)
            kept = folded(frozen.survey.questions, row.pairs, reports)
            _step(connection, row, state=SUBMITTED, reports=kept, pairs=None)

        return self._accept(who, participation, commitment, level, survey_hash, keep)

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
        """Accept a report sealed for two parties, as `respond` does reports."""
        commitment = split_commitment(participation, report, salt)

        def keep(connection: Connection, row: Row[Any], frozen: FrozenSurvey) -> None:
            if frozen.survey.two_parties is None:
                raise InvalidReport("this survey takes masked reports, and no sealed ones.")
            _require_sealed(row.commitment, commitment)
            self._split_reports.keep(connection, row, report)
            _step(connection, row, state=SUBMITTED)

        return self._accept(who, participation, commitment, level, survey_hash, keep)

    @writes
    def _accept(
        self,
        connection: Connection,
        who: Pseudonyms,
        participation: str,
        commitment: str,
        level: str,
        survey_hash: str,
        keep: Callable[[Connection, Row[Any], FrozenSurvey], None],
    ) -> tuple[Participation, bool]:
        row, frozen = self._mine(connection, who, participation)
        if row.state == SUBMITTED:
            # Only who knows the sealed reports gets the answer of the first time.
            _require_sealed(row.commitment, commitment)
            return self._with_account(connection, who, row, frozen, SUBMITTED), False
        self._require(row, SEALED)
        # Locked here and not in `open`: results are computed once, and must have every response
        # that was accepted.
        self._require_open(connection, row, lock=True)
        # Level and hash are what the device masked for; other reports would be estimated
        # wrongly.
        if level != row.level:
            raise LevelNotAllowed("these reports are for another level than was chosen.")
        if survey_hash != frozen.hash:
            raise SurveyHashMismatch(
                "these reports are for another version of the survey; reload the page."
            )
        keep(connection, row, frozen)
        done = self._with_account(connection, who, row, frozen, SUBMITTED)
        # In the transaction that accepts the reports, so that nobody gets two codes or none.
        if done.completion_code is not None and frozen.reward is not None:
            amount = frozen.reward.amount(row.level)
            give_code(connection, frozen.token, done.completion_code, amount)
        return done, True

    @writes
    def withdraw(
        self, connection: Connection, who: Pseudonyms, participation: str
    ) -> Participation:
        """Delete the reports, unless the survey is closed; their cost stays spent."""
        row, frozen = self._mine(connection, who, participation)
        if row.state != WITHDRAWN:
            self._require(row, SUBMITTED)
            self._require_open(connection, row, lock=True)
            self.forget(connection, row)
        return _at(row, frozen, WITHDRAWN)

    @writes
    def abandon(self, connection: Connection, who: Pseudonyms, participation: str) -> Participation:
        """Give up; the reservation is given back where no question was shown yet."""
        row, frozen = self._mine(connection, who, participation)
        if row.state in (EXPIRED, ABANDONED):
            return _at(row, frozen, row.state)
        self._require(row, RESERVED, OPENED, SEALED)
        return _at(row, frozen, self.give_up(connection, who, row, frozen))

    def give_up(
        self, connection: Connection, who: Pseudonyms, row: Row[Any], frozen: FrozenSurvey
    ) -> str:
        """End a participation that has no reports yet; return the state it is then in."""
        # Locked, so that nobody counts who takes part while one leaves.
        self._surveys.state(connection, frozen.token, lock=True)
        leave(connection, frozen.token, row.level)
        if row.state == RESERVED:
            key = who.ledger_key(frozen.token, row.attempt)
            self._ledger_of(LedgerTables(connection)).release(who.person, key)
            # The day goes, as only the sweeper needed it.
            _step(connection, row, state=EXPIRED, day=None)
            return EXPIRED
        _step(connection, row, state=ABANDONED, commitment=None, pairs=None)
        return ABANDONED

    def forget(self, connection: Connection, row: Row[Any]) -> None:
        """Delete the reports of a participation; the caller has locked the survey's row."""
        leave(connection, row.survey, row.level)
        self._split_reports.forget(connection, row)
        _step(connection, row, state=WITHDRAWN, reports=None, commitment=None)

    def _mine(
        self, connection: Connection, who: Pseudonyms, participation: str
    ) -> tuple[Row[Any], FrozenSurvey]:
        """Return a participation of this person; somebody else's is not there."""
        # Anything else cannot be there, and a database may refuse to look for it.
        possible = _ID.fullmatch(participation)
        row = connection.execute(_MINE, {"one": participation}).first() if possible else None
        if row is not None:
            frozen = self._surveys.frozen(connection, row.survey)
            # In constant time; somebody else's is refused by the same words as one that does not
            # exist.
            if secrets.compare_digest(row.pseudonym, who.pseudonym(frozen.pseudonym_key)):
                return row, frozen
        raise NotFound("there is no such participation of yours; begin the survey again.")

    def _require(self, row: Row[Any], *states: str) -> None:
        if row.state not in states:
            raise WrongState(
                f"this participation is {row.state}; this step follows on {' or '.join(states)}.",
                state=row.state,
            )

    def _require_open(
        self, connection: Connection, row: Row[Any], *states: str, lock: bool = False
    ) -> None:
        """Raise where the survey is closed; with `lock` it cannot be until the transaction ends.

        While it is closing, what was opened can be finished.
        """
        state = row.survey_state
        if lock and connection.dialect.name == "postgresql":  # SQLite's write lock does it
            state = self._surveys.state(connection, row.survey, lock=True)
        if state not in (states or TAKING):
            raise WrongState("this survey is closed.", state=row.state)

    def _require_patience(self, tables: LedgerTables, who: Pseudonyms) -> None:
        """Raise where a person has reserved too much today without opening it, this one counted."""
        most = self._unopened_reservations
        if most and tables.unopened(who.person, day=self._today(), most=most) > most:
            raise TooManyReservations(
                f"{most} surveys were begun and not opened by this device today. Nothing was "
                "charged; open one that waits, or begin another tomorrow."
            )

    def _with_account(
        self,
        connection: Connection,
        who: Pseudonyms,
        row: Row[Any],
        frozen: FrozenSurvey,
        state: str,
    ) -> Participation:
        """Return a participation with the person's account, and with the code it is due."""
        account = privacy_account_of(LedgerTables(connection), who, self._caps)
        key = who.ledger_key(frozen.token, attempt_of(row, who, account))
        due = frozen.reward is not None and state == SUBMITTED
        code = code_of(who, frozen.token) if due else None
        return _at(row, frozen, state, account, key, code)


def _require_sealed(sealed: str | None, commitment: str) -> None:
    """Raise where reports do not have the commitment that was sealed."""
    if sealed is None or not secrets.compare_digest(sealed, commitment):
        raise CommitmentMismatch("these are not the reports that were sealed.")


def _at(
    row: Row[Any],
    frozen: FrozenSurvey,
    state: str,
    account: PrivacyAccount | None = None,
    key: str = "",
    code: str | None = None,
) -> Participation:
    level = frozen.survey.level(row.level)
    return Participation(row.id, frozen, level, state, account, key, code)


def _step(connection: Connection, row: Row[Any], **values: Any) -> None:
    connection.execute(_STEP, {"one": row.id, **values})
