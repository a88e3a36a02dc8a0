"""What the server keeps: surveys, responses and the ledger, each change in one transaction."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Engine, func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from masquerade.accounting import Charge, Cost, Entry, append, total
from masquerade.errors import AlreadyParticipated, InvalidReport, NotFound, WrongState
from masquerade.mechanisms import Guarantee, Loss
from masquerade.server.database import connect, migrate
from masquerade.server.definition import Definition
from masquerade.server.models import EntryRow, ResponseRow, SettingRow, SurveyRow

OPEN, CLOSED = "open", "closed"
_ATTEMPTS = 8
_TOKEN = re.compile(r"[0-9a-f]{1,32}")


@dataclass(frozen=True, slots=True)
class Survey:
    """A survey as it is kept.

    Attributes
    ----------
    token : str
        Unguessable name, part of the share link.
    definition : Definition
    hash : str
        Of the definition.
    state : str
        ``"open"`` or ``"closed"``.
    opened, closed : str or None
        ISO dates.
    responses : int
        How many responses were accepted.
    simulated_truth : dict or None
        For made-up crowds only: question id to the share of people behind each answer.
    """

    token: str
    definition: Definition
    hash: str
    state: str
    opened: str
    closed: str | None
    responses: int
    simulated_truth: dict[str, list[float]] | None


@dataclass(frozen=True, slots=True)
class Response:
    """All reports of one participant to one survey, under a pseudonym of that survey only."""

    pseudonym: str
    reports: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Bill:
    """What a participant has spent.

    Attributes
    ----------
    survey : Loss
        On the response at hand.
    total : Loss
        On all responses from this device.
    surveys : int
        How many those are.
    day : str
        ISO date of the response at hand.
    """

    survey: Loss
    total: Loss
    surveys: int
    day: str

    def to_json(self) -> dict[str, Any]:
        """Return the bill as a JSON object, in epsilon."""
        return {
            "survey_epsilon": self.survey.to_json(),
            "total_epsilon": self.total.to_json(),
            "surveys": self.surveys,
            "day": self.day,
        }


class Store:
    """Surveys, responses and the ledger in a database.

    Parameters
    ----------
    url : str
        SQLAlchemy URL. The schema is created or brought up to date.
    today : callable
        Gives the ISO date; replaced in tests.
    """

    def __init__(self, url: str, *, today: Callable[[], str] | None = None) -> None:
        self.engine: Engine = connect(url)
        self._writer = self.engine.execution_options(write=True)
        migrate(self.engine)
        self._person_key = self.setting("person_key")
        self._today = today or (lambda: datetime.now(UTC).date().isoformat())

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    def setting(self, key: str) -> str:
        """Return a secret of this server, drawn when first asked for."""
        try:
            with Session(self._writer) as session, session.begin():
                row = session.get(SettingRow, key)
                if row is None:
                    row = SettingRow(key=key, value=secrets.token_hex(32))
                    session.add(row)
                return row.value
        except IntegrityError:  # another process drew it at the same time
            with Session(self.engine) as session, session.begin():
                return session.get_one(SettingRow, key).value

    def new_owner_token(self) -> str:
        """Return a fresh one-time owner token; only its hash is kept, older ones end."""
        token = secrets.token_urlsafe(24)
        with Session(self._writer) as session, session.begin():
            session.merge(SettingRow(key="owner_token", value=_digest(token)))
        return token

    def spend_owner_token(self, token: str) -> bool:
        """Return whether `token` is the owner token, which ends with this call."""
        with Session(self._writer) as session, session.begin():
            row = session.get(SettingRow, "owner_token", with_for_update=True)
            if row is None or not hmac.compare_digest(row.value, _digest(token)):
                return False
            session.delete(row)
            return True

    def open_survey(
        self, definition: Definition, *, simulated_truth: dict[str, list[float]] | None = None
    ) -> Survey:
        """Keep a survey and open it; its definition cannot change from here on."""
        row = SurveyRow(
            token=secrets.token_hex(8),
            title=definition.title,
            definition=definition.to_json(),
            hash=definition.content_hash(),
            pseudonym_key=secrets.token_hex(32),
            state=OPEN,
            opened=self._today(),
            closed=None,
            simulated_truth=simulated_truth,
        )
        with Session(self._writer) as session, session.begin():
            session.add(row)
            session.flush()
            return _survey(row, 0)

    def survey(self, token: str) -> Survey:
        """Return a survey.

        Raises
        ------
        NotFound
            There is none of this token.
        """
        with Session(self.engine) as session, session.begin():
            return _survey(_survey_row(session, token), _count(session, token))

    def surveys(self) -> list[Survey]:
        """Return all surveys, open ones first, each group by title."""
        with Session(self.engine) as session, session.begin():
            query = select(ResponseRow.survey, func.count()).group_by(ResponseRow.survey)
            counts = dict(session.execute(query).all())
            rows = session.scalars(select(SurveyRow)).all()
            found = [_survey(row, counts.get(row.token, 0)) for row in rows]
        return sorted(found, key=lambda s: (s.state == CLOSED, s.definition.title, s.token))

    def close_survey(self, token: str) -> Survey:
        """End the acceptance of responses; closing a closed survey changes nothing."""
        with Session(self._writer) as session, session.begin():
            row = _survey_row(session, token, lock=True)
            if row.state == OPEN:
                row.state, row.closed = CLOSED, self._today()
            return _survey(row, _count(session, token))

    def submit(
        self,
        token: str,
        *,
        participant: str,
        response_id: str,
        survey_hash: str,
        reports: Sequence[int],
    ) -> tuple[Bill, bool]:
        """Accept a response and charge its loss, both or neither.

        Parameters
        ----------
        token : str
            Of the survey.
        participant : str
            Secret of the participant's device; kept only as a keyed hash.
        response_id : str
            Drawn by the device. The same response sent again is accepted once.
        survey_hash : str
            Of the definition that the participant saw.
        reports : sequence of int
            One symbol for each question.

        Returns
        -------
        Bill, bool
            What the participant has spent, and whether the response was new.

        Raises
        ------
        NotFound, WrongState, InvalidReport, AlreadyParticipated
            Nothing is kept and nothing is charged.
        """
        person = self._person(participant)
        for attempt in range(_ATTEMPTS):
            try:
                with Session(self._writer) as session, session.begin():
                    return self._submit(
                        session, token, person, participant, response_id, survey_hash, reports
                    )
            except IntegrityError:
                # The same response came twice at once; the next attempt finds it.
                if attempt == _ATTEMPTS - 1:
                    raise
        raise AssertionError("unreachable")

    def responses(self, token: str) -> list[Response]:
        """Return all responses to a survey, in an order that says nothing about arrival."""
        query = select(ResponseRow).where(ResponseRow.survey == token).order_by(ResponseRow.id)
        with Session(self.engine) as session, session.begin():
            rows = session.scalars(query).all()
            return [Response(row.pseudonym, tuple(row.reports)) for row in rows]

    def ledger(self, participant: str) -> list[Entry]:
        """Return the ledger of the person behind `participant`, oldest first."""
        with Session(self.engine) as session, session.begin():
            return _entries(session, self._person(participant))

    def persons(self) -> list[str]:
        """Return the ledger's names of all persons."""
        with Session(self.engine) as session, session.begin():
            return list(session.scalars(select(EntryRow.person).distinct()))

    def entries_of(self, person: str) -> list[Entry]:
        """Return the entries of one person of the ledger, oldest first."""
        with Session(self.engine) as session, session.begin():
            return _entries(session, person)

    def _person(self, participant: str) -> str:
        return _keyed(self._person_key, participant)

    def _submit(
        self,
        session: Session,
        token: str,
        person: str,
        participant: str,
        response_id: str,
        survey_hash: str,
        reports: Sequence[int],
    ) -> tuple[Bill, bool]:
        row = _survey_row(session, token, lock=True)
        definition = Definition.from_json(row.definition)
        pseudonym = _keyed(row.pseudonym_key, participant)
        kept = session.get(ResponseRow, response_id)
        if kept is not None:
            same = (kept.survey, kept.pseudonym, kept.reports) == (token, pseudonym, list(reports))
            if not same:
                raise AlreadyParticipated(
                    "another response was accepted under this id; a response cannot be changed."
                )
            return self._bill(session, person, token), False
        if row.state != OPEN:
            raise WrongState("this survey is closed; it accepts no more responses.")
        if survey_hash != row.hash:
            raise InvalidReport(
                "these reports are for another version of the survey; reload the page."
            )
        _check_reports(definition, reports)
        taken = select(ResponseRow.id).where(
            ResponseRow.survey == token, ResponseRow.pseudonym == pseudonym
        )
        if session.scalar(taken) is not None:
            raise AlreadyParticipated("this device has answered this survey already.")
        _lock_person(session, person)
        session.add(
            ResponseRow(id=response_id, survey=token, pseudonym=pseudonym, reports=list(reports))
        )
        entry = self._charge(session, person, token, definition)
        session.add(_entry_row(entry))
        session.flush()
        return self._bill(session, person, token), True

    def _charge(self, session: Session, person: str, token: str, definition: Definition) -> Entry:
        guarantee: Guarantee = definition.guarantee()
        cost = Cost(
            survey=token,
            mechanisms=tuple(str(mechanism) for mechanism in definition.mechanisms),
            event=guarantee.epsilon_event,
            user=guarantee.epsilon_user,
        )
        charge = Charge(person, cost, self._today())
        entries = _entries(session, person)
        return append(charge, entries[-1] if entries else None)

    def _bill(self, session: Session, person: str, token: str) -> Bill:
        entries = _entries(session, person)
        mine = next(entry for entry in entries if entry.charge.survey == token)
        return Bill(mine.charge.user, total(entries), len(entries), mine.charge.day)


def _check_reports(definition: Definition, reports: Sequence[int]) -> None:
    if len(reports) != len(definition.questions):
        raise InvalidReport(
            f"{len(reports)} reports for {len(definition.questions)} questions; send one each."
        )
    for number, (report, mechanism) in enumerate(
        zip(reports, definition.mechanisms, strict=True), start=1
    ):
        if not 0 <= report < mechanism.symbols:
            raise InvalidReport(
                f"report {number} is {report}, expected 0 to {mechanism.symbols - 1}."
            )


def _lock_person(session: Session, person: str) -> None:
    """Let one transaction at a time append to a person's chain, always after the survey's lock."""
    if session.get_bind().dialect.name == "postgresql":  # SQLite has one writer in any case
        session.execute(select(func.pg_advisory_xact_lock(int(person[:15], 16))))


def _survey_row(session: Session, token: str, *, lock: bool = False) -> SurveyRow:
    # Anything else cannot be there, and a database may refuse to look for it.
    possible = _TOKEN.fullmatch(token)
    row = session.get(SurveyRow, token, with_for_update=lock) if possible else None
    if row is None:
        raise NotFound("there is no such survey; check the link.")
    return row


def _survey(row: SurveyRow, responses: int) -> Survey:
    return Survey(
        token=row.token,
        definition=Definition.from_json(row.definition),
        hash=row.hash,
        state=row.state,
        opened=row.opened,
        closed=row.closed,
        responses=responses,
        simulated_truth=row.simulated_truth,
    )


def _count(session: Session, token: str) -> int:
    query = select(func.count()).select_from(ResponseRow).where(ResponseRow.survey == token)
    return session.scalar(query) or 0


def _entries(session: Session, person: str) -> list[Entry]:
    query = select(EntryRow).where(EntryRow.person == person).order_by(EntryRow.sequence)
    return [
        Entry(
            charge=Charge(
                person=row.person,
                cost=Cost(
                    survey=row.survey,
                    mechanisms=tuple(row.mechanisms),
                    event=Loss(row.event_micro),
                    user=Loss(row.user_micro),
                ),
                day=row.day,
            ),
            sequence=row.sequence,
            previous_hash=row.previous_hash,
            hash=row.hash,
        )
        for row in session.scalars(query)
    ]


def _entry_row(entry: Entry) -> EntryRow:
    charge = entry.charge
    assert isinstance(charge.event.micro, int)
    assert isinstance(charge.user.micro, int)
    return EntryRow(
        person=charge.person,
        sequence=entry.sequence,
        survey=charge.survey,
        mechanisms=list(charge.mechanisms),
        event_micro=charge.event.micro,
        user_micro=charge.user.micro,
        day=charge.day,
        previous_hash=entry.previous_hash,
        hash=entry.hash,
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _keyed(key: str, text: str) -> str:
    return hmac.new(bytes.fromhex(key), text.encode(), hashlib.sha256).hexdigest()
