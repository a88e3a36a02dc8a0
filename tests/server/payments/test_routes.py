"""The desk's interface: money, codes, webhooks and the audit log, over HTTP."""

from __future__ import annotations

import csv
import io
import secrets
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from sqlalchemy import text
from tests.server.devices import everything
from tests.surveys.small_surveys import define

from masquerade.server.db.tables import FIRST_TEAM
from masquerade.server.payments.rewards import Reward

if TYPE_CHECKING:
    from tests.server.conftest import Site

API = "/api/v1"


def key() -> dict[str, str]:
    """Return a header with a new idempotency key."""
    return {"Idempotency-Key": secrets.token_hex(16)}


def deposit(site: Site, amount: int, **headers: str) -> httpx.Response:
    """Pay in."""
    body = {"amount": amount, "currency": "credits", "note": "bank"}
    return site.owner.post(f"{API}/funds/deposits", json=body, headers=headers or key())


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
    """Answer a survey and return what the server acknowledged."""
    phone = phone or site.phone()
    last = phone.take_part(site.services.surveys.record(token), [0])[-1].json()
    assert isinstance(last, dict)
    return last


def test_from_deposit_to_payout(site: Site) -> None:
    """Money comes in, pays somebody who answers, and goes out to where they said."""
    assert deposit(site, 100).status_code == 201
    token = draft(site, {"people": 4, "prices": {"high": 7}, "reward": "wallet"})
    opened = site.owner.post(f"{API}/surveys/{token}/open")
    assert opened.status_code == 200, opened.text
    invited = site.visitor.get(f"{API}/surveys/{token}/invitation").json()
    assert invited["reward"] == {"kind": "wallet", "currency": "credits", "amounts": {"high": 7}}
    phone = site.phone()
    sent = take_part(site, token, phone)
    assert sent["paid"] == {"currency": "credits", "amount": 7}
    assert sent["completion_code"] is None
    held = phone.ask("GET", "/me/wallet").json()
    [wallet] = held["wallets"]
    assert (wallet["balance"], wallet["currency"], wallet["name"]) == (7, "credits", "My team")
    wish = {"payer": wallet["payer"], "currency": "credits", "destination": "=cmd()|A1"}
    again = key()
    asked = phone.ask("POST", "/me/payouts", wish, **again)
    assert asked.status_code == 201, asked.text
    assert phone.ask("POST", "/me/payouts", wish, **again).status_code == 200
    payout = asked.json()["payout"]
    assert (payout["amount"], payout["state"]) == (7, "asked")
    rows = list(csv.reader(io.StringIO(site.owner.get(f"{API}/funds/payouts.csv").text)))
    assert rows[1][2:] == ["7", "credits", "'=cmd()|A1"]
    paid = site.owner.post(f"{API}/funds/payouts/{payout['id']}/paid")
    assert paid.json() == {"payouts": []}
    [known] = phone.ask("GET", "/me/wallet").json()["payouts"]
    assert (known["state"], known["destination"]) == ("paid", "")
    refused = phone.ask("POST", f"/me/payouts/{payout['id']}/take-back")
    assert refused.status_code == 409
    money = site.owner.get(f"{API}/funds").json()
    [balance] = money["balances"]
    assert balance == {
        "currency": "credits",
        "free": 72,
        "in_surveys": 21,
        "held": 0,
        "owed": 0,
        "waiting": 0,
        "commission": 0,
        "paid_in": 93,
    }
    site.owner.post(f"{API}/surveys/{token}/close", json={"grace_days": 0})
    [balance] = site.owner.get(f"{API}/funds").json()["balances"]
    assert (balance["free"], balance["in_surveys"]) == (93, 0)


def test_a_refused_payout_can_be_taken_back(site: Site) -> None:
    """What a team cannot pay goes back into the wallet, for its owner only, once."""
    deposit(site, 10)
    token = draft(site, {"people": 1, "prices": {"high": 10}, "reward": "wallet"})
    site.owner.post(f"{API}/surveys/{token}/open")
    phone, other = site.phone(), site.phone()
    take_part(site, token, phone)
    wish = {"payer": FIRST_TEAM, "currency": "credits", "destination": "nowhere", "amount": 4}
    payout = phone.ask("POST", "/me/payouts", wish, **key()).json()["payout"]["id"]
    too_much = phone.ask("POST", "/me/payouts", {**wish, "amount": 7}, **key())
    assert too_much.status_code == 409
    assert too_much.json()["type"] == "/problems/insufficient-funds"
    assert other.ask("POST", "/me/payouts", wish, **key()).status_code == 404
    site.owner.post(f"{API}/funds/payouts/{payout}/refused")
    assert site.owner.post(f"{API}/funds/payouts/{payout}/paid").status_code == 409
    assert other.ask("POST", f"/me/payouts/{payout}/take-back").status_code == 404
    for _ in range(2):
        assert phone.ask("POST", f"/me/payouts/{payout}/take-back").status_code == 200
    [wallet] = phone.ask("GET", "/me/wallet").json()["wallets"]
    assert wallet["balance"] == 10
    exported = phone.ask("GET", "/me/export").json()
    assert exported["wallets"] == [wallet]
    assert [one["state"] for one in exported["payouts"]] == ["taken-back"]


def test_without_money_a_survey_does_not_open(site: Site) -> None:
    """Opening says what is missing; the draft stays, and opens once there is enough."""
    deposit(site, 27)
    token = draft(site, {"people": 4, "prices": {"high": 7}, "reward": "wallet"})
    refused = site.owner.post(f"{API}/surveys/{token}/open")
    assert refused.status_code == 409
    problem = refused.json()
    assert problem["type"] == "/problems/insufficient-funds"
    assert (problem["needed"], problem["there"], problem["currency"]) == (28, 27, "credits")
    deposit(site, 1)
    assert site.owner.post(f"{API}/surveys/{token}/open").status_code == 200


def test_a_late_participant_is_told_before_any_question(site: Site) -> None:
    """When the money is used up, the choice of a level is answered by 409 budget-exhausted."""
    deposit(site, 7)
    token = draft(site, {"people": 1, "prices": {"high": 7}, "reward": "wallet"})
    site.owner.post(f"{API}/surveys/{token}/open")
    take_part(site, token)
    late = site.phone()
    answer = late.reserve(token, "high")
    assert answer.status_code == 409
    assert answer.json()["type"] == "/problems/budget-exhausted"
    assert late.ask("GET", "/me").json()["battery"]["percent_left"] == 100
    more = site.owner.post(f"{API}/funds/surveys/{token}", json={"amount": 7}, headers=key())
    assert more.status_code == 409
    deposit(site, 7)
    more = site.owner.post(f"{API}/funds/surveys/{token}", json={"amount": 7}, headers=key())
    assert more.status_code == 201
    take_part(site, token, late)


def test_a_plan_alone_moves_no_money(site: Site) -> None:
    """Prices without a way to pay are for planning: nothing is needed and nothing promised."""
    token = draft(site, {"people": 4, "prices": {"high": 7}})
    assert site.owner.post(f"{API}/surveys/{token}/open").status_code == 200
    assert site.visitor.get(f"{API}/surveys/{token}/invitation").json()["reward"] is None
    assert take_part(site, token)["paid"] is None
    unpaid = draft(site, {"people": 4, "reward": "wallet"})
    assert site.owner.post(f"{API}/surveys/{unpaid}/open").status_code == 422


def test_amounts_do_not_change_lengths(site: Site) -> None:
    """Answers about what was paid have one length at every level."""
    deposit(site, 10**9)
    reward = Reward("wallet", "credits", {"high": 1, "medium": 100_000_000})
    survey = site.services.surveys.open_survey(
        define(levels=("high", "medium")), reward=reward, budget=10**9
    )
    lengths = set()
    for level in ("high", "medium"):
        phone = site.phone()
        answers = phone.take_part(survey, level=level)
        wallet = phone.ask("GET", "/me/wallet")
        lengths.add((len(answers[0].content), len(answers[3].content), len(wallet.content)))
    assert len(lengths) == 1


def test_a_deposit_sent_again(site: Site) -> None:
    """The same request again is 200 and changes nothing; another with its key is 409."""
    same = key()
    assert [deposit(site, 5, **same).status_code for _ in range(2)] == [201, 200]
    assert deposit(site, 6, **same).status_code == 409
    assert site.owner.get(f"{API}/funds").json()["balances"][0]["free"] == 5
    assert site.owner.get(f"{API}/funds").json()["history"][0]["note"] == "bank"


def test_codes_are_given_and_checked(site: Site) -> None:
    """A code is given once, is the same when sent again, valid once, and listed when it is over."""
    token = draft(site, {"people": 4, "reward": "codes"})
    site.owner.post(f"{API}/surveys/{token}/open")
    phone = site.phone()
    answers = phone.take_part(site.services.surveys.record(token), [0])
    code = answers[-1].json()["completion_code"]
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
        [{"code": code, "checked": True}, {"code": other, "checked": False}],
        key=lambda one: str(one["code"]),
    )
    rows = site.owner.get(f"/surveys/{token}/codes.csv").text.splitlines()
    assert rows[0] == "code,checked"
    assert len(rows) == 3


def test_no_row_leads_from_a_code_to_a_response(site: Site) -> None:
    """The table of codes has survey, code and a check mark; no other table has a code."""
    token = draft(site, {"people": 4, "reward": "codes"})
    site.owner.post(f"{API}/surveys/{token}/open")
    for _ in range(4):
        take_part(site, token)
    rows = everything(site.services)
    assert {len(row) for row in rows["completion_code"]} == {3}
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


def test_the_log_says_who_did_what(site: Site) -> None:
    """Every change is an entry with account, day and object, and saving again is one entry."""
    deposit(site, 50)
    token = draft(site, {"people": 1, "prices": {"high": 7}, "reward": "wallet"})
    for title in ("A", "B", "C"):
        etag = site.owner.get(f"{API}/surveys/{token}").headers["etag"]
        changed = {"title": title}
        site.owner.patch(f"{API}/surveys/{token}", json=changed, headers={"If-Match": etag})
    site.owner.post(f"{API}/surveys/{token}/open")
    take_part(site, token)
    site.owner.post(f"{API}/surveys/{token}/close", json={"grace_days": 0})
    site.owner.get(f"{API}/surveys/{token}/reports.csv")
    site.owner.get(f"{API}/surveys/{token}")
    site.owner.post(f"{API}/surveys/{token}/close", json={"grace_days": 0})  # refused: no entry
    told = site.owner.get(f"{API}/audit").json()
    done = [(one["action"], one["object"]) for one in told["entries"]]
    assert done == [
        ("took reports away", token),
        ("closed a survey", token),
        ("opened a survey", token),
        ("changed a draft or survey", token),
        ("made a draft", ""),
        ("paid in", ""),
        ("signed in by the owner's link", ""),
    ]
    assert {one["login"] for one in told["entries"]} == {"owner"}
    assert told["chain"]["holds"]
    assert told["chain"]["entries"] == len(done)
    assert told["chain"]["head"] == told["entries"][0]["hash"]
    pages = site.owner.get(f"{API}/audit?limit=2").json()
    assert pages["next_before"] == pages["entries"][-1]["sequence"]
    rest = site.owner.get(f"{API}/audit?before={pages['next_before']}").json()
    assert pages["entries"] + rest["entries"] == told["entries"]


def test_the_log_is_not_about_participants(site: Site) -> None:
    """No request of a participant makes an entry."""
    survey = site.services.surveys.open_survey(define())
    phone = site.phone()
    phone.take_part(survey)
    before = site.owner.get(f"{API}/audit").json()
    phone.ask("DELETE", "/me")
    assert site.owner.get(f"{API}/audit").json() == before
    assert {one["login"] for one in before["entries"]} == {"owner"}


def test_who_signs_in_is_logged(site: Site) -> None:
    """Signing in is an entry in the team's log; an attempt that fails is none."""
    password = "four words in a row"
    site.services.teams.add(FIRST_TEAM, role="viewer", login="ann", name="Ann", password=password)
    for typed, status in (("five words in a row", 401), (password, 303)):
        sent = {"login": "ann", "password": typed}
        headers = {"Origin": site.server.url, "Accept": "text/html"}
        with httpx.Client(base_url=site.server.url, trust_env=False, headers=headers) as client:
            assert client.post("/sign-in", data=sent).status_code == status
    told = site.owner.get(f"{API}/audit").json()["entries"]
    signed = [(one["login"], one["action"]) for one in told if one["login"] == "ann"]
    assert signed == [("ann", "signed in")]


def test_integrity_finds_what_was_changed(site: Site) -> None:
    """A changed entry, a changed balance: each check says so, and names nobody."""
    deposit(site, 50)
    assert site.owner.get(f"{API}/audit/integrity").json()["holds"]
    with site.services.engine.execution_options(write=True).begin() as connection:
        connection.execute(text("UPDATE audit_entry SET action = 'did nothing'"))
        connection.execute(text("UPDATE book_account SET balance = 51 WHERE kind = 'funds'"))
    found = site.owner.get(f"{API}/audit/integrity").json()
    assert [found[one]["holds"] for one in ("ledger", "book", "audit_log")] == [True, False, False]
    assert not found["holds"]
    assert not site.owner.get(f"{API}/audit").json()["chain"]["holds"]
    assert "tampered" in site.owner.get("/audit").text
    assert site.owner.get("/audit?check=1").status_code == 200


@pytest.mark.parametrize(
    ("path", "form", "status"),
    [
        ("/funds/deposits", {"amount": "five", "currency": "credits"}, 422),
        ("/funds/deposits", {"amount": "0", "currency": "credits"}, 422),
        ("/funds/deposits", {"amount": "5", "currency": ""}, 422),
        ("/funds/withdrawals", {"amount": "5", "currency": "credits"}, 409),
        ("/funds/payouts", {}, 422),
        ("/funds/payouts", {"payouts": "0" * 32}, 404),
        ("/webhooks", {"url": "ftp://example.org", "events": "survey.opened"}, 422),
        ("/webhooks", {"url": "https://10.0.0.1/", "events": "survey.opened"}, 422),
    ],
)
def test_pages_say_what_was_wrong(site: Site, path: str, form: dict[str, str], status: int) -> None:
    """A form that cannot be taken comes back with the reason."""
    answer = site.owner.post(path, data=form)
    assert answer.status_code == status
    assert 'role="alert"' in answer.text
