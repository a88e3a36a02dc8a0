"""Agreements that a device refuses though a helper signed them: the same in Python and browsers.

The cases are in ``tests/vectors/agreements.json``; ``tests/web/agreement.test.mjs`` runs them too.
``python tests/client/test_agreements.py`` writes them anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from masquerade.aggregate.dap import config_of
from masquerade.aggregate.hpke import HpkeKey, Kem
from masquerade.aggregate.signature import SigningKey
from masquerade.client.offer import Agreement
from masquerade.errors import BrokenPromise
from masquerade.surveys import Choice, Number
from masquerade.surveys.offered_levels import OfferedLevel
from masquerade.surveys.split_task import SplitTask, TaskTerms
from masquerade.surveys.survey import Survey
from masquerade.surveys.two_parties import TwoParties

FILE = Path(__file__).parents[1] / "vectors" / "agreements.json"
NOW, DAYS = 1_800_000_000, 30 * 86_400
HELPER, LEADER, TOKEN = "https://helper.example", "https://leader.example", "abcdef0123456789"
KEY = SigningKey(bytes([7] * 32))
KEYS = {
    name: HpkeKey(Kem.P256, bytes([place] * 32))
    for place, name in enumerate(("leader", "helper", "collector"), 1)
}
SURVEY = Survey(
    "Canteen",
    "",
    "pick",
    (Choice("lunch", "Lunch?", ("soup", "salad")), Number("wait", "Minutes?", 0, 10, "min", 1)),
    (OfferedLevel("two-parties", ()),),
    two_parties=TwoParties.of(
        helper=HELPER,
        operator="They",
        fingerprint=KEY.fingerprint,
        rho="0.5",
        minimum=20,
        sums=("wait",),
    ),
)
TERMS = TaskTerms(
    SURVEY.content_hash(),
    SURVEY.split_noise.variances,
    config_of(1, KEYS["leader"]),
    config_of(2, KEYS["helper"]),
    config_of(3, KEYS["collector"]),
    "5a" * 32,
    NOW + DAYS,
)


def read() -> dict[str, Any]:
    """Return the shared cases."""
    cases: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return cases


def test_the_shared_cases_are_those_of_this_code() -> None:
    """The file is the output of Python today, but for signatures, which have chance in them."""
    made, shared = make_cases(), read()
    for case in (*made["cases"], *shared["cases"]):
        del case["approval"]["signature"]
    assert made == shared
    assert len(made["cases"]) == 75


@pytest.mark.parametrize("case", read()["cases"], ids=lambda case: case["name"])
def test_only_what_adds_up_as_was_told_is_answered(case: dict[str, Any]) -> None:
    """Each lie is refused with a reason, and none with an error that nobody thought of."""
    about = {"helper": HELPER, "operator": "They", "fingerprint": KEY.fingerprint, "minimum": 20}
    shared = read()
    survey = Survey.from_text(shared["text"])

    def report() -> bytes:
        agreement = Agreement.read({**about, **case["said"], "approval": case["approval"]})
        split = agreement.task(survey=case["token"], hash_=shared["hash"], at=NOW)
        agreement.require_survey(survey, split)
        measurement = survey.encoding.measurement({"lunch": "soup", "wait": 3})
        leader, helper = split.terms.leader, split.terms.helper
        return split.task.report(measurement, leader=leader, helper=helper).encode()

    if case["holds"]:
        assert len(report()) > 500
        return
    with pytest.raises(BrokenPromise):
        report()


def make_cases() -> dict[str, Any]:
    """Return the shared cases."""
    return {
        "now": NOW,
        "text": SURVEY.text(),
        "hash": SURVEY.content_hash(),
        "cases": [*of_terms(), *of_configurations(), *of_invitations()],
    }


def case_of(
    name: str,
    terms: str,
    configuration: bytes | None = None,
    *,
    holds: bool = False,
    token: str = TOKEN,
    said: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return a case: the text that a helper signed, and the other words of an invitation."""
    signed = _configuration(terms) if configuration is None else configuration
    approval = {
        "task": hashlib.sha256(signed).hexdigest(),
        "configuration": signed.hex(),
        "terms": terms,
        "public_key": KEY.public_key.hex(),
        "signature": KEY.approve(signed).hex(),
    }
    return {"name": name, "holds": holds, "token": token, "said": said or {}, "approval": approval}


def of_terms() -> Iterator[dict[str, Any]]:
    """Yield terms that are not those of the survey, or that two readers could read apart."""
    honest = TERMS.text()
    data = json.loads(honest)
    yield case_of("honest", honest, holds=True)
    for name in data:
        yield case_of(f"no {name}", _text({key: data[key] for key in data if key != name}))
        values: tuple[Any, ...] = (None, 0, "", "x", [])
        for value in values:
            yield case_of(f"{name} {value!r}", _text({**data, name: value}))
    for end in (TERMS.expires + 0.5, str(TERMS.expires), 1e300, 2**53, NOW):
        yield case_of(f"expires {end!r}", _text({**data, "expires": end}))
    first, second = data["noise"]
    for noise in ([first], [second, first], [first, "1/9"], ["-1/1", second], [0.5, second]):
        yield case_of(f"noise {noise!r}", _text({**data, "noise": noise}))
    yield case_of("a word more", _text({**data, "more": 1}))
    yield case_of("spaces", json.dumps(data))
    yield case_of("noise twice", '{"noise":["1/9","1/9"],' + honest[1:])
    yield case_of("helper twice", f'{honest[:-1]},"helper":"{data["leader"]}"}}')
    same = config_of(2, KEYS["leader"]).encode().hex()
    yield case_of("one key for both", _text({**data, "helper": same}))
    public = config_of(2, KEYS["helper"]).encode()
    for name, changed in (
        ("another number", config_of(1, KEYS["helper"]).encode()),
        ("another curve", public[:2] + b"\x12" + public[3:]),
        ("another cipher", public[:6] + b"\x03" + public[7:]),
        ("no point", public[:10] + bytes(64)),
        ("cut short", public[:-1]),
    ):
        yield case_of(f"helper's key, {name}", _text({**data, "helper": changed.hex()}))


def of_configurations() -> Iterator[dict[str, Any]]:
    """Yield configurations that are not those of the survey."""
    terms = TERMS.text()
    honest = _configuration(terms)
    times = honest.index(HELPER.encode()) + len(HELPER)
    for name, place, part in (
        ("a token of other letters", 1, b"\xe9"),
        ("no duration", times, bytes(8)),
        ("a duration without end", times, b"\xff" * 8),
        ("another minimum", times + 8, (50).to_bytes(8)),
        ("a minimum that rounds", times + 8, (2**53 + 1).to_bytes(8)),
        ("another mode", times + 16, b"\x01"),
        ("another circuit", times + 19, bytes([0, 0, 0, 1])),
    ):
        changed = honest[:place] + part + honest[place + len(part) :]
        yield case_of(name, terms, changed)
    yield case_of("a byte more", terms, honest + b"\x00")


def of_invitations() -> Iterator[dict[str, Any]]:
    """Yield invitations that say something else than was signed."""
    terms = TERMS.text()
    yield case_of("another token", terms, token="0" * 16)
    said: dict[str, Any] = {"minimum": 2, "operator": "Others", "helper": HELPER + ":443"}
    for name, value in said.items():
        yield case_of(f"{name} {value!r}", terms, said={name: value})


def _text(data: dict[str, Any]) -> str:
    return json.dumps(data, sort_keys=True, separators=(",", ":"))


def _configuration(terms: str) -> bytes:
    split = SplitTask.of(SURVEY, TERMS, token=TOKEN, leader=LEADER, opening=NOW)
    # The hash of the terms is the last thing in it.
    return split.task.configuration.encode()[:-32] + hashlib.sha256(terms.encode()).digest()


if __name__ == "__main__":
    FILE.write_text(json.dumps(make_cases(), indent=1) + "\n", encoding="utf-8")
