"""The demonstration is complete, its truth is known, and it needs nothing from outside."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from tests.patience import wait_until
from tests.server.devices import Device, everything
from tests.surveys.small_surveys import define

from masquerade.server import Services
from masquerade.server.demo import PEOPLE, seed_demo
from masquerade.server.surveys.survey_records import SurveyRecord

if TYPE_CHECKING:
    from tests.conftest import LiveServer, LiveServers


DAY = "2026-03-14"


@pytest.fixture(scope="module")
def furnished_file(tmp_path_factory: pytest.TempPathFactory, migrated_file: Path) -> Path:
    """A database with the demonstration in it, to be copied."""
    file = Path(shutil.copy(migrated_file, tmp_path_factory.mktemp("demo") / "demo.sqlite3"))
    services = Services.open(f"sqlite:///{file}", today=lambda: DAY)
    seed_demo(services)
    services.close()
    return file


@pytest.fixture
def furnished(tmp_path: Path, furnished_file: Path) -> Iterator[Services]:
    """A store with the demonstration in it."""
    file = shutil.copy(furnished_file, tmp_path / "demo.sqlite3")
    opened = Services.open(f"sqlite:///{file}", today=lambda: DAY)
    yield opened
    opened.close()


@pytest.fixture
def demonstration(live_server: LiveServers, tmp_path: Path, furnished_file: Path) -> LiveServer:
    """A running server with the demonstration in it."""
    file = shutil.copy(furnished_file, tmp_path / "shown.sqlite3")
    return live_server(demo=True, database=f"sqlite:///{file}")


def finished_and_open(services: Services) -> tuple[SurveyRecord, SurveyRecord]:
    """Return the two surveys of the demonstration."""
    opened, finished = services.surveys.records()
    assert (opened.state, finished.state) == ("open", "closed")
    return finished, opened


def test_the_demonstration_is_complete_and_stays(furnished: Services) -> None:
    """There are 200 answers to a closed survey and an open one; furnishing again adds nothing."""
    finished, opened = finished_and_open(furnished)
    assert (finished.responses, opened.responses) == (PEOPLE, 0) == (200, 0)
    assert finished.simulated_truth is not None
    assert opened.simulated_truth is None
    assert len(furnished.profiles.persons()) == PEOPLE
    assert furnished.ledger.verify() == 2 * PEOPLE
    before = everything(furnished)
    seed_demo(furnished)
    assert everything(furnished) == before


def test_the_known_shares_are_plausible(furnished: Services) -> None:
    """All estimates lie within six standard errors of the known shares.

    With 11 shares the chance of a false alarm is below 1e-7 for each run.
    """
    finished, _ = finished_and_open(furnished)
    result = furnished.results.result(finished).to_json()
    assert result["simulated"]
    for question in result["questions"]:
        known = [option["known_share"] for option in question["options"]]
        assert sum(known) == pytest.approx(1)
        for option in question["options"]:
            error = max(option["standard_error"], option["mechanism_error"])
            assert abs(option["value"] - option["known_share"]) < 6 * error
    low, high = (result["questions"][1]["mean"][end] for end in ("low", "high"))
    assert 1 <= low < high <= 5


def test_the_page_shows_all_parts(demonstration: LiveServer) -> None:
    """The page shows questions, reports, results and costs, and leads to both next steps."""
    server = demonstration
    with httpx.Client(base_url=server.url, trust_env=False) as visitor:
        page = visitor.get("/", headers={"Accept": "text/html"})
        assert page.status_code == 200
        for part in ("asked", "reports", "learnt", "ledger", "bill", "methods"):
            assert f'id="{part}"' in page.text
        for question in ("ill", "stress", "tell"):
            assert f'id="question-{question}"' in page.text
        assert page.text.count('class="plot"') >= 3
        assert "simulated" in page.text
        _, opened = finished_and_open(server.services)
        assert f'href="/s/{opened.token}"' in page.text
        assert visitor.get(f"/s/{opened.token}").status_code == 200
        assert visitor.get("/surveys").status_code == 200


def test_the_page_needs_no_network(demonstration: LiveServer) -> None:
    """Every address that a page of the demonstration loads is on this server, and is there."""
    server = demonstration
    with httpx.Client(base_url=server.url, trust_env=False) as visitor:
        home = visitor.get("/").text
        _, opened = finished_and_open(server.services)
        pages = [home, visitor.get(f"/s/{opened.token}").text, visitor.get("/surveys").text]
        loaded = {
            html.unescape(found)
            for page in pages
            for found in re.findall(r'(?:src|href)="([^"]*)"', page)
            if not found.startswith("data:")
        }
        assert all(re.match(r"[/#](?!/)", found) for found in loaded), loaded
        for found in loaded:
            assert visitor.get(found, follow_redirects=True).status_code == 200, found
            if found.endswith((".js", ".css")) and "vendor" not in found:
                text = visitor.get(found).text
                assert not re.search(r"""(?:from|import|fetch|url)\(?\s*["']?https?:""", text)


def test_a_visitors_own_survey_does_not_take_the_place(demonstration: LiveServer) -> None:
    """The link "Answer it yourself" leads to the demonstration's open survey or is not there."""
    server = demonstration
    own = server.services.surveys.open_survey(define(title="A question in confidence"))
    _, opened = [s for s in server.services.surveys.records() if s.token != own.token][::-1]
    for device in (Device(), Device()):
        device.send(server.services, own)
        device.send(server.services, opened)
    page = httpx.get(server.url, trust_env=False).text
    assert f'id="answer" href="/s/{opened.token}"' in page
    server.services.surveys.close(opened)
    page = httpx.get(server.url, trust_env=False).text
    assert 'id="answer"' not in page
    assert own.token not in page


def test_the_ledger_shown_is_one_of_the_made_up_people(
    demonstration: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ledger on the page is never that of a visitor."""
    server = demonstration
    finished, opened = finished_and_open(server.services)
    visitor = Device()
    visitor.send(server.services, opened)
    entry = server.services.ledger.entries(server.services.identity(visitor.participant).person)[-1]
    people = server.services.profiles.persons()
    people.sort(key=lambda person: person != entry.charge.person)
    monkeypatch.setattr(server.services.profiles, "persons", lambda: people)
    page = httpx.get(server.url, trust_env=False).text
    assert entry.hash[:12] not in page
    assert server.services.ledger.entries(people[1])[-1].hash[:12] in page
    assert finished.survey.title in page


STARTER = """
import sys, time
from pathlib import Path
from masquerade.server.demo import running_helper
with running_helper(Path(sys.argv[1])) as helper:
    print(helper.address, flush=True)
    time.sleep(600)
"""


def silent(address: str) -> bool:
    """Return whether nobody listens."""
    try:
        httpx.get(address, trust_env=False)
    except httpx.ConnectError:
        return True
    except httpx.TransportError:  # it ends just now
        return False
    return False


def test_a_helper_ends_with_a_demonstration_that_is_killed(tmp_path: Path) -> None:
    """Nobody is left listening; another one starts on the same folder, as often as one likes."""
    command = [sys.executable, "-c", STARTER, str(tmp_path / "helper")]
    for _ in range(2):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as starter:
            assert starter.stdout is not None
            address = starter.stdout.readline().strip()
            assert not silent(address)
            starter.kill()
        wait_until("the helper to end", partial(silent, address))


def test_the_demonstration_says_that_it_has_no_accounts(demonstration: LiveServer) -> None:
    """Its account page asks nobody for a password, and names the server that has accounts."""
    page = httpx.get(f"{demonstration.url}/account", follow_redirects=True)
    assert "The demonstration has no accounts" in page.text
    assert "masquerade serve" in page.text
    assert "password" not in page.text


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "["]
)
def test_a_page_of_another_name_is_no_owner(demonstration: LiveServer, host: str) -> None:
    """A site whose name was made to lead to this computer neither reads nor changes anything."""
    port = demonstration.url.rpartition(":")[2]
    address = {"Host": f"{host}:{port}", "Origin": f"http://{host}:{port}"}
    program = {"Accept": "application/json"}
    with httpx.Client(base_url=demonstration.url, trust_env=False) as client:
        page = client.get("/tokens").text
        found = re.search(r'name="csrf" value="(\w+)"', page)
        assert found is not None
        form = {"csrf": found[1], "name": "mine", "scopes": "reports:read"}
        for headers in (address, {**address, "X-CSRF-Token": found[1]}):
            for path in ("/api/v1/surveys", "/surveys", "/tokens", "/account"):
                assert client.get(path, headers={**headers, **program}).status_code in (400, 401)
            made = client.post("/tokens", data=form, headers={**headers, **program})
            assert made.status_code in (400, 401)
        for name in ("localhost", "LOCALHOST", "[::1]"):
            answer = client.get("/api/v1/surveys", headers={"Host": f"{name}:{port}", **program})
            assert answer.status_code == 200
