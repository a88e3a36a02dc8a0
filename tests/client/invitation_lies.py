"""Lies of the invitation: numbers, words, masks and forms that cannot be, or do not agree."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from tests.client.honest_server import PLAIN, SURVEYS, WORK
from tests.client.lies import LEVEL, Case, at, case, hashed, raw, without

from masquerade.mechanisms import TwoLayer, parse_mechanism
from masquerade.server.surveys.survey_records import masks_json
from masquerade.surveys.offered_levels import OfferedLevel
from masquerade.surveys.survey import Survey


def amounts() -> Iterator[Case]:
    """Yield possible lies of a server about a level's numbers."""
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
    """Yield masks that differ from the numbers."""
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
