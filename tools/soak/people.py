"""The people of a soak: many devices at once, each of which goes on until every step is answered.

A device knows what it was told, and keeps an account of its own: at the end both are compared with
the server's database. The masked reports are drawn anew each time; what does not matter to a server
(keys, the text of a survey, an approval) is read once a survey.
"""

from __future__ import annotations

import asyncio
import base64
import json
import random
import secrets
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from masquerade.accounting import Cost
from masquerade.aggregate.signature import check_approval
from masquerade.surveys.split_task import SplitTask
from masquerade.surveys.survey import Survey, commitment_of, split_commitment

LEVELS = ("high", "medium", "low")
SPLIT = "two-parties"
_SECONDS = 240  # for which a step is sent again
_ANSWER_SECONDS = 40
#: Of a hundred runs: given up before the questions, taken back, by somebody who came before.
_ABANDONED, _WITHDRAWN, _AGAIN = 3, 4, 20


class Refused(Exception):
    """A step was refused, and is not sent again."""


@dataclass
class OpenSurvey:
    """A survey that people answer."""

    token: str
    split: bool
    wanted: int
    begun: int = 0
    over: bool = False
    runs: list[Run] = field(default_factory=list)
    definition: Survey | None = None
    task: SplitTask | None = None

    @property
    def answered(self) -> int:
        """How many responses are acknowledged and not taken back."""
        return sum(run.outcome == "submitted" for run in self.runs)

    def learn(self, opened: dict[str, Any], approval: dict[str, Any] | None) -> None:
        """Read the survey, and the approval of its second party, once."""
        if self.definition is not None:
            return
        self.definition = Survey.from_text(opened["survey"])
        parties = self.definition.two_parties
        if parties is None or approval is None:
            return
        configuration = bytes.fromhex(approval["configuration"])
        key, signature = (bytes.fromhex(approval[name]) for name in ("public_key", "signature"))
        check_approval(key, signature, configuration, fingerprint=parties.fingerprint)
        task = SplitTask.read(configuration, approval["terms"])
        task.check(self.definition)
        self.task = task


@dataclass
class Person:
    """An account, with its expenses as its device counts them."""

    secret: str = field(default_factory=lambda: secrets.token_hex(16))
    spent: list[Cost] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)


@dataclass
class Run:
    """One person's run through a survey."""

    person: Person
    survey: OpenSurvey
    level: str
    key: str = field(default_factory=lambda: secrets.token_hex(16))
    salt: str = field(default_factory=lambda: secrets.token_hex(16))
    id: str = ""
    reports: list[int] = field(default_factory=list)
    reserved: bool = False
    outcome: str = "begun"


class People:
    """All devices, in a thread with a loop of its own."""

    def __init__(self, ports: list[int], *, clients: int, total: int) -> None:
        self.ports, self.total, self._clients = ports, total, clients
        self.surveys: list[OpenSurvey] = []  # open now
        self.persons: list[Person] = []
        self.acknowledged = self.repeated = 0
        self.problems: Counter[str] = Counter()
        self.outcomes: Counter[str] = Counter()
        self.approvals: dict[str, dict[str, Any]] = {}
        self.enough = False  # nobody begins any more
        self._idle: list[Person] = []
        self._begun = 0
        self.thread = threading.Thread(target=lambda: asyncio.run(self._all()), daemon=True)

    async def _all(self) -> None:
        await asyncio.gather(*(self._client() for _ in range(self._clients)))

    async def _client(self) -> None:
        line = Line(self)
        while self._begun < self.total and not self.enough:
            survey = self._survey()
            if survey is None:
                await asyncio.sleep(0.05)
                continue
            self._begun += 1
            survey.begun += 1
            run = self._run(survey)
            try:
                run.outcome = await self._take_part(line, run)
            except Refused as error:
                run.outcome = "late" if survey.over else "problem"
                if not survey.over:
                    self.problems[str(error)] += 1
            except Exception as error:
                run.outcome = "problem"
                self.problems[f"{type(error).__name__}: {error}"] += 1
            self.outcomes[run.outcome] += 1
            self.acknowledged += run.outcome in ("submitted", "withdrawn")
            self._idle.append(run.person)
        line.close()

    def _survey(self) -> OpenSurvey | None:
        free = [one for one in self.surveys if one.begun < one.wanted and not one.over]
        # Surveys between two parties are few and small: they come first, now and then.
        split = [one for one in free if one.split]
        if split and random.random() < 0.25:
            return random.choice(split)
        whole = [one for one in free if not one.split]
        return random.choice(whole) if whole else None

    def _run(self, survey: OpenSurvey) -> Run:
        person = None
        if self._idle and random.random() < _AGAIN / 100:
            place = random.randrange(len(self._idle))
            known = self._idle[place]
            # Twice at most, so that the second fits what the first has left.
            if len(known.runs) < 2 and all(run.survey is not survey for run in known.runs):
                person = self._idle.pop(place)
        if person is None:
            person = Person()
            self.persons.append(person)
        level = SPLIT if survey.split else random.choice(LEVELS)
        run = Run(person, survey, level)
        person.runs.append(run)
        survey.runs.append(run)
        return run

    async def _take_part(self, line: Line, run: Run) -> str:
        survey = run.survey
        beginning = {"survey": survey.token, "level": run.level}
        run.id = (await line.step(run, "POST", "", beginning))["id"]
        run.reserved = True
        if random.random() < _ABANDONED / 100:
            await line.step(run, "POST", f"/{run.id}/abandon", None)
            return "abandoned"
        opened = await line.step(run, "POST", f"/{run.id}/open", None)
        survey.learn(opened, self.approvals.get(survey.token))
        assert survey.definition is not None
        run.person.spent.append(survey.definition.level(run.level).cost(survey.token))
        if survey.split:
            await self._send_split(line, run, opened["hash"])
        else:
            await self._send(line, run, opened["hash"])
        if random.random() < _WITHDRAWN / 100:
            try:
                await line.step(run, "POST", f"/{run.id}/withdraw", None)
            except Refused:
                if not survey.over:
                    raise
                return "submitted"  # too late to take it back
            return "withdrawn"
        return "submitted"

    async def _send(self, line: Line, run: Run, survey_hash: str) -> None:
        run.reports = [secrets.randbelow(2), secrets.randbelow(5)]
        sealed = {"commitment": commitment_of(run.id, run.reports, run.salt)}
        await line.step(run, "POST", f"/{run.id}/seal", sealed)
        sent = {"reports": run.reports, "salt": run.salt, "level": run.level}
        await line.step(run, "PUT", f"/{run.id}/response", sent | {"survey_hash": survey_hash})

    async def _send_split(self, line: Line, run: Run, survey_hash: str) -> None:
        survey = run.survey
        assert survey.definition is not None
        assert survey.task is not None
        answers = {"ill": random.choice(("Yes", "No")), "sleep": str(random.randint(1, 5))}
        measurement = survey.definition.encoding.measurement(answers)
        terms = survey.task.terms
        report = survey.task.task.report(measurement, leader=terms.leader, helper=terms.helper)
        data = report.encode()
        sealed = {"commitment": split_commitment(run.id, data, run.salt)}
        await line.step(run, "POST", f"/{run.id}/seal", sealed)
        sent = {"report": base64.b64encode(data).decode(), "salt": run.salt, "level": run.level}
        place = f"/{run.id}/sealed-report"
        await line.step(run, "PUT", place, sent | {"survey_hash": survey_hash})


class Line:
    """The connection of one device, made anew at any server whenever it broke."""

    def __init__(self, people: People) -> None:
        self._people = people
        self._writer: asyncio.StreamWriter | None = None
        self._port = 0

    def close(self) -> None:
        """End the connection."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    async def step(self, run: Run, method: str, path: str, body: Any) -> dict[str, Any]:
        """Send a step until it is answered; raise `Refused` where the answer is no."""
        content = b"" if body is None else json.dumps(body).encode()
        head = (
            f"{method} /api/v1/participations{path} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            f"Masquerade-Participant: {run.person.secret}\r\nIdempotency-Key: {run.key}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        request = head.encode() + content
        end = time.monotonic() + _SECONDS
        while time.monotonic() < end:
            try:
                status, answer = await asyncio.wait_for(self._ask(request), _ANSWER_SECONDS)
            except (OSError, ValueError, EOFError, IndexError, TimeoutError):
                self.close()  # it was killed, or the answer broke off: the step is sent again
            else:
                if status in (200, 201):
                    return answer
                if status < 500 and status != 429:
                    kind, detail = answer.get("type"), answer.get("detail")
                    raise Refused(f"{status} {kind} at {method} {path[33:]}: {detail}")
                self.close()
            self._people.repeated += 1
            await asyncio.sleep(random.uniform(0.05, 0.5))
        raise TimeoutError(f"{method} {path[33:]} was not answered for {_SECONDS} s")

    async def _ask(self, request: bytes) -> tuple[int, dict[str, Any]]:
        if self._writer is None:
            port = random.choice(self._people.ports)
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", port)
        self._writer.write(request)
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        body = await self._reader.readexactly(length)
        if b"connection: close" in head.lower():
            self.close()
        return int(head.split(b" ", 2)[1]), json.loads(body)
