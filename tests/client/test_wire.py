"""Every byte that leaves: no true answer, and nothing that its length could tell."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.client.surveys import ANSWERS, Wire

from masquerade.surveys import (
    Choice,
    Comparison,
    Number,
    Question,
    Rating,
    SeveralOf,
    question_from_json,
)
from masquerade.surveys.kinds import kinds

if TYPE_CHECKING:
    from tests.client.conftest import Place

# Strange words and numbers, so that finding one in what was sent is no accident.
SENTINELS = ("zanzibar-quokka", "oryx-parallax", "7351.625", "sentinel-id", "umbra")
QUESTIONS: tuple[Question, ...] = (
    Choice("sentinel-id-1", "Where?", ("zanzibar-quokka", "b", "c")),
    Comparison("sentinel-id-2", "Which?", "oryx-parallax", "b", "neither"),
    Number("sentinel-id-3", "How many?", 7351, 7352, "things", 0.125),
    Rating("sentinel-id-4", "How much?", 1, 9),
    SeveralOf("sentinel-id-5", "Which?", ("okapi-umbra", "b", "oryx-umbra"), most=2),
)
TRUTH: dict[str, Any] = {
    "sentinel-id-1": "zanzibar-quokka",
    "sentinel-id-2": "oryx-parallax",
    "sentinel-id-3": 7351.625,
    "sentinel-id-4": 8,
    "sentinel-id-5": ["okapi-umbra", "oryx-umbra"],
}
BODIES = {
    "participations": {"survey", "level", "padding"},
    "open": set(),
    "seal": {"commitment", "padding"},
    "response": {"reports", "salt", "level", "survey_hash", "padding"},
}


@pytest.mark.parametrize(
    ("reveal", "rating_mask", "levels"),
    [
        ("before_send", "randomized-response", ("high", "medium", "low")),
        ("after_send", "gaussian", ("medium",)),
    ],
)
def test_no_true_answer_leaves(
    place: Place, reveal: str, rating_mask: str, levels: tuple[str, ...]
) -> None:
    """Over every kind and level, requests hold the fields of the protocol and no planted answer."""
    survey = place.survey(*QUESTIONS, reveal=reveal, rating_mask=rating_mask, levels=levels)
    for level in levels:
        wire = Wire()
        client = place.client(home=level, transport=wire)
        receipt = client.begin(survey.token, level).answer(TRUTH)
        names = [name for name, _, _ in wire.sizes]
        assert names == ["invitation", "participations", "open", "seal", "response"]
        for name, request in zip(names, wire.sent, strict=True):
            head, _, body = request.partition(b"{")
            fields = json.loads(b"{" + body) if body else {}
            assert set(fields) == BODIES.get(name, set())
            # What is random may hold any digits; the reports are the masked ones of the receipt.
            for random in ("salt", "commitment", "survey_hash", "reports", "survey", "padding"):
                fields.pop(random, None)
            text = head.lower().split(b"masquerade-participant")[0].decode() + json.dumps(fields)
            text = text.replace(survey.token, "").replace(place.url.partition("//")[2], "")
            for sentinel in SENTINELS:
                assert sentinel not in text
        sent = json.loads(b"{" + wire.sent[-1].partition(b"{")[2])["reports"]
        assert sent == [one.report for one in receipt.reports]


def test_reports_are_the_masks_work(place: Place) -> None:
    """Reports are not the truth with another name: 40 true answers are never all sent.

    At level high each of 40 answers is kept with probability below 0.6, so all are with probability
    below 2e-9.
    """
    questions = [Choice(f"q{n}", "Which?", ("a", "b")) for n in range(40)]
    survey = place.survey(*questions)
    part = place.client().begin(survey.token, "high")
    receipt = part.answer({question.id: "a" for question in questions})
    assert {one.report for one in receipt.reports} == {0, 1}


def test_sizes_are_equal_across_levels(place: Place) -> None:
    """Each step has one length of request and one of answer, for every level and answer."""
    survey = place.survey()
    seen: dict[str, set[tuple[int, int]]] = {}
    hosts = set()
    others = {"ill": None, "stress": 1, "hours": 0, "pay": "More pay"}
    for level in ("high", "medium", "low"):
        for answers in (ANSWERS, others):
            wire = Wire()
            client = place.client(home=f"{level}-{answers['stress']}", transport=wire)
            client.begin(survey.token, level).answer(answers)
            for name, request, answer in wire.sizes:
                seen.setdefault(name, set()).add((request, answer))
                assert request % 1024 == 0
                assert answer % 1024 == 0
            hosts |= {one.split()[1].split(b"/")[2] for one in wire.sent}
    assert {name: len(sizes) for name, sizes in seen.items()} == dict.fromkeys(seen, 1)
    assert set(seen) == {"invitation", *BODIES}
    assert hosts == {place.url.partition("//")[2].encode()}


def test_headers_tell_nothing_of_the_device(place: Place) -> None:
    """No version, language, cookie or referrer goes along; the secret is in its header only."""
    survey = place.survey()
    wire = Wire()
    client = place.client(transport=wire)
    client.begin(survey.token, "high").answer(ANSWERS)
    secret = client.identity.secret_at(client.url).encode()
    for request in wire.sent:
        head = request.partition(b"{")[0].lower()
        names = {line.partition(b":")[0] for line in head.splitlines()[1:]}
        assert names <= {
            b"host",
            b"accept",
            b"accept-encoding",
            b"connection",
            b"user-agent",
            b"content-type",
            b"content-length",
            b"masquerade-participant",
            b"idempotency-key",
        }
        assert b"user-agent: masquerade\n" in head
        assert client.identity.secret[1:].encode() not in request
        assert request.count(secret) == (b"masquerade-participant" in head)
    assert secret not in wire.sent[0]


def test_every_kind_sends_as_many_bytes_whatever_is_answered(place: Place) -> None:
    """Of all kinds that are registered, the first answer and the last are equally long."""
    questions = [
        question_from_json({**kind.builder.blank, "kind": name, "id": name, "text": "Which?"})
        for name, kind in kinds().items()
    ]
    survey = place.survey(*questions, levels=("medium",))
    lengths = []
    for which in (0, -1):
        wire = Wire()
        part = place.client(home=f"person{which}", transport=wire).begin(survey.token, "medium")
        part.open()
        answers: dict[str, Any] = {}
        for one in part.questions:
            assert one.mechanism is not None
            codes = [c for c in range(min(one.mechanism.codes, 64)) if one.mechanism.masks(c)]
            answers[one.question.id] = one.answer(codes[which])
        part.answer(answers)
        lengths.append([(name, sent) for name, sent, _ in wire.sizes])
    assert lengths[0] == lengths[1]
