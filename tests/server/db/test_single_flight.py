"""A kept text is computed once, for all askers in any number of processes."""

from __future__ import annotations

import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import select
from tests.patience import PATIENCE_SECONDS
from tests.server.devices import all_at_once

from masquerade.server import Services
from masquerade.server.db.engine import connect
from masquerade.server.db.single_flight import GIVEN_UP_SECONDS, SingleFlight
from masquerade.server.db.tables import SETTING
from masquerade.server.db.transactions import Transactions

VIEWERS, PROCESSES = 4, 3
NOON = 1.7e9


def view(url: str, folder: Path, number: int) -> None:
    """Ask for a text from several threads of a process of its own."""
    engine = connect(url)
    transactions = Transactions(engine, rewrites=False)
    flights = SingleFlight(engine, transactions)

    def compute() -> str:
        # A file for each computation, which lasts until all processes have begun to ask.
        (folder / f"computed-{number}").touch(exist_ok=False)
        threading.Event().wait(1)
        return f"by {number}"

    (folder / f"here-{number}").touch()
    with ThreadPoolExecutor(VIEWERS) as viewers:
        asked = [viewers.submit(flights.get_or_create, "result:x", compute) for _ in range(VIEWERS)]
        texts = {one.result() for one in asked}
    transactions.close()
    assert len(texts) == 1
    (folder / f"text-{number}").write_text(texts.pop())


@pytest.mark.both_databases
def test_twelve_viewers_in_three_processes_make_one_computation(
    services: Services, tmp_path: Path
) -> None:
    """The first asker computes, and all others get that text."""
    context = multiprocessing.get_context("spawn")
    url = services.engine.url.render_as_string(hide_password=False)
    processes = [context.Process(target=view, args=(url, tmp_path, n)) for n in range(PROCESSES)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(PATIENCE_SECONDS)
        assert process.exitcode == 0
    assert len(list(tmp_path.glob("computed-*"))) == 1
    assert len({path.read_text() for path in tmp_path.glob("text-*")}) == 1
    assert len(list(tmp_path.glob("text-*"))) == PROCESSES
    assert not leftovers(services)


@pytest.mark.both_databases
def test_after_an_error_the_next_one_computes(services: Services) -> None:
    """A computation that fails keeps nothing and blocks nobody."""
    flights = SingleFlight(services.engine, services.transactions)

    def fail() -> str:
        raise ZeroDivisionError

    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            flights.get_or_create("result:x", fail)
    assert flights.get_or_create("result:x", lambda: "one") == "one"
    assert flights.get_or_create("result:x", lambda: "two") == "one"
    assert not leftovers(services)


def test_all_who_wait_in_a_process_get_one_text(sqlite_services: Services) -> None:
    """Of many threads one computes."""
    flights = SingleFlight(sqlite_services.engine, sqlite_services.transactions)
    texts = iter(["one"])  # a second computation would find none
    outcomes = all_at_once(*[lambda: flights.get_or_create("x", lambda: next(texts))] * 8)
    assert outcomes == ["one"] * 8


@pytest.mark.parametrize("moved", [GIVEN_UP_SECONDS, -GIVEN_UP_SECONDS])
def test_a_process_that_died_holds_nobody_up_for_long(
    sqlite_services: Services, moved: float
) -> None:
    """SQLite: its row is taken over after a minute, also where the clock was put back."""
    times = [NOON]
    engine, transactions = sqlite_services.engine, sqlite_services.transactions
    waits: list[float] = []

    def pause(seconds: float) -> None:
        waits.append(seconds)
        times[0] += moved

    flights = SingleFlight(engine, transactions, clock=lambda: times[0], pause=pause)
    dead = flights._row("x")
    dead.__enter__()
    assert flights.get_or_create("x", lambda: "one") == "one"
    assert len(waits) == 1
    # Whoever was taken for dead and was not takes nobody else's row away.
    with flights._row("x"):
        dead.__exit__(None, None, None)
        assert leftovers(sqlite_services)
    assert not leftovers(sqlite_services)


def test_who_says_that_it_goes_on_is_not_taken_for_dead(sqlite_services: Services) -> None:
    """SQLite: a computation of an hour that is renewed is made once."""
    times = [NOON]
    engine, transactions = sqlite_services.engine, sqlite_services.transactions
    alive = SingleFlight(engine, transactions, clock=lambda: times[0])

    def pause(_seconds: float) -> None:
        times[0] += GIVEN_UP_SECONDS - 1
        if times[0] < NOON + 3600:
            alive.renew("x")

    other = SingleFlight(engine, transactions, clock=lambda: times[0], pause=pause)
    with alive._row("x"):
        assert other.get_or_create("x", lambda: "after it died") == "after it died"
    assert times[0] > NOON + 3600
    alive.renew("x")  # of nothing that is under way
    assert not leftovers(sqlite_services)


def leftovers(services: Services) -> list[str]:
    """Return the rows of computations that are under way."""
    query = select(SETTING.c.key).where(SETTING.c.key.startswith("computing:"))
    return list(services.transactions.read(lambda c: c.scalars(query).all()))


@pytest.mark.both_databases
def test_who_waits_for_another_process_holds_no_connection(services: Services) -> None:
    """While one computes for long, as many as wait elsewhere leave their pool to others."""
    url = services.engine.url.render_as_string(hide_password=False)
    elsewhere = connect(url)
    transactions = Transactions(elsewhere, rewrites=False)
    theirs = SingleFlight(elsewhere, transactions)
    mine = SingleFlight(services.engine, services.transactions)
    began, go_on = threading.Event(), threading.Event()

    def compute() -> str:
        began.set()
        assert go_on.wait(PATIENCE_SECONDS)
        return "by me"

    with ThreadPoolExecutor(2) as people:
        first = people.submit(mine.get_or_create, "result:long", compute)
        assert began.wait(PATIENCE_SECONDS)
        second = people.submit(theirs.get_or_create, "result:long", lambda: "by them")
        # They look again and again, and hold a connection for a moment only.
        out = [elsewhere.pool.checkedout() for _ in range(100) if not go_on.wait(0.01)]  # type: ignore[attr-defined]
        assert out.count(0) > len(out) // 2
        assert not second.done()
        go_on.set()
        assert first.result(PATIENCE_SECONDS) == second.result(PATIENCE_SECONDS) == "by me"
    transactions.close()
