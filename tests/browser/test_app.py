"""The participants' app around the survey: offline, languages, keyboard, account, size."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from .accessibility import AXE, RULES
from .conftest import ANSWERS, QUESTIONS, NewVisitor, Person, Visitor, open_survey, pairs, see

pytestmark = pytest.mark.browser

FIRST_LOAD = 180_000  # bytes, headers included


def faults(page: Page, *, in_the_dark: bool) -> list[str]:
    """Return the faults that axe-core finds in a page, and targets too small to press.

    With `in_the_dark`, its colours are looked at in the dark scheme too.
    """
    page.evaluate(AXE)
    found = page.evaluate("rules => axe.run({runOnly: {type: 'tag', values: rules}})", RULES)
    assert len(found["passes"]) > 10
    wrong = found["violations"]
    if in_the_dark:
        page.emulate_media(color_scheme="dark", reduced_motion="reduce")
        wrong += page.evaluate("axe.run({runOnly: ['color-contrast']})")["violations"]
        page.emulate_media(color_scheme="light", reduced_motion="reduce")
    rules = [f"{each['id']}: {each['nodes'][0]['html']}" for each in wrong]
    small = page.evaluate(
        """() => [
          ...document.querySelectorAll("body :is(a, button, label, summary, select)")]
          .filter((each) => each.checkVisibility() && !each.matches("p a, .field label, #skip"))
          .map((each) => [each, each.getBoundingClientRect()])
          .filter(([, box]) => box.height < 44 || box.width < 44)
          .map(([each, box]) => `${each.outerHTML.slice(0, 90)} ${box.width} × ${box.height}`)"""
    )
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    return [*rules, *(f"small: {each}" for each in small), *(["too wide"] if wide > 0 else [])]


@pytest.mark.parametrize(
    ("scheme", "language"),
    [
        ("light", "en-GB"),
        pytest.param("dark", "ar", marks=pytest.mark.exhaustive),
        pytest.param("light", "ar", marks=pytest.mark.exhaustive),
        pytest.param("dark", "en-GB", marks=pytest.mark.exhaustive),
    ],
)
def test_every_screen_is_accessible(
    generous: Any, new_visitor: NewVisitor, scheme: str, language: str
) -> None:
    """axe-core finds nothing on any screen, every target is 44 pixels, nothing is cut off."""
    visitor = new_visitor(color_scheme=scheme, locale=language, reduced_motion="reduce")
    page = visitor.page
    # Between them, the runs show the reports before and after they are sent.
    reveal = "before_send" if scheme == "light" else "after_send"
    survey = open_survey(generous, topic="personal", reveal=reveal)
    found: dict[str, list[str]] = {}

    def look(name: str) -> None:
        found[name] = faults(page, in_the_dark=scheme == "light")

    page.goto(f"{generous.url}/me")
    see(page, "welcome")
    look("welcome")
    page.locator("#begin").click()
    see(page, "home")
    look("home, empty")
    page.goto(f"{generous.url}/s/{survey.token}")
    person = Person(page)
    for _ in range(len(ANSWERS) + 5):
        if person.view() == "intro":
            page.locator("details > summary").evaluate_all("all => all.forEach(e => e.click())")
        look(person.place())
        if person.view() == "done":
            break
        person.step()
    page.goto(f"{generous.url}/me")
    see(page, "home")
    look("home")
    page.goto(f"{generous.url}/me/ledger")
    see(page, "ledger")
    page.locator("#cap").fill("2000")
    page.locator("details > summary").evaluate_all("all => all.forEach(e => e.click())")
    look("ledger")
    page.goto(f"{generous.url}/me/settings")
    see(page, "settings")
    page.locator("#show-words").click()
    expect(page.locator(".recovery")).to_be_visible()
    look("settings")
    for path in ("plain", "about"):
        page.goto(f"{generous.url}/me/{path}")
        see(page, path)
        look(path)
    page.goto(f"{generous.url}/s/unknown")
    see(page, "missing")
    look("missing")
    closed = open_survey(generous)
    generous.services.surveys.close(closed)
    page.goto(f"{generous.url}/s/{closed.token}")
    see(page, "closed")
    look("closed")
    away = open_survey(generous)
    page.route("**/invitation", lambda route: route.abort())
    page.goto(f"{generous.url}/s/{away.token}")
    see(page, "away")
    look("away")
    page.unroute("**/invitation")
    page.goto(f"{generous.url}/me/settings")
    page.locator("#leave-sure").check()
    page.locator("#leave").click()
    see(page, "left")
    look("left")
    assert {name: wrong for name, wrong in found.items() if wrong} == {}
    assert len(found) == len(ANSWERS) + 15


def test_a_survey_can_be_answered_by_keyboard_alone(generous: Any, new_visitor: NewVisitor) -> None:
    """Tab, arrows, space, digits and enter lead from the invitation to the thanks."""
    survey = open_survey(generous, questions=QUESTIONS[2:6])
    page = new_visitor().page
    page.goto(f"{generous.url}/s/{survey.token}")
    person = Person(page)

    def press_until(selector: str) -> None:
        for _ in range(40):
            page.keyboard.press("Tab")
            if page.evaluate("s => document.activeElement.matches(s)", selector):
                return
        raise AssertionError(f"{selector} cannot be reached by Tab")

    def go_on(selector: str) -> None:
        before = person.place()
        press_until(selector)
        page.keyboard.press("Enter")
        expect(page.locator("main")).not_to_have_attribute("data-view", "loading")
        page.wait_for_function(
            "before => document.querySelector('main').dataset.view + ' ' + "
            "(document.querySelector('.progress span')?.textContent ?? '') !== before",
            arg=before,
        )

    assert person.view() == "intro"
    press_until('input[name="level"]')
    page.keyboard.press("ArrowDown")
    go_on("#start")
    for question in QUESTIONS[2:6]:
        if question.kind == "number":
            press_until("#number")
            page.keyboard.type("41")
            page.keyboard.press("ArrowUp")
        else:
            press_until('input[name="answer"]')
            page.keyboard.press("Space")
            page.keyboard.press("ArrowDown")
        go_on("#next")
    go_on("#seal")
    mine, _ = pairs(page)
    assert mine == ("2", "1", "42 scales", "Sentinel-Basilisk")
    go_on("#send")
    assert person.view() == "done"
    [response] = generous.services.reports.of_survey(survey.token)
    assert response.level == "medium"


def test_a_sensitive_survey_sends_before_it_shows(generous: Any, new_visitor: NewVisitor) -> None:
    """On a sensitive topic no report is on a screen until the server has it."""
    survey = open_survey(generous, topic="sensitive", reveal=None)
    page = new_visitor().page
    page.goto(f"{generous.url}/s/{survey.token}")
    person = Person(page)
    while person.view() != "revealed":
        assert page.locator(".pair").count() == 0
        person.step()
    expect(page.locator(".pair").first).to_be_visible()
    assert len(generous.services.reports.of_survey(survey.token)) == 1


@pytest.mark.parametrize(
    "reveal", ["before_send", pytest.param("after_send", marks=pytest.mark.exhaustive)]
)
def test_answers_are_masked_before_they_are_queued(
    generous: Any, new_visitor: NewVisitor, reveal: str
) -> None:
    """Without a network the draw is made and kept; with it back the response arrives once."""
    survey = open_survey(generous, reveal=reveal)
    visitor = new_visitor()
    page = visitor.page
    page.goto(f"{generous.url}/s/{survey.token}")
    page.evaluate("navigator.serviceWorker.ready")
    person = Person(page)
    person.finish("question")
    visitor.context.set_offline(True)
    person.finish("seal")
    page.locator("#seal").click()
    see(page, "waiting")
    expect(page.locator(".notice")).to_be_visible()
    page.reload()  # the app itself opens without a network, and remembers
    see(page, "waiting")
    expect(page.locator(".notice")).to_be_visible()
    assert generous.services.reports.of_survey(survey.token) == []
    visitor.context.set_offline(False)  # the page notices by itself
    person.finish()
    commitments = {
        json.loads(r.post_data or "{}")["commitment"]
        for r in visitor.requests
        if r.url.endswith("/seal")
    }
    assert len(commitments) == 1
    assert len(generous.services.reports.of_survey(survey.token)) == 1


def test_the_app_opens_without_a_network(generous: Any, new_visitor: NewVisitor) -> None:
    """Once opened, the list, the ledger and the settings open from the device alone."""
    visitor = new_visitor()
    page = visitor.page
    survey = open_survey(generous)
    page.goto(f"{generous.url}/s/{survey.token}")
    Person(page).finish()
    for path in ("/me", "/me/ledger"):
        page.goto(generous.url + path, wait_until="networkidle")
    page.evaluate("navigator.serviceWorker.ready")
    visitor.context.set_offline(True)
    for path, view in (
        ("/me", "home"),
        ("/me/ledger", "ledger"),
        ("/me/settings", "settings"),
        ("/me/plain", "plain"),
        ("/me/about", "about"),
    ):
        page.goto(generous.url + path)
        see(page, view)
    assert len(page.locator("#build").inner_text()) == 64
    page.goto(f"{generous.url}/s/{open_survey(generous).token}")
    see(page, "away")
    expect(page.locator("main")).to_contain_text("could not be reached")
    page.goto(f"{generous.url}/me")
    expect(page.locator("main")).to_contain_text("cannot be reached")
    expect(page.locator(".invitations")).to_contain_text("Beasts")


def test_the_first_load_is_small(generous: Any, new_visitor: NewVisitor) -> None:
    """A first visit loads at most 180 kB on the wire, and only from this server.

    These are the files, of which `test_the_app_is_small` allows 125 kB compressed without a kind
    and 140 kB with all; some 27 kB of headers, as each of sixty answers has its own; 10 kB of
    invitation, which is not compressed; and 7 kB of page, mostly hashes, which do not compress.
    """
    visitor = new_visitor(service_workers="block")
    survey = open_survey(generous)
    session = visitor.context.new_cdp_session(visitor.page)
    session.send("Network.enable")
    loaded: list[float] = []
    session.on("Network.loadingFinished", lambda event: loaded.append(event["encodedDataLength"]))
    visitor.page.goto(f"{generous.url}/s/{survey.token}", wait_until="networkidle")
    see(visitor.page, "intro")
    assert len(loaded) > 20
    assert 0 < sum(loaded) <= FIRST_LOAD, f"{sum(loaded):.0f} bytes"
    assert all(request.url.startswith(generous.url) for request in visitor.requests)


def test_the_language_is_chosen_and_kept(generous: Any, new_visitor: NewVisitor) -> None:
    """Arabic is written from right to left, in the middle of a survey too, and stays."""
    page = new_visitor().page
    survey = open_survey(generous)
    page.goto(f"{generous.url}/s/{survey.token}")
    Person(page).finish("question")
    page.locator('#languages [lang="ar"]').click()
    expect(page.locator("html")).to_have_attribute("dir", "rtl")
    expect(page.locator("#next")).to_have_text("التالي")
    first, second = (page.locator(f'label:has([value="{i}"])').bounding_box() for i in (0, 1))
    assert first is not None
    assert second is not None
    page.reload()
    expect(page.locator("html")).to_have_attribute("lang", "ar")
    brand, nav = page.locator(".brand").bounding_box(), page.locator("#pages").bounding_box()
    assert brand is not None
    assert nav is not None
    assert brand["x"] > nav["x"]
    page.goto(f"{generous.url}/me/settings")
    page.locator('input[name="language"][value="en"]').check()
    expect(page.locator("html")).to_have_attribute("dir", "ltr")


def test_recovery_words_take_the_account_to_another_device(
    generous: Any, new_visitor: NewVisitor
) -> None:
    """The words of one device make another one the same person; a slip is found."""
    survey = open_survey(generous)
    first, second = new_visitor().page, new_visitor().page
    first.goto(f"{generous.url}/s/{survey.token}")
    Person(first).finish()
    first.goto(f"{generous.url}/me/settings")
    first.locator("#show-words").click()
    # They are shown once the device has noted that they were, so not at once.
    expect(first.locator(".recovery code")).to_have_count(9)
    words = first.locator(".recovery code").all_inner_texts()
    second.goto(f"{generous.url}/me/settings")
    second.locator("#enter-words").fill(" ".join(words[1:] + words[:1]))
    second.locator("#use-words").click()
    expect(second.locator("#announcement")).to_contain_text("do not belong together")
    second.locator("#enter-words").fill("\n".join(words).upper())
    second.locator("#use-words").click()
    expect(second.locator("#announcement")).to_contain_text("now uses the account")
    second.goto(f"{generous.url}/me")
    expect(second.locator(".invitations")).to_contain_text("Beasts")
    second.goto(f"{generous.url}/s/{survey.token}")
    second.locator("#start").click()
    see(second, "ended")
    assert len(generous.services.profiles.persons()) == 1
    # Another account on the first device: what it counted stays, and nothing is masked twice.
    third = new_visitor().page
    third.goto(f"{generous.url}/me")
    third.locator("#begin").click()
    see(third, "home")
    third.goto(f"{generous.url}/me/settings")
    third.locator("#show-words").click()
    expect(third.locator(".recovery code")).to_have_count(9)
    others = third.locator(".recovery code").all_inner_texts()
    first.locator("#enter-words").fill(" ".join(others))
    first.locator("#use-words").click()
    expect(first.locator("#announcement")).to_contain_text("now uses the account")
    first.goto(f"{generous.url}/s/{survey.token}")
    first.locator("#start").click()
    see(first, "ended")
    expect(first.locator("main")).to_contain_text("Already answered on this device")
    first.goto(f"{generous.url}/me/ledger")
    expect(first.locator(".timeline > li")).to_have_count(1)
    assert len(generous.services.reports.of_survey(survey.token)) == 1


def test_the_bars_of_a_level_are_as_high_as_reports_are_frequent(
    generous: Any, new_visitor: NewVisitor
) -> None:
    """Under the page's own policy the bar of one's answer is the highest, the others are even."""
    survey, page = open_survey(generous, questions=QUESTIONS[:2]), new_visitor().page
    page.goto(f"{generous.url}/s/{survey.token}")
    bars = page.locator(".blur")
    expect(bars.first).to_be_visible()
    heights = """all => all.map((blur) =>
      [...blur.querySelectorAll(".fill")].map((one) => one.getBoundingClientRect().height))"""
    for one, two, three, four, five in bars.evaluate_all(heights):
        assert one == two == three == five
        assert 0 < one < four


def test_a_cap_that_is_too_low_refuses_the_survey(
    live_server: Any, new_visitor: NewVisitor
) -> None:
    """No level beyond the cap can be chosen, which the page says; nothing is begun or charged."""
    server = live_server(rate_participant=0)
    survey = open_survey(server, questions=QUESTIONS[:2])
    visitor = new_visitor()
    page = visitor.page
    page.goto(f"{server.url}/me")
    page.locator("#begin").click()
    see(page, "home")  # the account is on the disk
    page.goto(f"{server.url}/me/ledger")
    page.locator("#cap").fill("0.1")
    page.locator("#cap-save").click()
    expect(page.locator("#announcement")).to_contain_text("changed")
    page.goto(f"{server.url}/s/{survey.token}")
    expect(page.locator(".notice")).to_contain_text("allows none of these")
    expect(page.locator(".level-price").first).to_contain_text("More than your limit here")
    expect(page.locator('input[name="level"]:enabled')).to_have_count(0)
    expect(page.locator("#start")).to_have_count(0)
    assert Person(page).view() == "intro"
    [person] = server.services.profiles.persons()
    assert {entry.charge.kind for entry in server.services.ledger.entries(person)} == {"adjust"}
    page.goto(f"{server.url}/me/ledger")
    page.locator("#cap").fill("12")
    page.locator("#cap-save").click()
    page.locator("#cap-raise").click()
    expect(page.locator("#announcement")).to_contain_text("will be raised")
    expect(page.locator("main")).to_contain_text("its limit is ε 0.1 now")


def test_not_sending_and_taking_back(generous: Any, new_visitor: NewVisitor) -> None:
    """Sealed reports can be left unsent, and sent ones taken back; both stay charged."""
    unsent, sent = open_survey(generous), open_survey(generous)
    page = new_visitor().page
    page.goto(f"{generous.url}/s/{unsent.token}")
    Person(page).finish("reveal")
    page.locator("main > details summary").click()
    expect(page.locator("main")).to_contain_text("privacy is already used")
    page.locator("#dont").click()
    see(page, "ended")
    page.goto(f"{generous.url}/s/{sent.token}")
    Person(page).finish()
    page.locator("main > details summary").click()
    page.locator("#withdraw").click()
    see(page, "ended")
    page.reload()
    see(page, "ended")
    assert (
        generous.services.reports.of_survey(unsent.token)
        == generous.services.reports.of_survey(sent.token)
        == []
    )
    page.goto(f"{generous.url}/me/ledger")
    expect(page.locator(".timeline > li")).to_have_count(2)


def test_a_survey_that_closes_takes_nothing_more(generous: Any, new_visitor: NewVisitor) -> None:
    """Answers of a survey that closed meanwhile are not sent, and can be deleted."""
    survey = open_survey(generous)
    page = new_visitor().page
    page.goto(f"{generous.url}/s/{survey.token}")
    Person(page).finish("seal")
    generous.services.surveys.close(survey)
    page.locator("#seal").click()
    see(page, "closed")
    page.locator("#remove").click()
    see(page, "ended")
    page.reload()
    expect(page.locator("main")).to_contain_text("closed")


def test_somebody_can_leave(generous: Any, new_visitor: NewVisitor) -> None:
    """Deleting oneself takes responses out of open surveys and leaves nothing on the device."""
    survey = open_survey(generous)
    page = new_visitor().page
    page.goto(f"{generous.url}/s/{survey.token}")
    Person(page).finish()
    page.goto(f"{generous.url}/me/settings")
    page.locator("#leave").click()  # not without saying that one is sure
    assert len(generous.services.reports.of_survey(survey.token)) == 1
    page.locator("#leave-sure").check()
    page.locator("#leave").click()
    see(page, "left")
    assert generous.services.reports.of_survey(survey.token) == []
    page.goto(f"{generous.url}/me")
    see(page, "welcome")


def test_everything_held_can_be_taken_along(generous: Any, new_visitor: NewVisitor) -> None:
    """The export is a file with all data of the server and the device, without the secret."""
    survey = open_survey(generous)
    page = new_visitor().page
    page.goto(f"{generous.url}/s/{survey.token}")
    Person(page).finish()
    page.goto(f"{generous.url}/me/ledger")
    with page.expect_download() as download:
        page.locator("#export").click()
    held = json.loads(Path(download.value.path()).read_text(encoding="utf-8"))
    assert held["server"]["participations"][0]["survey"] == survey.token
    assert held["device"]["participations"][0]["title"] == "Beasts"
    assert "secret" not in json.dumps(held["device"])


def installability(visitor: Visitor) -> list[Any]:
    """Return the reasons for which a browser does not offer to install the app."""
    session = visitor.context.new_cdp_session(visitor.page)
    return list(session.send("Page.getInstallabilityErrors")["installabilityErrors"])


def test_the_app_can_be_installed(generous: Any, new_visitor: NewVisitor) -> None:
    """Chromium finds the manifest, its icons and the service worker in order."""
    visitor = new_visitor()
    visitor.page.goto(f"{generous.url}/me", wait_until="networkidle")
    visitor.page.evaluate("navigator.serviceWorker.ready")
    wrong = [error["errorId"] for error in installability(visitor)]
    assert set(wrong) <= {"in-incognito"}
    assert visitor.complaints == []
