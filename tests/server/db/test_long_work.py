"""Long computations: one for all processes, with a progress that everybody sees."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import select
from tests.patience import PATIENCE_SECONDS

from masquerade.errors import ParameterError, UnderWay
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


def until(work: LongWork, compute: Any = never) -> str:
    """Ask again and again, and return what is there in the end."""
    for _ in range(20 * PATIENCE_SECONDS):
        try:
            return work.require("x", compute)
        except UnderWay:
            time.sleep(0.05)
    raise AssertionError("it is never there")


@pytest.mark.both_databases
def test_all_processes_see_one_computation_and_its_progress(
    services: Services, elsewhere: LongWork, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who asks is told how far it is, here and elsewhere, and then gets the text; no row stays."""
    monkeypatch.setattr("masquerade.server.db.long_work._EVERY_SECONDS", 0)
    told, go_on = threading.Event(), threading.Event()

    def compute(report: Report) -> str:
        report("counting", 400_000, 1_000_000)
        told.set()
        assert go_on.wait(PATIENCE_SECONDS)
        return "the text"

    with pytest.raises(UnderWay) as first:
        services.long_work.require("x", compute)
    assert first.value.seconds > 0
    assert told.wait(PATIENCE_SECONDS)
    with pytest.raises(UnderWay, match="counting: 400,000 of 1,000,000") as here:
        services.long_work.require("x", never)
    assert (here.value.done, here.value.of) == (400_000, 1_000_000)
    with pytest.raises(UnderWay, match="counting: 400,000 of 1,000,000"):
        elsewhere.require("x", never)
    go_on.set()
    assert until(services.long_work) == until(elsewhere) == "the text"
    services.long_work.close()
    elsewhere.close()
    query = select(SETTING.c.key).where(SETTING.c.key.startswith("progress:"))
    assert services.transactions.read(lambda c: c.scalars(query).all()) == []


def test_what_cannot_be_computed_is_said_once(sqlite_services: Services) -> None:
    """Who asks next gets the error; the one after that begins anew."""

    def fail(_report: Report) -> str:
        raise ParameterError("no groups")

    with pytest.raises(ParameterError, match="no groups"):
        until(sqlite_services.long_work, fail)
    assert until(sqlite_services.long_work, lambda _report: "text") == "text"


def test_the_end_of_a_server_ends_its_computations(sqlite_services: Services) -> None:
    """At its next step; what waits behind it does not begin."""
    began = threading.Event()

    def compute(report: Report) -> str:
        began.set()
        for _ in range(20 * PATIENCE_SECONDS):
            report("counting", 1, 2)
            time.sleep(0.05)
        raise AssertionError("it goes on")

    work = sqlite_services.long_work
    for key, each in (("x", compute), ("y", never)):
        with pytest.raises(UnderWay):
            work.require(key, each)
    assert began.wait(PATIENCE_SECONDS)
    work.close()
    query = select(SETTING.c.key).where(SETTING.c.key.startswith("computing:"))
    assert sqlite_services.transactions.read(lambda c: c.scalars(query).all()) == []
