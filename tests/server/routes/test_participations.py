"""Responses of a running server over the participants' protocol, and refusals."""

from __future__ import annotations

import hashlib
import itertools
import json
import logging
import secrets
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from tests.server.devices import Phone, everything
from tests.server.refusals import LEVELS, problem_of
from tests.surveys.small_surveys import define

from masquerade.accounting import Caps
from masquerade.exact import Micro
from masquerade.server.http.security import LARGEST_BODY
from masquerade.surveys import Choice, Comparison, Number, Rating
from masquerade.surveys.survey import commitment_of

if TYPE_CHECKING:
    from tests.server.conftest import Site

    from masquerade.server.surveys.survey_records import SurveyRecord

SALT = "5a" * 16


def of_all_kinds(**asked: Any) -> Any:
    """Return a survey with every kind of question."""
    return define(
        Choice("c", "SECRETCHOICE", ("OPTIONA", "OPTIONB"), allow_skip=True, truth="OPTIONB"),
        Rating("r", "SECRETRATING", low_label="LOWLABEL"),
        Number("n", "SECRETNUMBER", 0, 40, "UNITS", 0.5),
        Comparison("p", "SECRETPAIR", "ITEMA", "ITEMB", "TIELABEL"),
        **{"levels": LEVELS, **asked},
    )


def test_the_invitation_tells_everything_but_the_questions(site: Site) -> None:
    """An invitation has levels with odds and words, kinds and counts, and no text of a question."""
    survey = site.services.surveys.open_survey(of_all_kinds(description="Why"))
    answer = site.visitor.get(f"/api/v1/surveys/{survey.token}/invitation")
    found = answer.json()
    for hidden in ("SECRET", "OPTION", "ITEM", "TIELABEL", "LOWLABEL", "UNITS", "truth"):
        assert hidden not in answer.text
    assert (found["title"], found["description"], found["topic"]) == ("Work", "Why", "everyday")
    assert (found["state"], found["hash"], found["reveal"]) == ("open", survey.hash, "before_send")
    assert (found["questions"], found["fixed_level"], found["simulated"]) == (4, None, False)
    assert found["kinds"] == {"choice": 1, "rating": 1, "number": 1, "comparison": 1}
    assert [level["name"] for level in found["levels"]] == list(LEVELS)
    for shown, level in zip(found["levels"], survey.survey.levels, strict=True):
        guarantee = level.guarantee()
        assert shown["epsilon_user"] == guarantee.epsilon_user.to_json()
        assert shown["epsilon_event"] == guarantee.epsilon_event.to_json()
        assert shown["rho"] == level.cost("").rho.micro / 1e6
        assert all(shown[name] for name in ("odds", "words", "words_all", "blur"))
    fixed = site.services.surveys.open_survey(of_all_kinds(levels=("high",), topic="sensitive"))
    found = site.visitor.get(f"/api/v1/surveys/{fixed.token}/invitation").json()
    assert (found["fixed_level"], found["reveal"]) == ("high", "after_send")
    for token in ("0" * 16, "%00", "%ff", "ü"):
        problem_of(site.visitor.get(f"/api/v1/surveys/{token}/invitation"), 404, "not-found")


@pytest.mark.parametrize("level", LEVELS)
def test_a_whole_run(site: Site, level: str) -> None:
    """Reserve, open, seal and send give the answers of the contract, each once and each again."""
    survey = site.services.surveys.open_survey(of_all_kinds())
    chosen = survey.survey.level(level)
    phone, key = site.phone(), secrets.token_hex(16)
    person = site.services.identity(phone.participant).person
    site.services.ledger.raise_caps(person, Caps(Micro(50_000_000)))
    first = phone.reserve(survey.token, level, key)
    again = phone.reserve(survey.token, level, key)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    begun = first.json()
    assert (begun["survey"], begun["level"], begun["state"]) == (survey.token, level, "reserved")
    assert begun["price"]["epsilon_user"] == chosen.guarantee().epsilon_user.to_json()
    assert 0 <= begun["battery"]["percent_left"] < 100
    assert "SECRET" not in first.text
    id_ = begun["id"]
    opened, once_more = phone.open(id_), phone.open(id_)
    assert opened.content == once_more.content
    shown = opened.json()
    assert (shown["state"], shown["level"], shown["hash"]) == ("opened", level, survey.hash)
    assert "truth" not in opened.text
    text = shown["survey"]
    assert hashlib.sha256(text.encode()).hexdigest() == survey.hash
    whole = json.loads(text)
    for question, asked in zip(whole["questions"], survey.survey.questions, strict=True):
        assert question == {k: v for k, v in asked.to_json().items() if k != "truth"}
    for one in survey.survey.levels:
        assert whole["levels"][one.name] == list(map(str, one.mechanisms))
    for mechanism in chosen.mechanisms:
        assert shown["masks"][str(mechanism)] == mechanism.device_form()
    choice, rating, number, pair = whole["questions"]
    assert choice["allow_skip"]
    assert (rating["low"], rating["high"], rating["low_label"]) == (1, 5, "LOWLABEL")
    assert (number["low"], number["high"], number["step"], number["unit"]) == (0, 40, 0.5, "UNITS")
    assert (pair["item_a"], pair["item_b"], pair["tie"]) == ("ITEMA", "ITEMB", "TIELABEL")
    reports = [2, 4, -11, 2]
    commitment = commitment_of(id_, reports, SALT)
    for _ in range(2):
        sealed = phone.seal(id_, commitment)
        assert (sealed.status_code, sealed.json()["state"]) == (200, "sealed")
    body = {"reports": reports, "salt": SALT, "level": level, "survey_hash": survey.hash}
    sent, resent = phone.respond(id_, **body), phone.respond(id_, **body, padding=" " * 500)
    assert (sent.status_code, resent.status_code) == (201, 200)
    assert sent.json() == resent.json()
    bill = sent.json()["bill"]
    assert (sent.json()["state"], bill["surveys"]) == ("submitted", 1)
    assert bill["survey_epsilon"] == chosen.guarantee().epsilon_user.to_json()
    [response] = site.services.reports.of_survey(survey.token)
    assert (response.reports, response.level) == (tuple(reports), level)
    withdrawn = phone.ask("POST", f"/participations/{id_}/withdraw")
    assert (withdrawn.status_code, withdrawn.json()["state"]) == (200, "withdrawn")
    assert site.services.reports.of_survey(survey.token) == []


def refusals(site: Site) -> Iterator[tuple[httpx.Response, int, str]]:
    """Yield answers to requests that must be refused, with status and slug."""
    survey = site.services.surveys.open_survey(define(levels=LEVELS))
    closed = site.services.surveys.close(site.services.surveys.open_survey(define()))
    phone, stranger, key = site.phone(), site.phone(), secrets.token_hex(16)
    begun = phone.reserve(survey.token, "medium", key).json()
    id_ = begun["id"]
    body = {"reports": [1, 4], "salt": SALT, "level": "medium", "survey_hash": survey.hash}
    yield phone.reserve(survey.token, "low"), 409, "already-participated"
    yield phone.reserve(survey.token, "low", key), 409, "idempotency-conflict"
    yield phone.reserve(survey.token, "none"), 422, "level-not-allowed"
    yield phone.reserve(closed.token, "medium"), 409, "wrong-state"
    for token in ("0" * 16, "\x00", "ü", "'; DROP TABLE survey; --", ""):
        yield phone.reserve(token, "medium"), 404, "not-found"
    for asker in (phone, stranger):
        for wrong in ("0" * 32, "%00", "x", "%ff", "a" * 500):
            yield asker.open(wrong), 404, "not-found"
    yield stranger.open(id_), 404, "not-found"
    yield stranger.seal(id_, "0" * 64), 404, "not-found"
    yield stranger.respond(id_, **body), 404, "not-found"
    yield stranger.ask("POST", f"/participations/{id_}/withdraw"), 404, "not-found"
    yield stranger.ask("POST", f"/participations/{id_}/abandon"), 404, "not-found"
    yield phone.seal(id_, "0" * 64), 409, "wrong-state"
    yield phone.respond(id_, **body), 409, "wrong-state"
    yield phone.ask("POST", f"/participations/{id_}/withdraw"), 409, "wrong-state"
    assert phone.open(id_).status_code == 200
    assert phone.seal(id_, commitment_of(id_, [1, 4], SALT)).status_code == 200
    yield phone.seal(id_, "0" * 64), 409, "commitment-mismatch"
    yield phone.respond(id_, **{**body, "salt": "5b" * 16}), 409, "commitment-mismatch"
    yield phone.respond(id_, **{**body, "reports": [1, 3]}), 409, "commitment-mismatch"
    yield phone.respond(id_, **{**body, "reports": [1]}), 422, "invalid-report"
    yield phone.respond(id_, **{**body, "reports": [1, 5]}), 422, "invalid-report"
    yield phone.respond(id_, **{**body, "level": "low"}), 422, "level-not-allowed"
    yield phone.respond(id_, **{**body, "survey_hash": "0" * 64}), 409, "survey-hash-mismatch"
    yield phone.open(id_), 409, "wrong-state"
    assert phone.respond(id_, **body).status_code == 201
    yield phone.respond(id_, **{**body, "reports": [1, 3]}), 409, "commitment-mismatch"
    yield phone.ask("POST", f"/participations/{id_}/abandon"), 409, "wrong-state"


def test_what_is_refused_is_a_problem(site: Site) -> None:
    """Each refusal has its own status and problem type; a wrong step names the state."""
    for answer, status, slug in refusals(site):
        found = problem_of(answer, status, slug)
        if slug == "wrong-state" and "participation" in found["detail"]:
            assert found["state"] in ("reserved", "sealed", "submitted")


def test_no_budget_is_a_problem_with_numbers(site: Site) -> None:
    """A level that does not fit the cap is refused with its need and the rest."""
    survey = site.services.surveys.open_survey(define(levels=LEVELS))
    phone = site.phone()
    who = site.services.identity(phone.participant)
    site.services.profiles.set_caps(who, lambda _: Caps(Micro(1_000_000)), confirm=False)
    found = problem_of(phone.reserve(survey.token, "low"), 409, "privacy-cap-exceeded")
    assert found["needed"] > found["residual"] > 0
    assert found["unit"] == "epsilon"
    assert phone.reserve(survey.token, "high").status_code == 201


SURVEYORS = {
    "surveys",
    "results",
    "webhooks",
    "audit",
    "completion codes",
    "two parties",
    "invitations",
}

"""Tags of what is not for participants."""

EVERY_ROUTE = [
    ("GET", "/invitations", None),
    ("POST", "/participations", {"survey": "0" * 16, "level": "low"}),
    ("POST", "/participations/{id}/open", None),
    ("POST", "/participations/{id}/seal", {"commitment": "0" * 64}),
    (
        "PUT",
        "/participations/{id}/response",
        {"reports": [1, 4], "salt": SALT, "level": "low", "survey_hash": "0" * 64},
    ),
    (
        "PUT",
        "/participations/{id}/sealed-report",
        {"report": "AAAA", "salt": SALT, "level": "two-parties", "survey_hash": "0" * 64},
    ),
    ("POST", "/participations/{id}/withdraw", None),
    ("POST", "/participations/{id}/abandon", None),
    ("GET", "/me", None),
    ("GET", "/me/ledger", None),
    ("GET", "/me/export", None),
    ("PATCH", "/me/caps", {"epsilon": 1}),
    ("POST", "/me/move", {"former": "0" * 32}),
    ("DELETE", "/me", None),
]


def test_every_route_needs_the_secret(site: Site) -> None:
    """Without the participant's secret, or with something else, each route answers 401."""
    survey = site.services.surveys.open_survey(define())
    phone = site.phone()
    id_ = phone.reserve(survey.token, "medium").json()["id"]
    document = site.visitor.get("/api/v1/openapi.json").json()
    listed = {
        (method.upper(), path.removeprefix("/api/v1"))
        for path, item in document["paths"].items()
        for method, route in item.items()
        if not SURVEYORS & set(route["tags"])
    }
    open_to_all = {
        ("GET", "/surveys/{token}/invitation"),
        ("GET", "/levels"),
        # Without the secret on purpose, so that nothing joins them with a response.
        ("POST", "/surveys/{token}/ticket"),
        ("POST", "/surveys/{token}/panel"),
    }
    ours = {(m, p.replace("{id}", "{participation}")) for m, p, _ in EVERY_ROUTE}
    assert listed == ours | open_to_all
    before = everything(site.services)
    for secret in (None, "", "xyzzy", "A" * 32, "a" * 31, "a" * 33, "é" * 32):
        for method, path, body in EVERY_ROUTE:
            headers = {b"Idempotency-Key": b"0" * 32}
            if secret is not None:
                headers[b"Masquerade-Participant"] = secret.encode()
            answer = site.visitor.request(
                method, f"/api/v1{path.format(id=id_, payout=id_)}", json=body, headers=headers
            )
            problem_of(answer, 401, "unauthenticated")
            assert "xyzzy" not in answer.text
    assert everything(site.services) == before


def test_a_stranger_sees_none_of_it(site: Site) -> None:
    """One person's surveys are not there for another, in any list or export."""
    survey = site.services.surveys.open_survey(define())
    phone, stranger = site.phone(), site.phone()
    phone.take_part(survey)
    assert stranger.ask("GET", "/me/ledger").json()["entries"] == []
    assert stranger.ask("GET", "/invitations").json()["invitations"] == []
    export = stranger.ask("GET", "/me/export").json()
    assert (export["participations"], export["entries"]) == ([], [])
    assert stranger.ask("GET", "/me").json()["battery"]["percent_left"] == 100


OTHER_FORMS: list[dict[str, Any]] = [
    {"answers": "SECRET"},
    {"answer": ["SECRET"]},
    {"reports": ["SECRET", 0]},
    {"reports": "SECRET"},
    {"reports": [[31337], 0]},
    {"reports": [31337.0, 0]},
    {"reports": ["1", "0"]},
    {"reports": [True, False]},
    {"reports": [None, 0]},
    {"reports": [2**53 + 31337, 0]},
    {"reports": [-(2**53), 0]},
    {"reports": [10**400, 0]},
    {"reports": [0] * 201},
    {"reports": {"0": 31337}},
    {"reports": None},
    {"salt": "SECRET"},
    {"salt": "A" * 32},
    {"salt": "a" * 31},
    {"salt": "a" * 32 + "\n"},
    {"salt": None},
    {"level": "SECRET"},
    {"level": 31337},
    {"survey_hash": "a" * 63},
    {"padding": "SECRET"},
    {"padding": 31337},
]


def test_a_body_of_another_form_is_refused(site: Site) -> None:
    """Unknown fields, other types and missing fields are refused, and no value is repeated."""
    survey = site.services.surveys.open_survey(define())
    phone = site.phone()
    id_ = phone.reserve(survey.token, "medium").json()["id"]
    phone.open(id_)
    phone.seal(id_, commitment_of(id_, [1, 4], SALT))
    body = {"reports": [1, 4], "salt": SALT, "level": "medium", "survey_hash": survey.hash}
    for changes in OTHER_FORMS:
        answer = phone.respond(id_, **{**body, **changes})
        found = problem_of(answer, 422, "validation-error")
        assert all(set(error) == {"pointer", "detail"} for error in found["errors"]), changes
        assert found["errors"][0]["pointer"].startswith(f"body/{next(iter(changes))}")
        assert "SECRET" not in answer.text
        assert "31337" not in answer.text
    for field in body:
        sent = {name: value for name, value in body.items() if name != field}
        found = problem_of(phone.respond(id_, **sent), 422, "validation-error")
        assert [error["pointer"] for error in found["errors"]] == [f"body/{field}"]
    for key in (None, "", "SECRET", "0" * 31, "G" * 32):
        headers = {} if key is None else {"Idempotency-Key": key}
        other = {"survey": survey.token, "level": "medium"}
        answer = site.phone().ask("POST", "/participations", other, **headers)
        problem_of(answer, 422, "validation-error")
        assert "SECRET" not in answer.text
    assert site.services.surveys.record(survey.token).responses == 0


NO_BODIES: list[Any] = [
    (b"", 422),
    (b"{", 422),
    (b"null", 422),
    (b"[]", 422),
    (b"SECRET", 422),
    (b'{"reports": "SECRET"', 422),
    (b"\xff\xfe", 422),
    (b'{"\\ud800": "SECRET"}', 422),
    (b'{"reports": [NaN, Infinity]}', 422),
    (b"[" * 100_000, 400),
    (b'{"reports": [' + b"9" * 10_000 + b"]}", 400),
]


def test_bytes_that_are_no_body_are_refused(site: Site) -> None:
    """Bytes that are no JSON object of the right form give problem details and are not repeated."""
    survey = site.services.surveys.open_survey(define())
    phone = site.phone()
    id_ = phone.reserve(survey.token, "medium").json()["id"]
    for content, status in NO_BODIES:
        answer = site.visitor.put(
            f"/api/v1/participations/{id_}/response",
            content=content,
            headers={"Content-Type": "application/json", **phone.headers},
        )
        problem_of(answer, status, "validation-error" if status == 422 else "refused")
        assert "SECRET" not in answer.text


@pytest.mark.parametrize("announced", [True, False])
def test_a_large_body_is_refused(site: Site, announced: bool) -> None:
    """Bodies above 256 KiB are refused whether or not they announce their length."""
    survey = site.services.surveys.open_survey(define())
    phone = site.phone()
    sent = json.dumps({"survey": survey.token, "level": "medium"}).encode()
    most = sent + b" " * (LARGEST_BODY - len(sent))

    def parts(content: bytes) -> Iterator[bytes]:
        for start in range(0, len(content), 50_000):
            yield content[start : start + 50_000]

    headers = {"Content-Type": "application/json", "Idempotency-Key": "0" * 32, **phone.headers}
    for content, status in ((most + b" ", 413), (most, 201)):
        given = content if announced else parts(content)
        answer = site.visitor.post("/api/v1/participations", content=given, headers=headers)
        assert answer.status_code == status
        if status == 413:
            problem_of(answer, 413, "body-too-large")


def test_methods_that_are_not_there(site: Site) -> None:
    """A wrong method gives 405 and names the right one."""
    answer = site.visitor.get("/api/v1/participations")
    problem_of(answer, 405, "refused")
    assert answer.headers["allow"] == "POST"


def sizes(phone: Phone, survey: SurveyRecord, level: str, reports: list[int]) -> list[int]:
    """Return the sizes of all answers of a run."""
    found = phone.take_part(survey, reports, level=level)
    found += [
        phone.ask("GET", "/me"),
        phone.ask("GET", "/me/ledger"),
        phone.ask("GET", "/invitations"),
        phone.ask("POST", f"/participations/{found[0].json()['id']}/withdraw"),
    ]
    return [len(answer.content) for answer in found]


@pytest.mark.parametrize("extra", range(0, 1024, 128))
def test_bodies_are_as_long_at_every_level(site: Site, extra: int) -> None:
    """For every level and all reports each answer has the same length, whole kibibytes.

    The survey's text grows over a kibibyte in steps, so that no boundary is passed over by luck.
    """
    questions = of_all_kinds().questions
    longer = (Choice("x", "?" + "x" * (extra // 3), ("A", "B" * (1 + extra // 4))), *questions)
    survey = site.services.surveys.open_survey(define(*longer, levels=LEVELS))
    found = {
        tuple(sizes(site.phone(), survey, level, reports))
        for level in ("high", "medium")
        for reports in ([0, 0, 0, 0, 0], [1, 2, 4, -199, 2])
    }
    assert len(found) == 1
    assert all(size % 1024 == 0 for size in next(iter(found)))
    half = "x" * (extra // 2)
    small = define(Choice("x", f"?{half}", (f"A{half}", "B")), levels=LEVELS)
    survey = site.services.surveys.open_survey(small)
    lengths = set()
    for level in LEVELS:
        answers = site.phone().take_part(survey, [1], level=level)
        lengths.add(tuple(len(answer.content) for answer in answers))
    assert len(lengths) == 1


def test_refusals_are_as_long_as_answers(site: Site) -> None:
    """Problems come in whole kibibytes too."""
    for answer, _, _ in itertools.islice(refusals(site), 6):
        assert len(answer.content) == 1024


def test_the_interface_describes_itself(site: Site) -> None:
    """The OpenAPI document lists the routes for devices and no others, with closed bodies."""
    document = site.visitor.get("/api/v1/openapi.json").json()
    assert document["openapi"].startswith("3.")
    for name in ("Beginning", "Seal", "Sending", "NewCaps"):
        assert document["components"]["schemas"][name]["additionalProperties"] is False

    def references(part: Any) -> Iterator[str]:
        if isinstance(part, dict):
            yield from ([part["$ref"]] if "$ref" in part else [])
            for inner in part.values():
                yield from references(inner)
        elif isinstance(part, list):
            for inner in part:
                yield from references(inner)

    for reference in references(document):
        target = document
        for step in reference.removeprefix("#/").split("/"):
            target = target[step]


def test_nothing_about_participants_is_logged(
    site: Site, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """No log line and no output of the server holds any part of the devices' requests."""
    with caplog.at_level(logging.DEBUG):
        survey = site.services.surveys.open_survey(define())
        phone = site.phone()
        answers = phone.take_part(survey, [1, 4])
        id_ = answers[0].json()["id"]
        phone.respond(id_, reports=["x"])
        phone.seal(id_, "0" * 64)
        site.phone().open(id_)
        for path in ("/me", "/me/ledger", "/me/export", "/invitations"):
            assert phone.ask("GET", path).status_code == 200
        site.visitor.get(f"/s/{survey.token}")
        site.owner.post(f"/surveys/{survey.token}/close")
    [response] = site.services.reports.of_survey(survey.token)
    person = site.services.profiles.persons()[0]
    ours = [r.getMessage() for r in caplog.records if not r.name.startswith(("httpx", "httpcore"))]
    output = capfd.readouterr()
    for text in (*ours, output.out, output.err):
        for private in (phone.participant, id_, response.pseudonym, person):
            assert private not in text
        assert "[1, 4]" not in text


def test_the_participant_page_tells_nothing_of_the_questions(site: Site) -> None:
    """The page is for everybody, sets no cookie, and has no text or right answer of a question."""
    survey = site.services.surveys.open_survey(of_all_kinds())
    page = site.visitor.get(f"/s/{survey.token}", headers={"Accept": "text/html"})
    assert page.status_code == 200
    assert "set-cookie" not in page.headers
    assert "SECRET" not in page.text
    assert "truth" not in page.text
    assert site.owner.get(f"/s/{survey.token}").text == page.text
    site.phone().take_part(survey, level="high")
    assert site.visitor.get(f"/s/{survey.token}", headers={"Accept": "text/html"}).text == page.text
