"""What the server keeps: surveys, participations and the ledger, each change in one transaction."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

from sqlalchemy import Connection, Text, delete, func, insert, select
from sqlalchemy import cast as as_type

from masquerade.accounting import Caps, Entry
from masquerade.server.accounts.surveyors import Surveyors
from masquerade.server.context import Ground
from masquerade.server.db.engine import connect, migrate
from masquerade.server.db.ledger_storage import LedgerDatabase, LedgerTables
from masquerade.server.db.pseudonyms import Identity
from masquerade.server.db.sealed_columns import begin_sealing
from masquerade.server.db.server_key import Seals, ServerKey
from masquerade.server.db.tables import FIRST_TEAM, ParticipationRow, SettingRow, table_of
from masquerade.server.db.transactions import Transactions
from masquerade.server.desk_store import Desk
from masquerade.server.operations.daily_jobs import Sweeper
from masquerade.server.participants.participations import Participations
from masquerade.server.participants.profile import People
from masquerade.server.payments.rewards import Purse, Reward
from masquerade.server.surveys.frozen_surveys import (
    CLOSED,
    OPEN,
    SUBMITTED,
    FrozenSurvey,
    SurveyRecord,
    Surveys,
)
from masquerade.server.surveys.lifecycle import Lifecycle
from masquerade.surveys.survey import Survey

__all__ = ["CLOSED", "OPEN", "Response", "Store", "SurveyRecord"]

_PARTICIPATION, _SETTING = table_of(ParticipationRow), table_of(SettingRow)


@dataclass(frozen=True, slots=True)
class Response:
    """All reports of one participant to one survey, under a pseudonym of that survey only."""

    pseudonym: str
    level: str
    reports: tuple[int, ...]


class Store:
    """Surveys, participations and the ledger in a database.

    Parameters
    ----------
    url : str
        SQLAlchemy URL. The schema is created or brought up to date.
    today : callable
        Gives the ISO date; replaced in tests.
    caps : Caps, optional
        Of a person who has none of their own yet.
    allow_clear : bool
        Whether surveys may offer to send answers as they are.
    reservation_days : int
        How many days after its own a reservation stays.
    unopened_reservations : int
        How many surveys a person may begin on a day without opening them; 0 is without limit.
    commission_percent : int
        What the operator gets on top of what participants get.
    webhook_private : bool
        Whether webhooks may lead into the network of this computer.
    rewrites : bool
        Whether an SQLite file is rewritten soon after each change, so that it does not tell the
        order of arrival. Of several processes on one file one does.
    key : str, optional
        With which an SQLite file is encrypted, in hexadecimal.
    server_key : ServerKey, optional
        Seals the secrets of one-time codes and webhooks; without one they are kept as they are.

    Attributes
    ----------
    participations : Participations
        The steps of the protocol.
    people : People
        Accounts, caps and invitations.
    accounts : Ledger
    sweeper : Sweeper
    lifecycle : Lifecycle
        Surveys from draft to end.
    surveyors : Surveyors
        Accounts and teams of those who ask.
    desk : Desk
        Money, completion codes, webhooks and the audit log.
    """

    def __init__(
        self,
        url: str,
        *,
        today: Callable[[], str] | None = None,
        caps: Caps | None = None,
        allow_clear: bool = False,
        reservation_days: int = 2,
        unopened_reservations: int = 20,
        commission_percent: int = 0,
        webhook_private: bool = False,
        rewrites: bool = True,
        key: str | None = None,
        server_key: ServerKey | None = None,
    ) -> None:
        self.engine = connect(url, key=key)
        migrate(self.engine)
        self._transactions = Transactions(self.engine, rewrites=rewrites)
        try:
            self._transactions.write(lambda connection: begin_sealing(connection, server_key))
        except BaseException:  # or its thread would wait for ever
            self._transactions.close()
            raise
        seals = Seals(server_key)
        self._person_key = self.setting("person_key")
        self._today = today or (lambda: datetime.now(UTC).date().isoformat())
        self._surveys = Surveys(allow_clear=allow_clear)
        ground = Ground(
            self._transactions, self._surveys, self._today, caps or Caps(), unopened_reservations
        )
        self.participations = Participations(ground)
        self.people = People(ground, self.participations)
        self.accounts = ground.ledger(LedgerDatabase(self._transactions))
        self.sweeper = Sweeper(ground, days=reservation_days)
        self.lifecycle = Lifecycle(ground, self.sweeper)
        self.surveyors = Surveyors(
            self._transactions,
            today=self._today,
            key=lambda: self.setting("challenge_key"),
            seals=seals,
        )
        self.desk = Desk(
            self._transactions,
            today=self._today,
            commission_percent=commission_percent,
            webhook_private=webhook_private,
            seals=seals,
        )

    def rewrite(self, *, patience: float = 10.0) -> bool:
        """Have all rows rewritten in the order of their keys; return whether they are now.

        Where they are not within `patience` seconds, because somebody reads or there are many, it
        goes on until they are.
        """
        return self._transactions.rewrite(patience=patience)

    def overdue(self) -> str | None:
        """Return why rows have lain in the order of arrival for too long; None where not."""
        return self._transactions.overdue()

    def close(self) -> None:
        """Finish what waits and close all connections."""
        self._transactions.close()

    def identity(self, secret: str) -> Identity:
        """Return the names of a participant by the secret of their device."""
        return Identity(secret, self._person_key)

    def setting(self, key: str) -> str:
        """Return a secret of this server, drawn when first asked for."""
        query = select(_SETTING.c.value).where(_SETTING.c.key == key)

        def work(connection: Connection) -> str:
            found = connection.execute(query).scalar()
            if found is None:
                found = secrets.token_hex(32)
                connection.execute(insert(_SETTING), {"key": key, "value": found})
            return str(found)

        return self._transactions.write(work)

    def new_owner_token(self) -> str:
        """Return a fresh one-time owner token; only its hash is kept, older ones end."""
        token = secrets.token_urlsafe(24)

        def work(connection: Connection) -> None:
            connection.execute(delete(_SETTING).where(_SETTING.c.key == "owner_token"))
            connection.execute(insert(_SETTING), {"key": "owner_token", "value": _digest(token)})

        self._transactions.write(work)
        return token

    def owner_door(self) -> str:
        """Return the path by which the owner comes in.

        It is that of a fresh one-time link, and of the sign-in once the owner can sign in.
        """
        if self.surveyors.teams.first_owner() is None:
            return "/sign-in"
        return f"/owner?token={self.new_owner_token()}"

    def spend_owner_token(self, token: str) -> bool:
        """Return whether `token` is the owner token, which ends with this call."""
        kept = _SETTING.c.key == "owner_token"

        def work(connection: Connection) -> bool:
            query = select(_SETTING.c.value).where(kept)
            found = connection.execute(query).scalar()
            if found is None or not hmac.compare_digest(found, _digest(token)):
                return False
            spent = delete(_SETTING).where(kept, _SETTING.c.value == found)
            return connection.execute(spent).rowcount == 1

        return self._transactions.write(work)

    def open_survey(
        self,
        definition: Survey,
        *,
        simulated_truth: dict[str, list[float]] | None = None,
        listed: bool = False,
        team: str = FIRST_TEAM,
        reward: Reward | None = None,
        budget: int = 0,
    ) -> SurveyRecord:
        """Keep a survey of a team and open it; its definition cannot change from here on."""

        def work(connection: Connection) -> SurveyRecord:
            survey = self._surveys.insert(
                connection,
                definition,
                day=self._today(),
                simulated_truth=simulated_truth,
                listed=listed,
                team=team,
                reward=reward,
            )
            if reward is not None:
                purse = Purse(team, survey.token, reward)
                purse.fill(connection, budget, day=self._today())
            return self._surveys.read(connection, survey.token)

        return self._transactions.write(work)

    def survey(self, token: str) -> SurveyRecord:
        """Return a survey.

        Raises
        ------
        NotFound
            There is none of this token.
        """
        return self._transactions.read(lambda c: self._surveys.read(c, token))

    def asked(self, token: str) -> tuple[FrozenSurvey, str]:
        """Return what a survey asks and its state, without counting responses.

        Raises
        ------
        NotFound
            There is none of this token.
        """
        return self._transactions.read(
            lambda c: (self._surveys.asked(c, token), self._surveys.state(c, token))
        )

    def surveys(self, *, team: str | None = None) -> list[SurveyRecord]:
        """Return all surveys, or a team's, open ones first, each group by title."""
        return self._transactions.read(lambda c: self._surveys.read_all(c, team=team))

    def close_survey(self, token: str) -> SurveyRecord:
        """End the acceptance of responses; closing a closed survey changes nothing.

        What was reserved and not begun is given back.
        """
        self._transactions.write(lambda c: self._surveys.close(c, token, day=self._today()))
        self.sweeper.survey_closed(token)
        return self.survey(token)

    def responses(self, token: str) -> list[Response]:
        """Return all responses to a survey, in an order that says nothing about arrival."""
        query = (
            select(_PARTICIPATION.c.pseudonym, _PARTICIPATION.c.level, _PARTICIPATION.c.reports)
            .where(_PARTICIPATION.c.survey == token, _PARTICIPATION.c.state == SUBMITTED)
            .order_by(_PARTICIPATION.c.id)
        )
        rows = self._transactions.read(lambda c: c.execute(query).all())
        return [Response(row.pseudonym, row.level, tuple(row.reports)) for row in rows]

    def report_rows(
        self, token: str, *, after: str = "", limit: int | None = None
    ) -> list[tuple[str, str, str]]:
        """Return pseudonym, level and reports (as JSON text) of people, by pseudonym.

        Parameters
        ----------
        token : str
        after : str
            The last pseudonym that is known already.
        limit : int, optional
            How many people at most; all by default.
        """
        pseudonym = _PARTICIPATION.c.pseudonym
        query = (
            select(pseudonym, _PARTICIPATION.c.level, as_type(_PARTICIPATION.c.reports, Text))
            .where(_PARTICIPATION.c.survey == token, _PARTICIPATION.c.state == SUBMITTED)
            .order_by(pseudonym)
            .limit(limit)
        )
        if after:
            query = query.where(pseudonym > after)
        rows = self._transactions.read(lambda c: c.execute(query).all())
        return cast("list[tuple[str, str, str]]", rows)

    def level_counts(self, token: str) -> dict[str, int]:
        """Return how many responses each level of a survey has, where there are any."""
        level = _PARTICIPATION.c.level
        query = (
            select(level, func.count())
            .where(_PARTICIPATION.c.survey == token, _PARTICIPATION.c.state == SUBMITTED)
            .group_by(level)
        )
        rows = self._transactions.read(lambda c: c.execute(query).all())
        return {row[0]: row[1] for row in rows}

    def get_or_create(self, key: str, compute: Callable[[], str]) -> str:
        """Return the stored text for `key`, computing and storing it on first use."""
        query = select(_SETTING.c.value).where(_SETTING.c.key == key)
        stored = self._transactions.read(lambda c: c.execute(query).scalar())
        if stored is not None:
            return str(stored)
        text = compute()

        def work(connection: Connection) -> str:
            first = connection.execute(query).scalar()
            if first is None:
                connection.execute(insert(_SETTING), {"key": key, "value": text})
            return text if first is None else str(first)

        return self._transactions.write(work)

    def ledger(self, participant: str) -> list[Entry]:
        """Return the account of the person behind `participant`, oldest entry first."""
        return self.accounts.entries(self.identity(participant).person)

    def persons(self) -> list[str]:
        """Return the ledger's names of all persons."""
        return self._transactions.read(lambda c: LedgerTables(c).persons())

    def entries_of(self, person: str) -> list[Entry]:
        """Return the entries of one person of the ledger, oldest first."""
        return self.accounts.entries(person)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
