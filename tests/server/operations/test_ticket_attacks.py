"""Attacks that join tickets with responses, from a stolen file and as the server; and forgeries."""

from __future__ import annotations

import base64
import secrets
import shutil
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from sqlalchemy import select, text
from tests.patience import PATIENCE_SECONDS
from tests.server.operations.crowds import Crowd
from tests.server.operations.page_layout import arrival, chance, joined
from tests.server.operations.ticket_thief import Forger, Thief, signed_message, ticket_key
from tests.surveys.small_surveys import define

from masquerade.errors import ParameterError
from masquerade.server import Services
from masquerade.server.db.reach_tables import SPENT_TICKET, TICKET
from masquerade.surveys.blind_rsa import EXPONENT, PREFIX_BYTES, PrivateKey
from masquerade.surveys.reach import Reach, TicketTerms, code_digest, new_code

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from masquerade.server.surveys.survey_records import SurveyRecord

PEOPLE, DATABASES = 50, 5


@dataclass
class Exchange:
    """The server's view of one ticket: on the one side a code, on the other a signature."""

    code: str
    blinded: bytes
    signed: bytes
    message: bytes
    signature: bytes

    @property
    def ticket(self) -> str:
        """The ticket as it is sent."""
        return base64.b64encode(self.message[:PREFIX_BYTES] + self.signature).decode()


def exchanges(key: PrivateKey, survey: SurveyRecord) -> list[Exchange]:
    """Return the actions of the holders of all tickets, in no order."""
    terms = survey.survey.reach.invitations
    assert terms is not None
    made = []
    for _ in range(PEOPLE):
        message = terms.message(survey.token, secrets.token_bytes(PREFIX_BYTES))
        blinded, inverse = key.public.blind(message)
        signed = key.sign_blinded(blinded)
        signature = key.public.finalize(message, signed, inverse)
        made.append(Exchange(new_code(), blinded, signed, message, signature))
    return made


def prepared(crowd: Crowd, url: str) -> tuple[SurveyRecord, list[Exchange]]:
    """Make a survey and its tickets in an empty database; return the holders' next actions."""
    key = ticket_key()
    crowd.draws.turn("the server")
    services = crowd.open(url)
    reach = Reach(invitations=TicketTerms(key.public.hex()))
    survey = services.surveys.open_survey(define(reach=reach))
    services.transactions.write(lambda c: services.tickets._keys.keep(c, survey.token, key))
    services.identity("0" * 32)
    made = exchanges(key, survey)
    services.tickets.keep(survey, [one.code for one in made])
    services.close()
    return survey, made


@pytest.fixture
def ticketed(crowd: Crowd, tmp_path: Path) -> tuple[Path, SurveyRecord, list[Exchange]]:
    """A file with a survey and its tickets, and the holders' next actions."""
    file = tmp_path / "base.sqlite3"
    return file, *prepared(crowd, f"sqlite:///{file}")


def pairs(survey: SurveyRecord, made: list[Exchange], holders: list[int]) -> dict[str, str]:
    """Return the spent signature that belongs to each ticket; no thief knows it."""
    terms = survey.survey.reach.invitations
    assert terms is not None
    return {
        code_digest(survey.token, made[holder].code): terms.read(survey.token, made[person].ticket)
        for person, holder in enumerate(holders)
    }


def come(
    crowd: Crowd,
    services: Services,
    survey: SurveyRecord,
    made: list[Exchange],
    holders: list[int],
) -> None:
    """Let everybody exchange a code and then begin; `holders`: the owner of each code."""
    for person, holder in enumerate(holders):
        crowd.draws.turn(f"person {person}")
        asked = made[holder]
        assert services.tickets.exchange(survey.token, asked.code, asked.blinded) == asked.signed
        services.participations.reserve(
            services.identity(crowd.secret(person)),
            survey.token,
            survey.survey.levels[0].name,
            idempotency_key=f"{person:032x}",
            ticket=made[person].ticket,
        )


def test_a_stolen_file_is_the_same_whoever_had_which_ticket(
    crowd: Crowd, tmp_path: Path, ticketed: tuple[Path, SurveyRecord, list[Exchange]]
) -> None:
    """Five pairings of 50 codes with 50 people give one file, byte for byte: none can be told."""
    base, survey, made = ticketed
    rng = np.random.default_rng(20261126)
    contents = set()
    for number in range(DATABASES):
        file = Path(shutil.copy(base, tmp_path / f"{number}.sqlite3"))
        services = crowd.open(f"sqlite:///{file}")
        come(crowd, services, survey, made, rng.permutation(PEOPLE).tolist())
        assert services.transactions.rewrite(patience=PATIENCE_SECONDS)
        services.close()
        contents.add(file.read_bytes())
    assert len(contents) == 1


def test_an_attack_on_the_layout_of_stolen_files_is_at_chance(
    crowd: Crowd, tmp_path: Path, ticketed: tuple[Path, SurveyRecord, list[Exchange]]
) -> None:
    """Tickets and spent signatures, matched by where they lie: in 5 files as many as by chance.

    n = 250 pairs; by chance 5 are right. False alarms: below 1e-6.
    """
    base, survey, made = ticketed
    rng = np.random.default_rng(20261127)
    right = 0
    for number in range(DATABASES):
        file = Path(shutil.copy(base, tmp_path / f"{number}.sqlite3"))
        services = crowd.open(f"sqlite:///{file}")
        holders = rng.permutation(PEOPLE).tolist()
        come(crowd, services, survey, made, holders)
        assert services.transactions.rewrite(patience=PATIENCE_SECONDS)
        spent = services.transactions.read(lambda c: c.scalars(select(SPENT_TICKET.c.digest)).all())
        there = services.transactions.read(lambda c: c.scalars(select(TICKET.c.digest)).all())
        services.close()
        assert len(spent) == len(there) == PEOPLE
        truth = pairs(survey, made, holders)
        guess = joined(
            arrival(file, {one: one for one in there}), arrival(file, {one: one for one in spent})
        )
        right += sum(truth[one] == other for one, other in guess.items())
    assert chance(right, [PEOPLE] * DATABASES) > 1e-6


def in_order(engine: Engine, table: str, by: str) -> list[str]:
    """Return the tickets of a table as a thief with all of PostgreSQL's columns orders them."""
    with engine.connect() as connection:
        return list(connection.scalars(text(f"SELECT digest FROM {table} ORDER BY {by}")))


@pytest.mark.postgres
def test_an_attack_on_stolen_postgresql_databases_is_at_chance(
    crowd: Crowd,
    postgres_server: Any,
    migrated_template: str,
    request: pytest.FixtureRequest,
) -> None:
    """Rows of tickets and of spent ones, matched by transaction and by place, in five databases.

    n = 250 pairs; by chance 5 are right. False alarms: below 1e-6. Before a rewriting both ways
    join nearly all, so that the attack is one that works.
    """

    def database(name: str, like: str) -> str:
        postgres_server.execute(f"CREATE DATABASE {name} TEMPLATE {like}")
        request.addfinalizer(lambda: postgres_server.execute(f"DROP DATABASE {name} WITH (FORCE)"))
        return str(postgres_server.url(name))

    survey, made = prepared(crowd, database("tickets_base", migrated_template))
    rng = np.random.default_rng(20261130)
    # by the number of the transaction that wrote a row last, and by the row's place
    ways = ("xmin::text::bigint", "ctid")
    before, after = dict.fromkeys(ways, 0), dict.fromkeys(ways, 0)
    for number in range(DATABASES):
        services = crowd.open(database(f"tickets_{number}", "tickets_base"))
        holders = rng.permutation(PEOPLE).tolist()
        come(crowd, services, survey, made, holders)
        truth = pairs(survey, made, holders)
        for found in (before, after):
            for way in ways:
                there = in_order(services.engine, "ticket", way)
                spent = in_order(services.engine, "spent_ticket", way)
                assert len(there) == len(spent) == PEOPLE
                found[way] += sum(truth[a] == b for a, b in zip(there, spent, strict=True))
            assert services.transactions.rewrite(patience=PATIENCE_SECONDS)
        services.close()
    assert max(before.values()) > 0.9 * PEOPLE * DATABASES
    for way in ways:
        assert chance(after[way], [PEOPLE] * DATABASES) > 1e-6


def test_exact_every_signature_fits_every_code() -> None:
    """As the server: each of 50 x 50 pairs of signed and spent values is possible.

    For each there is exactly one number by which the holder would have blinded, and the device's
    own arithmetic comes out with it. So what was sent says nothing of who is who, whatever the
    server computes.
    """
    key = ticket_key()
    modulus = key.public.modulus
    terms = TicketTerms(key.public.hex())
    seen = []
    for _ in range(PEOPLE):
        message = terms.message("abc", secrets.token_bytes(PREFIX_BYTES))
        blinded, inverse = key.public.blind(message)
        signed = key.sign_blinded(blinded)
        seen.append((blinded, signed, message, key.public.finalize(message, signed, inverse)))
    for blinded, signed, _, _ in seen:
        back = pow(int.from_bytes(signed, "big"), -1, modulus)
        for _, _, message, signature in seen:
            inverse = int.from_bytes(signature, "big") * back % modulus
            # What was signed is what this message would have been blinded to.
            encoded = pow(int.from_bytes(signature, "big"), EXPONENT, modulus)
            assert encoded * pow(pow(inverse, -1, modulus), EXPONENT, modulus) % modulus == (
                int.from_bytes(blinded, "big")
            )
            assert key.public.finalize(message, signed, inverse) == signature


def matched(first: np.ndarray, second: np.ndarray) -> int:
    """Return how many people an optimal matching by time joins rightly."""
    rows, columns = linear_sum_assignment(np.abs(first[:, None] - second[None, :]))
    return int((rows == columns).sum())


def test_a_server_that_looks_at_the_clock_is_at_chance_in_two_phases() -> None:
    """Times join nearly all in one phase, and as many as chance in two; n = 5 x 50 people.

    False alarms: below 1e-6.
    """
    rng = np.random.default_rng(20261128)
    week = 7 * 24 * 3600.0
    one, two = 0, 0
    for _ in range(DATABASES):
        enrolled = rng.uniform(0, week, PEOPLE)
        one += matched(enrolled, enrolled + rng.exponential(60, PEOPLE))
        two += matched(enrolled, rng.uniform(week, 2 * week, PEOPLE))
    assert one > 0.9 * PEOPLE * DATABASES
    assert chance(two, [PEOPLE] * DATABASES) > 1e-6


@pytest.mark.parametrize(
    "count", [2_000, pytest.param(100_000, marks=[pytest.mark.slow, pytest.mark.exhaustive])]
)
def test_no_forged_ticket_is_taken(count: int) -> None:
    """Of forged tickets of ten kinds, made with 20 true ones at hand, none is taken."""
    key = ticket_key()
    terms, taken = TicketTerms(key.public.hex()), 0
    forger = Forger(key, [signed_message(key, terms, "abc") for _ in range(20)], seed=20261129)
    for number in range(count):
        try:
            terms.read("abc", forger.forged(number))
            taken += 1
        except ParameterError:
            pass
    assert taken == 0


def test_nobody_begins_twice_or_with_what_is_no_ticket(tmp_path: Path) -> None:
    """Of 1,500 attempts with used, replayed, foreign and forged tickets none takes a place.

    Each goes through the step that begins a survey; `benchmarks/tickets.py` makes 100,000.
    """
    services = Services.open(f"sqlite:///{tmp_path / 'tickets.sqlite3'}", rewrites=False)
    thief = Thief.of(services, holders=20, seed=20261201)
    assert thief.begun() == 20
    outcomes = Counter(thief.attempt(number) for number in range(1_500))
    assert thief.begun() == 20
    assert set(outcomes) == {"TicketUsed", "TicketRefused", "the same"}
    assert min(outcomes.values()) > 100
    services.close()
