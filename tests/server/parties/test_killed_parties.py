"""The two commands as two processes, killed at every step: no answer is lost or counted twice."""

from __future__ import annotations

import base64
import os
import re
import secrets
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.server.parties.killed_parties import Party, running, said, until
from tests.server.parties.pairs import OPERATOR, device_report
from tests.server.parties.test_interface import DOCUMENT

from masquerade.server.http.security import COOKIE, csrf_token
from masquerade.surveys.survey import split_commitment

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix", reason="signals of this kind are POSIX's"),
]
PEOPLE = 5
#: Writes of a leader, in the order of a survey: proposed, looked at, opened, answered, taken back,
#: closed, frozen, a job stored, its answer and its sum, all sums with noise, the result.
LEADER = (
    *("Proposals._store", "Proposals._approve", "Drafts._open"),
    *("RespondSplit", "Withdraw", "Lifecycle._end_with_messages"),
    *("LeaderSteps._freeze", "LeaderJobs._keep", "LeaderJobs._store"),
    *("LeaderSteps._total", "LeaderSteps._keep_sums"),
)
#: Writes of a helper: proposed, decided, told what was taken back, a job, the sum.
HELPER = (
    *("HelperTasks._keep", "HelperTasks.decide", "HelperAggregation.withdraw"),
    *("HelperAggregation._keep", "HelperAggregation._collect"),
)
#: Steps of the survey after which a helper is killed from outside.
STEPS = ("proposed", "approved", "opened", "answered", "withdrawn", "closed")


def around(*names: str) -> list[str]:
    """Return both points of each write: before it is kept, and before anybody is told of it."""
    return [f"{name}:{when}" for name in names for when in ("before", "after")]


def survey_between(
    leader: Party, helper: Party, *, killed_after: Sequence[str] = ()
) -> dict[str, object]:
    """Take a survey from its draft to its result, through every kill; return the result."""
    parties = (leader, helper)

    def after(step: str) -> None:
        if step in killed_after:
            helper.alive()  # nobody may have needed it since it was killed before
            helper.kill()

    with leader.visitor() as owner, helper.visitor() as operator:
        html = {"Accept": "text/html"}
        leader.ask(owner, "GET", said(leader, r"http://\S+/owner\?token=\S+"), headers=html)
        owner.headers["X-CSRF-Token"] = csrf_token(owner.cookies[COOKIE])
        helper.ask(operator, "GET", said(helper, r"http://\S+/operator\?token=\S+"), headers=html)
        fingerprint = said(helper, r"key: ([0-9a-f ]+)").replace(" ", "")
        known = {
            "address": helper.address,
            "token": said(helper, r"mqh_\S+"),
            "fingerprint": fingerprint,
        }
        assert leader.ask(owner, "POST", "/api/v1/helpers", json=known).status_code == 201
        terms: dict[str, Any] = {
            "helper": helper.address,
            "operator": OPERATOR,
            "fingerprint": fingerprint,
        }
        document = {**DOCUMENT, "two_parties": dict(terms, minimum=3)}
        key = {"Idempotency-Key": secrets.token_hex(16)}
        made = leader.ask(
            owner, "POST", "/api/v1/surveys", json={"document": document}, headers=key
        )
        place = f"/api/v1/surveys/{made.json()['token']}"

        def state() -> object:
            answer = leader.ask(owner, "POST", f"{place}/helper")
            return answer.json().get("state")

        until("it was not proposed", parties, lambda: state() == "proposed")
        after("proposed")
        until("it was not approved", parties, lambda: decided(helper, operator))
        after("approved")
        until("it was not looked at", parties, lambda: state() in ("approved", "bound"))

        def is_open() -> bool:
            leader.ask(owner, "POST", f"{place}/open")
            answer = leader.ask(owner, "GET", place)
            return bool(answer.json().get("state") == "open")

        until("it did not open", parties, is_open)
        after("opened")
        token = made.json()["token"]
        for number in range(PEOPLE):
            answered(leader, token, {"lunch": ("soup", "salad")[number % 2], "mood": "4"})
        after("answered")
        answered(leader, token, {"lunch": "soup", "mood": "1"}, taken_back=True)
        after("withdrawn")
        until("it did not close", parties, lambda: closed(leader, owner, place))
        after("closed")

        def progress() -> dict[str, object]:
            return dict(leader.ask(owner, "GET", f"{place}/aggregation").json())

        until("it was not added up", parties, lambda: progress()["state"] == "collected")
        assert progress()["obstacle"] is None
        return dict(leader.ask(owner, "GET", f"{place}/results").json())


def decided(helper: Party, operator: httpx.Client) -> bool:
    """Press Approve on the helper's page, once there is something to approve."""
    page = helper.ask(operator, "GET", "/", headers={"Accept": "text/html"}).text
    task = re.search(r'action="(/tasks/[^"]+/decision)"', page)
    csrf = re.search(r'name="csrf" value="([^"]+)"', page)
    if task is not None and csrf is not None:
        form = {"csrf": csrf[1], "decision": "approve"}
        helper.ask(operator, "POST", task[1], data=form, headers={"Origin": helper.address})
    return ">approved</span>" in helper.ask(operator, "GET", "/").text


def closed(leader: Party, owner: httpx.Client, place: str) -> bool:
    """Close a survey; return whether it is."""
    leader.ask(owner, "POST", f"{place}/close", json={"grace_days": 0})
    return bool(leader.ask(owner, "GET", place).json()["state"] == "closed")


def answered(
    leader: Party, token: str, answers: dict[str, str], *, taken_back: bool = False
) -> None:
    """Answer on a device that goes on until each step is acknowledged."""
    with leader.visitor() as device:
        device.headers["Masquerade-Participant"] = secrets.token_hex(16)
        ask: Callable[..., httpx.Response] = lambda *words, **more: leader.ask(  # noqa: E731
            device, *words, **more
        )
        invitation = ask("GET", f"/api/v1/surveys/{token}/invitation").json()
        key = {"Idempotency-Key": secrets.token_hex(16)}
        body = {"survey": token, "level": "two-parties"}
        begun = ask("POST", "/api/v1/participations", json=body, headers=key).json()
        place = f"/api/v1/participations/{begun['id']}"
        opened = ask("POST", f"{place}/open").json()
        approval = invitation["two_parties"]["approval"]
        report = device_report(approval, opened["survey"], answers).encode()
        salt = secrets.token_hex(16)
        commitment = split_commitment(begun["id"], report, salt)
        assert ask("POST", f"{place}/seal", json={"commitment": commitment}).status_code == 200
        sent = {
            "report": base64.b64encode(report).decode(),
            "salt": salt,
            "level": "two-parties",
            "survey_hash": opened["hash"],
        }
        assert ask("PUT", f"{place}/sealed-report", json=sent).status_code in (200, 201)
        if taken_back:
            assert ask("POST", f"{place}/withdraw").json()["state"] == "withdrawn"


def is_whole(result: dict[str, object]) -> bool:
    """Return whether a result has every answer once, each in one sum."""
    assert (result["responses"], result["refused"]) == (PEOPLE, 0)
    return result["trust"] == "two-parties"


def test_both_are_killed_in_the_middle_of_a_survey(tmp_path: Path) -> None:
    """Where a proposal, an approval, an answer and a job were not kept, or not told of."""
    with (
        running(
            tmp_path,
            "leader",
            ["Proposals._store:before", "RespondSplit:after", "LeaderJobs._store:before"],
        ) as leader,
        running(
            tmp_path,
            "helper",
            ["HelperTasks.decide:after", "HelperAggregation._keep:after"],
        ) as helper,
    ):
        assert is_whole(survey_between(leader, helper))
        assert (leader.kills, helper.kills) == (3, 2)
        assert (leader.traps, helper.traps) == ([], [])


@pytest.mark.skipif(
    not Path("/proc/self/task").exists(), reason="processes are watched through /proc"
)
def test_a_helper_of_two_workers_adds_up(tmp_path: Path) -> None:
    """``masquerade helper --workers 2`` is one helper, also when one of its processes is killed."""
    with (
        running(tmp_path, "leader") as leader,
        running(tmp_path, "helper", (), "--workers", "2") as helper,
    ):
        said(helper, r"once\): (\S+)")  # both have begun
        before = workers(helper)
        os.kill(before[0], signal.SIGKILL)
        until(
            "it was not replaced",
            (),
            lambda: len(workers(helper)) == 2 and before[0] not in workers(helper),
        )
        assert is_whole(survey_between(leader, helper))
        assert helper.kills == 0


def workers(party: Party) -> list[int]:
    """Return the processes in which requests are answered."""
    assert party.process is not None
    parent = party.process.pid
    found = []
    for one in Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
        line = Path(f"/proc/{one}/cmdline").read_bytes()
        # Beside them is a process that tracks what they share.
        if b"spawn_main" in line:
            found.append(int(one))
    return found


@pytest.mark.exhaustive
def test_a_leader_is_killed_at_every_point(tmp_path: Path) -> None:
    """Before and after each of its writes, from the proposal to the result."""
    traps = around(*LEADER)
    # A job is stored twice: with the helper's answer, and with this party's sum.
    traps[18:18] = around("LeaderJobs._store")
    with (
        running(tmp_path, "leader", traps) as leader,
        running(tmp_path, "helper") as helper,
    ):
        assert is_whole(survey_between(leader, helper))
        assert leader.traps == []
        assert leader.kills == 24  # as many as traps
        assert helper.kills == 0


@pytest.mark.exhaustive
def test_a_helper_is_killed_at_every_point(tmp_path: Path) -> None:
    """Before and after each of its writes, two jobs among them, and between all steps."""
    traps = around(*HELPER[:3], *["HelperAggregation._keep"] * 3, HELPER[-1])
    with (
        running(tmp_path, "leader") as leader,
        running(tmp_path, "helper", traps) as helper,
    ):
        assert is_whole(survey_between(leader, helper))
        assert helper.traps == []
        assert helper.kills == 14
    with (
        running(tmp_path, "leader") as leader,
        running(tmp_path, "helper") as helper,
    ):
        assert is_whole(survey_between(leader, helper, killed_after=STEPS))
        assert helper.kills == len(STEPS)
