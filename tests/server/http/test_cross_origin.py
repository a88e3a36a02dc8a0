"""Sites with permission to ask a survey's server from another address, and their routes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from tests.server.parties.pairs import Pair, helper_at

from masquerade.surveys.survey import Survey

if TYPE_CHECKING:
    from tests.conftest import LiveServer, LiveServers

ALLOWED = "access-control-allow-origin"
ASKED = {"access-control-request-method": "POST"}
STRANGER = "https://stranger.example"


@pytest.fixture
def proposed(
    live_server: LiveServers, tmp_path: Path, migrated_file: Path
) -> Iterator[tuple[LiveServer, Pair, Survey, str]]:
    """A server with a survey that its helper was asked to approve: both, the survey, its token."""
    helper_url = f"sqlite:///{shutil.copy(migrated_file, tmp_path / 'helper.sqlite3')}"
    server = live_server(helper_private=True)
    with helper_at(helper_url) as (helper, address):
        leader_token = helper.access.new_leader_token()
        assert leader_token is not None
        pair = Pair(server.services, helper, address, leader_token)
        pair.add_helper()
        survey, token = pair.define(), "5a" * 8
        asked = pair.ask(survey, token)
        helper.tasks.decide(asked["task"], approve=True)
        pair.ask(survey, token)
        yield server, pair, survey, token


def test_only_a_second_partys_page_may_ask(
    proposed: tuple[LiveServer, Pair, Survey, str],
) -> None:
    """A page of a helper may ask once its survey is open, and no page of anybody else."""
    server, pair, survey, token = proposed
    place = f"/api/v1/surveys/{token}/invitation"

    with httpx.Client(base_url=server.url, trust_env=False) as browser:

        def allowed(origin: str) -> tuple[str | None, int]:
            """Return the receiver of an answer, and the response to a browser's first question."""
            answer = browser.get(place, headers={"origin": origin})
            before = browser.options(place, headers={"origin": origin, **ASKED})
            assert answer.headers.get(ALLOWED) == before.headers.get(ALLOWED)
            assert "access-control-allow-credentials" not in before.headers
            return answer.headers.get(ALLOWED), before.status_code

        assert allowed(pair.address) == (None, 405)
        server.services.surveys.open_survey(survey, token=token)
        assert allowed(pair.address) == (pair.address, 204)
        for origin in (STRANGER, f"{pair.address}.example", "null", pair.address[:-1]):
            assert allowed(origin) == (None, 405)
        # What is refused can be read too, so that the page can say why.
        refused = browser.get("/api/v1/me", headers={"origin": pair.address})
        assert (refused.status_code, refused.headers.get(ALLOWED)) == (401, pair.address)
        assert "origin" in refused.headers["vary"]


def test_nothing_of_a_surveyor_is_shared(proposed: tuple[LiveServer, Pair, Survey, str]) -> None:
    """No other address of the server is for another site's page, for any asker."""
    server, pair, survey, token = proposed
    server.services.surveys.open_survey(survey, token=token)
    with httpx.Client(base_url=server.url, trust_env=False) as browser:
        for path in (
            *("/", "/surveys", "/account", "/healthz", f"/s/{token}", "/me", "/api/v1/helpers"),
            *("/api/v1/surveys", f"/api/v1/surveys/{token}", f"/api/v1/surveys/{token}/results"),
            f"/api/v1/surveys/{token}/invitation/x",
        ):
            headers = {"origin": pair.address}
            assert ALLOWED not in browser.get(path, headers=headers).headers, path
            assert ALLOWED not in browser.options(path, headers=headers | ASKED).headers, path
