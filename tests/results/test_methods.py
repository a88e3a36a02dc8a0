"""The paragraph on methods names the steps taken, and no more; its references are whole."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.results.made_up_reports import compute, define, made_up, rows_of

from masquerade.results import SurveyResult, bibliography, methods_text
from masquerade.results.methods import REFERENCES
from masquerade.surveys import Choice, Comparison, Number

ALL_LEVELS = ("high", "medium", "low")
NUMBER = Number("n", "How long?", 0, 10, "hours")
CHOICE = Choice("c", "Which?", ("A", "B"))
PAIR = Comparison("p", "Which?", "X", "Y")


def found(*questions: Any, people: int = 60, **asked: Any) -> dict[str, Any]:
    """Return a result of made-up reports."""
    definition = define(*questions, **asked)
    return compute(definition, made_up(definition, people))


def test_what_was_done_is_named() -> None:
    """People, questions, title, promise, estimator, version and both hashes are in the text."""
    result = found(CHOICE, NUMBER, PAIR, people=1000, levels=ALL_LEVELS, title="Work & “rest”")
    text = methods_text(SurveyResult.of(result))
    assert text.startswith("1,000 people answered a survey of 3 questions (“Work & “rest””).")
    for name in ("Warner, 1965", "Canonne", "Owen", "Bradley", "fixed before"):
        assert name in text
    assert result["hash"][:16] in text
    assert result["inputs"][:16] in text
    assert f"Masquerade {result['version']}" in text
    for level in result["levels"]:
        assert f"{level['name']}: ε = " in text
    assert "Kim and Ghahramani" not in text


def test_what_was_not_done_is_not_named() -> None:
    """One level and one choice: no levels to combine or test, no noise on numbers, no ranking."""
    result = found(CHOICE)
    text = methods_text(SurveyResult.of(result))
    for name in ("Canonne", "Bradley", "Ghahramani", "fixed before"):
        assert name not in text
    assert bibliography(SurveyResult.of(result)).count("@") == 3


@pytest.mark.parametrize("estimator", ["eb", "respondent", "ivw"])
def test_the_estimator_is_the_one_that_was_fixed(estimator: str) -> None:
    """Each estimator has its own words."""
    text = methods_text(SurveyResult.of(found(CHOICE, levels=ALL_LEVELS, estimator=estimator)))
    assert ("more than 15 % of the range" in text) == (estimator == "eb")
    assert ("answer alike" in text) == (estimator == "ivw")


def test_a_promise_is_rounded_upwards() -> None:
    """The epsilon of the text is never below that of the guarantee."""
    result = found(CHOICE, levels=ALL_LEVELS)
    told = [float(x) for x in re.findall(r"ε = ([\d.]+\d)", methods_text(SurveyResult.of(result)))]
    exact = [level["guarantee"]["epsilon_user"] for level in result["levels"]]
    assert len(told) == len(exact)
    assert all(e <= t <= e + 0.001 for t, e in zip(told, exact, strict=True))


def test_few_people_at_a_level_are_not_counted_apart() -> None:
    """Where fewer than five people chose a level, the text counts no level apart."""
    definition = define(CHOICE, levels=("none", "high", "low"))
    rows = rows_of([[0]] * 3, level="none") + rows_of([[1]] * 30, level="low")
    rows += rows_of([[1]] * 9, level="high")
    text = methods_text(SurveyResult.of(compute(definition, rows)))
    assert re.search(r"none: nothing is promised, not counted apart", text)
    assert re.search(r"high: ε = [\d.]+(, δ = [\de-]+)?, not counted apart", text)
    assert re.search(r"low: ε = [\d.]+(, δ = [\de-]+)?, not counted apart", text)


def test_made_up_people_are_said_to_be() -> None:
    """Simulated results cannot be pasted as a study."""
    definition = define(CHOICE)
    result = compute(definition, made_up(definition, 9), known_shares={"c": [0.5, 0.5]})
    assert methods_text(SurveyResult.of(result)).startswith("9 simulated people")


def test_references_are_whole() -> None:
    """Each entry has a key, braces in pairs, and title and year but for the program."""
    for key, template in REFERENCES.items():
        entry = template.format(version="1.2", inputs="abc")
        assert re.match(rf"@\w+{{{key},\n", entry)
        assert entry.count("{") == entry.count("}")
        assert "title = " in entry
        assert key == "masquerade" or re.search(r"year = \{\d{4}\}", entry)


def test_clear_answers_are_said_to_be() -> None:
    """Where people could send answers as they are, the text says so and promises them nothing."""
    some = methods_text(SurveyResult.of(found(CHOICE, levels=("high", "none"))))
    assert "But for people who chose the level “none”" in some
    assert "none: nothing is promised" in some
    assert "No true answer was collected" not in some
    every = methods_text(SurveyResult.of(found(CHOICE, levels=("none",))))
    assert "Nothing was masked" in every
    assert "own device: nothing is promised." in every
    assert "Warner" not in every
    assert "undo the masks" not in every


def test_doubtful_reports_are_named() -> None:
    """The paragraph names questions with reports that no mask makes, and only then."""
    definition = define(CHOICE, levels=("high",))
    alike = methods_text(SurveyResult.of(compute(definition, rows_of([[0]] * 200, level="high"))))
    plain = methods_text(SurveyResult.of(compute(definition, made_up(definition, 200))))
    assert "Reports were not such as the masks make" in alike
    assert f"“{CHOICE.text}”" in alike
    told = define(Choice("c", "“Never again.”", ("A", "B")), levels=("high",))
    told_text = methods_text(SurveyResult.of(compute(told, rows_of([[0]] * 200, level="high"))))
    assert "in “Never again.”;" in told_text  # quoted once
    assert "Reports were not such" not in plain
    assert "no point is shown where the interval is wider than a quarter" in plain
