"""The dossier of a survey: its own figures in both forms, in two languages."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from tests.surveys.small_surveys import define

from masquerade.accounting import Caps
from masquerade.server.db.tables import FIRST_TEAM
from masquerade.server.http.pages import WEB
from masquerade.server.surveys.document import Document
from masquerade.server.surveys.document_survey import survey_or_issues
from masquerade.surveys.kinds import kinds
from masquerade.surveys.offered_levels import too_dear
from masquerade.surveys.questionnaires import import_questionnaire

if TYPE_CHECKING:
    from tests.server.conftest import Site

QUESTIONS = [
    {"kind": "choice", "id": "ill", "text": "Ill | [sick] *at* <work>?", "options": ["Yes", "No"]},
    {"kind": "rating", "id": "stress", "text": "How stressful?"},
]
FIELDS = {"title": "Work & health", "questions": QUESTIONS, "levels": ["high", "low"]}


def text_of(site: Site, language: str, **fields: object) -> str:
    """Return the dossier of a draft."""
    document = Document.model_validate(FIELDS | fields)
    draft, _ = site.services.drafts.create(document, team=FIRST_TEAM)
    answer = site.owner.get(f"/api/v1/surveys/{draft.token}/dossier?language={language}")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/markdown")
    return str(answer.text)


@pytest.mark.parametrize("language", ["en", "de"])
def test_a_dossier_has_the_figures_of_its_survey(site: Site, language: str) -> None:
    """Each level stands with how far suspicions grow; more for all answers than for one."""
    text = text_of(site, language)
    assert "{" not in text
    names = {"en": ("high", "low"), "de": ("hoch", "niedrig")}[language]
    for name in names:
        [row] = re.findall(rf"^\| {name} \|(.*)\|$", text, flags=re.M)
        cells = [float(one.strip(" %").replace(",", ".")) for one in row.split("|")]
        one, half, every, every_half = cells
        assert 1 <= one < every < 50 < half < every_half <= 100
    # One question of two answers at level high has epsilon .334884: from 50 % to 58.3 %.
    alone = text_of(site, language, questions=QUESTIONS[:1])
    assert ("58.3 %" if language == "en" else "58,3 %") in alone
    assert r"Ill \| \[sick\] \*at\* &lt;work>?" in text
    assert "Work &amp; health" in text
    assert "Art. 35" in text
    assert {"en": "delta 1 in 1,000,000", "de": "Delta 1 zu 1.000.000"}[language] in text
    # A line right below a table would be a row of it.
    assert not re.search(r"^\|.*\|\n(?!\||\n)", text, flags=re.M)
    assert text.endswith("\n")
    kind = {"en": "Rating", "de": "Bewertung"}[language]
    pattern = rf"^\| How stressful\? \| {kind} \| ± (.*) \|$"
    [margin] = re.findall(pattern, text, flags=re.M)
    assert re.fullmatch(
        {"en": r"[\d.]+ points, of 1 to 5", "de": r"[\d,]+ Punkte, von 1 bis 5"}[language], margin
    )


def test_rows_of_a_matrix_are_told_apart(site: Site) -> None:
    """Each row of a matrix stands with its own words."""
    asked = {"kind": "matrix", "id": "m", "text": "How was", "rows": ["the food?", "the bed?"]}
    text = text_of(site, "en", questions=[asked])
    assert "How was – the food?" in text
    assert "How was – the bed?" in text


def test_the_german_text_has_no_english_words_of_figures(site: Site) -> None:
    """Units that people wrote stay as they are; the words around them are German."""
    asked = [
        {
            "kind": "number",
            "id": "n",
            "text": "How far?",
            "low": 0,
            "high": 2.5,
            "step": 0.5,
            "unit": "points of 100 to go",
        },
        {"kind": "choice", "id": "g", "text": "And?", "options": ["A", "B"]},
    ]
    text = text_of(site, "de", questions=asked, plan={"people": 3000})
    [row] = re.findall(r"^\| How far\? .*$", text, flags=re.M)
    assert re.fullmatch(
        r"\| How far\? \| Zahl \| ± [\d,]+ points of 100 to go, von 0 bis 2,5 \|", row
    )
    assert re.search(r"^\| And\? \| eine Antwort von mehreren \| ± [\d,]+ von 100 \|$", text, re.M)
    few = text_of(site, "de", questions=asked, plan={"people": 1})
    assert re.search(r"^\| And\? .*\| sagt nichts \|$", few, re.M)


def test_every_kind_has_its_german_name() -> None:
    """The German text has a name of its own for each kind of question."""
    source = (WEB / "templates/dossier/de.md").read_text(encoding="utf-8")
    [names] = re.findall(r"{% set kinds = ({.*?}) %}", source)
    assert set(json.loads(names)) >= set(kinds())


def test_a_dossier_is_of_open_surveys_too_and_of_no_unfinished_draft(site: Site) -> None:
    """A frozen survey has its hash in it; a draft with faults says which; strangers get none."""
    draft, _ = site.services.drafts.create(Document.model_validate(FIELDS), team=FIRST_TEAM)
    record = site.services.drafts.open(draft.token, team=FIRST_TEAM)
    path = f"/api/v1/surveys/{record.token}/dossier"
    assert record.hash in site.owner.get(path).text
    assert site.visitor.get(path).status_code == 401
    assert site.owner.get(f"{path}?language=xx").status_code == 422
    bad, _ = site.services.drafts.create(
        Document.model_validate(FIELDS | {"questions": []}), team=FIRST_TEAM
    )
    assert site.owner.get(f"/api/v1/surveys/{bad.token}/dossier").status_code == 422


def test_levels_that_nobody_can_afford_are_named_wherever_a_draft_is_judged(
    site: Site,
) -> None:
    """Draft, check, review page, dossier and import name the same level, and no other (12 ratings).

    One of two levels is too dear, so that the draft is valid.
    """
    rating = {"kind": "rating", "text": "How?", "allow_skip": False}
    ratings = [{**rating, "id": f"q{place}"} for place in range(12)]
    document = Document.model_validate(FIELDS | {"questions": ratings})
    survey, _ = survey_or_issues(document, allow_clear=False, today="2026-01-01")
    assert survey is not None
    [sentence] = too_dear(survey.levels, Caps())
    assert sentence.startswith("At level low nobody can take part with the usual cap")
    [percent] = re.findall(r"takes (\d+) %", sentence)
    assert int(percent) > 100
    token = site.services.drafts.create(document, team=FIRST_TEAM)[0].token
    address = f"/api/v1/surveys/{token}"
    draft = site.owner.get(address).json()
    wanted = [{"pointer": "/levels", "detail": sentence}]
    assert (draft["valid"], draft["errors"], draft["warnings"]) == (True, [], wanted)
    assert site.owner.post(f"{address}/validate").json()["warnings"] == wanted
    assert site.owner.get(f"/surveys/{token}/review").text.count(sentence) == 1
    german = {"Accept-Language": "de"}
    page = site.owner.get(f"/surveys/{token}/review", headers=german).text
    assert f"niemand teilnehmen: Eine Antwort braucht {percent} % davon" in page
    for language, said in (("en", sentence.partition(". ")[0]), ("de", f"{percent} % davon.**")):
        text = site.owner.get(f"{address}/dossier?language={language}").text
        assert text.count(said) == 1
    file = json.dumps(document.to_json()).encode()
    assert import_questionnaire(file).too_dear() == [sentence]
    assert import_questionnaire(file).report()["warnings"] == [sentence]
    fewer = json.dumps(Document.model_validate(FIELDS).to_json()).encode()
    assert import_questionnaire(fewer).too_dear() == []


@pytest.mark.parametrize(
    ("levels", "claims", "denies"),
    [
        (("high",), "every stored answer is a report", "as they are"),
        (("high", "none"), "every other stored answer is a report", "| every stored answer"),
        (("none",), "nothing masks them", "by chance on the person"),
    ],
)
def test_answers_in_clear_are_not_said_to_be_behind_noise(
    site: Site,
    monkeypatch: pytest.MonkeyPatch,
    levels: tuple[str, ...],
    claims: str,
    denies: str,
) -> None:
    """A dossier calls stored answers reports as far as they are masked."""
    monkeypatch.setattr(site.services.surveys._surveys, "allow_clear", True)
    survey = site.services.surveys.open_survey(define(levels=levels))
    path = f"/api/v1/surveys/{survey.token}/dossier"
    text = site.owner.get(path).text
    assert claims in text
    assert denies not in text
    german = site.owner.get(f"{path}?language=de").text
    assert ("jede gespeicherte Antwort ist eine" in german) == (levels == ("high",))
    assert ("wie sie sind; nichts maskiert sie" in german) == (levels == ("none",))
