"""Scripts in the texts of a survey and in addresses: every page shows them, none runs them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

import pytest

from masquerade.surveys import Choice, Comparison, Number, Question, Rating

from .conftest import NewVisitor, Person, Visitor, open_survey, respond

pytestmark = pytest.mark.browser

PAYLOADS = (
    '<script data-planted="1">alert("planted")</script>',
    '"><img data-planted="2" src=x onerror=alert("planted")>',
    "'><svg data-planted=3 onload=alert`planted`></svg>",
    '</script></textarea></title><script data-planted="4">alert("planted")</script>',
    "{{ 7 * 191 }} {% raise %} ${7 * 191} javascript:alert('planted')",
    "<!--<base data-planted=5 href=//example.invalid>-->\u2028\u202e",
)


def question_texts() -> tuple[Question, ...]:
    """Return questions with a payload as each text."""
    one, two, three, four, five, six = (payload[:80] for payload in PAYLOADS)
    return (
        Choice("c", one, (two, three, four), allow_skip=True),
        Rating("r", two, 1, 3, low_label=one[:60], high_label=five[:60]),
        Number("n", three, 0, 10, two[:12]),
        Comparison("p", four, one, two, tie=three),
        Choice("d", six + five, (five, six)),
    )


def watch(visitor: Visitor) -> list[str]:
    """Return the list of dialogs that pages of a visitor open."""
    dialogs: list[str] = []

    def hear(dialog: Any) -> None:
        dialogs.append(dialog.message)
        dialog.dismiss()

    visitor.page.on("dialog", hear)
    return dialogs


def check(visitor: Visitor, dialogs: list[str]) -> None:
    """Check that nothing planted became an element, ran, or was stopped by the policy only."""
    assert visitor.page.locator("[data-planted]").count() == 0, visitor.page.url
    assert "1337" not in visitor.page.locator("body").inner_text(), visitor.page.url
    assert dialogs == []
    # A page that is not there is named in the console by the browser itself.
    assert [text for text in visitor.complaints if "Failed to load resource" not in text] == []


def pages_of(app: Any) -> set[str]:
    """Return the paths of all pages that are read."""

    def of(holder: Any, depth: int = 0) -> Iterator[str]:
        for route in getattr(holder, "routes", []) if depth < 6 else []:
            path = getattr(route, "path", "")
            if path and "GET" in (getattr(route, "methods", None) or ()):
                yield path
            for name in ("original_router", "router"):
                yield from of(getattr(route, name, None), depth + 1)

    return {p for p in of(app) if not p.startswith(("/api/", "/app/", "/static", "/metrics"))}


@pytest.mark.slow
def test_what_a_survey_says_is_shown_and_never_run(generous: Any, new_visitor: NewVisitor) -> None:
    """Each page of a surveyor and each screen of a participant shows scripts as text."""
    survey = open_survey(
        generous,
        title=PAYLOADS[0],
        description="".join(PAYLOADS),
        questions=question_texts(),
        levels=("high", "none"),
    )
    for _ in range(6):
        respond(generous, survey)
    phone = new_visitor()
    dialogs = watch(phone)
    phone.page.goto(f"{generous.url}/s/{survey.token}")
    person = Person(phone.page, answers=(0, 1, 5, 2, 1))
    for _ in range(40):
        check(phone, dialogs)
        if person.view() == "done":
            break
        person.step()
    assert person.view() == "done"
    for path in ("/me", "/me/ledger", "/me/settings", f"/s/{survey.token}"):
        phone.page.goto(generous.url + path, wait_until="networkidle")
        check(phone, dialogs)
    owner = new_visitor(viewport={"width": 1280, "height": 900})
    dialogs = watch(owner)
    owner.page.goto(generous.owner_link)
    paths = [
        p.replace("{token}", survey.token)
        for p in pages_of(generous.app)
        if "{" not in p.replace("{token}", "") and "." not in p
    ]
    assert f"/surveys/{survey.token}" in paths
    assert len(paths) > 8
    shown = ""
    for closed in (False, True):
        if closed:
            generous.services.surveys.close(survey)
        for path in sorted(paths):
            # What is on a page that names no survey is the same before and after.
            if path not in ("/owner", "/metrics") and (survey.token in path or not closed):
                owner.page.goto(generous.url + path, wait_until="networkidle")
                check(owner, dialogs)
                shown += owner.page.locator("body").inner_text()
    assert "<script" in shown


@pytest.mark.parametrize(
    "payloads",
    [
        pytest.param(["".join(PAYLOADS[:3])], id="together"),
        pytest.param(PAYLOADS[:3], id="each-alone", marks=pytest.mark.exhaustive),
    ],
)
def test_what_an_address_says_is_never_run(
    generous: Any, new_visitor: NewVisitor, payloads: Sequence[str]
) -> None:
    """Scripts in any part of an address of any page, and in its query, are text or not shown."""
    visitor = new_visitor(viewport={"width": 1280, "height": 900})
    dialogs = watch(visitor)
    visitor.page.goto(generous.owner_link)
    names = ("template", "next", "token", "error", "message", "q", "level")
    for path in sorted(pages_of(generous.app)):
        for payload in payloads:
            planted = quote(payload, safe="")
            query = "&".join(f"{name}={planted}" for name in names)
            here = path
            while "{" in here:
                start, _, rest = here.partition("{")
                here = start + planted + rest.partition("}")[2]
            if here.endswith((".csv", ".json")) and "{" not in path:
                continue
            answer = visitor.context.request.get(f"{generous.url}{here}?{query}")
            assert answer.status < 500, here
            if "text/html" in answer.headers.get("content-type", ""):
                visitor.page.goto(f"{generous.url}{here}?{query}")
                check(visitor, dialogs)
