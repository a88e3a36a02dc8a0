"""The pages of surveyors and helpers, seen by axe-core in narrow, wide, light and dark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from masquerade.server.db.tables import FIRST_TEAM
from masquerade.server.surveys.templates import TEMPLATES

from .conftest import NewVisitor, Person, close_survey
from .test_two_parties import HelperProcess, helper, leader, propose

pytestmark = pytest.mark.browser

__all__ = ["helper", "leader"]  # fixtures

Faults = Callable[..., dict[str, Any]]


def test_every_page_of_the_helper_is_accessible(
    leader: Any, helper: HelperProcess, new_visitor: NewVisitor, faults: Faults
) -> None:
    """For strangers, with nothing to do, with a question, approved, refused, with a token."""
    page = new_visitor().page
    page.goto(helper.address)
    found = faults(page, "helper-stranger")
    page.goto(helper.link)
    found.update(faults(page, "helper-empty"))
    _, _, ask = propose(leader, helper)
    page.reload()
    page.locator("details > summary").first.click()
    found.update(faults(page, "helper-proposed"))
    page.get_by_role("button", name="Refuse").click()
    expect(page.locator(".badge")).to_have_text("refused")
    assert ask() == "refused"
    page.get_by_label("Name of a leader").fill("The other office")
    page.get_by_role("button", name="Make a token").click()
    expect(page.get_by_role("status")).to_contain_text("The other office")
    found.update(faults(page, "helper-token"))
    assert not found, found


def test_every_page_of_who_asks_is_accessible(
    leader: Any,
    helper: HelperProcess,
    new_visitor: NewVisitor,
    faults: Faults,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """From choosing trust to the published result: audience, live, adding up, failed, result."""
    owner, operator = new_visitor(), new_visitor()
    services, page = leader.services, owner.page
    page.goto(leader.owner_link)
    draft, _ = services.drafts.create(TEMPLATES["pick"].document(), team=FIRST_TEAM)
    page.goto(f"{leader.url}/surveys/{draft.token}/audience")
    page.get_by_label("Two parties").check()
    expect(page.locator("#saved")).to_have_text("Saved")
    page.locator("summary", has_text="Add a helper").click()
    found = faults(page, "audience-add")
    page.locator("#adding").get_by_label("Address").fill(helper.address)
    page.locator("#adding").get_by_label("Fingerprint").fill(helper.fingerprint)
    page.locator("#adding").get_by_label("Token").fill("mqh_mistyped")
    page.get_by_role("button", name="Add", exact=True).click()
    fault = page.locator("#adding .error:not([hidden])")
    expect(fault).to_contain_text("does not know this server's token")
    expect(page.get_by_label("Token")).to_be_focused()
    found.update(faults(page, "audience-wrong-token"))
    page.locator("#adding").get_by_label("Token").fill(helper.token)
    page.get_by_label("Fingerprint").fill("0" * 32)
    page.get_by_role("button", name="Add", exact=True).click()
    expect(fault).to_contain_text("call the operator")
    expect(fault).to_contain_text(" ".join(["0000"] * 8))
    assert all("422" in one for one in owner.complaints), owner.complaints
    owner.complaints.clear()
    page.locator("#adding").get_by_label("Fingerprint").fill(helper.fingerprint)
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_label("Second party", exact=True)).to_have_value(helper.address)
    page.get_by_label("Show no sum of fewer people than").fill("3")
    expect(page.locator("#saved")).to_have_text("Saved")
    found.update(faults(page, "audience-added"))
    page.goto(f"{leader.url}/surveys/{draft.token}/review")
    expect(page.get_by_text("The helper was not asked yet.")).to_be_visible()
    expect(page.locator("#open-it")).to_have_count(0)
    found.update(faults(page, "review-not-asked"))
    page.get_by_role("link", name="The helper’s approval").click()
    page.get_by_role("button", name="Ask the helper").click()
    expect(page.get_by_text("Waiting.")).to_be_visible()
    found.update(faults(page, "audience-waiting"))
    operator.page.goto(helper.link)
    operator.page.get_by_role("button", name="Refuse").click()
    expect(operator.page.locator(".badge")).to_have_text("refused")
    page.get_by_role("button", name="Look again").click()
    expect(page.get_by_text("Refused.")).to_be_visible()
    found.update(faults(page, "audience-refused"))
    page.get_by_role("button", name="Ask again").click()
    expect(page.get_by_text("Waiting.")).to_be_visible()
    operator.page.reload()
    operator.page.get_by_role("button", name="Approve").click()
    expect(operator.page.get_by_text("approved", exact=True)).to_be_visible()
    found.update(faults(operator.page, "helper-approved"))
    page.get_by_role("button", name="Look again").click()
    expect(page.get_by_text("Approved.")).to_be_visible()
    page.get_by_label("Show no sum of fewer people than").fill("4")
    expect(page.locator("#saved")).to_have_text("Saved")
    page.reload()
    expect(page.get_by_text("You changed it since it was approved.")).to_be_visible()
    page.get_by_label("Show no sum of fewer people than").fill("3")
    expect(page.locator("#saved")).to_have_text("Saved")
    page.reload()
    expect(page.get_by_text("Approved.")).to_be_visible()
    found.update(faults(page, "audience-approved"))
    page.get_by_role("link", name="Open survey").click()
    shown = page.frame_locator("#phone").locator("main")
    expect(shown).to_contain_text("The works council of Beasts")  # as people will see it
    found.update(faults(page, "review"))
    page.locator("#open-it").click()
    link = page.locator("#share").get_attribute("href")
    assert link is not None
    for answer in range(3):
        participant = new_visitor()
        participant.page.goto(link)
        Person(participant.page, [answer] * 4, "two-parties").finish()
    page.reload()
    found.update(faults(page, "live"))
    add_up = services.aggregation.run
    monkeypatch.setattr(services.aggregation, "run", lambda **_: 0)  # so that waiting is seen
    close_survey(page)
    found.update(faults(page, "adding-up"))
    expect(page.get_by_role("button", name="Publish results")).to_have_count(0)
    add_up()  # unless the server's own round, begun before, is at it
    monkeypatch.setattr(services.aggregation, "run", add_up)
    expect(page.locator(".results")).to_be_visible()  # the page looks by itself
    found.update(faults(page, "result"))
    found.update(_published(page, new_visitor().page, leader.url, faults))
    operator.page.reload()
    found.update(faults(operator.page, "helper-added"))
    page.goto(f"{leader.url}/surveys")
    found.update(faults(page, "surveys"))
    assert not found, found
    assert not owner.complaints
    assert not operator.complaints


def _published(page: Page, stranger: Page, url: str, faults: Faults) -> dict[str, Any]:
    """Publish the result; return faults of the pages that everybody sees, which speak of halves."""
    page.get_by_text("Publish results").first.click()
    page.get_by_role("button", name="Publish them").click()
    token = page.url.rpartition("/")[2]
    stranger.goto(f"{url}/r/{token}")
    expect(stranger.locator("main")).to_contain_text("unless both put their halves together")
    expect(stranger.locator("main")).not_to_contain_text("masked on")
    found = faults(stranger, "public")
    stranger.goto(f"{url}/r/{token}/embed")
    expect(stranger.locator("body")).to_contain_text("split between two parties")
    expect(stranger.locator("body")).not_to_contain_text("masked")
    return found
