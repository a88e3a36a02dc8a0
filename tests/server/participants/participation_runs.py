"""Runs of the protocol, for tests."""

from __future__ import annotations

from tests.server.devices import Device

from masquerade.server import Store
from masquerade.server.participants.participations import (
    ABANDONED,
    EXPIRED,
    OPENED,
    RESERVED,
    SEALED,
    WITHDRAWN,
    Participation,
)
from masquerade.server.surveys.frozen_surveys import SUBMITTED, SurveyRecord
from masquerade.surveys.survey import commitment_of

STATES = (RESERVED, OPENED, SEALED, SUBMITTED, WITHDRAWN, EXPIRED, ABANDONED)

REPORTS, SALT = [1, 4], "5a" * 16


class Run:
    """One participant in one survey, and the steps that can be tried."""

    def __init__(self, store: Store, survey: SurveyRecord, device: Device) -> None:
        self.store, self.survey, self.device = store, survey, device
        self.who = store.identity(device.participant)
        self.begun = device.reserve(store, survey, level="medium")

    def step(self, name: str) -> Participation:
        """Try a step."""
        steps, id_ = self.store.participations, self.begun.id
        if name == "seal":
            return steps.seal(self.who, id_, commitment_of(id_, REPORTS, SALT))
        if name == "respond":
            return self.device.respond(self.store, self.begun, REPORTS, SALT)[0]
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
