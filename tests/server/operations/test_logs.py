"""Log lines tell the event and its place, and nothing of anybody."""

from __future__ import annotations

import io
import json
import logging
import secrets
from typing import TYPE_CHECKING, Any

import pytest
from tests.surveys.small_surveys import define

from masquerade.server.http.logs import JsonLines, Lines, Seldom, configure, fields
from masquerade.server.participants.steps import Reserve

if TYPE_CHECKING:
    from tests.conftest import LiveServers
    from tests.server.conftest import Site

SECRET = "what-somebody-sent"


@pytest.fixture(params=[JsonLines, Lines])
def written(request: pytest.FixtureRequest) -> io.StringIO:
    """Collect the lines that a form of log writes of everything."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(request.param())
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    return stream


def test_an_exception_is_told_without_its_text(written: io.StringIO) -> None:
    """The type and the places of an exception are told; its text and that of its cause are not."""

    def deep() -> None:
        try:
            raise KeyError(SECRET)
        except KeyError as error:
            raise RuntimeError(SECRET) from error

    try:
        deep()
    except RuntimeError:
        logging.getLogger("other.library").exception("Exception in ASGI application\n")
    told = written.getvalue()
    assert SECRET not in told
    assert "RuntimeError" in told
    assert "in deep" in told
    assert told.count("\n") == 1


def test_only_the_first_line_of_a_message_is_told(written: io.StringIO) -> None:
    """Parts that other libraries add below their message, such as a traceback, are left out."""
    logging.getLogger("other.library").error(
        "Task exception was never retrieved\nfuture: %s", SECRET
    )
    assert SECRET not in written.getvalue()
    assert "never retrieved" in written.getvalue()


def test_a_json_line() -> None:
    """A line is one object with time, level, logger, message and the message's fields."""
    record = logging.LogRecord("masquerade.x", logging.INFO, "f", 1, "swept %d", (3,), None)
    vars(record).update(fields(released=3))
    told = json.loads(JsonLines().format(record))
    assert told["time"].endswith("Z")
    del told["time"]
    assert told == {"level": "info", "logger": "masquerade.x", "message": "swept 3", "released": 3}


def test_what_is_told_of_an_unexpected_error(
    site: Site, monkeypatch: pytest.MonkeyPatch, written: io.StringIO
) -> None:
    """The log has the route's template, the type and the place: no token, address, header, body."""
    survey = site.services.surveys.open_survey(define())
    phone, key = site.phone(), secrets.token_hex(16)

    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError(f"{phone.participant} sent {SECRET}")

    monkeypatch.setattr(Reserve, "_require_patience", fail)
    answer = phone.client.post(
        f"/api/v1/participations?{SECRET}=1",
        json={"survey": survey.token, "level": "medium"},
        headers={**phone.headers, "Idempotency-Key": key, "User-Agent": SECRET},
    )
    assert answer.status_code == 500
    ours = [line for line in written.getvalue().splitlines() if "httpx" not in line]
    ours = [line for line in ours if "httpcore" not in line]
    told = "\n".join(line for line in ours if "RuntimeError" in line)
    assert "/api/v1/participations" in told
    assert "masquerade/server/participants/steps.py" in told
    for private in (SECRET, phone.participant, key, survey.token, "127.0.0.1", "medium"):
        assert private not in told
    for line in ours:
        if line.startswith("{") and json.loads(line)["logger"].startswith("masquerade"):
            assert phone.participant not in line


def test_the_forms_of_a_process() -> None:
    """As text only warnings are told; as JSON also regular events."""
    root, own = logging.getLogger(), logging.getLogger("masquerade")
    configure("text")
    assert not own.isEnabledFor(logging.INFO)
    configure("json")
    assert own.isEnabledFor(logging.INFO)
    assert not logging.getLogger("sqlalchemy").isEnabledFor(logging.INFO)
    assert [type(one.formatter) for one in root.handlers] == [JsonLines]


def test_what_is_no_http_fills_no_log() -> None:
    """Of 10,000 such warnings a minute one is written, with their number; errors all are."""
    stream, minutes = io.StringIO(), [0.0]
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    handler.addFilter(Seldom(now=lambda: 60.0 * minutes[0]))
    logger = logging.getLogger("uvicorn.error")
    logger.addHandler(handler)
    try:
        for minute in range(2):
            minutes[0] = minute
            for _ in range(10_000):
                logger.warning("Invalid HTTP request received.")
        for _ in range(2):
            logger.error("a fault")
    finally:
        logger.removeHandler(handler)
    told = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [(one["message"], one.get("count")) for one in told] == [
        ("Invalid HTTP request received.", None),
        ("Invalid HTTP request received.", 10_000),
        ("a fault", None),
        ("a fault", None),
    ]
    configure("text")
    assert any(isinstance(one, Seldom) for one in logging.getLogger().handlers[0].filters)


def test_a_normal_answer_is_not_logged(live_server: LiveServers, written: io.StringIO) -> None:
    """There is no log of requests, in no form."""
    import httpx

    server = live_server()
    written.truncate(0)
    httpx.get(f"{server.url}/s/{'0' * 16}?x={SECRET}")
    lines = [line for line in written.getvalue().splitlines() if "http" not in line]
    assert [line for line in lines if SECRET in line] == []
