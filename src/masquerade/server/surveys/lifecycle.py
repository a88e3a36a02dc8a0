"""Surveys from a first draft to the end: written, opened, closed, published or cancelled.

::

    draft -> open -> closing -> closed -> published
    draft -> (deleted)      open, closing -> cancelled

While a survey is closing nobody begins it, and what was opened can be finished.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from sqlalchemy import Connection, func, insert, select

from masquerade.accounting import Caps
from masquerade.errors import NotFound, ParameterError, WrongState
from masquerade.server.db.idempotency import earlier_token
from masquerade.server.db.tables import (
    CANCELLED,
    CLOSED,
    CLOSING,
    FIRST_TEAM,
    OPEN,
    PARTICIPATION,
    PUBLISHED,
    SELECTION_RUN,
    SURVEY,
    SURVEY_DRAFT,
    TAKING,
)
from masquerade.server.db.transactions import Transactions
from masquerade.server.payments.rewards import Reward, SurveyBudget
from masquerade.server.surveys.document import Document, document_of, read_document
from masquerade.server.surveys.drafts import DRAFT, Drafts
from masquerade.server.surveys.ending import SurveyEndings
from masquerade.server.surveys.frozen_surveys import FrozenSurvey, SurveyRecord, Surveys, counts
from masquerade.server.surveys.waves import runs_of
from masquerade.surveys.survey import Survey

_BEGUN = ("opened", "sealed")
_MOST = 1_000_000  # seats at a level
#: Levels at which fewer people answered are not shown apart.
LEAST_SHOWN = 5


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


class Lifecycle:
    """The states of surveys, and the changes that surveyors make to them.

    Parameters
    ----------
    transactions : Transactions
    surveys : Surveys
    endings : SurveyEndings
    today : callable
        Gives the ISO date.
    caps : Caps
        Of a person who has none of their own yet.

    Attributes
    ----------
    drafts : Drafts
        Surveys that are not open yet.
    """

    def __init__(
        self,
        transactions: Transactions,
        surveys: Surveys,
        endings: SurveyEndings,
        *,
        today: Callable[[], str],
        caps: Caps,
    ) -> None:
        self.drafts = Drafts(transactions, surveys, today=today, caps=caps)
        self._transactions = transactions
        self._surveys = surveys
        self._endings = endings
        self._today = today

    def record(self, token: str, *, team: str | None = None) -> SurveyRecord:
        """Return a survey that is open or was.

        Raises
        ------
        NotFound
            There is none of this token, or it is not of `team`.
        """
        record = self._transactions.read(lambda c: self._surveys.read(c, token))
        if team not in (None, record.team):
            # The same words as for no survey at all: a token of another team tells nothing.
            raise NotFound("there is no such survey; check the link.")
        return record

    def records(self, *, team: str | None = None) -> list[SurveyRecord]:
        """Return all surveys, or a team's, open ones first, each group by title."""
        return self._transactions.read(lambda c: self._surveys.read_all(c, team=team))

    def frozen(self, token: str) -> tuple[FrozenSurvey, str]:
        """Return what a survey asks and its state, without counting responses.

        Raises
        ------
        NotFound
            There is none of this token.
        """
        # One transaction: text and state are of one moment.
        return self._transactions.read(
            lambda c: (self._surveys.asked(c, token), self._surveys.state(c, token))
        )

    def open_survey(
        self,
        survey: Survey,
        *,
        simulated_truth: dict[str, list[float]] | None = None,
        listed: bool = False,
        team: str = FIRST_TEAM,
        reward: Reward | None = None,
        budget: int = 0,
    ) -> SurveyRecord:
        """Open a survey that has no draft; what it asks cannot change from here on."""

        def work(connection: Connection) -> SurveyRecord:
            record = self._surveys.insert(
                connection,
                survey,
                day=self._today(),
                simulated_truth=simulated_truth,
                listed=listed,
                team=team,
                reward=reward,
            )
            if reward is not None:
                survey_budget = SurveyBudget(team, record.token, reward)
                survey_budget.fill(connection, budget, day=self._today())
            return self._surveys.read(connection, record.token)

        return self._transactions.write(work)

    def close(self, survey: SurveyRecord, *, grace_days: int = 0) -> SurveyRecord:
        """Let nobody begin a survey any more, and end it once what was begun is finished.

        It is returned as it is afterwards.

        Parameters
        ----------
        survey : SurveyRecord
        grace_days : int
            How many days after this one what was opened can be finished; 0 ends it now.

        Raises
        ------
        WrongState
            It is neither open nor closing.
        """
        if not 0 <= grace_days <= 30:
            raise ParameterError(f"grace_days is {grace_days}, expected 0 to 30.")
        token, day = survey.token, self._today()
        until = (date.fromisoformat(day) + timedelta(days=grace_days)).isoformat()

        def work(connection: Connection) -> bool:
            # Counted in the transaction of the step, and not before it.
            ends = grace_days == 0 or not _unfinished(connection, token)
            values = {"state": CLOSED, "closed": day, "closes": None}
            if not ends:
                values = {"state": CLOSING, "closes": until}
            return self._surveys.step(connection, token, states=TAKING, **values)

        if not self._transactions.write(work):
            raise _wrong(survey, "only an open one can be closed")
        # After the commit of the step: nobody can begin any more, so what is given back stays so.
        self._endings.end(token)
        return self.record(token)

    def extend(self, survey: SurveyRecord, closes: str | None) -> None:
        """Move the last day of an open survey to a later one, or take it away.

        Raises
        ------
        WrongState, ParameterError
        """
        # Earlier days are refused: people were told until when they can answer.
        earliest = survey.closes or self._today()
        try:
            late = closes is None or date.fromisoformat(closes).isoformat() >= earliest
        except (TypeError, ValueError):
            late = False
        if not late:
            raise ParameterError(
                f"the last day is {closes!r}, expected a day (YYYY-MM-DD) not before {earliest}; "
                "an open survey can only be given more time."
            )
        if not self._transactions.write(
            lambda c: self._surveys.step(c, survey.token, states=(OPEN,), closes=closes)
        ):
            raise _wrong(survey, "only an open one can be extended")

    def set_seats(self, survey: SurveyRecord, seats: Mapping[str, int] | None) -> None:
        """Say how many people may take part at each level of an open survey.

        Who has begun goes on, also where more have than may from now on.

        Parameters
        ----------
        survey : SurveyRecord
        seats : mapping of str to int, or None
            For each level that the survey offers; None: as many as come.

        Raises
        ------
        WrongState, ParameterError
        """
        new = None if seats is None else dict(seats)
        names = {level.name for level in survey.definition.levels}
        if new is not None and set(new) != names:
            raise ParameterError(
                f"seats are given for {sorted(new)}, expected one number for each of "
                f"{sorted(names)}; or none at all, for as many as come."
            )
        for name, count in (new or {}).items():
            if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= _MOST:
                raise ParameterError(
                    f"level {name!r} has {count!r} seats, expected a number from 0 to {_MOST}."
                )
        if not self._transactions.write(lambda c: self._surveys.set_quotas(c, survey.token, new)):
            raise _wrong(survey, "only an open one takes more people")

    def cancel(self, survey: SurveyRecord) -> None:
        """End a survey without results; what people were charged stays charged.

        Raises
        ------
        WrongState
        """
        values = {"state": CANCELLED, "closed": self._today(), "closes": None}
        if not self._transactions.write(
            lambda c: self._surveys.step(c, survey.token, states=TAKING, **values)
        ):
            raise _wrong(survey, "only an open one can be cancelled")
        # Releases reservations and money; what was shown to people stays paid for.
        self._endings.end(survey.token)

    def publish(self, survey: SurveyRecord) -> None:
        """Let everybody see the results; publishing again changes nothing.

        Raises
        ------
        WrongState
        """
        # From closed or published, so that a repetition is no error.
        if not self._transactions.write(
            lambda c: self._surveys.step(
                c, survey.token, states=(CLOSED, PUBLISHED), state=PUBLISHED
            )
        ):
            raise _wrong(survey, "only a closed one can be published")

    def unpublish(self, survey: SurveyRecord) -> None:
        """Show the results to the team alone again; doing so twice changes nothing.

        Raises
        ------
        WrongState
        """
        if not self._transactions.write(
            lambda c: self._surveys.step(c, survey.token, states=(CLOSED, PUBLISHED), state=CLOSED)
        ):
            raise _wrong(survey, "only a published one can be unpublished")

    def progress(self, survey: SurveyRecord) -> Progress:
        """Return how far a survey is."""

        def work(connection: Connection) -> Progress:
            query = (
                select(PARTICIPATION.c.level, func.count().label("people"))
                .where(PARTICIPATION.c.survey == survey.token, PARTICIPATION.c.state == "submitted")
                .group_by(PARTICIPATION.c.level)
            )
            found = {row.level: row.people for row in connection.execute(query)}
            levels = {level.name: found.get(level.name, 0) for level in survey.definition.levels}
            return Progress(levels, _unfinished(connection, survey.token))

        return self._transactions.read(work)

    def document(self, survey: SurveyRecord) -> Document:
        """Return the document of a survey that is open or was."""
        if survey.document is not None:
            return read_document(survey.document)
        return document_of(survey.definition, listed=survey.listed)

    def listed(self, *, team: str, after: str = "", limit: int = 100_000) -> list[Listed]:
        """Return a team's surveys and drafts, by token."""

        def work(connection: Connection) -> list[Listed]:
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
            found = [
                Listed(
                    row.token,
                    row.document["title"],
                    DRAFT,
                    row.document["template"],
                    row.day,
                    0,
                    len(row.document["questions"]),
                )
                for row in drafts
            ]
            found += [
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
            return sorted(found, key=lambda one: one.token)[:limit]

        return self._transactions.read(work)

    def keep_run(
        self, token: str, run: dict[str, Any], *, request: tuple[str, str]
    ) -> dict[str, Any]:
        """Keep a selection run and return it; the same request again returns the first one.

        Raises
        ------
        IdempotencyConflict
            The key was used for another request.
        """
        # Drawn outside, because the transaction may run several times.
        drawn = secrets.token_hex(16)
        before = select(func.count()).where(SELECTION_RUN.c.survey == token)

        def work(connection: Connection) -> str:
            known = earlier_token(connection, request, drawn, today=self._today())
            if known is None:
                # Within the transaction; two runs at once may still share a number, so the id
                # decides between them.
                number = int(connection.execute(before).scalar_one()) + 1
                row = {"id": drawn, "survey": token, "day": self._today()}
                connection.execute(insert(SELECTION_RUN), {**row, "run": {"number": number, **run}})
            return known or drawn

        return self.run(token, self._transactions.write(work))

    def runs(self, token: str) -> list[dict[str, Any]]:
        """Return the selection runs of a survey, the first one first."""
        return self._transactions.read(lambda c: runs_of(c, token))

    def run(self, token: str, run: str) -> dict[str, Any]:
        """Return a selection run of a survey.

        Raises
        ------
        NotFound
        """
        query = select(SELECTION_RUN).where(
            SELECTION_RUN.c.survey == token, SELECTION_RUN.c.id == run
        )
        # Anything else cannot be there, and a database may refuse to look for it.
        possible = run.isascii() and "\0" not in run
        row = self._transactions.read(lambda c: c.execute(query).first()) if possible else None
        if row is None:
            raise NotFound("there is no such selection run.")
        return {"id": row.id, "day": row.day, **row.run}


def progress_json(survey: SurveyRecord, progress: Progress) -> dict[str, Any]:
    """Return counts alone: how many answered, and at which level where these are not too few."""
    # A level without anybody is shown: that nobody chose it tells of no one.
    few = {name for name, count in progress.responses.items() if 0 < count < LEAST_SHOWN}
    total = sum(progress.responses.values())
    # One hidden level could be told from the total: a second one is hidden with it.
    shown = {name: count for name, count in progress.responses.items() if name not in few}
    if len(few) == 1 and shown:
        # The smallest shown one, as it costs least to hide.
        del shown[min(shown, key=lambda name: (shown[name], name))]
    return {
        "state": survey.state,
        "responses": total,
        "levels": [
            {"name": name, "responses": shown.get(name), "seats": (survey.seats or {}).get(name)}
            for name in progress.responses
        ],
        "unfinished": progress.unfinished,
        "closes": survey.closes,
    }


def _unfinished(connection: Connection, token: str) -> int:
    query = select(func.count()).where(
        PARTICIPATION.c.survey == token, PARTICIPATION.c.state.in_(_BEGUN)
    )
    return int(connection.execute(query).scalar_one())


def _wrong(survey: SurveyRecord, rule: str) -> WrongState:
    return WrongState(f"this survey is {survey.state}; {rule}.", state=survey.state)
