"""Published results: for everybody, without a session, for a while, and nothing else."""

from __future__ import annotations

import csv
import html
import io
import re
from typing import TYPE_CHECKING

import httpx
import pytest
from tests.server.devices import Device
from tests.surveys.small_surveys import define
from tests.surveys.test_look import png

from masquerade.accounting import Caps
from masquerade.errors import WrongState
from masquerade.server.routes.publication import EMBED_POLICY
from masquerade.server.services import Services
from masquerade.server.surveys.survey_records import SurveyRecord
from masquerade.surveys import Choice, Rating
from masquerade.surveys.languages import Languages
from masquerade.surveys.look import Look

if TYPE_CHECKING:
    from tests.conftest import LiveServers
    from tests.server.conftest import Site

LEVELS = ("high", "medium")


def closed(services: Services, *, title: str = "Work", people: int = 14) -> SurveyRecord:
    """Return a closed survey; fewer than five people chose the second level."""
    survey = services.surveys.open_survey(
        define(levels=LEVELS, title=title, description="About work.")
    )
    for number in range(people):
        Device().send(services, survey, [number % 2, number % 5], level=LEVELS[number % 4 == 0])
    return services.surveys.close(survey)


@pytest.fixture
def published(site: Site) -> SurveyRecord:
    """A survey with published results."""
    survey = closed(site.services)
    site.services.surveys.publish(survey)
    return site.services.surveys.record(survey.token)


def test_only_what_is_published_is_there(site: Site) -> None:
    """Open, closed, unpublished and unknown surveys are answered alike."""
    opened = site.services.surveys.open_survey(define())
    survey = closed(site.services)
    ask = {"Accept": "text/html"}

    def pages(token: str) -> list[tuple[int, str]]:
        answers = [site.visitor.get(f"/r/{token}{path}", headers=ask) for path in ("", "/embed")]
        # The link to the other language leads back to what was asked for.
        return [(one.status_code, re.sub(r"next=/r/[^\"]*", "", one.text)) for one in answers]

    unknown = pages("0123456789abcdef")
    assert [status for status, _ in unknown] == [404, 404]
    assert pages(opened.token) == pages(survey.token) == pages("%00") == unknown
    site.owner.post(f"/surveys/{survey.token}/publish")
    assert [status for status, _ in pages(survey.token)] == [200, 200]
    page = site.owner.post(f"/surveys/{survey.token}/unpublish")
    assert "Publish results" in page.text
    assert pages(survey.token) == unknown
    site.owner.post(f"/surveys/{survey.token}/publish")
    assert [status for status, _ in pages(survey.token)] == [200, 200]


def test_everybody_gets_the_same_page(site: Site, published: SurveyRecord) -> None:
    """The page knows no session: no name, no form, no token, no cookie; and no single report."""
    for path in ("", "/embed"):
        seen = site.visitor.get(f"/r/{published.token}{path}")
        assert site.owner.get(f"/r/{published.token}{path}").text == seen.text
        assert "set-cookie" not in seen.headers
        for word in ("csrf", "Sign out", "reports.", "codebook", "notebook", "<form"):
            assert word not in seen.text
    assert 'class="plot"' in seen.text
    page = site.visitor.get(f"/r/{published.token}").text
    assert "Privacy bill" in page
    assert f"Closed on {published.closed}" in page  # a day, and no other time
    assert not re.search(r"\d\d:\d\d:\d\d", page)


def test_the_survey_keeps_its_colour(site: Site) -> None:
    """The published page and its embedded form have the colour; without one they ask for none."""
    for colour in ("#a3182f", ""):
        survey = site.services.surveys.open_survey(define(look=Look(colour)))
        address = f"/r/{survey.token}"
        assert site.visitor.get(f"{address}/look.css").status_code == 404
        site.services.surveys.publish(site.services.surveys.close(survey))
        sheet = site.visitor.get(f"{address}/look.css")
        assert sheet.headers["content-type"].startswith("text/css")
        assert sheet.text == Look(colour).style
        for path in ("", "/embed"):
            page = site.visitor.get(f"{address}{path}")
            assert (f'href="{address}/look.css"' in page.text) == bool(colour)
            assert "style-src 'self'" in page.headers["content-security-policy"]


def test_the_survey_keeps_its_logo(site: Site) -> None:
    """The published page has the logo, with its words for people who do not see it."""
    logo = png()
    survey = site.services.surveys.open_survey(define(look=Look("#a3182f", logo, "The club")))
    site.services.surveys.publish(site.services.surveys.close(survey))
    page = site.visitor.get(f"/r/{survey.token}").text
    assert f'<img class="survey-logo" src="{logo}" alt="The club">' in html.unescape(page)
    assert (
        "img-src 'self' data:"
        in site.visitor.get(f"/r/{survey.token}").headers["content-security-policy"]
    )


def test_readers_see_a_language_of_the_survey(site: Site) -> None:
    """A browser's wish, or the menu, chooses the texts; figures stay; another language is named."""
    german = {"title": "Arbeit", "questions/ill/options/0": "Ja", "questions/ill/text": "Krank?"}
    spoken = Languages.from_json({"languages": ["en", "de"], "texts": {"de": german}})
    survey = site.services.surveys.open_survey(
        define(Choice("ill", "Ill?", ("Yes", "No")), languages=spoken)
    )
    for number in range(24):
        Device().send(site.services, survey, [number % 2])
    site.services.surveys.publish(site.services.surveys.close(survey))
    pages = {}
    for path in ("", "/embed"):
        address = f"/r/{survey.token}{path}"
        wish = {"Accept-Language": "fr, de-AT;q=0.8, en;q=0.5"}
        seen = site.visitor.get(address, headers=wish)
        assert "Accept-Language" in seen.headers["vary"]
        asked = site.visitor.get(f"{address}?language=de", headers={"Accept-Language": "en"})
        assert asked.text == seen.text
        pages[path] = seen.text, site.visitor.get(address, headers={"Accept-Language": "en"}).text
        for text, words in zip(pages[path], (("Arbeit", "Krank?"), ("Work", "Ill?")), strict=True):
            assert all(word in text for word in words)
        numbers = [re.findall(r' (?:cx|width|x|x1|x2)="[0-9.]+%"', one) for one in pages[path]]
        assert numbers[0] == numbers[1] != []
    page = pages[""][0]
    assert 'lang="de" hreflang="de" aria-current="true"' in page
    assert f"/api/v1/surveys/{survey.token}/results.csv?language=de" in page
    file = site.visitor.get(f"/api/v1/surveys/{survey.token}/results.csv?language=de").text
    assert "Ja" in file
    assert "Yes" not in file
    for address in (f"/r/{survey.token}", f"/api/v1/surveys/{survey.token}/results"):
        refused = site.visitor.get(f"{address}?language=fr")
        assert refused.status_code == 422
        assert "there are en, de" in html.unescape(refused.text)
    plain = closed(site.services)
    site.services.surveys.publish(plain)
    refused = site.visitor.get(f"/api/v1/surveys/{plain.token}/results?language=de")
    assert (refused.status_code, "one alone" in refused.text) == (422, True)
    assert "Language of the questions" not in site.visitor.get(f"/r/{plain.token}").text


def test_rules_of_publication_hold(site: Site, published: SurveyRecord) -> None:
    """A level of four people has no line of its own; no page, file or JSON tells their number.

    Nor does one tell the other level's, from which and the total it would follow.
    """
    for path in ("", "/embed"):
        page = site.visitor.get(f"/r/{published.token}{path}").text
        assert not re.search(r"medium\s*<small>", page)
    page = site.visitor.get(f"/r/{published.token}").text
    assert "high: not counted apart; medium: not counted apart" in page
    found = site.visitor.get(f"/api/v1/surveys/{published.token}/results").json()
    assert [level["responses"] for level in found["levels"]] == [None, None]
    assert [level["share"] for level in found["levels"]] == [None, None]
    assert set(found["ledger"]["rho_total"].values()) == {None}
    for question in found["questions"]:
        assert set(question["n_by_level"].values()) == {None}
        assert question["by_level"] == []
    table = site.visitor.get(f"/api/v1/surveys/{published.token}/results.csv").text
    assert {row["level"] for row in csv.DictReader(io.StringIO(table))} == {"all"}


def test_pages_are_kept_for_a_while(site: Site, published: SurveyRecord) -> None:
    """Both say how long they may be kept, and that the same one is still right."""
    for path in ("", "/embed"):
        first = site.visitor.get(f"/r/{published.token}{path}")
        assert first.headers["cache-control"] == "public, max-age=300"
        name = first.headers["etag"]
        for given in (name, f"W/{name}", f'"other", {name}'):
            again = site.visitor.get(
                f"/r/{published.token}{path}", headers={"If-None-Match": given}
            )
            assert (again.status_code, again.content) == (304, b"")
            assert again.headers["etag"] == name
        other = site.visitor.get(f"/r/{published.token}{path}", headers={"If-None-Match": '"x"'})
        assert other.status_code == 200


def test_the_embedded_page_has_a_policy_of_its_own(site: Site, published: SurveyRecord) -> None:
    """Any page may frame it and it runs nothing; no other page may be framed."""
    embed = site.visitor.get(f"/r/{published.token}/embed")
    assert embed.headers.get_list("content-security-policy") == [EMBED_POLICY]
    assert "frame-ancestors *" in EMBED_POLICY
    assert "script" not in EMBED_POLICY
    assert "<script" not in embed.text
    assert embed.headers["cross-origin-resource-policy"] == "cross-origin"
    assert embed.headers["x-content-type-options"] == "nosniff"
    for path in (f"/r/{published.token}", f"/surveys/{published.token}", "/r/0/embed"):
        [policy] = site.owner.get(path).headers.get_list("content-security-policy")
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy


def test_links_name_the_public_address(live_server: LiveServers) -> None:
    """Where a public address is set, link and code begin with it."""
    server = live_server(public_url="https://surveys.example")
    survey = closed(server.services)
    server.services.surveys.publish(survey)
    with httpx.Client(trust_env=False, follow_redirects=True) as owner:
        owner.get(server.owner_link)
        page = owner.get(f"{server.url}/surveys/{survey.token}").text
    link = f"https://surveys.example/r/{survey.token}"
    assert f'href="{link}"' in page
    assert f"&lt;iframe src=&#34;{link}/embed&#34;" in page


def test_what_can_be_unpublished(sqlite_services: Services) -> None:
    """A published survey is closed again, twice is no harm, an open one is refused."""
    lifecycle = sqlite_services.surveys
    survey = closed(sqlite_services)
    lifecycle.publish(survey)
    for _ in range(2):
        lifecycle.unpublish(sqlite_services.surveys.record(survey.token))
        assert sqlite_services.surveys.record(survey.token).state == "closed"
    with pytest.raises(WrongState, match="only a published one"):
        lifecycle.unpublish(sqlite_services.surveys.open_survey(define()))


def test_unpublishing_by_the_interface(site: Site, published: SurveyRecord) -> None:
    """It answers with the survey, and the results need a right again."""
    results = f"/api/v1/surveys/{published.token}/results"
    assert site.visitor.get(results).status_code == 200
    answer = site.owner.post(f"/api/v1/surveys/{published.token}/unpublish")
    assert (answer.status_code, answer.json()["state"]) == (200, "closed")
    assert site.visitor.get(results).status_code == 401


def test_markup_is_text(site: Site) -> None:
    """The texts of a survey are shown on both pages and never read as markup."""
    poison = '<script>alert("1")</script>'
    definition = define(
        Choice("c", poison, (poison[:60], "B")),
        Rating("r", "R", low_label=poison[:40]),
        title=poison,
        description=poison,
    )
    survey = site.services.surveys.open_survey(definition)
    Device().send(site.services, survey, [0, 0])
    site.services.surveys.publish(site.services.surveys.close(survey))
    for path in ("", "/embed"):
        page = site.visitor.get(f"/r/{survey.token}{path}").text
        assert "<script>alert" not in page
        assert "&lt;script&gt;alert" in page


def test_clear_answers_are_not_called_masked(live_server: LiveServers) -> None:
    """Where a level sends answers as they are, no page says that all were masked."""
    server = live_server(allow_clear=True, caps=Caps(Caps().epsilon, Caps().delta, 9))
    for levels, masked in ((("high", "none"), False), (("high",), True)):
        survey = server.services.surveys.open_survey(define(levels=levels))
        for level in levels:
            Device().send(server.services, survey, level=level)
        server.services.surveys.publish(server.services.surveys.close(survey))
        for path, words in (("", "nobody’s true answer was ever sent"), ("/embed", "each masked")):
            page = httpx.get(f"{server.url}/r/{survey.token}{path}", trust_env=False).text
            lead = page[page.find("<h1") :][:700]
            assert (words in page) == masked, lead


def test_a_page_in_clear_has_no_sentence_on_what_masks_cost(live_server: LiveServers) -> None:
    """The page of a survey without masks does not say that masks cost precision."""
    server = live_server(allow_clear=True, caps=Caps(Caps().epsilon, Caps().delta, 9))
    for level, masked in (("none", False), ("low", True)):
        survey = server.services.surveys.open_survey(define(level=level))
        for number in range(24):
            Device().send(server.services, survey, [number % 2, number % 5], level=level)
        server.services.surveys.publish(server.services.surveys.close(survey))
        page = httpx.get(f"{server.url}/r/{survey.token}", trust_env=False).text
        assert ("Masks cost precision" in page) == masked
