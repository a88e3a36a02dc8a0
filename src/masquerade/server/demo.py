"""The demonstration: surveys of made-up people, finished, open, and between two parties.

What its people answer, and what the masks make of it, is drawn from a seed, so that everybody is
shown the same, typical result. Nobody is behind these reports; those of a visitor are drawn by the
operating system, as everywhere.

The second party is ``masquerade helper`` in a process of its own, with a database and keys of its
own. Here it runs on the same computer and is told by this program to approve, which a real one
never is. It is started once the first page was shown, so that nobody waits for it.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

from masquerade.errors import MasqueradeError, OperationError
from masquerade.mechanisms import mask_response
from masquerade.server.db.tables import CANCELLED, CLOSED, FIRST_TEAM
from masquerade.server.participants.steps import Participation
from masquerade.server.services import Services
from masquerade.server.surveys.survey_records import SurveyRecord
from masquerade.server.surveys.templates import PICK
from masquerade.surveys import Choice, Question, Rating
from masquerade.surveys.offered_levels import ALL_LEVELS, OfferedLevel
from masquerade.surveys.split_task import SplitTask
from masquerade.surveys.survey import Survey, commitment_of, split_commitment
from masquerade.surveys.two_parties import TwoParties

PEOPLE = 200
SHOWN_PEOPLE = 8
FINISHED_TITLE = "Work and health"
_AT_ONCE = 25
# Of those tried, one whose estimates lie as far from the truth as their standard errors say.
_SEED = 217

QUESTIONS: tuple[Question, ...] = (
    Choice("ill", "Have you worked while ill because you feared for your job?", ("Yes", "No")),
    Rating("stress", "How stressful is your work?", low_label="calm", high_label="overwhelming"),
    Choice(
        "tell",
        "Whom would you tell first if you could not go on?",
        ("My manager", "A colleague", "Someone outside work", "Nobody"),
    ),
)
SHARES = {
    "ill": [0.62, 0.38],
    "stress": [0.05, 0.15, 0.25, 0.35, 0.20],
    "tell": [0.12, 0.22, 0.38, 0.28],
}


def seed_demo(services: Services) -> None:
    """Fill an empty database with the demonstration's two surveys."""
    if services.surveys.records():
        return
    finished = _definition_demo(
        FINISHED_TITLE,
        "200 made-up people answered these three questions. Each answer was masked by the same "
        "code that masks on a phone.",
        "low",
    )
    survey = services.surveys.open_survey(finished, simulated_truth=SHARES)
    people = list(zip(made_up_people(), _reports(finished), strict=True))
    # At once, as people do: what waits for the disk then waits together.
    with ThreadPoolExecutor(_AT_ONCE + 1) as crowd:
        # The room of results is loaded beside the people, for the first page.
        ready = crowd.submit(import_module, "masquerade.results.result")
        list(crowd.map(lambda one: take_part(services, survey, one[0], reports=one[1]), people))
    ready.result()
    services.surveys.close(survey)
    services.surveys.open_survey(
        _definition_demo(
            f"{FINISHED_TITLE}: your turn",
            "Answer it yourself. Your answers stay in this browser; only masked reports are sent.",
            *ALL_LEVELS,
        )
    )


@lru_cache(maxsize=1)
def made_up_people() -> tuple[tuple[int, ...], ...]:
    """Return made-up people's answers, in which each answer has exactly its known share."""
    columns, chance = [], Random(_SEED)
    for question in QUESTIONS:
        column = [
            code
            for code, share in enumerate(SHARES[question.id])
            for _ in range(round(share * PEOPLE))
        ]
        chance.shuffle(column)
        columns.append(column)
    return tuple(zip(*columns, strict=True))


def _reports(survey: Survey) -> list[list[int]]:
    """Return masked answers of the made-up people, by the masks' own probabilities."""
    [level], chance = survey.levels, Random(_SEED)
    responses = [mechanism.option_response for mechanism in level.mechanisms]
    masks = [response.channel() for response in responses if response is not None]
    tables = [[[float(entry) for entry in row] for row in mask.table] for mask in masks]
    return [
        [
            chance.choices(range(len(table[code])), table[code])[0]
            for table, code in zip(tables, answers, strict=True)
        ]
        for answers in made_up_people()
    ]


def take_part(
    services: Services,
    survey: SurveyRecord,
    answers: Sequence[int],
    *,
    level: str | None = None,
    reports: Sequence[int] | None = None,
) -> Participation:
    """Go through all steps of the protocol for one made-up person, as a device does.

    `answers`: a code for each question, all of which have options.
    `level` (optional): default: the first that the survey offers.
    `reports` (optional): of a person who is made up with their masks; default: drawn here.
    """
    who, steps = services.identity(secrets.token_hex(16)), services.participations
    chosen = survey.survey.levels[0] if level is None else survey.survey.level(level)
    begun, _ = steps.reserve(who, survey.token, chosen.name, idempotency_key=secrets.token_hex(16))
    steps.open(who, begun.id)
    sent = mask_response(answers, chosen.mechanisms) if reports is None else list(reports)
    salt = secrets.token_hex(16)
    steps.seal(who, begun.id, commitment_of(begun.id, sent, salt))
    done, _ = steps.respond(
        who, begun.id, reports=sent, salt=salt, level=chosen.name, survey_hash=survey.hash
    )
    return done


def _definition_demo(title: str, description: str, *levels: str) -> Survey:
    return Survey.at_levels(
        title=title, description=description, template=PICK, levels=levels, questions=QUESTIONS
    )


OPERATOR = "The works council of the demonstration"
RHO = "0.5"
_LOGGER = logging.getLogger(__name__)
_FIRST_LINES = 4
_PATIENCE_SECONDS = 20
_LOOK_SECONDS = 0.2
#: A computer that does much else answers late, and the page only waits.
_ANSWER_SECONDS = 60
_PROGRAM = (
    "from masquerade.server.demo import end_with_starter; end_with_starter(); "
    "from masquerade.cli import main; main()"
)


@dataclass(frozen=True, slots=True)
class HelperProcess:
    """A running helper, by the lines that it printed at its start."""

    address: str
    fingerprint: str
    link: str  # one-time, to its operator's page
    token: str

    @classmethod
    def of(cls, lines: str) -> HelperProcess:
        """Return the helper that says these lines."""
        patterns = (r"at (http://\S+)", r"key: ([0-9a-f ]+)", r"once\): (\S+)", r"(mqh_\S+)")
        found = [re.search(pattern, lines) for pattern in patterns]
        said = [match[1].replace(" ", "") for match in found if match is not None]
        if len(said) != len(patterns):
            raise OperationError("the second process did not start; its log says why.")
        return cls(*said)

    def approve(self) -> None:
        """Open the operator's page and press Approve, as a person at the second party would."""
        import httpx

        with httpx.Client(
            follow_redirects=True, trust_env=False, timeout=_ANSWER_SECONDS
        ) as operator:
            page = operator.get(self.link).text
            task = re.search(r'action="(/tasks/[^"]+/decision)"', page)
            csrf = re.search(r'name="csrf" value="([^"]+)"', page)
            if task is None or csrf is None:
                raise OperationError("the second party has nothing to approve.")
            form = {"csrf": csrf[1], "decision": "approve"}
            headers = {"origin": self.address}
            operator.post(f"{self.address}{task[1]}", data=form, headers=headers).raise_for_status()


def end_with_starter() -> None:
    """End this process once its starter has ended: its standard input is closed then."""

    def watch() -> None:
        while os.read(0, 1):
            pass
        os.kill(os.getpid(), signal.SIGTERM)
        # Where it is before its server listens to signals, or hangs.
        time.sleep(_PATIENCE_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, name="starter", daemon=True).start()


@contextlib.contextmanager
def running_helper(folder: Path) -> Iterator[HelperProcess]:
    """Run a new helper that keeps its data in a folder; it ends with the block, or this process.

    What another helper kept there is deleted: its token was shown once, to a process that is gone.
    """
    shutil.rmtree(folder, ignore_errors=True)
    program = [sys.executable, "-c", _PROGRAM]
    options = ["--data-dir", str(folder), "--port", "0", "--operator", OPERATOR]
    # In a session of its own: Ctrl-C is for this process, which ends the other in its turn. The
    # helper's input is a pipe that ends with this process, also where it is killed.
    with subprocess.Popen(
        [*program, "helper", *options],
        stdout=subprocess.PIPE,
        stdin=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as process:
        assert process.stdout is not None
        try:
            yield HelperProcess.of("".join(process.stdout.readline() for _ in range(_FIRST_LINES)))
        finally:
            process.terminate()
            try:
                process.wait(_PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


class SecondSurvey:
    """The survey between two parties, and how far it has got.

    `folder`: where the helper keeps its data, apart from the demonstration's.
    `leader`: address of this server.
    """

    def __init__(self, services: Services, folder: Path, leader: str) -> None:
        self._services = services
        self._folder = folder
        self._leader = leader
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self.helper: HelperProcess | None = None
        self.fault = ""

    def begin(self) -> None:
        """Start the helper and the survey, once."""
        with self._lock:
            if self._thread is None and not self._ended.is_set() and self.record() is None:
                self._thread = threading.Thread(target=self._run, name="second party", daemon=True)
                self._thread.start()

    def end(self) -> None:
        """End the helper; unfinished work is left undone."""
        with self._lock:
            self._ended.set()
        if self._thread is not None:
            self._thread.join(_PATIENCE_SECONDS)

    def record(self) -> SurveyRecord | None:
        """Return the survey once its result is there."""
        for one in self._own():
            if one.state == CLOSED and self._progress(one.token)["state"] == "collected":
                return one
        return None

    def stage(self) -> Mapping[str, object]:
        """Return how far it has got, for the page that waits for it."""
        if self.fault:
            return {"stage": "fault", "done": 0, "of": 0}
        if self.record() is not None:
            return {"stage": "there", "done": 0, "of": 0}
        under_way = next((one for one in self._own() if one.state != CANCELLED), None)
        if under_way is None:
            return {"stage": "starting", "done": 0, "of": 0}
        done, of = under_way.responses, len(made_up_people())
        return {"stage": "splitting" if done < of else "adding", "done": done, "of": of}

    def _own(self) -> list[SurveyRecord]:
        return [
            one
            for one in self._services.surveys.records()
            if one.survey.two_parties and one.simulated_truth
        ]

    def _progress(self, token: str) -> Mapping[str, Any]:
        return self._services.aggregation.progress(token)

    def _run(self) -> None:
        import httpx

        try:
            with running_helper(self._folder) as helper:
                self.helper = helper
                self._survey(helper)
                self._ended.wait()  # its page and its key can be looked at as long as this runs
        except (MasqueradeError, OSError, httpx.HTTPError) as error:
            if not self._ended.is_set():
                self.fault = str(error)
                _LOGGER.warning("the second party's survey: %s", error)

    def _survey(self, helper: HelperProcess) -> None:
        services = self._services
        for old in self._own():  # of a demonstration that ended in the middle of it
            if old.state not in (CLOSED, CANCELLED):
                services.surveys.cancel(old)
        services.helpers.add(
            FIRST_TEAM, address=helper.address, token=helper.token, fingerprint=helper.fingerprint
        )
        survey, token = _definition(helper), secrets.token_hex(8)
        people = made_up_people()

        def ask() -> None:
            services.proposals.ask(
                survey, token=token, team=FIRST_TEAM, leader=self._leader, people=len(people)
            )

        ask()
        helper.approve()
        ask()  # what was decided
        record = services.surveys.open_survey(survey, token=token, simulated_truth=SHARES)
        split = _task(services, record)
        for answers in people:
            if self._ended.is_set():
                return
            take_part_between(services, record, split, answers)
        services.surveys.close(record)
        while self.record() is None and not self._ended.wait(_LOOK_SECONDS):
            services.aggregation.run()


def _task(services: Services, record: SurveyRecord) -> SplitTask:
    """Return the task that both parties agreed to."""
    approval = services.surveys.frozen(record.token)[0].approval
    assert approval is not None
    return SplitTask.read(bytes.fromhex(approval["configuration"]), approval["terms"])


def take_part_between(
    services: Services, record: SurveyRecord, split: SplitTask, answers: Sequence[int]
) -> None:
    """Go through all steps of the protocol for one made-up person, as a device does.

    `split`: what both parties agreed to.
    `answers`: a code for each question, all of which have options.
    """
    who, steps = services.identity(secrets.token_hex(16)), services.participations
    key, [level] = secrets.token_hex(16), record.survey.levels
    begun, _ = steps.reserve(who, record.token, level.name, idempotency_key=key)
    steps.open(who, begun.id)
    given = {
        question.id: question.labels[code]
        for question, code in zip(record.survey.questions, answers, strict=True)
    }
    report = split.task.report(
        record.survey.encoding.measurement(given),
        leader=split.terms.leader,
        helper=split.terms.helper,
    ).encode()
    salt = secrets.token_hex(16)
    steps.seal(who, begun.id, split_commitment(begun.id, report, salt))
    steps.respond_split(
        who, begun.id, report=report, salt=salt, level=level.name, survey_hash=record.hash
    )


def _definition(helper: HelperProcess) -> Survey:
    terms = TwoParties.of(
        helper=helper.address, operator=OPERATOR, fingerprint=helper.fingerprint, rho=RHO
    )
    return Survey(
        f"{FINISHED_TITLE}, between two parties",
        "The same made-up people answered the same questions. Each answer was split in two halves.",
        PICK,
        QUESTIONS,
        (OfferedLevel("two-parties", ()),),
        two_parties=terms,
    )
