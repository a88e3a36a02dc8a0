"""Devices that answer surveys, and everything that a database then holds."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import httpx
from sqlalchemy import inspect
from tests.patience import PATIENCE_SECONDS

from masquerade.server import Services
from masquerade.server.participants.steps import Participation
from masquerade.server.surveys.survey_records import SurveyRecord
from masquerade.surveys.survey import commitment_of


@dataclass(frozen=True)
class Device:
    """A participant's device, as the store meets it."""

    participant: str = field(default_factory=lambda: secrets.token_hex(16))

    def reserve(
        self,
        services: Services,
        survey: SurveyRecord,
        *,
        level: str | None = None,
        key: str | None = None,
    ) -> Participation:
        """Begin a survey, by default at the first level that it offers."""
        begun, _ = services.participations.reserve(
            services.identity(self.participant),
            survey.token,
            level or survey.survey.levels[0].name,
            idempotency_key=key or secrets.token_hex(16),
        )
        return begun

    def open(
        self, services: Services, survey: SurveyRecord, *, level: str | None = None
    ) -> Participation:
        """Begin a survey and see its questions."""
        begun = self.reserve(services, survey, level=level)
        return services.participations.open(services.identity(self.participant), begun.id)

    def respond(
        self,
        services: Services,
        begun: Participation,
        reports: Sequence[int],
        salt: str,
        **wrong: Any,
    ) -> tuple[Participation, bool]:
        """Send reports that were sealed."""
        sent = {"level": begun.level.name, "survey_hash": begun.survey.hash, **wrong}
        return services.participations.respond(
            services.identity(self.participant), begun.id, reports=reports, salt=salt, **sent
        )

    def send(
        self,
        services: Services,
        survey: SurveyRecord,
        reports: Sequence[int] | None = None,
        *,
        level: str | None = None,
        **wrong: Any,
    ) -> dict[str, Any]:
        """Take all steps, with the first symbol for every question by default; return the bill."""
        sent = [0] * len(survey.survey.questions) if reports is None else list(reports)
        salt = secrets.token_hex(16)
        begun = self.open(services, survey, level=level)
        who = services.identity(self.participant)
        services.participations.seal(who, begun.id, commitment_of(begun.id, sent, salt))
        done, new = self.respond(services, begun, sent, salt, **wrong)
        assert new
        assert done.account is not None
        return asdict(done.account.bill(done.key, done.level))


def everything(services: Services) -> dict[str, list[tuple[Any, ...]]]:
    """Return all rows of all tables, each table in a fixed order."""
    with services.engine.begin() as connection:
        # As they are stored: to reflect each column's type takes longer than most tests.
        return {
            name: sorted(
                map(tuple, connection.exec_driver_sql(f'SELECT * FROM "{name}"')), key=repr
            )
            for name in inspect(connection).get_table_names()
        }


def all_at_once(*works: Callable[[], Any]) -> list[Any]:
    """Run all works in threads that start together; return the value or error of each."""
    outcomes: list[Any] = [AssertionError("did not end")] * len(works)
    start = threading.Barrier(len(works))

    def run(place: int) -> None:
        start.wait()
        try:
            outcomes[place] = works[place]()
        except Exception as error:
            outcomes[place] = error

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
    return outcomes


class Phone:
    """A participant's device that talks to a running server."""

    def __init__(self, client: httpx.Client, participant: str | None = None) -> None:
        self.client = client
        self.participant = participant or secrets.token_hex(16)
        self.headers = {"Masquerade-Participant": self.participant}

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
        """Send one request of the interface."""
        return self.client.request(
            method, f"/api/v1{path}", json=body, headers={**self.headers, **headers}
        )

    def reserve(self, token: str, level: str, key: str | None = None) -> httpx.Response:
        """Choose a level."""
        body = {"survey": token, "level": level}
        name = {"Idempotency-Key": key or secrets.token_hex(16)}
        return self.ask("POST", "/participations", body, **name)

    def open(self, id_: str) -> httpx.Response:
        """Ask for the questions."""
        return self.ask("POST", f"/participations/{id_}/open")

    def seal(self, id_: str, commitment: str) -> httpx.Response:
        """Commit to reports."""
        return self.ask("POST", f"/participations/{id_}/seal", {"commitment": commitment})

    def respond(self, id_: str, **body: Any) -> httpx.Response:
        """Send reports."""
        return self.ask("PUT", f"/participations/{id_}/response", body)

    def take_part(
        self,
        survey: SurveyRecord,
        reports: Sequence[int] | None = None,
        *,
        level: str | None = None,
    ) -> list[httpx.Response]:
        """Take all steps and return the answer to each; every one must succeed."""
        sent = [0] * len(survey.survey.questions) if reports is None else list(reports)
        level, salt = level or survey.survey.levels[0].name, secrets.token_hex(16)
        answers = [self.reserve(survey.token, level)]
        assert answers[0].status_code == 201, answers[0].text
        id_ = answers[0].json()["id"]
        answers += [
            self.open(id_),
            self.seal(id_, commitment_of(id_, sent, salt)),
            self.respond(id_, reports=sent, salt=salt, level=level, survey_hash=survey.hash),
        ]
        assert [a.status_code for a in answers] == [201, 200, 200, 201], answers[-1].text
        return answers
