"""The surveyors of a soak: surveys are opened, answered, closed and counted, one after another.

Each survey is closed while people are in it. An ordinary one is closed while its server is told to
end; several between two parties run beside it, so that their leader and helper are killed in every
part of their work.
"""

from __future__ import annotations

import random
import re
import secrets
import signal
import threading
import time
from collections import Counter
from typing import Any

import httpx
from tools.soak.people import LEVELS, SPLIT, OpenSurvey, People
from tools.soak.processes import Server

from masquerade.server.http.security import COOKIE, csrf_token

OPERATOR = "The second party of the soak"
_QUESTIONS = [
    {"kind": "choice", "id": "ill", "text": "Ill?", "options": ["Yes", "No"]},
    {"kind": "rating", "id": "sleep", "text": "Sleep?", "low": 1, "high": 5},
]
_SECONDS = 600  # for which something is asked again
_MINIMUM = 3


class Surveyors:
    """Opens and closes the surveys of a soak, and compares each result with its devices."""

    def __init__(self, leader: Server, helper: Server, people: People) -> None:
        self.leader, self.helper, self.people = leader, helper, people
        self.surveys: list[OpenSurvey] = []
        self.problems: Counter[str] = Counter()
        self.results = 0
        self.enough = threading.Event()
        self._approving = threading.Lock()
        self._owner = _visitor(leader)
        self._operator = _visitor(helper)
        self._ask(self._owner, "GET", leader.said(r"http://\S+/owner\?token=\S+"))
        self._owner.headers["X-CSRF-Token"] = csrf_token(self._owner.cookies[COOKIE])
        self._ask(self._operator, "GET", helper.said(r"http://\S+/operator\?token=\S+"))
        self._fingerprint = helper.said(r"key: ([0-9a-f ]+)").replace(" ", "")
        known = {
            "address": helper.address,
            "token": helper.said(r"mqh_\S+"),
            "fingerprint": self._fingerprint,
        }
        self._ask(self._owner, "POST", "/api/v1/helpers", json=known)

    def ordinary(self, wanted: int) -> None:
        """Open a survey; close it, while its server is told to end, once so many have answered."""
        document = {"title": "Soak", "questions": _QUESTIONS, "levels": list(LEVELS)}
        survey = self._opened(document, OpenSurvey(self._drafted(document), False, 2 * wanted))
        self._wait_for(survey, wanted)
        told = threading.Timer(random.random() / 4, lambda: self.leader.end(signal.SIGTERM))
        told.start()
        self._close(survey)
        told.join()
        self._left(survey)
        self._compare(survey)

    def between_two(self, wanted: int) -> None:
        """Take a survey between two parties from its draft to its result."""
        terms = {
            "helper": self.helper.address,
            "operator": OPERATOR,
            "fingerprint": self._fingerprint,
            "minimum": _MINIMUM,
        }
        document = {
            "title": f"Between two {secrets.token_hex(4)}",
            "trust": SPLIT,
            "questions": _QUESTIONS,
            "two_parties": terms,
        }
        survey = OpenSurvey(self._drafted(document), True, 2 * wanted)
        place = f"/api/v1/surveys/{survey.token}"
        self._until(lambda: self._state(place, "/helper", "POST") == "proposed", "proposed")
        self._until(lambda: self._approve(place), "approved")
        self._opened(document, survey)
        self._wait_for(survey, wanted)
        self._close(survey)
        self._left(survey)
        if survey.answered >= _MINIMUM:  # else no sum is made
            self._until(lambda: self._state(place, "/aggregation") == "collected", "added up")
            self._compare(survey)

    def _drafted(self, document: dict[str, Any]) -> str:
        key = {"Idempotency-Key": secrets.token_hex(16)}
        body = {"document": document}
        made = self._ask(self._owner, "POST", "/api/v1/surveys", json=body, headers=key)
        return str(made["token"])

    def _opened(self, document: dict[str, Any], survey: OpenSurvey) -> OpenSurvey:
        place = f"/api/v1/surveys/{survey.token}"

        def is_open() -> bool:
            self._ask(self._owner, "POST", f"{place}/open")
            return self._state(place) == "open"

        self._until(is_open, "opened")
        if survey.split:
            invitation = self._ask(self._owner, "GET", f"{place}/invitation")
            self.people.approvals[survey.token] = invitation["two_parties"]["approval"]
        self.surveys.append(survey)
        self.people.surveys.append(survey)
        return survey

    def _wait_for(self, survey: OpenSurvey, wanted: int) -> None:
        while survey.answered < wanted and not self.enough.is_set():
            time.sleep(0.1)

    def _close(self, survey: OpenSurvey) -> None:
        place = f"/api/v1/surveys/{survey.token}"
        survey.over = True

        def closed() -> bool:
            self._ask(self._owner, "POST", f"{place}/close", json={"grace_days": 0})
            return self._state(place) == "closed"

        self._until(closed, "closed")

    def _compare(self, survey: OpenSurvey) -> None:
        """Note a result that does not have every acknowledged response once."""
        place = f"/api/v1/surveys/{survey.token}/results"
        found = self._ask(self._owner, "GET", place)
        if (found.get("responses"), found.get("refused", 0)) != (survey.answered, 0):
            said = f"{found.get('responses')} for {survey.answered}, {found.get('refused')} refused"
            self.problems[f"a result has {said} {found.get('detail', '')}"] += 1
        self.results += 1

    def _left(self, survey: OpenSurvey) -> None:
        self.people.surveys.remove(survey)
        self._until(lambda: all(run.outcome != "begun" for run in survey.runs), "left by all")

    def _approve(self, place: str) -> bool:
        """Press Approve for everything that waits on the helper's page."""
        with self._approving:
            page = self._page()
            for task in re.findall(r'action="(/tasks/[^"]+/decision)"', page):
                csrf = re.search(r'name="csrf" value="([^"]+)"', page)
                form = {"csrf": csrf[1] if csrf else "", "decision": "approve"}
                origin = {"Origin": self.helper.address}
                self._asked(self._operator, "POST", task, data=form, headers=origin)
        return self._state(place, "/helper", "POST") in ("approved", "bound")

    def _page(self) -> str:
        answer = self._asked(self._operator, "GET", "/")
        return "" if answer is None else answer.text

    def _state(self, place: str, more: str = "", method: str = "GET") -> object:
        return self._ask(self._owner, method, f"{place}{more}").get("state")

    def _until(self, reached: Any, what: str) -> None:
        end = time.monotonic() + _SECONDS
        while not reached():
            if time.monotonic() > end:
                raise TimeoutError(f"a survey was not {what} within {_SECONDS} s")
            time.sleep(0.3)

    def _ask(self, visitor: httpx.Client, method: str, path: str, **more: Any) -> dict[str, Any]:
        """Ask until an answer comes; return its object, or nothing where it has none."""
        end = time.monotonic() + _SECONDS
        while time.monotonic() < end:
            answer = self._asked(visitor, method, path, **more)
            if answer is not None and answer.status_code < 500 and answer.status_code != 429:
                is_object = "json" in answer.headers.get("content-type", "")
                return dict(answer.json()) if is_object else {}
            time.sleep(0.3)
        raise TimeoutError(f"{method} {path} was not answered for {_SECONDS} s")

    def _asked(
        self, visitor: httpx.Client, method: str, path: str, **more: Any
    ) -> httpx.Response | None:
        try:
            return visitor.request(method, path, **more)
        except httpx.HTTPError:
            return None


def _visitor(server: Server) -> httpx.Client:
    accept = {"Accept": "text/html, application/json;q=0.9"}
    return httpx.Client(
        base_url=server.address,
        trust_env=False,
        follow_redirects=True,
        timeout=60,
        headers=accept,
    )
