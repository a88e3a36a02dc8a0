"""Programs of a surveyor wait for results that a server works out in the background."""

from __future__ import annotations

import io
import json
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.cli.test_progress import Terminal
from tests.patience import PATIENCE_SECONDS
from tests.server.filled import fill
from tests.serving import CERTIFICATES, serving
from tests.surveys.employee_pulse import pulse, pulse_reports

from masquerade.cli import main
from masquerade.client import Surveyor
from masquerade.client import connection as connections
from masquerade.errors import ParameterError, ServerUnavailable, UnderWay
from masquerade.server import Services, Settings, create_app
from masquerade.server.accounts.teams import OWNER
from masquerade.server.db.tables import FIRST_TEAM
from masquerade.server.operations.run import address
from masquerade.server.results import cache
from masquerade.server.results.cache import StoredReports

pytestmark = pytest.mark.both_databases
PEOPLE = 60


@dataclass
class Slow:
    """A running server that counts the reports of one survey in steps of 20, each when it may."""

    services: Services
    url: str
    survey: str
    token: str
    steps: threading.Semaphore
    error: Exception | None = None

    def program(self, **options: Any) -> Surveyor:
        """Return a surveyor's program at the server."""
        options.setdefault("transport", httpx.HTTPTransport(verify=CERTIFICATES, trust_env=False))
        return Surveyor(self.url, self.token, **options)

    def go_on(self) -> None:
        """Let the server count to the end, now and later."""
        for _ in range(100):
            self.steps.release()


@pytest.fixture
def slow(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Slow]:
    """A server with a closed survey of 60 people, which are many there."""
    app = create_app(Settings(database_url, rate_address=0))
    monkeypatch.setattr(cache, "LARGE", PEOPLE)
    monkeypatch.setattr(cache, "COUNTED_AT_ONCE", 20)
    services: Services = app.state.services
    survey = services.surveys.open_survey(pulse(("low",)))
    fill(services, survey, pulse_reports(survey.survey, PEOPLE))
    services.surveys.close(survey)
    owner = services.teams.add(
        FIRST_TEAM, role=OWNER, login="ann", name="Ann", password="four words in a row"
    )
    token = services.tokens.create(
        owner.id, FIRST_TEAM, name="test", scopes=("survey:read", "results:read"), until=None
    )
    counted = StoredReports.counted
    with serving(app) as (bound, _):
        place = Slow(services, address(bound), survey.token, token, threading.Semaphore(0))

        def step_by_step(self: Any, codebook: Any, report: Any = None) -> Any:
            def stop(done: int) -> None:
                report(done)
                assert place.steps.acquire(timeout=PATIENCE_SECONDS)
                if place.error is not None:
                    raise place.error

            return counted(self, codebook, stop)

        monkeypatch.setattr(StoredReports, "counted", step_by_step)
        # a pause is as long as the server takes for a step, and no time is measured
        monkeypatch.setattr(connections, "sleep", lambda _seconds: place.steps.release())
        yield place
        place.go_on()


def test_a_program_waits_for_a_result_and_is_told_how_far_it_is(
    slow: Slow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Progress grows and never says that all is done; the file is that of a result at once."""
    told: list[tuple[int, int]] = []
    with slow.program(progress=lambda done, of: told.append((done, of))) as program:
        path = program.export(slow.survey, tmp_path / "results.json")
        found = json.loads(path.read_text())
        assert found["responses"] == PEOPLE
        assert told
        counting = [done for done, of in told if of]
        assert counting == sorted(counting)
        assert set(counting) <= {20, 40, 60}
        assert program.result(slow.survey) == found
    monkeypatch.undo()
    record = slow.services.surveys.record(slow.survey)
    assert found == json.loads(slow.services.results._compute(record, cache.unreported))


def test_a_failure_while_waiting_is_said_and_the_next_one_begins_anew(slow: Slow) -> None:
    """What the server cannot work out is an error of its kind; asked again, it works it out."""
    slow.error = ParameterError("these reports cannot be put together.")
    with slow.program() as program:
        with pytest.raises(ParameterError, match="cannot be put together"):
            program.result(slow.survey)
        slow.error = None
        assert program.result(slow.survey)["responses"] == PEOPLE


class Shaky(httpx.BaseTransport):
    """A network that fails for these requests, counted from 1."""

    def __init__(self, failing: range) -> None:
        self._way = httpx.HTTPTransport(verify=CERTIFICATES, trust_env=False)
        self._failing, self._count = failing, 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request, or lose it."""
        self._count += 1
        if self._count in self._failing:
            raise httpx.ConnectError("no way")
        return self._way.handle_request(request)

    def close(self) -> None:
        """Close the connections."""
        self._way.close()


def test_a_network_that_fails_while_waiting_is_tried_again(slow: Slow) -> None:
    """As often as for any request; where it stays away, that is said and nothing is lost."""
    with slow.program(transport=Shaky(range(2, 5)), attempts=5) as program:
        assert program.result(slow.survey)["responses"] == PEOPLE
    away = slow.program(transport=Shaky(range(1, 100)), attempts=3)
    with away, pytest.raises(ServerUnavailable, match="no way"):
        away.result(slow.survey)


def test_patience_ends_and_the_work_goes_on(slow: Slow) -> None:
    """Without patience the first answer is raised, with the progress; later the result is there."""
    with slow.program(patience=0) as program:
        with pytest.raises(UnderWay, match=r"after 0 seconds .* do the same again later") as late:
            program.result(slow.survey)
        assert late.value.seconds > 0
        assert late.value.of in (0, PEOPLE)
    with slow.program() as program:
        assert program.result(slow.survey)["responses"] == PEOPLE
    with pytest.raises(ParameterError, match="patience"):
        slow.program(patience=-1)


@pytest.mark.parametrize("screen", [Terminal, io.StringIO])
def test_the_command_line_shows_the_progress(
    slow: Slow,
    screen: type[io.StringIO],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A person sees a bar, a file gets none; figures stand on standard output alone."""
    monkeypatch.setenv("MASQUERADE_TOKEN", slow.token)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")
    errors = screen()
    monkeypatch.setattr(sys, "stderr", errors)
    command = ["surveys", "results", slow.survey, "--server", slow.url, "--json"]
    monkeypatch.setattr("sys.argv", ["masquerade", *command])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code in (0, None)
    assert ("the server works it out" in errors.getvalue()) == (screen is Terminal)
    assert json.loads(capsys.readouterr().out)["responses"] == PEOPLE
