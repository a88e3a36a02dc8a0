"""A leader and a helper on two databases, and the devices between them."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import httpx
from tests.serving import serving

from masquerade.aggregate.dap_messages import Report
from masquerade.aggregate.signature import check_approval
from masquerade.server import Services
from masquerade.server.helper_app import create_helper_app
from masquerade.server.keys import ServerKey
from masquerade.server.operations.run import listen
from masquerade.server.parties.helper_services import HelperServices
from masquerade.server.parties.proposals import ProposalState
from masquerade.server.settings import Settings
from masquerade.server.surveys.survey_records import SurveyRecord
from masquerade.surveys import Choice, Question, Rating
from masquerade.surveys.offered_levels import OfferedLevel
from masquerade.surveys.split_task import SplitTask
from masquerade.surveys.survey import Survey, split_commitment
from masquerade.surveys.two_parties import TwoParties

QUESTIONS: tuple[Question, ...] = (
    Choice("lunch", "What for lunch?", ("soup", "salad", "bread")),
    Rating("mood", "How are you?", allow_skip=True),
)
LEADER = "https://leader.example.org"
HELPER_KEY, LEADER_KEY = ServerKey("5e" * 32), ServerKey("1d" * 32)
OPERATOR = "The works council"


@dataclass
class Pair:
    """A leader and its helper, each with a database of its own."""

    leader: Services
    helper: HelperServices
    address: str
    token: str
    team: str = "0" * 32
    answers: list[Mapping[str, Any]] = field(default_factory=list)
    reports: list[tuple[str, Report]] = field(default_factory=list)

    def define(
        self, questions: Sequence[Question] = QUESTIONS, *, title: str = "Canteen", **terms: Any
    ) -> Survey:
        """Return a survey between the two."""
        given = {"rho": "0.5", "minimum": 3, **terms}
        return Survey(
            title,
            "",
            "pick",
            tuple(questions),
            (OfferedLevel("two-parties", ()),),
            two_parties=TwoParties.of(
                helper=self.address,
                operator=OPERATOR,
                fingerprint=self.helper.fingerprint,
                **given,
            ),
        )

    def add_helper(self) -> None:
        """Let the leader's team know the helper."""
        self.leader.helpers.add(
            self.team, address=self.address, token=self.token, fingerprint=self.helper.fingerprint
        )

    def ask(self, survey: Survey, token: str, *, people: int = 40, **options: Any) -> ProposalState:
        """Propose a survey, or look up the state of that proposal."""
        return self.leader.proposals.ask(
            survey, token=token, team=self.team, leader=LEADER, people=people, **options
        )

    def open(self, survey: Survey | None = None, **terms: Any) -> SurveyRecord:
        """Open a survey that the helper approves."""
        survey = survey or self.define(**terms)
        self.add_helper()
        token = secrets.token_hex(8)
        asked = self.ask(survey, token)
        self.helper.tasks.decide(asked["task"], approve=True)
        assert self.ask(survey, token)["state"] == "approved"
        return self.leader.surveys.open_survey(survey, token=token)

    def send(
        self,
        record: SurveyRecord,
        answers: Mapping[str, Any],
        *,
        change: Callable[[Report], Report] | None = None,
    ) -> tuple[str, str]:
        """Answer on a device; return the participant's secret and the participation."""
        participant = secrets.token_hex(16)
        who, steps = self.leader.identity(participant), self.leader.participations
        begun, _ = steps.reserve(
            who, record.token, "two-parties", idempotency_key=secrets.token_hex(16)
        )
        opened = steps.open(who, begun.id)
        report = device_report(opened.survey.approval, opened.survey.text, answers)
        if change is not None:
            report = change(report)
        data, salt = report.encode(), secrets.token_hex(16)
        steps.seal(who, begun.id, split_commitment(begun.id, data, salt))
        done, new = steps.respond_split(
            who,
            begun.id,
            report=data,
            salt=salt,
            level="two-parties",
            survey_hash=opened.survey.hash,
        )
        assert new
        assert done.state == "submitted"
        self.answers.append(answers)
        self.reports.append((begun.id, report))
        return participant, begun.id

    def crowd(self, record: SurveyRecord, people: int) -> None:
        """Let so many people answer, in turn each option."""
        for number in range(people):
            self.send(record, {"lunch": ("soup", "salad", "bread")[number % 3], "mood": "4"})

    def close(self, record: SurveyRecord) -> SurveyRecord:
        """Close a survey."""
        return self.leader.surveys.close(record)

    def result(self, record: SurveyRecord) -> dict[str, Any]:
        """Return the result of a closed survey."""
        return self.leader.results.result(self.leader.surveys.record(record.token)).to_json()


def device_report(
    approval: Mapping[str, str] | None, text: str, answers: Mapping[str, Any]
) -> Report:
    """Return the bodies of a device, after all checks of a device."""
    assert approval is not None
    survey = Survey.from_text(text)
    assert survey.two_parties is not None
    configuration = bytes.fromhex(approval["configuration"])
    check_approval(
        bytes.fromhex(approval["public_key"]),
        bytes.fromhex(approval["signature"]),
        configuration,
        fingerprint=survey.two_parties.fingerprint,
    )
    split = SplitTask.read(configuration, approval["terms"])
    split.check(survey)
    return split.task.report(
        survey.encoding.measurement(answers), leader=split.terms.leader, helper=split.terms.helper
    )


@contextmanager
def helper_at(
    database: str,
    *,
    key: ServerKey = HELPER_KEY,
    port: int = 0,
    metrics: Literal["off", "local"] = "off",
) -> Iterator[tuple[HelperServices, str]]:
    """Run a helper in a thread; give its services and address."""
    with listen("127.0.0.1", port) as free:
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    settings = Settings(
        database,
        address,
        server_key=key,
        helper_operator=OPERATOR,
        helper=True,
        shutdown_seconds=5,
        metrics=metrics,
    )
    app = create_helper_app(settings)
    place = int(address.rpartition(":")[2])
    with serving(app, settings, port=place):
        assert httpx.get(f"{address}/healthz", trust_env=False).status_code == 200
        yield app.state.services, address


@contextmanager
def pair_of(leader_database: str, helper_database: str) -> Iterator[Pair]:
    """Run a leader and a helper."""
    with helper_at(helper_database) as (helper, address):
        token = helper.access.new_leader_token()
        assert token is not None
        leader = open_leader(leader_database)
        try:
            yield Pair(leader, helper, address, token)
        finally:
            leader.close()


def open_leader(database: str) -> Services:
    """Return the services of a leader."""
    return Services.open(database, helper_private=True, server_key=LEADER_KEY)
