"""Mailings: the addresses invited to a survey by e-mail, the words, and the outcome.

Addresses are sealed with the server's key. Where people need a ticket, the code of each is a keyed
hash of the address, and neither is stored beside the other: without the server's key nobody can
join the list with the tickets. All of it is deleted once nobody can begin the survey any more.
"""

from __future__ import annotations

import hmac
import secrets
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from email.message import EmailMessage
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from masquerade.errors import OperationError, ParameterError, WrongState
from masquerade.server.db.reach_tables import (
    BOUNCED,
    FAILED,
    MAILING,
    RECIPIENT,
    SENT,
    TICKET,
    WAITING,
)
from masquerade.server.db.seals import Seals, place_of
from masquerade.server.db.tables import OPEN
from masquerade.server.db.transactions import Transactions, reads, writes
from masquerade.server.mail.address_list import (
    MOST_ADDRESSES,
    bounced_addresses,
    is_address,
    read_addresses,
)
from masquerade.server.mail.smtp import MailServer, connected, deliver, fault_of, message_to
from masquerade.server.surveys.survey_records import FrozenSurvey, SurveyRecord, Surveys
from masquerade.server.surveys.tickets import keep_codes
from masquerade.surveys.characters import wrong_character
from masquerade.surveys.reach import Reach, code_digest, code_of, ticket_link

LONGEST_SUBJECT, LONGEST_TEXT = 200, 5000
LINK = "{link}"


@dataclass(frozen=True, slots=True)
class Letter:
    """The words of a message, with ``{link}`` where each person's link stands."""

    subject: str
    text: str

    def __post_init__(self) -> None:
        if not self.subject.strip() or len(self.subject) > LONGEST_SUBJECT:
            raise ParameterError(f"the subject is empty or longer than {LONGEST_SUBJECT} letters.")
        if fault := wrong_character(self.subject):
            raise ParameterError(f"of the subject {fault}.")
        if len(self.text) > LONGEST_TEXT:
            raise ParameterError(f"the text is longer than {LONGEST_TEXT} letters; shorten it.")
        if LINK not in self.text:
            raise ParameterError("the text has no {link}; write it where the link stands.")
        if fault := wrong_character(self.text.replace("\r\n", "\n"), lines=True):
            raise ParameterError(f"of the text {fault}.")


@dataclass(frozen=True, slots=True)
class MailingProgress:
    """How far a mailing is: counts, and the addresses that cannot be reached."""

    letter: Letter
    round: int
    counts: dict[str, int]  # by state
    unreached: list[tuple[str, str]]  # each with why


class Mailings:
    """The mailings of all surveys.

    `server`: the mail server.
    `today`: gives the ISO date.
    """

    def __init__(
        self,
        transactions: Transactions,
        surveys: Surveys,
        *,
        server: MailServer,
        seals: Seals,
        today: Callable[[], str],
    ) -> None:
        self._transactions = transactions
        self._surveys = surveys
        self._seals = seals
        self._today = today
        self.server = server

    @writes
    def invite(
        self, connection: Connection, record: SurveyRecord, letter: Letter, text: str, link: str
    ) -> int:
        """Have a message sent to each address of a text; return how many are new.

        `link`: the survey's, to which people's tickets are added where they need one.

        Raises `ParameterError` (an address is none, or there are too many), `WrongState`.
        """
        addresses, _ = read_addresses(text)
        frozen = self._open(connection, record)
        row = _mailing(connection, record.token)
        if row is None:
            key = secrets.token_bytes(32)
            sealed = self._seals.seal(key.hex(), place_of(MAILING, "key", record.token))
            new = {"id": record.token, "key": sealed, "round": 1, "day": self._today()}
            new |= {"subject": letter.subject, "text": letter.text, "link": link}
            connection.execute(insert(MAILING), new)
        else:
            if row.round > 1:
                raise WrongState("people were reminded already; nobody else is invited after it.")
            key = self._key(row)
            words = {"subject": letter.subject, "text": letter.text, "link": link}
            connection.execute(update(MAILING).where(MAILING.c.id == record.token).values(**words))
        mine = RECIPIENT.c.survey == record.token
        there = set(connection.scalars(select(RECIPIENT.c.id).where(mine)))
        named = {_name(key, record.token, one): one for one in addresses}
        if len(there | set(named)) > MOST_ADDRESSES:
            raise ParameterError(f"a survey has at most {MOST_ADDRESSES} addresses.")
        # In the order of keyed hashes, which says nothing of the list.
        new_ones = sorted(set(named) - there)
        rows = [
            {
                "id": name,
                "survey": record.token,
                "address": self._seals.seal(named[name], place_of(RECIPIENT, "address", name)),
                "state": WAITING,
                "attempts": 0,
                "outcome": "",
            }
            for name in new_ones
        ]
        if rows:
            connection.execute(insert(RECIPIENT), rows)
        if frozen.survey.reach.invitations is not None:
            codes = [_code(key, record.token, named[name]) for name in new_ones]
            keep_codes(connection, self._surveys, record.token, codes)
        return len(rows)

    @writes
    def remind(self, connection: Connection, record: SurveyRecord, letter: Letter) -> int:
        """Have one more message sent, once for a survey; return to how many.

        It goes to everybody who could be reached, or to those alone whose ticket is not exchanged,
        where the survey said before it was opened that this is looked at.
        """
        frozen = self._open(connection, record)
        row = _mailing(connection, record.token)
        if row is None:
            raise WrongState("nobody was invited by e-mail yet.")
        if row.round > 1:
            raise WrongState("people were reminded already; one reminder is sent.")
        if _waiting(connection, record.token):
            raise WrongState("the first message is still on its way; remind once it is sent.")
        words = {"subject": letter.subject, "text": letter.text, "round": 2}
        connection.execute(update(MAILING).where(MAILING.c.id == record.token).values(**words))
        sent = (RECIPIENT.c.survey == record.token) & (RECIPIENT.c.state == SENT)
        rows = connection.execute(select(RECIPIENT).where(sent)).all()
        terms, key = frozen.survey.reach.invitations, self._key(row)
        if terms is not None and terms.watched:
            unspent = select(TICKET.c.digest).where(
                TICKET.c.survey == record.token, TICKET.c.blinded.is_(None)
            )
            waits = set(connection.scalars(unspent))
            codes = {one.id: _code(key, record.token, self._address(one)) for one in rows}
            rows = [one for one in rows if code_digest(record.token, codes[one.id]) in waits]
        again = update(RECIPIENT).where(RECIPIENT.c.id.in_([one.id for one in rows]))
        connection.execute(again.values(state=WAITING, attempts=0, outcome=""))
        return len(rows)

    @reads
    def progress(self, connection: Connection, survey: str) -> MailingProgress | None:
        """Return how far the mailing of a survey is; None where there is none."""
        row = _mailing(connection, survey)
        if row is None:
            return None
        rows = connection.execute(select(RECIPIENT).where(RECIPIENT.c.survey == survey)).all()
        unreached = [
            (self._address(one), one.outcome) for one in rows if one.state in (BOUNCED, FAILED)
        ]
        counts = Counter(one.state for one in rows)
        return MailingProgress(
            Letter(row.subject, row.text), row.round, dict(counts), sorted(unreached)
        )

    @writes
    def returned(self, connection: Connection, record: SurveyRecord, message: bytes) -> int:
        """Note the addresses that a returned message says cannot be reached; return how many.

        Raises `ParameterError` (it names no address of this survey).
        """
        row = _mailing(connection, record.token)
        known = 0
        if row is not None:
            key = self._key(row)
            for address, why in bounced_addresses(message).items():
                mine = RECIPIENT.c.id == _name(key, record.token, address)
                change = update(RECIPIENT).where(mine).values(state=BOUNCED, outcome=why)
                known += connection.execute(change).rowcount
        if not known:
            raise ParameterError(
                "this message says of no address of this survey that it cannot be reached; give "
                "it whole, as it came back, with its headers."
            )
        return known

    def try_out(self, record: SurveyRecord, letter: Letter, address: str, link: str) -> None:
        """Send a message to one address now, with the survey's link and no ticket.

        Raises `ParameterError`, `WrongState` (no mail server is set), `OperationError` (it did not
        take the message).
        """
        if not is_address(address.strip()):
            raise ParameterError(f"{address[:80]!r} is no e-mail address.")
        message = self._message(record.survey.reach, letter, address.strip(), link)
        try:
            with connected(self.server) as connection:
                outcome = deliver(connection, self.server, message)
        except WrongState:
            raise
        except Exception as error:
            raise OperationError(f"the message was not sent: {fault_of(error)}.") from None
        if not outcome.sent:
            raise OperationError(f"the message was not taken: {outcome.words}.")

    def message_of(self, row: Row[Any], mailing: Row[Any], frozen: FrozenSurvey) -> EmailMessage:
        """Return the message for a recipient, with their own ticket where they need one."""
        address, link = self._address(row), mailing.link
        if frozen.survey.reach.invitations is not None:
            code = _code(self._key(mailing), frozen.token, address)
            link = ticket_link(link, code, frozen.hash)
        letter = Letter(mailing.subject, mailing.text)
        return self._message(frozen.survey.reach, letter, address, link)

    def _message(self, reach: Reach, letter: Letter, address: str, link: str) -> EmailMessage:
        return message_to(
            self.server,
            address,
            subject=letter.subject,
            text=letter.text.replace("\r\n", "\n").replace(LINK, link),
            name=reach.asked_by,
            reply_to=reach.contact,
        )

    def _open(self, connection: Connection, record: SurveyRecord) -> FrozenSurvey:
        if not self.server.ready:
            raise WrongState("this server sends no e-mail; its operator sets smtp_host.")
        if self._surveys.state(connection, record.token, lock=True) != OPEN:
            raise WrongState("this survey takes no more people.")
        return self._surveys.frozen(connection, record.token)

    def _key(self, mailing: Row[Any]) -> bytes:
        return bytes.fromhex(self._seals.unseal(mailing.key, place_of(MAILING, "key", mailing.id)))

    def _address(self, row: Row[Any]) -> str:
        return self._seals.unseal(row.address, place_of(RECIPIENT, "address", row.id))


def _mailing(connection: Connection, survey: str) -> Row[Any] | None:
    return connection.execute(select(MAILING).where(MAILING.c.id == survey)).first()


def _waiting(connection: Connection, survey: str) -> bool:
    mine = (RECIPIENT.c.survey == survey) & (RECIPIENT.c.state == WAITING)
    return connection.execute(select(RECIPIENT.c.id).where(mine).limit(1)).first() is not None


def _keyed(key: bytes, *parts: str) -> bytes:
    return hmac.digest(key, "\0".join(parts).encode(), "sha256")


def _name(key: bytes, survey: str, address: str) -> str:
    return _keyed(key, "recipient", survey, address.lower()).hex()


def _code(key: bytes, survey: str, address: str) -> str:
    return code_of(_keyed(key, "ticket", survey, address.lower()))
