"""A server that answers from the table of hostile servers, and a device that meets it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from tests.client.hostile import FILE
from tests.client.lies import changed

from masquerade.client import Client, Participation
from masquerade.errors import MasqueradeError

URL = "https://liar.example"
TABLE: dict[str, Any] = json.loads(FILE.read_text())
_STEPS = (
    ("GET", r"/surveys/[^/]+/invitation", "invitation"),
    ("POST", r"/participations", "reserve"),
    ("POST", r"/participations/[^/]+/(open|seal|withdraw|abandon)", None),
    ("PUT", r"/participations/[^/]+/response", "send"),
    ("GET", r"/me", "me"),
    ("GET", r"/me/ledger", "ledger"),
    ("GET", r"/invitations", "invitations"),
)


def step_of(request: httpx.Request) -> str:
    """Return which step of the protocol a request is."""
    path = request.url.path.partition("/api/v1")[2]
    for method, form, step in _STEPS:
        found = re.fullmatch(form, path)
        if found and method == request.method:
            return step or found[1]
    raise AssertionError(f"{request.method} {path} is no request of the protocol")


@dataclass
class Liar(httpx.BaseTransport):
    """Answers as an honest server would but in the steps in which it lies.

    Attributes
    ----------
    survey : dict
        One of the table's surveys.
    lies : dict
        Of a case; empty for a server that is honest.
    steps : list of str
        What it was asked.
    commitments, reports : list
        What it was sent.
    """

    survey: dict[str, Any]
    lies: dict[str, Any] = field(default_factory=dict)
    steps: list[str] = field(default_factory=list)
    commitments: list[str] = field(default_factory=list)
    reports: list[list[int]] = field(default_factory=list)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Answer one request."""
        step = step_of(request)
        self.steps.append(step)
        body = json.loads(request.read() or b"{}")
        if step == "seal":
            self.commitments.append(body["commitment"])
        if step == "send":
            self.reports.append(body["reports"])
        honest = self.survey["steps"][step]
        lie = self.lies.get(step)
        if lie is None:
            return httpx.Response(honest["status"], json=honest["body"])
        if "raw" in lie:
            return httpx.Response(lie["status"], text=lie["raw"])
        if "change" in lie:
            found = changed(honest["body"], lie["change"])
            return httpx.Response(honest["status"], text=json.dumps(found))
        return httpx.Response(lie["status"], text=json.dumps(lie["body"]))


@dataclass
class Meeting:
    """A device and the server of a case.

    Attributes
    ----------
    case : dict
    home : Path
    server : Liar
    shown : dict
        Every number and sentence that was shown.
    error : MasqueradeError or None
        By which the first attempt ended.
    part : Participation or None
        What was begun, where anything was.
    """

    case: dict[str, Any]
    home: Path
    server: Liar = field(init=False)
    shown: dict[str, Any] = field(default_factory=dict)
    error: MasqueradeError | None = None
    part: Participation | None = None

    def __post_init__(self) -> None:
        self.server = Liar(TABLE["surveys"][self.case["survey"]], self.case["lies"])

    def attempt(self, answers: dict[str, Any]) -> None:
        """Take part, and look at everything there is to see."""
        survey, case = self.server.survey, self.case
        with Client(URL, home=self.home, attempts=1, transport=self.server) as me:
            if "caps" in case:
                me.device.set_caps(**case["caps"], confirm=True)
            try:
                self.shown["levels"] = me.invitation(survey["token"])["levels"]
                consent = case.get("consent", False)
                part = me.begin(survey["token"], survey["level"], confirm_clear=consent)
                self.part = part
                self.shown["price"] = part.price
                self.shown["questions"] = [question.id for question in part.open()]
                part.seal(answers)
                if "abandon" in case["lies"]:
                    part.abandon()
                    return
                self.shown["bill"] = part.send().to_json()
                if "withdraw" in case["lies"]:
                    part.withdraw()
            except MasqueradeError as error:
                self.error = error
            finally:
                self.shown["me"], entries = me.me(), me.ledger()
                # What is random, and what an own key is part of.
                self.shown["ledger"] = [{**one, "hash": ""} for one in entries]

    def again(self) -> None:
        """Let the server be honest, and try once more with other answers."""
        self.server.lies, self.error = {}, None
        self.case = {**self.case, "lies": {}}
        self.attempt(self.server.survey["others"])

    @property
    def charges(self) -> int:
        """How many responses the device's own ledger has."""
        kinds = [entry["kind"] for entry in self.shown["ledger"]]
        return kinds.count("commit") + kinds.count("clear_disclosure")
