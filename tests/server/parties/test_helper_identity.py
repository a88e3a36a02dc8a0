"""The identity of a helper: kept from its first start, and read by its operator."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import cast

import pytest
from tests.server.parties.pairs import HELPER_KEY, LEADER_KEY, OPERATOR, Pair
from tests.server.parties.test_helper_operation import visitor

from masquerade.errors import OperationError, ParameterError, WrongState
from masquerade.server.db.engine import connect
from masquerade.server.operations.new_key import renew
from masquerade.server.parties.helper_page import task_view
from masquerade.server.parties.helper_services import HelperServices
from masquerade.server.settings import Settings
from masquerade.surveys import Choice, Number, SeveralOf, ShowIf

ADDRESS = "https://helper.example.org"


@pytest.mark.both_databases
def test_who_runs_a_helper_is_kept_across_starts(database_url: str) -> None:
    """A start that says nothing changes nothing; the first has to say it: nothing is made up."""
    opened: Callable[..., HelperServices] = partial(
        HelperServices.open, database_url, server_key=HELPER_KEY
    )
    for given in ({}, {"operator": OPERATOR}, {"address": ADDRESS}, {"operator": " "}):
        with pytest.raises(OperationError, match="needs the name of its operator"):
            opened(**given)
    for given in ({"operator": "x" * 201}, {"operator": "a\nb"}, {"address": "http://a.example"}):
        with pytest.raises(ParameterError):
            opened(**{"operator": OPERATOR, "address": ADDRESS, **given})
    first = opened(operator=OPERATOR, address=ADDRESS)
    first.close()
    for given in ({}, {"operator": OPERATOR}):
        again = opened(**given)
        assert again.tasks.identity() == first.tasks.identity()
        again.close()
    # Nothing is approved yet: it can change.
    other = opened(operator="The ethics office")
    assert other.tasks.identity()["operator"] == "The ethics office"
    assert other.tasks.identity()["address"] == ADDRESS
    other.close()


@pytest.mark.both_databases
def test_it_does_not_change_under_approved_surveys(pair: Pair) -> None:
    """Devices compare it: it changes only on demand, and waiting surveys are proposed anew."""
    pair.open()
    survey, token = pair.define(title="Waits"), secrets.token_hex(8)
    waiting = pair.ask(survey, token)["task"]
    url = pair.helper.engine.url.render_as_string(hide_password=False)
    opened = cast(
        "Callable[..., HelperServices]", partial(HelperServices.open, url, server_key=HELPER_KEY)
    )
    for given in ({"operator": "Somebody else"}, {"address": ADDRESS}):
        with pytest.raises(WrongState, match="1 approved survey names"):
            opened(**given)
    opened().close()
    changed = opened(operator="Somebody else", change=True)
    assert changed.tasks.identity()["operator"] == "Somebody else"
    with pytest.raises(WrongState, match="names another operator"):
        changed.tasks.decide(waiting, approve=True)
    changed.tasks.decide(waiting, approve=False)
    changed.close()


def test_the_page_says_what_is_added_up_and_the_noise_of_each(sqlite_pair: Pair) -> None:
    """Conditions, ranges, sums, joint counts and number of answers, each with its own noise."""
    pair = sqlite_pair
    questions = (
        Choice("work", "Do you work?", ("Yes", "No")),
        SeveralOf("way", "How do you come?", ("bus", "bicycle"), allow_skip=True),
        Number("hours", "How long?", 0, 60, "minutes"),
        Number("pay", "How much?", 0, 5000, "euros", step=100),
        Choice("mood", "How are you?", ("well", "badly"), allow_skip=True),
    )
    conditions = (None, ShowIf("work", ("Yes",)), None, None, None)
    survey = replace(
        pair.define(questions, bins=3, sums=("pay",), cross=(("work", "mood"),)),
        conditions=conditions,
    )
    pair.add_helper()
    task = pair.helper.tasks.task(pair.ask(survey, secrets.token_hex(8))["task"])
    view = task_view(task, (0, 0), {})
    said = [one["noise"] for one in (*view["questions"], *view["cross"], *view["states"])]
    deviations = [
        float(survey.split_noise.published_variance(block)) ** 0.5
        for block in range(len(survey.encoding.blocks))
    ]
    assert len(said) == len(deviations) == 7
    for place, (words, deviation) in enumerate(zip(said, deviations, strict=True)):
        scale, unit = (100, "euros on the sum") if place == 3 else (1, "people on each count")
        assert words.startswith(f"{deviation * scale:,.1f} {unit}")
    assert len(set(said)) == 2
    with visitor(pair.address) as operator:
        page = operator.get(pair.helper.sessions.new_link()).text
    for words in (
        "asked only after “Yes” to “Do you work?”",
        "how many tick each answer",
        "how many people are in each range (0 to ",
        "the sum of all answers, and no counts",
        "Do you work? × How are you?, 6 cells",
        "Of “How do you come?” how many there are of: answered, prefer not to say, not asked",
        *said,
    ):
        assert words in page


@pytest.mark.parametrize("party", ["leader", "helper"])
def test_a_lost_key_ends_surveys_only_on_demand(
    tmp_path: Path, migrated_file: Path, sqlite_pair: Pair, party: str
) -> None:
    """Reports sealed with it are lost: that is said before, and on the survey's page after."""
    record = sqlite_pair.open()
    sqlite_pair.crowd(record, 3)
    survey, token = sqlite_pair.define(title="Draft"), secrets.token_hex(8)
    assert sqlite_pair.ask(survey, token)["state"] == "proposed"
    services = sqlite_pair.leader if party == "leader" else sqlite_pair.helper
    services.transactions.rewrite()
    file = shutil.copy(str(services.engine.url.database), tmp_path / "copy.sqlite3")
    engine = connect(f"sqlite:///{file}")
    lost = Settings(f"sqlite:///{file}", server_key_file=tmp_path / "new" / "server.key")
    with pytest.raises(OperationError, match="1 survey between two parties is under way"):
        renew(engine, lost, forget=True)
    done = renew(engine, lost, forget=True, lose_answers=True)
    assert done["surveys_ended"] == 1
    with engine.connect() as connection:
        read = connection.exec_driver_sql
        if party == "leader":
            rows = read("SELECT state, secrets, reason FROM split_task").all()
            assert [(row.state, row.secrets) for row in rows] == [("failed", None)]
            assert "Ask the survey anew" in rows[0].reason
            assert read("SELECT count(*) FROM split_report").scalar() == 0
        else:
            assert set(read("SELECT state, secrets FROM helper_task").all()) == {("stopped", None)}
    engine.dispose()
    if party == "leader":
        key = Settings.from_environment(data_dir=tmp_path / "new").server_key
        assert key is not None
        assert key != LEADER_KEY
        again = replace_leader(sqlite_pair, str(file), key.hexadecimal)
        again.add_helper()
        assert again.ask(survey, token)["state"] == "proposed"
        again.leader.close()


def test_a_helpers_new_key_is_refused_while_surveys_are_approved(
    tmp_path: Path, sqlite_pair: Pair
) -> None:
    """Its signatures follow from its key: with another one nobody could answer these."""
    sqlite_pair.open()
    sqlite_pair.helper.transactions.rewrite()
    file = shutil.copy(str(sqlite_pair.helper.engine.url.database), tmp_path / "copy.sqlite3")
    key = tmp_path / "server.key"
    key.write_text(HELPER_KEY.hexadecimal)
    settings = Settings(f"sqlite:///{file}", server_key=HELPER_KEY, server_key_file=key)
    engine = connect(settings.database)
    with pytest.raises(OperationError, match="--lose-answers"):
        renew(engine, settings)
    assert renew(engine, settings, lose_answers=True)["surveys_ended"] == 1
    engine.dispose()


def replace_leader(pair: Pair, file: str, key: str) -> Pair:
    """Return the pair with a leader on another file, with another key."""
    from masquerade.server import Services
    from masquerade.server.keys import ServerKey

    leader = Services.open(f"sqlite:///{file}", helper_private=True, server_key=ServerKey(key))
    return Pair(leader, pair.helper, pair.address, pair.token)


def test_a_port_that_is_said_holds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """8081 is where nothing was said, and 8080 is 8080 where it was."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MASQUERADE_PORT", raising=False)
    read = partial(Settings.from_environment, data_dir=tmp_path, make_folder=False)
    assert (read(helper=True).port, read().port) == (8081, 8080)
    monkeypatch.setenv("MASQUERADE_PORT", "8080")
    assert read(helper=True).port == 8080
