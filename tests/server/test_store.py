"""A response and its charge are kept together, once, under names that do not lead to a person."""

from __future__ import annotations

import random
import secrets
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import delete, event, text, update
from sqlalchemy.exc import DBAPIError

from masquerade.accounting import verify_chain
from masquerade.answers import Choice
from masquerade.errors import (
    AlreadyParticipated,
    BrokenChain,
    InvalidReport,
    MasqueradeError,
    NotFound,
    WrongState,
)
from masquerade.mechanisms import NO_LOSS, Loss
from masquerade.server import Store
from masquerade.server.models import EntryRow, ResponseRow

if TYPE_CHECKING:
    from tests.server.conftest import Kit

THREADS = 16


def test_a_survey_opens_and_closes(store: Store, kit: Kit) -> None:
    """An opened survey comes back as it was defined, and closing it ends it on this day."""
    definition = kit.define()
    opened = store.open_survey(definition)
    assert store.survey(opened.token) == opened
    assert (opened.state, opened.opened, opened.closed) == ("open", "2026-03-14", None)
    assert (opened.definition, opened.hash) == (definition, definition.content_hash())
    closed = store.close_survey(opened.token)
    assert (closed.state, closed.closed, closed.responses) == ("closed", "2026-03-14", 0)
    assert store.survey(opened.token) == closed == store.close_survey(opened.token)


def test_closing_again_keeps_the_first_day(database_url: str, kit: Kit) -> None:
    """Closing a closed survey on a later day changes nothing."""
    days = iter(["2026-01-01", "2026-01-02", "2026-01-03"])
    store = Store(database_url, today=lambda: next(days))
    survey = store.open_survey(kit.define())
    assert store.close_survey(survey.token).closed == "2026-01-02"
    assert store.close_survey(survey.token).closed == "2026-01-02"
    store.close()


def test_tokens_are_unguessable(store: Store, kit: Kit) -> None:
    """Two surveys of the same definition have different tokens of at least 64 bits."""
    tokens = {store.open_survey(kit.define()).token for _ in range(5)}
    assert len(tokens) == 5
    assert all(len(token) == 16 and int(token, 16) >= 0 for token in tokens)


def test_surveys_come_open_ones_first(store: Store, kit: Kit) -> None:
    """The list of surveys shows open ones first, each group by title, with counts."""
    old = store.open_survey(kit.define(title="A"))
    second = store.open_survey(kit.define(title="C"))
    first = store.open_survey(kit.define(title="B"))
    kit.device().send(store, old)
    store.close_survey(old.token)
    found = [(s.token, s.responses) for s in store.surveys()]
    assert found == [(first.token, 0), (second.token, 0), (old.token, 1)]


def test_a_response_is_kept_and_charged(store: Store, kit: Kit) -> None:
    """A response is kept as sent and costs exactly what its survey's guarantee says."""
    survey = store.open_survey(kit.define())
    device = kit.device()
    bill, new = device.send(store, survey, [1, 4])
    guarantee = survey.definition.guarantee()
    assert new
    assert [response.reports for response in store.responses(survey.token)] == [(1, 4)]
    assert (bill.survey, bill.total, bill.surveys) == (guarantee.epsilon_user,) * 2 + (1,)
    [entry] = store.ledger(device.participant)
    assert entry.charge.survey == survey.token
    assert entry.charge.event == guarantee.epsilon_event
    assert entry.charge.user == guarantee.epsilon_user
    assert entry.charge.mechanisms == tuple(str(m) for m in survey.definition.mechanisms)
    assert entry.charge.day == bill.day == "2026-03-14"
    assert bill.to_json() == {
        "survey_epsilon": guarantee.epsilon_user.to_json(),
        "total_epsilon": guarantee.epsilon_user.to_json(),
        "surveys": 1,
        "day": "2026-03-14",
    }


@pytest.mark.parametrize("moment", ["before the entry", "after both", "at the commit"])
def test_response_and_charge_are_kept_both_or_neither(
    store: Store, kit: Kit, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Whenever something fails on the way, neither response nor charge stays, and a retry works."""
    survey = store.open_survey(kit.define())
    device = kit.device()
    before = kit.everything(store)

    def fail(*_: Any) -> Any:
        raise RuntimeError(moment)

    with monkeypatch.context() as patch:
        if moment == "before the entry":
            patch.setattr("masquerade.server.store._entry_row", fail)
        elif moment == "after both":
            patch.setattr(Store, "_bill", fail)
        else:
            event.listen(store.engine, "commit", fail)
        with pytest.raises(RuntimeError, match=moment):
            device.send(store, survey, [1, 4])
        if moment == "at the commit":
            event.remove(store.engine, "commit", fail)
    assert kit.everything(store) == before
    assert device.send(store, survey, [1, 4])[1]


def test_the_same_response_twice_counts_once(store: Store, kit: Kit) -> None:
    """A response that is sent again is not kept or charged again and gets the same bill."""
    survey = store.open_survey(kit.define())
    device, name = kit.device(), secrets.token_hex(16)
    first, new = device.send(store, survey, [1, 4], response_id=name)
    after = kit.everything(store)
    assert new
    assert device.send(store, survey, [1, 4], response_id=name) == (first, False)
    store.close_survey(survey.token)
    assert device.send(store, survey, [1, 4], response_id=name) == (first, False)
    assert kit.everything(store)["response"] == after["response"]
    assert kit.everything(store)["ledger_entry"] == after["ledger_entry"]


def _refusals(kit: Kit, store: Store) -> dict[str, tuple[type[MasqueradeError], Callable[[], Any]]]:
    """Return what must be refused, once a device has answered, with the exception for it."""
    survey, other = store.open_survey(kit.define()), store.open_survey(kit.define(title="Other"))
    closed = store.close_survey(store.open_survey(kit.define(title="Closed")).token)
    device, stranger, name = kit.device(), kit.device(), secrets.token_hex(16)
    device.send(store, survey, [1, 4], response_id=name)
    refusals: dict[str, tuple[type[MasqueradeError], Callable[[], Any]]] = {
        "other content": (
            AlreadyParticipated,
            lambda: device.send(store, survey, [1, 3], response_id=name),
        ),
        "another's id": (
            AlreadyParticipated,
            lambda: stranger.send(store, survey, [1, 4], response_id=name),
        ),
        "the id in another survey": (
            AlreadyParticipated,
            lambda: device.send(store, other, [1, 4], response_id=name),
        ),
        "a second response": (AlreadyParticipated, lambda: device.send(store, survey, [1, 4])),
        "closed": (WrongState, lambda: stranger.send(store, closed)),
        "wrong hash": (
            InvalidReport,
            lambda: stranger.send(store, survey, survey_hash=other.hash),
        ),
        "too few": (InvalidReport, lambda: stranger.send(store, survey, [1])),
        "too many": (InvalidReport, lambda: stranger.send(store, survey, [1, 1, 1])),
        "none": (InvalidReport, lambda: stranger.send(store, survey, [])),
        "too large": (InvalidReport, lambda: stranger.send(store, survey, [2, 0])),
        "rating too large": (InvalidReport, lambda: stranger.send(store, survey, [0, 5])),
        "negative": (InvalidReport, lambda: stranger.send(store, survey, [0, -1])),
        "unknown to read": (NotFound, lambda: store.survey("0" * 16)),
        "unreadable to read": (NotFound, lambda: store.survey("\x00")),
        "unknown to close": (NotFound, lambda: store.close_survey("0" * 16)),
    }
    for token in ("0" * 16, "", "%", "\x00", "a\x00b", "ü", "a" * 5000, "'; DROP TABLE survey; --"):
        unknown = replace(survey, token=token)
        refusals[f"unknown survey {token!r}"] = (NotFound, partial(stranger.send, store, unknown))
    return refusals


def test_what_is_refused_changes_nothing(store: Store, kit: Kit) -> None:
    """Every refused request raises its own exception and leaves all tables as they were."""
    refusals = _refusals(kit, store)
    before = kit.everything(store)
    for what, (kind, request) in refusals.items():
        with pytest.raises(MasqueradeError) as caught:
            request()
        assert type(caught.value) is kind, what
        assert kit.everything(store) == before, what


def test_one_ledger_over_all_surveys(store: Store, kit: Kit) -> None:
    """A participant of several surveys has one unbroken chain, and amounts add exactly."""
    surveys = [
        store.open_survey(kit.define(level=level, masking=masking))
        for level in ("low", "medium", "high")
        for masking in ("per-answer", "per-person")
    ]
    device, spent = kit.device(), NO_LOSS
    for number, survey in enumerate(surveys, start=1):
        bill, _ = device.send(store, survey)
        spent += survey.definition.guarantee().epsilon_user
        assert (bill.total, bill.surveys) == (spent, number)
    entries = store.ledger(device.participant)
    assert verify_chain(entries) == len(surveys)
    assert [entry.sequence for entry in entries] == list(range(len(surveys)))
    assert store.persons() == [entries[0].charge.person]
    assert store.entries_of(store.persons()[0]) == entries
    assert store.ledger(kit.device().participant) == []


def test_tampering_in_the_database_is_found(store: Store, kit: Kit) -> None:
    """A change to any column of a ledger entry, or its removal, breaks the chain."""
    surveys = [store.open_survey(kit.define()) for _ in range(4)]
    changes: dict[str, Any] = {
        "person": "f" * 64,
        "sequence": 7,
        "survey": surveys[3].token,
        "mechanisms": ["randomized-response:options=2,flip_probability=0.5"],
        "event_micro": 1,
        "user_micro": 1,
        "day": "2026-03-15",
        "previous_hash": "0" * 64,
        "hash": "1" * 64,
    }
    assert set(changes) == set(EntryRow.__table__.columns.keys())
    for column, value in [*changes.items(), ("removed", None)]:
        device = kit.device()
        for survey in surveys[:3]:
            device.send(store, survey)
        assert verify_chain(store.ledger(device.participant)) == 3
        person = store.ledger(device.participant)[0].charge.person
        second = (EntryRow.person == person) & (EntryRow.sequence == 1)
        change = update(EntryRow).values({column: value}) if value else delete(EntryRow)
        with store.engine.connect() as connection:
            connection.execute(change.where(second))
            connection.commit()
        with pytest.raises(BrokenChain):
            verify_chain(store.ledger(device.participant))


def test_many_surveys_of_one_participant_at_once(
    store: Store, kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Responses of one participant to many surveys at once are all kept, in one unbroken chain."""
    charge = Store._charge

    def slow_charge(*arguments: Any) -> Any:
        entry = charge(*arguments)
        time.sleep(0.02)  # so that all would read the same end of the chain, were they let
        return entry

    monkeypatch.setattr(Store, "_charge", slow_charge)
    surveys = [store.open_survey(kit.define()) for _ in range(THREADS)]
    device = kit.device()
    outcomes = kit.all_at_once(
        *(lambda survey=survey: device.send(store, survey) for survey in surveys)
    )
    assert [outcome for outcome in outcomes if isinstance(outcome, Exception)] == []
    entries = store.ledger(device.participant)
    assert verify_chain(entries) == THREADS
    assert {entry.charge.survey for entry in entries} == {survey.token for survey in surveys}
    one = surveys[0].definition.guarantee().epsilon_user
    assert sorted(bill.total for bill, _ in outcomes) == [one * n for n in range(1, THREADS + 1)]


def test_the_same_response_many_times_at_once(store: Store, kit: Kit) -> None:
    """The same response sent many times at once is kept and charged once; all get one bill."""
    survey = store.open_survey(kit.define())
    device, name = kit.device(), secrets.token_hex(16)
    outcomes = kit.all_at_once(
        *[lambda: device.send(store, survey, [1, 4], response_id=name)] * THREADS
    )
    assert [outcome for outcome in outcomes if isinstance(outcome, Exception)] == []
    assert sorted(new for _, new in outcomes) == [False] * (THREADS - 1) + [True]
    assert len({bill.total for bill, _ in outcomes}) == 1
    assert len(store.responses(survey.token)) == len(store.ledger(device.participant)) == 1


def test_different_responses_of_one_participant_at_once(store: Store, kit: Kit) -> None:
    """Of many different responses of one participant at once one is kept, the others refused."""
    survey = store.open_survey(kit.define())
    device = kit.device()
    outcomes = kit.all_at_once(
        *(lambda n=n: device.send(store, survey, [n % 2, n % 5]) for n in range(THREADS))
    )
    kinds = [type(outcome) for outcome in outcomes if isinstance(outcome, Exception)]
    assert kinds == [AlreadyParticipated] * (THREADS - 1)
    assert len(store.responses(survey.token)) == len(store.ledger(device.participant)) == 1


def test_one_response_id_in_many_surveys_at_once(store: Store, kit: Kit) -> None:
    """Of one response id sent to many surveys at once, one is kept and charged."""
    surveys = [store.open_survey(kit.define()) for _ in range(THREADS)]
    device, name = kit.device(), secrets.token_hex(16)
    outcomes = kit.all_at_once(
        *(lambda s=s: device.send(store, s, response_id=name) for s in surveys)
    )
    kinds = [type(outcome) for outcome in outcomes if isinstance(outcome, Exception)]
    assert kinds == [AlreadyParticipated] * (THREADS - 1)
    assert verify_chain(store.ledger(device.participant)) == 1
    assert sum(len(store.responses(survey.token)) for survey in surveys) == 1


def test_many_participants_at_once(store: Store, kit: Kit) -> None:
    """Responses of many participants at once are all kept, each charged to its own ledger."""
    survey = store.open_survey(kit.define())
    crowds = [[kit.device() for _ in range(4)] for _ in range(THREADS)]

    def send_all(crowd: list[Any]) -> int:
        return sum(device.send(store, survey, [1, 4])[1] for device in crowd)

    outcomes = kit.all_at_once(*(lambda crowd=crowd: send_all(crowd) for crowd in crowds))
    assert outcomes == [4] * THREADS
    assert store.survey(survey.token).responses == len(store.persons()) == 4 * THREADS
    assert all(verify_chain(store.entries_of(person)) == 1 for person in store.persons())


def test_closing_while_responses_arrive(store: Store, kit: Kit) -> None:
    """What was accepted is counted at the close, and nothing is accepted or charged after it."""
    survey = store.open_survey(kit.define())
    pause = random.Random(5).uniform(0.01, 0.1)

    def send_some() -> list[bool]:
        accepted = []
        for _ in range(6):
            try:
                accepted.append(kit.device().send(store, survey)[1])
            except WrongState:
                accepted.append(False)
        return accepted

    def close() -> int:
        time.sleep(pause)
        return store.close_survey(survey.token).responses

    *sent, at_close = kit.all_at_once(*[send_some] * (THREADS - 1), close)
    assert [outcome for outcome in sent if isinstance(outcome, Exception)] == []
    accepted = sum(sum(outcome) for outcome in sent)
    assert at_close == accepted == len(store.responses(survey.token)) == len(store.persons())
    assert all(outcome == sorted(outcome, reverse=True) for outcome in sent)


def test_the_owner_token_works_once(store: Store) -> None:
    """An owner token is good for one use, is kept as a hash only, and ends with the next one."""
    first = store.new_owner_token()
    second = store.new_owner_token()
    assert len({first, second}) == 2
    assert min(len(first), len(second)) >= 32
    assert not store.spend_owner_token(first)
    assert not store.spend_owner_token("")
    assert not store.spend_owner_token(second[:-1])
    assert store.spend_owner_token(second)
    assert not store.spend_owner_token(second)
    assert not store.spend_owner_token("")


def test_the_owner_token_is_not_kept(store: Store, kit: Kit) -> None:
    """The database holds no owner token that could be used."""
    token = store.new_owner_token()
    assert token not in repr(kit.everything(store))


def test_the_owner_token_works_once_at_once(store: Store, kit: Kit) -> None:
    """Of many that spend one owner token at once, one succeeds."""
    token = store.new_owner_token()
    outcomes = kit.all_at_once(*[lambda: store.spend_owner_token(token)] * THREADS)
    assert sorted(outcomes) == [False] * (THREADS - 1) + [True]


def test_everything_survives_reopening(database_url: str, kit: Kit) -> None:
    """Surveys, responses, ledgers and secrets are the same after the store is opened again."""
    store = Store(database_url)
    survey = store.open_survey(kit.define(), simulated_truth={"ill": [0.25, 0.75]})
    device, token = kit.device(), store.new_owner_token()
    device.send(store, survey, [1, 4])
    key, ledger = store.setting("session_key"), store.ledger(device.participant)
    before = kit.everything(store)
    store.close()
    again = Store(database_url)
    assert kit.everything(again) == before
    assert again.setting("session_key") == key
    assert again.ledger(device.participant) == ledger
    assert again.survey(survey.token).simulated_truth == {"ill": [0.25, 0.75]}
    assert again.spend_owner_token(token)
    with pytest.raises(AlreadyParticipated):
        device.send(again, survey)
    again.close()


def test_processes_can_start_together(database_url: str) -> None:
    """Several processes that open an empty database at once all succeed, with one set of keys."""
    program = (
        "import sys\n"
        "from masquerade.server import Store\n"
        "store = Store(sys.argv[1])\n"
        "print(store.setting('session_key'))\n"
        "store.close()\n"
    )
    running = [
        subprocess.Popen(
            [sys.executable, "-c", program, database_url],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    outcomes = [process.communicate(timeout=60) for process in running]
    assert [process.returncode for process in running] == [0, 0], outcomes
    assert len({output for output, _ in outcomes}) == 1


def test_names_do_not_lead_to_a_person(store: Store, kit: Kit) -> None:
    """A participant has another pseudonym in every survey, none of them the ledger's name."""
    surveys = [store.open_survey(kit.define()) for _ in range(3)]
    devices = [kit.device(), kit.device()]
    for survey in surveys:
        for device in devices:
            device.send(store, survey)
    names = [r.pseudonym for survey in surveys for r in store.responses(survey.token)]
    names += [store.ledger(device.participant)[0].charge.person for device in devices]
    assert len(set(names)) == len(names) == 8
    assert all(len(name) == 64 for name in names)


def test_the_participant_secret_is_nowhere(store: Store, kit: Kit, tmp_path: Path) -> None:
    """No table and no file of the database contains a participant's secret."""
    survey = store.open_survey(kit.define())
    device = kit.device()
    device.send(store, survey)
    assert device.participant not in repr(kit.everything(store))
    secret, raw = device.participant.encode(), bytes.fromhex(device.participant)
    for file in tmp_path.rglob("*"):
        held = file.read_bytes() if file.is_file() else b""
        assert secret not in held
        assert raw not in held


def test_two_servers_give_one_person_two_names(tmp_path: Path, kit: Kit) -> None:
    """The ledger's name of a participant depends on the server's own key."""
    device, people = kit.device(), set()
    for number in range(2):
        store = Store(f"sqlite:///{tmp_path / f'{number}.sqlite3'}")
        device.send(store, store.open_survey(kit.define()))
        people.add(store.persons()[0])
        store.close()
    assert len(people) == 2


def test_the_order_of_arrival_is_not_kept(store: Store, kit: Kit) -> None:
    """Responses come in the order of their random ids, and no row number tells another order."""
    survey = store.open_survey(kit.define(Choice("q", "?", tuple("abcdefghij"))))
    names = [secrets.token_hex(16) for _ in range(10)]
    for report, name in enumerate(names):
        kit.device().send(store, survey, [report], response_id=name)
    arrived = [response.reports[0] for response in store.responses(survey.token)]
    assert [names[report] for report in arrived] == sorted(names)
    if store.engine.dialect.name == "sqlite":
        for table in ("response", "ledger_entry"):
            with store.engine.connect() as connection, pytest.raises(DBAPIError, match="no such"):
                connection.execute(text(f"SELECT rowid FROM {table}"))


def test_no_column_for_what_must_not_be_kept() -> None:
    """Responses have no column but a random id, the survey, a pseudonym and the reports."""
    assert set(ResponseRow.__table__.columns.keys()) == {"id", "survey", "pseudonym", "reports"}


def test_errors_of_the_database_do_not_tell_what_was_sent(store: Store) -> None:
    """The text of a database's error does not contain the values of the statement."""
    with store.engine.connect() as connection, pytest.raises(DBAPIError) as caught:
        connection.execute(
            text("INSERT INTO nothing VALUES (:person, :reports)"),
            {"person": "cafe1234", "reports": "[3, 1, 4]"},
        )
    assert "cafe1234" not in str(caught.value)
    assert "[3, 1, 4]" not in str(caught.value)


def test_titles_of_any_script(store: Store, kit: Kit) -> None:
    """Texts come back as they were written, whatever the script."""
    definition = kit.define(
        Choice("q", "¿Qué? 何? 🎭", ("да", "non\u2028", "\\\"'")),
        title="🎭 مرحبا",
        description="a\nb\t",
    )
    survey = store.open_survey(definition)
    assert store.survey(survey.token).definition == definition
    assert definition.content_hash() == survey.hash


def test_losses_are_kept_exactly(store: Store, kit: Kit) -> None:
    """Amounts come back from the database as the same whole numbers of micro-epsilon."""
    survey = store.open_survey(kit.define(level="low"))
    device = kit.device()
    device.send(store, survey)
    charge = store.ledger(device.participant)[0].charge
    assert charge.user == survey.definition.guarantee().epsilon_user
    assert isinstance(charge.user, Loss)
    assert type(charge.user.micro) is int
