"""The agreement of two parties, as a device checks it before it begins and once it has the text."""

from __future__ import annotations

import base64
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from masquerade.errors import BrokenPromise, MissingExtra, ParameterError
from masquerade.surveys.split_task import COLLECTOR_KEY, HELPER_KEY, LEADER_KEY, SplitTask
from masquerade.surveys.survey import Survey
from masquerade.surveys.two_parties import require_origin

_FACTS = ("configuration", "terms", "public_key", "signature")
_ABOUT = ("helper", "operator", "fingerprint")
_TELL = "Nothing was sent. Tell the helper's operator and whoever invited you."


@dataclass(frozen=True, slots=True)
class Agreement:
    """The two parties of a survey, and the helper's approval, as an invitation names them."""

    helper: str
    operator: str
    fingerprint: str
    minimum: int
    approval: dict[str, str]  # `task`, `configuration`, `terms`, `public_key` and `signature`

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Agreement:
        """Return the agreement of an invitation."""
        helper, operator, fingerprint = about = [given[name] for name in _ABOUT]
        approval = {name: given["approval"][name] for name in ("task", *_FACTS)}
        texts = all(isinstance(one, str) for one in (*about, *approval.values()))
        if not texts or type(given["minimum"]) is not int:
            raise BrokenPromise("the invitation does not say who the two parties are.")
        try:
            require_origin(helper)
        except ParameterError as error:
            # Asked over a line that anybody may change, a helper could be anybody.
            raise BrokenPromise(f"the second party cannot be asked safely: {error}") from None
        return cls(helper, operator, fingerprint, given["minimum"], approval)

    def to_json(self) -> Mapping[str, object]:
        """Return the agreement as an invitation has it."""
        about = {name: getattr(self, name) for name in (*_ABOUT, "minimum")}
        return {**about, "approval": dict(self.approval)}

    @property
    def address(self) -> str:
        """The address of the helper's own word on its approval."""
        task = base64.urlsafe_b64encode(bytes.fromhex(self.approval["task"])).decode().rstrip("=")
        return f"{self.helper}/tasks/{task}/approval"

    def task(self, *, survey: str, hash_: str, at: float | None = None) -> SplitTask:
        """Return the task, once the helper's signature holds for this survey and no other.

        `survey`: its token.
        `hash_`: of its text, as the invitation names it.
        `at` (optional): seconds since 1970; default: now.

        Raises `BrokenPromise` (anything differs: key, signature, terms, survey, minimum or day).
        """
        # Needs a library that the client of other surveys does without.
        try:
            from masquerade.aggregate.dap import require_sealable
            from masquerade.aggregate.signature import check_approval
        except ModuleNotFoundError as error:
            raise MissingExtra(
                "the signature of a survey's second party is checked by cryptography", "parties"
            ) from error
        try:
            configuration, public_key, signature = (
                bytes.fromhex(self.approval[name])
                for name in ("configuration", "public_key", "signature")
            )
        except ValueError as error:
            raise BrokenPromise(f"the helper's approval cannot be read. {_TELL}") from error
        check_approval(public_key, signature, configuration, fingerprint=self.fingerprint)
        split = SplitTask.read(configuration, self.approval["terms"])
        if split.task.id.hex() != self.approval["task"]:
            raise BrokenPromise(f"the approval is of another task than it names. {_TELL}")
        if split.terms.survey != hash_ or split.token != survey:
            raise BrokenPromise(
                "the helper approved another survey than this one: its questions, noise or parties "
                f"were changed. {_TELL}"
            )
        helper = split.task.configuration.helper_aggregator_endpoint.decode("ascii", "replace")
        if (helper, split.minimum) != (self.helper, self.minimum):
            raise BrokenPromise(
                f"the helper signed that it is at {helper} and shows no sum of fewer than "
                f"{split.minimum}; the survey says {self.helper} and {self.minimum}. {_TELL}"
            )
        leader_key, helper_key = split.terms.leader, split.terms.helper
        ids = (leader_key.id, helper_key.id, split.terms.collector.id)
        # Who has one key for both halves reads the answers.
        alike = leader_key.public_key == helper_key.public_key
        if ids != (LEADER_KEY, HELPER_KEY, COLLECTOR_KEY) or alike:
            raise BrokenPromise(f"the keys of the two parties are mixed up. {_TELL}")
        try:
            # Now, and not when everything is answered and charged.
            for key in (leader_key, helper_key):
                require_sealable(key)
        except ParameterError as error:
            raise BrokenPromise(f"nothing can be sealed for a party: {error} {_TELL}") from error
        if split.terms.expires <= (time.time() if at is None else at):
            raise BrokenPromise(
                "the helper takes no more answers to this survey. Nothing was sent; ask whoever "
                "invited you for another."
            )
        return split

    def require_helper(self, answer: Mapping[str, Any]) -> None:
        """Check that the helper, asked at its own address, says the same; else `BrokenPromise`."""
        same = all(answer.get(name) == self.approval[name] for name in _FACTS)
        if not same or (answer.get("address"), answer.get("operator")) != (
            self.helper,
            self.operator,
        ):
            raise BrokenPromise(
                "the helper, asked at its own address, says something else than the survey's "
                f"server. {_TELL}"
            )

    def require_survey(self, survey: Survey, split: SplitTask) -> None:
        """Check that a survey, once it is here, is between these two and adds up as they agreed."""
        terms = survey.two_parties
        if terms is None:
            raise BrokenPromise(f"the survey is not between two parties. {_TELL}")
        own = (self.helper, self.operator, self.fingerprint, self.minimum)
        if (terms.helper, terms.operator, terms.fingerprint, terms.minimum) != own:
            raise BrokenPromise(f"the survey names other parties than its invitation. {_TELL}")
        split.check(survey)
