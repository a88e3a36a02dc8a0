"""Responses that are counted while they are read give the same result as rows of people."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.results.made_up_reports import EVERY_KIND, Row, codebook, define, made_up

from masquerade.errors import SchemaError
from masquerade.results import (
    Codebook,
    ReportCounts,
    SurveyReports,
    cross_table,
    reports,
    result_bytes,
    survey_result,
)
from masquerade.results import report_counts as module
from masquerade.surveys import Choice, Comparison, Number
from masquerade.surveys.survey import Survey

ITEMS = ("Ant", "Bee", "Cat")
PAIRS = tuple(
    Comparison(f"{a}-{b}".lower(), "Which?", a, b, "Both alike")
    for a, b in zip(ITEMS, ITEMS[1:] + ITEMS[:1], strict=True)
)


def counted(book: Codebook, rows: list[Row], at_once: int) -> SurveyReports:
    """Return rows as they are counted in pieces."""
    counts = ReportCounts(book)
    for piece in pieces(rows, at_once):
        counts.add([(name, level, json.dumps(sent)) for name, level, sent in piece])
    return counts.reports()


def pieces(rows: list[Row], at_once: int) -> Iterator[list[Row]]:
    """Yield rows, some at a time."""
    for start in range(0, len(rows), at_once):
        yield rows[start : start + at_once]


@pytest.mark.parametrize("most_texts", [50_000, 3])
@pytest.mark.parametrize(
    "survey",
    [
        define(*EVERY_KIND, levels=("high", "medium", "low")),
        define(*PAIRS, levels=("high", "low")),
        define(Number("n", "?", -5, 5, "h"), levels=("high", "none")),
    ],
    ids=["every kind", "pairs", "number"],
)
@pytest.mark.parametrize("people", [0, 1, 200])
def test_counts_give_the_bytes_that_rows_give(
    survey: Survey, people: int, most_texts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In pieces, in another order, and packed: results and cross tables are the same bytes."""
    monkeypatch.setattr(module, "MOST_TEXTS", most_texts)
    book, rows = codebook(survey), made_up(survey, people)
    names, levels, sent = list(zip(*rows, strict=True)) or [(), (), ()]
    whole = SurveyReports.from_rows(book, names, levels, sent)
    shuffled = rows.copy()
    random.Random(people).shuffle(shuffled)
    found = counted(book, shuffled, 7)
    assert result_bytes(survey_result(found)) == result_bytes(survey_result(whole))
    assert found.digest() == whole.digest()
    ids = [question.id for question in survey.questions if isinstance(question, Choice)]
    if people > 1 and len(ids) > 1:
        tables = [json.dumps(cross_table(one, *ids[:2]).to_json()) for one in (found, whole)]
        assert tables[0] == tables[1]


@given(
    st.lists(
        st.tuples(st.sampled_from(["high", "none"]), st.integers(-(2**62), 2**62)), max_size=40
    ),
    st.integers(1, 9),
)
def test_prop_no_response_is_lost_or_doubled(sent: list[tuple[str, int]], at_once: int) -> None:
    """For all noise, each number is counted once for each person with a report."""
    survey = define(Number("n", "?", 0, 5, "h"), levels=("high", "none"))
    book = codebook(survey)
    # In clear only answers are possible.
    rows = [
        (f"{n:064x}", level, [value if level == "high" else abs(value) % 6])
        for n, (level, value) in enumerate(sent)
    ]
    found = counted(book, rows, at_once)
    for level in ("high", "none"):
        expected = sorted(report[0] for _, name, report in rows if name == level)
        assert found.at_level(level)[:, 0].tolist() == expected
        assert found.sent(level, 0).each.tolist() == expected
    assert len(found) == len(rows)


def test_the_digest_tells_other_people_apart() -> None:
    """The same responses of other people have another digest: nobody finds out by trying."""
    survey = define(Choice("c", "?", ("A", "B")), levels=("low",))
    rows = made_up(survey, 30)
    others = [(name[::-1], level, sent) for name, level, sent in rows]
    book = codebook(survey)
    assert counted(book, rows, 7).digest() != counted(book, others, 7).digest()


@pytest.mark.parametrize(
    ("level", "text", "what"),
    [
        ("low", "[2]", "report 2 is none"),
        ("other", "[0]", "level 'other' is none"),
        ("low", "[0, 1]", "there are not 1 reports"),
        ("low", '["a"]', "not all whole numbers"),
    ],
)
def test_what_cannot_be_is_refused(level: str, text: str, what: str) -> None:
    """A report that no mask gives, an unknown level, too many reports, no number."""
    survey = define(Choice("c", "?", ("A", "B")), levels=("low",))
    counts = ReportCounts(codebook(survey))
    counts.add([("p", level, text)])
    with pytest.raises(SchemaError, match=what):
        counts.reports()


def test_parts_of_any_size_join_as_whole_numbers() -> None:
    """Large numbers in one part and numbers below 0 in another do not become floats."""
    parts = [np.array([2**33]), np.array([-5]), np.array([2**62 + 1]), np.array([], dtype=np.int64)]
    joined = np.concatenate([module._packed(part) for part in parts])
    assert joined.tolist() == [2**33, -5, 2**62 + 1]
    assert joined.dtype == np.int64


@given(st.lists(st.tuples(*[st.integers(-(2**62), 2**62) | st.integers(0, 3)] * 4), max_size=30))
def test_prop_responses_come_once_in_the_order_of_their_reports(
    sent: list[tuple[int, ...]],
) -> None:
    """Of reports of any size each response is there once, ascending, with all its people."""
    rows = np.array(sent, dtype=np.int64).reshape(len(sent), 4)
    level, report, people = reports._distinct(rows[:, 0], rows[:, 1:], np.ones(len(sent), np.int8))
    expected = sorted(Counter(sent).items())
    found = [(first, *more) for first, more in zip(level.tolist(), report.tolist(), strict=True)]
    assert list(zip(found, people.tolist(), strict=True)) == expected
    assert people.dtype == np.int64
