"""``masquerade results``: the server's result, from its files."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from masquerade.cli.terminal import p_value
from masquerade.results import (
    Codebook,
    SurveyReports,
    SurveyResult,
    result_table,
    survey_result,
    write_reports,
)
from masquerade.surveys import Choice, Comparison, PairVote, Rating
from masquerade.surveys.languages import Languages
from masquerade.surveys.survey import Survey

Run = Callable[..., Any]
ROWS = [
    (f"{number:04x}", level, json.dumps([int(x) for x in (a, b, c)]))
    for number, (level, a, b, c) in enumerate(
        zip(
            ["high", "low"] * 60,
            np.random.default_rng(1).integers(2, size=120),
            np.random.default_rng(2).integers(5, size=120),
            np.random.default_rng(3).integers(2, size=120),
            strict=True,
        )
    )
]


@pytest.fixture
def book() -> Codebook:
    """The codebook of a survey at two levels."""
    definition = Survey.at_levels(
        title="[bold]Work[/bold]",
        questions=(
            Choice("c", "Which [red]one?", ("A", "B")),
            Rating("r", "How good?"),
            Comparison("p", "Which?", "X", "Y"),
        ),
        levels=("high", "low"),
    )
    return Codebook("0123456789abcdef", definition, definition.content_hash())


@pytest.fixture
def files(book: Codebook, tmp_path: Path) -> Path:
    """A folder with the reports in every kind of file, and the codebook."""
    for kind in ("csv", "parquet", "jsonl"):
        path = tmp_path / f"reports.{kind}"
        path.write_bytes(b"".join(write_reports(book, [ROWS], kind=kind)))
    (tmp_path / "codebook.json").write_text(json.dumps(book.to_json()))
    return tmp_path


def expected(book: Codebook) -> dict[str, Any]:
    """Return the result of the rows."""
    return survey_result(SurveyReports.from_rows(book, *zip(*ROWS, strict=True))).to_json()


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_every_file_gives_the_result(run: Run, files: Path, book: Codebook, kind: str) -> None:
    """The JSON is the server's object, the table its numbers, for every kind of file."""
    words = [] if kind == "parquet" else ["--codebook", files / "codebook.json"]
    out, table = files / "out.json", files / "out.csv"
    found = run(
        "results", files / f"reports.{kind}", *words, "--out", out, "--table", table, "--json"
    )
    assert found.code == 0
    assert found.json == expected(book)
    assert out.read_text() + "\n" == found.out
    assert table.read_bytes().decode() == result_table(SurveyResult.of(expected(book)))


def test_labels_are_those_of_a_language(run: Run, tmp_path: Path) -> None:
    """--language gives the other labels beside the same figures; an unknown one is refused."""
    german = {"questions/ill/options/0": "Ja", "questions/ill/options/1": "Nein"}
    spoken = Languages.from_json({"languages": ["en", "de"], "texts": {"de": german}})
    asked = (Choice("ill", "Ill?", ("Yes", "No")),)
    survey = Survey.at_levels(title="Work", questions=asked, levels=("low",), languages=spoken)
    book = Codebook("0123456789abcdef", survey, survey.content_hash())
    path = tmp_path / "reports.parquet"
    rows = [(f"p{n}", "low", f"[{n % 2}]") for n in range(30)]
    path.write_bytes(b"".join(write_reports(book, [rows], kind="parquet")))
    plain, other = (run("results", path, "--json", *more) for more in ((), ("--language", "de")))
    assert other.out == plain.out.replace('"Yes"', '"Ja"').replace('"No"', '"Nein"')
    assert "there are en, de" in run("results", path, "--language", "fr").err
    assert run("results", path, "--by", "ill", "--language", "de").code == 2


def test_people_get_tables(run: Run, files: Path) -> None:
    """Without --json every question stands in a table; markup in texts stays as it is."""
    found = run("results", files / "reports.parquet")
    assert found.code == 0
    for text in ("[bold]Work[/bold]: 120 people", "Which [red]one?", "mean", "ranking"):
        assert text in found.out


def test_people_get_the_leaderboard_of_a_list(run: Run, tmp_path: Path) -> None:
    """60 people that prefer the earlier item: each item has its ranks; no level is named as used.

    One person at level low is too few to be counted apart.
    """
    vote = PairVote("v", "Which [red]item?", ("A", "B", "C"), votes=3)
    survey = Survey.at_levels(title="T", questions=(vote,), levels=("high", "low"))
    book = Codebook("0123456789abcdef", survey, survey.content_hash())
    # (a n + b) k + report, with report 0 for the first item
    kept = json.dumps([(0 * 3 + 1) * 2, (0 * 3 + 2) * 2, (1 * 3 + 2) * 2])
    rows = [(f"{number:04x}", "low" if number == 0 else "high", kept) for number in range(60)]
    path = tmp_path / "reports.parquet"
    path.write_bytes(b"".join(write_reports(book, [rows], kind="parquet")))
    found = run("results", path)
    assert found.code == 0
    assert "Leaderboard: Which [red]item? (180 votes)" in found.out
    assert "may be ranked" in found.out
    assert "not counted at low" in found.out
    assert "some at" not in found.out


def test_p_values_are_never_zero() -> None:
    """A p-value that its digits cannot show is stated by its bound."""
    assert [p_value(one, 3) for one in (0.0, 0.00099, 0.001, 0.0234, 1.0)] == [
        "< 0.001",
        "< 0.001",
        "= 0.001",
        "= 0.023",
        "= 1.000",
    ]


def test_another_estimator_and_a_pool(run: Run, files: Path) -> None:
    """Another headline and the pool's shares can be asked for; others are refused."""
    path = files / "reports.parquet"
    found = run(
        "results", path, "--estimator", "alike", "--pool", "high=100,low=300", "--json"
    ).json
    assert found["estimator"] == "alike"
    assert [level["pool"] for level in found["levels"]] == [100, 300]
    assert "mean" in run("results", path, "--estimator", "mean").err
    assert run("results", path, "--estimator", "ivw").code == 2
    assert run("results", path, "--pool", "high").code == 2
    assert run("results", path, "--pool", "high=1,low=1").code == 1


def test_the_codebook_is_asked_for(run: Run, files: Path) -> None:
    """A CSV file alone says nothing of the questions; the message names the missing file."""
    found = run("results", files / "reports.csv", "--json")
    assert found.code == 1
    assert "--codebook" in found.err
    assert "is not a file" in run("results", files / "none.csv", "--json").err


def test_people_get_headlines_and_possible_numbers(run: Run, files: Path, book: Codebook) -> None:
    """Each question has its headline in words; percentages of a table add to 100, all possible."""
    out = run("results", files / "reports.parquet").out
    for question in expected(book)["questions"]:
        said = question["headline"]
        if said["kind"] == "interval":
            assert "wider than a quarter of the range" in out
        elif said["kind"] == "estimate":
            assert f"{100 * said['shown']:.1f} %" in out or f"{said['shown']:.3f}" in out
        rows = [line.split("│") for line in out.splitlines() if "│" in line]
        labels = [option["label"] for option in question["options"]]
        cells = [row for row in rows if row[1].strip() in labels]
        points = [row[2].strip(" %") for row in cells[: len(labels)]]
        shown = [float(point) if point != "–" else None for point in points]
        known = [share for share in shown if share is not None]
        if question["options"] and len(known) == len(labels):
            assert round(sum(known), 6) == 100
        for row, share in zip(cells, shown, strict=False):
            low, high = (float(row[place].strip(" %")) for place in (3, 4))
            assert 0 <= low <= (low if share is None else share) <= high <= 100


def test_people_are_weighed_by_a_table(run: Run, files: Path, book: Codebook) -> None:
    """--weights gives the shares of the table, and tells the fault of a wrong one."""
    question = book.questions[0]
    rows = [f"{question.id},{label},{1 / len(question.codes)}" for label in question.codes]
    table = files / "known.csv"
    table.write_text("\n".join(["question,answer,weight", *rows]), encoding="utf-8")
    plain = run("results", files / "reports.parquet", "--json").json["questions"][0]
    found = run("results", files / "reports.parquet", "--weights", table, "--json")
    assert found.code == 0
    weighted = found.json["questions"][0]
    for one, other in zip(plain["options"], weighted["options"], strict=True):
        assert one["value"] == pytest.approx(other["value"], abs=0.1)
    table.write_text("a,b\n1,2\n", encoding="utf-8")
    refused = run("results", files / "reports.parquet", "--weights", table)
    assert (refused.code, "expected question, answer" in refused.err) == (1, True)


def test_groups_and_waves_are_compared(run: Run, files: Path, book: Codebook) -> None:
    """--by gives the groups of a question, --against the differences to another survey."""
    path = files / "reports.parquet"
    by = book.questions[0].id
    found = run("results", path, "--by", by, "--json")
    assert found.code == 0
    assert {row["question"] for row in found.json["groups"]}.isdisjoint({by})
    assert "minus" in run("results", path, "--by", by).out
    other = replace(book, token="f" * 16)
    wave = files / "wave.parquet"
    rows = [(name, level, reports) for name, level, reports in ROWS[:100]]
    wave.write_bytes(b"".join(write_reports(other, [rows], kind="parquet")))
    waves = run("results", path, "--against", wave, "--json").json["differences"]
    assert {row["question"] for row in waves} <= {question.id for question in book.questions}
    assert all(row["low"] <= row["high"] for row in waves)
    assert "same reports" in run("results", path, "--against", path).err
