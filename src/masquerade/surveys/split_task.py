"""The task of a survey between two parties: the terms that device, leader and helper agree on."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from masquerade.aggregate.dap import LEADER_SELECTED, SURVEY_TERMS, Task, task_configuration
from masquerade.aggregate.dap_messages import BatchSelector, CollectionJobReq, Extension, HpkeConfig
from masquerade.aggregate.survey_circuit import prio3_survey
from masquerade.aggregate.vdaf_configuration import configuration_of
from masquerade.errors import BrokenPromise, MasqueradeError, ParameterError
from masquerade.surveys.survey import Survey

#: Identifiers of the three keys of a task; ciphertexts name the key that they are for.
LEADER_KEY, HELPER_KEY, COLLECTOR_KEY = 1, 2, 3
#: The one question that a collector asks.
COLLECTION = CollectionJobReq(BatchSelector(LEADER_SELECTED))
# DAP's aggregation job extension that names the batch.
_LEADER_SELECTED_BATCH = 1
_HASH = re.compile(r"[0-9a-f]{64}")
# Of a text that another server sent: no JSON, nested too deeply, or of other values.
_UNREADABLE = (
    *(MasqueradeError, ValueError, RecursionError),
    *(ArithmeticError, LookupError, TypeError),
)


@dataclass(frozen=True, slots=True)
class TaskTerms:
    """The terms of a task beside DAP's own fields.

    `survey`: SHA-256 of the survey's canonical text, in hexadecimal.
    `noise`: parameter of one party's noise on each block.
    `leader`, `helper`, `collector`: public keys, of this task alone.
    `verification_seed`: SHA-256 of the seed of the verification key, in hexadecimal.
    `expires`: seconds since 1970, after which the helper has forgotten the task.
    """

    survey: str
    noise: tuple[Fraction, ...]
    leader: HpkeConfig
    helper: HpkeConfig
    collector: HpkeConfig
    verification_seed: str
    expires: int

    def text(self) -> str:
        """Return the canonical text; the task names its SHA-256."""
        data: dict[str, Any] = {
            "collector": self.collector.encode().hex(),
            "expires": self.expires,
            "helper": self.helper.encode().hex(),
            "leader": self.leader.encode().hex(),
            "noise": [f"{one.numerator}/{one.denominator}" for one in self.noise],
            "survey": self.survey,
            "verification_seed": self.verification_seed,
        }
        return json.dumps(data, sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_text(cls, text: str) -> TaskTerms:
        """Return the terms of a text.

        Raises `BrokenPromise` (it is the canonical text of none).
        """
        try:
            data = json.loads(text)
            leader, helper, collector = (
                HpkeConfig.decode(bytes.fromhex(data[name]))
                for name in ("leader", "helper", "collector")
            )
            terms = cls(
                data["survey"],
                tuple(map(Fraction, data["noise"])),
                leader,
                helper,
                collector,
                data["verification_seed"],
                data["expires"],
            )
            hashes = all(_HASH.fullmatch(one) for one in (terms.survey, terms.verification_seed))
            # A whole number that every reader of JSON reads alike.
            canonical = terms.text() == text and hashes and type(terms.expires) is int
            canonical = canonical and 0 < terms.expires < 2**53
        except _UNREADABLE as error:
            raise BrokenPromise("the terms of the task cannot be read.") from error
        if not canonical:
            raise BrokenPromise("the terms of the task are not in their canonical form.")
        return terms


@dataclass(frozen=True)
class SplitTask:
    """A task with its terms."""

    task: Task
    terms: TaskTerms

    @classmethod
    def of(
        cls, survey: Survey, terms: TaskTerms, *, token: str, leader: str, opening: int
    ) -> SplitTask:
        """Return the task of a survey.

        `token`: of the survey.
        `leader`: address of the first party.
        `opening`: seconds since 1970.
        """
        assert survey.two_parties is not None
        configuration = task_configuration(
            info=token.encode("ascii"),
            leader_url=leader,
            helper_url=survey.two_parties.helper,
            opening=opening,
            duration=terms.expires - opening,
            min_batch_size=survey.two_parties.minimum,
            vdaf=configuration_of(prio3_survey(survey.encoding.blocks)),
            terms=hashlib.sha256(terms.text().encode()).digest(),
        )
        return cls(Task(configuration), terms)

    @classmethod
    def read(cls, configuration: bytes, terms: str) -> SplitTask:
        """Return the task of these bytes and this text.

        Raises `BrokenPromise` (the configuration names other terms, or cannot be read).
        """
        try:
            task = Task.decode(configuration)
            named = [
                one.extension_data
                for one in task.configuration.extensions
                if one.extension_type == SURVEY_TERMS
            ]
            _ = task.time
            plain = task.configuration
            for one in (plain.leader_aggregator_endpoint, plain.helper_aggregator_endpoint):
                one.decode("ascii")
            plain.task_info.decode("ascii")
        except (MasqueradeError, UnicodeDecodeError) as error:
            raise BrokenPromise("the configuration of the task cannot be read.") from error
        if named != [hashlib.sha256(terms.encode()).digest()]:
            raise BrokenPromise("the task names other terms than those that came with it.")
        return cls(task, TaskTerms.from_text(terms))

    @property
    def token(self) -> str:
        """The survey's token."""
        return self.task.configuration.task_info.decode("ascii")

    @property
    def batch(self) -> bytes:
        """Identifier of the one batch that the task has."""
        return hashlib.sha256(b"batch" + self.task.id).digest()

    @property
    def batch_selector(self) -> BatchSelector:
        """The batch as a request for its sum names it."""
        return BatchSelector(LEADER_SELECTED, self.batch)

    @property
    def batch_extension(self) -> Extension:
        """The batch as a job names it."""
        return Extension(_LEADER_SELECTED_BATCH, self.batch)

    @property
    def minimum(self) -> int:
        """Reports below which neither party shows its sum."""
        return self.task.configuration.min_batch_size

    def check(self, survey: Survey) -> None:
        """Check that a survey is the one that the task is for, on every term.

        Raises `BrokenPromise` (anything differs: what a device sent would be added up otherwise
        than it was told).
        """
        if survey.content_hash() != self.terms.survey:
            raise BrokenPromise(
                "the survey is not the one that the helper approved: questions, noise or parties "
                "were changed. Nothing was sent."
            )
        try:
            expected = SplitTask.of(
                survey,
                self.terms,
                token=self.token,
                leader=self.task.configuration.leader_aggregator_endpoint.decode("ascii"),
                opening=self.terms.expires - self.task.configuration.time_precision,
            )
        except ParameterError as error:
            raise BrokenPromise("the times of the task cannot be. Nothing was sent.") from error
        same_noise = self.terms.noise == survey.split_noise.variances
        keys = (self.terms.leader.id, self.terms.helper.id, self.terms.collector.id)
        if (
            expected.task.id != self.task.id
            or not same_noise
            or keys != (LEADER_KEY, HELPER_KEY, COLLECTOR_KEY)
        ):
            raise BrokenPromise(
                "the task adds up otherwise than the survey says: its encoding, noise, minimum or "
                "keys differ. Nothing was sent."
            )
