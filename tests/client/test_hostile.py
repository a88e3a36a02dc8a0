"""The table of servers that lie: the words of each, and the client's reaction."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.client.honest_server import SURVEYS
from tests.client.hostile import EXPECTED, FILE, table
from tests.client.liar import TABLE, Meeting
from tests.representative import one_in

from masquerade.errors import (
    AlreadyParticipated,
    InsufficientBudget,
    ParameterError,
    WrongState,
)

CASES: dict[str, list[dict[str, Any]]] = {name: [] for name in EXPECTED}
for one in TABLE["cases"]:
    CASES[one["expect"]].append(one)


def cases(expect: str) -> pytest.MarkDecorator:
    """Return the mark by which a test runs the cases of an expectation; Node.js runs them too."""
    found = one_in(4, CASES[expect], name=lambda case: str(case["name"]))
    return pytest.mark.parametrize("case", found)


@cache
def honestly(survey: str, folder: Path) -> dict[str, Any]:
    """Return the view of the client where the server is honest."""
    [caps] = [one.get("caps") for one in CASES["own-numbers"] if one["survey"] == survey][:1]
    case = {"survey": survey, "lies": {}, "consent": True, **({"caps": caps} if caps else {})}
    meeting = Meeting(case, folder / "honest" / survey)
    meeting.attempt(meeting.server.survey["answers"])
    assert meeting.error is None
    return meeting.shown


def test_the_table_is_what_its_makers_say() -> None:
    """The file that both devices run has the cases that are made here, each with its own name."""
    written = json.loads(FILE.read_text())["cases"]
    made = table()["cases"]
    told = [
        [(one["name"], one["expect"], sorted(one["lies"])) for one in some]
        for some in (written, made)
    ]
    assert told[0] == told[1], "write it anew: python -m tests.client.hostile"
    assert len({one["name"] for one in written}) == len(written) >= 60
    assert {one["expect"] for one in written} == set(EXPECTED)
    assert {one["survey"] for one in written} == set(SURVEYS)


@pytest.mark.parametrize("survey", sorted(SURVEYS))
def test_an_honest_server_is_answered(survey: str, tmp_path: Path) -> None:
    """The answers from which every lie is made are those of a server that a device accepts."""
    caps = {"epsilon": 10, "clear": 2}
    meeting = Meeting({"survey": survey, "lies": {}, "consent": True, "caps": caps}, tmp_path)
    meeting.attempt(meeting.server.survey["answers"])
    assert meeting.error is None
    assert meeting.server.steps[-3:] == ["open", "seal", "send"]
    assert meeting.charges == 1


@cases("refuses-invitation")
def test_an_invitation_that_lies_is_refused(case: dict[str, Any], tmp_path: Path) -> None:
    """Nothing is reserved, nothing is drawn, and nothing is spent."""
    meeting = Meeting(case, tmp_path)
    meeting.attempt(meeting.server.survey["answers"])
    assert meeting.error is not None
    assert set(meeting.server.steps) == {"invitation"}
    assert meeting.charges == 0


@cases("refuses")
def test_a_server_that_lies_is_not_answered(case: dict[str, Any], tmp_path: Path) -> None:
    """No question is shown, nothing is sealed, and an honest server can still be answered."""
    meeting = Meeting(case, tmp_path)
    meeting.attempt(meeting.server.survey["answers"])
    error = meeting.error
    assert error is not None
    assert not {"seal", "send"} & set(meeting.server.steps)
    assert "questions" not in meeting.shown
    assert meeting.charges == 0
    lied_before = "invitation" in case["lies"] and meeting.part is not None
    meeting.again()
    if not lied_before:  # what was reserved is bound to the hash that was invited to
        assert meeting.error is None
        assert len(meeting.server.reports) == 1


@cases("own-numbers")
def test_numbers_and_words_are_the_devices_own(
    case: dict[str, Any], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """For all amounts that a server names, the view is that of an honest one."""
    meeting = Meeting(case, tmp_path)
    meeting.attempt(meeting.server.survey["answers"])
    assert meeting.error is None
    assert meeting.shown == honestly(case["survey"], tmp_path_factory.getbasetemp())


@cases("one-draw")
def test_nothing_is_drawn_twice(case: dict[str, Any], tmp_path: Path) -> None:
    """For all later answers, a server gets one commitment and one list of reports only."""
    meeting = Meeting(case, tmp_path)
    meeting.attempt(meeting.server.survey["answers"])
    meeting.again()
    assert len(set(meeting.server.commitments)) == 1
    assert len({tuple(reports) for reports in meeting.server.reports}) <= 1
    assert meeting.charges == 1


@cases("begin-again")
def test_what_was_never_opened_can_be_begun_again(case: dict[str, Any], tmp_path: Path) -> None:
    """The amount set aside is free, and the survey can be answered afterwards, once."""
    meeting = Meeting(case, tmp_path)
    meeting.attempt(meeting.server.survey["answers"])
    error = meeting.error
    assert error is not None
    assert meeting.shown["me"]["open_reservations"] == 0
    assert meeting.shown["me"]["battery"]["percent_left"] == 100
    meeting.again()
    assert meeting.error is None
    assert (len(meeting.server.reports), meeting.charges) == (1, 1)


@cases("over")
def test_what_another_device_has_is_left_to_it(case: dict[str, Any], tmp_path: Path) -> None:
    """Nothing is shown or drawn here, now or later, and nothing is spent."""
    meeting = Meeting(case, tmp_path)
    meeting.attempt(meeting.server.survey["answers"])
    assert meeting.error is not None
    meeting.again()
    assert isinstance(meeting.error, WrongState | AlreadyParticipated)
    assert "questions" not in meeting.shown
    assert meeting.server.commitments == []
    assert meeting.shown["me"]["battery"]["percent_left"] == 100


@cases("stops-at-own-cap")
def test_the_devices_own_cap_stops_it(case: dict[str, Any], tmp_path: Path) -> None:
    """Levels that the server allows are not asked for where the device does not allow them."""
    meeting = Meeting(case, tmp_path)
    meeting.attempt(meeting.server.survey["answers"])
    assert isinstance(meeting.error, InsufficientBudget)
    assert set(meeting.server.steps) == {"invitation"}
    assert meeting.shown["ledger"] == []


def test_consent_is_asked_for_by_the_masks(tmp_path: Path) -> None:
    """Without consent nothing is sent in clear, for all numbers of a level."""
    meeting = Meeting({"survey": "clear", "lies": {}}, tmp_path)
    meeting.attempt(meeting.server.survey["answers"])
    assert isinstance(meeting.error, ParameterError)
    assert set(meeting.server.steps) == {"invitation"}
