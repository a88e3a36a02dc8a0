"""Inviting people by e-mail in a real browser, through a real mail server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import select
from tests.patience import wait_until
from tests.server.mail.mail_box import MailBox, listening

from masquerade.server import Services
from masquerade.server.db.reach_tables import (
    MAILING,
    RECIPIENT,
    SPENT_TICKET,
    TICKET,
    TICKET_KEY,
)
from masquerade.server.db.tables import FIRST_TEAM
from masquerade.server.keys import ServerKey
from masquerade.server.surveys.document import read_document

from .conftest import NewVisitor, Person, close_survey, see

pytest.importorskip("aiosmtpd.controller")
pytestmark = pytest.mark.browser

PEOPLE = [f"person-{number}@people.example" for number in range(300)]
RETURNED = """\
From: MAILER-DAEMON@people.example
To: ask@surveys.example
Subject: Undelivered
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary="x"

--x
Content-Type: message/delivery-status

Reporting-MTA: dns; people.example

Final-Recipient: rfc822; {address}
Action: failed
Status: 5.1.1
Diagnostic-Code: smtp; 550 mailbox full

--x--
"""


@pytest.fixture
def box() -> Iterator[tuple[MailBox, int]]:
    """A mail server, and its port."""
    box = MailBox()
    with listening(box) as port:
        yield box, port


def told(page: Page, sent: str, of: int) -> None:
    """Look at the page again and expect so many messages to be taken."""
    page.reload()
    expect(page.locator("#sent")).to_have_text(sent)
    expect(page.locator("#mail .big-number")).to_contain_text(f"of {of} messages")


def all_noted(services: Services, survey: str) -> bool:
    """Return whether no message waits."""
    progress = services.mailings.progress(survey)
    return progress is not None and "waiting" not in progress.counts


def reminded(box: MailBox) -> int:
    """Return how many people got two messages."""
    return sum(len(messages) == 2 for messages in box.taken.values())


def kept(services: Services) -> set[str]:
    """Return every text that the tables of reaching people hold, but for the survey's own."""
    texts = set()
    tables = (TICKET, SPENT_TICKET, RECIPIENT, MAILING, TICKET_KEY)
    found = services.transactions.read(
        lambda c: [c.execute(select(table)).all() for table in tables]
    )
    for rows in found:
        for row in rows:
            for name, value in row._mapping.items():
                # the survey's token, its address and its public key stay with the survey
                if name not in ("survey", "public", "link") and len(str(value)) > 16:
                    texts.add(str(value))
    return {text for text in texts if text.isascii()}


def content(file: Path) -> bytes:
    """Return the bytes of a database on the disk, its log included."""
    return b"".join(one.read_bytes() for one in sorted(file.parent.glob(f"{file.name}*")))


def test_300_people_are_invited_in_three_clicks_and_forgotten_at_the_end(
    live_server: Any,
    new_visitor: NewVisitor,
    box: tuple[MailBox, int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Sent, bounced at once and later, reminded once; after closing no byte of it is on the disk.

    One of them answers with the ticket of the message, so that there are spent tickets too.
    """
    taken, port = box
    taken.gone = {PEOPLE[7]}
    # all at once: how fast messages leave is no matter of this test
    monkeypatch.setattr("masquerade.server.mail.post._AT_ONCE", len(PEOPLE))
    monkeypatch.setattr("masquerade.server.app._DELIVERY_SECONDS", 0.2)
    file = tmp_path / "mailing.sqlite3"
    server = live_server(
        database=f"sqlite:///{file}",
        smtp_host="127.0.0.1",
        smtp_port=port,
        smtp_security="none",
        mail_from="ask@surveys.example",
        server_key=ServerKey("ab" * 32),
    )
    services = server.services
    question = {"kind": "choice", "id": "q", "text": "Tea?", "options": ["Yes", "No"]}
    asked = {"title": "Tea", "questions": [question], "levels": ["high"], "tickets": {"phases": 1}}
    draft, _ = services.drafts.create(read_document(asked), team=FIRST_TEAM)
    survey = services.drafts.open(draft.token, team=FIRST_TEAM)
    page = new_visitor().page
    page.goto(server.owner_link)
    page.goto(f"{server.url}/surveys/{survey.token}")

    page.get_by_role("link", name="Invitations").click()  # one
    page.get_by_label("E-mail addresses").fill("\n".join(PEOPLE))
    page.get_by_role("button", name="Check the list").click()  # two
    expect(page.locator("#checked")).to_contain_text("300 addresses")
    page.get_by_role("button", name="Invite 300 people").click()  # three
    wait_until("299 people have a message", lambda: len(taken.taken) == 299)
    wait_until("all outcomes are noted", lambda: all_noted(services, survey.token))
    told(page, "299", 300)
    expect(page.locator("#bounced")).to_contain_text(PEOPLE[7])
    expect(page.locator("#bounced")).to_contain_text("nobody of this name")

    back = tmp_path / "returned.eml"
    back.write_text(RETURNED.format(address=PEOPLE[9]), encoding="utf-8")
    page.locator("summary", has_text="Messages that came back").click()
    page.get_by_label("Files of returned messages").set_input_files(back)
    page.get_by_role("button", name="Note whom they name").click()
    expect(page.locator("#bounced")).to_contain_text(PEOPLE[9])
    expect(page.locator("#bounced > li")).to_have_count(2)

    page.get_by_role("button", name="Send the reminder").click()
    expect(page.locator("#mail")).to_contain_text("The reminder is sent")
    wait_until("298 people have a reminder", lambda: reminded(taken) == 298)
    wait_until("all outcomes are noted", lambda: all_noted(services, survey.token))
    links = {
        next(word for word in message.get_content().split() if "#ticket" in word)
        for messages in taken.taken.values()
        for message in messages
    }
    assert len(links) == 299  # each their own, the same in the reminder

    visitor = new_visitor()
    visitor.page.goto(sorted(links)[0])
    see(visitor.page, "intro")
    Person(visitor.page, answers=(0,)).finish()

    texts = kept(services)
    assert len(texts) > 900  # digests of codes, names and sealed addresses of 300 people
    before = content(file)
    assert all(text.encode() in before for text in texts)
    assert not [address for address in PEOPLE if address.encode() in before]
    page.goto(f"{server.url}/surveys/{survey.token}")
    close_survey(page)
    wait_until(
        "the survey is over", lambda: services.surveys.record(survey.token).state == "closed"
    )
    wait_until("the file is rewritten", lambda: services.transactions.rewrite())
    after = content(file)
    found = [text for text in (*texts, *PEOPLE) if text.encode() in after]
    assert found == []
    page.goto(f"{server.url}/surveys/{survey.token}/invitations")
    expect(page.locator("main")).to_contain_text("All tickets, messages and addresses are deleted")
