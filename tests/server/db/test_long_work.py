"""Long computations: one for all processes, with a progress that everybody sees."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import select
from tests.patience import PATIENCE_SECONDS

from masquerade.errors import ParameterError, ServerBusy, UnderWay
from masquerade.server import Services
from masquerade.server.db.engine import connect
from masquerade.server.db.long_work import LongWork, Report
from masquerade.server.db.tables import SETTING
from masquerade.server.db.transactions import Transactions


@pytest.fixture
def elsewhere(services: Services) -> Iterator[LongWork]:
    """The same work in another process."""
    engine = connect(services.engine.url.render_as_string(hide_password=False))
    transactions = Transactions(engine, rewrites=False)
    work = LongWork(engine, transactions)
    yield work
    work.close()
    transactions.close()


def never(_report: Report) -> str:
    """Fail: it is computed once."""
    raise AssertionError("computed twice")


def until(work: LongWork, compute: Any = never, *, key: str = "x", team: str = "a") -> str:
    """Ask again and again, and return the text that is there in the end."""
    for _ in range(20 * PATIENCE_SECONDS):
        try:
            return work.require(key, compute, team=team)
        except UnderWay:
            time.sleep(0.05)
    raise AssertionError("it is never there")


@pytest.mark.both_databases
def test_all_processes_see_one_computation_and_its_progress(
    services: Services, elsewhere: LongWork, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Callers are told the progress, here and elsewhere, and then get the text; no row stays."""
    monkeypatch.setattr("masquerade.server.db.long_work._EVERY_SECONDS", 0)
    told, go_on = threading.Event(), threading.Event()

    def compute(report: Report) -> str:
        report("counting", 400_000, 1_000_000)
        told.set()
        assert go_on.wait(PATIENCE_SECONDS)
        return "the text"

    with pytest.raises(UnderWay) as first:
        services.long_work.require("x", compute, team="a")
    assert first.value.seconds > 0
    assert told.wait(PATIENCE_SECONDS)
    with pytest.raises(UnderWay, match="counting: 400,000 of 1,000,000") as here:
        services.long_work.require("x", never, team="a")
    assert (here.value.done, here.value.of) == (400_000, 1_000_000)
    with pytest.raises(UnderWay, match="counting: 400,000 of 1,000,000"):
        elsewhere.require("x", never, team="a")
    go_on.set()
    assert until(services.long_work) == until(elsewhere) == "the text"
    services.long_work.close()
    elsewhere.close()
    query = select(SETTING.c.key).where(SETTING.c.key.startswith("progress:"))
    assert services.transactions.read(lambda c: c.scalars(query).all()) == []


def test_what_cannot_be_computed_is_said_once(sqlite_services: Services) -> None:
    """The next caller gets the error; the one after that begins anew."""

    def fail(_report: Report) -> str:
        raise ParameterError("no groups")

    with pytest.raises(ParameterError, match="no groups"):
        until(sqlite_services.long_work, fail)
    assert until(sqlite_services.long_work, lambda _report: "text") == "text"


@pytest.mark.both_databases
def test_teams_take_turns(services: Services) -> None:
    """A team that has begun many computations holds up each other team for one of them."""
    work, began, go_on = services.long_work, threading.Event(), threading.Event()
    order: list[str] = []

    def note(key: str) -> Callable[[Report], str]:
        def compute(_report: Report) -> str:
            order.append(key)
            began.set()
            assert go_on.wait(PATIENCE_SECONDS)
            return key

        return compute

    def begin(key: str) -> None:
        with pytest.raises(UnderWay):
            work.require(key, note(key), team=key[0])

    for key in ("a1", "a2", "a3", "a4"):
        begin(key)
    assert began.wait(PATIENCE_SECONDS)
    for key in ("b1", "b2", "c1"):
        begin(key)
    go_on.set()
    for key in ("a4", "b2", "c1"):
        assert until(work, key=key, team=key[0]) == key
    assert order == ["a1", "b1", "c1", "a2", "b2", "a3", "a4"]


def test_so_many_wait_and_no_more(
    sqlite_services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A team with many that wait is refused, another team is not; nothing that waits is lost."""
    monkeypatch.setattr("masquerade.server.db.long_work.MOST_OF_A_TEAM", 2)
    monkeypatch.setattr("masquerade.server.db.long_work.MOST_WAITING", 3)
    work, began, go_on = sqlite_services.long_work, threading.Event(), threading.Event()

    def compute(_report: Report) -> str:
        began.set()
        assert go_on.wait(PATIENCE_SECONDS)
        return "text"

    def begin(key: str) -> None:
        with pytest.raises(UnderWay):
            work.require(key, compute, team=key[0])

    begin("a0")
    assert began.wait(PATIENCE_SECONDS)
    begin("a1")
    begin("a2")
    with pytest.raises(ServerBusy, match="of your team wait") as refused:
        work.require("a3", never, team="a")
    assert refused.value.seconds > 0
    begin("a2")  # who asks for what waits is not refused
    begin("b1")
    with pytest.raises(ServerBusy, match="results wait"):
        work.require("c1", never, team="c")
    go_on.set()
    for key in ("a0", "a1", "a2", "b1"):
        assert until(work, key=key, team=key[0]) == "text"
    assert until(work, lambda _report: "later", key="c1", team="c") == "later"


@pytest.mark.both_databases
def test_progress_never_goes_back(services: Services, elsewhere: LongWork) -> None:
    """A reading that begins again, or reads more than was counted, tells neither less nor more."""
    told = [("counting", 5, 10), ("counting", 2, 10), ("counting", 12, 10), ("estimating", 0, 0)]
    steps, seen = threading.Semaphore(0), threading.Semaphore(0)

    def compute(report: Report) -> str:
        for step in told:
            report(*step)
            seen.release()
            assert steps.acquire(timeout=PATIENCE_SECONDS)
        return "text"

    shown = []
    with pytest.raises(UnderWay):
        services.long_work.require("x", compute, team="a")
    for _ in told:
        assert seen.acquire(timeout=PATIENCE_SECONDS)
        with pytest.raises(UnderWay) as here:
            services.long_work.require("x", never, team="a")
        shown.append((here.value.done, here.value.of))
        steps.release()
    assert shown == [(5, 10), (5, 10), (10, 10), (0, 0)]
    assert until(services.long_work) == until(elsewhere) == "text"


def test_errors_that_nobody_asks_for_are_forgotten(
    sqlite_services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The oldest go first."""
    monkeypatch.setattr("masquerade.server.db.long_work._MOST_FAILED", 2)
    work = sqlite_services.long_work

    def fail(_report: Report) -> str:
        raise ParameterError("no groups")

    for number in range(4):
        with pytest.raises(UnderWay):
            work.require(f"x{number}", fail, team="a")
    assert until(work, lambda _report: "text", key="last", team="a") == "text"
    assert list(work._tasks) == ["x2", "x3"]


def test_the_end_of_a_server_ends_its_computations(sqlite_services: Services) -> None:
    """At its next step; what waits behind it does not begin."""
    began, behind = threading.Event(), threading.Event()

    def compute(report: Report) -> str:
        began.set()
        for _ in range(20 * PATIENCE_SECONDS):
            report("counting", 1, 2)
            time.sleep(0.05)
        raise AssertionError("it goes on")

    def next_one(_report: Report) -> str:
        behind.set()
        return "text"

    work = sqlite_services.long_work
    for key, each in (("x", compute), ("y", next_one)):
        with pytest.raises(UnderWay):
            work.require(key, each, team="a")
    assert began.wait(PATIENCE_SECONDS)
    work.close()
    assert not behind.is_set()
    query = select(SETTING.c.key).where(SETTING.c.key.startswith("computing:"))
    assert sqlite_services.transactions.read(lambda c: c.scalars(query).all()) == []
