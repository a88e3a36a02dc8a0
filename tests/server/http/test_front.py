"""The front answers as the framework would: the same bytes, from one declaration."""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from tests.surveys.small_surveys import define

from masquerade.server.http.front import Front, FrontRoute
from masquerade.server.http.write_slots import MOST_WAITING, PATIENCE_SECONDS, is_full
from masquerade.server.routes.participations import steps
from masquerade.surveys.survey import commitment_of

if TYPE_CHECKING:
    from tests.conftest import LiveServers

SALT, REPORTS = "5a" * 16, [1, 4]
#: Headers that differ from one moment, and one participant, to the next.
MOVING = {"date", "ratelimit"}


def exchanges(token: str, hash_: str) -> list[tuple[str, str, Any, dict[str, str]]]:
    """Return requests, right and wrong; ID stands for the participation that was begun."""
    key = {"Idempotency-Key": secrets.token_hex(16)}
    begin = {"survey": token, "level": "medium"}
    sent = {"reports": REPORTS, "salt": SALT, "level": "medium", "survey_hash": hash_}
    text = {"Content-Type": "text/plain"}
    return [
        ("POST", "", begin, {}),
        ("POST", "", begin, {"Idempotency-Key": "short"}),
        ("POST", "", {**begin, "more": 1}, key),
        ("POST", "", {**begin, "level": 7}, {}),
        ("POST", "", b"{", key),
        ("POST", "", b"[1]", key),
        ("POST", "", b"", key),
        ("POST", "", b"\xff\xfe{", {**key, "Content-Type": "application/json"}),
        ("POST", "", json.dumps(begin).encode(), {**key, **text}),
        ("POST", "", {**begin, "survey": "0" * 16}, key),
        ("POST", "", begin, {**key, "Masquerade-Participant": "nobody"}),
        ("POST", "", begin, key),
        ("POST", "", begin, key),
        ("POST", "", {**begin, "padding": " " * 50}, key),
        ("POST", "/ID/seal", {"commitment": "COMMITMENT"}, {}),
        ("POST", "/ID/open", None, {}),
        ("POST", "/ID/open", None, {}),
        ("POST", "/zz/open", None, {}),
        ("POST", "/ID/seal", {"commitment": "xx"}, {}),
        ("POST", "/ID/seal", {"commitment": "COMMITMENT"}, {}),
        ("PUT", "/ID/response", {**sent, "reports": ["1"]}, {}),
        ("PUT", "/ID/response", {**sent, "level": "high"}, {}),
        ("PUT", "/ID/response", {**sent, "reports": [0, 0]}, {}),
        ("PUT", "/ID/sealed-report", {**sent, "report": "AAAA"}, {}),
        ("PUT", "/ID/response", sent, {"Origin": "https://stranger.example"}),
        ("PUT", "/ID/response", sent, {}),
        ("POST", "/ID/abandon", None, {}),
        ("POST", "/ID/withdraw", None, {}),
        ("GET", "/ID/open", None, {}),
        ("DELETE", "", None, {}),
        ("POST", "/ID/open", b"x" * 300_000, {}),
    ]


def test_the_front_and_the_framework_answer_alike(
    live_server: LiveServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Status, headers, size and text of thirty answers are those of the framework, refusals too."""
    told: list[list[tuple[int, dict[str, str], str]]] = []
    server = live_server()
    survey = server.services.surveys.open_survey(define())
    for fronted in (True, False):
        with (
            monkeypatch.context() as patch,
            httpx.Client(base_url=f"{server.url}/api/v1", trust_env=False) as client,
        ):
            if not fronted:

                async def passed(front: Front, *request: Any) -> None:
                    await front.app(*request)

                patch.setattr(Front, "__call__", passed)
            participant, id_, answers = "w" + secrets.token_hex(16), "", []
            for method, path, body, headers in exchanges(survey.token, survey.hash):
                content = body if isinstance(body, bytes | None) else json.dumps(body).encode()
                if content is not None and id_:
                    commitment = commitment_of(id_, REPORTS, SALT)
                    content = content.replace(b"COMMITMENT", commitment.encode())
                answer = client.request(
                    method,
                    f"/participations{path}".replace("ID", id_ or "0" * 32),
                    content=content,
                    headers={
                        "Masquerade-Participant": participant,
                        "Content-Type": "application/json",
                        **headers,
                    },
                )
                if answer.status_code == 201 and not id_:
                    id_ = answer.json()["id"]
                kept = {k: v for k, v in answer.headers.items() if k not in MOVING}
                words = answer.text.replace(id_, "ID") if id_ else answer.text
                answers.append((answer.status_code, kept, words))
            told.append(answers)
    for place, (fronted_answer, framework) in enumerate(zip(*told, strict=True)):
        assert fronted_answer == framework, place
    assert {one[0] for one in told[0]} == {200, 201, 400, 401, 404, 405, 409, 413, 422}


def test_every_step_is_answered_by_the_front() -> None:
    """There is one declaration of each step, and the front has it."""
    assert len(steps.routes) == 7
    assert all(isinstance(route, FrontRoute) for route in steps.routes)


class Changes:
    """Changes that wait."""

    def __init__(self, waiting: int, seconds: float) -> None:
        self.waiting = waiting
        self.seconds = seconds

    def oldest_wait(self) -> float:
        """Return for how long."""
        return self.seconds


def test_a_full_queue_takes_no_more() -> None:
    """As many as are allowed may wait, or for as long; one more, or longer, is too much."""
    assert not is_full(Changes(MOST_WAITING - 1, PATIENCE_SECONDS))
    assert is_full(Changes(MOST_WAITING, 0.0))
    assert is_full(Changes(1, PATIENCE_SECONDS + 0.1))
