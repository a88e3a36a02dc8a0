"""Relations of a closed survey over HTTP: the library's numbers, for the readers of results."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest
from tests.server.devices import Device
from tests.server.results.reading import read_page
from tests.surveys.small_surveys import define

from masquerade.analysis import declared_odds, declared_pairs, survey_relation
from masquerade.errors import ParameterError, WrongState
from masquerade.server import Services
from masquerade.server.db.single_flight import SingleFlight
from masquerade.server.results import relations
from masquerade.server.results.relations import (
    Relations,
    relatable,
    relation_table,
    relation_view,
)
from masquerade.server.surveys.survey_records import SurveyRecord
from masquerade.surveys import Choice, Number, Question, Rating, SeveralOf
from masquerade.surveys.offered_levels import FEWEST_AT_LEVEL, OfferedLevel
from masquerade.surveys.survey import Survey
from masquerade.surveys.two_parties import TwoParties

if TYPE_CHECKING:
    from tests.server.conftest import Site

QUESTIONS: tuple[Question, ...] = (
    Choice("=ill", "Worked while ill? [this year]", ("No", "Yes")),
    Choice("boss", "Does the boss know?", ("No", "Yes")),
    Rating("r", "How stressful?", 1, 3),
    Number("n", "How long?", 0, 40, "hours"),
    SeveralOf("s", "What helps?", ("Tea", "Sleep", "Friends")),
)


def answered(services: Services, low: int = 40, high: int = 0) -> SurveyRecord:
    """Return an open survey with reports to the first two questions that go together."""
    levels = ("medium", "high") if high else ("medium",)
    survey = services.surveys.open_survey(define(*QUESTIONS, levels=levels))
    rng = np.random.default_rng(11)
    for number in range(low + high):
        level, yes = ("medium" if number < low else "high"), int(rng.integers(2))
        same = yes if rng.random() < 0.9 else 1 - yes
        reports = [yes, same, int(rng.integers(3)), 7, 1]
        Device().send(services, survey, reports, level=level)
    return survey


def test_a_relation_is_the_librarys_and_is_kept(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stored terms are those of the reports; asked again, in any order, nothing is computed."""
    survey = services.surveys.close(answered(services))
    text = services.relations.text(survey, "=ill", ["r", "boss"])
    fitted = survey_relation(services.results.reports(survey), "=ill", ["boss", "r"])
    found = json.loads(text)
    assert [one["estimate"] for one in found["terms"]] == [one.estimate for one in fitted.terms]
    assert [one["low"] for one in found["terms"]] == [one.low for one in fitted.terms]
    assert found["people"] == 40
    assert found["outcome"] == "“Worked while ill? (this year)”"
    assert [one["name"] for one in found["terms"]][1] == "“Does the boss know?”[Yes]"

    def other(*_: object) -> Any:
        raise AssertionError("computed again")

    monkeypatch.setattr("masquerade.analysis.survey_relation", other)
    assert services.relations.text(survey, "=ill", ["boss", "r", "r"]) == text


def test_a_level_of_few_has_no_line(services: Services) -> None:
    """The term of a level that few people chose is fitted and not shown."""
    survey = services.surveys.close(answered(services, 30, FEWEST_AT_LEVEL - 1))
    found = services.relations.found(survey, "=ill", ["boss"])
    fitted = survey_relation(services.results.reports(survey), "=ill", ["boss"])
    assert "level[high]" in [one.name for one in fitted.terms]
    assert not any("level" in one["name"] for one in [*found["terms"], *found["naive"]])
    assert "fewer than" in found["notes"][-1]


def test_what_no_relation_takes(sqlite_services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    """Open surveys, wrong questions and too much work are refused, with advice."""
    services = sqlite_services
    survey = answered(services, 12)
    with pytest.raises(WrongState, match="is open"):
        services.relations.text(survey, "=ill", ["boss"])
    survey = services.surveys.close(survey)
    assert [one.id for one in relatable(survey.survey)] == ["=ill", "boss", "r", "n"]
    for outcome, predictors, words in (
        ("=ill", ["bos"], "Did you mean 'boss'"),
        ("s", ["boss"], "'s' is no question"),
        ("boss", ["boss", "r"], "outcome and predictor"),
        ("boss", [], "0 predictors"),
        ("n", ["boss"], "41 answers"),
    ):
        with pytest.raises(ParameterError, match=words):
            services.relations.text(survey, outcome, predictors)
    monkeypatch.setattr(relations, "MOST_WORK", 1)
    with pytest.raises(ParameterError, match="run masquerade regress"):
        services.relations.text(survey, "=ill", ["r"])
    monkeypatch.setattr(relations, "MOST_KEPT", 0)
    with pytest.raises(WrongState, match="no more are kept"):
        services.relations.text(survey, "=ill", ["boss"])


def test_one_at_a_time(sqlite_services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    """While one relation is computed another waits, then says so; nothing is held afterwards."""
    survey = sqlite_services.surveys.close(answered(sqlite_services, 12))
    monkeypatch.setattr(relations, "WAIT_SECONDS", 0.01)
    found: list[str] = []

    def meanwhile(*_: object) -> Any:
        with pytest.raises(WrongState, match="try again in a minute"):
            sqlite_services.relations.text(survey, "=ill", ["boss"])
        found.append("waited")
        raise ParameterError("this fails.")

    monkeypatch.setattr("masquerade.analysis.survey_relation", meanwhile)
    with pytest.raises(ParameterError, match="this fails"):
        sqlite_services.relations.text(survey, "=ill", ["r"])
    monkeypatch.undo()
    assert found == ["waited"]
    assert sqlite_services.relations.text(survey, "=ill", ["boss"])


def test_open_ends_lie_beyond_the_axis() -> None:
    """An interval that is open at one end is drawn to the end of the axis, and said in words."""
    term = {"answer": None, "p": 0.0004, "value": None, "slope": True}
    errors = {"sampling_error": None, "mechanism_error": None}
    found = {
        "model": "logistic",
        "naive": [{"name": "a[Yes]", "answer": None, "estimate": 0.25}],
        "terms": [
            {"name": "(constant)", "low": -1.0, "high": 90.0, **term, **errors, "slope": False},
            {"name": "a[Yes]", "low": 0.5, "high": None, **term, **errors},
            {"name": "b[Yes]", "low": None, "high": None, **term, **errors},
        ],
    }
    view = relation_view(found)
    first, second = view.rows
    assert (first.between, first.cells[0], first.reported) == ("at least 0.50", "< .001", 0.25)
    assert view.axis.at(first.high or 0.0) == view.axis.at(view.axis.high)
    assert (second.low, second.between) == (None, "")
    assert (view.axis.low, view.axis.high) == (0.0, 0.5)
    assert view.table[0].label == "Constant"


def test_the_page_and_its_files(site: Site) -> None:
    """The page has sentence, chart, table, method and files; a refusal stands above the form."""
    survey = site.services.surveys.close(answered(site.services))
    address, place = f"/api/v1/surveys/{survey.token}", f"/surveys/{survey.token}/relations"
    assert f'href="{place}"' in site.owner.get(f"/surveys/{survey.token}").text
    first = read_page(site.owner.get(place).text)
    assert [one.attributes["value"] for one in first.all("option")] == ["=ill", "boss", "r", "n"]
    asked = {"outcome": "=ill", "predictor": ["boss", "r"]}
    answer = site.owner.get(place, params=asked)
    assert answer.status_code == 200
    page = read_page(answer.text)
    found = site.owner.get(f"{address}/relations", params=asked).json()
    assert found["sentence"] in page.text
    assert page.first("ul", "plot") is not None
    assert sum(1 for _ in page.all("svg", "track")) == len(found["terms"])  # and the axis
    assert "Half a person" in page.text
    [table] = page.all("table")
    assert len(list(table.all("tr"))) == 1 + len(found["terms"])
    links = [one.attributes["href"] for one in page.all("a", "button")]
    links = [link for link in links if link.startswith(f"{address}/relations")]
    assert [site.owner.get(link).status_code for link in links] == [200, 200]
    rows = list(csv.DictReader(io.StringIO(site.owner.get(links[0]).text)))
    numbers = [one["estimate"] for one in found["terms"]]
    assert [one["estimate"] for one in rows] == ["" if one is None else str(one) for one in numbers]
    assert any(numbers)
    refused = site.owner.get(place, params={"outcome": "boss", "predictor": ["boss"]})
    assert refused.status_code == 422
    assert "outcome and predictor" in refused.text
    assert "no predictor was chosen" in site.owner.get(place, params={"outcome": "boss"}).text


def test_relations_are_for_those_who_may_see_results(site: Site) -> None:
    """A stranger sees no relation, also where the results are published."""
    survey = site.services.surveys.close(answered(site.services, 12))
    asked = {"outcome": "=ill", "predictor": ["boss"]}
    paths = [f"/api/v1/surveys/{survey.token}/{name}" for name in ("relations", "relations.csv")]
    assert [site.visitor.get(path, params=asked).status_code for path in paths] == [401, 401]
    site.services.surveys.publish(survey)
    assert [site.visitor.get(path, params=asked).status_code for path in paths] == [401, 401]


def two_party_survey() -> SurveyRecord:
    """Return a closed survey between two parties that declared pairs, and a table of three."""
    asked = (
        Rating("stress", "How stressful?", 1, 3),
        Choice("ill", "Worked while ill?", ("No", "Yes")),
        Rating("sleep", "How well do you sleep?", 1, 3),
        Choice("food", "What do you eat?", ("A", "B", "C")),
    )
    terms = TwoParties.of(
        helper="https://helper.example.org",
        operator="The other office",
        fingerprint="0" * 32,
        rho="0.5",
        cross=(("sleep", "stress"), ("food", "stress", "ill")),
    )
    level = OfferedLevel("two-parties", ())
    survey = Survey("Work", "", "pick", asked, (level,), two_parties=terms)
    return SurveyRecord(
        "0123456789abcdef",
        survey,
        survey.content_hash(),
        "closed",
        "2026-03-14",
        "2026-03-15",
        0,
        None,
    )


class Sums:
    """The sums of two parties, as a collected survey has them."""

    def sums(self, _: str) -> tuple[list[list[int]], int, int]:
        """Return sums of 300 people, stress and ill together."""
        pair = [60, 20, 20, 20, 60, 20, 20, 20, 60]
        table = [27, 7, 17, 17, 6, 26, 26, 7, 17, 16, 7, 27, 27, 6, 16, 17, 7, 27]
        counts = [100, 100, 100]
        return [counts, [150, 150], counts, counts, pair, table], 300, 0


def split_relations(services: Services) -> Relations:
    """Return the relations of a server with these sums for a survey between two parties."""
    flights = SingleFlight(services.engine, services.transactions)
    return Relations(services.results, flights, cast("Any", Sums()))


def test_two_parties_relate_pairs_that_were_declared(sqlite_services: Services) -> None:
    """Numbers: least squares of the pair, with both errors, and the correlation."""
    record, related = two_party_survey(), split_relations(sqlite_services)
    assert [one.id for one in relatable(record.survey)] == ["stress", "ill", "sleep", "food"]
    found = related.found(record, "sleep", ["stress"])
    [term] = found["terms"]
    pairs = declared_pairs(
        record.survey.encoding, Sums().sums("")[0], noise=record.survey.split_noise, people=300
    )
    assert term["estimate"] == pairs.least_squares("sleep", ["stress"]).terms[0].estimate
    assert term["estimate"] == pytest.approx(0.4)
    assert min(term["sampling_error"], term["mechanism_error"]) > 0
    assert found["correlation"]["value"] == pytest.approx(0.4)
    assert found["sentence"].startswith(
        "People with a higher answer to “How stressful?” gave higher answers to “How well do you "
        "sleep?”: by 0.4, between "
    )
    [row] = relation_view(found).rows
    assert row.text == "0.40"
    with pytest.raises(ParameterError, match="the pair stress with ill was not declared"):
        related.text(record, "stress", ["ill"])
    with pytest.raises(ParameterError, match=r"no table of .* was declared"):
        related.text(record, "sleep", ["food"])


def test_two_parties_tell_odds_from_one_table_of_all(sqlite_services: Services) -> None:
    """Labels: the log-linear fit of the table, or of a smaller one that it contains."""
    record, related = two_party_survey(), split_relations(sqlite_services)
    found = related.found(record, "ill", ["stress", "food"])
    fitted = declared_odds(
        record.survey.encoding,
        Sums().sums("")[0],
        noise=record.survey.split_noise,
        outcome="ill",
        predictors=["stress", "food"],
    )
    assert [one["estimate"] for one in found["terms"]] == [one.estimate for one in fitted.terms]
    assert [one["name"] for one in found["terms"]] == [
        *("(constant)", "“How stressful?”", "“What do you eat?”[B]", "“What do you eat?”[C]")
    ]
    assert found["sentence"].startswith(
        "People with a higher answer to “How stressful?” answered Yes to “Worked while ill?” more "
        "often: odds "
    )
    alone = related.found(record, "ill", ["stress"])
    assert (alone["model"], alone["correlation"]) == ("logistic", None)
    assert alone["terms"][1]["mechanism_error"] > found["terms"][1]["mechanism_error"] / 2
    turned = related.found(record, "food", ["ill"])
    assert turned["model"] == "multinomial"
    assert turned["sentence"].startswith("These answers do not tell whether people who answered")


def test_no_text_of_a_table_is_a_formula() -> None:
    """Ids and options that begin like a formula are texts in spreadsheets, and numbers numbers."""
    term = {"name": "=ill", "answer": "=1+1", "estimate": -1.5, "error": 1, "low": -2, "high": 1}
    term |= {"p": 0.5, "masked": True}
    table = relation_table({"terms": [term], "naive": [term]})
    [_, row] = csv.reader(io.StringIO(table))
    assert row[:3] == ["'=ill", "'=1+1", "-1.5"]
