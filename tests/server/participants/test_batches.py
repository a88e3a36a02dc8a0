"""Steps that are taken together: each with its own outcome, as if it came alone."""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Connection, event
from sqlalchemy.exc import IntegrityError
from tests.server.devices import Device, all_at_once, everything
from tests.surveys.small_surveys import define

from masquerade.accounting import Caps
from masquerade.errors import (
    AlreadyParticipated,
    CommitmentMismatch,
    IdempotencyConflict,
    InsufficientBudget,
    LevelNotAllowed,
    NotFound,
    QuotaFull,
    TooManyReservations,
    WrongState,
)
from masquerade.exact import Micro
from masquerade.server import Services
from masquerade.server.db.participation_rows import ParticipationRows
from masquerade.server.db.row_sets import Changes, by_index
from masquerade.server.db.tables import OPENED, RESERVED, SEALED, SUBMITTED
from masquerade.server.db.writer import Job
from masquerade.server.participants.step_batch import Step
from masquerade.server.participants.steps import (
    Abandon,
    Open,
    Reserve,
    Respond,
    Seal,
    Withdraw,
)
from masquerade.server.surveys.rewards import Reward
from masquerade.server.surveys.survey_records import SurveyRecord
from masquerade.surveys.survey import commitment_of

REPORTS, SALT = [1, 4], "5a" * 16
pytestmark = pytest.mark.both_databases


def key() -> str:
    """Return an idempotency key."""
    return secrets.token_hex(16)


def together(services: Services, *steps: Step) -> list[Any]:
    """Take steps in one transaction; return the value or error of each."""
    # As the writer does with steps that wait: one transaction and one commit.
    callers: list[Future[Any]] = [Future() for _ in steps]
    jobs = [
        Job(services.participations._taken, step, caller)
        for step, caller in zip(steps, callers, strict=True)
    ]
    commits: list[Connection] = []
    count = commits.append
    event.listen(services.engine, "commit", count)
    try:
        done = list(services.transactions._writer._commit(jobs))
    finally:
        event.remove(services.engine, "commit", count)
    assert len(commits) == 1
    return [failure or value for _, (value, failure) in done]


class Person:
    """A participant and the steps of theirs, one at a time."""

    def __init__(self, services: Services, survey: SurveyRecord) -> None:
        self.services, self.survey = services, survey
        self.device = Device()
        self.who = services.identity(self.device.participant)
        self.key = key()
        self.id = ""

    def reserve(self, level: str = "medium") -> Reserve:
        """Choose a level."""
        return Reserve(self.who, self.survey.token, level, self.key)

    def open(self) -> Open:
        """Ask for the questions."""
        return Open(self.who, self.id)

    def seal(self, reports: Sequence[int] = REPORTS) -> Seal:
        """Commit to reports."""
        return Seal(self.who, self.id, commitment_of(self.id, reports, SALT))

    def respond(self, reports: Sequence[int] = REPORTS) -> Respond:
        """Send reports."""
        return Respond(self.who, self.id, SALT, "medium", self.survey.hash, reports)

    def step(self, kind: str) -> Step:
        """Return a step by its name; a lie seals other reports than are sent."""
        steps: dict[str, Callable[[], Step]] = {
            "reserve": self.reserve,
            "open": self.open,
            "seal": self.seal,
            "respond": self.respond,
            "lie": lambda: self.seal([0, 0]),
            "abandon": lambda: Abandon(self.who, self.id),
            "withdraw": lambda: Withdraw(self.who, self.id),
        }
        return steps[kind]()

    def kinds(self) -> list[str]:
        """Return the kinds of the entries on the person's account."""
        entries = self.services.ledger.entries(self.who.person)
        return [entry.charge.kind for entry in entries]


def test_many_runs_in_four_transactions(services: Services) -> None:
    """Forty people take each step in one commit; all is there once, and every chain holds."""
    survey = services.surveys.open_survey(define(), reward=Reward("EUR", {"medium": 250}))
    people = [Person(services, survey) for _ in range(40)]
    for person, (begun, new) in zip(
        people, together(services, *(one.reserve() for one in people)), strict=True
    ):
        assert (begun.state, new) == (RESERVED, True)
        person.id = begun.id
    assert {one[0].state for one in together(services, *(p.open() for p in people))} == {OPENED}
    assert {one.state for one in together(services, *(p.seal() for p in people))} == {SEALED}
    sent = together(services, *(p.respond() for p in people))
    assert {(done.state, new) for done, new in sent} == {(SUBMITTED, True)}
    codes = {done.completion_code for done, _ in sent}
    assert len(codes) == len(people)
    assert services.completion_codes.of_survey(survey.token, over=True).given == len(people)
    # All of it once more is answered as before, and changes nothing.
    before = everything(services)
    again = together(services, *(p.reserve() for p in people), *(p.respond() for p in people))
    assert not any(new for _, new in again)
    assert {done.id for done, _ in again} == {person.id for person in people}
    assert {done.completion_code for done, _ in again} == codes
    assert everything(services) == before
    assert services.surveys.record(survey.token).responses == len(people)
    assert services.ledger.verify() == 2 * len(people)


def test_a_refused_step_is_refused_alone(services: Services) -> None:
    """Steps that are refused for ten reasons leave nothing; those between them are kept."""
    survey = services.surveys.open_survey(define(levels=("medium", "high")))
    other = services.surveys.open_survey(define(title="Other"))
    services.surveys.set_quotas(other, {"medium": 1})
    people = [Person(services, survey) for _ in range(5)]
    for person in people[:3]:
        person.id = person.device.reserve(services, survey, level="medium", key=person.key).id
    services.participations.open(people[0].who, people[0].id)
    services.participations.seal(people[0].who, people[0].id, people[0].seal().commitment)
    stranger, first = Person(services, other), Person(services, other)
    poor = Person(services, survey)
    services.ledger.lower_caps(poor.who.person, Caps(Micro(1)))
    outcomes = together(
        services,
        people[0].respond([0, 0]),
        people[1].open(),
        people[2].seal(),
        people[3].reserve("none such"),
        people[3].reserve(),
        Open(stranger.who, people[1].id),
        Open(stranger.who, "zz"),
        first.reserve(),
        stranger.reserve(),
        poor.reserve(),
        Reserve(people[1].who, other.token, "medium", people[1].key),
        Reserve(people[2].who, survey.token, "high", key()),
        Reserve(people[4].who, "0" * 16, "medium", key()),
        people[0].respond(),
    )
    refused = [type(one) for one in outcomes if isinstance(one, Exception)]
    assert refused == [
        CommitmentMismatch,
        WrongState,
        LevelNotAllowed,
        NotFound,
        NotFound,
        QuotaFull,
        InsufficientBudget,
        IdempotencyConflict,
        AlreadyParticipated,
        NotFound,
    ]
    kept = [one[0].state for one in outcomes if not isinstance(one, Exception)]
    assert kept == [OPENED, RESERVED, RESERVED, SUBMITTED]
    assert stranger.kinds() == []
    assert poor.kinds() == ["adjust"]
    assert people[3].kinds() == ["reserve"]
    assert people[1].kinds() == ["reserve", "commit"]
    assert services.surveys.record(survey.token).responses == 1
    services.ledger.verify()


def test_the_steps_of_one_person_see_each_other(services: Services) -> None:
    """A whole run, a second survey and a repeated beginning in one batch go as if one by one."""
    survey = services.surveys.open_survey(define(levels=("medium", "high")))
    second = services.surveys.open_survey(define(title="Second"))
    one = Person(services, survey)
    twice = together(services, one.reserve(), one.reserve(), one.reserve("high"))
    assert [twice[0][1], twice[1][1]] == [True, False]
    assert twice[0][0].id == twice[1][0].id
    assert isinstance(twice[2], IdempotencyConflict)
    one.id = twice[0][0].id
    run = together(
        services,
        one.seal(),
        one.open(),
        one.open(),
        one.seal(),
        one.respond(),
        one.respond(),
        Reserve(one.who, second.token, "medium", key()),
        Abandon(one.who, one.id),
        Withdraw(one.who, one.id),
        Withdraw(one.who, one.id),
    )
    assert isinstance(run[0], WrongState)
    assert [run[1][1], run[2][1], run[4][1], run[5][1]] == [True, False, True, False]
    assert run[6][0].account.balance.open == 1
    assert isinstance(run[7], WrongState)
    assert [run[8].state, run[9].state] == ["withdrawn", "withdrawn"]
    assert one.kinds() == ["reserve", "commit", "reserve"]
    assert services.surveys.record(survey.token).responses == 0
    services.ledger.verify()


def test_a_lapsed_beginning_in_a_batch(services: Services) -> None:
    """Given up and begun anew in one batch, the place is taken once and the cost reserved once."""
    survey = services.surveys.open_survey(define())
    services.surveys.set_quotas(survey, {"medium": 2})
    one, other = Person(services, survey), Person(services, survey)
    one.id = one.device.reserve(services, survey, level="medium", key=one.key).id
    outcomes = together(
        services,
        Abandon(one.who, one.id),
        other.reserve(),
        Reserve(one.who, survey.token, "medium", key()),
        Person(services, survey).reserve(),
        Abandon(one.who, one.id),
    )
    assert isinstance(outcomes[3], QuotaFull)
    # The id of before is nobody's now.
    assert isinstance(outcomes[4], NotFound)
    assert outcomes[2][0].id != one.id
    assert one.kinds() == ["reserve", "release", "reserve"]
    assert services.ledger.balance(one.who.person).open == 1
    services.ledger.verify()


def test_who_opens_nothing_is_stopped_within_a_batch(database_url: str) -> None:
    """Of four beginnings in one batch the fourth is refused where three may be unopened."""
    services = Services.open(database_url, unopened_reservations=3)
    surveys = [services.surveys.open_survey(define(title=f"Survey {n}")) for n in range(4)]
    one = Person(services, surveys[0])
    services.ledger.raise_caps(one.who.person, Caps(Micro(50_000_000)))
    steps = [Reserve(one.who, survey.token, "medium", key()) for survey in surveys]
    outcomes = together(services, *steps)
    assert [isinstance(one, TooManyReservations) for one in outcomes] == [False] * 3 + [True]
    assert one.kinds() == ["adjust", "reserve", "reserve", "reserve"]
    services.ledger.verify()
    services.close()


def test_what_the_database_refuses_is_done_one_by_one(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a batch cannot be written, each of its steps is taken alone, once."""
    survey = services.surveys.open_survey(define())
    people = [Person(services, survey) for _ in range(6)]
    flush: Callable[[ParticipationRows, Changes], None] = ParticipationRows.flush
    sizes: list[int] = []

    def refuse(rows: ParticipationRows, changes: Changes) -> None:
        sizes.append(len(rows._changed))
        if len(rows._changed) > 1:
            raise IntegrityError("INSERT", {}, Exception("the same came twice at once"))
        flush(rows, changes)

    monkeypatch.setattr(ParticipationRows, "flush", refuse)
    jobs = [Job(services.participations._taken, one.reserve(), Future()) for one in people]
    done = list(services.transactions._writer._commit(jobs))
    assert all(new for _, ((_, new), failure) in done if failure is None)
    assert [failure for _, (_, failure) in done] == [None] * 6
    assert sizes == [6] + [1] * 6
    assert [one.kinds() for one in people] == [["reserve"]] * 6
    services.ledger.verify()


def test_a_commit_that_fails_is_told_to_all_and_keeps_nothing(services: Services) -> None:
    """Between the last statement and the commit nothing is promised; afterwards all go on."""
    survey = services.surveys.open_survey(define())
    people = [Person(services, survey) for _ in range(3)]
    before = everything(services)

    def fail(_: Connection) -> None:
        raise RuntimeError("no commit")

    event.listen(services.engine, "commit", fail)
    try:
        for person in people:
            with pytest.raises(RuntimeError, match="no commit"):
                services.participations._now(person.reserve())
    finally:
        event.remove(services.engine, "commit", fail)
    assert everything(services) == before
    assert [new for _, new in together(services, *(p.reserve() for p in people))] == [True] * 3
    services.ledger.verify()


def test_two_servers_begin_one_person_at_once(database_url: str) -> None:
    """Of the same beginning at two processes one is new, in every of thirty tries."""
    first, second = Services.open(database_url), Services.open(database_url, rewrites=False)
    survey = first.surveys.open_survey(define())
    for _ in range(30):
        person = Person(first, survey)
        begin = person.reserve()
        outcomes = all_at_once(
            partial(first.participations._now, begin), partial(second.participations._now, begin)
        )
        assert sorted(new for _, new in outcomes) == [False, True]
        assert len({done.id for done, _ in outcomes}) == 1
        assert person.kinds() == ["reserve"]
    first.ledger.verify()
    second.close()
    first.close()


def test_chance_sequences_end_as_they_do_one_by_one(database_url: str) -> None:
    """The same two hundred steps in batches and one by one give the same outcomes and states."""
    services = Services.open(database_url, today=lambda: "2026-03-14")
    chance = random.Random(7)
    kinds = ("reserve", "open", "seal", "respond", "abandon", "withdraw", "lie")
    plans = [
        (chance.randrange(8), chance.randrange(2), chance.choice(kinds), chance.random() < 0.15)
        for _ in range(200)
    ]
    told: dict[bool, list[str]] = {}
    for batched in (False, True):
        surveys = [services.surveys.open_survey(define(title=f"S{n}{batched}")) for n in (0, 1)]
        services.surveys.set_quotas(surveys[1], {"medium": 3})
        people = [[Person(services, survey) for survey in surveys] for _ in range(8)]
        outcomes = told[batched] = []
        waiting: list[tuple[Person, Step]] = []
        for place, survey, kind, ends in plans:
            person = people[place][survey]
            # A device waits for its answer, which has the id of what it began.
            if ends or not batched or any(one is person for one, _ in waiting):
                outcomes += end(services, waiting)
                waiting = []
            waiting.append((person, person.step(kind)))
        outcomes += end(services, waiting)
    assert told[False] == told[True]
    assert {RESERVED, OPENED, SEALED, "NotFound", "WrongState"} <= set(told[True])
    services.ledger.verify()
    services.close()


def end(services: Services, waiting: Sequence[tuple[Person, Step]]) -> list[str]:
    """Take steps together; return the state or the refusal that each came to."""
    found = []
    outcomes = together(services, *(step for _, step in waiting)) if waiting else []
    for (person, _), outcome in zip(waiting, outcomes, strict=True):
        one = outcome[0] if isinstance(outcome, tuple) else outcome
        found.append(type(one).__name__ if isinstance(one, Exception) else one.state)
        person.id = person.id if isinstance(one, Exception) else one.id
    return found


def test_a_batch_takes_few_statements(services: Services) -> None:
    """Sixty-four beginnings take as many statements as two."""
    survey = services.surveys.open_survey(define())
    together(services, Person(services, survey).reserve())
    counts = []
    for size in (2, 64):
        statements: list[str] = []

        def note(_c: Any, _d: Any, words: str, *_: Any, found: list[str] = statements) -> None:
            found.append(words)

        event.listen(services.engine, "before_cursor_execute", note)
        together(services, *(Person(services, survey).reserve() for _ in range(size)))
        event.remove(services.engine, "before_cursor_execute", note)
        counts.append(len(statements))
    assert counts[0] == counts[1] <= 12


@pytest.mark.postgres
def test_rows_are_found_by_their_keys_before_postgresql_has_counted_any(services: Services) -> None:
    """In a table without statistics no statement of a run reads all rows of a survey or table."""
    engine = services.engine
    if engine.dialect.name != "postgresql":
        pytest.skip("SQLite is told its indexes")
    survey = services.surveys.open_survey(define())
    people = [Person(services, survey) for _ in range(3)]
    sent: list[tuple[str, Any]] = []

    def note(_c: Any, _d: Any, words: str, given: Any, *_: Any) -> None:
        if words.startswith(("SELECT t.", "WITH", "UPDATE")):
            sent.append((words, given))

    event.listen(engine, "before_cursor_execute", note)
    for kind in ("reserve", "open", "seal", "respond"):
        end(services, [(person, person.step(kind)) for person in people])
    event.remove(engine, "before_cursor_execute", note)
    assert len({words for words, _ in sent}) >= 9
    with engine.connect() as connection:
        by_index(connection)
        for words, given in sent:
            plan = "\n".join(connection.exec_driver_sql(f"EXPLAIN {words}", given).scalars())
            assert "Seq Scan" not in plan, plan
            assert "survey_state" not in plan, plan  # the index of all responses to a survey
            assert "Materialize" not in plan, plan
