"""What happens by itself, once a day: surveys end, reservations lapse, confirmed caps begin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from sqlalchemy import Connection, delete, func, or_, select, update

from masquerade.errors import NotReserved
from masquerade.server.context import Ground
from masquerade.server.db.ledger_storage import LedgerDatabase, LedgerTables, caps_of
from masquerade.server.db.tables import ParticipationRow, RaiseRow, SurveyRow, table_of
from masquerade.server.participants.participations import EXPIRED, OPENED, RESERVED, SEALED
from masquerade.server.payments.rewards import purse_of
from masquerade.server.surveys.frozen_surveys import CANCELLED, FINISHED, OPEN, TAKING, counts
from masquerade.server.surveys.quotas import leave
from masquerade.server.surveys.waves import finished, runs_of
from masquerade.server.webhooks.webhooks import ENDED, RESULTS_READY, WAVE_FINISHED, tell

_PARTICIPATION, _SURVEY, _RAISE = (
    table_of(ParticipationRow), table_of(SurveyRow), table_of(RaiseRow),
)  # fmt: skip

CLAIM_DAYS = 30
"""For how many days after a survey was cancelled people get what they were ready to earn."""


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
    ground : Ground
    days : int
        How many days after its own a reservation stays.
    """

    def __init__(self, ground: Ground, *, days: int) -> None:
        self._ground = ground
        self._database = LedgerDatabase(ground.transactions)
        self._days = days

    def sweep(self) -> Swept:
        """Do what is due; doing it twice, or in two processes, changes nothing more.

        Afterwards all rows are rewritten, so that none tells by its place when it came.
        """
        before = (date.fromisoformat(self._ground.today()) - timedelta(days=self._days)).isoformat()
        # First the participations: one that is expired can never be opened, and only then is what
        # it reserved given back.
        everywhere = _PARTICIPATION.c.survey.in_(select(_SURVEY.c.token))  # by the index
        lapsed = everywhere & (_PARTICIPATION.c.day < before)
        self._ground.transactions.write(lambda c: _expire(c, lapsed, today=self._ground.today))
        until = (date.fromisoformat(self._ground.today()) + timedelta(days=1)).isoformat()

        def lapse(connection: Connection) -> None:
            for token in self._ground.surveys.lapse(
                connection, day=self._ground.today(), until=until
            ):
                self._tell(connection, token)

        self._ground.transactions.write(lapse)
        closed = _PARTICIPATION.c.survey.in_(select(_SURVEY.c.token).where(_SURVEY.c.state != OPEN))
        self._ground.transactions.write(lambda c: _expire(c, closed, today=self._ground.today))
        self._ground.transactions.write(self._settle)
        self._ground.transactions.write(self._tell_of_waves)
        released = self._release(self._database.reservations(before))
        released += self._release(self._database.reservations_of_closed())
        raised = self._raise()
        self._ground.transactions.rewrite()
        return Swept(released, raised)

    def survey_closed(self, token: str) -> None:
        """Give back what is reserved for a survey that is closed, and tell that it is."""
        mine = _PARTICIPATION.c.survey == token

        def work(connection: Connection) -> None:
            _expire(connection, mine, today=self._ground.today)
            self._settle(connection, token)
            self._tell(connection, token)

        self._ground.transactions.write(work)
        self._release(self._database.reservations_of(token))
        # Before anybody reads results: from here on nothing more comes to it.
        self._ground.transactions.rewrite()

    def _settle(self, connection: Connection, token: str | None = None) -> None:
        """Give teams back what is left of the money of surveys that are over.

        Of a survey that was cancelled, what people get who had seen its questions stays for them
        for some days.
        """
        query = select(_SURVEY.c.token, _SURVEY.c.state, _SURVEY.c.closed).where(
            _SURVEY.c.reward.is_not(None), _SURVEY.c.state.not_in(TAKING)
        )
        if token is not None:
            query = query.where(_SURVEY.c.token == token)
        for row in connection.execute(query).all():
            purse = purse_of(connection, row.token)
            if purse is None:
                continue
            keep, day = 0, self._ground.today()
            late = date.fromisoformat(day) - timedelta(days=CLAIM_DAYS)
            if row.state == CANCELLED and (row.closed or "") >= late.isoformat():
                begun = (
                    select(_PARTICIPATION.c.level, func.count().label("people"))
                    .where(
                        _PARTICIPATION.c.survey == row.token,
                        _PARTICIPATION.c.state.in_((OPENED, SEALED)),
                    )
                    .group_by(_PARTICIPATION.c.level)
                )
                keep = sum(
                    purse.reward.cost(one.level) * one.people for one in connection.execute(begun)
                )
            purse.settle(connection, keep=keep, day=day)

    def _tell(self, connection: Connection, token: str) -> None:
        """Tell the team's webhooks that a survey is over."""
        columns = (_SURVEY.c.team, _SURVEY.c.state, _SURVEY.c.closed)
        row = connection.execute(select(*columns).where(_SURVEY.c.token == token)).one()
        if row.state in TAKING:
            return
        tell(connection, row.team, ENDED, survey=token, day=row.closed, state=row.state)
        if row.state in FINISHED:
            tell(connection, row.team, RESULTS_READY, survey=token, day=row.closed)

    def _tell_of_waves(self, connection: Connection) -> None:
        """Tell of waves to which as many have come as were expected.

        Once a day and not with the last of them, whose hour it would tell.
        """
        taking = (_SURVEY.c.seats.is_not(None), _SURVEY.c.state == OPEN)
        surveys = connection.execute(select(_SURVEY.c.token, _SURVEY.c.team).where(*taking)).all()
        for token, team in surveys:
            came = counts(connection, [token]).get(token, 0)
            wave = finished(runs_of(connection, token), responses=came)
            if wave is not None:
                about, day = f"{WAVE_FINISHED} {token} {wave}", self._ground.today()
                tell(connection, team, WAVE_FINISHED, survey=token, day=day, about=about)

    def _release(self, reservations: list[tuple[str, str]]) -> int:
        ledger = self._ground.ledger(self._database)
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
            query = select(_RAISE).where(_RAISE.c.day <= self._ground.today())
            return [(row.person, row.caps) for row in connection.execute(query)]

        def begin(connection: Connection, person: str, caps: str) -> int:
            condition = (_RAISE.c.person == person) & (_RAISE.c.caps == caps)
            if connection.execute(delete(_RAISE).where(condition)).rowcount:
                ledger = self._ground.ledger(LedgerTables(connection))
                ledger.raise_caps(person, caps_of(caps))
                return 1
            return 0  # taken back in the meantime

        found = self._ground.transactions.read(due)
        return sum(
            self._ground.transactions.write(lambda c, p=person, k=caps: begin(c, p, k))  # type: ignore[misc]
            for person, caps in found
        )


def _expire(connection: Connection, condition: Any, *, today: Callable[[], str]) -> None:
    """Let reservations lapse, with the money and the places that were set aside for them."""
    counted = or_(_SURVEY.c.reward.is_not(None), _SURVEY.c.seats.is_not(None))
    # Held, so that no survey begins to count while they leave.
    connection.execute(
        select(_SURVEY.c.token).where(_SURVEY.c.state.in_(TAKING)).with_for_update(read=True)
    )
    special = select(_SURVEY.c.token).where(counted)
    change = update(_PARTICIPATION).where(_PARTICIPATION.c.state == RESERVED, condition)
    change = change.values(state=EXPIRED, day=None)
    connection.execute(change.where(_PARTICIPATION.c.survey.not_in(special)))
    lapsed = change.where(_PARTICIPATION.c.survey.in_(special))
    rows = connection.execute(lapsed.returning(_PARTICIPATION.c.survey, _PARTICIPATION.c.level))
    for (survey, level), count in sorted(Counter(map(tuple, rows)).items()):
        leave(connection, survey, level, count)
        purse = purse_of(connection, survey)
        if purse is not None:
            purse.release(connection, level, count, day=today())
