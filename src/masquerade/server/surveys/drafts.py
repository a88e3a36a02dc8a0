"""Drafts: surveys that are still being written, perhaps by several people."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from masquerade.accounting import Caps
from masquerade.aggregate.noise import TWO_PARTIES
from masquerade.errors import InvalidDocument, NotFound, StaleVersion
from masquerade.server.db.idempotency import earlier_token
from masquerade.server.db.tables import SELECTION_RUN, SURVEY_DRAFT
from masquerade.server.db.transactions import Transactions, writes
from masquerade.server.surveys.document import Document, Issue, changed, read_document
from masquerade.server.surveys.document_survey import survey_or_issues
from masquerade.server.surveys.forecast import Forecast, Margin, first_margin, plan_review
from masquerade.server.surveys.remedies import WeakQuestion, under, weak_questions
from masquerade.server.surveys.rewards import Reward
from masquerade.server.surveys.survey_records import SurveyRecord, Surveys
from masquerade.server.surveys.tickets import TicketKeys
from masquerade.server.webhooks.webhooks import OPENED, enqueue
from masquerade.surveys.blind_rsa import PrivateKey
from masquerade.surveys.offered_levels import too_dear
from masquerade.surveys.survey import DEVICE, Survey

DRAFT = "draft"
#: The state, in lists, of a draft that a team keeps to begin others with.
TEMPLATE = "template"


@dataclass(frozen=True, slots=True)
class Draft:
    """A survey that is being written."""

    token: str  # which it will open with
    team: str
    document: Document
    version: int  # counts changes
    day: str  # of the last change

    # No field, but a constant of the class: stands where a `SurveyRecord` has its state.
    state = DRAFT


@dataclass(frozen=True, slots=True)
class Review:
    """The review of a document: its survey, or the issues that keep it from being opened."""

    survey: Survey | None  # None where it is not finished
    forecast: Forecast | None  # its expected precision and cost
    # All that keeps it from being opened: as it is written, or because nobody could take part.
    issues: list[Issue]
    people: dict[str, int] = field(default_factory=dict)  # whom the plan asks, by level
    reward: Reward | None = None  # what the plan gives to those who take part
    # Levels that a survey offers, and that nobody can afford.
    too_dear: list[str] = field(default_factory=list)

    def require(self) -> tuple[Survey, Forecast]:
        """Return the survey and its forecast; raise `InvalidDocument` where there are issues."""
        if self.survey is None or self.forecast is None or self.issues:
            raise InvalidDocument(self.issues)
        return self.survey, self.forecast


class Drafts:
    """The drafts of all teams.

    `confirm`: asks the helper of a survey between two parties, by the survey's `token` and `team`,
        whether it stands by its approval, and raises where it does not.
    `keys`: of the tickets of surveys for which people need one.
    """

    def __init__(
        self,
        transactions: Transactions,
        surveys: Surveys,
        *,
        today: Callable[[], str],
        utc_today: Callable[[], str],
        caps: Caps,
        confirm: Callable[..., None],
        keys: TicketKeys,
    ) -> None:
        self._transactions = transactions
        self._surveys = surveys
        self._today = today
        self._utc_today = utc_today
        self._confirm = confirm
        self._keys = keys
        self.caps = caps

    @property
    def today(self) -> str:
        """The day, for dates that must not be over."""
        return self._today()

    def create(
        self, document: Document, *, team: str, request: tuple[str, str] | None = None
    ) -> tuple[Draft, bool]:
        """Keep a new draft; return it, and whether it was made now.

        The same `request` (idempotency key with whose it is, and body) again gives the same draft.
        """
        # Drawn now, so that links to the draft hold once it is open.
        token = secrets.token_hex(8)
        # A key is of one survey: that of a copied document signs nothing here.
        key = self._keys.draw() if document.tickets.phases else None
        document = _with_key(document, "" if key is None else key.public.hex())
        values = {
            "token": token,
            "team": team,
            "document": document.to_json(),
            "version": 1,
            "day": self._today(),
        }

        # The key and the draft in one transaction: after a crash both are there, or neither.
        name, new = self._keep(values, request, key)
        # None: opened or deleted in the meantime.
        earlier = None if new else self.find(name, team=team)
        return earlier or Draft(name, team, document, 1, self._today()), new

    @writes
    def _keep(
        self,
        connection: Connection,
        row: dict[str, object],
        request: tuple[str, str] | None,
        key: PrivateKey | None,
    ) -> tuple[str, bool]:
        token = str(row["token"])
        known = earlier_token(connection, request, token, today=self._today())
        if known is not None:
            return known, False
        connection.execute(insert(SURVEY_DRAFT), row)
        if key is not None:
            self._keys.keep(connection, token, key)
        return token, True

    def draft(self, token: str, *, team: str) -> Draft:
        """Return a draft of a team; `NotFound` where there is none, or it is another team's."""
        return self._transactions.read(lambda c: _draft(c, token, team))

    def find(self, token: str, *, team: str) -> Draft | None:
        """Return a draft of a team, or None."""
        try:
            return self.draft(token, team=team)
        except NotFound:
            return None

    def change(self, token: str, changes: Any, *, team: str, version: int) -> Draft:
        """Set some fields of a draft anew, finished or not; `version` is the one that was read."""
        asked = changes.get("tickets") if isinstance(changes, dict) else None
        key = None
        # Drawn outside of the transaction, for which writers wait.
        if isinstance(asked, dict) and asked.get("phases"):
            key = (
                None
                if self._transactions.read(lambda c: self._keys.public(c, token))
                else (self._keys.draw())
            )
        return self._change(token, changes, team, version, key)

    @writes
    def _change(
        self,
        connection: Connection,
        token: str,
        changes: Any,
        team: str,
        version: int,
        key: PrivateKey | None,
    ) -> Draft:
        old = _draft(connection, token, team, hold=True)
        # Under the lock: of two who read the same version, the second is refused.
        _require_version(old, version)
        document = changed(old.document, changes)
        public = self._keys.public(connection, token)
        if key is not None and not public:
            public = self._keys.keep(connection, token, key)
        document = _with_key(document, public)
        new = Draft(token, team, document, version + 1, self._today())
        connection.execute(
            update(SURVEY_DRAFT)
            .where(SURVEY_DRAFT.c.token == token)
            .values(document=new.document.to_json(), version=new.version, day=new.day)
        )
        return new

    @writes
    def delete(
        self, connection: Connection, token: str, *, team: str, version: int | None = None
    ) -> None:
        """Delete a draft."""
        old = _draft(connection, token, team, hold=True)
        if version is not None:
            _require_version(old, version)
        # Runs name the token and no foreign key, so they are deleted here.
        connection.execute(delete(SELECTION_RUN).where(SELECTION_RUN.c.survey == token))
        self._keys.forget(connection, token)
        connection.execute(delete(SURVEY_DRAFT).where(SURVEY_DRAFT.c.token == token))

    def review(self, document: Document) -> Review:
        """Return the survey that a document opens as, its forecast, and its issues.

        It is judged by the usual caps; whoever has spent some of theirs can afford less.
        """
        survey, issues = self._survey(document)
        if document.own_template:
            issues = [*issues, ("", "This is a template; begin a survey with it, and open that.")]
        if survey is None:
            return Review(None, None, issues)
        kept = issues
        figures, issues = plan_review(document, survey, caps=self.caps)
        issues = [*kept, *issues]
        plan = document.plan
        people = {level["name"]: level["asked"] for level in figures["levels"]}
        prices = {level: plan.prices.get(level, 0) for level in people}
        reward = Reward(plan.currency.strip(), prices) if plan.reward == "codes" else None
        dear = too_dear(survey.levels, self.caps)
        return Review(survey, figures, issues, people, reward, dear)

    def _survey(self, document: Document) -> tuple[Survey | None, list[Issue]]:
        return survey_or_issues(
            document,
            allow_clear=self._surveys.allow_clear,
            today=self._today(),
            utc_today=self._utc_today(),
        )

    def weak_questions(self, document: Document) -> list[WeakQuestion]:
        """Return the questions that will tell little or nothing, each with its remedies."""
        review = self.review(document)
        if review.survey is None or review.forecast is None:
            return []
        return weak_questions(
            document,
            review.survey,
            review.forecast,
            caps=self.caps,
            opened=lambda other: self._survey(other)[0],
        )

    def margins_by_trust(self, document: Document) -> dict[str, Margin | None]:
        """Return the first question's expected interval under each trust, whichever is chosen."""
        return {trust: self._margin_under(trust, document) for trust in (DEVICE, TWO_PARTIES)}

    def _margin_under(self, trust: str, document: Document) -> Margin | None:
        """Return the first question's forecast under a trust; None where there cannot be one."""
        other = under(trust, document)
        survey, _ = self._survey(other)
        return None if survey is None else first_margin(other, survey, caps=self.caps)

    def open(
        self,
        token: str,
        *,
        team: str,
        version: int | None = None,
        quotas: Mapping[str, int] | None = None,
    ) -> SurveyRecord:
        """Open a draft with the reward of its plan; its questions cannot change from here on.

        Without `version` the present one is opened, and without `quotas` those of the plan.
        """
        seen = self._transactions.read(lambda c: _draft(c, token, team))
        if version is not None:
            _require_version(seen, version)
        # Before the transaction that opens: another computer is waited for.
        if seen.document.trust == TWO_PARTIES:
            asked, _ = self._survey(seen.document)
            if asked is not None:
                self._confirm(asked, token=token, team=team)
        return self._open(token, team, version, quotas)

    @writes
    def _open(
        self,
        connection: Connection,
        token: str,
        team: str,
        version: int | None,
        quotas: Mapping[str, int] | None,
    ) -> SurveyRecord:
        old = _draft(connection, token, team, hold=True)
        if version is not None:
            _require_version(old, version)
        # Of what is in the row now, under its lock; a review from before may be of another
        # version.
        review = self.review(old.document)
        survey, _ = review.require()
        plan = old.document.plan
        if survey.reach.invitations is None:
            self._keys.forget(connection, token)
        elif self._keys.public(connection, token) != survey.reach.invitations.key:
            raise InvalidDocument([("/tickets", "The key is gone; choose tickets once more.")])
        planned = review.people if plan.quotas else None
        connection.execute(delete(SURVEY_DRAFT).where(SURVEY_DRAFT.c.token == token))
        self._surveys.insert(
            connection,
            survey,
            day=self._today(),
            simulated_truth=None,
            listed=old.document.listed,
            team=team,
            token=token,
            document=old.document.to_json(),
            closes=plan.closes,
            quotas=planned if quotas is None else dict(quotas),
            reward=review.reward,
            ways=old.document.ways,
        )
        # The message is written beside the change and sent later: it survives a crash, and is
        # never sent for a change that was taken back.
        enqueue(connection, team, OPENED, survey=token, day=self._today())
        return self._surveys.read(connection, token)


def _with_key(document: Document, public: str) -> Document:
    return document.model_copy(
        update={"tickets": document.tickets.model_copy(update={"key": public})}
    )


def _row(connection: Connection, token: str, team: str, *, hold: bool = False) -> Row[Any]:
    query = select(SURVEY_DRAFT).where(SURVEY_DRAFT.c.token == token, SURVEY_DRAFT.c.team == team)
    if hold:
        query = query.with_for_update()
    # Anything else cannot be there, and a database may refuse to look for it.
    possible = token.isascii() and "\0" not in token
    row = connection.execute(query).first() if possible else None
    if row is None:
        raise NotFound("there is no such draft; it may be open already, or deleted.")
    return row


def _draft(connection: Connection, token: str, team: str, *, hold: bool = False) -> Draft:
    row = _row(connection, token, team, hold=hold)
    return Draft(row.token, row.team, read_document(row.document), row.version, row.day)


def _require_version(draft: Draft, version: int) -> None:
    if draft.version != version:
        raise StaleVersion(
            f"this draft was changed in the meantime (version {draft.version}, yours is "
            f"{version}); read it again, then change it."
        )
