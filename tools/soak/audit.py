"""The count at the end of a soak: the server's database against all that the devices know."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import text
from tools.soak.people import OpenSurvey, People, Person, Run

from masquerade.accounting import Charge, Cost
from masquerade.server import Services


def count(services: Services, people: People, surveys: list[OpenSurvey]) -> dict[str, float]:
    """Return the acknowledged responses that are lost, doubled or changed, and unequal accounts."""
    # What was reserved in surveys that are closed is given back within a minute; here at once.
    services.held_places.look()
    names = ("kept", "lost", "doubled", "taken_back_and_there")
    figures: dict[str, float] = dict.fromkeys(names, 0)
    for survey in surveys:
        for name, number in _responses(services, survey).items():
            figures[name] += number
    unequal, device_sum, server_sum = 0, 0.0, 0.0
    for person in people.persons:
        charges = [
            entry.charge
            for entry in services.ledger.entries(services.identity(person.secret).person)
        ]
        unequal += not _is_equal(person, charges)
        paid = [charge.cost for charge in charges if charge.kind == "commit"]
        device_sum += _sum(person.spent)
        server_sum += _sum(paid)
    return figures | {
        "persons": len(people.persons),
        "unequal_accounts": unequal,
        "micro_rho_by_devices": device_sum,
        "micro_rho_by_server": server_sum,
        "entries": services.ledger.verify(),
    }


def _responses(services: Services, survey: OpenSurvey) -> dict[str, int]:
    """Return how the stored responses of a survey differ from the acknowledged ones."""
    sent = [run for run in survey.runs if run.outcome == "submitted"]
    gone = [run for run in survey.runs if run.outcome == "withdrawn"]
    kept = _split_reports(services, survey) if survey.split else _reports(services, survey)
    names = {run.id: _name(services, run) for run in (*sent, *gone)}
    lost = sum(_differs(run, kept.get(names[run.id])) for run in sent)
    mine = {names[run.id] for run in sent}
    return {
        "kept": len(kept),
        "lost": lost,
        "doubled": len(kept.keys() - mine),
        "taken_back_and_there": sum(names[run.id] in kept for run in gone),
    }


def _differs(run: Run, reports: list[int] | None) -> bool:
    return reports is None or (not run.survey.split and reports != run.reports)


def _name(services: Services, run: Run) -> str:
    if run.survey.split:
        return run.id
    query = text("SELECT pseudonym_key FROM survey WHERE token = :token")
    with services.engine.connect() as connection:
        key = str(connection.scalar(query, {"token": run.survey.token}))
    return services.identity(run.person.secret).pseudonym(key)


def _reports(services: Services, survey: OpenSurvey) -> dict[str, list[int]]:
    return {row.pseudonym: list(row.reports) for row in services.reports.of_survey(survey.token)}


def _split_reports(services: Services, survey: OpenSurvey) -> dict[str, list[int]]:
    query = text("SELECT id FROM participation WHERE survey = :token AND state = 'submitted'")
    with services.engine.connect() as connection:
        return {row.id: [] for row in connection.execute(query, {"token": survey.token})}


def _is_equal(person: Person, charges: list[Charge]) -> bool:
    """Return whether a server's entries are those of a person's runs, each paid for once."""
    paid = [charge.cost for charge in charges if charge.kind == "commit"]
    if sorted(paid, key=_survey) != sorted(person.spent, key=_survey):
        return False
    reserved = [charge.survey for charge in charges if charge.kind == "reserve"]
    ended = [charge.survey for charge in charges if charge.kind in ("commit", "release")]
    begun = [run.survey.token for run in person.runs if run.reserved]
    # Each reservation is paid or given back, once; nothing else is in the account.
    return sorted(reserved) == sorted(ended) == sorted(begun)


def _sum(costs: Sequence[Cost]) -> float:
    return sum(cost.rho.micro for cost in costs)


def _survey(cost: Cost) -> str:
    return cost.survey
