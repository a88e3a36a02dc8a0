"""The browsers in which a helper's operator is signed in: listed, ended, and over by themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx
import pytest
from sqlalchemy import select
from tests.server.parties.pairs import HELPER_KEY, OPERATOR, Pair
from tests.server.parties.test_helper_operation import visitor
from tests.serving import serving

from masquerade.server.db.tables import SETTING
from masquerade.server.helper_app import create_helper_app
from masquerade.server.operations.run import address
from masquerade.server.parties.operator_sessions import session_id
from masquerade.server.settings import Settings

pytestmark = pytest.mark.both_databases


@pytest.fixture
def day(pair: Pair) -> list[str]:
    """The day of the helper, which a test sets."""
    today = ["2026-03-14"]
    pair.helper.sessions._today = lambda: today[0]
    return today


@pytest.fixture
def browsers(pair: Pair, day: list[str]) -> Iterator[list[httpx.Client]]:
    """Three browsers of the operator, signed in on three days."""
    opened = [visitor(pair.address) for _ in range(3)]
    for number, browser in enumerate(opened):
        day[0] = f"2026-03-{14 + number}"
        assert browser.get(pair.helper.sessions.new_link()).status_code == 200
    yield opened
    for browser in opened:
        browser.close()


def end(browser: httpx.Client, session: str = "", *, csrf: str | None = None) -> int:
    """Press a button of the list; return the status of the page shown."""
    found = re.search(r'name="csrf" value="(\w+)"', browser.get("/").text)
    given = {"csrf": csrf or (found[1] if found else ""), "session": session}
    return browser.post("/sessions/end", data=given).status_code


def states(browsers: list[httpx.Client]) -> list[int]:
    """Return the status of the page in each browser."""
    return [one.get("/").status_code for one in browsers]


def test_they_are_listed_with_their_days(pair: Pair, browsers: list[httpx.Client]) -> None:
    """Each with its first day and its last use, the newest first; one's own is told apart."""
    day = pair.helper.sessions._today()
    listed = pair.helper.sessions.listed()
    assert [one.begun for one in listed] == ["2026-03-16", "2026-03-15", "2026-03-14"]
    page = browsers[0].get("/").text
    assert "since 2026-03-15, last used on 2026-03-15" in page
    assert f"since 2026-03-14, last used on {day}" in page
    assert (page.count("This browser"), page.count("Another browser")) == (1, 2)
    # Own one is ended by signing out, and has no second button.
    mine = session_id(browsers[0].cookies["masquerade-helper"])
    assert f'value="{mine}"' not in page
    assert all(f'value="{one.id}"' in page for one in listed if one.id != mine)


def test_one_is_ended_and_the_others_stay(pair: Pair, browsers: list[httpx.Client]) -> None:
    """A button ends the browser that it names; without the page's own form nothing is ended."""
    lost = session_id(browsers[1].cookies["masquerade-helper"])
    assert end(browsers[0], lost, csrf="0" * 64) == 403
    with visitor(pair.address) as stranger:
        assert end(stranger, lost, csrf="0" * 64) == 401
    assert states(browsers) == [200, 200, 200]
    assert end(browsers[0], lost) == 200
    assert states(browsers) == [200, 401, 200]


def test_a_name_of_something_else_ends_nothing(pair: Pair, browsers: list[httpx.Client]) -> None:
    """Other rows beside the sessions in the database are not reached by the form."""
    with pair.helper.engine.connect() as connection:
        before = set(connection.execute(select(SETTING.c.key)).scalars())
    for name in ("helper_operator", "%", ":", "../helper_operator", "0" * 40):
        assert end(browsers[0], name) == 200
    with pair.helper.engine.connect() as connection:
        assert set(connection.execute(select(SETTING.c.key)).scalars()) == before
    assert states(browsers) == [200, 200, 200]


def test_all_others_are_ended(browsers: list[httpx.Client]) -> None:
    """An operator without a browser stays signed in alone; signing out ends that one too."""
    assert end(browsers[2]) == 200
    assert states(browsers) == [401, 401, 200]
    page = browsers[2].get("/").text
    assert "Another browser" not in page
    csrf = re.search(r'name="csrf" value="(\w+)"', page)
    assert csrf is not None
    assert browsers[2].post("/sign-out", data={"csrf": "x"}).status_code == 403
    assert browsers[2].post("/sign-out", data={"csrf": csrf[1]}).status_code == 401
    assert states(browsers) == [401, 401, 401]


def test_signing_out_leaves_the_other_browsers(browsers: list[httpx.Client]) -> None:
    """Signing out is about the browser in which it is done."""
    csrf = re.search(r'name="csrf" value="(\w+)"', browsers[0].get("/").text)
    assert csrf is not None
    browsers[0].post("/sign-out", data={"csrf": csrf[1]})
    assert states(browsers) == [401, 200, 200]


def test_one_that_is_not_used_is_over(
    pair: Pair, day: list[str], browsers: list[httpx.Client]
) -> None:
    """After three days without a request, and after thirty in any case; its row goes with time."""
    day[0] = "2026-03-19"
    assert states(browsers) == [401, 401, 200]
    assert [one.begun for one in pair.helper.sessions.listed()] == ["2026-03-16"]
    for number in range(20, 32):
        day[0] = f"2026-03-{number}"
        assert browsers[2].get("/").status_code == 200
    for number in range(1, 16):
        day[0] = f"2026-04-{number:02}"
        assert browsers[2].get("/").status_code == 200
    day[0] = "2026-04-16"
    assert browsers[2].get("/").status_code == 401
    browsers[0].get(pair.helper.sessions.new_link())
    with pair.helper.engine.connect() as connection:
        rows = connection.execute(select(SETTING.c.key).where(SETTING.c.key.startswith("operator")))
        assert len(rows.all()) == 1


def test_a_clock_that_goes_back_ends_no_session(
    pair: Pair, day: list[str], browsers: list[httpx.Client]
) -> None:
    """A day that was noted by a clock ahead is not moved back."""
    day[0] = "2026-03-13"
    assert states(browsers) == [200, 200, 200]
    assert {one.used for one in pair.helper.sessions.listed()} == {
        "2026-03-14",
        "2026-03-15",
        "2026-03-16",
    }


def test_a_link_lets_one_browser_in(pair: Pair, day: list[str]) -> None:
    """A one-time link that was used, and one before a newer link, sign nobody in."""
    older, link = (pair.helper.sessions.new_link() for _ in range(2))
    with visitor(pair.address) as first, visitor(pair.address) as second:
        assert first.get(older).status_code == 401
        assert first.get(link).status_code == 200
        assert second.get(link).status_code == 401
        # Hashes are kept, so that a copy of the database lets nobody in.
        secret = first.cookies["masquerade-helper"]
        second.cookies.set("masquerade-helper", session_id(secret))
        assert second.get("/").status_code == 401
        with pair.helper.engine.connect() as connection:
            kept = str(connection.execute(select(SETTING.c.key, SETTING.c.value)).all())
        assert secret not in kept


def test_the_cookie_is_for_https_alone_where_the_public_address_is(database_url: str) -> None:
    """Behind a proxy whose word on https is not trusted, the setting says what browsers use."""
    settings = Settings(
        database_url,
        "https://helper.example.org",
        server_key=HELPER_KEY,
        helper_operator=OPERATOR,
        helper=True,
        shutdown_seconds=5,
    )
    host = {"Host": "helper.example.org"}
    app = create_helper_app(settings)
    with serving(app, settings) as (bound, _), visitor(address(bound)) as browser:
        link = app.state.services.sessions.new_link()
        entered = browser.get(link, headers=host, follow_redirects=False)
        cookie = entered.headers["set-cookie"]
        assert cookie.startswith("__Host-masquerade-helper=")
        assert "Secure" in cookie
        secret = cookie.partition(";")[0]
        assert browser.get("/", headers={**host, "Cookie": secret}).status_code == 200
