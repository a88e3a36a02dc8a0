"""Lies after the invitation: reservations, openings, refusals for another draw, accounts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.client.honest_server import OTHER, PARTICIPATION, WORK
from tests.client.lies import (
    Case,
    at,
    canonical,
    case,
    changed,
    hashed,
    problem,
    raw,
    told_at,
    without,
)

from masquerade.server.surveys.survey_records import masks_json

ANOTHERS = "fedcba9876543210" * 2
STATES = ("reserved", "opened", "sealed", "submitted", "withdrawn", "abandoned", "expired")


def text_changes() -> Iterator[tuple[str, str, bool]]:
    """Yield the change in the survey's text, the text, and True if the invitation shows it."""
    whole = json.loads(WORK.text())
    changes: list[tuple[str, list[dict[str, Any]], bool]] = [
        ("the title", [at("title", value="Play")], True),
        ("the description", [at("description", value="How you play")], True),
        ("the topic", [at("topic", value="sensitive")], True),
        ("the template", [at("template", value="label")], True),
        ("when reports are revealed", [at("reveal", value="after_send")], True),
        ("the estimator", [at("estimator", value="ivw")], True),
        ("a question's text", [at("questions", 2, "text", value="Do you drink at work?")], False),
        ("a question's id", [at("questions", 2, "id", value="drink")], False),
        ("a label", [at("questions", 0, "options", 0, value="No, never")], False),
        (
            "the order of the labels",
            [at("questions", 0, "options", value=["No", "Yes", "Cannot say"])],
            False,
        ),
        (
            "the ends of a scale",
            [
                at("questions", 2, "low_label", value="very"),
                at("questions", 2, "high_label", value="not at all"),
            ],
            False,
        ),
        ("the scale of a number", [at("questions", 3, "unit", value="minutes")], False),
        (
            "the two that are compared",
            [
                at("questions", 4, "item_a", value="More time"),
                at("questions", 4, "item_b", value="More pay"),
            ],
            False,
        ),
        (
            "whether a question can be skipped",
            [at("questions", 0, "allow_skip", value=False)],
            False,
        ),
        ("a condition", [at("questions", 1, "show_if", "answers", value=["No"])], False),
        ("that there is a condition", [without("questions", 1, "show_if")], True),
        (
            "the kind of a question",
            [at("questions", 4, value=whole["questions"][0] | {"id": "x"})],
            True,
        ),
        (
            "the order of the questions",
            [at("questions", value=[*whole["questions"][:2], *whole["questions"][:1:-1]])],
            False,
        ),
        ("that a question is left out", [without("questions", 4)], True),
        (
            "that a question is added",
            [at("questions", value=[*whole["questions"], whole["questions"][2] | {"id": "x"}])],
            True,
        ),
        (
            "a mask",
            [at("levels", "high", 2, value="randomized-response:options=5,epsilon=6")],
            True,
        ),
        (
            "the masks of two levels",
            [
                at("levels", "high", value=whole["levels"]["low"]),
                at("levels", "low", value=whole["levels"]["high"]),
            ],
            True,
        ),
        ("that a level is left out", [without("levels", "low")], True),
        ("that a level is added", [at("levels", "lowest", value=whole["levels"]["low"])], True),
        (
            "the name of a level",
            [at("levels", "highest", value=whole["levels"]["high"]), without("levels", "high")],
            True,
        ),
    ]
    for name, change, shown in changes:
        yield name, canonical(changed(whole, change)), shown


def opening_lies() -> Iterator[Case]:
    """Yield openings that are not those of the survey that was invited to."""
    state: Any
    for name, text, shown in text_changes():
        yield case(
            f"{name} changes, under the same hash", "refuses", open=[at("survey", value=text)]
        )
        yield case(
            f"{name} changes, and the hash with it",
            "refuses",
            open=[at("survey", value=text), at("hash", value=hashed(text))],
        )
        if shown:
            yield case(
                f"{name} was another in the invitation, under the text's own hash",
                "refuses",
                invitation=[at("hash", value=hashed(text))],
                open=[at("survey", value=text), at("hash", value=hashed(text))],
            )
    whole = json.loads(WORK.text())
    twice = [*whole["questions"][:3], whole["questions"][3], whole["questions"][3]]
    for name, change in {
        "a question asks for a text": [at("questions", 0, "kind", value="text")],
        "a question is null": [at("questions", 0, value=None)],
        "a question is a text": [at("questions", 0, value="ill?")],
        "a question has no text": [without("questions", 0, "text")],
        "a question's text is null": [at("questions", 0, "text", value=None)],
        "two questions have one id": [at("questions", value=twice)],
        "two labels are the same": [at("questions", 0, "options", 1, value="Yes")],
        "there is one label": [at("questions", 0, "options", value=["Yes"])],
        "labels are a text": [at("questions", 0, "options", value="Yes")],
        "a label is null": [at("questions", 0, "options", 0, value=None)],
        "a label too many for the mask": [
            at("questions", 0, "options", value=["Yes", "No", "Cannot say", "Perhaps"])
        ],
        "a scale too long for the mask": [at("questions", 2, "high", value=6)],
        "a scale without an end": [without("questions", 2, "high")],
        "a scale that ends in a text": [at("questions", 2, "high", value="5")],
        "a number without a step": [at("questions", 3, "step", value=0)],
        "a range too wide for the mask": [at("questions", 3, "high", value=24)],
        "a condition on a later question": [at("questions", 1, "show_if", "question", value="pay")],
        "a condition on no question": [at("questions", 1, "show_if", "question", value="x")],
        "a condition that all meet": [
            at("questions", 1, "show_if", "answers", value=["Yes", "No", "Cannot say", "x"])
        ],
        "a condition that is a text": [at("questions", 1, "show_if", value="ill")],
        "a condition on a question that cannot be skipped": [
            at("questions", 1, "allow_skip", value=False)
        ],
        "no questions": [at("questions", value=[])],
        "questions are null": [at("questions", value=None)],
        "questions are missing": [without("questions")],
        "no levels": [at("levels", value={})],
        "the levels are missing": [without("levels")],
        "the title is missing": [without("title")],
        "the title is null": [at("title", value=None)],
        "something unknown is in it": [at("truth", value="Yes")],
    }.items():
        text = canonical(changed(whole, change))
        yield case(
            f"{name}, and the hash says so from the beginning",
            "refuses",
            invitation=[at("hash", value=hashed(text))],
            open=[at("survey", value=text), at("hash", value=hashed(text))],
        )
    nan = WORK.text().replace('"step":0.5', '"step":NaN')
    huge = WORK.text().replace('"high":12', '"high":1e999')
    for name, text in {
        "the text holds NaN": nan,
        "the text holds 1e999": huge,
        "the text is null": "null",
        "the text is a list": "[]",
        "the text is empty": "",
        "the text is cut off": nan[:200],
    }.items():
        yield case(
            f"{name}, and the hash says so from the beginning",
            "refuses",
            invitation=[at("hash", value=hashed(text))],
            open=[at("survey", value=text), at("hash", value=hashed(text))],
        )
    yield case("the text has a space more", "refuses", open=[at("survey", value=WORK.text() + " ")])
    for name, value in {"null": None, "a number": 5, "an object": whole}.items():
        yield case(f"the survey is {name} when opened", "refuses", open=[at("survey", value=value)])
    yield case("the survey is missing when opened", "refuses", open=[without("survey")])
    for name, value in {
        "another": "0" * 64,
        "null": None,
        "in capitals": hashed(WORK.text()).upper(),
    }.items():
        yield case(f"the hash is {name} when opened", "refuses", open=[at("hash", value=value)])
    yield case("the hash is missing when opened", "refuses", open=[without("hash")])
    yield case(
        "another survey is opened",
        "refuses",
        open=[
            at("survey", value=OTHER.text()),
            at("hash", value=OTHER.content_hash()),
            at("masks", value=masks_json(OTHER)),
        ],
    )
    for state in ("reserved", "sealed", "submitted", "expired", "withdrawn", "", None):
        yield case(f"what is opened is {state!r}", "refuses", open=[at("state", value=state)])
    yield case("what is opened has no state", "refuses", open=[without("state")])
    yield case("another participation is opened", "refuses", open=[at("id", value=ANOTHERS)])
    yield case("another level is opened", "refuses", open=[at("level", value="low")])
    yield case("the opening is null", "refuses", open={"status": 200, "body": None})
    yield case("the opening is no JSON", "refuses", open={"status": 200, "raw": "<html>"})
    yield case(
        "opening is refused as expired", "begin-again", open=problem("wrong-state", state="expired")
    )
    for state in ("sealed", "submitted", "withdrawn", "abandoned"):
        yield case(
            f"opening is refused as {state}", "over", open=problem("wrong-state", state=state)
        )
    for state in ("reserved", "opened", "unheard-of", None, 5):
        yield case(
            f"opening is refused as {state!r}", "refuses", open=problem("wrong-state", state=state)
        )
    yield case("opening is refused without a state", "refuses", open=problem("wrong-state"))


def reservation_lies() -> Iterator[Case]:
    """Yield reservations that are none."""
    state: Any
    value: Any
    for name, value in {
        "null": None,
        "a number": 5,
        "a path": "../me",
        "short": "0a",
        "in capitals": PARTICIPATION.upper(),
    }.items():
        yield case(f"the reservation's id is {name}", "refuses", reserve=[at("id", value=value)])
    yield case("the reservation has no id", "refuses", reserve=[without("id")])
    yield case(
        "another survey is reserved", "refuses", reserve=[at("survey", value="6b6b6b6b6b6b6b6b")]
    )
    yield case("another level is reserved", "refuses", reserve=[at("level", value="low")])
    for state in ("sealed", "submitted", "withdrawn", "abandoned"):
        yield case(f"what is reserved is {state}", "over", reserve=[at("state", value=state)])
    yield case("what is reserved is expired", "begin-again", reserve=[at("state", value="expired")])
    for state in ("unheard-of", None, 5):
        yield case(f"what is reserved is {state!r}", "refuses", reserve=[at("state", value=state)])
    yield case("the reservation has no state", "refuses", reserve=[without("state")])
    for slug in ("wrong-state", "privacy-cap-exceeded", "budget-exhausted", "level-not-allowed"):
        yield case(f"the reservation is refused: {slug}", "begin-again", reserve=problem(slug))
    for name in ("rho", "epsilon_event", "epsilon_user", "delta", "clear"):
        for what, value in (("0", 0), ("null", None), ("'inf'", "inf"), ("1e300", 1e300)):
            yield case(
                f"the price's {name} is {what}",
                "own-numbers",
                reserve=[at("price", name, value=value)],
            )
    yield case("there is no price", "own-numbers", reserve=[without("price")])
    yield case("the price is null", "own-numbers", reserve=[at("price", value=None)])
    for name in ("percent_left", "epsilon_spent", "epsilon_cap"):
        yield case(
            f"the battery's {name} is 100 after reserving",
            "own-numbers",
            reserve=[at("battery", name, value=100)],
        )
    yield case("there is no battery", "own-numbers", reserve=[without("battery")])
    yield case(
        "the server's cap is 1000 and the device's is small",
        "stops-at-own-cap",
        caps={"epsilon": 0.01, "clear": 0},
        reserve=[at("battery", "epsilon_cap", value=1000)],
        me=[at("caps", "epsilon", value=1000)],
    )


def draw_lies() -> Iterator[Case]:
    """Yield possible lies of a server to be given another draw."""
    states = (*STATES, "unheard-of", None, 5)
    for step in ("seal", "send", "withdraw", "abandon"):
        for state in states:
            yield case(
                f"{step} is refused as {state!r}",
                "one-draw",
                **told_at(step, problem("wrong-state", state=state)),
            )
        yield case(
            f"{step} is refused without a state",
            "one-draw",
            **told_at(step, problem("wrong-state")),
        )
        for slug, status in (
            ("not-found", 404),
            ("commitment-mismatch", 409),
            ("survey-hash-mismatch", 409),
            ("invalid-report", 422),
            ("level-not-allowed", 422),
            ("idempotency-conflict", 409),
            ("privacy-cap-exceeded", 409),
            ("budget-exhausted", 409),
            ("unauthenticated", 401),
            ("unheard-of", 418),
        ):
            yield case(
                f"{step} is refused: {slug}", "one-draw", **told_at(step, problem(slug, status))
            )
    for step, states_ in (
        ("seal", ("reserved", "opened", "expired", "abandoned", None)),
        ("send", ("reserved", "opened", "sealed", "expired", "withdrawn", None)),
        ("withdraw", ("expired", "reserved")),
    ):
        for state in states_:
            yield case(
                f"after {step} it is {state!r}",
                "one-draw",
                **told_at(step, [at("state", value=state)]),
            )
        yield case(
            f"after {step} it is another's", "one-draw", **told_at(step, [at("id", value=ANOTHERS)])
        )
        yield case(
            f"{step} is answered with nothing",
            "one-draw",
            **told_at(step, {"status": 200, "body": {}}),
        )
        yield case(
            f"{step} is answered with null",
            "one-draw",
            **told_at(step, {"status": 200, "body": None}),
        )
    yield case(
        "sealing and giving up both say expired",
        "one-draw",
        seal=problem("wrong-state", state="expired"),
        abandon=[at("state", value="expired")],
    )


def account_lies() -> Iterator[Case]:
    """Yield accounts that are not this person's."""
    value: Any
    for name in ("survey_epsilon", "survey_rho", "total_epsilon", "total_delta"):
        for what, value in (("0", 0), ("null", None), ("'inf'", "inf"), ("negative", -3)):
            yield case(
                f"the bill's {name} is {what}", "own-numbers", send=[at("bill", name, value=value)]
            )
    yield case("there is no bill", "own-numbers", send=[without("bill")])
    yield case("the bill is null", "own-numbers", send=[at("bill", value=None)])
    yield case("the bill is a list", "own-numbers", send=[at("bill", value=[])])
    for name, value in {
        "percent_left": 100,
        "epsilon_spent": 0,
        "delta": 0,
        "epsilon_cap": 1e9,
        "clear": -1,
    }.items():
        yield case(
            f"the battery's {name} is {value}",
            "own-numbers",
            me=[at("battery", name, value=value)],
            send=[at("battery", name, value=value)],
        )
    yield case(
        "the caps are raised",
        "own-numbers",
        me=[
            at(
                "caps",
                value={
                    "epsilon": 1e9,
                    "delta": 0.5,
                    "clear": 200,
                    "rho": 1e9,
                    "to_come": None,
                    "raise_days": 0,
                },
            )
        ],
    )
    yield case(
        "the statement lies",
        "own-numbers",
        me=[at("statement", value=["You have not spent anything."])],
    )
    for name in ("battery", "caps", "statement"):
        yield case(f"the account has no {name}", "own-numbers", me=[without(name)])
    yield case(
        "the ledger says 0 in all",
        "own-numbers",
        ledger=[at("total_epsilon", value=0), at("total", value=0)],
    )
    yield case("the ledger has no entries", "own-numbers", ledger=[without("entries")])
    yield case(
        "the ledger's total is NaN",
        "own-numbers",
        ledger=raw("work", "ledger", ("total_epsilon",), "NaN"),
    )
