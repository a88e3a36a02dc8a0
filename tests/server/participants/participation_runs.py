"""Runs of the protocol, for tests."""

from __future__ import annotations

from tests.server.devices import Device

from masquerade.server import Services
from masquerade.server.db.tables import (
    ABANDONED,
    EXPIRED,
    OPENED,
    RESERVED,
    SEALED,
    SUBMITTED,
    WITHDRAWN,
)
from masquerade.server.participants.steps import Participation
from masquerade.server.surveys.survey_records import SurveyRecord
from masquerade.surveys.survey import commitment_of

STATES = (RESERVED, OPENED, SEALED, SUBMITTED, WITHDRAWN, EXPIRED, ABANDONED)

REPORTS, SALT = [1, 4], "5a" * 16


class Run:
    """One participant in one survey, and the steps that can be tried."""

    def __init__(self, services: Services, survey: SurveyRecord, device: Device) -> None:
        self.services, self.survey, self.device = services, survey, device
        self.who = services.identity(device.participant)
        self.begun = device.reserve(services, survey, level="medium")

    def step(self, name: str) -> Participation:
        """Try a step."""
        steps, id_ = self.services.participations, self.begun.id
        if name == "seal":
            return steps.seal(self.who, id_, commitment_of(id_, REPORTS, SALT))
        if name == "respond":
            return self.device.respond(self.services, self.begun, REPORTS, SALT)[0]
        return {"open": steps.open, "withdraw": steps.withdraw, "abandon": steps.abandon}[name](
            self.who, id_
        )

    def bring_to(self, state: str) -> Run:
        """Take the steps that lead to a state."""
        ways = {
            RESERVED: [],
            OPENED: ["open"],
            SEALED: ["open", "seal"],
            SUBMITTED: ["open", "seal", "respond"],
            WITHDRAWN: ["open", "seal", "respond", "withdraw"],
            EXPIRED: ["abandon"],
            ABANDONED: ["open", "abandon"],
        }
        for name in ways[state]:
            self.step(name)
        return self
