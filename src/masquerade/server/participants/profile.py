"""Profiles: a person over all surveys, with account, caps, invitations, export and leaving."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial

from sqlalchemy import Connection, delete, insert, or_, select

from masquerade.accounting import Caps, Entry, Ledger
from masquerade.accounting.account_words import statement
from masquerade.errors import ConfirmationNeeded
from masquerade.server.db.ledger_storage import LedgerTables, caps_of
from masquerade.server.db.party_tables import SPLIT_REPORT
from masquerade.server.db.pseudonyms import Pseudonyms
from masquerade.server.db.tables import (
    CAPS_RAISE,
    COST,
    ENTRY,
    OPEN,
    OPENED,
    PARTICIPATION,
    RESERVED,
    SEALED,
    SUBMITTED,
    SURVEY,
    TAKING,
)
from masquerade.server.db.transactions import Transactions, reads, writes
from masquerade.server.participants.participations import Participations
from masquerade.server.participants.privacy_balance import PrivacyAccount, privacy_account_of
from masquerade.server.participants.steps import forget, give_up
from masquerade.server.surveys.survey_records import FrozenSurvey, Surveys, participants_state

_OF_PARTICIPATION = PARTICIPATION.c.id, PARTICIPATION.c.state, PARTICIPATION.c.level
#: Days from the one on which a raise is confirmed to the one on which it begins: 24 hours at least,
#: as days are all that is kept.
RAISE_DAYS = 2


@dataclass(frozen=True, slots=True)
class Invitation:
    """A survey that a person may take part in or has begun."""

    survey: FrozenSurvey
    state: str  # the survey's, as participants are told it
    # Its ``id``, ``state`` and ``level``, where the person has begun.
    participation: dict[str, str] | None


@dataclass(frozen=True, slots=True)
class Departure:
    """The counts of a person's responses when they left."""

    # withdrawn, given_up, kept: reports deleted; participations without reports that were ended;
    # responses to closed surveys, whose results are out.
    withdrawn: int
    given_up: int
    kept: int


@dataclass(frozen=True, slots=True)
class HeldData:
    """Rows that are held about a person, as they are kept."""

    person: str
    participations: list[Mapping[str, object]]
    sealed_reports: list[Mapping[str, object]]
    caps_to_come: list[Mapping[str, object]]


class Profiles:
    """The profiles of all participants."""

    def __init__(
        self,
        transactions: Transactions,
        surveys: Surveys,
        participations: Participations,
        *,
        today: Callable[[], str],
        caps: Caps,
    ) -> None:
        self._transactions = transactions
        self._surveys = surveys
        self._participations = participations
        self._today = today
        self._caps = caps
        self._ledger_of = partial(Ledger, clock=today, caps=caps)

    def persons(self) -> list[str]:
        """Return the ledger's names of all persons."""
        return self._transactions.read(lambda c: LedgerTables(c).persons())

    def account(self, who: Pseudonyms) -> PrivacyAccount:
        """Return where a person stands."""
        return self._transactions.read(
            lambda c: privacy_account_of(LedgerTables(c), who, self._caps)
        )

    def statement(self, account: PrivacyAccount) -> tuple[str, ...]:
        """Return a person's spent and remaining budget, in sentences."""
        return statement(account.balance, account.paid)

    @reads
    def page(
        self, connection: Connection, who: Pseudonyms, start: int, end: int
    ) -> tuple[PrivacyAccount, Sequence[Entry]]:
        """Return where a person stands, and their entries from place `start` to before `end`."""
        tables = LedgerTables(connection)
        account = privacy_account_of(tables, who, self._caps)
        return account, tables.page(who.person, start, end)

    def surveys(self, entries: Iterable[Entry]) -> dict[str, FrozenSurvey]:
        """Return the surveys that entries name, by token."""
        # Changes of caps name no survey.
        tokens = {entry.charge.survey for entry in entries} - {""}
        query = select(SURVEY.c.token).where(SURVEY.c.token.in_(tokens))
        return self._transactions.read(
            lambda c: {token: self._surveys.frozen(c, token) for token in c.scalars(query).all()}
        )

    def caps_to_come(self, who: Pseudonyms) -> tuple[Caps, str] | None:
        """Return the higher caps that a person confirmed and the day on which they begin."""
        query = select(CAPS_RAISE).where(CAPS_RAISE.c.person == who.person)
        row = self._transactions.read(lambda c: c.execute(query).first())
        return None if row is None else (caps_of(row.caps), row.day)

    @writes
    def set_caps(
        self,
        connection: Connection,
        who: Pseudonyms,
        change: Callable[[Caps], Caps],
        *,
        confirm: bool,
    ) -> bool:
        """Lower the caps at once, or raise them in some days; return whether it was at once.

        The last word counts: what was to come before is dropped.

        `change` makes the new caps of those that hold at the moment of the change.
        `ConfirmationNeeded` where one would rise, and `confirm` is false.
        """
        tables = LedgerTables(connection)
        ledger = self._ledger_of(tables)
        # The lock first: the caps that are compared must be those that hold when the change is
        # written.
        tables.hold(who.person)
        now = ledger.balance(who.person).caps
        caps = change(now)
        lower = caps.within(now)
        if not lower and not confirm:
            raise ConfirmationNeeded(
                "this raises a cap, which weakens what is promised to you, for the past too. "
                f"Confirm it; it takes effect in {RAISE_DAYS} days."
            )
        # Also where the new caps are lower: a raise that was confirmed before must not undo
        # them.
        connection.execute(delete(CAPS_RAISE).where(CAPS_RAISE.c.person == who.person))
        if lower:
            if caps != now:
                ledger.lower_caps(who.person, caps)
            return True
        start = date.fromisoformat(self._today()) + timedelta(days=RAISE_DAYS)
        connection.execute(
            insert(CAPS_RAISE),
            {"person": who.person, "caps": caps.text, "day": start.isoformat()},
        )
        return False

    def invitations(
        self, who: Pseudonyms, *, after: str, limit: int
    ) -> tuple[list[Invitation], str | None]:
        """Return surveys that a person has begun, and open ones that are listed, by token.

        With them comes the token after which the next ones are.
        """
        # One more than is shown: then there is a next page.
        found = self._transactions.read(
            lambda c: self._invited(c, who, after=after, limit=limit + 1)
        )
        if len(found) <= limit:
            return found, None
        return found[:limit], found[limit - 1].survey.token

    def _invited(
        self, connection: Connection, who: Pseudonyms, *, after: str = "", limit: int | None = None
    ) -> list[Invitation]:
        """Return surveys that a person has begun and, with a `limit`, open ones that are listed."""
        # Whoever has begun a survey has an entry of it in the ledger: the cost depends on the
        # person's own surveys, and not on how many others are here.
        entries = select(COST.c.survey).join(ENTRY, ENTRY.c.cost == COST.c.digest)
        begun = SURVEY.c.token.in_(entries.where(ENTRY.c.person == who.person))
        wanted = begun if limit is None else or_(begun, SURVEY.c.listed & (SURVEY.c.state == OPEN))
        query = select(SURVEY.c.token, SURVEY.c.state).where(wanted, SURVEY.c.token > after)
        rows = connection.execute(query.order_by(SURVEY.c.token).limit(limit)).all()
        surveys = {row.token: self._surveys.frozen(connection, row.token) for row in rows}
        # A pseudonym is of one survey only, so that it alone finds the participation.
        names = [who.pseudonym(one.pseudonym_key) for one in surveys.values()]
        columns = PARTICIPATION.c.survey, *_OF_PARTICIPATION
        query = select(*columns).where(
            PARTICIPATION.c.survey.in_(surveys), PARTICIPATION.c.pseudonym.in_(names)
        )
        mine = {row.survey: row for row in connection.execute(query)}
        found = []
        for row in rows:
            one = mine.get(row.token)
            if one is None and (limit is None or not surveys[row.token].listed):
                continue  # its reservation was given up in a state of before
            participation = None
            if one is not None:
                participation = {"id": one.id, "state": one.state, "level": one.level}
            state = participants_state(row.state)
            found.append(Invitation(surveys[row.token], state, participation))
        return found

    @reads
    def everything(self, connection: Connection, who: Pseudonyms) -> HeldData:
        """Return everything that is held about a person and can be found by their secret."""
        begun = [i.participation["id"] for i in self._invited(connection, who) if i.participation]
        query = select(PARTICIPATION).where(PARTICIPATION.c.id.in_(begun))
        query = query.order_by(PARTICIPATION.c.id)
        sealed = select(SPLIT_REPORT).where(SPLIT_REPORT.c.participation.in_(begun))
        raises = select(CAPS_RAISE).where(CAPS_RAISE.c.person == who.person)
        return HeldData(
            who.person,
            participations=[
                # Made of the secret, and of no use to the person.
                {k: v for k, v in row._mapping.items() if k != "idempotency"}
                for row in connection.execute(query)
            ],
            sealed_reports=[dict(row._mapping) for row in connection.execute(sealed)],
            caps_to_come=[dict(row._mapping) for row in connection.execute(raises)],
        )

    @writes
    def leave(self, connection: Connection, who: Pseudonyms) -> Departure:
        """Delete a person's reports of open surveys and end their unfinished participations.

        The ledger stays under its keyed name, so that a return does not begin with a new budget.
        """
        withdrawn = given_up = kept = 0
        batch = self._participations.batch(connection)
        for invitation in self._invited(connection, who):
            begun = invitation.participation
            if begun is None:
                continue
            # Locked first, as in every step; by token, in one order for everybody who leaves.
            state = batch.state(invitation.survey.token)
            row = batch.rows.by_id(begun["id"])
            if row is None:
                continue  # begun anew meanwhile, by a device that has not heard
            if row.state in (RESERVED, OPENED, SEALED):
                give_up(batch, who, row)
                given_up += 1
            elif row.state == SUBMITTED and state in TAKING:
                forget(batch, row)
                withdrawn += 1
            else:
                kept += row.state == SUBMITTED
        batch.flush()
        connection.execute(delete(CAPS_RAISE).where(CAPS_RAISE.c.person == who.person))
        return Departure(withdrawn, given_up, kept)
