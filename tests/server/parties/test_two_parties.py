"""A survey between two parties: approved, answered, added up, and shown with its noise."""

from __future__ import annotations

import secrets
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import partial
from typing import Any

import pytest
from sqlalchemy import delete
from tests.server.devices import everything
from tests.server.parties.pairs import Pair

from masquerade.errors import (
    CommitmentMismatch,
    InvalidReport,
    NotFound,
    OperationError,
    ParameterError,
    WrongState,
)
from masquerade.results import split_codebook
from masquerade.server.db.party_tables import HELPER_TASK
from masquerade.server.parties.helper_client import HelperClient
from masquerade.server.parties.helper_tasks import stop_restored
from masquerade.server.parties.proposals import bind_task
from masquerade.surveys import Choice, Number, SeveralOf, ShowIf
from masquerade.surveys.survey import split_commitment


def near(pair: Pair, token: str, truth: list[list[int]]) -> bool:
    """Return whether the sums of a survey are the truth but for eight deviations of the noise."""
    sums, _, _ = pair.leader.aggregation.sums(token)
    noise = pair.leader.surveys.record(token).survey.split_noise
    return all(
        abs(found - right) <= 8 * float(noise.published_variance(place)) ** 0.5
        for place, (block, exact) in enumerate(zip(sums, truth, strict=True))
        for found, right in zip(block, exact, strict=True)
    )


@pytest.mark.both_databases
def test_a_survey_is_answered_and_added_up(pair: Pair) -> None:
    """The sums of a closed survey are those of its answers, but for noise of the declared size."""
    record = pair.open()
    pair.crowd(record, 24)
    with pytest.raises(WrongState):
        pair.result(record)
    pair.close(record)
    assert pair.leader.aggregation.run() == 1
    result = pair.result(record)
    assert (result["responses"], result["refused"]) == (24, 0)
    assert result["trust"] == "two-parties"
    assert near(pair, record.token, [[8, 8, 8], [0, 0, 0, 24, 0, 0]])
    assert pair.result(record) == result


def test_nothing_of_a_single_person_is_left_once_sums_are_shown(sqlite_pair: Pair) -> None:
    """Sealed reports, shares, jobs, ids and keys are gone from both databases."""
    record = sqlite_pair.open()
    sqlite_pair.crowd(record, 6)
    sqlite_pair.close(record)
    assert sqlite_pair.leader.aggregation.run() == 1
    kept = everything(sqlite_pair.leader)
    assert kept["split_report"] == kept["aggregation_job"] == kept["withdrawn_report"] == []
    [task] = kept["split_task"]
    assert "sealed1:" not in repr(task)
    with sqlite_pair.helper.engine.begin() as connection:
        for table in ("helper_report", "helper_job"):
            assert connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar() == 0
        assert connection.exec_driver_sql("SELECT secrets FROM helper_task").scalar() is None


def test_the_survey_charges_its_rho_once_and_says_whom_to_trust(sqlite_pair: Pair) -> None:
    """Opening costs everybody the survey's rho, under the trust that its guarantee names."""
    record = sqlite_pair.open(rho="0.25")
    participant, _ = sqlite_pair.send(record, {"lunch": "soup", "mood": None})
    who = sqlite_pair.leader.identity(participant)
    entries = sqlite_pair.leader.ledger.entries(who.person)
    assert [entry.charge.kind for entry in entries] == ["reserve", "commit"]
    cost = entries[-1].charge.cost
    assert record.survey.split_noise.rho == Fraction("0.25")
    assert cost.mechanisms == (str(record.survey.split_noise.terms),)
    guarantee = record.survey.levels[0].guarantee()
    assert guarantee.trust == "two-parties"
    assert any("one of the two parties is honest" in one for one in guarantee.assumptions)


def test_all_reports_have_one_length_whatever_was_answered(sqlite_pair: Pair) -> None:
    """No report tells its content by its size."""
    record = sqlite_pair.open()
    for answers in ({"lunch": "soup", "mood": None}, {"lunch": "bread", "mood": "5"}):
        sqlite_pair.send(record, answers)
    assert len({len(report.encode()) for _, report in sqlite_pair.reports}) == 1


@pytest.mark.both_databases
def test_a_response_is_taken_back_until_the_survey_closes(pair: Pair) -> None:
    """A withdrawn report is in no sum and refused by the helper; after closing it is too late."""
    record = pair.open()
    pair.crowd(record, 6)
    participant, id_ = pair.send(record, {"lunch": "soup", "mood": "1"})
    late, kept = pair.send(record, {"lunch": "soup", "mood": "4"})
    steps = pair.leader.participations
    assert steps.withdraw(pair.leader.identity(participant), id_).state == "withdrawn"
    assert steps.withdraw(pair.leader.identity(participant), id_).state == "withdrawn"
    pair.close(record)
    with pytest.raises(WrongState):
        steps.withdraw(pair.leader.identity(late), kept)
    assert pair.leader.aggregation.run() == 1
    assert pair.result(record)["responses"] == 7


def test_another_report_than_was_sealed_is_refused(sqlite_pair: Pair) -> None:
    """An asker without the sealed text gets no answer to it."""
    record = sqlite_pair.open()
    participant, id_ = sqlite_pair.send(record, {"lunch": "soup", "mood": "1"})
    who, steps = sqlite_pair.leader.identity(participant), sqlite_pair.leader.participations
    sealed = sqlite_pair.reports[0][1].encode()
    with pytest.raises(CommitmentMismatch):
        steps.respond_split(
            who,
            id_,
            report=sealed,
            salt="0" * 32,
            level="two-parties",
            survey_hash=record.hash,
        )


def test_damaged_reports_and_reports_of_others_are_refused(sqlite_pair: Pair) -> None:
    """A report that was changed on the way, or sent under two participations, is not accepted."""
    record = sqlite_pair.open()
    sqlite_pair.send(record, {"lunch": "soup", "mood": "1"})
    first = sqlite_pair.reports[0][1]
    data = first.encode()
    for wrong in (data[:-1], data + b"\0", data[:40] + bytes([data[40] ^ 1]) + data[41:], data):
        who, steps = sqlite_pair.leader.identity(secrets.token_hex(16)), None
        steps = sqlite_pair.leader.participations
        begun, _ = steps.reserve(
            who, record.token, "two-parties", idempotency_key=secrets.token_hex(16)
        )
        steps.open(who, begun.id)
        steps.seal(who, begun.id, split_commitment(begun.id, wrong, "0" * 32))
        with pytest.raises(InvalidReport):
            steps.respond_split(
                who,
                begun.id,
                report=wrong,
                salt="0" * 32,
                level="two-parties",
                survey_hash=record.hash,
            )


def test_masked_reports_are_not_accepted(sqlite_pair: Pair) -> None:
    """A survey between two parties takes no report that a single party could read."""
    record = sqlite_pair.open()
    with pytest.raises(InvalidReport):
        record.survey.levels[0].check_reports([0, 0])


def test_too_few_responses_give_nothing(sqlite_pair: Pair) -> None:
    """Below the minimum neither party shows a sum, and the reports are deleted."""
    record = sqlite_pair.open(minimum=20)
    sqlite_pair.crowd(record, 19)
    sqlite_pair.close(record)
    assert sqlite_pair.leader.aggregation.run() == 1
    with pytest.raises(WrongState, match="19 responses hold"):
        sqlite_pair.result(record)
    assert everything(sqlite_pair.leader)["split_report"] == []


def test_a_cancelled_survey_is_never_added_up(sqlite_pair: Pair) -> None:
    """Its sealed reports are deleted, and the helper is not asked."""
    record = sqlite_pair.open()
    sqlite_pair.crowd(record, 4)
    sqlite_pair.leader.surveys.cancel(record)
    assert sqlite_pair.leader.aggregation.run() == 1
    assert everything(sqlite_pair.leader)["split_report"] == []
    assert sqlite_pair.leader.aggregation.progress(record.token)["state"] == "failed"


def test_a_survey_opens_only_with_the_helpers_approval(sqlite_pair: Pair) -> None:
    """Not before it was asked, while it waits, when it refused, or for other words."""
    survey, token = sqlite_pair.define(), secrets.token_hex(8)
    opening = sqlite_pair.leader.surveys.open_survey
    with pytest.raises(WrongState, match="was not asked"):
        opening(survey, token=token)
    with pytest.raises(NotFound):
        sqlite_pair.ask(survey, token)
    sqlite_pair.add_helper()
    asked = sqlite_pair.ask(survey, token)
    with pytest.raises(WrongState, match="proposed"):
        opening(survey, token=token)
    sqlite_pair.helper.tasks.decide(asked["task"], approve=True)
    assert sqlite_pair.ask(survey, token)["state"] == "approved"
    for other in (
        sqlite_pair.define(title="Other words"),
        sqlite_pair.define(rho="1"),
        sqlite_pair.define(minimum=2),
    ):
        with pytest.raises(WrongState, match="was not asked"):
            opening(other, token=token)
    assert opening(survey, token=token).state == "open"


def test_a_survey_is_not_open_for_longer_than_its_helper_remembers_it(
    sqlite_pair: Pair,
) -> None:
    """Its last day can be moved, and only to one on which the helper still has the task's keys."""
    record, lifecycle = sqlite_pair.open(), sqlite_pair.leader.surveys
    opened = record.closes
    assert opened is not None
    for day in (None, "2999-01-01"):
        with pytest.raises(ParameterError, match="forgets this survey"):
            lifecycle.extend(record, day)
    split = lifecycle.frozen(record.token)[0].split
    assert split is not None
    last = datetime.fromtimestamp(split.terms.expires - 86_400, UTC).date().isoformat()
    assert opened == last
    lifecycle.extend(record, last)
    assert lifecycle.record(record.token).closes == last


def test_a_last_day_moved_after_the_approval_is_refused(sqlite_pair: Pair) -> None:
    """A survey that would outlive its task does not open: its answers could not be added up."""
    survey, token = sqlite_pair.define(), secrets.token_hex(8)
    sqlite_pair.add_helper()
    asked = sqlite_pair.ask(survey, token)
    sqlite_pair.helper.tasks.decide(asked["task"], approve=True)
    sqlite_pair.ask(survey, token)
    with pytest.raises(WrongState, match="forgets this survey on"):
        sqlite_pair.leader.transactions.write(
            lambda connection: bind_task(connection, token, survey, "2999-01-01", zone=UTC)
        )


def test_a_survey_that_names_another_operator_is_not_approved(sqlite_pair: Pair) -> None:
    """Devices compare the operator's words, so the helper does before anybody is asked."""
    sqlite_pair.add_helper()
    terms = sqlite_pair.define().two_parties
    assert terms is not None
    survey = replace(sqlite_pair.define(), two_parties=replace(terms, operator="Somebody else"))
    with pytest.raises(OperationError, match="Somebody else"):
        sqlite_pair.ask(survey, secrets.token_hex(8))


def test_an_unforeseen_answer_stops_one_survey_alone(
    sqlite_pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault with one survey's helper is noted, and the run goes on to the others."""
    first, second = sqlite_pair.open(), sqlite_pair.open(title="Second")
    for record in (first, second):
        sqlite_pair.crowd(record, 4)
        sqlite_pair.close(record)
    leader = sqlite_pair.leader.aggregation
    broken = leader.under_way()[0]
    advance = leader.advance

    def faulty(task: str) -> bool:
        if task == broken:
            raise KeyError("aggregated_before")
        return advance(task)

    monkeypatch.setattr(leader, "advance", faulty)
    assert leader.run() == 1
    obstacles = {leader.progress(one.token)["obstacle"] for one in (first, second)}
    assert obstacles == {"an unexpected fault (KeyError)", None}


def test_a_refusal_is_told(sqlite_pair: Pair) -> None:
    """The surveyor reads that the helper's operator refused, and the survey does not open."""
    survey, token = sqlite_pair.define(), secrets.token_hex(8)
    sqlite_pair.add_helper()
    asked = sqlite_pair.ask(survey, token)
    sqlite_pair.helper.tasks.decide(asked["task"], approve=False)
    standing = sqlite_pair.ask(survey, token)
    assert standing["state"] == "refused"
    assert "refused" in str(standing["reason"])
    with pytest.raises(WrongState):
        sqlite_pair.helper.tasks.decide(asked["task"], approve=True)


def test_a_refused_survey_is_proposed_again_on_demand(sqlite_pair: Pair) -> None:
    """A look leaves a refusal as it is; a second request, or another word, is decided on anew."""
    survey, token = sqlite_pair.define(), secrets.token_hex(8)
    sqlite_pair.add_helper()
    first = sqlite_pair.ask(survey, token)
    sqlite_pair.helper.tasks.decide(first["task"], approve=False)
    assert [sqlite_pair.ask(survey, token)["state"] for _ in range(2)] == ["refused"] * 2
    second = sqlite_pair.ask(survey, token, again=True)
    assert second["state"] == "proposed"
    assert second["task"] != first["task"]
    sqlite_pair.helper.tasks.decide(second["task"], approve=False)
    assert sqlite_pair.ask(survey, token)["state"] == "refused"
    other = sqlite_pair.ask(sqlite_pair.define(title="Other"), token)
    assert other["state"] == "proposed"


@pytest.mark.both_databases
@pytest.mark.parametrize("approved", [False, True])
@pytest.mark.parametrize("loss", ["expired", "stopped", "forgotten"])
def test_what_the_helper_does_not_have_any_more_is_proposed_anew(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, loss: str, approved: bool
) -> None:
    """A draft never opens with a task that is gone, and gets another, for every decision."""
    survey, token = pair.define(), secrets.token_hex(8)
    pair.add_helper()
    tasks = pair.helper.tasks
    first = pair.ask(survey, token)["task"]
    if approved:
        tasks.decide(first, approve=True)
        assert pair.ask(survey, token)["state"] == "approved"
    confirm = partial(pair.leader.proposals.confirm, survey, token=token, team=pair.team)
    confirm()
    if loss == "expired":
        with monkeypatch.context() as later:
            later.setattr(tasks, "_clock", lambda: 2.0**40)
            assert tasks.expire() == 1
    elif loss == "stopped":
        assert pair.helper.transactions.write(lambda c: stop_restored(c, day="2026-01-01")) == 1
    else:
        pair.helper.transactions.write(lambda c: c.execute(delete(HELPER_TASK)))
    if approved:
        with pytest.raises(WrongState, match="Ask the helper again"):
            confirm()
    again = pair.ask(survey, token)
    assert again["state"] == "proposed"
    assert again["task"] != first
    with pytest.raises(WrongState, match="proposed"):
        pair.leader.surveys.open_survey(survey, token=token)
    tasks.decide(again["task"], approve=True)
    assert pair.ask(survey, token)["state"] == "approved"
    record = pair.leader.surveys.open_survey(survey, token=token)
    pair.crowd(record, 3)
    pair.close(record)
    assert pair.leader.aggregation.run() == 1
    assert pair.result(record)["responses"] == 3


def test_an_approval_that_ends_too_early_is_asked_for_anew(sqlite_pair: Pair) -> None:
    """Where the last day moves beyond the task's, the survey is proposed with another end."""
    survey, token = sqlite_pair.define(), secrets.token_hex(8)
    sqlite_pair.add_helper()
    today = datetime.now(UTC).date()
    near, late = ((today + timedelta(days=days)).isoformat() for days in (5, 90))
    first = sqlite_pair.ask(survey, token, closes=near)
    sqlite_pair.helper.tasks.decide(first["task"], approve=True)
    assert sqlite_pair.ask(survey, token, closes=near)["state"] == "approved"
    second = sqlite_pair.ask(survey, token, closes=late)
    assert second["state"] == "proposed"
    assert second["task"] != first["task"]
    assert sqlite_pair.ask(survey, token, closes=near)["task"] == second["task"]


@pytest.mark.both_databases
def test_a_survey_that_opened_meanwhile_keeps_its_task(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proposal that is answered after the opening changes nothing: no answer is lost by it."""
    survey, token = pair.define(), secrets.token_hex(8)
    pair.add_helper()
    task = pair.ask(survey, token)["task"]
    pair.helper.tasks.decide(task, approve=True)
    assert pair.ask(survey, token)["state"] == "approved"
    propose = HelperClient.propose

    def late(self: HelperClient, proposal: dict[str, Any]) -> Any:
        answer = propose(self, proposal)
        record = pair.leader.surveys.open_survey(survey, token=token)
        pair.crowd(record, 3)
        return answer

    monkeypatch.setattr(HelperClient, "propose", late)
    # Other words, as of another tab: their proposal comes too late.
    other = pair.define(title="Other")
    with pytest.raises(WrongState, match="opened meanwhile"):
        pair.ask(other, token)
    assert pair.ask(survey, token)["task"] == task
    record = pair.close(pair.leader.surveys.record(token))
    assert pair.leader.aggregation.run() == 1
    assert pair.result(record)["responses"] == 3


def test_a_proposal_is_made_anew_when_words_change(sqlite_pair: Pair) -> None:
    """The helper's operator sees the newest wording alone, and old ones are never approved."""
    token = secrets.token_hex(8)
    sqlite_pair.add_helper()
    first = sqlite_pair.ask(sqlite_pair.define(title="First"), token)
    second = sqlite_pair.ask(sqlite_pair.define(title="Second"), token)
    assert [task.id for task in sqlite_pair.helper.tasks.tasks()] == [second["task"]]
    with pytest.raises(NotFound):
        sqlite_pair.helper.tasks.decide(first["task"], approve=True)


def test_several_answers_and_numbers_come_out_with_their_quartiles(sqlite_pair: Pair) -> None:
    """Shares of options are of all people and need not add to 1; a number has its quartiles."""
    questions = (
        Choice("work", "Do you work?", ("Yes", "No")),
        SeveralOf("way", "How do you come?", ("bus", "bicycle", "foot"), most=2, allow_skip=True),
        Number("hours", "How long?", 0, 60, "minutes"),
    )
    pair = sqlite_pair
    survey = replace(
        pair.define(questions, rho="1.4"), conditions=(None, ShowIf("work", ("Yes",)), None)
    )
    record = pair.open(survey)
    for number in range(24):
        answers: dict[str, Any] = {"work": "Yes", "way": ["bus", "foot"], "hours": number}
        if number % 3 == 0:
            answers = {"work": "No", "hours": number}
        elif number % 3 == 1:
            answers["way"] = None if number == 1 else ["bus"]
        pair.send(record, answers)
    pair.close(record)
    assert pair.leader.aggregation.run() == 1
    truth = [[16, 8], [15, 0, 8], [3] * 8 + [0] * 12, [15, 1, 8]]
    assert near(pair, record.token, truth)
    way, hours = pair.result(record)["questions"][1:]
    labels = ["bus", "bicycle", "foot", "prefer not to say", "not asked"]
    assert [option["label"] for option in way["options"]] == labels
    assert "quartiles" not in way
    assert [one["share"] for one in hours["quartiles"]] == [0.25, 0.5, 0.75]
    assert all(one["low"] <= one["value"] <= one["high"] for one in hours["quartiles"])
    names = [one["of"] for one in split_codebook(survey, token="t", count=24)["sums"]]
    assert names == ["work", "way", "hours", "way: answered"]
