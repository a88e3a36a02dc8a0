"""The page and the interface of invitations, as a surveyor and a stranger meet them."""

from __future__ import annotations

import csv
import io
import re
import secrets
from typing import TYPE_CHECKING, Any

import pytest
from tests.server.surveys.test_tickets import QUESTION

if TYPE_CHECKING:
    from tests.server.conftest import Site

API = "/api/v1"


def opened(site: Site, **fields: Any) -> str:
    """Open a survey and return its token."""
    asked = {
        "title": "Tea",
        "questions": [QUESTION],
        "levels": ["medium"],
        "tickets": {"phases": 1},
        **fields,
    }
    made = site.owner.post(
        f"{API}/surveys",
        json={"document": asked},
        headers={"Idempotency-Key": secrets.token_hex(16), "Accept": "application/json"},
    ).json()
    assert made["valid"], made["errors"]
    answer = site.owner.post(f"{API}/surveys/{made['token']}/open", headers={"If-Match": '"v1"'})
    assert answer.status_code == 200, answer.text
    return str(made["token"])


def rows_of(text: str) -> list[list[str]]:
    """Return the rows of a CSV file."""
    return list(csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline="")))


def test_tickets_come_as_a_file_as_cards_and_beside_a_list(site: Site) -> None:
    """N links in each form, each another; the page has the code of none of them afterwards."""
    token = opened(site, asked_by="The <b>team</b>")
    page = f"/surveys/{token}/invitations"
    file = site.owner.post(f"{page}/tickets", data={"count": "12", "kind": "csv"})
    assert file.headers["content-disposition"] == f'attachment; filename="tickets-{token}.csv"'
    head, *rows = rows_of(file.content.decode("utf-8"))
    assert head == ["code", "link"]
    cards = site.owner.post(f"{page}/tickets", data={"count": "3", "kind": "cards"}).text
    assert cards.count("<img src=") >= 3
    assert "The &lt;b&gt;team&lt;/b&gt;" in cards
    on_cards = re.findall(r"#ticket=([0-9A-Z]{20})", cards)
    assert len(set(on_cards)) == 3
    listed = site.owner.post(
        f"{page}/merge",
        files={"file": ("list.csv", "name;room\nAda;1\nBob;2\n".encode("utf-8-sig"))},
    )
    merged = [line.split(";") for line in listed.content.decode("utf-8-sig").splitlines()]
    assert merged[0] == ["name", "room", "link"]
    links = [row[1] for row in rows] + [row[2] for row in merged[1:]]
    assert len(set(links)) == 14
    assert all(re.search(rf"/s/{token}#ticket=[0-9A-Z]{{20}}\.[\w-]{{43}}$", one) for one in links)
    after = site.owner.get(page).text
    assert "Ada" not in after
    assert not any(code in after for code in on_cards)
    assert site.owner.get(f"{API}/surveys/{token}/tickets").json() == {"made": 17, "exchanged": 0}
    made = site.owner.post(f"{API}/surveys/{token}/tickets", json={"count": 2})
    assert made.status_code == 201
    assert len(made.json()["tickets"]) == 2
    for wrong in (0, -1, 10_001, "x"):
        refused = site.owner.post(f"{page}/tickets", data={"count": wrong, "kind": "csv"})
        assert refused.status_code == 422, wrong
    many = site.owner.post(f"{page}/tickets", data={"count": 501, "kind": "cards"})
    assert "make 500 at once" in many.text


def test_the_page_says_what_is_kept_from_whom(site: Site) -> None:
    """Open to all, in one phase, in two phases: each in its own words, also in the invitation."""
    for tickets, words in (
        ({"phases": 0}, "Everybody with the link can take part"),
        ({"phases": 1}, "Whoever runs the server could tell by the time"),
        ({"phases": 2, "answers_from": "2999-01-01"}, "nor the time of enrolling tells"),
    ):
        token = opened(site, tickets=tickets)
        assert words in site.owner.get(f"/surveys/{token}/invitations").text
        terms = site.visitor.get(f"{API}/surveys/{token}/invitation").json()
        assert (terms["invitations"] is None) == (tickets["phases"] == 0)
        assert terms["state"] == ("enrolling" if tickets["phases"] == 2 else "open")


def test_without_a_mail_server_the_page_says_so(site: Site) -> None:
    """Lists are checked, and nothing is sent or kept."""
    token = opened(site)
    page = f"/surveys/{token}/invitations"
    assert "smtp_host" in site.owner.get(page).text
    letter = {"subject": "Hello", "text": "Come: {link}"}
    checked = site.owner.post(f"{page}/check", data={"addresses": "a@example.org", **letter})
    assert checked.status_code == 200
    sent = site.owner.post(f"{page}/send", data={"addresses": "a@example.org", **letter})
    assert sent.status_code == 409
    assert "sends no e-mail" in sent.text


def test_a_survey_is_shown_by_the_pages_that_it_lists_alone(site: Site) -> None:
    """`frame-ancestors` names the listed origins; forms go to the panel's origin alone."""
    plain = opened(site)
    policy = site.visitor.get(f"/s/{plain}").headers["content-security-policy"]
    assert "frame-ancestors 'none'" in policy
    token = opened(
        site,
        origins=["https://example.org", "https://other.example:8443"],
        plan={"reward": "codes", "prices": {"medium": 1}},
        panel={
            "parameters": ["workerId"],
            "complete": "https://www.mturk.com/mturk/externalSubmit?assignmentId={workerId}",
            "method": "form",
        },
    )
    policy = site.visitor.get(f"/s/{token}").headers["content-security-policy"]
    assert "frame-ancestors https://example.org https://other.example:8443" in policy
    assert "form-action 'self' https://www.mturk.com" in policy
    live = site.owner.get(f"/surveys/{token}").text
    assert "&lt;iframe src=" in live


@pytest.mark.parametrize(
    "fields",
    [
        {"origins": ["https://example.org/page"]},
        {"origins": ["https://example.org; script-src *"]},
        {"origins": ["http://example.org"]},
        {"panel": {"parameters": ["a b"]}},
        {"panel": {"parameters": ["pid"]}},
        {"panel": {"complete": "https://{pid}.example.org"}},
        {"panel": {"complete": "javascript:alert(1)"}},
        {"panel": {"full": "https://example.org/{unknown}"}},
        {"tickets": {"phases": 2}},
        {"tickets": {"phases": 2, "answers_from": "2020-01-01"}},
        {"tickets": {"phases": 1}, "listed": True},
    ],
)
def test_what_cannot_work_is_said_before_a_survey_is_opened(
    site: Site, fields: dict[str, Any]
) -> None:
    """Origins that are none, parameters without codes, addresses with unknown places, past days."""
    asked = {"title": "Tea", "questions": [QUESTION], "levels": ["medium"], **fields}
    made = site.owner.post(
        f"{API}/surveys",
        json={"document": asked},
        headers={"Idempotency-Key": secrets.token_hex(16), "Accept": "application/json"},
    ).json()
    assert not made["valid"]
    assert all(
        one["pointer"].startswith(("/origins", "/panel", "/tickets", "/listed"))
        for one in made["errors"]
    )


def test_qr_codes_come_as_svg_and_png(site: Site) -> None:
    """Both are files with the survey's link."""
    token = opened(site)
    svg, png = (site.owner.get(f"/surveys/{token}/qr.{kind}") for kind in ("svg", "png"))
    assert svg.headers["content-type"].startswith("image/svg+xml")
    assert b"<svg" in svg.content
    assert png.content.startswith(b"\x89PNG")
    assert (
        site.visitor.get(
            f"/surveys/{token}/qr.svg", headers={"Accept": "application/json"}
        ).status_code
        == 401
    )


def test_beginnings_are_told_in_tens(site: Site) -> None:
    """Of 13 people that began, none with a response, ten are told."""
    token = opened(site, tickets={"phases": 0})
    for _ in range(13):
        phone = site.phone()
        phone.open(phone.reserve(token, "medium").json()["id"])
    found = site.owner.get(f"{API}/surveys/{token}/progress").json()
    assert (found["started"], found["unfinished"], found["responses"]) == (10, 10, 0)


def test_public_results_are_linked_for_participants(site: Site) -> None:
    """Whether everybody may see results is told, and nothing else of how a survey ended."""
    token = opened(site, tickets={"phases": 0})

    def told() -> tuple[str, bool]:
        answer = site.visitor.get(f"{API}/surveys/{token}/invitation").json()
        return answer["state"], answer["results"]

    assert told() == ("open", False)
    site.owner.post(f"{API}/surveys/{token}/close", json={"grace_days": 0})
    assert told() == ("closed", False)
    site.owner.post(f"{API}/surveys/{token}/publish")
    assert told() == ("closed", True)
