"""Tickets: single-use invitations that cannot be joined with responses.

A device shows the code of a ticket and a blinded message, and gets a blind signature; the unblinded
signature admits one participation, in a later request. The rows of the one say nothing of those of
the other. What is left is time, where one request follows the other: in surveys with two phases it
does not.

The key belongs to one survey and wave. It is deleted, with all tickets, once nobody can begin the
survey any more.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric import rsa
from sqlalchemy import Connection, delete, func, insert, select, update

from masquerade.errors import ParameterError, TicketRefused, TicketUsed, WrongState
from masquerade.server.db.reach_tables import MAILING, RECIPIENT, SPENT_TICKET, TICKET, TICKET_KEY
from masquerade.server.db.seals import Seals, place_of
from masquerade.server.db.tables import OPEN
from masquerade.server.db.transactions import Transactions, reads, writes
from masquerade.server.surveys.survey_records import FrozenSurvey, SurveyRecord, Surveys
from masquerade.surveys.blind_rsa import EXPONENT, PrivateKey
from masquerade.surveys.offered_levels import in_tens
from masquerade.surveys.reach import TicketTerms, code_digest, new_code, read_code

#: How many tickets are made at once, and for one survey.
MOST_AT_ONCE, MOST_OF_A_SURVEY = 10_000, 100_000
#: The state of an open survey whose people enrol, as participants are told it.
ENROLLING = "enrolling"

_BITS = 3072


@dataclass(frozen=True, slots=True)
class TicketCounts:
    """How many tickets a survey has."""

    made: int
    exchanged: int  # rounded down to tens, so that no single one is told


class TicketKeys:
    """The keys of drafts and surveys that sign their tickets.

    `seals`: seals what signs.
    """

    def __init__(self, seals: Seals) -> None:
        self._seals = seals

    def draw(self) -> PrivateKey:
        """Return a new key; that takes up to a second."""
        numbers = rsa.generate_private_key(EXPONENT, _BITS).private_numbers()
        return PrivateKey(numbers.p, numbers.q)

    def public(self, connection: Connection, survey: str) -> str:
        """Return the public key of a draft or survey, or an empty text."""
        query = select(TICKET_KEY.c.public).where(TICKET_KEY.c.id == survey)
        return connection.execute(query).scalar() or ""

    def keep(self, connection: Connection, survey: str, key: PrivateKey) -> str:
        """Keep the key of a draft and return its public half."""
        public = key.public.hex()
        sealed = self._seals.seal(key.text(), place_of(TICKET_KEY, "secrets", survey))
        row = {"id": survey, "public": public, "secrets": sealed}
        connection.execute(insert(TICKET_KEY), row)
        return public

    def private(self, connection: Connection, survey: str) -> PrivateKey:
        """Return the key that signs; `WrongState` where it is gone."""
        query = select(TICKET_KEY.c.secrets).where(TICKET_KEY.c.id == survey)
        sealed = connection.execute(query).scalar()
        if sealed is None:
            raise WrongState("the tickets of this survey are not exchanged any more.")
        return PrivateKey.of_text(
            self._seals.unseal(sealed, place_of(TICKET_KEY, "secrets", survey))
        )

    def forget(self, connection: Connection, survey: str) -> None:
        """Delete the key of a draft or survey."""
        connection.execute(delete(TICKET_KEY).where(TICKET_KEY.c.id == survey))


class Tickets:
    """The tickets of all surveys.

    `today`: gives the ISO date in UTC, by which devices change from enrolling to answering.
    """

    def __init__(
        self,
        transactions: Transactions,
        surveys: Surveys,
        keys: TicketKeys,
        *,
        today: Callable[[], str],
    ) -> None:
        self._transactions = transactions
        self._surveys = surveys
        self._keys = keys
        self._today = today

    def state(self, frozen: FrozenSurvey, state: str) -> str:
        """Return the state of a survey as participants are told it: people may only enrol yet."""
        terms = frozen.survey.reach.invitations
        return ENROLLING if state == OPEN and _enrols(terms, self._today()) else state

    def make(self, record: SurveyRecord, count: int) -> list[str]:
        """Return the codes of new tickets; they are not shown again, as only hashes are kept."""
        if not 1 <= count <= MOST_AT_ONCE:
            raise ParameterError(f"{count} tickets were asked for; make 1 to {MOST_AT_ONCE}.")
        codes = [new_code() for _ in range(count)]
        self.keep(record, codes)
        return codes

    @writes
    def keep(self, connection: Connection, record: SurveyRecord, codes: list[str]) -> None:
        """Make codes valid that were drawn by the caller; those that are valid stay so."""
        keep_codes(connection, self._surveys, record.token, codes)

    @reads
    def counts(self, connection: Connection, survey: str) -> TicketCounts:
        """Return how many tickets were made, and about how many of them were exchanged."""
        query = select(func.count(), func.count(TICKET.c.blinded)).where(TICKET.c.survey == survey)
        made, exchanged = connection.execute(query).one()
        return TicketCounts(made, in_tens(exchanged))

    def exchange(self, survey: str, code: str, blinded: bytes) -> bytes:
        """Return the blind signature for a ticket: the same again for the same blinded message.

        Raises `NotFound`, `TicketRefused` (no such ticket), `TicketUsed` (it signed another
        message), `WrongState` (people answer already, or the survey is over), `ParameterError`.
        """
        name = hashlib.sha256(blinded).hexdigest()
        try:
            digest = code_digest(survey, read_code(code))
        except ParameterError as error:
            raise TicketRefused(str(error)) from None
        key = self._take(survey, digest, name, len(blinded))
        # After the commit, outside of any transaction: it takes some 20 milliseconds.
        return key.sign_blinded(blinded)

    @writes
    def _take(
        self, connection: Connection, survey: str, digest: str, name: str, size: int
    ) -> PrivateKey:
        terms = self._surveys.frozen(connection, survey).survey.reach.invitations
        if terms is None:
            raise WrongState("this survey needs no ticket; everybody with the link can take part.")
        if self._surveys.state(connection, survey, lock=True) != OPEN:
            raise WrongState("this survey is closed; nobody can begin it any more.")
        if terms.answers_from is not None and not _enrols(terms, self._today()):
            raise WrongState(
                f"people could enrol until the day before {terms.answers_from}; it is too late."
            )
        if size != terms.public_key.size:
            raise ParameterError("the blinded message is not one of this survey's key.")
        mine = (TICKET.c.survey == survey) & (TICKET.c.digest == digest)
        free = TICKET.c.blinded.is_(None) | (TICKET.c.blinded == name)
        # One conditional update: of two devices with one ticket, one is given a signature.
        if connection.execute(update(TICKET).where(mine, free).values(blinded=name)).rowcount != 1:
            if connection.execute(select(TICKET.c.digest).where(mine)).first() is None:
                raise TicketRefused("there is no such ticket of this survey; check the link.")
            raise TicketUsed(
                "this ticket was used before, on another device or in another browser."
            )
        return self._keys.private(connection, survey)


def keep_codes(connection: Connection, surveys: Surveys, survey: str, codes: list[str]) -> None:
    """Make codes of tickets valid; those that are valid already stay as they are."""
    if surveys.frozen(connection, survey).survey.reach.invitations is None:
        raise WrongState("this survey was opened for everybody with the link, without tickets.")
    if surveys.state(connection, survey, lock=True) != OPEN:
        raise WrongState("this survey takes no more people.")
    digests = {code_digest(survey, code) for code in codes}
    there = set(connection.scalars(select(TICKET.c.digest).where(TICKET.c.survey == survey)))
    if len(there | digests) > MOST_OF_A_SURVEY:
        raise ParameterError(f"a survey has at most {MOST_OF_A_SURVEY} tickets.")
    # In the order of hashes: nobody's place in a list shows.
    rows = [{"survey": survey, "digest": one, "blinded": None} for one in sorted(digests - there)]
    if rows:
        connection.execute(insert(TICKET), rows)


def redeem(connection: Connection, frozen: FrozenSurvey, ticket: str, *, today: str) -> None:
    """Spend a ticket for somebody who begins a survey, in the transaction that begins it.

    Raises `TicketRefused`, `TicketUsed`, `WrongState` (people may only enrol yet).
    """
    terms = frozen.survey.reach.invitations
    if terms is None:
        return
    if _enrols(terms, today):
        raise WrongState(f"people enrol for this survey now, and answer from {terms.answers_from}.")
    if not ticket:
        raise TicketRefused("this survey takes people with a ticket; open the link on yours.")
    try:
        digest = terms.read(frozen.token, ticket)
    except ParameterError as error:
        raise TicketRefused(str(error)) from None
    mine = (SPENT_TICKET.c.survey == frozen.token) & (SPENT_TICKET.c.digest == digest)
    # The key of the table decides where two come at once; this is for the words of the refusal.
    if connection.execute(select(SPENT_TICKET.c.digest).where(mine)).first() is not None:
        raise TicketUsed("this ticket was used before; each admits one person once.")
    connection.execute(insert(SPENT_TICKET), {"survey": frozen.token, "digest": digest})


def forget_invitations(connection: Connection, survey: str) -> None:
    """Delete all by which people were invited to a survey that nobody can begin any more.

    That is its tickets, the key that signed them, its messages and all addresses.
    """
    for table in (TICKET, SPENT_TICKET, RECIPIENT):
        connection.execute(delete(table).where(table.c.survey == survey))
    for table in (TICKET_KEY, MAILING):
        connection.execute(delete(table).where(table.c.id == survey))


def _enrols(terms: TicketTerms | None, today: str) -> bool:
    """Return whether people may only enrol yet."""
    return terms is not None and terms.answers_from is not None and today < terms.answers_from
