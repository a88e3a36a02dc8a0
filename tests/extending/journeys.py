"""An addition goes from its definition to the result; run by test_extending on a copy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect
from tests.browser.conftest import (  # the fixtures are used by their names
    GENEROUS,
    NewVisitor,
    Person,
    close_survey,
    generous,
    new_visitor,
)
from typer.testing import CliRunner

import masquerade as mq
from masquerade.accounting import audit
from masquerade.cli import app
from masquerade.client import Client
from masquerade.server.db.tables import FIRST_TEAM
from masquerade.surveys.kinds import kinds

__all__ = ["GENEROUS", "generous", "new_visitor"]
PEOPLE = 8


@pytest.mark.browser
def test_a_kind_goes_from_the_builder_to_the_result(
    generous: Any,
    new_visitor: NewVisitor,
    tmp_path: Path,
) -> None:
    """Built by hand, previewed, answered on a phone and by a program, closed, read and exported."""
    desk = new_visitor(viewport={"width": 1280, "height": 900})
    page = desk.page
    page.goto(generous.owner_link)
    page.get_by_role("button", name="Use “").first.click()
    expect(page.locator(".outline-entry").first).to_be_visible()
    token = page.url.split("/")[-2]
    while page.locator(".outline-entry").count() > 1:
        page.locator(".outline-entry").nth(1).click()
        page.get_by_role("button", name="Remove", exact=True).click()
    page.locator(".add summary").click()
    page.get_by_role("button", name="Traffic light").click()
    fields = page.locator("#properties")
    fields.get_by_label("Question", exact=True).fill("How does it stand?")
    fields.get_by_label("Topic", exact=True).fill("Sentinel-Lanterns")
    fields.get_by_label("Offer “Prefer not to say”").check()
    expect(page.locator("#saved")).to_have_text("Saved")
    preview = page.frame_locator("iframe")
    expect(preview.get_by_role("radio")).to_have_count(4)
    shown = preview.locator("fieldset").inner_text()
    [kept] = generous.services.drafts.draft(token, team=FIRST_TEAM).document.questions
    assert (kept["kind"], kept["topic"]) == ("traffic_light", "Sentinel-Lanterns")
    page.get_by_role("link", name="Open survey").click()
    page.locator("#open-it").click()
    expect(page.locator("#responses")).to_have_text("0")

    phone = new_visitor()
    phone.page.goto(f"{generous.url}/s/{token}")
    person = Person(phone.page, answers=(2,), level="medium")
    person.finish("question")
    # The preview is drawn by the same code; it knows no mask yet, of which "masked too" is said.
    assert phone.page.locator("fieldset").inner_text().split() == shown.split()
    person.finish()
    assert not any("Sentinel" in (one.post_data or "") for one in phone.requests)
    for number in range(PEOPLE):
        with Client(generous.url, home=tmp_path / str(number)) as me:
            me.device.set_caps(epsilon=1000, confirm=True)
            part = me.begin(token, "medium")
            [question] = part.open()
            assert (question.kind, question.labels) == ("traffic_light", ("Red", "Amber", "Green"))
            part.answer({question.id: question.labels[number % 3] if number else None})
    page.reload()
    expect(page.locator("#responses")).to_have_text(str(PEOPLE + 1))
    close_survey(page)
    expect(page.get_by_text("Privacy bill")).to_be_visible()
    for word in ("How does it stand?", "Red", "Amber", "Green"):
        expect(page.locator("main")).to_contain_text(word)
    assert desk.complaints == []
    assert phone.complaints == []
    record = generous.services.surveys.record(token)
    result = generous.services.results.result(record).to_json()
    assert [one["label"] for one in result["questions"][0]["options"]][:3] == [
        "Red",
        "Amber",
        "Green",
    ]
    reports = generous.services.results.reports(record)
    book = json.loads(json.dumps(reports.codebook.to_json()))
    assert book["questions"][0]["codes"] == ["Red", "Amber", "Green", "Prefer not to say"]
    assert len(reports) == PEOPLE + 1


def test_a_mechanism_goes_from_its_text_to_the_truth_and_the_audit(tmp_path: Path) -> None:
    """Read, drawn on claims, inferred through, priced and audited, in Python and in commands."""
    mechanism = mq.mechanisms.parse_mechanism("half-truth:options=3")
    claims, truths = mq.simulate.crowd(
        np.random.default_rng(5), tasks=60, workers=300, options=3, answers_per_task=60
    )
    reports = mechanism.simulate(claims, np.random.default_rng(6))
    fit = mq.truth.MajorityVote().fit(reports, mechanism=mechanism)
    # Keeps 2/3 of answers that are right two times in three: each task of 60 answers is found.
    assert mq.truth.accuracy(fit, truths) > 0.9
    report = audit(mechanism, rng=np.random.default_rng(7))
    assert (report.verdict, str(report.exact_epsilon)) == ("holds", "1.386295")
    claims.write(path := tmp_path / "claims.csv")
    run = CliRunner()
    for command in (
        ["privacy", "half-truth:options=3", "--answers", "4"],
        ["audit", "half-truth:options=3"],
        [
            *("randomize", str(path), "--mechanism", "half-truth:options=3"),
            *("--options", "0,1,2", "--out", str(tmp_path / "reports.csv")),
        ],
    ):
        done = run.invoke(app, [*command, "--json"])
        assert done.exit_code == 0, done.output
        assert "half-truth" in done.output or "1.386295" in done.output


def test_a_method_goes_from_its_name_to_the_labels(tmp_path: Path) -> None:
    """Named on the command line, it infers labels from masked claims."""
    claims = mq.Claims.from_frame(
        {"task": ["a", "a", "b"], "worker": ["x", "y", "x"], "label": ["yes", "no", "yes"]},
        options=["no", "yes"],
    )
    claims.write(path := tmp_path / "claims.csv")
    run = CliRunner()
    done = run.invoke(
        app,
        [
            "truth",
            str(path),
            "--method",
            "first-leader",
            "--out",
            str(tmp_path / "t.csv"),
            "--json",
        ],
    )
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["method"] == "first-leader"
    assert (tmp_path / "t.csv").read_text().replace(chr(34), "").split()[1:] == ["a,no", "b,yes"]


def test_what_was_added_is_in_the_documentation() -> None:
    """The page of the architecture names kind, mechanism and method with their files."""
    from tools.extending import table

    text = table()
    for name in ("traffic_light", "half-truth", "first-leader"):
        assert f"`{name}`" in text
    assert "traffic_light" in kinds()
