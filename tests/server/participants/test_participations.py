"""Every step of the protocol and its ledger happen together, in order, once; no other step does."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import event
from tests.server.devices import Device, everything
from tests.server.participants.participation_runs import REPORTS, SALT, STATES, Run
from tests.surveys.small_surveys import define

from masquerade.accounting import Caps
from masquerade.errors import (
    AlreadyParticipated,
    ClearDisclosureRefused,
    CommitmentMismatch,
    IdempotencyConflict,
    InsufficientBudget,
    InvalidReport,
    LevelNotAllowed,
    MasqueradeError,
    NotFound,
    SurveyHashMismatch,
    WrongState,
)
from masquerade.exact import Micro
from masquerade.server import Services
from masquerade.server.db.participation_rows import ParticipationRows
from masquerade.server.db.tables import (
    ABANDONED,
    EXPIRED,
    OPENED,
    RESERVED,
    SEALED,
    SUBMITTED,
    WITHDRAWN,
)
from masquerade.server.participants.steps import Participation
from masquerade.surveys import Number
from masquerade.surveys.survey import commitment_of

# What each step leads to, from each state; a state that is not there refuses the step.
STEPS: dict[str, dict[str, str]] = {
    "open": {RESERVED: OPENED, OPENED: OPENED},
    "seal": {OPENED: SEALED, SEALED: SEALED, SUBMITTED: SUBMITTED},
    "respond": {SEALED: SUBMITTED, SUBMITTED: SUBMITTED},
    "withdraw": {SUBMITTED: WITHDRAWN, WITHDRAWN: WITHDRAWN},
    "abandon": {
        RESERVED: EXPIRED,
        OPENED: ABANDONED,
        SEALED: ABANDONED,
        EXPIRED: EXPIRED,
        ABANDONED: ABANDONED,
    },
}


def begin(services: Services) -> Run:
    """Reserve a new survey for a new participant."""
    survey = services.surveys.open_survey(define(levels=("high", "medium", "low")))
    return Run(services, survey, Device())


@pytest.mark.parametrize("state", STATES)
def test_every_step_from_every_state(services: Services, state: str) -> None:
    """Each step leads where it should; a wrong one is refused, names the state, changes nothing."""
    for name, leads in STEPS.items():
        run = begin(services).bring_to(state)
        before = everything(services)
        if state in leads:
            assert run.step(name).state == leads[state]
            if leads[state] == state:
                assert everything(services) == before
            else:
                after = everything(services)
                assert run.step(name).state == leads[state]
                assert everything(services) == after
        else:
            with pytest.raises(WrongState, match=f"is {state}") as caught:
                run.step(name)
            assert caught.value.state == state
            assert everything(services) == before
    services.ledger.verify()


@pytest.mark.parametrize(
    ("state", "kinds"),
    [
        (RESERVED, ["reserve"]),
        (OPENED, ["reserve", "commit"]),
        (SEALED, ["reserve", "commit"]),
        (SUBMITTED, ["reserve", "commit"]),
        (WITHDRAWN, ["reserve", "commit"]),
        (EXPIRED, ["reserve", "release"]),
        (ABANDONED, ["reserve", "commit"]),
    ],
)
def test_what_each_state_costs(services: Services, state: str, kinds: list[str]) -> None:
    """A reservation is spent once questions are shown, and given back before."""
    run = begin(services).bring_to(state)
    entries = services.ledger.entries(services.identity(run.device.participant).person)
    assert [entry.charge.kind for entry in entries] == kinds
    level = run.survey.survey.level("medium")
    assert {entry.charge.cost for entry in entries} == {level.cost(run.survey.token)}
    balance = services.ledger.balance(run.who.person)
    assert balance.open == (state == RESERVED)
    assert balance.spent_epsilon == (
        level.guarantee().epsilon_user.micro if len(kinds) == 2 and kinds[1] == "commit" else 0
    )
    services.ledger.verify()


def test_a_bill_says_what_was_spent(services: Services) -> None:
    """The bill has the response's own loss and everything so far, pure epsilons adding exactly."""
    device, total = Device(), 0
    for number, level in enumerate(("high", "medium", "low"), start=1):
        survey = services.surveys.open_survey(define(levels=("low", "medium", "high")))
        bill = device.send(services, survey, level=level)
        one = survey.survey.level(level).guarantee().epsilon_user
        total += int(one.micro)
        assert bill["survey_epsilon"] == one.to_json()
        assert (bill["survey_delta"], bill["surveys"], bill["day"]) == (0, number, "2026-03-14")
        assert bill["total_epsilon"] <= total / 1e6
        if bill["method"] == "pure":
            assert bill["total_epsilon"] == total / 1e6
    assert services.ledger.balance(services.profiles.persons()[0]).spent_epsilon == total


@pytest.mark.both_databases
def test_the_response_is_kept_as_it_was_sealed(services: Services) -> None:
    """Reports come back under the survey's pseudonym and the chosen level, as they were sent."""
    run = begin(services).bring_to(SUBMITTED)
    [response] = services.reports.of_survey(run.survey.token)
    assert (response.level, response.reports) == ("medium", (1, 4))
    assert "[1,4]" in repr(everything(services)["participation"]).replace(" ", "")
    run.step("withdraw")
    assert services.reports.of_survey(run.survey.token) == []
    assert "[1,4]" not in repr(everything(services)).replace(" ", "")


@pytest.mark.both_databases
def test_the_commitment_is_the_published_hash() -> None:
    """The commitment is SHA-256 of the canonical JSON, as any device works it out."""
    text = '{"participation":"' + "ab" * 16 + '","reports":[0,-7,12],"salt":"' + "cd" * 16 + '"}'
    expected = hashlib.sha256(text.encode()).hexdigest()
    assert commitment_of("ab" * 16, [0, -7, 12], "cd" * 16) == expected
    again = json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"))
    assert again == text


@pytest.mark.both_databases
def test_only_what_was_sealed_is_accepted(services: Services) -> None:
    """Other reports, another salt, level or hash are refused, before and after the right ones."""
    run = begin(services).bring_to(SEALED)
    before = everything(services)
    send = run.device.respond
    wrong: list[tuple[type[MasqueradeError], Callable[[], Any]]] = [
        (CommitmentMismatch, lambda: send(services, run.begun, [1, 3], SALT)),
        (CommitmentMismatch, lambda: send(services, run.begun, REPORTS, "5b" * 16)),
        (LevelNotAllowed, lambda: send(services, run.begun, REPORTS, SALT, level="low")),
        (
            SurveyHashMismatch,
            lambda: send(services, run.begun, REPORTS, SALT, survey_hash="0" * 64),
        ),
        (InvalidReport, lambda: send(services, run.begun, [1], SALT)),
        (InvalidReport, lambda: send(services, run.begun, [1, 4, 0], SALT)),
        (InvalidReport, lambda: send(services, run.begun, [2, 4], SALT)),
        (InvalidReport, lambda: send(services, run.begun, [1, -1], SALT)),
        (
            CommitmentMismatch,
            lambda: services.participations.seal(run.who, run.begun.id, "0" * 64),
        ),
    ]
    for kind, request in wrong:
        with pytest.raises(kind):
            request()
        assert everything(services) == before
    assert send(services, run.begun, REPORTS, SALT)[1]
    after = everything(services)
    for other in ([1, 3], [1], [2, 4]):
        with pytest.raises(CommitmentMismatch):
            send(services, run.begun, other, SALT)
    assert not send(services, run.begun, REPORTS, SALT)[1]
    assert everything(services) == after


@pytest.mark.both_databases
def test_reports_of_noise_may_leave_the_range_but_not_by_everything(services: Services) -> None:
    """Reports up to 9 sigma (of 30 here) beyond the scale are kept; further ones are refused."""
    survey = services.surveys.open_survey(define(Number("n", "?", 0, 10, "h"), level="high"))
    for report in (-90, 0, 10, 100, -271, 281):
        Device().send(services, survey, [report])
    assert sorted(r.reports[0] for r in services.reports.of_survey(survey.token)) == [
        -271,
        -90,
        0,
        10,
        100,
        281,
    ]
    for report in (-272, 282, 2**53 - 1):
        with pytest.raises(InvalidReport, match="report 1"):
            Device().send(services, survey, [report])


@pytest.mark.both_databases
def test_a_level_is_chosen_once(services: Services) -> None:
    """The same level again is the same participation; another is refused, at every state."""
    for state in (RESERVED, OPENED, SEALED, SUBMITTED, WITHDRAWN, ABANDONED):
        run = begin(services).bring_to(state)
        again, new = services.participations.reserve(
            run.who, run.survey.token, "medium", idempotency_key=secrets.token_hex(16)
        )
        assert (again.id, again.state, new) == (run.begun.id, state, False)
        with pytest.raises(AlreadyParticipated):
            run.device.reserve(services, run.survey, level="high")
    with pytest.raises(LevelNotAllowed):
        Device().reserve(services, run.survey, level="none")


@pytest.mark.both_databases
def test_a_lapsed_reservation_can_be_begun_again(services: Services) -> None:
    """A person that never saw a question may begin again, at any level, as a new participation."""
    run = begin(services).bring_to(EXPIRED)
    again = run.device.reserve(services, run.survey, level="low")
    assert again.id != run.begun.id
    assert services.ledger.balance(run.who.person).open == 1
    services.participations.abandon(run.who, again.id)
    third = run.device.reserve(services, run.survey, level="high")
    assert services.participations.open(run.who, third.id).state == OPENED
    with pytest.raises(NotFound):
        services.participations.open(run.who, run.begun.id)
    kinds = [
        entry.charge.kind
        for entry in services.ledger.entries(services.identity(run.device.participant).person)
    ]
    assert kinds == ["reserve", "release"] * 2 + ["reserve", "commit"]
    services.ledger.verify()


@pytest.mark.both_databases
def test_idempotency_keys(services: Services) -> None:
    """A key sent again gives the same answer, even once lapsed; for another one it is refused."""
    survey, other = (services.surveys.open_survey(define(levels=("high", "low"))) for _ in range(2))
    device, key = Device(), secrets.token_hex(16)
    begun = device.reserve(services, survey, level="low", key=key)
    assert device.reserve(services, survey, level="low", key=key).id == begun.id
    for token, level in ((survey, "high"), (other, "low")):
        with pytest.raises(IdempotencyConflict):
            device.reserve(services, token, level=level, key=key)
    services.participations.abandon(services.identity(device.participant), begun.id)
    assert device.reserve(services, survey, level="low", key=key).state == EXPIRED
    stranger = Device().reserve(services, survey, level="low", key=key)
    assert stranger.state == RESERVED
    assert stranger.id != begun.id


def test_a_stranger_finds_nothing(services: Services) -> None:
    """Every step on somebody else's participation is as if there were none."""
    run = begin(services)
    stranger = services.identity(secrets.token_hex(16))
    for state in STATES:
        mine = begin(services).bring_to(state)
        before = everything(services)
        mine.who, mine.device = stranger, Device()
        for name in STEPS:
            with pytest.raises(NotFound):
                mine.step(name)
        assert everything(services) == before
    run.begun = Participation("0" * 32, run.begun.survey, run.begun.level, RESERVED)
    for name in STEPS:
        with pytest.raises(NotFound):
            run.step(name)


def test_a_closed_survey_takes_nothing_more(services: Services) -> None:
    """After the close nothing is begun, shown, sealed, sent or withdrawn."""
    runs = {}
    survey = services.surveys.open_survey(define(levels=("high", "medium")))
    for state in STATES:
        runs[state] = Run(services, survey, Device()).bring_to(state)
    closed = services.surveys.close(survey)
    assert closed.responses == 1
    after = {s: EXPIRED if s == RESERVED else s for s in STATES}
    before = everything(services)
    for state, run in runs.items():
        for name in ("open", "seal", "respond", "withdraw"):
            repeat = STEPS[name].get(after[state]) == after[state]
            if repeat:
                assert run.step(name).state == after[state]
            else:
                with pytest.raises(WrongState):
                    run.step(name)
    with pytest.raises(WrongState, match="closed"):
        Device().reserve(services, survey, level="high")
    assert everything(services) == before
    assert runs[OPENED].step("abandon").state == ABANDONED
    assert services.ledger.balance(runs[RESERVED].who.person).open == 0
    services.ledger.verify()


@pytest.mark.both_databases
@pytest.mark.parametrize("name", ["reserve", "open", "abandon", "respond"])
@pytest.mark.parametrize("moment", ["the ledger", "the rows", "the commit"])
def test_a_step_is_kept_with_its_ledger_or_not_at_all(
    services: Services, monkeypatch: pytest.MonkeyPatch, name: str, moment: str
) -> None:
    """Whenever something fails on the way nothing stays of the step, and trying again works."""
    survey = services.surveys.open_survey(define())
    run = None
    if name != "reserve":
        run = Run(services, survey, Device())
        run.bring_to({"respond": SEALED}.get(name, RESERVED))
    device = Device()
    before = everything(services)

    def attempt() -> Any:
        return run.step(name) if run else device.reserve(services, survey)

    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError(moment)

    with monkeypatch.context() as patch:
        if moment == "the ledger":
            patch.setattr(ParticipationRows, "change", fail)
            patch.setattr("masquerade.server.participants.step_batch.privacy_account_of", fail)
        elif moment == "the rows":
            patch.setattr(ParticipationRows, "flush", fail)
        else:
            event.listen(services.engine, "commit", fail)
        with pytest.raises(RuntimeError, match=moment):
            attempt()
        if moment == "the commit":
            event.remove(services.engine, "commit", fail)
    assert everything(services) == before
    assert attempt().id
    services.ledger.verify()


@pytest.mark.both_databases
def test_the_cap_holds(database_url: str) -> None:
    """A loss that does not fit is refused with needed and residual; exactly enough is enough."""
    services = Services.open(database_url)
    survey = services.surveys.open_survey(define())
    services.close()
    one = survey.survey.levels[0].cost(survey.token).pure
    services = Services.open(database_url, caps=Caps(Micro(2 * one - 1), Caps().delta))
    second = services.surveys.open_survey(define(title="Second"))
    device = Device()
    device.send(services, survey)
    before = everything(services)
    with pytest.raises(InsufficientBudget) as caught:
        device.reserve(services, second)
    assert caught.value.needed == one / 1e6
    assert caught.value.residual == (one - 1) / 1e6
    assert everything(services) == before
    services.close()
    exact = Services.open(database_url, caps=Caps(Micro(2 * one), Caps().delta))
    other = Device()
    other.send(exact, survey)
    assert other.reserve(exact, second).state == RESERVED
    exact.close()


@pytest.mark.both_databases
def test_answers_in_clear_are_counted_apart(database_url: str) -> None:
    """Level none spends no epsilon but clear answers, of which the default cap allows none."""
    definition = define(levels=("none", "low"))
    services = Services.open(database_url, allow_clear=True)
    survey = services.surveys.open_survey(definition)
    with pytest.raises(ClearDisclosureRefused):
        Device().reserve(services, survey, level="none")
    services.close()
    services = Services.open(database_url, allow_clear=True, caps=Caps(clear=2))
    device = Device()
    device.send(services, survey, [1, 2], level="none")
    balance = services.ledger.balance(services.identity(device.participant).person)
    assert (balance.spent_clear, balance.spent_epsilon, balance.spent_divergence) == (2, 0, 0)
    assert (
        services.ledger.entries(services.identity(device.participant).person)[-1].charge.kind
        == "clear_disclosure"
    )
    services.close()
    services = Services.open(database_url, caps=Caps(clear=2))
    with pytest.raises(LevelNotAllowed, match="clear"):
        Device().reserve(services, survey, level="none")
    services.close()
