"""Synthetic data over HTTP: promised first, made while one waits, kept nowhere."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from tests.server.devices import Device, everything
from tests.surveys.small_surveys import define

from masquerade.errors import InputError, ParameterError
from masquerade.release import Domain, GroupedClaims, guarantee_json, parse_engine
from masquerade.server.http.security import MOST_UPLOADED
from masquerade.server.results import synthesis
from masquerade.server.results.synthesis import (
    ENGINES,
    SynthesisRequest,
    from_file,
    promise,
    released,
)
from masquerade.surveys import Choice, Number, Rating

if TYPE_CHECKING:
    from tests.server.conftest import Site

HEADER = "task,worker,value\n"
CLAIMS = HEADER + "".join(f"t{t},w{w},{(3 * t + w) % 11}\n" for t in range(4) for w in range(30))
RANGE: dict[str, Any] = {"low": "0", "high": "10"}
PLAIN = {"Accept": "application/json"}


def ask(site: Site, path: str, body: str | None = None, **query: str) -> httpx.Response:
    """Send what the page sends."""
    method = "GET" if path == "promise" else "POST"
    return site.owner.request(method, f"/release/{path}", params=query, content=body, headers=PLAIN)


def told(answer: httpx.Response) -> list[dict[str, Any]]:
    """Return the lines of an answer."""
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines() if line]


def test_a_file_becomes_synthetic_claims(site: Site) -> None:
    """Progress comes line by line, the release last: values in range, codebook, promise."""
    query = {"engine": "pooled", "epsilon": "1", "samples": "7", **RANGE}
    lines = told(ask(site, "synthetic", CLAIMS, **query))
    assert lines[0] == {"of": 4, "claims": 120}
    done = [line["done"] for line in lines if "done" in line]
    assert done == sorted(done)
    assert done[-1] == 4
    made = lines[-1]["release"]
    rows = list(csv.DictReader(io.StringIO(made["csv"])))
    assert len(rows) == made["points"] == 28
    assert {row["task"] for row in rows} == {"t0", "t1", "t2", "t3"}
    assert all(0 <= float(row["value"]) <= 10 for row in rows)
    assert not {row["worker"] for row in rows} & {f"w{w}" for w in range(30)}
    assert made["codebook"]["guarantee"]["epsilon"] == 1
    assert made["statuses"] == {"ok": 4}


def test_nothing_is_kept(site: Site) -> None:
    """The database is the same afterwards, but for an entry of the audit log without a claim."""
    before = everything(site.services)
    told(ask(site, "synthetic", CLAIMS, **RANGE))
    after = everything(site.services)
    assert {name for name in after if after[name] != before[name]} <= {"audit_entry"}
    assert "w29" not in repr(after)


@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_what_is_promised_is_what_is_released(engine: str) -> None:
    """The promise of the preview, made without a claim, is that of the library and the release."""
    specification = SynthesisRequest(engine, "1.5", cap=3, **RANGE)
    promised = promise(specification, specification.domain())
    unit: Any = "user" if engine == "hist2" else "claim"
    library = parse_engine(engine, epsilon="1.5", domain=(0, 10), unit=unit, cap=3)
    assert promised == guarantee_json(library.guarantee())
    assert promised["status"] == "proven"
    lines = list(
        released(
            specification, from_file(CLAIMS.encode()), specification.made(specification.domain())
        )
    )
    assert json.loads(lines[-1])["release"]["sentence"] == promised["sentence"]


@pytest.mark.parametrize("engine", ["test-paper", "uniform", "laplace"])
def test_what_promises_nothing_is_refused(engine: str) -> None:
    """Engines for study cannot be reached from the page."""
    with pytest.raises(ParameterError, match="expected one of"):
        SynthesisRequest(engine).made(Domain(0, 1))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"low": "0"}, "never from the claims"),
        ({"low": "5", "high": "1"}, "low below high"),
        ({"low": "a", "high": "1"}, "low"),
        ({**RANGE, "epsilon": "0"}, "above 0"),
        ({**RANGE, "epsilon": "nan"}, "epsilon"),
        ({**RANGE, "epsilon": "9e999"}, "epsilon"),
        ({**RANGE, "unit": "team"}, "expected claim or user"),
        ({**RANGE, "step": "3"}, "whole number of steps"),
    ],
)
def test_wishes_that_cannot_be_met(options: dict[str, Any], words: str) -> None:
    """They are refused before a claim is read, and the refusal says why."""
    specification = SynthesisRequest(**options)
    with pytest.raises(ParameterError, match=words):
        specification.made(specification.domain())


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (HEADER + "a,b,1\na,c,x\n", "row 2"),
        (HEADER + "a,b,1\na,b,2\n", "row 2: this user already"),
        (HEADER + "a,b,\n", "row 1"),
        (HEADER + "a,b,1,9\n", "row 1"),
        ("task,value\na,1\n", "worker"),
        (HEADER + "a,b,1e200\n", "1e"),
        (HEADER, "no rows"),
        ("", "cannot be read"),
        ("\0\0", "cannot be read"),
    ],
)
def test_files_that_cannot_be_used(body: str, words: str) -> None:
    """The refusal says what is wrong and where."""
    with pytest.raises(InputError, match=words):
        from_file(body.encode())


def test_refusals_over_http(site: Site) -> None:
    """A request or a file that cannot be used is a problem, with the words of the library."""
    for path, body, query in (
        ("promise", None, {"low": "0"}),
        ("synthetic", CLAIMS, {"low": "0"}),
        ("synthetic", HEADER + "a,b,x\n", RANGE),
        ("promise", None, {**RANGE, "cap": "0"}),
        ("synthetic", CLAIMS, {**RANGE, "samples": "1001"}),
    ):
        answer = ask(site, path, body, **query)
        assert answer.status_code == 422, answer.text
        assert answer.json()["type"] == "/problems/validation-error"
    assert "row 1" in ask(site, "synthetic", HEADER + "a,b,x\n", **RANGE).json()["detail"]


def test_a_file_may_be_large_but_not_too_large(site: Site) -> None:
    """More than other bodies is taken; above the limit it is refused, also unannounced."""
    rows = HEADER + "".join(f"t{n % 9},w{n},{n % 11}\n" for n in range(30_000))
    assert len(rows) > 256 * 1024
    assert "release" in told(ask(site, "synthetic", rows, **RANGE))[-1]
    piece = b"x" * 65536

    def pieces() -> Any:
        for _ in range(MOST_UPLOADED // len(piece) + 2):
            yield piece

    answer = site.owner.post("/release/synthetic", params=RANGE, content=pieces(), headers=PLAIN)
    assert answer.status_code == 413
    assert answer.json()["type"] == "/problems/body-too-large"


def test_reports_of_a_survey(site: Site) -> None:
    """Numbers and ratings of a closed survey are taken with their own range; no other team's."""
    questions = (Number("n", "How long?", 0, 40, "hours"), Rating("r", "How good?"))
    survey = site.services.surveys.open_survey(define(*questions, Choice("c", "?", ("A", "B"))))
    for number in range(6):
        Device().send(site.services, survey, [number * 30, number % 5, 0])
    query = {"survey": survey.token, "epsilon": "4"}
    assert ask(site, "promise", **query).status_code == 409
    site.services.surveys.close(survey)
    assert "2 objects with their own ends" in ask(site, "promise", **query).json()["sentence"]
    made = told(ask(site, "synthetic", **query, level="medium"))[-1]["release"]
    rows = list(csv.DictReader(io.StringIO(made["csv"])))
    assert {row["task"] for row in rows} == {"n", "r"}
    assert all(1 <= float(row["value"]) <= 5 for row in rows if row["task"] == "r")
    assert ask(site, "synthetic", **query, level="none").status_code == 422
    for path in ("promise", "synthetic"):
        assert ask(site, path, survey="0123456789abcdef").status_code == 404
    assert survey.token in site.owner.get("/release").text
    chosen = site.owner.get(f"/release?survey={survey.token}").text
    assert 'value="survey" checked' in chosen


def test_who_stops_reading_stops_the_work() -> None:
    """The work ends with the object at which nobody waits any more, and frees its place."""
    claims = from_file(CLAIMS.encode())
    specification = SynthesisRequest("pooled", **RANGE)
    lines = released(specification, claims, specification.made(specification.domain()))
    next(lines)
    lines.close()  # type: ignore[attr-defined]
    for _ in range(synthesis.MOST_AT_ONCE):  # each waits for a place that is free again
        assert synthesis._RUNNING.acquire(timeout=60)
    for _ in range(synthesis.MOST_AT_ONCE):
        synthesis._RUNNING.release()


def test_so_many_at_once(site: Site) -> None:
    """One more than a process takes is told to come again."""
    for _ in range(synthesis.MOST_AT_ONCE):
        assert synthesis._RUNNING.acquire(timeout=60)
    try:
        answer = ask(site, "synthetic", CLAIMS, **RANGE)
        assert answer.status_code == 409
        assert "try again" in answer.json()["detail"]
    finally:
        for _ in range(synthesis.MOST_AT_ONCE):
            synthesis._RUNNING.release()


def test_a_failure_is_told_and_frees_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error in the middle is the last line."""

    def fail(*_args: object, **_more: object) -> None:
        raise ParameterError("no luck.")

    monkeypatch.setattr("masquerade.release.synthesize", fail)
    claims = GroupedClaims.of({"task": ["a"], "worker": ["b"], "value": [1.0]})
    for _ in range(2 * synthesis.MOST_AT_ONCE):
        lines = list(
            released(
                SynthesisRequest(**RANGE), claims, SynthesisRequest(**RANGE).made(Domain(0, 10))
            )
        )
        assert json.loads(lines[-1]) == {"problem": "no luck."}


def test_a_promise_looks_at_no_claim() -> None:
    """It is a function of the form alone."""
    assert promise(SynthesisRequest(epsilon="0.25"), Domain(0, 1))["epsilon"] == 0.25
