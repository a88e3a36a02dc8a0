"""Completion codes: given once, worth the level's amount, checked off once."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from tests.server.devices import Device, everything
from tests.surveys.small_surveys import define

from masquerade.server import Services
from masquerade.server.surveys.rewards import Reward

if TYPE_CHECKING:
    from tests.server.conftest import Site

API = "/api/v1"


def key() -> dict[str, str]:
    """Return a header with a new idempotency key."""
    return {"Idempotency-Key": secrets.token_hex(16)}


def draft(site: Site, plan: dict[str, Any]) -> str:
    """Make a draft with one level and return its token."""
    document = {
        "title": "Paid",
        "levels": ["high"],
        "questions": [{"kind": "choice", "id": "q", "text": "?", "options": ["A", "B"]}],
        "plan": plan,
    }
    made = site.owner.post(f"{API}/surveys", json={"document": document}, headers=key())
    assert made.status_code == 201, made.text
    return str(made.json()["token"])


def take_part(site: Site, token: str, phone: Any = None) -> dict[str, Any]:
    """Answer a survey and return the server's acknowledgement."""
    phone = phone or site.phone()
    last = phone.take_part(site.services.surveys.record(token), [0])[-1].json()
    assert isinstance(last, dict)
    return last


def test_amounts_do_not_change_lengths(site: Site) -> None:
    """Answers about the worth of a code have one length at every level."""
    reward = Reward("credits", {"high": 1, "medium": 100_000_000})
    survey = site.services.surveys.open_survey(define(levels=("high", "medium")), reward=reward)
    lengths = set()
    for level in ("high", "medium"):
        phone = site.phone()
        answers = phone.take_part(survey, level=level)
        lengths.add((len(answers[0].content), len(answers[3].content)))
    assert len(lengths) == 1


def test_codes_are_given_and_checked(site: Site) -> None:
    """A code is given once, is the same when sent again, valid once, and listed when it is over."""
    plan = {"people": 4, "reward": "codes", "prices": {"high": 7}, "currency": "EUR"}
    token = draft(site, plan)
    site.owner.post(f"{API}/surveys/{token}/open")
    offered = site.visitor.get(f"{API}/surveys/{token}/invitation").json()["reward"]
    assert offered == {"kind": "codes", "currency": "EUR", "amounts": {"high": 7}}
    phone = site.phone()
    answers = phone.take_part(site.services.surveys.record(token), [0])
    code = answers[-1].json()["completion_code"]
    assert answers[-1].json()["reward"] == {"currency": "EUR", "amount": 7}
    other = take_part(site, token)["completion_code"]
    assert code != other
    assert len(code) == 19
    listed = site.owner.get(f"{API}/surveys/{token}/codes").json()
    assert listed == {"given": 2, "checked": 0, "codes": None}
    assert site.owner.get(f"/surveys/{token}/codes.csv").status_code == 409
    body = {"codes": [code.lower(), code, "none-of-ours", "\0"]}
    found = site.owner.post(f"{API}/surveys/{token}/codes/check", json=body).json()["codes"]
    assert [one["verdict"] for one in found] == ["valid", "checked-before", "unknown", "unknown"]
    site.owner.post(f"{API}/surveys/{token}/close", json={"grace_days": 0})
    listed = site.owner.get(f"{API}/surveys/{token}/codes").json()
    assert listed["codes"] == sorted(
        [
            {"code": code, "amount": 7, "checked": True, "panel": {}},
            {"code": other, "amount": 7, "checked": False, "panel": {}},
        ],
        key=lambda one: str(one["code"]),
    )
    rows = site.owner.get(f"/surveys/{token}/codes.csv").text.splitlines()
    assert rows[0] == "code,amount,currency,checked"
    assert sorted(rows[1:]) == sorted([f"{code},7,EUR,yes", f"{other},7,EUR,no"])


def test_no_row_leads_from_a_code_to_a_response(site: Site) -> None:
    """The table has survey, code, amount, a check mark and a panel's name; no other has a code."""
    token = draft(site, {"people": 4, "reward": "codes"})
    site.owner.post(f"{API}/surveys/{token}/open")
    for _ in range(4):
        take_part(site, token)
    rows = everything(site.services)
    assert {len(row) for row in rows["completion_code"]} == {6}
    codes = {row[1] for row in rows["completion_code"]}
    rest = repr([rows[name] for name in rows if name != "completion_code"])
    assert len(codes) == 4
    assert not any(code in rest for code in codes)


def test_other_surveys_give_no_codes(site: Site) -> None:
    """Without codes nothing is given, and checking says so."""
    survey = site.services.surveys.open_survey(define())
    assert site.phone().take_part(survey)[-1].json()["completion_code"] is None
    answer = site.owner.post(f"{API}/surveys/{survey.token}/codes/check", json={"codes": ["x"]})
    assert answer.status_code == 409


def test_a_code_is_worth_what_its_level_says_whatever_the_reports(services: Services) -> None:
    """The amount follows from the level alone, and no other column tells the level or the day."""
    reward = Reward("EUR", {"high": 5, "medium": 8})
    survey = services.surveys.open_survey(define(levels=("high", "medium")), reward=reward)
    for place, level in enumerate(("high", "medium", "medium")):
        Device().send(services, survey, [place % 2, place], level=level)
    services.surveys.close(survey)
    listed = services.completion_codes.of_survey(survey.token, over=True).codes
    assert listed is not None
    assert sorted(one.amount for one in listed) == [5, 8, 8]
    assert sorted(row[2] for row in everything(services)["completion_code"]) == [5, 8, 8]


def test_a_reward_reads_back() -> None:
    """Text and object are inverse; a level without an amount is worth nothing."""
    reward = Reward("EUR cent", {"high": 101})
    assert Reward.from_json(reward.to_json()) == reward
    assert (reward.amount("high"), reward.amount("low")) == (101, 0)
    assert Reward().offer()["amounts"] == {}


def panel_survey(site: Site) -> str:
    """Open a survey to which a panel sends people with two parameters, and return its token."""
    made = site.owner.post(
        f"{API}/surveys",
        json={
            "document": {
                "title": "Tea",
                "levels": ["medium"],
                "questions": [
                    {"kind": "choice", "id": "a", "text": "Tea?", "options": ["Yes", "No"]},
                ],
                "plan": {"reward": "codes", "prices": {"medium": 7}, "people": 40},
                "panel": {
                    "parameters": ["PROLIFIC_PID", "SESSION_ID"],
                    "complete": "https://panel.example/done?cc={code}&pid={PROLIFIC_PID}",
                    "full": "https://panel.example/full",
                },
            }
        },
        headers={"Idempotency-Key": secrets.token_hex(16)},
    ).json()
    assert made["valid"], made["errors"]
    site.owner.post(f"{API}/surveys/{made['token']}/open", headers={"If-Match": '"v1"'})
    return str(made["token"])


def test_a_panel_is_told_by_the_code_and_by_nothing_else(site: Site) -> None:
    """An id is bound to one code, once; names that the survey does not list are refused."""
    token = panel_survey(site)
    shown = site.visitor.get(f"{API}/surveys/{token}/invitation").json()["panel"]
    assert shown["parameters"] == ["PROLIFIC_PID", "SESSION_ID"]
    assert shown["complete"].endswith("cc={code}&pid={PROLIFIC_PID}")
    first, second = (str(take_part(site, token)["completion_code"]) for _ in range(2))

    def bind(code: str, **given: str) -> int:
        body = {"code": code, "parameters": given}
        return site.visitor.post(f"{API}/surveys/{token}/panel", json=body).status_code

    assert bind(first, PROLIFIC_PID="p1", SESSION_ID="=s") == 200
    assert bind(first, PROLIFIC_PID="p1", SESSION_ID="=s") == 200
    assert bind(second, PROLIFIC_PID="p1") == 409  # one code an id
    assert bind(first, PROLIFIC_PID="p2") == 409  # one id a code
    assert bind("0000-0000-0000-0000", PROLIFIC_PID="p3") == 404
    assert bind("\0", PROLIFIC_PID="p3") == 404
    assert bind(second, PROLIFIC_PID="a\0b") == 404
    assert bind(second, SESSION_ID="s") == 422
    assert bind(second, PROLIFIC_PID="p3", OTHER="x") == 422
    assert bind(second, PROLIFIC_PID="p" * 201) == 422
    assert bind(second, PROLIFIC_PID="p3") == 200
    site.owner.post(f"{API}/surveys/{token}/close", json={"grace_days": 0})
    rows = site.owner.get(f"/surveys/{token}/codes.csv").text.splitlines()
    assert rows[0] == "code,amount,currency,checked,PROLIFIC_PID,SESSION_ID"
    assert f"{first},7,credits,no,p1,'=s" in rows
    elsewhere = everything(site.services)
    assert "p3" not in repr([rows for name, rows in elsewhere.items() if name != "completion_code"])


def test_nobody_without_a_free_code_learns_who_of_a_panel_took_part(site: Site) -> None:
    """With no code, or one that is bound, the refusal is the same for everybody's id."""
    token = panel_survey(site)
    mine, theirs = (str(take_part(site, token)["completion_code"]) for _ in range(2))

    def bind(code: str, person: str) -> tuple[int, str]:
        body = {"code": code, "parameters": {"PROLIFIC_PID": person}}
        answer = site.visitor.post(f"{API}/surveys/{token}/panel", json=body)
        return answer.status_code, answer.json().get("detail", "")

    assert bind(mine, "me")[0] == bind(theirs, "she")[0] == 200
    for code, status in (("0000-0000-0000-0000", 404), (mine, 409)):
        assert bind(code, "she") == bind(code, "nobody")
        assert bind(code, "she")[0] == status
