"""What happens by itself, once a day: surveys end, reservations lapse, confirmed caps begin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

from sqlalchemy import Connection, delete, select, update

from masquerade.accounting import Caps, Ledger
from masquerade.errors import NotReserved
from masquerade.server.ledger_tables import LedgerDatabase, LedgerTables, caps_of
from masquerade.server.models import ParticipationRow, RaiseRow, SurveyRow, table_of
from masquerade.server.participations import EXPIRED, RESERVED
from masquerade.server.surveys import OPEN, Surveys
from masquerade.server.transactions import Transactions

_PARTICIPATION, _SURVEY, _RAISE = (
    table_of(ParticipationRow), table_of(SurveyRow), table_of(RaiseRow),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep did.

    Attributes
    ----------
    released, raised : int
        Reservations given back, and caps that began.
    """

    released: int
    raised: int


class Sweeper:
    """Ends surveys, gives back reservations that lapsed and lets confirmed caps begin.

    Parameters
    ----------
    transactions : Transactions
    surveys : Surveys
    today : callable
        Gives the ISO date.
    caps : Caps
        Of a person who has none of their own yet.
    days : int
        How many days after its own a reservation stays.
    """

    def __init__(
        self,
        transactions: Transactions,
        surveys: Surveys,
        *,
        today: Callable[[], str],
        caps: Caps,
        days: int,
    ) -> None:
        self._transactions = transactions
        self._surveys = surveys
        self._database = LedgerDatabase(transactions)
        self._today = today
        self._caps = caps
        self._days = days

    def sweep(self) -> Swept:
        """Do what is due; doing it twice, or in two processes, changes nothing more.

        Afterwards SQLite's log, which knows what was changed together, is emptied.
        """
        before = (date.fromisoformat(self._today()) - timedelta(days=self._days)).isoformat()
        # First the participations: one that is expired can never be opened, and only then is what
        # it reserved given back.
        everywhere = _PARTICIPATION.c.survey.in_(select(_SURVEY.c.token))  # by the index
        lapsed = everywhere & (_PARTICIPATION.c.day < before)
        self._transactions.write(lambda c: _expire(c, lapsed))
        until = (date.fromisoformat(self._today()) + timedelta(days=1)).isoformat()
        self._transactions.write(lambda c: self._surveys.lapse(c, day=self._today(), until=until))
        closed = select(_SURVEY.c.token).where(_SURVEY.c.state != OPEN)
        self._transactions.write(lambda c: _expire(c, _PARTICIPATION.c.survey.in_(closed)))
        released = self._release(self._database.reservations(before))
        released += self._release(self._database.reservations_of_closed())
        raised = self._raise()
        self._transactions.empty_log()
        return Swept(released, raised)

    def survey_closed(self, token: str) -> None:
        """Give back what is reserved for a survey that is closed."""
        self._transactions.write(lambda c: _expire(c, _PARTICIPATION.c.survey == token))
        self._release(self._database.reservations_of(token))

    def _release(self, reservations: list[tuple[str, str]]) -> int:
        ledger = Ledger(self._database, clock=self._today, caps=self._caps)
        released = 0
        for person, key in reservations:
            try:
                ledger.release(person, key)
            except NotReserved:  # the questions were shown in the meantime
                continue
            released += 1
        return released

    def _raise(self) -> int:
        def due(connection: Connection) -> list[tuple[str, str]]:
            query = select(_RAISE).where(_RAISE.c.day <= self._today())
            return [(row.person, row.caps) for row in connection.execute(query)]

        def begin(connection: Connection, person: str, caps: str) -> int:
            condition = (_RAISE.c.person == person) & (_RAISE.c.caps == caps)
            if connection.execute(delete(_RAISE).where(condition)).rowcount:
                ledger = Ledger(LedgerTables(connection), clock=self._today, caps=self._caps)
                ledger.raise_caps(person, caps_of(caps))
                return 1
            return 0  # taken back in the meantime

        found = self._transactions.read(due)
        return sum(
            self._transactions.write(lambda c, p=person, k=caps: begin(c, p, k))  # type: ignore[misc]
            for person, caps in found
        )


def _expire(connection: Connection, condition: object) -> None:
    connection.execute(
        update(_PARTICIPATION)
        .where(_PARTICIPATION.c.state == RESERVED, condition)  # type: ignore[arg-type]
        .values(state=EXPIRED, day=None)
    )
