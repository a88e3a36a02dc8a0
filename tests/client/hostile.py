"""The table of servers that lie: what each says, and what a device must do.

``python -m tests.client.hostile`` writes ``tests/vectors/hostile-server.json`` anew; the app and
the Python client both run it. `ABOUT` and `EXPECTED` say how it is read.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from masquerade.accounting import Balance, Caps
from masquerade.mechanisms import TwoLayer, parse_mechanism
from masquerade.server.participants.privacy_balance import PrivacyAccount, caps_json, price
from masquerade.server.surveys.frozen_surveys import FrozenSurvey
from masquerade.server.surveys.invitation import invitation, masks_json
from masquerade.surveys import Choice, Comparison, Number, Rating, ShowIf
from masquerade.surveys.levels import OfferedLevel
from masquerade.surveys.survey import Survey

FILE = Path(__file__).parent.parent / "vectors" / "hostile-server.json"

ABOUT = [
    "surveys: what an honest server answers in each step, with the level that is chosen, answers,",
    "  their codes, other answers (for a second attempt) and their codes.",
    "Steps: invitation (GET /surveys/{token}/invitation), reserve (POST /participations), open,",
    "  seal, send (PUT .../response), withdraw, abandon, me, ledger, invitations.",
    "cases: `survey` names one of surveys; `lies` has for each step in which the server lies",
    "  `change`, a list of {path, value} or {path, delete: true} on the honest body, in order; or",
    "  `status` and `body` in place of the honest ones; or `raw`, a body that is sent as it is.",
    "  `consent`: whether the person agrees to sending answers as they are (default false).",
    "  `caps`: the device's own caps {epsilon, clear}, where they are not the usual (10 and 0).",
    "  Where a case lies in abandon the device gives up after sealing; where in withdraw, it takes",
    "  back after sending; where in me or ledger, the account is looked at after sending.",
    "`expect` is one of `expected`.",
]

EXPECTED = {
    "refuses-invitation": "The invitation is the only request: nothing is reserved, no question "
    "is shown, nothing is drawn.",
    "refuses": "No question is shown, nothing is drawn, nothing is sealed or sent, at the latest "
    "when the questions come. With an honest server the same device can go on or begin anew.",
    "own-numbers": "All goes its way, and every number and sentence that is shown of levels, "
    "prices, the ledger and what is left is the device's own: the same as with the honest server.",
    "one-draw": "Whatever the server says now and later, and whatever is answered in a second "
    "attempt with an honest server, all requests together carry at most one commitment and one "
    "list of reports, and the device's own ledger has one response.",
    "begin-again": "Nothing was opened here: what was set aside is free on the device, and the "
    "survey can be begun again.",
    "over": "Another device with this secret got further: nothing is shown or drawn here, and the "
    "survey cannot be begun again here.",
    "stops-at-own-cap": "The response does not fit the device's own cap: nothing is reserved.",
}

PARTICIPATION = "0123456789abcdef" * 2
ANOTHERS = "fedcba9876543210" * 2
STATES = ("reserved", "opened", "sealed", "submitted", "withdrawn", "abandoned", "expired")


def asked(definition: Survey, token: str) -> FrozenSurvey:
    """Return a survey as the server keeps it."""
    return FrozenSurvey(
        SimpleNamespace(
            token=token,
            pseudonym_key="",
            simulated_truth=None,
            listed=True,
            reward=None,
            definition=definition.to_json(),
        )
    )


WORK = Survey.at_levels(
    title="Work",
    description="How you work",
    questions=(
        Choice("ill", "Have you worked while ill?", ("Yes", "No", "Cannot say"), allow_skip=True),
        Rating("days", "How often?", 1, 5, "once", "always", allow_skip=True),
        Rating("stress", "How stressful is your work?", 1, 5, "not at all", "very"),
        Number("hours", "How many hours do you sleep?", 0, 12, "hours", 0.5),
        Comparison("pay", "Which would you rather have?", "More pay", "More time", "Neither"),
    ),
    conditions=(None, ShowIf("ill", ("Yes",)), None, None, None),
    levels=("high", "medium", "low"),
)
PLAIN = Survey.at_levels(
    title="Opinions",
    questions=tuple(Choice(f"q{n}", f"Opinion {n}?", ("Yes", "No")) for n in range(20)),
    levels=("high", "low"),
)
CLEAR = Survey.at_levels(
    title="Clear",
    questions=(Choice("q", "Which?", ("a", "b")), Rating("r", "How much?", 1, 5)),
    levels=("none", "high"),
)
OTHER = replace(PLAIN, title="Another survey")


def honest(definition: Survey, token: str, level: str) -> dict[str, Any]:
    """Return what an honest server answers in each step."""
    survey = asked(definition, token)
    chosen = definition.level(level)
    caps = Caps()
    battery = PrivacyAccount(Balance(caps), ()).battery()
    state = {"id": PARTICIPATION, "padding": ""}
    begun = {"id": PARTICIPATION, "state": "reserved", "level": level}
    bodies: dict[str, tuple[int, dict[str, Any]]] = {
        "invitation": (200, invitation(survey, state="open")),
        "reserve": (
            201,
            {**begun, "survey": token, "price": price(chosen, token), "battery": battery},
        ),
        "open": (
            200,
            {
                **state,
                "state": "opened",
                "level": level,
                "hash": survey.hash,
                "survey": survey.text,
                "masks": masks_json(definition),
            },
        ),
        "seal": (200, {**state, "state": "sealed"}),
        "send": (
            201,
            {
                **state,
                "state": "submitted",
                "battery": battery,
                "paid": None,
                "completion_code": None,
                "bill": {
                    "survey_epsilon": chosen.guarantee().epsilon_user.to_json(),
                    "survey_delta": float(chosen.guarantee().delta),
                    "survey_rho": price(chosen, token)["rho"],
                    "total_epsilon": chosen.guarantee().epsilon_user.to_json(),
                    "total_delta": float(chosen.guarantee().delta),
                    "method": "pure",
                    "surveys": 1,
                    "day": "2026-03-14",
                },
            },
        ),
        "withdraw": (200, {**state, "state": "withdrawn"}),
        "abandon": (200, {**state, "state": "abandoned"}),
        "me": (
            200,
            {
                "battery": battery,
                "open_reservations": 0,
                "statement": ["You spent little."],
                "caps": {**caps_json(caps), "to_come": None, "raise_days": 2},
            },
        ),
        "ledger": (
            200,
            {
                "entries": [],
                "total": 0,
                "total_epsilon": 0.0,
                "total_delta": 0.0,
                "method": "pure",
                "unit": "worker",
                "clear": 0,
                "next_cursor": None,
            },
        ),
        "invitations": (
            200,
            {
                "invitations": [{**invitation(survey, state="open"), "participation": begun}],
                "next_cursor": None,
            },
        ),
    }
    return {step: {"status": status, "body": body} for step, (status, body) in bodies.items()}


def at(*path: str | int, value: Any) -> dict[str, Any]:
    """Return a change to a value."""
    return {"path": list(path), "value": value}


def without(*path: str | int) -> dict[str, Any]:
    """Return a change that leaves something out."""
    return {"path": list(path), "delete": True}


def changed(body: Any, changes: list[dict[str, Any]]) -> Any:
    """Return a body after changes."""
    body = copy.deepcopy(body)
    for change in changes:
        *way, last = change["path"]
        place = body
        for step in way:
            place = place[step]
        if change.get("delete"):
            del place[last]
        else:
            place[last] = change["value"]
    return body


SURVEYS: dict[str, dict[str, Any]] = {
    "work": {
        "token": "5a5a5a5a5a5a5a5a",
        "level": "high",
        "answers": {"ill": "No", "days": None, "stress": 4, "hours": 7.5, "pay": "More time"},
        "codes": [1, 5, 3, 15, 1],
        "others": {"ill": "Yes", "days": 2, "stress": 1, "hours": 3, "pay": "More pay"},
        "other_codes": [0, 1, 0, 6, 0],
        "steps": honest(WORK, "5a5a5a5a5a5a5a5a", "high"),
    },
    "plain": {
        "token": "6b6b6b6b6b6b6b6b",
        "level": "high",
        "answers": {f"q{n}": "Yes" for n in range(20)},
        "codes": [0] * 20,
        "others": {f"q{n}": "No" for n in range(20)},
        "other_codes": [1] * 20,
        "steps": honest(PLAIN, "6b6b6b6b6b6b6b6b", "high"),
    },
    "clear": {
        "token": "7c7c7c7c7c7c7c7c",
        "level": "none",
        "answers": {"q": "b", "r": 4},
        "codes": [1, 3],
        "others": {"q": "a", "r": 1},
        "other_codes": [0, 0],
        "steps": honest(CLEAR, "7c7c7c7c7c7c7c7c", "none"),
    },
}

Case = dict[str, Any]
LEVEL = ("levels", 0)
"""Where the level that is chosen stands in the invitation."""


def case(
    name: str,
    expect: str,
    *,
    survey: str = "work",
    consent: bool = False,
    caps: dict[str, float] | None = None,
    **lies: Any,
) -> Case:
    """Return a case; a lie is a list of changes, or what stands in place of the honest answer."""
    told = {step: {"change": lie} if isinstance(lie, list) else lie for step, lie in lies.items()}
    found: Case = {"name": name, "survey": survey, "lies": told, "expect": expect}
    if consent:
        found["consent"] = True
    if caps is not None:
        found["caps"] = caps
    return found


def told_at(step: str, lie: Any) -> dict[str, Any]:
    """Return a lie at a step, as `case` takes it."""
    return {step: lie}


def problem(slug: str, status: int = 409, **more: Any) -> dict[str, Any]:
    """Return a refusal."""
    about = {"type": f"/problems/{slug}", "title": slug, "status": status, "detail": "No."}
    return {"status": status, "body": {**about, **more}}


def raw(survey: str, step: str, path: tuple[str | int, ...], text: str) -> dict[str, Any]:
    """Return an honest answer in which a value is a text that JSON values cannot stand for."""
    honest_ = SURVEYS[survey]["steps"][step]
    body = json.dumps(changed(honest_["body"], [at(*path, value="@here@")]))
    return {"status": honest_["status"], "raw": body.replace('"@here@"', text)}


def canonical(content: Any) -> str:
    """Return the canonical text of a survey, or of anything else."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"))


def hashed(text: str) -> str:
    """Return the hash of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def amounts() -> Iterator[Case]:
    """Yield what a server can say of a level's numbers."""
    for name in ("rho", "epsilon_single", "epsilon_event", "epsilon_user", "delta"):
        path = (*LEVEL, name)
        for what, value in (
            ("null", None),
            ("a text", "0.3"),
            ("'inf'", "inf"),
            ("negative", -1),
            ("0", 0),
            ("tiny", 1e-300),
            ("true", True),
            ("a list", [1]),
        ):
            yield case(
                f"{name} is {what}", "refuses-invitation", invitation=[at(*path, value=value)]
            )
        yield case(f"{name} is missing", "refuses-invitation", invitation=[without(*path)])
        for text in ("NaN", "Infinity", "-Infinity", "1e999"):
            lie = raw("work", "invitation", path, text)
            yield case(f"{name} is {text}", "refuses-invitation", invitation=lie)
        yield case(f"{name} is 1e300", "own-numbers", invitation=[at(*path, value=1e300)])
    low = [at("levels", 2, "epsilon_event", value=0.01)]
    yield case("a level that is not chosen lies", "refuses-invitation", invitation=low)
    yield case(
        "rho is 'inf' and epsilon_event 0.33, for answers in clear",
        "refuses-invitation",
        survey="clear",
        consent=True,
        invitation=[at(*LEVEL, "rho", value="inf"), at(*LEVEL, "epsilon_event", value=0.33)],
    )
    yield case("answers in clear without consent", "refuses-invitation", survey="clear")
    yield case(
        "answers in clear with consent",
        "own-numbers",
        survey="clear",
        consent=True,
        caps={"epsilon": 10, "clear": 2},
    )


def words() -> Iterator[Case]:
    """Yield words that lie."""
    for name in ("odds", "words", "words_all", "blur"):
        lie = "Nobody can learn anything about you, ever."
        yield case(f"{name} lies", "own-numbers", invitation=[at(*LEVEL, name, value=lie)])
        yield case(f"{name} is missing", "own-numbers", invitation=[without(*LEVEL, name)])
        yield case(f"{name} is null", "own-numbers", invitation=[at(*LEVEL, name, value=None)])


def masked(definition: Survey, **mechanisms: list[str]) -> Survey:
    """Return a survey with other mechanisms, without looking whether it may be."""
    levels = []
    for level in definition.levels:
        texts = mechanisms.get(level.name)
        masks: Any = tuple(map(parse_mechanism, texts)) if texts else level.mechanisms
        levels.append(OfferedLevel(level.name, masks, level.linked))
    made = copy.copy(definition)
    object.__setattr__(made, "levels", tuple(levels))
    return made


def everywhere(survey: str, definition: Survey) -> dict[str, Any]:
    """Return changes by which a server consistently asks something else at the same numbers."""
    levels = SURVEYS[survey]["steps"]["invitation"]["body"]["levels"]
    texts = [[str(m) for m in level.mechanisms] for level in definition.levels]
    text, masks = definition.text(), masks_json(definition)
    return {
        "invitation": [
            *(at("levels", n, "mechanisms", value=texts[n]) for n in range(len(levels))),
            at("masks", value=masks),
            at("hash", value=hashed(text)),
        ],
        "open": [
            at("masks", value=masks),
            at("survey", value=text),
            at("hash", value=hashed(text)),
        ],
    }


def mask_lies() -> Iterator[Case]:
    """Yield masks that are not what the numbers say."""
    value: Any
    everywhere_ = {
        "two-layer is priced by its mean": ["two-layer:options=2,low=0,high=1"] * 20,
        "one answer of twenty is sent as it is": [
            *(["randomized-response:options=2,epsilon=0.334884"] * 19),
            "randomized-response:options=2,flip_probability=0",
        ],
        "every mask is weak": ["randomized-response:options=2,epsilon=8"] * 20,
        "every answer is sent as it is": ["randomized-response:options=2,flip_probability=0"] * 20,
    }
    for name, mechanisms in everywhere_.items():
        lie = everywhere("plain", masked(PLAIN, high=mechanisms))
        yield case(
            f"{name}, and the numbers are those of before",
            "refuses-invitation",
            survey="plain",
            **lie,
        )
    clear = masked(PLAIN, high=everywhere_["every answer is sent as it is"])
    lie = everywhere("plain", clear)
    lie["invitation"] += [
        at(*LEVEL, name, value="inf")
        for name in ("rho", "epsilon_single", "epsilon_event", "epsilon_user")
    ]
    yield case(
        "level high sends answers in clear and says so in numbers alone",
        "refuses-invitation",
        survey="plain",
        consent=True,
        **lie,
    )
    two = str(TwoLayer(2, low=0, high=1))
    lie = everywhere("plain", masked(PLAIN, high=[two] * 20))
    lie["invitation"] += [at(*LEVEL, name, value=0.0) for name in ("rho", "epsilon_user")]
    yield case(
        "two-layer from 0 to 1 costs nothing, it is said",
        "refuses-invitation",
        survey="plain",
        **lie,
    )
    masks = SURVEYS["work"]["steps"]["invitation"]["body"]["masks"]
    response = next(text for text in masks if "options=5" in text and "null" not in text)
    noise = next(text for text in masks if "gaussian" in text and "sigma=36" in text)
    for name, value in {
        "first is below last": {**masks[response], "first": "0"},
        "last is above first": {**masks[response], "last": str(int(masks[response]["first"]) + 1)},
        "first is negative": {**masks[response], "first": "-1", "last": "-1"},
        "first is 0": {**masks[response], "first": "0", "last": "0"},
        "total is 0": {**masks[response], "total": "0"},
        "total is larger": {**masks[response], "total": masks[response]["total"] + "0"},
        "total is no number": {**masks[response], "total": "many"},
        "total is a fraction": {**masks[response], "total": "1.5"},
        "total is null": {**masks[response], "total": None},
        "the form's symbols are null": {**masks[response], "symbols": None},
        "the form has one symbol": {**masks[response], "symbols": 1},
        "the form's name is unknown": {**masks[response], "name": "identity"},
        "the form has no name": {k: v for k, v in masks[response].items() if k != "name"},
        "the form is null": None,
        "the form is a text": "randomized-response",
        "the form is empty": {},
    }.items():
        yield case(
            name,
            "refuses",
            invitation=[at("masks", response, value=value)],
            open=[at("masks", response, value=value)],
        )
    for name, variance in {
        "a variance of 308 digits over 309": ["1" + "0" * 309, "9" * 308],
        "a variance of 1 over 308 digits": ["1", "9" * 308],
        "a variance of 0": ["0", "1"],
        "a negative variance": ["-5184", "1"],
        "a variance without a denominator": ["5184"],
        "a variance over 0": ["5184", "0"],
        "a variance that is null": None,
        "a variance that is no number": ["much", "1"],
    }.items():
        change = [at("masks", noise, "variance", value=variance)]
        yield case(name, "refuses", invitation=change, open=change)
    for name, value in {
        "there are no masks": None,
        "the masks are a list": [],
        "the masks are empty": {},
        "the masks are a text": "all",
    }.items():
        yield case(name, "refuses-invitation", invitation=[at("masks", value=value)])
        yield case(f"{name} when opened", "refuses", open=[at("masks", value=value)])
    yield case("the masks are missing", "refuses-invitation", invitation=[without("masks")])
    yield case("the masks are missing when opened", "refuses", open=[without("masks")])
    weaker = parse_mechanism("randomized-response:options=5,epsilon=6").device_form()  # type: ignore[attr-defined]
    yield case(
        "a form is weaker when opened", "refuses", open=[at("masks", response, value=weaker)]
    )
    yield case("a form is missing when opened", "refuses", open=[without("masks", response)])


def invitation_lies() -> Iterator[Case]:
    """Yield invitations that cannot be, or that contradict themselves."""
    mechanisms = [str(m) for m in WORK.levels[0].mechanisms]
    bad: list[tuple[str, list[dict[str, Any]]]] = [
        ("the mechanisms are missing", [without(*LEVEL, "mechanisms")]),
        ("the mechanisms are null", [at(*LEVEL, "mechanisms", value=None)]),
        ("the mechanisms are empty", [at(*LEVEL, "mechanisms", value=[])]),
        ("a mechanism is null", [at(*LEVEL, "mechanisms", 0, value=None)]),
        ("a mechanism is none", [at(*LEVEL, "mechanisms", 0, value="identity:")]),
        ("a mechanism is too few", [at(*LEVEL, "mechanisms", value=mechanisms[:4])]),
        ("a mechanism is too many", [at(*LEVEL, "mechanisms", value=[*mechanisms, mechanisms[0]])]),
        ("the levels are missing", [without("levels")]),
        ("the levels are null", [at("levels", value=None)]),
        ("there is no level", [at("levels", value=[])]),
        ("a level is null", [at("levels", 1, value=None)]),
        ("a level has no name", [without(*LEVEL, "name")]),
        ("a level's name is null", [at(*LEVEL, "name", value=None)]),
        ("two levels have one name", [at("levels", 1, "name", value="high")]),
        ("the fixed level is one of three", [at("fixed_level", value="high")]),
        ("the fixed level is none of them", [at("fixed_level", value="highest")]),
        ("linked is missing", [without("linked")]),
        ("linked is null", [at("linked", value=None)]),
        ("linked is a text", [at("linked", value="0,1")]),
        ("linked names a question that is not there", [at("linked", value=[[0, 5]])]),
        ("linked names a question before the first", [at("linked", value=[[-1, 0]])]),
        ("linked names a fraction of a question", [at("linked", value=[[0, 0.5]])]),
        ("the number of questions is missing", [without("questions")]),
        ("the number of questions is 0", [at("questions", value=0)]),
        ("the number of questions is negative", [at("questions", value=-5)]),
        ("the number of questions is a text", [at("questions", value="5")]),
        ("the number of questions is 4", [at("questions", value=4)]),
        ("the number of questions is 5.5", [at("questions", value=5.5)]),
        ("the kinds are missing", [without("kinds")]),
        ("the kinds are null", [at("kinds", value=None)]),
        ("the kinds are fewer", [at("kinds", value={"choice": 1})]),
        ("the hash is missing", [without("hash")]),
        ("the hash is null", [at("hash", value=None)]),
        ("the hash is empty", [at("hash", value="")]),
        ("the hash is a number", [at("hash", value=5)]),
        ("reveal is missing", [without("reveal")]),
        ("reveal is something else", [at("reveal", value="never")]),
        ("the title is missing", [without("title")]),
        ("the title is null", [at("title", value=None)]),
        ("the title is a list", [at("title", value=["Work"])]),
        ("the description is null", [at("description", value=None)]),
    ]
    for name, change in bad:
        yield case(name, "refuses-invitation", invitation=change)
    for name, value in (
        ("the topic", "sensitive"),
        ("the template", "label"),
        ("the estimator", "ivw"),
    ):
        key = name.split()[1]
        yield case(f"{name} is missing", "refuses", invitation=[without(key)])
        yield case(f"{name} is another", "refuses", invitation=[at(key, value=value)])
    yield case(
        "a masked level is called none",
        "refuses",
        invitation=[at("levels", 1, "name", value="none")],
    )
    yield case(
        "linked is empty, and the numbers are those of no link",
        "refuses",
        invitation=[at("linked", value=[])],
    )
    yield case(
        "the kinds are others of the same number",
        "refuses",
        invitation=[at("kinds", value={"choice": 5})],
    )
    yield case(
        "the invitation is a list", "refuses-invitation", invitation={"status": 200, "body": []}
    )
    yield case(
        "the invitation is null", "refuses-invitation", invitation={"status": 200, "body": None}
    )
    yield case(
        "the invitation is no JSON", "refuses-invitation", invitation={"status": 200, "raw": "{"}
    )


def text_changes() -> Iterator[tuple[str, str, bool]]:
    """Yield what is changed in the survey's text, the text, and whether the invitation shows it."""
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
    """Yield what a server can say to be given another draw."""
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


def table() -> dict[str, Any]:
    """Return the whole table."""
    cases = [
        one
        for some in (
            amounts,
            words,
            mask_lies,
            invitation_lies,
            opening_lies,
            reservation_lies,
            draw_lies,
            account_lies,
        )
        for one in some()
    ]
    return {"about": ABOUT, "expected": EXPECTED, "surveys": SURVEYS, "cases": cases}


def written() -> str:
    """Return the table as its file holds it: a case a line."""
    whole = table()
    cases = ",\n".join(map(json.dumps, whole.pop("cases")))
    head = json.dumps(whole, indent=1)
    return f'{head[:-2]},\n "cases": [\n{cases}\n]}}\n'


if __name__ == "__main__":
    FILE.write_text(written())
