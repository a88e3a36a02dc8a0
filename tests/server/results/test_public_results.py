"""The leaks of results and files besides estimates, and their limits."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import MetaData, select
from tests.server.devices import Device
from tests.surveys.small_surveys import define

from masquerade.results import Codebook, SurveyReports, survey_result
from masquerade.server import Services
from masquerade.server.surveys.survey_records import SurveyRecord
from masquerade.surveys import Choice, Number, Rating
from masquerade.surveys.survey import Survey

if TYPE_CHECKING:
    from tests.server.conftest import Site

QUESTIONS = (
    Choice("c", "Which?", ("A", "B")),
    Rating("r", "How good?"),
    Number("n", "How long?", 0, 40, "hours"),
)


def answered(services: Services, people: int = 24) -> tuple[SurveyRecord, list[str]]:
    """Return a published survey and its participants' secrets, in the order of arrival."""
    survey = services.surveys.open_survey(define(*QUESTIONS, levels=("high", "medium")))
    secrets_ = []
    for number in range(people):
        device = Device()
        device.send(
            services, survey, [number % 2, number % 5, number], level=("high", "medium")[number % 2]
        )
        secrets_.append(device.participant)
    services.surveys.close(survey)
    services.surveys.publish(services.surveys.record(survey.token))
    return services.surveys.record(survey.token), secrets_


def test_rows_of_files_tell_no_order_of_arrival(services: Services) -> None:
    """Rows come by pseudonym, which is random, and hold no time; on both databases."""
    survey, _ = answered(services)
    text = b"".join(services.results.file(survey, "csv")).decode()
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    names = [row["survey_pseudonym"] for row in rows]
    assert names == sorted(names)
    assert len(set(names)) == 24
    assert all(len(name) >= 32 for name in names)
    assert set(rows[0]) == {
        "survey_pseudonym",
        "question_id",
        "level_id",
        "mech",
        "param",
        "report",
    }


def test_what_is_published_names_nobody(site: Site) -> None:
    """Pages, picture, JSON and CSV hold no pseudonym, no secret, and no name of the database."""
    survey, secrets_ = answered(site.services)
    rows = site.services.reports.rows(survey.token)
    names = {str(pseudonym) for pseudonym, _, _ in rows} | set(secrets_)
    metadata = MetaData()
    with site.services.engine.begin() as connection:
        metadata.reflect(connection)
        for table in metadata.sorted_tables:
            for column in table.columns:
                if any(
                    part in column.name for part in ("pseudonym", "person", "identity", "ledger")
                ):
                    found = connection.execute(select(column)).scalars()
                    names |= {str(value) for value in found if value and len(str(value)) >= 16}
    assert len(names) >= 48
    api = f"/api/v1/surveys/{survey.token}"
    for path in (
        f"/r/{survey.token}",
        f"/r/{survey.token}/embed",
        f"{api}/results",
        f"{api}/results.csv",
    ):
        text = site.visitor.get(path).text
        assert len(text) > 500
        assert not [name for name in names if name in text]


def result_of(definition: Survey, reports: list[list[int]], level: str) -> dict[str, Any]:
    """Return the result of people at one level."""
    book = Codebook("0123456789abcdef", definition, definition.content_hash())
    names = [f"{n:08}" for n in range(len(reports))]
    found = SurveyReports.from_rows(book, names, [level] * len(reports), reports)
    return survey_result(found).to_json()


def test_what_is_no_estimate_comes_from_the_definition() -> None:
    """Questions, answers, order, units, guarantees, rules: the same for all reports."""
    definition = define(*QUESTIONS, levels=("medium",))
    one, other = (
        result_of(definition, reports, "medium")
        for reports in ([[0, 0, 0]] * 30, [[1, 4, 55]] * 30)
    )
    for name in (
        "survey",
        "title",
        "responses",
        "levels",
        "rules",
        "hash",
        "ledger",
        "estimator",
        "guarantee_per_participant",
        "simulated",
        "version",
    ):
        assert one[name] == other[name]
    for left, right in zip(one["questions"], other["questions"], strict=True):
        for name in (
            "id",
            "text",
            "kind",
            "unit",
            "n",
            "n_by_level",
            "mechanism",
            "forecast_standard_error",
        ):
            assert left[name] == right[name]
        assert [o["label"] for o in left["options"]] == [o["label"] for o in right["options"]]
        assert left["precision"]["by_level"] == right["precision"]["by_level"]


@pytest.mark.parametrize("people", [1, 3])
def test_answers_in_clear_are_published_as_they_are(people: int) -> None:
    """At level `none` a published share is that of the answers; of one person, it is the answer."""
    definition = define(*QUESTIONS, level="none")
    found = result_of(definition, [[1, 4, 33]] * people, "none")
    assert [option["value"] for option in found["questions"][0]["options"]] == [0, 1]
    assert found["questions"][2]["mean"]["value"] == 33
    assert found["guarantee_per_participant"]["epsilon_user"] == "inf"
