"""Requests made up from the interface's own description, right ones and wrong ones."""

from __future__ import annotations

import contextlib
import itertools
import re
import secrets
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable

from masquerade.server.http.security import COOKIE, csrf_token
from masquerade.server.surveys.rewards import Reward
from masquerade.surveys import Choice, Comparison, Number, Rating
from masquerade.surveys.survey import Survey, commitment_of

if TYPE_CHECKING:
    from tests.conftest import LiveServers

schemathesis = pytest.importorskip("schemathesis")

from schemathesis.checks import load_all_checks, not_a_server_error  # noqa: E402
from schemathesis.generation import GenerationMode  # noqa: E402
from schemathesis.specs.openapi.checks import (  # noqa: E402
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
EXAMPLES = max(2, settings().max_examples // 10)  # of each operation
DOCUMENT = "/api/v1/openapi.json"
PARTICIPANTS = ("/api/v1/me", "/api/v1/participations", "/api/v1/invitations", "/api/v1/levels")


def of_every_kind() -> Survey:
    """Return a survey of every kind of question."""
    questions = (
        Choice("c", "Which?", ("A", "B"), allow_skip=True),
        Rating("r", "How much?", 1, 5),
        Number("n", "How many?", 0, 10, "h", 0.5),
        Comparison("p", "Which of two?", "A", "B", "Neither"),
    )
    return Survey.at_levels(title="Everything", questions=questions)


@pytest.mark.parametrize(
    "mode",
    [
        pytest.param(GenerationMode.POSITIVE, marks=pytest.mark.exhaustive),
        GenerationMode.NEGATIVE,
    ],
)
@pytest.mark.slow
def test_prop_no_request_breaks_the_description(live_server: LiveServers, mode: Any) -> None:
    """For every request, no answer is a 5xx, and each has a status and a form that is described.

    Half of the requests name a survey, a level and a participation that are there.
    """
    load_all_checks()
    server = live_server(rate_participant=0, rate_address=0)
    survey = server.services.surveys.open_survey(of_every_kind(), listed=True)
    secret = secrets.token_hex(16)
    who = server.services.identity(secret)
    begun, _ = server.services.participations.reserve(
        who, survey.token, "high", idempotency_key=secrets.token_hex(16)
    )
    schema = schemathesis.openapi.from_url(f"{server.url}{DOCUMENT}")
    turns = itertools.count()
    for result in schema.get_all_operations():
        operation = result.ok()

        @settings(
            max_examples=EXAMPLES,
            derandomize=True,
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def one(case: Any) -> None:
            if next(turns) % 2:
                real = {"token": survey.token, "participation": begun.id}
                for name in set(case.path_parameters or ()) & set(real):
                    case.path_parameters[name] = real[name]
                if isinstance(case.body, dict) and "survey" in case.body:
                    case.body = {**case.body, "survey": survey.token, "level": "high"}
            case.call_and_validate(headers={"Masquerade-Participant": secret}, checks=CHECKS)

        with contextlib.suppress(Unsatisfiable):  # where nothing can be wrong
            one()
    assert next(turns) > 10 * EXAMPLES


def test_every_answer_of_a_run_has_the_shape_that_is_described(live_server: LiveServers) -> None:
    """All steps, their repetition, the ways out and the account answer as the document says."""
    import httpx

    server = live_server(rate_participant=0, rate_address=0)
    reward = Reward("credits", {"high": 3})
    survey = server.services.surveys.open_survey(of_every_kind(), listed=True, reward=reward)
    schema = schemathesis.openapi.from_url(f"{server.url}{DOCUMENT}")
    described = {
        (result.ok().method.upper(), result.ok().path): result.ok()
        for result in schema.get_all_operations()
    }
    met: set[tuple[str, str]] = set()
    headers = {"Masquerade-Participant": secrets.token_hex(16)}

    with httpx.Client(base_url=server.url, headers=headers, trust_env=False) as client:

        def ask(method: str, path: str, body: Any = None, **names: str) -> dict[str, Any]:
            answer = client.request(
                method,
                "/api/v1" + path.format(**names),
                json=body,
                headers={"Idempotency-Key": names.get("key", "0" * 32)},
            )
            operation = described[method, "/api/v1" + path]
            case = operation.Case(path_parameters=names)
            case.validate_response(answer, checks=CHECKS)
            met.add((method, "/api/v1" + path))
            assert answer.is_success, answer.text
            found: dict[str, Any] = answer.json()
            return found

        steps = "/participations/{participation}"
        ask("GET", "/surveys/{token}/invitation", token=survey.token)
        ask("GET", "/levels")
        ask("GET", "/invitations")
        for level in ("high", "high"):
            id_ = ask("POST", "/participations", {"survey": survey.token, "level": level})["id"]
        ask("GET", "/invitations")
        reports, salt = [0, 0, -3, 0], secrets.token_hex(16)
        for _ in range(2):
            ask("POST", f"{steps}/open", participation=id_)
        sealed = {"commitment": commitment_of(id_, reports, salt)}
        sent = {"reports": reports, "salt": salt, "level": "high", "survey_hash": survey.hash}
        for _ in range(2):
            ask("POST", f"{steps}/seal", sealed, participation=id_)
        for _ in range(2):
            ask("PUT", f"{steps}/response", sent, participation=id_)
        ask("PATCH", "/me/caps", {"epsilon": 9})
        ask("PATCH", "/me/caps", {"epsilon": 10, "confirm": True})
        for path in ("/me", "/me/ledger", "/me/export", "/invitations"):
            ask("GET", path)
        ask("POST", f"{steps}/withdraw", participation=id_)
        other = server.services.surveys.open_survey(of_every_kind())
        body = {"survey": other.token, "level": "high"}
        id_ = ask("POST", "/participations", body, key="1" * 32)["id"]
        ask("POST", f"{steps}/abandon", participation=id_)
        ask("POST", "/me/move", {"former": "0" * 32})
        ask("DELETE", "/me")
    # Two parties need a helper; tests/server/parties and tests/client/test_two_parties.py send one.
    met.add(("PUT", "/api/v1/participations/{participation}/sealed-report"))
    assert {one for one in described if "participation" in one[1] or "/me" in one[1]} <= met


def test_every_operation_describes_its_answers(live_server: LiveServers) -> None:
    """Each operation describes a success and says that everything else is a problem."""
    server = live_server()
    document = server.app.openapi()
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            answers = operation["responses"]
            assert any(status.startswith("2") for status in answers), (method, path)
            assert "application/problem+json" in answers["default"]["content"], (method, path)
            for status, answer in answers.items():
                if status.startswith(("4", "5")):
                    assert set(answer["content"]) == {"application/problem+json"}, (method, path)
                elif (
                    path.startswith(("/api/v1/me", "/api/v1/participations"))
                    and status != "default"
                ):
                    assert "$ref" in answer["content"]["application/json"]["schema"]


def test_every_path_names_its_methods(live_server: LiveServers) -> None:
    """A method that a path does not have is refused with all those that it has, as described."""
    import httpx

    server = live_server(rate_participant=0, rate_address=0)
    methods = {"GET", "POST", "PUT", "PATCH", "DELETE"}
    with httpx.Client(base_url=server.url, trust_env=False, timeout=60) as client:
        for path, operations in server.app.openapi()["paths"].items():
            described = {method.upper() for method in operations}
            address = re.sub(r"\{kind\}", "csv", path)
            address = re.sub(r"\{[^}]*\}", "0" * 32, address)
            for method in sorted(methods - described):
                answer = client.request(method, address)
                assert answer.status_code == 405, (method, path)
                allowed = set(answer.headers["allow"].split(", "))
                assert allowed == described, (method, path)


def test_files_are_described_as_they_are_answered(live_server: LiveServers) -> None:
    """Each route that answers a survey's owner without a JSON object declares its media type."""
    import httpx

    server = live_server(rate_participant=0, rate_address=0)
    survey = server.services.surveys.open_survey(of_every_kind())
    server.services.surveys.close(survey)
    paths = server.app.openapi()["paths"]
    met = set()
    html = {"Accept": "text/html"}
    with httpx.Client(
        base_url=server.url, trust_env=False, timeout=60, follow_redirects=True
    ) as client:
        client.get(server.owner_link, headers=html)
        for path, operations in paths.items():
            if "get" not in operations:
                continue
            described = operations["get"]["responses"]["200"]["content"]
            for kind in ("csv", "parquet", "jsonl") if "{kind}" in path else ("",):
                address = path.replace("{kind}", kind).replace("{token}", survey.token)
                given = {"first": "c", "second": "r"} if "cross-table" in path else {}
                answer = client.get(address, params=given)
                if answer.status_code == 200:
                    met.add(answer.headers["content-type"].partition(";")[0])
                    assert answer.headers["content-type"].partition(";")[0] in described, path
                    files = {name for name in described if name != "application/json"}
                    assert not files or "application/json" not in described, path
    assert met >= {
        "text/csv",
        "application/vnd.apache.parquet",
        "application/x-ndjson",
        "application/x-ipynb+json",
        "application/json",
    }


# What no JSON schema can say: a line of visible letters, an address that can be told something, a
# survey or a plan that is whole.
_BEYOND_SCHEMAS = {
    ("POST", "/api/v1/surveys"),
    ("PATCH", "/api/v1/surveys/{token}"),
    ("POST", "/api/v1/surveys/{token}/preview"),
    ("POST", "/api/v1/surveys/{token}/curve"),
    ("POST", "/api/v1/webhooks"),
    ("POST", "/api/v1/helpers"),
    ("GET", "/api/v1/surveys/{token}/helper"),
    ("POST", "/api/v1/surveys/{token}/helper"),
}
_NO_INTEGER = "a valid integer"
"""In the refusal of an integer that is written 1.0, as JSON Schema allows: it is no whole number
here, as it would not be the text that was sealed."""


@pytest.mark.slow
def test_prop_what_the_description_allows_has_a_right_form(live_server: LiveServers) -> None:
    """A request that the description allows is refused for its form only where no schema can tell.

    It is asked as the owner, and no answer is a 5xx; what is refused for what is or is not there
    is another matter.
    """
    import httpx

    load_all_checks()
    server = live_server(rate_participant=0, rate_address=0, rate_preview=0, rate_survey=0)
    survey = server.services.surveys.open_survey(of_every_kind())
    with httpx.Client(base_url=server.url, trust_env=False, follow_redirects=True) as owner:
        owner.get(server.owner_link, headers={"Accept": "text/html"})
        cookie = owner.cookies[COOKIE]
    headers = {
        "Cookie": f"{COOKIE}={cookie}",
        "X-CSRF-Token": csrf_token(cookie),
        "Masquerade-Participant": secrets.token_hex(16),
    }
    schema = schemathesis.openapi.from_url(f"{server.url}{DOCUMENT}")
    for result in schema.get_all_operations():
        operation = result.ok()
        if (operation.method.upper(), operation.path) in _BEYOND_SCHEMAS:
            continue

        @settings(
            max_examples=EXAMPLES,
            derandomize=True,
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(generation_mode=GenerationMode.POSITIVE))
        def one(case: Any) -> None:
            if "token" in (case.path_parameters or {}):
                case.path_parameters["token"] = survey.token
            answer = case.call(headers=headers)
            refused = answer.status_code in (400, 415, 422) and _NO_INTEGER not in answer.text
            assert not refused, (case.path, case.body, answer.text)
            assert answer.status_code < 500, (case.path, case.body, answer.text)

        with contextlib.suppress(Unsatisfiable):
            one()
