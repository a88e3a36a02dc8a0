"""What people get: set aside when they begin, paid when done, else back again."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

import pytest
from tests.server.devices import Device, all_at_once, everything

from masquerade.errors import InsufficientFunds, QuotaFull, WrongState
from masquerade.server import Services
from masquerade.server.db.tables import FIRST_TEAM
from masquerade.server.payments.rewards import Reward
from masquerade.surveys.survey import commitment_of

if TYPE_CHECKING:
    from tests.server.payments.conftest import MakeTill, Till


def test_the_way_of_money(till: Till) -> None:
    """Deposit, escrow at the opening, hold at the choice of a level, pay with the reports."""
    till.pay_in(100)
    survey = till.paying(50)
    assert (till.at("funds"), till.at("escrow", survey.token)) == (50, 50)
    device = Device()
    device.open(till.services, survey, level="medium")
    assert (till.at("escrow", survey.token), till.at("held", survey.token)) == (42, 8)
    done = Device()
    done.send(till.services, survey, level="medium")
    assert till.wallet(done) == 8
    assert till.wallet(device) == 0
    assert (till.at("escrow", survey.token), till.at("held", survey.token)) == (34, 8)
    assert till.at("wages") == 0
    till.services.surveys.close(survey)
    assert (till.at("escrow", survey.token), till.at("held", survey.token)) == (0, 0)
    assert till.at("funds") == 92
    assert till.holds()


def test_a_survey_needs_its_money_at_the_opening(till: Till) -> None:
    """A team that has less than a survey may spend cannot open it, and nothing is left of it."""
    till.pay_in(49)
    with pytest.raises(InsufficientFunds):
        till.paying(50)
    assert till.services.surveys.records() == []
    assert till.at("funds") == 49


def test_who_comes_too_late_is_told_before_any_question(till: Till) -> None:
    """With money for two, the third is refused at the choice of a level, and not charged."""
    till.pay_in(17)
    survey = till.paying(17)
    for _ in range(2):
        Device().reserve(till.services, survey, level="medium")
    late = Device()
    with pytest.raises(QuotaFull, match="no money left"):
        late.reserve(till.services, survey, level="medium")
    assert till.services.ledger.entries(till.services.identity(late.participant).person) == []
    assert till.services.reports.of_survey(survey.token) == []
    assert till.at("escrow", survey.token) == 1
    assert till.holds()


@pytest.mark.parametrize("reports", [[0, 0], [1, 4], [0, 2]])
def test_payment_does_not_depend_on_reports(sqlite_till: Till, reports: list[int]) -> None:
    """Whatever the reports are, the same is paid."""
    sqlite_till.pay_in(100)
    survey = sqlite_till.paying(100)
    device = Device()
    device.send(sqlite_till.services, survey, reports, level="high")
    assert sqlite_till.wallet(device) == 5


def test_sending_again_pays_once(till: Till) -> None:
    """A repeated request is answered as before and moves nothing."""
    till.pay_in(100)
    survey = till.paying(100)
    device, salt = Device(), secrets.token_hex(16)
    begun = device.open(till.services, survey, level="high")
    who = till.services.identity(device.participant)
    sealed = commitment_of(begun.id, [0, 0], salt)
    till.services.participations.seal(who, begun.id, sealed)
    for _ in range(3):
        device.respond(till.services, begun, [0, 0], salt)
    assert till.wallet(device) == 5
    assert till.holds()


def test_the_operators_part_comes_on_top(till: Till) -> None:
    """A commission of 10 % of 8 is rounded up to 1, taken from the survey and not the person."""
    till.pay_in(100)
    survey = till.paying(18, commission=10)
    device = Device()
    device.send(till.services, survey, level="medium")
    assert till.wallet(device) == 8
    assert till.at("commission") == 1
    assert till.at("escrow", survey.token) == 9
    assert till.holds()


def test_giving_up_gives_money_back(till: Till) -> None:
    """Before and after the questions, who gives up is not paid, and another can be."""
    till.pay_in(10)
    survey = till.paying(10)
    first, second = Device(), Device()
    for device, begin in ((first, first.reserve), (second, second.open)):
        begun = begin(till.services, survey, level="medium")
        assert till.at("held", survey.token) == 8
        till.services.participations.abandon(till.services.identity(device.participant), begun.id)
        assert till.at("held", survey.token) == 0
    Device().send(till.services, survey, level="medium")
    assert till.holds()


def test_lapsed_reservations_give_money_back(database_url: str, make_till: MakeTill) -> None:
    """A reservation that lapses frees its money; the same person can begin again."""
    days = ["2026-03-14"]
    services = Services.open(database_url, today=lambda: days[0])
    till = make_till(services)
    till.pay_in(100)
    survey = till.paying(8)
    device = Device()
    device.reserve(services, survey, level="medium")
    days[0] = "2026-03-20"
    services.daily_jobs.run()
    services.daily_jobs.run()
    assert till.at("escrow", survey.token) == 8
    device.send(services, survey, level="medium")
    assert till.wallet(device) == 8
    assert till.holds()
    services.close()


def test_closing_keeps_nothing_back(till: Till) -> None:
    """While a survey is closing, who was shown the questions is still paid; then all goes back."""
    till.pay_in(100)
    survey = till.paying(100)
    waiting, answering = Device(), Device()
    waiting.reserve(till.services, survey, level="medium")
    begun = answering.open(till.services, survey, level="medium")
    till.services.surveys.close(survey, grace_days=1)
    assert till.at("held", survey.token) == 8
    salt, who = secrets.token_hex(16), till.services.identity(answering.participant)
    sealed = commitment_of(begun.id, [0, 0], salt)
    till.services.participations.seal(who, begun.id, sealed)
    answering.respond(till.services, begun, [0, 0], salt)
    assert till.wallet(answering) == 8
    till.services.surveys.close(till.services.surveys.record(survey.token))
    assert till.at("funds") == 92
    assert till.holds()


def test_who_had_begun_a_cancelled_survey_is_paid(database_url: str, make_till: MakeTill) -> None:
    """Whoever had seen the questions gets paid by giving up, for thirty days."""
    days = ["2026-03-14"]
    services = Services.open(database_url, today=lambda: days[0])
    till = make_till(services)
    till.pay_in(100)
    survey = till.paying(100)
    soon, late, unopened = (Device() for _ in range(3))
    begun = {one.participant: one.open(services, survey, level="medium") for one in (soon, late)}
    unopened.reserve(services, survey, level="medium")
    services.surveys.cancel(survey)
    assert (till.at("funds"), till.at("held", survey.token)) == (84, 16)
    give_up = services.participations.abandon
    give_up(services.identity(soon.participant), begun[soon.participant].id)
    assert till.wallet(soon) == 8
    days[0] = "2026-04-20"
    services.daily_jobs.run()
    assert (till.at("funds"), till.at("held", survey.token)) == (92, 0)
    give_up(services.identity(late.participant), begun[late.participant].id)
    assert till.wallet(late) == 0
    assert till.holds()
    services.close()


def test_withdrawing_keeps_the_pay(sqlite_till: Till) -> None:
    """Who takes the reports back keeps what was paid: nobody is bought out of that right."""
    sqlite_till.pay_in(100)
    survey = sqlite_till.paying(100)
    device = Device()
    device.send(sqlite_till.services, survey, level="high")
    who = sqlite_till.services.identity(device.participant)
    sqlite_till.services.profiles.leave(who)
    assert sqlite_till.services.reports.of_survey(survey.token) == []
    assert sqlite_till.wallet(device) == 5


def test_an_open_survey_can_get_more(till: Till) -> None:
    """More money lets more people in; a closed survey takes none."""
    till.pay_in(100)
    survey = till.paying(8)
    Device().send(till.services, survey, level="medium")
    with pytest.raises(QuotaFull):
        Device().send(till.services, survey, level="medium")
    assert till.services.funds.top_up(survey.team, survey.token, 8, key="t")
    assert not till.services.funds.top_up(survey.team, survey.token, 8, key="t")
    Device().send(till.services, survey, level="medium")
    reward = till.services.surveys.record(survey.token).reward
    assert reward is not None
    assert reward.given == 16
    till.services.surveys.close(survey)
    with pytest.raises(WrongState):
        till.services.funds.top_up(survey.team, survey.token, 8, key="later")
    assert till.holds()


@pytest.mark.both_databases
def test_never_overspent_in_a_race(till: Till) -> None:
    """Of twelve people at once, with money for five, exactly five are let in and paid."""
    till.pay_in(44)
    survey = till.paying(44)
    devices = [Device() for _ in range(12)]
    outcomes = all_at_once(
        *(lambda one=one: one.send(till.services, survey, level="medium") for one in devices)
    )
    refused = [one for one in outcomes if isinstance(one, QuotaFull)]
    assert len(refused) == 7, outcomes
    assert sorted(till.wallet(one) for one in devices) == [0] * 7 + [8] * 5
    assert till.at("escrow", survey.token) == 4
    assert till.holds()


@pytest.mark.both_databases
def test_paying_and_closing_race(till: Till) -> None:
    """Where a survey is closed while people send, each is paid or refused, and nothing is lost."""
    till.pay_in(100)
    survey = till.paying(100)
    devices = [Device() for _ in range(6)]
    outcomes: list[Any] = all_at_once(
        *(lambda one=one: one.send(till.services, survey, level="medium") for one in devices),
        lambda: till.services.surveys.close(survey),
    )
    sent = sum(isinstance(one, dict) for one in outcomes)
    others = [one for one in outcomes[:-1] if not isinstance(one, dict)]
    assert all(isinstance(one, WrongState) for one in others), others
    assert len(till.services.reports.of_survey(survey.token)) == sent
    till.services.daily_jobs.run()
    assert till.at("funds") == 100 - 8 * sent
    assert till.at("held", survey.token) == till.at("escrow", survey.token) == 0
    assert till.holds()


def test_no_row_leads_from_money_to_a_response(till: Till) -> None:
    """No value of a transfer or wallet is one of a participation or of the ledger, but surveys'."""
    till.pay_in(100)
    survey = till.paying(100)
    for _ in range(3):
        Device().send(till.services, survey, level="medium")
    rows = everything(till.services)
    rest = {survey.token, "medium", "submitted", "2026-03-14", FIRST_TEAM, "", "credits"}

    def values(*tables: str) -> set[str]:
        found = {v for t in tables for row in rows[t] for v in row if isinstance(v, str)}
        return {value for value in found if len(value) > 8} - rest

    money = values("book_account", "book_transfer")
    people = values("participation", "ledger_entry", "ledger_balance")
    assert len(money) > 10
    assert money & people == set()
    named = {row[0]: row[3] for row in rows["book_account"]}
    together = [
        (named[row[1]], named[row[2]])
        for row in rows["book_transfer"]
        if "wallet" in (named[row[1]], named[row[2]])
    ]
    assert together == [("wages", "wallet")] * 3


def test_a_reward_reads_back() -> None:
    """Text and object are inverse; the operator's part is rounded up."""
    reward = Reward("wallet", "EUR cent", {"high": 101}, 3, 900)
    assert Reward.from_json(reward.to_json()) == reward
    assert (reward.paid("high"), reward.commission("high"), reward.cost("high")) == (101, 4, 105)
    assert Reward("codes", "x", {"high": 5}).cost("high") == 0
