"""The steps of the participants' protocol, each a value that knows its needs and its course.

The same step again changes nothing and is answered as before; any other is refused, with `NotFound`
where the participation is not this person's and with `WrongState` where it does not come next.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

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
from masquerade.server.db.participation_rows import ParticipationRow, Places
from masquerade.server.db.pseudonyms import Pseudonyms
from masquerade.server.db.tables import (
    ABANDONED,
    EXPIRED,
    OPEN,
    OPENED,
    RESERVED,
    SEALED,
    SUBMITTED,
    TAKING,
    WITHDRAWN,
)
from masquerade.server.participants.privacy_balance import PrivacyAccount, attempt_of
from masquerade.server.participants.step_batch import Batch
from masquerade.server.surveys.rewards import code_of
from masquerade.server.surveys.survey_records import FrozenSurvey
from masquerade.server.surveys.tickets import redeem
from masquerade.surveys.offered_levels import OfferedLevel
from masquerade.surveys.pair_votes import drawn_pairs, folded
from masquerade.surveys.survey import commitment_of, split_commitment

#: Called before something new is begun, with whether the survey has quotas; raises to refuse it.
Admit = Callable[[FrozenSurvey, bool], None]


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
    pairs: Places | None = None  # of lists, that the person is shown once the survey is opened


@dataclass(frozen=True, slots=True)
class Reserve:
    """Choose a level, before any question is shown, and set its cost aside.

    `ticket` is needed, and spent, where the survey takes people with one alone and this person has
    not begun it before. `admit` may be called several times, and counts a participant once. The
    result is the participation, and whether it was begun now, not before.

    Raises `NotFound`, `WrongState`, `LevelNotAllowed`, `AlreadyParticipated`,
    `IdempotencyConflict`, `TicketRefused`, `TicketUsed`, `QuotaFull`, `TooManyReservations` (as
    many as the survey takes have begun it, or this person opens nothing) or `InsufficientBudget`,
    `ClearDisclosureRefused` (the person's cap does not leave enough).
    """

    who: Pseudonyms
    survey: str
    level: str
    idempotency_key: str
    ticket: str = ""
    admit: Admit | None = None
    participation: str = field(default="", init=False)

    def names(self, batch: Batch) -> tuple[str, str, str] | None:
        """Return where the person may have begun."""
        frozen = batch.known(self.survey)
        if frozen is None:
            return None
        return self._names(frozen)

    def accounts(self, batch: Batch) -> Sequence[str]:
        """Return the keys of the attempt that begins, and of the one that lapsed before."""
        frozen = batch.known(self.survey)
        if frozen is None:
            return ()
        row = next(iter(batch.rows.begun(*self._names(frozen))), None)
        if row is None:
            return (self.who.ledger_key(self.survey, 1),)
        if row.state != EXPIRED:
            return ("",)
        return [self.who.ledger_key(self.survey, row.attempt + more) for more in (0, 1)]

    def places(self, batch: Batch) -> Sequence[tuple[str, str]]:
        """Return the level's count where the survey has quotas."""
        counted = batch.known(self.survey) and batch.state_and_quotas(self.survey)[1] is not None
        return ((self.survey, self.level),) if counted else ()

    def take(self, batch: Batch) -> tuple[Participation, bool]:
        """Begin, or return the participation begun before."""
        who, token, level = self.who, self.survey, self.level
        frozen = batch.frozen(token)
        offered = frozen.survey.level(level)
        _, pseudonym, request = self._names(frozen)
        row = self._begun(batch.rows.begun(token, pseudonym, request), request)
        # Whatever the state is now, the same request is answered by what it began.
        if row is not None and (row.state != EXPIRED or row.idempotency == request):
            if row.level != level:
                raise AlreadyParticipated(
                    "this device has begun this survey at another level, which cannot change."
                )
            return _with_account(batch, who, row, frozen, row.state), False
        self._admitted(batch, frozen, again=row is not None)
        attempt = 1 if row is None else row.attempt + 1
        if row is not None:
            # What lapsed keeps its reservation in the ledger until the next day.
            with contextlib.suppress(NotReserved):
                batch.ledger.release(who.person, who.ledger_key(token, row.attempt))
        # Random, so that it tells nothing of the order of arrival; also drawn anew for a second
        # attempt.
        name, day = secrets.token_hex(16), batch.rules.today()
        if row is None:
            row = ParticipationRow(token, pseudonym, name, level, RESERVED, 1, day, request)
            batch.rows.insert(row)
        else:
            again = {"id": name, "level": level, "state": RESERVED, "attempt": attempt}
            batch.rows.change(row, **again, day=day, idempotency=request)
        key = who.ledger_key(token, attempt)
        batch.ledger.reserve(who.person, key, offered.cost(token))
        # After the reservation, so that this one is counted too; what it raises takes all of it
        # back.
        self._require_patience(batch, day)
        return Participation(name, frozen, offered, RESERVED, batch.account(who), key), True

    def _names(self, frozen: FrozenSurvey) -> tuple[str, str, str]:
        pseudonym = self.who.pseudonym(frozen.pseudonym_key)
        return self.survey, pseudonym, self.who.idempotency(self.idempotency_key)

    def _begun(self, begun: list[ParticipationRow], request: str) -> ParticipationRow | None:
        """Return the participation begun before; raise where the request began something else."""
        for row in begun:
            same = (row.survey, row.level) == (self.survey, self.level)
            if row.idempotency == request and not same:
                raise IdempotencyConflict(
                    "this idempotency key was used for another request; draw a new one."
                )
        return begun[0] if begun else None

    def _admitted(self, batch: Batch, frozen: FrozenSurvey, *, again: bool) -> None:
        """Raise where nobody, or not this person, can begin the survey at this level now."""
        # After the lookup: who began in time gets their answer also once the survey is closed.
        state, quotas = batch.state_and_quotas(self.survey)
        if state != OPEN:
            raise WrongState("this survey is closed; nobody can begin it any more.")
        if self.level == CLEAR and not batch.rules.surveys.allow_clear:
            raise LevelNotAllowed("this server does not accept answers in clear; choose a level.")
        if frozen.survey.two_parties is not None:
            batch.rules.split_reports.require_task(batch.connection, self.survey)
        # Whoever came back after a lapse has spent theirs.
        if not again and frozen.survey.reach.invitations is not None:
            batch.write_directly()
            redeem(batch.connection, frozen, self.ticket, today=batch.rules.utc_today())
        # Only for what is new: a repetition is not counted.
        if self.admit is not None:
            self.admit(frozen, quotas is not None)
        if quotas is not None:
            batch.quotas.begin(self.survey, self.level, most=int(quotas.get(self.level, 0)))

    def _require_patience(self, batch: Batch, day: str) -> None:
        """Raise where a person has reserved too much today without opening it, this one counted."""
        most = batch.rules.unopened_reservations
        if most and batch.tables.unopened(self.who.person, day=day, most=most) > most:
            raise TooManyReservations(
                f"{most} surveys were begun and not opened by this device today. Nothing was "
                "charged; open one that waits, or begin another tomorrow."
            )


@dataclass(frozen=True, slots=True)
class _Mine:
    """A step in a participation that was begun."""

    who: Pseudonyms
    participation: str
    survey: str = field(default="", init=False)

    def names(self, batch: Batch) -> tuple[str, str, str] | None:
        """Return None: the id finds the participation."""
        return None

    def accounts(self, batch: Batch) -> Sequence[str]:
        """Return nothing: most steps leave the account as it is."""
        return ()

    def places(self, batch: Batch) -> Sequence[tuple[str, str]]:
        """Return nothing: most steps neither come nor go."""
        return ()

    def _row(self, batch: Batch) -> tuple[ParticipationRow, FrozenSurvey]:
        """Return the participation of this person; somebody else's is not there."""
        row = batch.mine(self.who, self.participation)
        if row is None:
            raise NotFound("there is no such participation of yours; begin the survey again.")
        return row, batch.frozen(row.survey)

    def _reserved_key(self, batch: Batch) -> Sequence[str]:
        row = batch.mine(self.who, self.participation)
        if row is None or row.state != RESERVED:
            return ()
        return (self.who.ledger_key(row.survey, row.attempt),)

    def _counted(self, batch: Batch) -> Sequence[tuple[str, str]]:
        row = batch.mine(self.who, self.participation)
        counted = row is not None and batch.state_and_quotas(row.survey)[1] is not None
        return ((row.survey, row.level),) if row is not None and counted else ()


@dataclass(frozen=True, slots=True)
class Open(_Mine):
    """Show the questions; from here on the cost is spent.

    The result is the participation, and whether the questions were not shown before.
    """

    def accounts(self, batch: Batch) -> Sequence[str]:
        """Return the key of the reservation."""
        return self._reserved_key(batch)

    def take(self, batch: Batch) -> tuple[Participation, bool]:
        """Commit the cost, and draw the pairs of lists."""
        row, frozen = self._row(batch)
        # Opening again shows the same questions, and costs nothing again.
        if row.state == OPENED:
            return replace(_at(row, frozen, OPENED), pairs=row.pairs), False
        _require(row, RESERVED)
        _require_open(batch, row, OPEN)
        if frozen.survey.two_parties is not None:
            # Nobody pays for questions whose answers would not be taken.
            batch.rules.split_reports.require_task(batch.connection, frozen.token)
        key = self.who.ledger_key(frozen.token, row.attempt)
        # In the transaction in which the questions become visible: nobody sees them unpaid,
        # and a crash takes back both.
        batch.ledger.commit(self.who.person, key)
        # How often it lapsed before stands in the ledger; here it would tell whose it is.
        # Drawn here, before anything is answered, and the same however often it is asked for.
        pairs = None
        if frozen.survey.two_parties is None:  # else each device draws its own
            draw = batch.rules.pair_choice.drawing(frozen)
            pairs = drawn_pairs(frozen.survey.questions, draw)
        batch.rows.change(row, state=OPENED, day=None, attempt=0, pairs=pairs)
        return replace(_at(row, frozen, OPENED), pairs=pairs), True


@dataclass(frozen=True, slots=True)
class Seal(_Mine):
    """Bind the participant to the reports that were drawn, without seeing them."""

    commitment: str

    def take(self, batch: Batch) -> Participation:
        """Store the commitment, or compare it with the one that is there."""
        row, frozen = self._row(batch)
        # Sealing the same again is answered as before, for a device that lost the answer.
        if row.state in (SEALED, SUBMITTED):
            if row.commitment != self.commitment:
                raise CommitmentMismatch(
                    "other reports were sealed before; they are drawn once and never again."
                )
            return _at(row, frozen, row.state)
        _require(row, OPENED)
        _require_open(batch, row)
        batch.rows.change(row, state=SEALED, commitment=self.commitment)
        return _at(row, frozen, SEALED)


@dataclass(frozen=True, slots=True)
class _Sending(_Mine):
    """Send the sealed reports; the result is the participation, and whether it is new.

    `level` and `survey_hash` are what the participant's device masked for.

    Raises `LevelNotAllowed`, `SurveyHashMismatch`, `InvalidReport` or `CommitmentMismatch`, too.
    """

    salt: str
    level: str
    survey_hash: str

    def accounts(self, batch: Batch) -> Sequence[str]:
        """Return no key: the account alone is shown."""
        return ("",)

    def take(self, batch: Batch) -> tuple[Participation, bool]:
        """Accept the sealed reports, with the completion code that is due."""
        row, frozen = self._row(batch)
        commitment = self._commitment()
        if row.state == SUBMITTED:
            # Only who knows the sealed reports gets the answer of the first time.
            _require_sealed(row.commitment, commitment)
            return _with_account(batch, self.who, row, frozen, SUBMITTED), False
        _require(row, SEALED)
        # Results are computed once, and must have every response that was accepted: the survey's
        # state stays until this is durable.
        _require_open(batch, row)
        # Level and hash are what the device masked for; other reports would be estimated
        # wrongly.
        if self.level != row.level:
            raise LevelNotAllowed("these reports are for another level than was chosen.")
        if self.survey_hash != frozen.hash:
            raise SurveyHashMismatch(
                "these reports are for another version of the survey; reload the page."
            )
        done = _with_account(batch, self.who, row, frozen, SUBMITTED)
        self._keep(batch, row, frozen, commitment)
        # In the transaction that accepts the reports, so that nobody gets two codes or none.
        if done.completion_code is not None and frozen.reward is not None:
            amount = frozen.reward.amount(row.level)
            batch.give_code(frozen.token, done.completion_code, amount)
        return done, True

    def _commitment(self) -> str:
        raise NotImplementedError

    def _keep(
        self, batch: Batch, row: ParticipationRow, frozen: FrozenSurvey, commitment: str
    ) -> None:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Respond(_Sending):
    """Send masked reports."""

    reports: Sequence[int]

    def _commitment(self) -> str:
        return commitment_of(self.participation, self.reports, self.salt)

    def _keep(
        self, batch: Batch, row: ParticipationRow, frozen: FrozenSurvey, commitment: str
    ) -> None:
        # Range only. Whether a report is true cannot be told from it, and must not be.
        frozen.survey.level(self.level).check_reports(self.reports)
        _require_sealed(row.commitment, commitment)
        pairs = None if row.pairs is None else [(first, second) for first, second in row.pairs]
        kept = folded(frozen.survey.questions, pairs, self.reports)
        batch.rows.change(row, state=SUBMITTED, reports=kept, pairs=None)


@dataclass(frozen=True, slots=True)
class RespondSplit(_Sending):
    """Send a report sealed for two parties."""

    report: bytes

    def _commitment(self) -> str:
        return split_commitment(self.participation, self.report, self.salt)

    def _keep(
        self, batch: Batch, row: ParticipationRow, frozen: FrozenSurvey, commitment: str
    ) -> None:
        if frozen.survey.two_parties is None:
            raise InvalidReport("this survey takes masked reports, and no sealed ones.")
        _require_sealed(row.commitment, commitment)
        batch.write_directly()
        batch.rules.split_reports.keep(batch.connection, row.survey, row.id, self.report)
        batch.rows.change(row, state=SUBMITTED)


@dataclass(frozen=True, slots=True)
class Withdraw(_Mine):
    """Delete the reports, unless the survey is closed; their cost stays spent."""

    def places(self, batch: Batch) -> Sequence[tuple[str, str]]:
        """Return the count that the person leaves."""
        return self._counted(batch)

    def take(self, batch: Batch) -> Participation:
        """Delete them."""
        row, frozen = self._row(batch)
        if row.state != WITHDRAWN:
            _require(row, SUBMITTED)
            _require_open(batch, row)
            forget(batch, row)
        return _at(row, frozen, WITHDRAWN)


@dataclass(frozen=True, slots=True)
class Abandon(_Mine):
    """Give up; the reservation is given back where no question was shown yet."""

    def accounts(self, batch: Batch) -> Sequence[str]:
        """Return the key of the reservation."""
        return self._reserved_key(batch)

    def places(self, batch: Batch) -> Sequence[tuple[str, str]]:
        """Return the count that the person leaves."""
        return self._counted(batch)

    def take(self, batch: Batch) -> Participation:
        """End the participation."""
        row, frozen = self._row(batch)
        if row.state not in (EXPIRED, ABANDONED):
            _require(row, RESERVED, OPENED, SEALED)
            give_up(batch, self.who, row)
        return _at(row, frozen, row.state)


def give_up(batch: Batch, who: Pseudonyms, row: ParticipationRow) -> None:
    """End a participation that has no reports yet."""
    # The survey's row is locked, so that nobody counts who takes part while one leaves.
    batch.state(row.survey)
    batch.quotas.leave(row.survey, row.level)
    if row.state == RESERVED:
        batch.ledger.release(who.person, who.ledger_key(row.survey, row.attempt))
        # The day goes, as only the sweeper needed it.
        batch.rows.change(row, state=EXPIRED, day=None)
    else:
        batch.rows.change(row, state=ABANDONED, commitment=None, pairs=None)


def forget(batch: Batch, row: ParticipationRow) -> None:
    """Delete the reports of a participation."""
    batch.quotas.leave(row.survey, row.level)
    if batch.frozen(row.survey).survey.two_parties is not None:
        batch.write_directly()
        batch.rules.split_reports.forget(batch.connection, row.survey, row.id)
    batch.rows.change(row, state=WITHDRAWN, reports=None, commitment=None)


def _require(row: ParticipationRow, *states: str) -> None:
    if row.state not in states:
        raise WrongState(
            f"this participation is {row.state}; this step follows on {' or '.join(states)}.",
            state=row.state,
        )


def _require_open(batch: Batch, row: ParticipationRow, *states: str) -> None:
    """Raise where the survey is closed, which it cannot be until the transaction ends.

    While it is closing, what was opened can be finished.
    """
    if batch.state(row.survey) not in (states or TAKING):
        raise WrongState("this survey is closed.", state=row.state)


def _require_sealed(sealed: str | None, commitment: str) -> None:
    """Raise where reports do not have the commitment that was sealed."""
    if sealed is None or not secrets.compare_digest(sealed, commitment):
        raise CommitmentMismatch("these are not the reports that were sealed.")


def _with_account(
    batch: Batch, who: Pseudonyms, row: ParticipationRow, frozen: FrozenSurvey, state: str
) -> Participation:
    """Return a participation with the person's account, and with the code it is due."""
    account = batch.account(who)
    key = who.ledger_key(frozen.token, attempt_of(row, who, account))
    due = frozen.reward is not None and state == SUBMITTED
    code = code_of(who, frozen.token) if due else None
    return _at(row, frozen, state, account, key, code)


def _at(
    row: ParticipationRow,
    frozen: FrozenSurvey,
    state: str,
    account: PrivacyAccount | None = None,
    key: str = "",
    code: str | None = None,
) -> Participation:
    level = frozen.survey.level(row.level)
    return Participation(row.id, frozen, level, state, account, key, code)
