"""The book: what comes somewhere has left somewhere else, once, and nothing is overspent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError
from tests.server.devices import Device, all_at_once

from masquerade.errors import IdempotencyConflict, InsufficientFunds, ParameterError
from masquerade.server.db.tables import FIRST_TEAM
from masquerade.server.operations.check_result import OK, PROBLEM
from masquerade.server.operations.content_checks import money_findings

if TYPE_CHECKING:
    from tests.server.payments.conftest import Till

pytestmark = pytest.mark.both_databases


def test_money_comes_from_outside_and_goes_back(till: Till) -> None:
    """A deposit makes funds and a debt outside; a withdrawal undoes it."""
    funds = till.services.funds
    till.pay_in(100)
    assert (till.at("funds"), till.at("external")) == (100, -100)
    taken: Any = {"amount": 30, "currency": "credits", "note": "back", "key": "w"}
    assert funds.take_out(FIRST_TEAM, **taken)
    assert (till.at("funds"), till.at("external")) == (70, -70)
    assert till.holds()


def test_the_same_request_moves_money_once(till: Till) -> None:
    """A key that comes again moves nothing; the same key for another amount is refused."""
    till.pay_in(100)
    till.pay_in(100)
    assert till.at("funds") == 100
    with pytest.raises(IdempotencyConflict):
        till.pay_in(101)
    assert till.at("funds") == 100


def test_keys_of_teams_are_apart(sqlite_till: Till) -> None:
    """Two teams can use one key."""
    services = sqlite_till.services
    team = services.teams
    team.found("Second", login="second", name="S", password="four words in a row")
    second = team.named("Second")
    assert second is not None
    sqlite_till.pay_in(10)
    assert services.funds.pay_in(second.id, amount=7, currency="credits", note="", key="k")
    assert sqlite_till.at("funds") == 10
    assert services.funds.overview(second.id).balances[0].free == 7


def test_no_more_leaves_than_is_there(till: Till) -> None:
    """Taking out one unit too many is refused and says what is there; exactly enough is enough."""
    till.pay_in(100)
    funds = till.services.funds
    with pytest.raises(InsufficientFunds, match="takes 101 credits and there are 100") as caught:
        funds.take_out(FIRST_TEAM, amount=101, currency="credits", note="", key="a")
    assert (caught.value.needed, caught.value.there) == (101, 100)
    assert funds.take_out(FIRST_TEAM, amount=100, currency="credits", note="", key="a")
    assert till.holds()


def test_the_database_itself_refuses_a_negative_balance(till: Till) -> None:
    """Also a statement that goes around the book cannot overspend an account."""
    till.pay_in(100)
    overspend = text("UPDATE book_account SET balance = -1 WHERE kind = 'funds'")
    with (
        pytest.raises(IntegrityError),
        till.services.engine.execution_options(write=True).begin() as connection,
    ):
        connection.execute(overspend)


@pytest.mark.parametrize(
    "wrong",
    [
        {"amount": 0},
        {"amount": -5},
        {"amount": 10**12 + 1},
        {"currency": " "},
        {"currency": "x" * 17},
        {"note": "n" * 201},
        {"note": "two\nlines"},
    ],
)
def test_what_is_no_amount_is_refused(sqlite_till: Till, wrong: dict[str, object]) -> None:
    """Amounts are whole and positive, currencies named, notes short."""
    values: dict[str, object] = {"amount": 5, "currency": "credits", "note": "", "key": "k"}
    with pytest.raises(ParameterError):
        sqlite_till.services.funds.pay_in(FIRST_TEAM, **{**values, **wrong})  # type: ignore[arg-type]


def test_many_take_out_at_once(till: Till) -> None:
    """Of ten withdrawals at once that have money for three, exactly three succeed."""
    till.pay_in(35)
    funds = till.services.funds

    def take(place: int) -> bool:
        return funds.take_out(
            FIRST_TEAM, amount=10, currency="credits", note="", key=f"take {place}"
        )

    outcomes = all_at_once(*(lambda place=place: take(place) for place in range(10)))
    refused = [one for one in outcomes if isinstance(one, InsufficientFunds)]
    assert outcomes.count(True) == 3
    assert len(refused) == 7
    assert till.at("funds") == 5
    assert till.holds()


def test_one_request_many_times_at_once(till: Till) -> None:
    """Eight times the same deposit at once is one deposit."""
    outcomes = all_at_once(*(lambda: till.pay_in(10) for _ in range(8)))
    assert [one for one in outcomes if one is not None] == []
    assert till.at("funds") == 10


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE book_account SET balance = balance + 1 WHERE kind = 'funds'", "adds up to 1"),
        ("UPDATE book_transfer SET amount = amount + 1 WHERE what = 'deposit'", "transfers come"),
        ("DELETE FROM book_transfer WHERE what = 'escrow'", "transfers come"),
        ("UPDATE book_account SET balance = 5 WHERE kind = 'wages'", "should be empty"),
    ],
)
def test_doctor_finds_a_book_that_does_not_hold(
    sqlite_till: Till, statement: str, said: str
) -> None:
    """A changed balance, a changed or missing transfer: each is a problem that says where."""
    sqlite_till.pay_in(100)
    Device().send(sqlite_till.services, sqlite_till.paying(50))
    with sqlite_till.services.engine.connect() as connection:
        assert [one.status for one in money_findings(connection)] == [OK]
    with sqlite_till.services.engine.execution_options(write=True).begin() as connection:
        connection.execute(text(statement))
    with sqlite_till.services.engine.connect() as connection:
        found = list(money_findings(connection))
    assert {one.status for one in found} == {PROBLEM}
    assert any(said in one.detail for one in found)
