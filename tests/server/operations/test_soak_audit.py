"""The count at the end of a soak notices each of its faults."""

from __future__ import annotations

import secrets
from collections.abc import Callable

import pytest
from sqlalchemy import text
from tests.server.devices import Device
from tests.surveys.small_surveys import define
from tools.soak.audit import count
from tools.soak.people import OpenSurvey, People, Person, Run

from masquerade.server import Services
from masquerade.surveys.survey import commitment_of

REPORTS, SALT = [1, 4], "5a" * 16
FAULTS = ("lost", "doubled", "taken_back_and_there", "unequal_accounts")


@pytest.fixture
def crowd(services: Services) -> tuple[People, list[OpenSurvey]]:
    """Twelve people: nine sent, one took it back, one gave up before the questions, one after."""
    definition = define()
    record = services.surveys.open_survey(definition)
    survey = OpenSurvey(record.token, False, 12, definition=definition)
    people = People([], clients=0, total=12)
    ways = {9: "withdrawn", 10: "abandoned", 11: "opened"}
    for number in range(12):
        device = Device()
        person = Person(device.participant)
        run = Run(person, survey, "medium", reserved=True, reports=REPORTS)
        begun = device.reserve(services, record, level="medium")
        run.id, run.outcome = begun.id, ways.get(number, "submitted")
        who, steps = services.identity(device.participant), services.participations
        if run.outcome == "abandoned":
            steps.abandon(who, begun.id)
        else:
            steps.open(who, begun.id)
            person.spent.append(definition.level("medium").cost(record.token))
        if run.outcome in ("submitted", "withdrawn"):
            steps.seal(who, begun.id, commitment_of(begun.id, REPORTS, SALT))
            device.respond(services, begun, REPORTS, SALT)
        if run.outcome == "withdrawn":
            steps.withdraw(who, begun.id)
        person.runs.append(run)
        survey.runs.append(run)
        people.persons.append(person)
    return people, [survey]


def test_a_sound_database_has_no_fault(
    services: Services, crowd: tuple[People, list[OpenSurvey]]
) -> None:
    """For all actions of people, nothing is lost or doubled, and both sides' sums are equal."""
    figures = count(services, *crowd)
    assert {name: figures[name] for name in FAULTS} == dict.fromkeys(FAULTS, 0)
    assert (figures["kept"], figures["persons"], figures["entries"]) == (9, 12, 24)
    assert figures["micro_rho_by_devices"] == figures["micro_rho_by_server"] > 0


def _execute(services: Services, statement: str) -> None:
    with services.engine.execution_options(write=True).begin() as connection:
        connection.execute(text(statement))


def _lose(services: Services, people: People) -> None:
    _execute(services, f"DELETE FROM participation WHERE id = '{people.persons[0].runs[0].id}'")


def _change(services: Services, people: People) -> None:
    run = people.persons[0].runs[0]
    _execute(services, f"UPDATE participation SET reports = '[0, 4]' WHERE id = '{run.id}'")


def _double(_services: Services, people: People) -> None:
    people.persons[0].runs[0].outcome = "abandoned"  # it is there, and nobody was told so


def _bring_back(_services: Services, people: People) -> None:
    people.persons[0].runs[0].outcome = "withdrawn"


def _forget_a_charge(_services: Services, people: People) -> None:
    people.persons[0].spent.clear()


def _charge_twice(services: Services, people: People) -> None:
    person = people.persons[0]
    name = services.identity(person.secret).person
    services.ledger.charge(name, secrets.token_hex(8), person.spent[0])


@pytest.mark.parametrize(
    ("harm", "noticed"),
    [
        (_lose, {"lost": 1}),
        (_change, {"lost": 1}),
        (_double, {"doubled": 1}),
        (_bring_back, {"taken_back_and_there": 1, "doubled": 1}),
        (_forget_a_charge, {"unequal_accounts": 1}),
        (_charge_twice, {"unequal_accounts": 1}),
    ],
)
def test_each_fault_is_noticed(
    services: Services,
    crowd: tuple[People, list[OpenSurvey]],
    harm: Callable[[Services, People], None],
    noticed: dict[str, int],
) -> None:
    """A lost, changed, doubled or returned response, and an account that differs, is counted."""
    harm(services, crowd[0])
    figures = count(services, *crowd)
    assert {name: figures[name] for name in FAULTS if figures[name]} == noticed
    equal = figures["micro_rho_by_devices"] == figures["micro_rho_by_server"]
    assert equal == ("unequal_accounts" not in noticed)
