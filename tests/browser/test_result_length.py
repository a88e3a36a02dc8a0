"""Ten questions of a company's pulse: the result is short on a phone and on paper."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page
from tests.patience import PATIENCE_SECONDS
from tests.server.filled import fill
from tests.surveys.employee_pulse import pulse, pulse_reports

from masquerade.server.surveys.survey_records import SurveyRecord

from .conftest import PHONE, NewVisitor

pytestmark = pytest.mark.browser

LONGEST_PIXELS, FIRST_FINDING_PIXELS, MOST_PAGES = 5000, 600, 6


def closed(server: Any, people: int, levels: tuple[str, ...], *, seed: int = 5) -> SurveyRecord:
    """Return the closed survey of so many people."""
    survey = server.services.surveys.open_survey(pulse(levels))
    fill(server.services, survey, pulse_reports(survey.survey, people, seed=seed))
    found: SurveyRecord = server.services.surveys.close(survey)
    return found


def check_short(page: Page) -> None:
    """Check length, width, where the first finding stands, and how many pages of A4 it takes."""
    sizes = page.evaluate(
        "[document.documentElement.scrollHeight, document.documentElement.scrollWidth,"
        " document.querySelector('.glance .finding').getBoundingClientRect().bottom + scrollY]"
    )
    assert sizes[0] <= LONGEST_PIXELS
    assert sizes[1] <= PHONE["width"]
    assert sizes[2] <= FIRST_FINDING_PIXELS
    # one object a page, beside the one of all pages
    paper = page.pdf(format="A4")
    assert 1 <= len(re.findall(rb"/Type\s*/Page\b(?!s)", paper)) <= MOST_PAGES


@pytest.mark.parametrize(("people", "seed"), [(60, 60), (1000, 5)])
def test_the_result_of_ten_questions_is_short(
    generous: Any, new_visitor: NewVisitor, people: int, seed: int
) -> None:
    """At 390 pixels at most 5,000, a finding within 600, 6 pages: the owner's and everybody's.

    Of 60 people levels differ in a question, which takes no more room for it.
    """
    survey = closed(generous, people, ("high", "medium", "low"), seed=seed)
    page = new_visitor(viewport=PHONE).page
    page.goto(generous.owner_link)
    page.goto(f"{generous.url}/surveys/{survey.token}")
    check_short(page)
    generous.services.surveys.publish(survey)
    page.goto(f"{generous.url}/r/{survey.token}")
    check_short(page)


def test_ten_questions_in_three_groups_are_short(generous: Any, new_visitor: NewVisitor) -> None:
    """So is the page that compares people of three sites."""
    survey = closed(generous, 300, ("medium",))
    page = new_visitor(viewport=PHONE).page
    page.goto(generous.owner_link)
    page.goto(f"{generous.url}/surveys/{survey.token}?by=site")
    # the page looks again by itself while the differences are computed
    page.locator(".groups").first.wait_for(timeout=1000 * PATIENCE_SECONDS)
    assert page.locator(".groups tbody tr").count() > 10
    check_short(page)
