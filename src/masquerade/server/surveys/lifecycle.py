"""Surveys from a first draft to the end: written, opened, closed, published or cancelled.

::

    draft -> open -> closing -> closed -> published
    draft -> (deleted)      open, closing -> cancelled

While a survey is closing nobody begins it, and what was opened can be finished.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any, TypedDict

from sqlalchemy import Connection, func, select

from masquerade.errors import NotFound, ParameterError, WrongState
from masquerade.server.db.tables import (
    CANCELLED,
    CLOSED,
    CLOSING,
    FINISHED,
    FIRST_TEAM,
    OPEN,
    OPENED,
    PARTICIPATION,
    PUBLISHED,
    RESPONSE_DAY,
    SEALED,
    SUBMITTED,
    SURVEY,
    SURVEY_DRAFT,
    TAKING,
)
from masquerade.server.db.transactions import Transactions, reads, writes
from masquerade.server.surveys.document import Document, read_document
from masquerade.server.surveys.document_survey import document_of
from masquerade.server.surveys.drafts import DRAFT, TEMPLATE
from masquerade.server.surveys.ending import SurveyEndings
from masquerade.server.surveys.quotas import check_quotas
from masquerade.server.surveys.rewards import Reward
from masquerade.server.surveys.survey_records import FrozenSurvey, SurveyRecord, Surveys, counts
from masquerade.surveys.offered_levels import in_tens, shown_counts
from masquerade.surveys.survey import Survey


@dataclass(frozen=True, slots=True)
class Listed:
    """A survey or draft in a list."""

    token: str
    title: str
    state: str
    template: str
    day: str
    responses: int
    questions: int


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a survey, in counts alone."""

    responses: dict[str, int]  # submitted, at each level that the survey offers
    unfinished: int  # people to whom the questions were shown and who have not sent anything yet


#: Gives the columns of a survey that a step changes, within the step's transaction.
Step = Callable[[Connection], Mapping[str, object]]


class LevelProgress(TypedDict):
    """The responses at a level, where they are shown, and its quota."""

    name: str
    responses: int | None
    seats: int | None


class ProgressJson(TypedDict):
    """The progress of a survey as its page and the interface show it."""

    state: str
    responses: int
    levels: list[LevelProgress]
    started: int  # how many began, in whole tens
    unfinished: int  # in whole tens while somebody may begin
    closes: str | None


class Lifecycle:
    """The states of surveys, and the changes that surveyors make to them."""

    def __init__(
        self,
        transactions: Transactions,
        surveys: Surveys,
        endings: SurveyEndings,
        *,
        today: Callable[[], str],
        zone: tzinfo = UTC,
    ) -> None:
        self._transactions = transactions
        self._surveys = surveys
        self._endings = endings
        self._today = today
        self._zone = zone

    def record(self, token: str, *, team: str | None = None) -> SurveyRecord:
        """Return a survey that is open or was; `NotFound` where none is, or it is not of `team`."""
        record = self._transactions.read(lambda c: self._surveys.read(c, token))
        if team not in (None, record.team):
            # The same words as for no survey at all: a token of another team tells nothing.
            raise NotFound("there is no such survey; check the link.")
        return record

    def records(self, *, team: str | None = None) -> list[SurveyRecord]:
        """Return all surveys, or a team's, open ones first, each group by title."""
        return self._transactions.read(lambda c: self._surveys.read_all(c, team=team))

    def frozen(self, token: str) -> tuple[FrozenSurvey, str]:
        """Return the fixed part of a survey, and its state, without counting responses."""
        # One transaction: text and state are of one moment.
        return self._transactions.read(
            lambda c: (self._surveys.frozen(c, token), self._surveys.state(c, token))
        )

    @writes
    def open_survey(
        self,
        connection: Connection,
        survey: Survey,
        *,
        simulated_truth: dict[str, list[float]] | None = None,
        listed: bool = False,
        team: str = FIRST_TEAM,
        reward: Reward | None = None,
        token: str | None = None,
    ) -> SurveyRecord:
        """Open a survey that has no draft; its questions cannot change from here on."""
        record = self._surveys.insert(
            connection,
            survey,
            day=self._today(),
            simulated_truth=simulated_truth,
            listed=listed,
            team=team,
            token=token,
            reward=reward,
        )
        return self._surveys.read(connection, record.token)

    def close(self, record: SurveyRecord, *, grace_days: int = 0) -> SurveyRecord:
        """Let nobody begin a survey any more, and end it once begun responses are finished.

        Who was shown the questions can finish until `grace_days` after this one; 0 ends it now.
        """
        if not 0 <= grace_days <= 30:
            raise ParameterError(f"grace_days is {grace_days}, expected 0 to 30.")
        token, day = record.token, self._today()
        until = (date.fromisoformat(day) + timedelta(days=grace_days)).isoformat()
        now = {"state": CLOSED, "closed": day, "closes": None}
        later = {"state": CLOSING, "closes": until}
        # Counted in the transaction of the step, and not before it.
        return self._end(
            record,
            lambda c: later if grace_days and _unfinished(c, token) else now,
            "only an open one can be closed",
        )

    def cancel(self, record: SurveyRecord) -> SurveyRecord:
        """End a survey without results; people's charges stay."""
        values = {"state": CANCELLED, "closed": self._today(), "closes": None}
        # Releases reservations; what was shown to people stays paid for.
        return self._end(record, lambda _: values, "only an open one can be cancelled")

    def _end(self, record: SurveyRecord, values: Step, rule: str) -> SurveyRecord:
        self._end_with_messages(record, values, rule)
        self._endings.release_reservations(record.token)
        return self.record(record.token)

    @writes
    def _end_with_messages(
        self, connection: Connection, record: SurveyRecord, values: Step, rule: str
    ) -> None:
        step = values(connection)
        if not self._surveys.step(connection, record.token, states=TAKING, **step):
            raise _wrong(record, rule)
        # One transaction: after a crash the survey has ended and its messages wait to be
        # sent, or neither.
        self._endings.end(connection, record.token)

    def extend(self, record: SurveyRecord, closes: str | None) -> None:
        """Move the last day of an open survey to a later one, or take it away."""
        # Earlier days are refused: people were told until when they can answer.
        earliest = record.closes or self._today()
        try:
            late = closes is None or date.fromisoformat(closes).isoformat() >= earliest
        except (TypeError, ValueError):
            late = False
        if not late:
            raise ParameterError(
                f"the last day is {closes!r}, expected a day (YYYY-MM-DD) not before {earliest}; "
                "an open survey can only be given more time."
            )
        self._require_helper(record, closes)
        self._step(record, (OPEN,), "only an open one can be extended", closes=closes)

    def _require_helper(self, record: SurveyRecord, closes: str | None) -> None:
        """Refuse a last day on which the survey's helper, where it has one, has forgotten it."""
        frozen = self._transactions.read(lambda c: self._surveys.frozen(c, record.token))
        if frozen.split is None:
            return
        expires = datetime.fromtimestamp(frozen.split.terms.expires, self._zone)
        end = expires.date().isoformat()
        if closes is None or closes >= end:
            raise ParameterError(
                f"the helper forgets this survey on {end}; its last day has to come before."
            )

    def set_quotas(self, record: SurveyRecord, quotas: Mapping[str, int] | None) -> None:
        """Set the number of places at each level; None: no limit. Begun responses go on."""
        if quotas is not None:
            check_quotas(quotas, (level.name for level in record.survey.levels))
        new = None if quotas is None else dict(quotas)
        if not self._transactions.write(lambda c: self._surveys.set_quotas(c, record.token, new)):
            raise _wrong(record, "only an open one takes more people")

    def publish(self, record: SurveyRecord) -> None:
        """Let everybody see the results; publishing again changes nothing."""
        self._step(record, FINISHED, "only a closed one can be published", state=PUBLISHED)

    def unpublish(self, record: SurveyRecord) -> None:
        """Show the results to the team alone again; doing so twice changes nothing."""
        self._step(record, FINISHED, "only a published one can be unpublished", state=CLOSED)

    def _step(self, record: SurveyRecord, states: tuple[str, ...], rule: str, **new: Any) -> None:
        """Change a survey that is in one of `states`; `WrongState` where it is not."""
        if not self._transactions.write(
            lambda c: self._surveys.step(c, record.token, states=states, **new)
        ):
            raise _wrong(record, rule)

    @reads
    def progress(self, connection: Connection, record: SurveyRecord) -> Progress:
        """Return how far a survey is."""
        query = (
            select(PARTICIPATION.c.level, func.count().label("people"))
            .where(PARTICIPATION.c.survey == record.token, PARTICIPATION.c.state == SUBMITTED)
            .group_by(PARTICIPATION.c.level)
        )
        people = {row.level: row.people for row in connection.execute(query)}
        levels = {level.name: people.get(level.name, 0) for level in record.survey.levels}
        return Progress(levels, _unfinished(connection, record.token))

    @reads
    def days(self, connection: Connection, token: str, *, most: int) -> list[tuple[str, int]]:
        """Return the last days of a survey with the responses it had as each began, in tens."""
        query = select(RESPONSE_DAY.c.day, RESPONSE_DAY.c.responses).where(
            RESPONSE_DAY.c.survey == token
        )
        newest = connection.execute(query.order_by(RESPONSE_DAY.c.day.desc()).limit(most))
        return [(row.day, row.responses) for row in newest][::-1]

    def document(self, record: SurveyRecord) -> Document:
        """Return the document of a survey that is open or was."""
        if record.document is not None:
            return read_document(record.document)
        return document_of(record.survey, listed=record.listed)

    @reads
    def listed(
        self, connection: Connection, *, team: str, after: str = "", limit: int = 100_000
    ) -> list[Listed]:
        """Return a team's surveys and drafts, by token."""
        drafts = connection.execute(
            # Both lists are cut at `limit` before they are merged, which is enough for the
            # first `limit` of all.
            select(SURVEY_DRAFT)
            .where(SURVEY_DRAFT.c.team == team, SURVEY_DRAFT.c.token > after)
            .order_by(SURVEY_DRAFT.c.token)
            .limit(limit)
        ).all()
        surveys = connection.execute(
            select(
                SURVEY.c.token,
                SURVEY.c.title,
                SURVEY.c.state,
                SURVEY.c.definition,
                SURVEY.c.opened,
                SURVEY.c.closed,
            )
            .where(SURVEY.c.team == team, SURVEY.c.token > after)
            .order_by(SURVEY.c.token)
            .limit(limit)
        ).all()
        count = counts(connection, [row.token for row in surveys])
        listed = [
            Listed(
                row.token,
                row.document["title"],
                TEMPLATE if row.document.get("own_template") else DRAFT,
                row.document["template"],
                row.day,
                0,
                len(row.document["questions"]),
            )
            for row in drafts
        ]
        listed += [
            Listed(
                row.token,
                row.title,
                row.state,
                row.definition["template"],
                row.closed or row.opened,
                count.get(row.token, 0),
                len(row.definition["questions"]),
            )
            for row in surveys
        ]
        return sorted(listed, key=lambda one: one.token)[:limit]


def progress_json(record: SurveyRecord, progress: Progress) -> ProgressJson:
    """Return counts alone: how many answered, and once it is over at which levels."""
    levels: Mapping[str, int | None] = progress.responses
    if len(levels) > 1:
        # By the total alone nobody who looks after each response sees who chose what.
        taking = record.state in TAKING
        levels = dict.fromkeys(levels) if taking else shown_counts(progress.responses)
    responses, unfinished = sum(progress.responses.values()), progress.unfinished
    if record.state == OPEN:
        # Beside the total, an exact number would tell who looks often that somebody gave up.
        unfinished = in_tens(unfinished)
    return {
        "state": record.state,
        "responses": responses,
        "levels": [
            {"name": name, "responses": count, "seats": (record.quotas or {}).get(name)}
            for name, count in levels.items()
        ],
        "started": in_tens(responses + progress.unfinished),
        "unfinished": unfinished,
        "closes": record.closes,
    }


def _unfinished(connection: Connection, token: str) -> int:
    query = select(func.count()).where(
        PARTICIPATION.c.survey == token, PARTICIPATION.c.state.in_((OPENED, SEALED))
    )
    return int(connection.execute(query).scalar_one())


def _wrong(record: SurveyRecord, rule: str) -> WrongState:
    return WrongState(f"this survey is {record.state}; {rule}.", state=record.state)
